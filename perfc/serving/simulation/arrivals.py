"""Draw requests and their arrival times: a closed loop of users, or a rate.

`steady_state.py` asks for more and more requests of one seed until its means are steady.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from perfc.ir import record

if TYPE_CHECKING:
    from .exposition import RequestLengths

MOST_REQUESTS = 200_000
"""Maximum number of requests of a trace or a simulation."""
PREFIX = 0
"""Number of the prefix that a cache holds for all prompts."""
LONGEST = 1 << 24
"""Maximum tokens of one request; more is taken for a mistake."""


@record
class Request:
    """One request.

    Args:
        arrival_s: arrival time since the first request.
        input_tokens: prompt tokens.
        output_tokens: tokens to generate, the first one included.
        cached_tokens: prompt tokens that the prefix cache holds at arrival.
        prompt: number of the prompt; concurrent requests with the same number share its pages.
            None if no other request has it.
        shared_tokens: length of the shared prefix, of which whole pages are shared.
    """

    arrival_s: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    prompt: int | None = None
    shared_tokens: int = 0


@record
class Workload:
    """Requests and their maximum concurrency.

    Args:
        requests: requests in the order of arrival.
        concurrency: users of a closed loop: a request arrives when another ends, and at most this
            many run at once; 0 for an open loop.
    """

    requests: tuple[Request, ...]
    concurrency: int = 0


def drawn_workload(
    concurrency: int,
    isl: int,
    osl: int,
    *,
    count: int,
    rate: float = 0.0,
    spread: float = 0.0,
    cached: int = 0,
    cached_share: float = 1.0,
    seed: int = 0,
    lengths: RequestLengths | None = None,
    is_staggered: bool = False,
) -> Workload:
    """Return requests of drawn lengths, from users in a closed loop or from a Poisson process.

    Args:
        concurrency: number of users; 0 for a Poisson process.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        count: total number of requests.
        rate: requests per second of the Poisson process.
        spread: lengths are drawn uniformly from ``(1 − spread)`` to 1 times the given ones.
        cached: prompt tokens that the prefix cache holds.
        cached_share: share of the requests that hit the prefix cache.
        seed: random seed.
        lengths: distribution of lengths in place of ``isl``, ``osl`` and ``spread``.
        is_staggered: True to start users in the middle of their first answers, so that the loop
            is steady from the start; else all start at once, as in benchmarks.
    """
    # two generators, so that hits of the cache do not change the lengths
    draw, hits = random.Random(seed), random.Random(seed + 1)
    drawn_lengths = lengths.drawn(count, seed) if lengths else ()
    requests: list[Request] = []
    at_s = 0.0
    for i in range(count):
        prompt_tokens, answer_tokens = (
            drawn_lengths[i]
            if drawn_lengths
            else (
                max(1, round(length * (1 - spread * draw.random()))) if spread else length
                for length in (isl, osl)
            )
        )
        if is_staggered and i < concurrency:
            # the rest of an answer is evenly distributed over users
            answer_tokens = max(1, round(answer_tokens * (i + 0.5) / concurrency))
        # the last token of a prompt is computed in any case: the answer begins with its result
        cached_tokens = min(cached, prompt_tokens - 1) if hits.random() < cached_share else 0
        prefix = PREFIX if cached_tokens else None
        requests.append(
            # requests share the pages of the prefix that the cache holds
            Request(at_s, prompt_tokens, answer_tokens, cached_tokens, prefix, cached_tokens)
        )
        at_s += draw.expovariate(rate) if rate else 0.0
    return Workload(tuple(requests), concurrency)
