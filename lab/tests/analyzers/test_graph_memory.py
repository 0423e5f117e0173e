"""Memory of measured graphs beyond their estimate, and the reach of machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.graph.store import load_graph, save_graph
from perfc.analyzers.intervals.conformal import Band, Unseen
from perfc.analyzers.whole_runs.few_rows import UNTRAINED, WAY, design, deviations
from perfc.analyzers.whole_runs.machine_bands import RunBands, from_few
from perfc.analyzers.whole_runs.memory import OffsetMemory, fingerprint
from perfc_lab.training.calibration.unseen import GAUSSIAN, LeftOut
from perfc_lab.training.calibration.unseen import unseen_runs as unseen
from perfc_lab.whole_runs.residual_fit import offsets_of

from .graph_rows import measurements


def rows(count: int) -> list[GraphRow]:
    return list(measurements().rows[:count])


def test_a_graph_is_known_again_on_another_machine_by_what_it_is() -> None:
    data = measurements()
    first = data.of(rows(1))
    memory = offsets_of(first, np.array([0.4]))
    graph = data.graph(first.rows[0])
    other = {"another name": ModelGraph("another name", graph.ops, graph.kernels)}
    moved = replace(first.rows[0], graph="another name", target="titan-xp")
    assert memory(Measurements("d", other, (moved,)))[0] == pytest.approx(0.35)


def test_each_level_is_pulled_to_the_one_above() -> None:
    data = measurements()
    small, large = (data.rows[0], data.rows[1])
    assert (small.graph, small.batch, large.batch) == (large.graph, 1, 64)
    memory = offsets_of(data.of([small, large]), np.array([0.6, 0.0]))
    graph = 0.6 / 3
    way = (0.6 + graph) / 3
    at = memory(data.of([small, large, replace(small, batch=7)]))
    np.testing.assert_allclose(at, [(0.6 + way) / 2, way / 2, way], rtol=1e-6)


def test_a_graph_that_nobody_measured_has_no_offset() -> None:
    data = measurements()
    names = {data.rows[0].graph}
    known = data.where(lambda r: r.graph in names)
    memory = offsets_of(known, np.full(len(known), 0.3))
    prints = {fingerprint(data.graph(r).ops) for r in known.rows}
    strange = data.where(lambda r: fingerprint(data.graphs[r.graph].ops) not in prints)
    assert len(strange)
    assert not memory(strange).any()
    assert not offsets_of(data.of(()), np.zeros(0))(strange).any()


def test_keys_out_of_order_are_not_sound() -> None:
    keys, offsets = np.array([1, 5], np.uint64), np.zeros(2, np.float32)
    assert OffsetMemory(keys, offsets).is_sound
    assert not OffsetMemory(keys[::-1], offsets).is_sound
    assert not OffsetMemory(keys, offsets[:1]).is_sound


def test_a_machine_nobody_measured_reaches_as_far_as_machines_are_off() -> None:
    generator = np.random.default_rng(0)
    width = np.full(4000, 0.02)
    off = [
        LeftOut(1.0, generator.normal(o, 0.02, 4000), width, np.zeros(4000, np.intp))
        for o in (0.2, -0.2)
    ]
    found = unseen(off)
    within = found.band.high
    assert found.error * within == pytest.approx(GAUSSIAN * 0.2, rel=0.02)
    assert within == -found.band.low == pytest.approx(GAUSSIAN, rel=0.05)
    yes, no = np.ones(1, np.bool_), np.zeros(1, np.bool_)
    low, high = RunBands(unseen=found).ends(np.array([0.02]), no, no, no)
    assert high[0] == -low[0] == pytest.approx(within * np.hypot(found.error, 0.02))
    seen = RunBands(Band(-1.0, 2.0), Unseen(1.0, Band(-9.0, 9.0)))
    np.testing.assert_allclose(np.concatenate(seen.ends(np.array([0.1]), yes, no, no)), [-0.1, 0.2])


def test_a_few_rows_of_a_machine_have_their_own_band() -> None:
    # of 32 rows the 30th: nine in ten of 33, the one to come among them
    band = from_few(np.arange(32) / 30.0)
    assert (band.low, band.high) == (-29 / 30, 29 / 30)
    band = Band(-1.0, 1.0)
    yes, no = np.ones(1, np.bool_), np.zeros(1, np.bool_)
    bands = RunBands(Band(-9.0, 9.0), Unseen(1.0, Band(-9.0, 9.0)), band)
    np.testing.assert_allclose(
        np.concatenate(bands.ends(np.array([0.1]), no, yes, no)), [-0.1, 0.1]
    )


def test_a_way_of_running_that_nothing_was_trained_on_may_be_further_off() -> None:
    spread = deviations({"eager", "compiled", "channels last"}, 3)
    table = design(measurements().of(rows(2)), np.zeros((2, 88), np.float32), np.zeros((2, 3)))
    assert table.shape == (2, len(spread))
    assert (spread == UNTRAINED).sum() == 1
    assert spread[2] == WAY


def test_a_graph_read_from_disk_is_known_again(tmp_path: Path) -> None:
    graph = measurements().graph(rows(1)[0])
    # more than single precision, in which data sets are kept, has digits for
    large = replace(graph, ops=replace(graph.ops, whole=graph.ops.whole + 123456789.0))
    save_graph(large, tmp_path / "g.npz")
    read = load_graph(tmp_path / "g.npz", large.name)
    assert read is not None
    assert not np.array_equal(read.ops.whole, large.ops.whole)
    assert fingerprint(read.ops) == fingerprint(large.ops) != fingerprint(graph.ops)
