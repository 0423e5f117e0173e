"""What collectives must carry, over which link."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.features.classes.collective import link_bytes_per_s
from perfc.analyzers.features.networks import Operation
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import Cluster, load_machine

GIB = 2.0**30


def floor_s(target: str, operation: Operation, ranks: int, **more: float) -> float:
    """Of one gibibyte."""
    kind = class_of("collective")
    given = {"operation": operation, "ranks": ranks, "nbytes": GIB, **more}
    rows = complete(kind, {n: np.array([float(v)]) for n, v in given.items()})
    sheet = Sheet(load_machine(target))
    floor = kind.floor_s(rows, "bf16", sheet)
    assert floor[0] <= kind.scale_s(rows, "bf16", sheet, Protocol.GRAPH)[0]
    return float(floor[0])


def test_an_all_reduce_carries_the_message_once_however_many_add() -> None:
    assert floor_s("h100", Operation.ALL_REDUCE, 2) == pytest.approx(GIB / 450e9)
    assert floor_s("h100", Operation.ALL_REDUCE, 8) == pytest.approx(GIB / 450e9)


def test_a_gather_leaves_out_what_a_rank_has() -> None:
    assert floor_s("h100", Operation.ALL_GATHER, 4) == pytest.approx(0.75 * GIB / 450e9)


def test_machines_without_nvlink_go_over_pcie() -> None:
    assert floor_s("l40s", Operation.ALL_REDUCE, 2) == pytest.approx(GIB / 31.5e9, rel=0.02)


def test_ranks_that_nvlink_does_not_join_go_over_pcie() -> None:
    kind, sheet = class_of("collective"), Sheet(load_machine("a100-pcie-80gb"))
    given = {"operation": [1, 1], "ranks": [2, 4], "nbytes": [1e6, 1e6], "joined": [2, 2]}
    rows = complete(kind, {n: np.array(v, float) for n, v in given.items()})
    fast, slow = link_bytes_per_s(rows, sheet)
    assert fast == 300e9
    assert slow == 31.5e9


def test_in_a_mesh_a_rank_sends_over_a_link_to_each_other() -> None:
    """Source: AMD, "Understanding RCCL Bandwidth and xGMI Performance on MI300X", 2025."""
    kind, sheet = class_of("collective"), Sheet(load_machine("mi300x"))
    given = {"operation": [1, 1, 1], "ranks": [2, 4, 8], "nbytes": [1e6, 1e6, 1e6]}
    rows = complete(kind, {n: np.array(v, float) for n, v in given.items()})
    assert link_bytes_per_s(rows, sheet).tolist() == pytest.approx([64e9, 192e9, 448e9])
    # a floor counts on all links, whatever way a message takes
    assert floor_s("mi300x", Operation.ALL_REDUCE, 2) == pytest.approx(GIB / 448e9)
    assert Cluster.of(load_machine("mi300x")).local_bytes_per_s(8) == 448e9


def test_ranks_beyond_a_mesh_go_over_pcie() -> None:
    kind, sheet = class_of("collective"), Sheet(load_machine("mi210"))
    given = {"operation": [1, 1], "ranks": [4, 8], "nbytes": [1e6, 1e6]}
    rows = complete(kind, {n: np.array(v, float) for n, v in given.items()})
    assert link_bytes_per_s(rows, sheet).tolist() == pytest.approx([150e9, 31.5e9])
    cluster = Cluster.of(load_machine("mi210"))
    assert cluster.joined == 4
    assert (cluster.local_bytes_per_s(4), cluster.local_bytes_per_s(8)) == (150e9, 31.5e9)
