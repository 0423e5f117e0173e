"""Rebuild the workloads of published benchmarks: lengths, requests and hits of the prefix cache."""

from __future__ import annotations

import math
import random

from perfc.serving.simulation.arrivals import Request, Workload
from perfc.serving.simulation.scheduler import Limits

from . import ServedRow
from .settings import RANGE_RATIO, tasks

WARM_ROUNDS, ROUNDS = 2, 10
"""Requests of each user before the measurement, and in it. The benchmark of aiconfigurator's
generator sends 50 per user; 10, as in its older runner of genai-perf, match the measured times to
the first token."""


def spread_of(row: ServedRow) -> float:
    """Return the share by which the lengths of a row's requests vary downwards."""
    # requests of InferenceX, which draws lengths from 0.8 to 1 times the given ones
    return 0.2 if {row.isl, row.osl} <= RANGE_RATIO else 0.0


SHORTEST = 2
"""Minimum tokens of an answer: a time per output token needs two."""


def at_once(row: ServedRow, seats: int, block_tokens: int) -> Workload:
    """Return the requests of a benchmark that sends all at once to a server with ``seats`` seats.

    Lengths of answers are drawn from a gamma distribution with the measured mean, those of prompts
    from one with the mean of the task. A repeated question is in the server's cache except for its
    last block, and requests of one question that run together share cache pages. A row without a
    task has requests of equal length, all of them new.

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
        # all questions once, then all of them again
        prompt = i % task.distinct
        isl = prompts[prompt]
        # whole blocks before the last token, which is computed for its successor
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
        count: number of draws.
        seed: random seed of the draw.
        least: minimum of each number after scaling.
        most: maximum of each number before scaling.
    """
    if not vary:
        return [mean] * count
    # the shape of a gamma distribution is 1 / (deviation over mean)²
    draw, shape = random.Random(seed), vary**-2
    lengths = [min(draw.gammavariate(shape, mean / shape), most) for _ in range(count)]
    scale = mean * count / sum(lengths)
    return [max(least, round(scale * n)) for n in lengths]


def cached(row: ServedRow, limits: Limits) -> tuple[int, float]:
    """Return the tokens of a prompt that a cache can hold, and the share of requests that hit it.

    Requests draw their prompts evenly and independently. A prompt is in the cache if an earlier
    request had it and if the pool has room for it besides the running sequences. If only some
    prompts fit, that share of them is taken to hit, whichever prompts were used last.

    Args:
        row: published run with `ServedRow.distinct_prompts`.
        limits: limits of one of its engines.
    """
    count = row.distinct_prompts
    if not count:
        return 0, 0.0
    users = max(1, round(row.concurrency / row.engines))
    # running sequences have, in the mean, half of their answer
    free_tokens = limits.kv_tokens - users * (row.isl + row.osl / 2)
    share = min(max(free_tokens / (row.isl * count), 0.0), 1.0)
    # probability that a prompt was not drawn before the measured rounds, and not until their end
    missed = [(1 - 1 / count) ** (rounds * users) for rounds in (WARM_ROUNDS, WARM_ROUNDS + ROUNDS)]
    # prompts that were drawn first in the measured rounds, over all requests of these
    new_share = count * (missed[0] - missed[1]) / (ROUNDS * users)
    block = limits.block_tokens
    return (row.isl - 1) // block * block, (1 - new_share) * share
