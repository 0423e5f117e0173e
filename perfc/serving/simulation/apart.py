"""Prompts computed by some engines, tokens written by others: steady state of both."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.errors import ParseError
from perfc.ir.record import record

from ..engine import Engine
from .arrivals import Workload
from .scheduler import Chunk, Limits
from .simulate import Clock, Run, Served, Stride, come_earlier, simulate

LINK_BYTES_PER_S = 25e9
"""Between workers where a target states no link: 200 Gbit/s InfiniBand; assumed."""


@record
class Prefill:
    """The engines that compute prompts.

    Args:
        engine: each of them.
        workers: how many.
        parts: engines that write tokens, over which the load is spread.
    """

    engine: Engine
    workers: int
    parts: int

    @property
    def at_once(self) -> float:
        """Prompts that workers compute at once for one engine that writes tokens.

        Groups of ranks with sequences of their own have a prompt each.
        """
        return self.workers * self.engine.parallel.sequence_groups / self.parts

    def prompt_s(self, tokens: int, cached: int) -> float:
        """Time of one prompt, in chunks of the engine's budget, and of handing its cache over."""
        cost, budget = self.engine.cost, self.engine.kind.token_budget
        found, done = 0.0, cached
        while done < tokens:
            chunk = min(budget, tokens - done)
            found += cost.step_s([Chunk(chunk, done)], 0, 0.0)
            done += chunk
        speed = self.engine.machine.joined_bytes_per_s(2) or LINK_BYTES_PER_S
        demand = cost.demand(tokens, min(tokens, budget), 1)
        return found + demand.kv_bytes * tokens / speed


class _Decoding:
    """A clock of engines to which prompts come computed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Prompts take nothing here."""
        return self.clock.step_s((), decodes, context) if decodes else 1e-6


def served_apart(workload: Workload, limits: Limits, clock: Clock, prefill: Prefill) -> Run:
    """A run whose prompts wait for the workers that compute them.

    Each group of ranks takes one prompt at a time, in order. Users of a closed loop who wait there
    write no tokens, so that fewer decode at once.

    Raises:
        ParseError: no worker; else as `simulate`.
    """
    if prefill.workers < 1:
        raise ParseError(
            "too few GPUs for one worker of prompts", where="--prefill-gpus",
            hint=f"{prefill.engine.ranks} or more",
        )  # fmt: skip
    requests = workload.requests
    mean = sum(r.input_tokens for r in requests) // len(requests)
    cached = sum(r.cached_tokens for r in requests) // len(requests)
    each_s = prefill.prompt_s(mean, cached)
    rate = prefill.at_once / each_s
    if not workload.concurrency:
        return _delayed(simulate(workload, limits, _Decoding(clock)), each_s, rate)
    users = workload.concurrency
    passed_by = _Passing.of(workload, limits, clock)
    # users who decode, where both halves pass as many requests
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
    """Requests a second that end where so many users decode at once.

    Args:
        clock: times of steps.
        limits: of the engine.
        context: tokens of a sequence in the middle of its answer.
        answer: tokens of one.
    """

    clock: Clock
    limits: Limits
    context: float
    answer: float

    @classmethod
    def of(cls, workload: Workload, limits: Limits, clock: Clock) -> _Passing:
        """Of the mean request: users may begin in the middle of their first answers."""
        later = workload.requests[workload.concurrency :] or workload.requests
        prompt, answer = (
            math.fsum(tokens) / len(later)
            for tokens in ([r.input_tokens for r in later], [r.output_tokens for r in later])
        )
        return cls(clock, limits, prompt + answer / 2, answer)

    def __call__(self, decoding: int) -> float:
        """Of so many users."""
        running = min(decoding, self.limits.max_num_seqs)
        step_s = self.clock.step_s((), running, self.context) / self.limits.tokens_per_step
        return running / (self.answer * step_s)


def _delayed(run: Run, each_s: float, rate: float) -> Run:
    """Requests that come by themselves wait for a worker in the order of their arrival."""
    free_s = 0.0
    served: list[Served] = []
    strides: tuple[Stride, ...] = run.strides
    for s in run.served:
        start_s = max(s.arrival_s, free_s)
        free_s = start_s + 1 / rate
        wait_s = start_s - s.arrival_s + each_s
        served.append(
            Served(s.request, s.arrival_s, s.first_s + wait_s, s.last_s + wait_s, s.spans)
        )
    return Run(tuple(served), strides, max(s.last_s for s in served), run.preempted)
