"""Where a prediction says that it extrapolates: at each bound, one step before and one behind."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perfc
from perfc import testing
from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.artefact import Artefact, Cells
from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimators import Execution, candidate_times, predictor, why
from perfc.analyzers.estimators.candidate_times import FAR, LONGEST, transferred
from perfc.analyzers.estimators.forest_reason import ForestReason
from perfc.analyzers.estimators.predictor import Estimates, distinct, predict_with, select
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.distance import VENDORS, coordinates, distance, nearest, vendor
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete, tabulate
from perfc.analyzers.intervals.conformal import EXTRAPOLATED, LEAST_DISTANCE
from perfc.machine import load_machine
from perfc_lab.data import weights as weights_

from . import flat_weights

ROW = {"m": np.array([64.0]), "n": np.array([64.0]), "k": np.array([64.0])}


@pytest.fixture
def flat(tmp_path: Path) -> Artefact:
    """Every kernel takes its scale; spread 0.1, ends one spread away, elsewhere three."""
    flat_weights.write(tmp_path, "matmul", ("bf16",))
    return artefact.load(tmp_path / "matmul.json")


def ask(
    found: Artefact, target: str = "a100", dtype: str = "bf16", how: Protocol = Protocol.GRAPH
) -> Estimates:
    return predict_with(found, ROW, dtype, Sheet(load_machine(target)), how)


def ends(found: Estimates) -> tuple[float, float]:
    """Logarithms of the ends over the middle."""
    low, middle, high = (float(np.log(t[0])) for t in (found.low_s, found.time_s, found.high_s))
    return low - middle, high - middle


def moved(found: Artefact, beyond: float, feature: str = "log_m") -> Artefact:
    """Weights whose box ends so many of its sides before the row's place in one feature."""
    at = found.card.features.index(feature)
    table = tabulate(
        classes()["matmul"],
        complete(classes()["matmul"], ROW),
        "bf16",
        Sheet(load_machine("a100")),
        Protocol.GRAPH,
    )
    value = float(table.values[0, at])
    low, high = found.hull_low.copy(), found.hull_high.copy()
    low[at], high[at] = value - 1 - beyond, value - beyond
    return replace(found, hull_low=low, hull_high=high)


def test_a_row_beyond_the_end_of_the_box_has_a_wider_interval(flat: Artefact) -> None:
    inside, outside = ask(moved(flat, 0.0)), ask(moved(flat, 0.25))
    assert ends(inside) == pytest.approx((-0.1, 0.1), rel=1e-4)
    # a quarter of a side beyond widens by a quarter
    assert ends(outside) == pytest.approx((-0.125, 0.125), rel=1e-4)
    assert outside.time_s[0] == inside.time_s[0]


def test_a_row_extrapolates_from_an_interval_of_a_factor_of_four_on(flat: Artefact) -> None:
    """Twice 0.1 · (1 + 5.9) is 1.38, and ln 4 is 1.386: not where a feature leaves the box."""
    assert EXTRAPOLATED == 4.0
    assert not ask(moved(flat, 0.25)).extrapolating[0]
    assert not ask(moved(flat, 5.9)).extrapolating[0]
    assert ask(moved(flat, 5.95)).extrapolating[0]


def test_an_interval_ends_at_a_factor_of_twenty_on_either_side(flat: Artefact) -> None:
    assert LONGEST == 3.0
    assert ends(ask(moved(flat, 28.0))) == pytest.approx((-2.9, 2.9), rel=1e-4)
    widest = ask(moved(flat, 1000.0))
    assert ends(widest)[1] == pytest.approx(3.0)
    assert widest.low_s[0] == pytest.approx(max(widest.time_s[0] * np.exp(-3), widest.floor_s[0]))


def placed(found: Artefact, away: float) -> Artefact:
    """Weights of a machine so far from the A100 in all of its numbers."""
    here = coordinates(Sheet(load_machine("a100")), "bf16")
    there = tuple(x + away for x in here)
    card = replace(
        found.card,
        places={"bf16": (there,)},
        targets=("elsewhere",),
        configurations=(("elsewhere", "bf16", ""),),
    )
    return replace(found, card=card)


APART = 3 * float(np.hypot(0.1, 0.2))


