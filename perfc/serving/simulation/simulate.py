"""Simulate requests in an engine; equal decode steps are advanced in one jump.

`simulate` returns when each request had its first and last token, and the steps that ran. `Clock`
gives the time of a step: `StepCost`, or another model in tests.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence as Sized
from dataclasses import replace
from typing import Protocol

from perfc.errors import ParseError
from perfc.ir import mutable, record
from perfc.passes.runtimes import Batching

from .arrivals import MOST_REQUESTS, Request, Workload
from .prompts import PromptQueue
from .scheduler import Chunk, Limits, Scheduler, Sequence

FINEST = 64
"""Maximum decode steps of one jump, because the KV cache grows during it."""


class Clock(Protocol):
    """Model of step times."""

    def step_s(self, chunks: Sized[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of one step.

        Args:
            chunks: parts of prompts in it.
            decodes: sequences that write one token each.
            context: mean cached tokens of these sequences.
        """


@mutable
class Served:
    """Timeline of one request.

    Args:
        request: the request.
        arrival_s: time at which it arrived.
        first_s: end of the step with its first token.
        last_s: end of the step with its last token.
        spans: numbers of strides that had ended at its arrival, its first token and its last token;
            a stride in progress counts if more than half of it is over.
    """

    request: Request
    arrival_s: float
    first_s: float = math.nan
    last_s: float = math.nan
    spans: tuple[int, int, int] = (0, 0, 0)

    @property
    def answer_s(self) -> float:
        """Return the end-to-end time."""
        return self.last_s - self.arrival_s

    @property
    def ttft_s(self) -> float:
        """Return the time to first token."""
        return self.first_s - self.arrival_s

    @property
    def tpot_s(self) -> float:
        """Return the mean time per output token after the first; NaN if there is none."""
        rest = self.request.output_tokens - 1
        return (self.last_s - self.first_s) / rest if rest else math.nan


@record
class Stride:
    """Equal steps, one after another.

    Args:
        step_s: time of one step.
        steps: number of steps.
        chunks: parts of prompts in each step.
        decodes: sequences that wrote a token in each step.
        context: mean cached tokens of these sequences.
        tokens_per_step: mean tokens that each of these sequences wrote per step.
    """

    step_s: float
    steps: int
    chunks: tuple[Chunk, ...]
    decodes: int
    context: float
    tokens_per_step: float = 1.0


@record
class SimulatedRun:
    """Result of a workload.

    Args:
        served: requests in the order of their arrival.
        strides: steps that ran, in order.
        time_s: time of the last token, from 0.
        preempted: number of preemptions: sequences that lost their pages, as the pool was full.
    """

    served: tuple[Served, ...]
    strides: tuple[Stride, ...]
    time_s: float
    preempted: int

    @property
    def busy_s(self) -> float:
        """Return the seconds in which steps ran."""
        return math.fsum([s.step_s * s.steps for s in self.strides])


def come_earlier(run: SimulatedRun, wait_s: float) -> SimulatedRun:
    """Return the same run with requests that arrived ``wait_s`` earlier: they waited in a queue."""
    served = [replace(s, arrival_s=s.arrival_s - wait_s) for s in run.served]
    return replace(run, served=tuple(served))


class _Feed:
    """Requests that have not come yet, and the server's process that sends tokens one by one.

    ``next`` is the index of the next request, ``allowed`` how many may have come, ``sent_s`` when
    all tokens so far are sent, and ``due_s`` the time of the last call of `due`. ``sending`` has
    the times of steps at which tokens are sent, with the sequences that begin and end there.
    """

    def __init__(self, workload: Workload, write_s: float, prompts: PromptQueue | None) -> None:
        self.prompts = prompts
        self.served = [Served(r, r.arrival_s) for r in workload.requests]
        self.is_closed = workload.concurrency > 0
        self.next = 0
        self.allowed = workload.concurrency or len(self.served)
        self.write_s, self.sent_s, self.due_s = write_s, 0.0, 0.0
        self.sending: deque[tuple[float, list[Sequence], list[Sequence]]] = deque()

    def write(
        self, now_s: float, stride: Stride, first: list[Sequence], last: list[Sequence]
    ) -> None:
        """Send the tokens of equal steps, in the last of which requests begin or end."""
        step_s = self.write_s * (stride.decodes * stride.tokens_per_step + len(first))
        # the process lags behind if it sends slower than the engine generates
        self.sent_s = max(self.sent_s + stride.steps * step_s, now_s + step_s)
        self.sending.append((self.sent_s, first, last))

    def due(self, now_s: float, strides: int, scheduler: Scheduler) -> None:
        """Record what was sent, and hand over what has come."""
        while self.sending and self.sending[0][0] <= now_s:
            sent_s, first, last = self.sending.popleft()
            # a token sent in the first half of the last stride counts as sent before that stride
            ended = strides - (2 * sent_s < self.due_s + now_s)
            for served in [self.served[sequence.index] for sequence in first]:
                # a preempted sequence keeps its earlier first token
                if math.isnan(served.first_s):
                    served.first_s, served.spans = sent_s, (served.spans[0], ended, ended)
            for served in [self.served[sequence.index] for sequence in last]:
                served.last_s, served.spans = sent_s, (*served.spans[:2], ended)
            # each answer lets a user of a closed loop send the next request
            self.allowed += len(last) * self.is_closed
        self.due_s = now_s
        while self.next < min(self.allowed, len(self.served)):
            served = self.served[self.next]
            if not self.is_closed and served.arrival_s > now_s:
                break
            if self.is_closed:
                served.arrival_s = now_s
            served.spans = (strides, strides, strides)
            if self.prompts is None:
                scheduler.add(self.next, served.request, is_answer=self.is_closed)
            else:
                self.prompts.add(self.next, served.arrival_s)
            self.next += 1
        for index in self.prompts.done(now_s) if self.prompts else ():
            scheduler.add(index, self.served[index].request)

    def until_s(self) -> float:
        """Return when a request arrives, is handed over or gets tokens next; infinity if never."""
        times = [self.sending[0][0]] if self.sending else []
        times += [self.prompts.next_s()] if self.prompts else []
        if not self.is_closed and self.next < len(self.served):
            times.append(self.served[self.next].arrival_s)
        return min(times, default=math.inf)


