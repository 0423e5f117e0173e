"""Steady state of disaggregated prefill: some engines compute prompts, others decode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import ParseError
from perfc.ir import record

from ..engine import Engine
from .arrivals import Workload
from .scheduler import Chunk, Limits
from .simulate import Clock, Served, SimulatedRun, come_earlier, simulate

LINK_BYTES_PER_S = 25e9
"""Bandwidth between workers if a target gives no link: 200 Gbit/s InfiniBand; assumed."""


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
    generate no tokens, so fewer decode at once.

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
    users = workload.concurrency
    passed_by = _Passing.of(workload, limits, clock)
    # number of decoding users at which both halves have the same request rate
    low, high = 1, users
    while low < high:
        decoding = (low + high + 1) // 2
        if passed_by(decoding) <= rate and decoding < users:
            low = decoding
        else:
            high = decoding - 1
    run = simulate(Workload(requests, low), limits, _Decoding(clock))
    passed = min(passed_by(low), rate)
    return come_earlier(run, max(each_s, users / passed - low / passed))


@record
class _Passing:
    """Request rate of the decode engines by the number of decoding users.

    Args:
        clock: times of steps.
        limits: limits of the engine.
        context: tokens of a sequence in the middle of its answer.
        answer: tokens of an answer.
    """

    clock: Clock
    limits: Limits
    context: float
    answer: float

    @classmethod
    def of(cls, workload: Workload, limits: Limits, clock: Clock) -> _Passing:
        """Return the rate of the mean request, without users' first answers, which may be cut."""
        later = workload.requests[workload.concurrency :] or workload.requests
        prompt, answer = (
            math.fsum(tokens) / len(later)
            for tokens in ([r.input_tokens for r in later], [r.output_tokens for r in later])
        )
        return cls(clock, limits, prompt + answer / 2, answer)

    def __call__(self, decoding: int) -> float:
        """Return the requests per second that finish with so many decoding users."""
        running = min(decoding, self.limits.max_num_seqs)
        step_s = self.clock.step_s((), running, self.context) / self.limits.tokens_per_step
        return running / (self.answer * step_s)


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