def test_a_machine_extrapolates_where_its_distance_makes_the_interval_wide(flat: Artefact) -> None:
    """At a distance of 1 its ends are 3.8 apart as a ratio, at 1.1 they are 4.3."""
    at, behind = ask(placed(flat, 1.0)), ask(placed(flat, 1.1))
    assert not at.extrapolating[0]
    assert behind.extrapolating[0]
    # three times the root of the spread's square and of 0.2 · distance^0.4, squared
    assert ends(at) == pytest.approx((-APART, APART), rel=1e-4)
    for away in (0.5, 0.1):
        reach = 3 * float(np.hypot(0.1, 0.2 * away**0.4))
        assert ends(ask(placed(flat, away))) == pytest.approx((-reach, reach), rel=1e-4)
    assert ends(ask(placed(flat, 0.0))) == ends(ask(placed(flat, 0.1)))
    assert not ask(placed(flat, 0.0)).extrapolating[0]


def test_another_element_type_counts_as_far_as_twice_of_every_number(flat: Artefact) -> None:
    assert FAR == 1.0
    own, other = ask(flat), ask(flat, dtype="f16")
    assert ends(own) == pytest.approx((-0.1, 0.1), rel=1e-4)
    assert ends(other) == pytest.approx((-APART, APART), rel=1e-4)


def test_another_protocol_has_the_band_of_other_machines(flat: Artefact) -> None:
    """A longer call is added to the time, a shorter one takes its share away."""
    graph, eager = ask(flat), ask(flat, how=Protocol.EAGER)
    assert not eager.extrapolating[0]
    reach = 3 * float(np.hypot(0.1, 0.2 * LEAST_DISTANCE**0.4))
    assert ends(eager) == pytest.approx((-reach, reach), rel=1e-4)
    launch_s = Sheet(load_machine("a100")).launch_s
    assert eager.time_s[0] == pytest.approx(graph.time_s[0] + launch_s)


def test_time_of_another_protocol_by_hand() -> None:
    """A kernel twice its estimate of 4: with a call of 6 more it is 8 + 6; of a quarter less is
    learned, 1 · 2 ** 0.25 ** 1.4.
    """
    centre = np.log(np.array([2.0, 2.0, 2.0]))
    found = transferred(np.full(3, 4.0), centre, np.array([10.0, 4.0, 1.0]))
    assert found.tolist() == pytest.approx([14.0, 8.0, 2 ** (0.25**1.4)])


def test_efficiency_is_floor_over_time(flat: Artefact) -> None:
    found = ask(flat)
    assert found.efficiency[0] == found.floor_s[0] / found.time_s[0]
    stated = predict_with(
        flat, ROW, "bf16", Sheet(load_machine("a100")), Protocol.GRAPH, floor_s=np.array([1.0])
    )
    assert (stated.low_s[0], stated.time_s[0], stated.high_s[0]) == pytest.approx(
        (1, 1, np.exp(0.1)), rel=1e-4
    )


def test_equal_rows_are_asked_once_and_answered_in_their_places() -> None:
    columns = {"a": np.array([2.0, 1.0, 2.0]), "b": np.array([5.0, 5.0, 5.0])}
    unique, back = distinct(columns)
    assert {name: c.tolist() for name, c in unique.items()} == {"a": [2, 1], "b": [5, 5]}
    assert back.tolist() == [0, 1, 0]


def test_rows_are_evaluated_once_whatever_they_must_take_at_least(
    flat: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_times, "_RECENT", recent := OrderedDict[Any, Any]())
    monkeypatch.setattr(candidate_times, "MOST_RECENT", 2)
    walks: list[int] = []
    once = candidate_times.candidate_kernels

    def counted(*args: Any, **keywords: Any) -> Any:
        walks.append(1)
        return once(*args, **keywords)

    monkeypatch.setattr(candidate_times, "candidate_kernels", counted)
    sheet = Sheet(load_machine("a100"))
    plain = ask(flat)
    least = predict_with(flat, ROW, "bf16", sheet, Protocol.GRAPH, floor_s=plain.time_s * 3)
    assert len(walks) == 1
    assert least.time_s[0] == plain.time_s[0] * 3
    ask(moved(flat, 0.25))
    ask(flat, "h100")
    assert len(walks) == 3
    assert len(recent) == 2


def test_weights_are_chosen_by_type_then_protocol_then_machine(tmp_path: Path) -> None:
    flat_weights.write(tmp_path, "matmul", ("bf16",))
    base = artefact.load(tmp_path / "matmul.json")

    def save(name: str, dtype: str, protocol: Protocol, target: str) -> None:
        place = base.card.places["bf16"]
        card = replace(
            base.card,
            name=name,
            dtypes=(dtype,),
            protocols=(protocol,),
            targets=(target,),
            configurations=((target, dtype, ""),),
            places={dtype: place},
        )
        weights_.save(replace(base, card=card), tmp_path)

    save("matmul-f16", "f16", Protocol.EAGER, "t4")
    save("matmul-eager", "bf16", Protocol.EAGER, "t4")
    save("matmul-t4", "bf16", Protocol.GRAPH, "t4")

    def chosen(dtype: str, protocol: Protocol, target: str) -> str:
        return select("matmul", dtype, protocol, target, tmp_path).card.name

    assert chosen("f16", Protocol.GRAPH, "a100-sxm4-80gb") == "matmul-f16"
    assert chosen("bf16", Protocol.EAGER, "a100-sxm4-80gb") == "matmul-eager"
    assert chosen("bf16", Protocol.GRAPH, "t4") == "matmul-t4"
    assert chosen("bf16", Protocol.GRAPH, "a100-sxm4-80gb") == "matmul"
    assert predictor.known_classes(tmp_path) == {"matmul"}


