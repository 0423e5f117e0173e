"""Rebuild workloads of published benchmarks: lengths, requests and hits of the prefix cache."""

from __future__ import annotations

import math
import random

from perfc.serving.simulation.arrivals import Request, Workload
from perfc.serving.simulation.scheduler import Limits

from . import ServedRow
from .settings import RANGE_RATIO, tasks

WARM_ROUNDS, ROUNDS = 2, 10
"""Requests of each user that warm up, and that are measured. The generator's benchmark sends 50 per
user; ten, as in its older runner of genai-perf, match the measured times to the first token."""


def spread_of(row: ServedRow) -> float:
    """Return the share by which the lengths of a row's requests vary downwards."""
    # InferenceMAX draws lengths from 0.8 to 1 times the given ones
    return 0.2 if {row.isl, row.osl} <= RANGE_RATIO else 0.0


SHORTEST = 2
"""Least tokens of an answer."""


def at_once(row: ServedRow, seats: int, block_tokens: int) -> Workload:
    """Return the requests of a benchmark that sends all at once to a server with ``seats`` seats.

    Answers are drawn from a gamma distribution with the mean that was measured, prompts as their
    task says. Repeated questions are in the server's cache, but for the tokens of their last block,
    and those that run at once share its pages. A row without a task has equal requests, all new.

    Args:
        row: published run.
        seats: maximum sequences of one server.
        block_tokens: tokens of a block of the server's KV cache.
    """
    task = tasks().get(row.dataset)
    if task is None:
        return Workload((Request(0.0, row.isl, row.osl),) * (ROUNDS * seats), seats)
    count = task.distinct * task.repeats(row.model, row.target, seats)
    answers = _drawn(row.osl, task.answers_vary, count, seed=0, least=SHORTEST, most=task.longest)
    prompts = _drawn(row.isl, task.prompts_vary, task.distinct, seed=1)
    requests = []
    for i, osl in enumerate(answers):
        prompt = i % task.distinct
        isl = prompts[prompt]
        cached_tokens = (isl - 1) // block_tokens * block_tokens if i >= task.distinct else 0
        requests.append(Request(0.0, isl, osl, cached_tokens, prompt, isl))
    return Workload(tuple(requests), seats)


def _drawn(
    mean: int, vary: float, count: int, *, seed: int, least: int = 1, most: float = math.inf
) -> list[int]:
    """Return ``count`` numbers of tokens, drawn from a gamma distribution and scaled to the mean.

    Args:
        mean: mean of the numbers.
        vary: standard deviation over the mean; 0 for equal lengths.
        count: how many numbers are drawn.
        seed: random seed of the draw.
        least: minimum of each number after scaling.
        most: maximum of each number before scaling.
    """
    if not vary:
        return [mean] * count
    # of a gamma distribution the shape is 1 / (deviation over mean)²
    draw, shape = random.Random(seed), vary**-2
    lengths = [min(draw.gammavariate(shape, mean / shape), most) for _ in range(count)]
    scale = mean * count / sum(lengths)
    return [max(least, round(scale * n)) for n in lengths]


def cached(row: ServedRow, limits: Limits) -> tuple[int, float]:
    """Return tokens of a prompt that the cache holds, and the share of the requests that find them.

    Requests draw their prompts evenly and independently. A prompt is in the cache if an earlier
    request had it and the pool has room for it and the running sequences: of such prompts, the
    share that fits is the share that hits, whichever was used last.

    Args:
        row: published run with `ServedRow.distinct_prompts`.
        limits: limits of one of its engines.
    """
    count = row.distinct_prompts
    if not count:
        return 0, 0.0
    users = max(1, round(row.concurrency / row.engines))
    free_tokens = limits.kv_tokens - users * (row.isl + row.osl / 2)
    share = min(max(free_tokens / (row.isl * count), 0.0), 1.0)
    # chance that a prompt was not drawn before the measured rounds, and until their end
    missed = [(1 - 1 / count) ** (rounds * users) for rounds in (WARM_ROUNDS, WARM_ROUNDS + ROUNDS)]
    new_share = count * (missed[0] - missed[1]) / (ROUNDS * users)
    block = limits.block_tokens
    return (row.isl - 1) // block * block, (1 - new_share) * share
