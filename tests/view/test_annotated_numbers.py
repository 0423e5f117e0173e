"""Numbers of a node of a file that several analysed nodes add up to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.cost import Traffic, Work
from perfc.ir.symbolic.dim import symbol
from perfc.passes.roofline.cost import NodeCost, Tier
from perfc.study.annotate.properties import NodeNumbers

N = symbol("N")


def cost(tier: Tier = Tier.EXACT, repeat: Any = 1) -> NodeCost:
    return NodeCost(Work(mac=5 * N, alu=3), Traffic(7 * N, 11), tier, repeat, None)


def test_nodes_are_added_up_as_often_as_they_run() -> None:
    result = NodeNumbers()
    result.add(cost(), {"N": 2})
    result.add(cost(repeat=N + 1), {"N": 2})
    assert (result.mac, result.flop) == (40, 4 * 23)
    assert (result.read_bytes, result.write_bytes) == (56, 44)


@pytest.mark.parametrize("tiers", [(Tier.EXACT, Tier.BYTES), (Tier.BYTES, Tier.EXACT)])
def test_the_least_that_is_known_of_one_is_known_of_all(tiers: tuple[Tier, Tier]) -> None:
    result = NodeNumbers()
    assert result.coverage is Tier.EXACT
    for tier in tiers:
        result.add(cost(tier), {"N": 2})
    assert result.coverage is Tier.BYTES
    result.add(cost(Tier.UNKNOWN), {"N": 2})
    assert result.coverage is Tier.UNKNOWN


def test_kernels_named_after_a_node_err_together_and_the_longest_binds() -> None:
    result = NodeNumbers()
    assert (result.sustained_s, result.floor_s, result.bound) == (0, 0, "")
    led: list[Any] = [
        SimpleNamespace(time_s=t, floor_s=f, binding=SimpleNamespace(value=b))
        for t, f, b in ((2.0, 0.5, "matrix"), (3.0, 1.0, "device memory"))
    ]
    result.anchored += led
    foretold: list[Any] = [SimpleNamespace(time_s=t, low_s=t / 2, high_s=2 * t) for t in (2.0, 3.0)]
    result.predictions += foretold
    assert (result.sustained_s, result.floor_s, result.bound) == (5.0, 1.5, "device memory")
    assert result.predicted == (5.0, 2.5, 10.0)
