"""Figures of scoreboards, on rows so few that each can be computed by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.estimators.predictor import Estimates
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine
from perfc_lab.data.rows import Rows
from perfc_lab.training import evaluate, power, scoreboard
from perfc_lab.training.calibration import calibrate
from perfc_lab.training.calibration.levels import thinned
from perfc_lab.training.cells import summarize
from perfc_lab.training.evaluate import CallerContext, RowSlice, everything, figure
from perfc_lab.training.experiments import experiments
from perfc_lab.training.graphs.protocols import GraphProtocol as GraphProtocol
from tests.analyzers import flat_weights

# Kernels


def kernel_rows(time_s: list[float], **columns: list[float]) -> Rows:
    given = columns or {
        "m": [64.0] * len(time_s),
        "n": [64.0] * len(time_s),
        "k": [64.0] * len(time_s),
    }
    arrays = {n: np.array(c, np.float64) for n, c in given.items()}
    return Rows(
        "matmul", "a100-sxm4-80gb", "bf16", Protocol.GRAPH, "vllm", arrays, np.array(time_s)
    )


def estimates(time_s: list[float], low: float, high: float, floor: float) -> Estimates:
    times = np.array(time_s)
    return Estimates(
        times,
        times * low,
        times * high,
        np.full(len(times), floor),
        np.zeros(len(times), np.bool_),
        "flat",
    )


def test_a_figure_counts_errors_coverage_and_floors() -> None:
    """Errors 0, 1/2, 1/4 and 1; the second and the last lie outside, one beats its floor."""
    tested = [
        evaluate.Tested(kernel_rows([1.0, 2.0]), estimates([1.0, 1.0], 0.5, 1.5, 0.9)),
        evaluate.Tested(kernel_rows([4.0, 1.0]), estimates([5.0, 2.0], 0.6, 1.2, 1.5)),
    ]
    found = figure("left out", RowSlice("all", everything, 0.5, "theirs"), tested)
    assert found is not None
    assert (found.split, found.slice, found.rows, found.anchor) == ("left out", "all", 4, "theirs")
    assert found.mape == pytest.approx((0 + 0.5 + 0.25 + 1) / 4)
    assert found.median == pytest.approx((0.25 + 0.5) / 2)
    assert found.coverage == 0.5
    assert found.floor_holds == 0.75
    assert found.width == pytest.approx((3 + 2) / 2)
    assert found.met
    late = figure("left out", RowSlice("late", lambda r: r.time_s > 3, 0.2), tested)
    assert late is not None
    assert (late.rows, late.met) == (1, False)
    assert figure("left out", RowSlice("none", lambda r: r.time_s > 9), tested) is None


def test_a_caller_who_says_less_leaves_out_what_is_the_frameworks(tmp_path: Path) -> None:
    rows = kernel_rows([1.0], m=[8.0], n=[8.0], k=[8.0], input_bits=[16.0], scale_block=[128.0])
    assert CallerContext.EVERYTHING.of(rows) is rows
    choices, nothing = CallerContext.CHOICES.of(rows), CallerContext.NOTHING.of(rows)
    assert (choices.framework, nothing.framework) == ("", "")
    assert set(choices.columns) == set(rows.columns)
    assert set(nothing.columns) == {"m", "n", "k"}
    part = RowSlice("all", everything, 0.1, "theirs")
    assert CallerContext.EVERYTHING.slices([part]) == [part]
    (told,) = CallerContext.NOTHING.slices([part])
    assert (told.goal, told.anchor) == (None, "")


def test_training_rows_are_summed_up_by_powers_of_two() -> None:
    """m of 7 and 9 are both nearest to 8; 100 is nearest to 128. Efficiencies are geometric."""
    rows = kernel_rows([1e-6, 4e-6, 1e-6], m=[7.0, 9.0, 100.0], n=[64.0] * 3, k=[64.0] * 3)
    cells = summarize([rows], 20_000)
    m, weight_bits = cells.names.index("m"), cells.names.index("weight_bits")
    assert cells.count.tolist() == [2, 1]
    assert cells.log2[:, m].tolist() == [3, 7]
    assert cells.log2[:, weight_bits].tolist() == [-8, -8]
    assert cells.configuration.tolist() == [0, 0]
    from perfc.analyzers.features.table import class_of, complete

    kind, sheet = class_of("matmul"), Sheet(load_machine("a100"))
    floor_s = kind.floor_s(complete(kind, rows.columns), "bf16", sheet)
    expected = math.sqrt(floor_s[0] / 1e-6 * floor_s[1] / 4e-6)
    assert cells.efficiency[0] == pytest.approx(expected, rel=1e-5)


def test_blocks_are_thinned_to_so_many_rows_each_once() -> None:
    many = kernel_rows([float(i + 1) for i in range(1600)])
    few = kernel_rows([1.0, 2.0])
    first, second = thinned([many, few])
    assert len(first) == len(set(first.time_s.tolist())) == 1500
    assert sorted(second.time_s.tolist()) == [1, 2]


def test_scores_are_residuals_over_the_spread_of_rows_in_other_turns(tmp_path: Path) -> None:
    """A forest of one leaf expects an error of 0.1, so that a residual of 0.2 scores two."""
    flat_weights.write(tmp_path, "matmul", ("bf16",))
    spread = artefact.load(tmp_path / "matmul.json").spread
    count = len(spread.names)
    # categories 0 and 3 of a class of seven
    table = SimpleNamespace(
        values=np.zeros((40, count), np.float32), category=np.array([0] * 20 + [3] * 20)
    )
    residual = np.linspace(-0.2, 0.2, 40)
    turn = SimpleNamespace(
        residual=residual, stack=SimpleNamespace(table=table), blocks=[kernel_rows([1.0])]
    )
    assert calibrate.width(spread, cast("Any", turn.stack)).tolist() == pytest.approx(
        [0.1] * 40, rel=1e-5
    )
    found = calibrate._seen(cast("Any", [turn]), [spread])
    assert set(found) == {"", "half", "eight bits"}
    # 0.95 · 41 of 40 scores from −2 to 2: the 39th
    ends = 2 - 38 * 4 / 39, 38 * 4 / 39 - 2
    assert (found[""].low, found[""].high) == pytest.approx(ends, rel=1e-5)
    # 0.95 · 1.05 of twenty rows beside all: everything but the last hundredth
    for name in ("half", "eight bits"):
        assert (found[name].low, found[name].high) == pytest.approx((-2, 2), rel=1e-5)


def test_the_spread_of_a_turn_is_learned_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    class DoneError(Exception):
        pass

    def done(*_: object) -> None:
        raise DoneError

    def spreads(turns: list[str]) -> list[list[str]]:
        monkeypatch.setattr(calibrate, "_turns", lambda *_: turns)
        asked.clear()
        with pytest.raises(DoneError):
            calibrate.calibrate(
                [],
                cast("Any", None),
                (),
                cast("Any", None),
                leave_machines_out=False,
                how=calibrate.Calibrating(),
            )
        return list(asked)

    monkeypatch.setattr(calibrate, "_spread", lambda turns, _: asked.append(turns))
    monkeypatch.setattr(calibrate, "_seen", done)
    assert spreads(["a", "b", "c"]) == [["b", "c"], ["a", "c"], ["a", "b"]]
    assert spreads(["a"]) == [["a"]], "one alone has no others"


# Scoreboards


def test_a_scoreboard_says_each_figure_in_every_form() -> None:
    experiment = experiments()["matmul"]
    tested = [evaluate.Tested(kernel_rows([1.0, 2.0]), estimates([1.1, 1.0], 0.5, 1.5, 0.5))]
    good = figure("fold 0", RowSlice("all", everything, 0.4, "theirs"), tested)
    bad = figure("fold 0", RowSlice("second", lambda r: r.time_s > 1, 0.4), tested)
    assert good is not None
    assert bad is not None
    scores = {experiment: [good, bad]}
    page = scoreboard.board(scores)
    title, _, _, head, first, second, *_ = page.written("text").splitlines()
    assert title == f"perfc: Accuracy: {experiment.title}"
    assert head.split()[:5] == ["held", "out", "rows", "of", "n"]
    assert first.split() == [
        "fold",
        "0",
        "all",
        "2",
        "30.0%",
        "30.0%",
        "40%",
        "50.0%",
        "100.00%",
        "theirs",
    ]
    assert second.split() == [
        "fold",
        "0",
        "second",
        "1",
        "50.0%",
        "50.0%",
        "40%",
        "missed",
        "0.0%",
        "100.00%",
    ]
    marked = page.written("markdown").splitlines()
    assert marked[0] == f"# Accuracy: {experiment.title}"
    row = "| fold 0 | second | 1 | 50.0% | 50.0% | 40% missed | 0.0% | 100.00% |  |"
    assert row in marked
    tree = json.loads(page.written("json"))
    assert [f["mape"] for f in tree["matmul"]] == pytest.approx([0.3, 0.5])
    values = cast("Any", scoreboard.errors_chart(scores))["data"]["values"]
    assert [(v["row"], v["goal"], v["met"]) for v in values] == [
        ("matmul: all, fold 0", 0.4, True),
        ("matmul: second, fold 0", 0.4, False),
    ]


def test_figures_are_written_into_the_cards_that_are_there(tmp_path: Path) -> None:
    flat_weights.write(tmp_path, "matmul", ("bf16",))
    tested = [evaluate.Tested(kernel_rows([1.0, 2.0]), estimates([1.1, 1.0], 0.5, 1.5, 0.5))]
    one = figure("fold 0", RowSlice("all", everything), tested)
    assert one is not None
    board = {experiments()["matmul"]: [one], experiments()["softmax"]: [one]}
    scoreboard.into_cards(board, tmp_path)
    metrics = artefact.load(tmp_path / "matmul.json").card.metrics
    assert metrics == {
        "fold 0: all": {
            "rows": 2.0,
            "mape": 0.3,
            "median": 0.3,
            "coverage": 0.5,
            "floor_holds": 1.0,
        }
    }
    assert not (tmp_path / "softmax.json").exists()
    scoreboard.write_plot(board, tmp_path / "errors.svg")
    assert "<svg" in (tmp_path / "errors.svg").read_text()


# Power


def test_a_power_model_is_found_again_from_what_it_says() -> None:
    """Base 0.4, rates 2 of the matrix unit and 1 of memory; other units are never busy."""
    rng = np.random.default_rng(0)
    busy = np.zeros((400, len(power.UNITS)))
    matrix, device = power.UNITS.index("matrix16"), power.UNITS.index("device")
    busy[:, matrix], busy[:, device] = rng.random(400), rng.random(400)
    share = 1 - 0.6 * np.exp(-2 * busy[:, matrix] - busy[:, device])
    boards = np.array(["one", "other"])[np.arange(400) % 2]
    share[boards == "other"] *= 0.9
    rows = power.Watched(busy, share, np.full(400, 1e-3), boards, np.full(400, "matmul"))
    found = power.fit(rows, boards == "one")
    assert (found[0], found[1 + matrix], found[1 + device]) == pytest.approx((0.4, 2, 1), rel=1e-3)
    assert power.shares(found, busy[:1])[0] == pytest.approx(share[0])
    apart = power.ratios(rows, boards)
    assert set(apart) == {("one", True), ("other", True)}
    assert power.ratios(rows, rows.class_name) == {}
    assert np.median(apart["other", True]) == pytest.approx(0.9, rel=0.01)
    assert np.median(apart["one", True]) == pytest.approx(1 / 0.9, rel=0.05)
