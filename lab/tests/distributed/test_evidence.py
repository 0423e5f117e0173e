"""Published training runs: how rows are read, laws fitted, errors told, links compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfc.analyzers.features import networks
from perfc.analyzers.runs.run_law import COMMENT, LEARNED, RunLaw, frameworks, law_of, laws
from perfc.distributed.training import Training
from perfc.errors import ModelError, ParseError
from perfc.ir.problem import Exchange
from perfc.machine import Cluster, load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Tf32
from perfc_lab.board import Score
from perfc_lab.data.fitted import as_toml
from perfc_lab.distributed import RunRow, learn, scoreboard, scores
from perfc_lab.distributed.learn import LEAST, PRIOR, Tangent, fit, group_of, usable
from perfc_lab.distributed.links import LARGE_BYTES, LinkScore, link_scores
from perfc_lab.distributed.models import MEGATRON, MPT, NEMO, SHIPPED, model_of
from perfc_lab.distributed.predicted import PHYSICS, cost_of, work_of
from perfc_lab.distributed.scoreboard import board
from perfc_lab.distributed.scores import DistributedEvidence, RunAnswer, Scaling

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_models_have_the_sizes_that_their_names_say() -> None:
    for name, (width, layers, heads) in {**MPT, **MEGATRON}.items():
        stack = model_of(name).stacks[0]
        assert (stack.hidden, len(stack.layers)) == (width, layers)
        billions = 12 * layers * width**2 / 1e9
        said = float(name[:-1]) / (1000 if name.endswith("m") else 1)
        assert width % heads == 0
        # the embedding is a third of the smallest
        assert 0.65 < billions / said < 1.35, name
    for name, (width, layers, *_) in NEMO.items():
        stack = model_of(name).stacks[0]
        assert (stack.hidden, len(stack.layers)) == (width, layers)
    for name, shipped in SHIPPED.items():
        assert model_of(name).name == shipped
    with pytest.raises(ModelError, match="nobody says what 'GPT-9' looks like"):
        model_of("GPT-9")


ROW = RunRow(
    "llm-foundry",
    "llm-foundry",
    "125m",
    "dgx-h100",
    "bf16",
    Parallel(data=8, zero=3),
    Training(512, 64, 4),
    1.0,
)


def test_a_row_is_predicted_in_its_own_precision_and_by_its_law() -> None:
    assert cost_of(ROW).parts_s["computation"] > 0
    assert cost_of(ROW, replace(PHYSICS, micro_s=0.5)).time_s == pytest.approx(
        cost_of(ROW).time_s + 0.5 * 2
    )
    stated = json.dumps(
        {
            "model_type": "gpt2",
            "n_embd": 64,
            "n_layer": 2,
            "n_head": 4,
            "vocab_size": 128,
            "n_positions": 512,
        }
    )
    exact = work_of("tiny", 512, "f32", "dgx-h100", stated)
    assert (exact.tf32, exact.model.stacks[0].hidden) == (Tf32.NONE, 64)
    assert exact.precision.half.code == "f32"
    half = work_of("125m", 512, "f16", "dgx-h100")
    assert (half.tf32, half.precision.half.code) == (None, "f16")
    assert work_of("125m", 512, "bf16", "dgx-h100").precision.half.code == "bf16"


def test_rows_that_cannot_be_predicted_are_named() -> None:
    told: list[str] = []
    bad = replace(ROW, model="GPT-9")
    assert list(usable([bad, ROW], told.append)) == [ROW]
    assert told == ["llm-foundry GPT-9 (dp 8, zero 3): nobody says what 'GPT-9' looks like"]
    assert group_of(ROW) == "llm-foundry sm_90"
    assert group_of(replace(ROW, framework="nemo", cluster="dgx-a100")) == "nemo sm_80"


def planes(law: RunLaw, count: int = 64) -> tuple[list[RunRow], dict[int, Tangent]]:
    """Rows whose times are a plane over laws, measured as ``law`` has them."""
    own, tangents = [], {}
    for i in range(count):
        slopes = tuple([1.0 + (i * (j + 3)) % 11 for j in range(len(LEARNED))])
        base = sum([s * getattr(PRIOR, n) for s, n in zip(slopes, LEARNED, strict=True)])
        time_s = sum([s * getattr(law, n) for s, n in zip(slopes, LEARNED, strict=True)])
        row = replace(ROW, training=Training(512, 64 + i, 1), step_s=time_s)
        own.append(row)
        tangents[id(row)] = Tangent(base, slopes)
    return own, tangents


def test_a_law_is_the_one_that_rows_were_made_by() -> None:
    made = RunLaw(1.35, 1.9, 1.6, 1.5, 1.4, 0.1, 0.02, 0.004, 0.001)
    own, tangents = planes(made)
    found = fit(own, tangents)
    for row in own:
        t = tangents[id(row)]
        said = t.time_s + sum(
            [
                s * (getattr(found, n) - getattr(PRIOR, n))
                for s, n in zip(t.slopes, LEARNED, strict=True)
            ]
        )
        assert said == pytest.approx(row.step_s, rel=0.02)
    assert found.products == pytest.approx(1.35, abs=0.1)
    assert fit([], {}) == PRIOR
    slow, tangents = planes(RunLaw(0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0))
    bounded = fit(slow, tangents)
    assert all(getattr(bounded, n) >= least - 1e-12 for n, least in LEAST.items())


def test_one_disturbed_row_and_repeats_of_a_setting_move_a_law_little() -> None:
    made = RunLaw(1.35, 1.4, 1.3, 1.2, 1.0, 0.1, 0.01, 0.0, 0.0005)
    own, tangents = planes(made)
    usual = fit(own, tangents)
    own[0] = replace(own[0], step_s=own[0].step_s * 5)
    tangents[id(own[0])] = next(iter(tangents.values()))
    moved = fit(own, tangents)
    assert moved.products == pytest.approx(usual.products, abs=0.05)
    repeats = [replace(own[1], step_s=own[1].step_s * 2) for _ in range(4)]
    assert learn._weights([*repeats, own[2]]).tolist() == [0.25] * 4 + [1.0]


def test_a_tangent_is_the_slope_of_the_prediction() -> None:
    found = Tangent.of(ROW)
    assert found.time_s == pytest.approx(cost_of(ROW, PRIOR).time_s)
    slope = dict(zip(LEARNED, found.slopes, strict=True))
    assert slope["micro_s"] == pytest.approx(2.0), "two micro-batches"
    assert slope["experts"] == slope["routing_s"] == slope["straggling"] == 0
    assert slope["products"] > 0


def foundry(model: str, gpus: int, step_s: float, **changes: Any) -> RunRow:
    training = Training(2048, 8 * gpus, 1)
    row = replace(ROW, model=model, parallel=Parallel(data=gpus), training=training, step_s=step_s)
    return replace(row, **changes)


def test_each_model_is_left_out_of_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def fitted(own: list[RunRow], _: object) -> RunLaw:
        asked.append(sorted(f"{r.model} {r.parallel.devices}" for r in own))
        return RunLaw(products=float(len(own)))

    monkeypatch.setattr(scores, "fit", fitted)
    monkeypatch.setattr(scores, "answered_s", lambda row, law: row.step_s * law.products)
    own = [
        foundry("LLAMA3_8B", 8, 1.0),
        foundry("LLAMA3-8B (fast)", 8, 1.0),
        foundry("125m", 8, 2.0),
    ]
    found = list(scores.held_out(own, {}))
    assert asked == [["LLAMA3-8B (fast) 8", "LLAMA3_8B 8"], ["125m 8"], ["125m 8"]]
    assert [(a.row.model, a.error) for a in found] == [
        ("125m", 1.0),
        ("LLAMA3-8B (fast)", 0.0),
        ("LLAMA3_8B", 0.0),
    ]
    asked.clear()
    alone = [foundry("gpt2", n, 1.0, framework=scores.ALONE) for n in (1, 4)]
    answers = list(scores.held_out(alone, {}))
    assert asked == [["gpt2 1"]]
    assert [a.row.parallel.devices for a in answers] == [4], "what one GPU took taught the law"


def test_evidence_has_a_law_for_each_group_and_for_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [
        foundry("125m", 8, 1.0),
        foundry("1b", 8, 2.0),
        foundry("3b", 8, 1.0, cluster="dgx-a100"),
        foundry("LLAMA3-8B", 8, 4.0, source="nemo", framework="megatron"),
        foundry("x", 8, 4.0, source="torchtitan", framework="torchtitan"),
    ]
    monkeypatch.setattr(scores, "rows", lambda _: iter(every))
    monkeypatch.setattr(scores, "usable", lambda rows, _: iter(rows))
    monkeypatch.setattr(scores.Tangent, "of", classmethod(lambda *_: Tangent(1.0, (0.0,) * 8)))
    monkeypatch.setattr(scores, "fit", lambda own, _: RunLaw(products=float(len(own))))
    monkeypatch.setattr(scores, "predicted_s", lambda row, _: row.step_s / 1.5)
    monkeypatch.setattr(scores, "answered_s", lambda row, _: row.step_s / 1.5)
    told: list[str] = []
    found = scores.gathered(tmp_path, told.append)
    assert told == [
        "5 runs",
        "llm-foundry sm_80: 1 rows, 33.3%",
        "llm-foundry sm_90: 2 rows, 33.3%",
        "megatron sm_90: 1 rows, 33.3%",
        "torchtitan sm_90: 1 rows, 33.3%",
    ]
    assert {name: law.products for name, law in found.laws.items()} == {
        "llm-foundry sm_80": 1,
        "llm-foundry sm_90": 2,
        "megatron sm_90": 1,
        "torchtitan sm_90": 1,
        # where Megatron has rows of a generation, older ones do not speak for any
        "any sm_80": 1,
        "any": 2,
        "any sm_90": 1,
    }
    assert (found.laws["any"].rows, found.laws["any"].models) == (2, ("3b", "LLAMA3-8B"))
    assert found.laws["any"].source == "llm-foundry, nemo"
    kinds = {(s.source, s.slice): s.rows for s in scores.scored(found)}
    assert kinds == {
        ("llm-foundry", "dense, model left out"): 3,
        ("nemo", "dense, model left out"): 1,
        ("torchtitan", "dense, model left out"): 1,
        ("llm_train_throughput", "dense, all sources"): 5,
    }


def test_a_band_holds_nine_in_ten_and_is_no_narrower_than_five_percent() -> None:
    few = scores.with_band(RunLaw(), [0.1, 9.0], 2, ("m",), "s")
    assert (few.low, few.high, few.rows, few.models, few.source) == (0.7, 1.5, 2, ("m",), "s")
    twenty = scores.with_band(RunLaw(), [0.5 + 0.1 * i for i in range(20)], 20, (), "")
    assert (twenty.low, twenty.high) == pytest.approx((0.6, 2.4))
    narrow = scores.with_band(RunLaw(), [1.0] * 20, 20, (), "")
    assert (narrow.low, narrow.high) == (0.95, 1.05)


def test_errors_are_told_with_and_without_their_sign() -> None:
    answers = [RunAnswer(replace(ROW, step_s=2.0), s) for s in (1.0, 2.0, 4.0, 2.2)]
    found = scores.score_of("a", "b", answers)
    assert (found.source, found.slice, found.rows) == ("a", "b", 4)
    assert (found.mape, found.median, found.bias) == pytest.approx((0.4, 0.3, 0.15))
    by_links = replace(ROW, source="neusight", parallel=Parallel(tensor=4, sequence=1))
    assert scores.what(by_links) == "tp 4"
    assert scores.what(replace(ROW, is_sparse=True)) == "experts, model left out"


def test_scaling_is_over_eight_devices_of_the_same_model_and_cluster() -> None:
    def answer(gpus: int, step_s: float, predicted_s: float, **changes: Any) -> RunAnswer:
        return RunAnswer(foundry("1b", gpus, step_s, **changes), predicted_s)

    known = [
        answer(64, 2.0, 1.25),
        answer(8, 1.0, 1.0),
        answer(16, 1.25, 1.0),
        answer(16, 9.0, 1.0, weights="f8"),
        answer(16, 9.0, 1.0, source="nemo"),
        answer(16, 9.0, 1.0, training=Training(4096, 128, 1)),
        answer(16, 1.0, 1.0, cluster="dgx-a100"),
        answer(32, 1.0, 1.0, cluster="dgx-a100"),
    ]
    found = list(scores.scalings(DistributedEvidence(tuple(known), {})))
    assert [(s.gpus, s.measured, s.predicted) for s in found] == [(16, 0.8, 1.0), (64, 0.5, 0.8)]
    assert {(s.model, s.cluster) for s in found} == {("1b", "dgx-h100")}


def test_links_are_measured_over_the_law(tmp_path: Path) -> None:
    cluster = Cluster.of(load_machine("dgx-h100"))

    def row(nbytes: int, times: float, **changes: Any) -> dict[str, object]:
        message = networks.LinkExchange.of(Exchange.ALL_REDUCE, float(nbytes), 16, 2, cluster)
        usual = {
            "suspect": False,
            "devices_per_node": 8,
            "num_workers": 16,
            "system": "h100_dgx",
            "collective": "all_reduce",
            "size_bytes": nbytes,
            "latency_median_us": 1e6 * times * networks.time_s(message),
        }
        return {**usual, **changes}

    kept = [
        row(1 << 10, 4.0),
        row(1 << 12, 3.0),
        row(LARGE_BYTES, 2.0),
        row(1 << 24, 1.5),
        row(1 << 24, 1.5),
        row(1 << 20, 99.0, suspect=True),
        row(1 << 20, 99.0, system="b200"),
        row(1 << 20, 99.0, devices_per_node=16),
    ]
    pd.DataFrame(kept).to_parquet(tmp_path / "vidur_network.parquet")
    (found,) = link_scores(tmp_path)
    assert (found.system, found.exchange, found.ranks, found.nodes) == (
        "h100_dgx",
        "all_reduce",
        16,
        2,
    )
    assert (found.rows, found.ratio, found.large) == pytest.approx((4, 2.5, 1.75))


SCORES = (Score("left out", "dense", 7, 0.0615, 0.04, source="nemo", bias=-0.021),)


SCALING = (
    Scaling("1b", "dgx-h100", 16, 0.8, 0.75),
    Scaling("1b", "dgx-h100", 64, 0.5, 0.54),
    Scaling("3b", "dgx-h100", 64, 0.5, 0.541),
)


LINKS = (LinkScore("h100_dgx", "all_reduce", 16, 2, 4, 1.25, 0.98),)


NONE = DistributedEvidence((), {"any": RunLaw(products=1.23456, rows=9)})


def test_the_scoreboard_says_errors_points_and_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "scored", lambda _: iter(SCORES))
    monkeypatch.setattr(scoreboard, "scalings", lambda _: iter(SCALING))
    monkeypatch.setattr(scoreboard, "link_scores", lambda _: iter(LINKS))
    page = " ".join(board(NONE, Path()).written("text").split())
    for words in (
        "nemo dense 7 6.2% 4.0% -2.1%",
        "1b dgx-h100 16 80.0% 75.0% -5.0",
        "over those of eight: 1 of 3 within 4 points, 4.4 on average.",
        "h100_dgx all_reduce 16 2 4 1.25 0.98",
        "any 9 1.235 1.4 1.3 1.2 1 0.1 0.01 0 0.0005",
    ):
        assert words in page, page
    assert scoreboard.nearness(()).endswith("over those of eight: no rows.")


def test_the_scoreboard_is_written_in_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "link_scores", lambda _: iter(LINKS))
    empty = board(NONE, Path())
    found = json.loads(empty.written("json", "by: x"))
    assert found["schema"] == "perfc-eval/1"
    assert found["laws"]["any"]["products"] == 1.23456
    assert empty.written("markdown", "by: x").startswith("# Training runs\n\nby: x\n\n## ")
    assert "# Training runs" not in empty.written("text", "by: x")


def test_laws_are_chosen_by_framework_then_generation_and_written_as_they_are_read() -> None:
    known = laws()
    assert frameworks()[0] == "any"
    assert law_of() == known["any"]
    assert law_of("megatron", "sm_90") == known["megatron sm_90"]
    assert law_of("megatron", "sm_75") == known["any"]
    assert law_of("llm-foundry", "sm_100") == known["any sm_100"]
    with pytest.raises(ParseError, match="--trained-by: no runs of 'tf'"):
        law_of("tf")
    import tomllib

    tree = tomllib.loads(
        as_toml({"any": RunLaw(products=1.23456, models=("a", "b"), rows=3)}, COMMENT)
    )
    assert tree["any"]["products"] == 1.235
    assert (tree["any"]["models"], tree["any"]["rows"]) == (["a", "b"], 3)
    assert tree["usual"]["origin"] == "fitted"
