"""Steady state of disaggregated prefill: some engines compute prompts, others decode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from perfc.errors import ParseError
from perfc.ir import record

from ..engine import Engine
from .arrivals import Workload
from .scheduler import Chunk, Limits
from .simulate import Clock, Served, SimulatedRun, come_earlier, simulate

LINK_BYTES_PER_S = 25e9
"""Bandwidth between workers if a target gives no link: 200 Gbit/s InfiniBand; assumed."""

ROUNDS = 16
"""Searches for the number of users who decode at once."""


@record
class Prefill:
    """Engines that compute prompts.

    Args:
        engine: each of them.
        workers: number of engines.
        parts: number of decode engines that the load is spread over.
    """

    engine: Engine
    workers: int
    parts: int

    @property
    def at_once(self) -> float:
        """Return how many prompts are computed at once for one decode engine.

        Each data-parallel rank group computes one prompt at a time.
        """
        return self.workers * self.engine.parallel.sequence_groups / self.parts

    def prompt_s(self, tokens: int, cached: int) -> float:
        """Return the time of one prompt, in chunks of the token budget, and of its KV transfer."""
        cost, budget = self.engine.cost, self.engine.kind.token_budget
        total_s, done = 0.0, cached
        while done < tokens:
            chunk = min(budget, tokens - done)
            total_s += cost.step_s([Chunk(chunk, done)], 0, 0.0)
            done += chunk
        speed = self.engine.machine.joined_bytes_per_s(2) or LINK_BYTES_PER_S
        demand = cost.demand(tokens, min(tokens, budget), 1)
        return total_s + demand.kv_bytes * tokens / speed


class _Decoding:
    """Clock of engines that receive prompts already computed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step; prompts take no time here."""
        return self.clock.step_s((), decodes, context) if decodes else 1e-6


def simulate_disaggregated(
    workload: Workload, limits: Limits, clock: Clock, prefill: Prefill
) -> SimulatedRun:
    """Return a run whose prompts wait for the prefill workers.

    Each rank group computes one prompt at a time, in order. Users of a closed loop who wait there
    generate no tokens, so fewer decode at once: a mean number, at whose pace all answers are.

    Raises:
        ParseError: there is no worker; else as `simulate`.
    """
    if prefill.workers < 1:
        raise ParseError(
            "too few GPUs for one prefill worker",
            where="--prefill-gpus",
            hint=f"{prefill.engine.ranks} or more",
        )
    requests = workload.requests
    mean = sum(r.input_tokens for r in requests) // len(requests)
    cached = sum(r.cached_tokens for r in requests) // len(requests)
    each_s = prefill.prompt_s(mean, cached)
    rate = prefill.at_once / each_s
    if not workload.concurrency:
        return _delayed(simulate(workload, limits, _Decoding(clock)), each_s, rate)
    users, answers = workload.concurrency, [r.output_tokens for r in requests]
    context = mean + math.fsum(answers) / len(answers) / 2
    decoding, waits = users, list[float]()
    for _ in range(ROUNDS):
        running = min(decoding, limits.max_num_seqs)
        token_s = clock.step_s((), running, context) / limits.tokens_per_step
        waits = _waits([n * token_s for n in answers], users, rate, each_s)
        answer_s = math.fsum(answers) * token_s
        # of each user's time, by Little's law
        before, decoding = decoding, round(users * answer_s / (answer_s + math.fsum(waits))) or 1
        if decoding == before:
            break
    run = simulate(Workload(requests, decoding), limits, _Decoding(clock))
    return come_earlier(run, waits)


def _waits(answers_s: Sequence[float], users: int, rate: float, each_s: float) -> list[float]:
    """Return the seconds until the prompts of a closed loop's requests are computed.

    Users begin at once, and ask again when their answer ends.

    Args:
        answers_s: seconds of each answer, in order.
        users: number of users.
        rate: prompts that all workers compute per second.
        each_s: seconds of one.
    """
    workers = max(int(rate * each_s), 1)
    free, asking, waits = [0.0] * workers, [0.0] * users, list[float]()
    for answer_s in answers_s:
        asked_s = heappop(asking)
        start_s = max(asked_s, heappop(free))
        heappush(free, start_s + workers / rate)
        heappush(asking, start_s + each_s + answer_s)
        waits.append(start_s + each_s - asked_s)
    return waits


def _delayed(run: SimulatedRun, each_s: float, rate: float) -> SimulatedRun:
    """Return the run with open-loop requests delayed until a prefill worker is free."""
    free_s = 0.0
    served: list[Served] = []
    for s in run.served:
        start_s = max(s.arrival_s, free_s)
        free_s = start_s + 1 / rate
        wait_s = start_s - s.arrival_s + each_s
        served.append(replace(s, first_s=s.first_s + wait_s, last_s=s.last_s + wait_s))
    return replace(run, served=tuple(served), time_s=max(s.last_s for s in served))
