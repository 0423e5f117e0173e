"""What the users of a benchmark ask: lengths that vary, and prompts that come again."""

from __future__ import annotations

from ..scheduler import Limits
from . import ServedRow
from .settings import RANGE_RATIO
from .tables import ML_ENERGY

WARM_ROUNDS, ROUNDS = 2, 10
"""Requests of each user before those that are measured, and of these. The generator's benchmark
asks 50 of each; ten, as its older runner of genai-perf, suit the times to the first token."""


def spread_of(row: ServedRow) -> float:
    """Share by which the lengths of a row's requests vary downwards."""
    if row.source == ML_ENERGY:
        return 0.6
    return 0.2 if {row.isl, row.osl} <= RANGE_RATIO else 0.0


def cached(row: ServedRow, limits: Limits) -> tuple[int, float]:
    """Tokens of a prompt that the cache holds, and the share of the requests that find them.

    Requests draw their prompts evenly and independently. A prompt is in the cache if it was asked
    before and the pool has room beside the sequences under way: of prompts drawn so, the share
    that fits is the share that hits, whichever was used last.

    Args:
        row: whose users ask `ServedRow.distinct_prompts`.
        limits: of an engine of it.
    """
    count = row.distinct_prompts
    if not count:
        return 0, 0.0
    users = max(1, round(row.concurrency / row.engines))
    room = limits.kv_tokens - users * (row.isl + row.osl / 2)
    kept = min(max(room / (row.isl * count), 0.0), 1.0)
    asked = [(1 - 1 / count) ** (rounds * users) for rounds in (WARM_ROUNDS, WARM_ROUNDS + ROUNDS)]
    new = count * (asked[0] - asked[1]) / (ROUNDS * users)
    block = limits.block_tokens
    return (row.isl - 1) // block * block, (1 - new) * kept
