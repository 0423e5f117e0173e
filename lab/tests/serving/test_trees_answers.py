"""Trees of language models at `perfc llm --predictor trees`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from perfc import cli
from perfc.errors import ParseError
from perfc.frontend.config import read_config
from perfc.machine.parallel import ALONE
from perfc.serving.output.published import ModelRun, names, published
from perfc_lab.trees.rows import COLUMNS, Target
from perfc_lab.trees.shipped import answers
from perfc_lab.trees.shipped.passes import pass_rows
from perfc_lab.trees.shipped.weights import TreeFamily, read

CAMPAIGN = Path(__file__).resolve().parents[3] / "datasets"


def run_of(model: str, target: str = "h200-sxm-141gb", batch: int = 8) -> ModelRun:
    return ModelRun(read_config(model), target, "", "", "", "", ALONE, 1, 128, 32, batch)


@pytest.mark.parametrize("family", TreeFamily)
def test_shipped_trees_read_the_features_of_rows(family: TreeFamily) -> None:
    trees = read(answers.FOLDER, family, Target.THROUGHPUT)
    assert trees.rows > 20
    assert {"random fifth", "unseen model"} <= trees.ends.keys()
    for low, high in trees.ends.values():
        assert low < 1 < high
    unknown = trees.completed([float("nan")] * len(COLUMNS))
    assert all(unknown[COLUMNS.index(name)] == value for name, value in trees.newest.items())


def test_memory_is_not_below_the_weights() -> None:
    memory = published("trees", run_of("llama-3.1-70b", "h100-sxm5-80gb", 1)).memory_bytes
    assert memory is not None
    assert 2 * 70e9 < memory.value < 2 * 72e9
    assert memory.outside[-1].endswith("the weights")


def test_a_served_model_and_an_encoder_have_values_in_their_intervals() -> None:
    served = published("trees", run_of("llama-3.1-8b", "h100-sxm5-80gb", 64))
    assert served.osl == 32
    assert served.tokens_per_s is not None
    assert served.tokens_per_s.low is not None
    assert served.tokens_per_s.low < served.tokens_per_s.value < (served.tokens_per_s.high or 0)
    encoder = published("trees", run_of("deberta-v3-base"))
    assert encoder.osl == 0
    for one in (encoder.tokens_per_s, encoder.memory_bytes, encoder.energy_j_per_token):
        assert one is not None
        assert not one.outside
        assert one.value > 0


def test_an_unseen_model_has_the_interval_of_unseen_models() -> None:
    seen = published("trees", run_of("roberta-base")).tokens_per_s
    unseen = published("trees", run_of("bert-base")).tokens_per_s
    elsewhere = published("trees", run_of("roberta-base", "t4"))
    assert seen is not None
    assert unseen is not None
    ends = read(answers.FOLDER, TreeFamily.PASSES, Target.THROUGHPUT).ends
    assert unseen.low == pytest.approx(unseen.value * ends["unseen model"][0])
    assert seen.high == pytest.approx(seen.value * ends["random fifth"][1])
    assert unseen.outside == ("no training row of bert-base",)
    rate, energy = elsewhere.tokens_per_s, elsewhere.energy_j_per_token
    assert rate is not None
    assert energy is not None
    # the T4's peak, with the weights of the layers alone
    assert 2 * 85e6 * rate.value < 65e12
    assert seen.value / rate.value > 3
    assert 20 < energy.value * rate.value <= 70, "energy per token times rate is power"
    assert "times that of h200-sxm-141gb" in rate.outside[0]


def test_the_command_prints_text_and_json_and_names_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["llm", "deberta-v3-base", "-t", "h200", "--predictor", "trees", "--isl", "256"]
    assert cli.run(arguments) == 0
    text = capsys.readouterr().out
    assert "tokens per second" in text
    assert "trained on" in text
    assert cli.run([*arguments, "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "perfc-llm-published/1"
    assert document["tokens_per_s"]["value"] > 0
    assert "trees" in names()
    with pytest.raises(ParseError, match="no predictor 'tree'"):
        published("tree", run_of("roberta-base"))


def test_passes_of_a_campaign_are_rows_of_three_targets(tmp_path: Path) -> None:
    rows = list(pass_rows(CAMPAIGN))
    assert {row.target for row in rows} == set(Target)
    assert {"roberta-base", "deberta-v3-base", "llama-3-8b"} <= {row.model for row in rows}
    one = next(r for r in rows if r.model == "roberta-base" and r.target is Target.THROUGHPUT)
    assert one.value == pytest.approx(32 * 64 / 7.67146e-3)
    folder = tmp_path / "h200"
    folder.mkdir()
    with gzip.open(folder / "nlp.csv.gz", "wt") as stream:
        stream.write("nothing\n")
    with pytest.raises(Exception, match="no settings in the head"):
        list(pass_rows(tmp_path))