PRODUCT = b"""<ir_version: 10, opset_import: ["" : 22]>
g (bfloat16[64, 64] x, bfloat16[64, 64] w) => (bfloat16[64, 64] y) { y = MatMul (x, w) }"""


def test_weights_that_kept_no_rows_name_none(flat: Artefact, tmp_path: Path) -> None:
    """The flat weights say why: scale and factor, no neighbours; no more with none of many."""
    report = perfc.analyze(PRODUCT, "a100", runtime="cudagraph")
    execution = Execution(report.roofline, report.kernels, folder=tmp_path)
    found = why(execution, 0, Predictor.LEARNED)
    assert isinstance(found, ForestReason)
    assert (found.weights, found.factor, found.neighbours) == ("matmul", 1.0, ())
    nothing = np.zeros(0)
    names = flat.card.parameters
    empty = Cells(names, nothing, np.zeros((0, len(names))), nothing, nothing)
    weights_.save(replace(flat, cells=empty), tmp_path, overwrite=True)
    again = why(execution, 0, Predictor.LEARNED)
    assert isinstance(again, ForestReason)
    assert again.neighbours == ()


# Distances


def test_distance_is_one_for_a_factor_of_two_in_every_number(tmp_path: Path) -> None:
    assert distance((0.0, 0.0), (1.0, 1.0)) == 1
    assert distance((3.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 4.0)) == 2.5
    assert nearest((0.0,), ((3.0,), (-2.0,))) == 2
    assert nearest((0.0,), ()) == float("inf")
    sheet = Sheet(testing.machine(tmp_path))
    # 100 Tflop/s of f16, 10 of f32, 1 TB/s, 1 MB, 10 multiprocessors, 1 GHz, usual power, nobody's
    expected = (1e14, 1e13, 1e12, 1e6, 10.0, 1e9, 250.0)
    assert coordinates(sheet, "f16") == pytest.approx((*np.log2(expected), 16.0))
    assert vendor(Sheet(load_machine("a100"))) == VENDORS["NVIDIA"] == 0


# Sheets


def test_what_a_target_leaves_out_is_taken_from_the_rule_beside_it(tmp_path: Path) -> None:
    bare = Sheet(testing.machine(tmp_path))
    assert (bare.clock_hz, bare.base_clock_share, bare.threads_per_sm) == (1e9, 0.75, 2048)
    assert (bare.power_w, bare.process_node_m, bare.launch_s) == (0.0, 12e-9, 5e-6)
    assert (bare.shared_memory_bytes, bare.generation) == (65536, 0)
    assert (bare.device_bytes_per_s, bare.device_bytes) == (1e12, 16e9)
    assert (bare.l2_bytes, bare.l2_bytes_per_s) == (1e6, 4e12)
    assert bare.l1_bytes == 10 * 65536
    assert bare.ridge_flop_per_byte("f16") == 100
    assert (bare.matrix_flop_per_s("f16"), bare.vector_flop_per_s("f32")) == (1e14, 1e13)
    stated = Sheet(
        testing.machine(
            tmp_path,
            "clock_base_hz 4e8 sheet",
            "max_threads_per_sm 1024 sheet",
            "tdp_w 70 sheet",
            "process_node_m 7e-9 sheet",
            "launch_overhead_s 3e-6 sheet",
            "shared_memory_per_sm_bytes 32768 sheet",
        )
    )
    assert (stated.base_clock_share, stated.threads_per_sm, stated.power_w) == (0.4, 1024, 70)
    assert (stated.process_node_m, stated.launch_s) == (7e-9, 3e-6)
    assert stated.l1_bytes == 10 * 32768


@pytest.mark.parametrize(
    ("target", "generation"),
    [("a100", 8.0), ("t4", 7.5), ("h100", 9.0), ("b200", 10.0), ("mi300x", 0.0)],
)
def test_generations_are_compute_capabilities(target: str, generation: float) -> None:
    assert Sheet(load_machine(target)).generation == generation
