"""FP32 products on the lanes of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from perfc.analyzers.features import lanes
from perfc.analyzers.features.lanes import ALL, LARGE, SMALL, WIDE
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import list_machines, load_machine

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

A100 = Sheet(load_machine("a100-pcie-40gb"))
V100 = Sheet(load_machine("v100-pcie-32gb"))
P100 = Sheet(load_machine("p100-pcie-16gb"))
T4 = Sheet(load_machine("t4"))
H100 = Sheet(load_machine("h100-sxm5-80gb"))
MI100 = Sheet(load_machine("mi100"))
CUDA = [s for s in (Sheet(load_machine(m.name)) for m in list_machines()) if s.generation]


def times(sheet: Sheet, *, stored: bool = False, **extents: float | list[float]) -> Array:
    given = {"m": 1024.0, "n": 1024.0, "k": 1024.0, "batch": 1.0, **extents}
    columns = np.broadcast_arrays(*(np.asarray(v, float) for v in given.values()))
    m, n, k, batch = (np.atleast_1d(c) for c in columns)
    return lanes.compute_s(m, n, k, batch, np.full(m.shape, float(stored)), sheet)


def test_a_board_of_little_power_runs_below_its_boost_clock() -> None:
    assert lanes.power_share(T4) == pytest.approx(0.51, abs=0.01)
    assert lanes.power_share(V100) == 1.0


def test_the_same_chip_is_slower_under_a_lower_limit() -> None:
    more = Sheet(load_machine("a100-pcie-80gb"))
    assert lanes.power_share(A100) < lanes.power_share(more)


@pytest.mark.parametrize("sheet", CUDA, ids=lambda s: s.name)
def test_power_leaves_the_base_clock(sheet: Sheet) -> None:
    assert sheet.base_clock_share <= lanes.power_share(sheet) <= 1


def test_an_older_process_takes_more_energy() -> None:
    assert P100.process_node_m > V100.process_node_m > A100.process_node_m > H100.process_node_m


def test_twice_the_lanes_wait_for_shared_memory() -> None:
    assert lanes.lane_share(V100, LARGE.words) > 0.95
    assert lanes.lane_share(H100, LARGE.words) == pytest.approx(0.79, abs=0.01)
    assert lanes.lane_share(H100, 2 * LARGE.words) < 0.5


def test_other_makers_libraries_reach_what_was_seen_of_them() -> None:
    assert lanes.lane_share(MI100, LARGE.words) == pytest.approx(lanes.OTHERS_SHARE, rel=0.01)


def test_batched_products_have_the_tiles_of_their_generation() -> None:
    assert lanes.batched_tiles(P100) == (WIDE,)
    assert lanes.batched_tiles(A100) == (LARGE,)
    assert SMALL in lanes.batched_tiles(T4)
    assert lanes.batched_tiles(H100) == ALL


def test_a_row_more_than_a_tile_takes_another() -> None:
    whole, more = times(A100, m=[128, 129], n=128, batch=1080)
    assert more == pytest.approx(2 * whole, rel=1e-3)


def test_one_block_more_than_a_wave_takes_another() -> None:
    whole, more = times(A100, m=128, n=128, batch=[108, 109])
    assert more > 1.2 * whole


def test_short_reductions_pay_for_their_start() -> None:
    short, long = times(A100, n=8192, m=8192, k=[8, 8192])
    assert short > 2 * long * 8 / 8192


def test_long_stored_rows_slow_machines_before_volta_only() -> None:
    extents = {"m": 8192.0, "n": 8192.0, "k": [4096.0, 65536.0]}
    for sheet, least, most in ((P100, 30, 40), (V100, 15, 17)):
        near, far = times(sheet, stored=True, **extents)
        assert least < far / near < most
    near, far = times(P100, **extents)
    assert far / near < 17


@pytest.mark.parametrize("sheet", CUDA, ids=lambda s: s.name)
def test_no_product_takes_less_than_at_the_stated_peak(sheet: Sheet) -> None:
    extents = np.array([1.0, 64.0, 1000.0, 4096.0])
    for batch in (1.0, 64.0):
        found = times(sheet, m=extents.tolist(), batch=batch)
        least = 2 * extents * 1024 * 1024 * batch / lanes.peak_flop_per_s(sheet)
        assert (found > least).all()
