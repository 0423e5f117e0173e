"""A load on groups of ranks until it is steady: a run is lengthened until its means are certain.

The warm-up of a run is left out by MSER, the certainty of its means is that of batch means. What a
closed loop delivers follows from the time of its answers by Little's law (Little, A proof for the
queuing formula L = λW, Operations Research 9, 1961), as does the wait of users beyond those that
an engine can serve at once: one queue, whose head is served alike however long it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from perfc.ir.record import record

from .arrivals import Workload
from .confidence import interval, warm_up
from .load import Load
from .scheduler import Limits
from .simulate import Run, Served, come_earlier

ROUNDS, MOST_ROUNDS = 4, 64
"""Requests of a closed loop for each user: of the first run, and at most."""
FIRST_REQUESTS = 400
"""That come by themselves, of the first run."""
LATE_REQUESTS = 2000
"""Requests, at least, of a run that cannot keep up."""
LEAST_BATCH = 6
"""Requests of a batch of a closed loop, which is of whole rounds."""
BATCHES = 20
"""Of requests that come by themselves; Schmeiser advises 10 to 30."""
HALF_WIDTH = 0.05
"""Of the mean times of an answer and to its first token, relative, which is certain enough."""
MOST_STRIDES, MOST_REQUESTS, GROWTH = 30_000, 8_000, 4
"""Of a run, which is made so many times as long unless it would have more."""


@record
class Server:
    """One group of ranks.

    Args:
        serve: simulates a workload on it.
        limits: of the group.
        before_s: what a request takes before its first step, by the tokens of its prompt.
        is_staggered: whether users of a closed loop are in the middle of answers at first.
    """

    serve: Callable[[Workload], Run]
    limits: Limits
    before_s: Callable[[float], float]
    is_staggered: bool = False

    def most_users(self, load: Load) -> int:
        """Returns users of a closed loop beyond whom more only wait.

        They are as many as there are seats, or as the pool holds to their ends where it reserves
        them. Else they fill it with prompts, and some wait, as who is let in depends on what runs.
        """
        limits, page = self.limits, self.limits.block_tokens // 2
        shared = round(load.cached_tokens * load.cached_share)
        whole = load.isl + load.osl + page - shared
        if limits.max_num_seqs * whole + shared <= limits.kv_tokens:
            return limits.max_num_seqs
        if limits.reserves_output:
            return max(1, (limits.kv_tokens - shared) // whole)
        fit = (limits.kv_tokens - shared) // (whole - load.osl)
        return min(limits.max_num_seqs, max(1, fit + fit // 4))


@record
class Share:
    """What each of some groups of ranks does, which have the same part of a load.

    Args:
        run: of one group.
        groups: that run so.
        first: request from which on the run is measured.
        last: request up to which it is.
        requests_per_s: that each group finishes.
        half_width: relative, of the less certain of the means of the time to the first token and
            of the whole answer; infinite where the run is one batch.
    """

    run: Run
    groups: int
    first: int
    last: int
    requests_per_s: float
    half_width: float = math.inf

    @property
    def served(self) -> tuple[Served, ...]:
        """Requests that are measured."""
        return self.run.served[self.first : self.last]

    @property
    def weight(self) -> float:
        """Requests a second of all groups that are like one of those measured."""
        return self.groups * self.requests_per_s / (self.last - self.first)


@record
class Steady:
    """A load as it was served.

    Args:
        shares: of the groups that have something to do.
        idle: groups that have nothing to do.
        capacity_per_s: requests a second from which on all groups cannot keep up; 0 of a closed
            loop, whose users wait.
        is_late: whether more come than that.
    """

    shares: tuple[Share, ...]
    idle: int = 0
    capacity_per_s: float = 0.0
    is_late: bool = False

    def with_idle(self, groups: int) -> Steady:
        """Returns the same with more groups that have nothing to do."""
        return replace(self, idle=self.idle + groups)

    @property
    def requests_per_s(self) -> float:
        """That all groups finish."""
        return math.fsum([s.groups * s.requests_per_s for s in self.shares])


def steady(load: Load, groups: int, server: Server) -> Steady:
    """Returns a load that is spread over groups of ranks, in its steady state.

    Raises:
        ParseError: a trace that cannot be read, or a request that can never be served.
    """
    if load.trace:
        return _traced(load, groups, server)
    if load.rate:
        return _open(load, groups, server)
    return spread(load, groups, lambda part, count: _closed(part, count, server))


def at_once(load: Load, groups: int, server: Server) -> Steady:
    """Returns a load whose requests all come at once, from its first step to its last token."""
    whole = replace(load, requests=load.requests or load.concurrency)
    return spread(whole, groups, lambda part, count: _whole(part.workload(1), count, server))


def spread(load: Load, groups: int, share: Callable[[Load, int], Share]) -> Steady:
    """Returns users spread over groups: some have one user more than the others, or none."""
    fewer, more = divmod(load.concurrency, groups)
    shares = [
        share(
            replace(
                load, concurrency=users,
                requests=math.ceil(load.requests * users / load.concurrency),
            ),
            count,
        )
        for users, count in ((fewer + 1, more), (fewer, groups - more)) if users and count
    ]  # fmt: skip
    return Steady(tuple(shares), groups - sum([s.groups for s in shares]))


def _traced(load: Load, groups: int, server: Server) -> Steady:
    """The requests of a file, of which each group gets its turn."""
    requests = load.workload(1).requests
    busy = min(groups, len(requests))
    parts = [_whole(Workload(requests[i::busy]), 1, server) for i in range(busy)]
    # all end when the last of them does
    time_s = max(len(part.served) / part.requests_per_s for part in parts)
    shares = [replace(part, requests_per_s=len(part.served) / time_s) for part in parts]
    return Steady(tuple(shares), groups - busy)


def _whole(workload: Workload, groups: int, server: Server) -> Share:
    """A run of given requests from the first step to the last token."""
    run = server.serve(workload)
    count = len(run.served)
    time_s = max(s.last_s + server.before_s(s.request.input_tokens) for s in run.served)
    return Share(run, groups, 0, count, count / time_s)


def _closed(load: Load, groups: int, server: Server) -> Share:
    """Users of one group who ask again as soon as they have their answer."""
    users = min(load.concurrency, server.most_users(load))
    batch = users * max(1, math.ceil(LEAST_BATCH / users))
    requested = load.requests
    if requested and requested < 3 * batch:
        return _whole(load.workload(1), groups, server)
    rounds = ROUNDS
    while True:
        count = requested or rounds * batch
        part = replace(load, concurrency=users, requests=count)
        run = server.serve(part.workload(1, is_staggered=server.is_staggered))
        # the last round meets a queue that runs dry
        last = count - count % batch - batch
        first = max(batch, warm_up([s.answer_s for s in run.served[:last]], batch))
        share = _measured(run, groups, first, last, batch)
        if requested or rounds >= MOST_ROUNDS or _is_long_enough(share):
            break
        rounds *= GROWTH
    served = share.served
    each_s = math.fsum([s.answer_s for s in served]) / len(served)
    before_s = math.fsum([server.before_s(s.request.input_tokens) for s in served]) / len(served)
    # who waits takes a seat at once, without the time of a server
    rate = min(users / each_s, load.concurrency / (each_s + before_s))
    wait_s = load.concurrency / rate - each_s - before_s
    waited = come_earlier(run, wait_s) if wait_s > 0 else run
    return replace(share, run=waited, requests_per_s=rate)


def _open(load: Load, groups: int, server: Server) -> Steady:
    """Requests that come by themselves, evenly spread over the groups."""
    users = server.most_users(load)
    full = _closed(
        replace(load, concurrency=users, rate=0.0, requests=0), 1,
        replace(server, before_s=lambda _: 0.0),
    )  # fmt: skip
    each = replace(load, rate=load.rate / groups)
    capacity = full.requests_per_s
    requested = math.ceil(load.requests / groups)
    if each.rate >= capacity:
        count = requested or max(ROUNDS * users, LATE_REQUESTS)
        run = server.serve(replace(each, requests=count).workload(1))
        share = Share(run, groups, count // 4, count, capacity)
        return Steady((share,), 0, capacity * groups, is_late=True)
    count = requested or FIRST_REQUESTS
    while True:
        run = server.serve(replace(each, requests=count).workload(1))
        # those who come last meet fewer than come after others
        ends_s = run.served[-1].arrival_s
        last = next((i for i, s in enumerate(run.served) if s.last_s > ends_s), count)
        last = max(last, count // 2, 1)
        first = min(warm_up([s.answer_s for s in run.served[:last]]), last - 1)
        share = _measured(run, groups, first, last, max(1, (last - first) // BATCHES))
        if requested or _is_long_enough(share):
            found = replace(share, requests_per_s=each.rate)
            return Steady((found,), 0, capacity * groups)
        count *= GROWTH


def _is_long_enough(share: Share) -> bool:
    """Whether the means of a run are certain, or it cannot be lengthened."""
    run = share.run
    is_long = GROWTH * len(run.strides) > MOST_STRIDES or GROWTH * len(run.served) > MOST_REQUESTS
    return share.half_width <= HALF_WIDTH or is_long


def _measured(run: Run, groups: int, first: int, last: int, batch: int) -> Share:
    """Part of a run, with how certain its means are."""
    served = run.served[first:last]
    means = (
        interval([s.ttft_s for s in served], batch),
        interval([s.answer_s for s in served], batch),
    )
    return Share(run, groups, first, last, 0.0, max(m.half_width for m in means))
