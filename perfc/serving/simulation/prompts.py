"""Simulate the queue of one decode group at the prefill engines of disaggregated serving.

`simulate` adds each arriving request and takes it back when its prompt was handed over.
"""

from __future__ import annotations

import math
from collections import deque
from functools import cache
from heapq import heappop, heappush, heapreplace
from itertools import islice

from ..engine import Engine
from .scheduler import Chunk

LINK_BYTES_PER_S = 25e9
"""Bandwidth between workers if a target gives no link: 200 Gbit/s InfiniBand; assumed."""


class PromptQueue:
    """Prompts of one decode group at the prefill engines, in the order in which they arrive.

    An engine that becomes free starts a step with as many whole prompts as its token budget holds,
    or with its share of the prompts that wait. All decode groups do the same at the same time, so
    that a step also computes prompts of other groups.

    Args:
        engine: one of the prefill engines, which are equal.
        at_once: steps with prompts that run at once for one decode group: each data-parallel rank
            group of an engine runs its own.
        tokens: mean tokens of a prompt.
        cached: tokens of a prompt that a prefix cache holds.
    """

    def __init__(self, engine: Engine, at_once: float, tokens: int, cached: int) -> None:
        self.engine, self.tokens, self.cached = engine, tokens, cached
        count = max(1, round(at_once))
        # `at_once` may be a fraction, but engines are whole: for each prompt of this group, a step
        # has this many prompts of all groups
        self.others = count / at_once
        self.free = [0.0] * count  # heap of the times at which engines become free
        # whole prompts of a step
        self.most = max(1, engine.kind.token_budget // max(1, tokens - cached))
        self.arrived: deque[tuple[float, int]] = deque()  # arrival and request, in order
        self.ready: list[tuple[float, int]] = []  # heap of handover and request
        self.batch_s = cache(self._batch_s)

    def prompts_s(self, count: int) -> float:
        """Return the time of prompts that share steps of the token budget."""
        total_s, done = 0.0, self.cached
        while done < self.tokens:
            tokens = min(self.engine.kind.token_budget, self.tokens - done)
            total_s += self.engine.cost.step_s([Chunk(tokens, done)] * count, 0, 0.0)
            done += tokens
        return total_s

    def handover_s(self) -> float:
        """Return the time to move the KV cache of a prompt."""
        tokens = self.tokens
        bytes_per_s = self.engine.machine.joined_bytes_per_s(2) or LINK_BYTES_PER_S
        demand = self.engine.cost.demand(tokens, min(tokens, self.engine.kind.token_budget), 1)
        return demand.kv_bytes * tokens / bytes_per_s

    def _batch_s(self, count: int) -> tuple[float, float]:
        """Return the time to compute ``count`` prompts and those of other groups.

        The second time is that from the start to the handover of a prompt, on average.
        """
        prompts = count * self.others
        # rounded first: 3.0000000001 prompts are 3
        prompts_per_step = min(self.most, math.ceil(round(prompts, 6)))
        step_s, steps = self.prompts_s(prompts_per_step), max(prompts / prompts_per_step, 1.0)
        # with several steps a prompt is done in the middle one on average
        return steps * step_s, (steps + 1) / 2 * step_s + self.handover_s()

    def next_s(self) -> float:
        """Return when an engine starts or hands over a prompt next; infinity if none waits."""
        starts = [max(self.free[0], self.arrived[0][0])] if self.arrived else []
        return min([*starts, *(at_s for at_s, _ in self.ready[:1])], default=math.inf)

    def add(self, index: int, arrival_s: float) -> None:
        """Add the prompt of a request."""
        self.arrived.append((arrival_s, index))

    def done(self, now_s: float) -> list[int]:
        """Return the requests whose prompts were handed over by ``now_s``, in order of handover."""
        step_prompts = max(1, int(self.most / self.others))  # of this group
        while self.arrived and (start_s := max(self.free[0], self.arrived[0][0])) <= now_s:
            # idle engines share the waiting prompts evenly
            idle = sum(at_s <= start_s for at_s in self.free)
            waiting = sum(at_s <= start_s for at_s, _ in islice(self.arrived, step_prompts * idle))
            count = math.ceil(waiting / idle)
            busy_s, end_s = self.batch_s(count)
            heapreplace(self.free, start_s + busy_s)
            for _ in range(count):
                heappush(self.ready, (start_s + end_s, self.arrived.popleft()[1]))
        handed: list[int] = []
        while self.ready and self.ready[0][0] <= now_s:
            handed.append(heappop(self.ready)[1])
        return handed
