"""A table that the embedding and the head share is stored once by a rank that has both."""

from __future__ import annotations

import pytest

from perfc.distributed.recipe import MIXED
from perfc.distributed.service import plan

LAYER = 12 * 768 * 768 + 13 * 768
TABLE = 50257 * 768


@pytest.mark.parametrize(
    ("gpus", "held"),
    [(1, 12 * LAYER + TABLE + 1024 * 768 + 1536), (2, 6 * LAYER + TABLE + 1024 * 768)],
)
def test_gpt2_has_its_table_once_on_each_rank_that_reads_it(gpus: int, held: int) -> None:
    found = plan("gpt2", gpus, "a100", parallel={"pp": gpus})
    assert found.pareto[0].memory.parameters == MIXED.weight_bytes * held