def simulate(
    workload: Workload, limits: Limits, clock: Clock, prompts: PromptQueue | None = None
) -> SimulatedRun:
    """Serve a workload.

    Args:
        workload: the requests.
        limits: scheduling limits of the engine.
        clock: function that returns the time of a step.
        prompts: queue of the engines that compute prompts; None if this one does.

    Raises:
        ParseError: a request that the pool of keys and values can never hold, or too many.
    """
    check(workload, limits)
    feed, scheduler = _Feed(workload, limits.write_s, prompts), Scheduler(limits)
    now_s = owed = 0.0
    strides: list[Stride] = []
    feed.due(now_s, 0, scheduler)
    while scheduler.running or scheduler.waiting or math.isfinite(feed.until_s()):
        if not scheduler.running and not scheduler.waiting:
            now_s = max(now_s, feed.until_s())
            feed.due(now_s, len(strides), scheduler)
            continue
        stride = _next(scheduler, clock, feed.until_s() - now_s)
        strides.append(stride)
        now_s += stride.steps * stride.step_s
        ended: list[Sequence] = []
        if stride.decodes:
            # only some draft tokens are accepted: the fraction of a token counts in the next step
            accepted = owed + stride.steps * limits.tokens_per_step
            owed = accepted % 1.0
            ended = scheduler.advance(round(accepted - owed))
        ready, over = scheduler.finish_prompts()
        feed.write(now_s, stride, ready, ended + over)
        scheduler.look(stride.steps, has_prompts=bool(stride.chunks))
        feed.due(now_s, len(strides), scheduler)
    return SimulatedRun(tuple(feed.served), tuple(strides), now_s, scheduler.preempted)


def _next(scheduler: Scheduler, clock: Clock, until_s: float) -> Stride:
    """Return the next step, repeated until a sequence ends, a request arrives or the pool is full.

    Args:
        scheduler: waiting and running sequences.
        clock: function that returns the time of a step.
        until_s: time to the next arrival that does not depend on the end of another request.
    """
    if not scheduler.limits.reserves_output:
        # decodes come before prompts, which take the rest of the pool
        scheduler.preempt()
    chunks = tuple([chunk for _, chunk in scheduler.next_chunks()])
    is_prompts_first = bool(chunks) and scheduler.limits.batching is Batching.PROMPTS_FIRST
    decodes = 0 if is_prompts_first else len(scheduler.decoding)
    context = scheduler.context_sum / decodes if decodes else 0.0
    tokens_per_step = scheduler.limits.tokens_per_step
    steps = 1 if chunks else min(math.ceil(scheduler.decodes_until() / tokens_per_step), FINEST)
    # a jump must not pass a poll that has something to see
    if scheduler.unseen:
        steps = min(steps, scheduler.steps_until_look)
    if scheduler.coming:
        steps = 1
    # contexts grow in every step: the mean over the stride is the context of the middle step
    context += (steps * tokens_per_step - 1) / 2
    step_s = clock.step_s(chunks, decodes, context)
    # a request that arrives joins the next step, so that equal steps end there
    if steps > 1 and until_s < steps * step_s:
        steps = max(1, min(steps, math.ceil(until_s / step_s)))
    return Stride(step_s, steps, chunks, decodes, context, tokens_per_step)


def check(workload: Workload, limits: Limits) -> None:
    """Refuse what can never be served.

    Raises:
        ParseError: as ``simulate``.
    """
    if len(workload.requests) > MOST_REQUESTS:
        raise ParseError(f"{len(workload.requests)} requests", hint=f"{MOST_REQUESTS} at most")
    longest = max((r.input_tokens + r.output_tokens for r in workload.requests), default=0)
    # one page is lost to rounding
    if longest + limits.block_tokens > limits.kv_tokens:
        raise ParseError(
            f"a request of {longest} tokens does not fit a pool of {max(limits.kv_tokens, 0)}",
            hint="more GPUs (--tp), fewer bits (--dtype, --kv-dtype), or shorter requests",
        )
