"""Exchanges that take rows only where their experts are, by hand."""

from __future__ import annotations

import pytest

from perfc.frontend.config import Parallel, read_config
from perfc.frontend.config.lowering import ForwardStep, lower
from perfc.ir.ops.collective import AllGather, ReduceScatter, RowsOfExperts


def test_rows_go_to_the_ranks_whose_experts_they_chose() -> None:
    assert AllGather(32).sent_bytes(1_000_000) == 1_000_000
    # 1 - (31/32)^8 = 0.2243 of 32 ranks have an expert that a row chose
    assert AllGather(32, chosen=8).sent_bytes(1_000_000) == 224_000
    assert ReduceScatter(1, chosen=8).sent_bytes(1_000_000) == 1_000_000
    assert AllGather(32, chosen=1).sent_bytes(1_000_000) == 31_000


@pytest.mark.parametrize(("ranks", "chosen"), [(4, 0), (8, 0), (16, 8), (32, 8)])
def test_ranks_of_one_node_have_every_row(ranks: int, chosen: int) -> None:
    spread = Parallel(tensor=1, expert=ranks, attention_data=ranks)
    module = lower(read_config("deepseek-v3"), ForwardStep.DECODE, parallel=spread)
    found = {n.op.chosen for n in module.graph.nodes if isinstance(n.op, RowsOfExperts)}
    assert chosen in found
    assert found <= {0, chosen}, "logits are of every rank"
