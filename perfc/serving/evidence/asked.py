"""What the users of a benchmark ask: lengths that vary, and prompts that come again."""

from __future__ import annotations

import random

from ..simulation.arrivals import Request, Workload
from ..simulation.scheduler import Limits
from . import ServedRow
from .settings import RANGE_RATIO, Task, tasks

WARM_ROUNDS, ROUNDS = 2, 10
"""Requests of each user before those that are measured, and of these. The generator's benchmark
asks 50 of each; ten, as its older runner of genai-perf, suit the times to the first token."""


def spread_of(row: ServedRow) -> float:
    """Share by which the lengths of a row's requests vary downwards."""
    return 0.2 if {row.isl, row.osl} <= RANGE_RATIO else 0.0


SHORTEST = 2
"""Tokens of an answer."""


def at_once(row: ServedRow, seats: int, block_tokens: int) -> Workload:
    """All requests of a benchmark that sends them at once; a server takes so many at a time.

    Answers are drawn from a gamma distribution with the mean that was measured. Questions that
    were asked before are in the server's cache, but for the tokens of their last block, and those
    that run at once share its pages. A row that does not say what it asked has requests that are
    all alike and new.

    Args:
        row: that says what was asked.
        seats: of one server.
        block_tokens: of its cache.
    """
    task = tasks().get(row.dataset)
    if task is None:
        return Workload((Request(0.0, row.isl, row.osl),) * (ROUNDS * seats), seats)
    count = task.distinct * task.repeats(row.model, row.target, seats)
    draw, shape = random.Random(0), task.answers_vary**-2
    drawn = [min(draw.gammavariate(shape, row.osl / shape), task.longest) for _ in range(count)]
    scale = row.osl * count / sum(drawn)
    prompts = _prompts(task, row.isl)
    requests = []
    for i, n in enumerate(drawn):
        prompt = i % task.distinct
        isl = prompts[prompt]
        held = (isl - 1) // block_tokens * block_tokens if i >= task.distinct else 0
        requests.append(Request(0.0, isl, max(SHORTEST, round(scale * n)), held, prompt))
    return Workload(tuple(requests), seats)


def _prompts(task: Task, mean: int) -> list[int]:
    """Tokens of each distinct prompt, drawn from a gamma distribution."""
    if not task.prompts_vary:
        return [mean] * task.distinct
    draw, shape = random.Random(1), task.prompts_vary**-2
    drawn = [draw.gammavariate(shape, mean / shape) for _ in range(task.distinct)]
    scale = mean * task.distinct / sum(drawn)
    return [max(1, round(scale * n)) for n in drawn]


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
