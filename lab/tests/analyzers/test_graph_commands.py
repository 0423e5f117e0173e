"""Weights, data sets and commands of graph predictors, on networks with made-up times."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

from perfc.analyzers.artefacts.artefact import WeightsError
from perfc.analyzers.graph import weights
from perfc.analyzers.graph.dataset import NAMED, GraphDataset, in_words, load
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import (
    Say,
    TrainingBudget,
    predictor,
    predictors,
)
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.commands.analysis.analyze import command as analyze_command
from perfc.commands.measurement.adapt import command as adapt_command
from perfc.errors import PerfcError
from perfc_lab.commands.data import command as data_command
from perfc_lab.commands.eval import command as eval_command
from perfc_lab.commands.train import command as train_command
from perfc_lab.datasets import datasets
from perfc_lab.training.graphs.cards import card_of
from perfc_lab.training.graphs.protocols import GraphProtocol, folds
from perfc_lab.training.graphs.statistics import statistics
from perfc_lab.whole_runs.boosted_totals import BoostedTotals

from .graph_rows import measurements

SILENT: Say = lambda line: None  # noqa: E731


class Made(GraphDataset):
    """The rows of the tests as a data set."""

    name: ClassVar[str] = "made"
    title: ClassVar[str] = "made up"
    files: ClassVar[tuple[str, ...]] = ()
    encoded: ClassVar[list[str]] = []

    def rows(self, folder: Path) -> list[GraphRow]:
        return list(measurements().rows)

    def encode(self, graph: str, settings: object, folder: Path) -> ModelGraph | None:
        self.encoded.append(graph)
        return None if graph == "nb201-0" else measurements().graphs[graph]


@pytest.fixture(scope="module")
def boosted() -> tuple[BoostedTotals, Measurements]:
    fold = next(folds(measurements(), GraphProtocol.RANDOM, (0,)))
    made = BoostedTotals()
    made.fit(fold.train, fold.validation, TrainingBudget(), SILENT)
    made.calibrate(fold.validation)
    return made, fold.test


def test_boosting_on_totals_learns_the_rule(boosted: tuple[BoostedTotals, Measurements]) -> None:
    made, test = boosted
    error = np.abs(made.estimates(test).value / test.values(Quantity.TIME) - 1)
    assert error.mean() < 0.2


def test_weights_are_read_back_as_they_were(
    boosted: tuple[BoostedTotals, Measurements], tmp_path: Path
) -> None:
    made, test = boosted
    card = card_of(made, test, "random, seed 0", {"mape": 0.1})
    path = weights.save(made, card, tmp_path)
    again, read = weights.load(path)
    assert np.array_equal(again.estimates(test).value, made.estimates(test).value)
    assert read.metrics == {"mape": 0.1}
    assert set(read.targets) == set(test.targets)


def test_weights_that_were_changed_are_refused(
    boosted: tuple[BoostedTotals, Measurements], tmp_path: Path
) -> None:
    made, test = boosted
    path = weights.save(made, card_of(made, test, "", {}), tmp_path)
    arrays = path.with_suffix(".npz")
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\x01")
    with pytest.raises(WeightsError, match="not the arrays"):
        weights.load(path)
    card = json.loads(path.read_text())
    path.write_text(json.dumps({**card, "format": 99}))
    with pytest.raises(WeightsError, match="format 99"):
        weights.load(path)
    path.write_text("{")
    with pytest.raises(WeightsError, match="no card"):
        weights.load(path)


def test_names_of_predictors_are_their_files() -> None:
    assert "boosted_totals" in predictors()
    assert predictor("boosted-totals:scalars").variant == "scalars"
    with pytest.raises(PerfcError, match="no graph predictor"):
        predictor("nonsense")
    with pytest.raises(PerfcError, match="no variant"):
        predictor("boosted_totals:nonsense")


def test_a_build_goes_on_where_it_was(tmp_path: Path) -> None:
    said: list[str] = []
    Made.encoded.clear()
    first = Made().build(tmp_path, tmp_path, said.append)
    assert len(first.graphs) == 23
    assert said == []
    assert first.left_out[0] == "2 on gtx1080ti: no graph of nb201-0"
    assert len(first.left_out) == len({row.target for row in first.rows})
    Made.encoded.clear()
    second = Made().build(tmp_path, tmp_path, said.append)
    assert Made.encoded == ["nb201-0"]
    assert second.digest == first.digest == load(tmp_path, "made").digest
    assert load(tmp_path, "made").rows[0].time_s == first.rows[0].time_s
    assert any("23 graphs" in line for line in statistics(load(tmp_path, "made")))


def test_rows_that_were_changed_are_refused(tmp_path: Path) -> None:
    Made().build(tmp_path, tmp_path, lambda _: None)
    rows = tmp_path / "made" / "processed" / "rows.jsonl"
    rows.write_text(rows.read_text().replace("titan-xp", "rtx3090"))
    with pytest.raises(PerfcError, match="not the rows"):
        load(tmp_path, "made")


def run(command: Any, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments))
    if isinstance(done.exception, PerfcError):
        return 2, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_train_and_eval_write_what_they_say(tmp_path: Path) -> None:
    Made().build(tmp_path, tmp_path, lambda _: None)
    where = ("--graphs", str(tmp_path), "--dataset", "made")
    chosen = ("--predictor", "boosted-totals", "--split", "random")
    code, text = run(train_command, "graph", *where, *chosen, "-o", str(tmp_path / "w"))
    assert code == 0
    assert "mape" in text
    assert (tmp_path / "w" / "boosted_totals-made-time_s.npz").is_file()
    again = ("--seed", "0", "--output-format", "json")
    code, text = run(eval_command, "graph", *where, *chosen, *again)
    assert code == 0
    found = json.loads(text[text.index("{\n") :])["scores"]
    assert {f["slice"] for f in found} >= {"all rows", "inference", "eager, gtx1080ti"}
    page = tmp_path / "graph.md"
    code, _ = run(
        eval_command, "graph", *where, *chosen, "--seed", "0", "--faithful", "-o", str(page)
    )
    assert code == 0
    title, _, origin, table = page.read_text(encoding="utf-8").split("\n\n")
    assert title == "# Accuracy: whole models from their graphs, made"
    assert "--predictor boosted-totals --dataset made --split random" in origin
    assert "--seed 0 --faithful --graphs DIR -o graph.md` wrote this page" in origin
    assert len(table.splitlines()) == 2 + len(found)


def test_a_prediction_says_when_its_model_lies_outside(
    boosted: tuple[BoostedTotals, Measurements], tmp_path: Path
) -> None:
    made, test = boosted
    # ResNet has operators that the made-up graphs do not have
    known = replace(card_of(made, test, "random, seed 0", {}), operators=())
    card = weights.save(made, known, tmp_path)
    model = str(Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz")
    given = (
        "--weights",
        str(card),
        "--dim",
        "batch=8",
        "--runtime",
        "eager",
        "--runtime-version",
        "1.8",
    )
    plain = ("--dtype", "f32", "--no-tf32", "--output-format", "json")
    code, text = run(analyze_command, "-q", model, *given, *plain, "-t", "titan-xp")
    assert code == 0
    inside = json.loads(text)
    assert inside["floor_s"] <= inside["low"] <= inside["value"] <= inside["high"]
    code, text = run(analyze_command, "-q", model, *given, *plain, "-t", "a100")
    outside = json.loads(text)
    assert "no measured whole run on a100" in " ".join(outside["extrapolating"])
    width = [x["high"] / x["value"] for x in (inside, outside)]
    # weights of made-up graphs are too fast for both hosts
    assert "raised to the time of its host" in " ".join(inside["extrapolating"])
    assert width[1] >= width[0]
    assert run(analyze_command, "-q", model, *given, "-t", "nonsense")[0] == 2
    assert run(analyze_command, "-q", model, *given, "-t", "a100", "--dtype", "x")[0] == 2


def test_whole_models_adapt_weights_on_the_command_line(
    boosted: tuple[BoostedTotals, Measurements], tmp_path: Path
) -> None:
    made, test = boosted
    Made().build(tmp_path, tmp_path, lambda _: None)
    others = replace(card_of(made, test, "device", {}), targets=("titan-xp",))
    card = weights.save(made, others, tmp_path)
    given = ("-t", "gtx1080ti", "--graphs", str(tmp_path), "--predictor", str(card))
    code, text = run(adapt_command, *given, "--dataset", "made", "-o", str(tmp_path / "new"))
    assert code == 0
    assert "32 runs measured" in text
    assert "gtx1080ti" in weights.read_card(tmp_path / "new" / card.name).targets
    assert run(adapt_command, *given, "--dataset", "nothing")[0] == 2
    assert run(adapt_command, *given, "--from", str(card))[0] == 2


def test_a_wrong_name_is_one_line(tmp_path: Path) -> None:
    Made().build(tmp_path, tmp_path, lambda _: None)
    where = ("--graphs", str(tmp_path), "--dataset", "made", "--predictor", "boosted-totals")
    for option, text in (("--split", "no 'x'"), ("--quantity", "no 'x'"), ("--mode", "no 'x'")):
        code, said = run(eval_command, "graph", *where, option, "x")
        assert code == 2
        assert text in said
    assert run(data_command, "build", "x", "--data", str(tmp_path))[0] == 2
    assert run(data_command, "sets")[1].startswith("ecnas")


def test_every_data_set_says_what_it_is() -> None:
    assert {"timm", "nb201", "fbnet", "ecnas"} <= set(datasets())
    assert all(d.title for d in datasets().values())


def test_models_without_a_graph_share_a_line_of_each_machine() -> None:
    absent = {("rtx3090", f"no graph of model{i}"): i + 1 for i in range(NAMED + 1)}
    lines = list(in_words(Counter({**absent, ("rtx4090", "no such precision"): 30})))
    names, rows = ", ".join(f"model{i}" for i in range(NAMED, 0, -1)), sum(absent.values())
    assert lines[0] == f"{rows} on rtx3090: no graph of {NAMED + 1} models: {names}, …"
    assert lines[1:] == ["30 on rtx4090: no such precision"]
    few = list(in_words(Counter({("a100", "no graph of b"): 2, ("a100", "no graph of c"): 1})))
    assert few == ["3 on a100: no graph of 2 models: b, c"]
