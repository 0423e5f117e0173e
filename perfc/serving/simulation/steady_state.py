"""Find the steady state of a load on rank groups: lengthen a run until its means are certain.

MSER removes the warm-up of a run, batch means give the confidence of its means. The throughput of
a closed loop follows from its end-to-end times by Little's law (Little, A proof for the
queuing formula L = λW, Operations Research 9, 1961), as does the wait of users beyond those that
an engine can serve at once: they form one queue, whose length does not change service.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from perfc.ir import record

from .arrivals import Workload
from .confidence import interval, warm_up
from .load import Load
from .scheduler import Limits
from .simulate import Served, SimulatedRun, come_earlier

ROUNDS = 4
"""Requests per user of a closed loop in its first run."""
FIRST_REQUESTS = 400
"""Requests of an open loop's first run."""
LATE_REQUESTS = 2000
"""Minimum requests of a run that cannot keep up."""
LEAST_BATCH = 6
"""Minimum requests in a batch of a closed loop, which consists of whole rounds."""
BATCHES = 20
"""Number of batches of an open loop; Schmeiser advises 10 to 30."""
HALF_WIDTH = 0.05
"""Relative half-width of mean end-to-end time and TTFT at which a run is long enough."""
MOST_STRIDES, MOST_REQUESTS, GROWTH = 30_000, 8_000, 4
"""Limits of a run in groups of equal steps (`Stride`) and in requests, and the factor by which a
run is lengthened within them."""


@record
class Server:
    """One rank group.

    Args:
        serve: function that simulates a workload on it.
        limits: limits of the group.
        before_s: seconds of a request before its first step, by its prompt tokens.
    """

    serve: Callable[[Workload], SimulatedRun]
    limits: Limits
    before_s: Callable[[float], float]

    def most_users(self, load: Load) -> int:
        """Return the number of closed-loop users beyond which more only wait.

        It is the number of sequence slots if the pool holds that many whole sequences. Otherwise it
        is the number of whole sequences in the pool if answers are reserved, and more if a request
        starts as soon as its prompt fits.
        """
        # each sequence wastes half a page on average
        limits, page = self.limits, self.limits.block_tokens // 2
        shared = round(load.cached_tokens * load.cached_share)
        whole = load.isl + load.osl + page - shared
        if limits.max_num_seqs * whole + shared <= limits.kv_tokens:
            return limits.max_num_seqs
        if limits.reserves_output:
            return max(1, (limits.kv_tokens - shared) // whole)
        # answers are not reserved: the prompts that fill the pool, and a quarter more, which may
        # wait for room
        fit = (limits.kv_tokens - shared) // (whole - load.osl)
        return min(limits.max_num_seqs, max(1, fit + fit // 4))


@record
class Share:
    """Share of a load on rank groups that all run the same part of it.

    Args:
        run: run of one group.
        groups: number of groups.
        first: first measured request.
        last: end of the measured requests.
        requests_per_s: requests that each group finishes per second.
        half_width: relative half-width of the less certain of mean TTFT and mean end-to-end time;
            infinite if the run is one batch.
    """

    run: SimulatedRun
    groups: int
    first: int
    last: int
    requests_per_s: float
    half_width: float = math.inf

    @property
    def served(self) -> tuple[Served, ...]:
        """Return the measured requests."""
        return self.run.served[self.first : self.last]

    @property
    def weight(self) -> float:
        """Return the requests per second of all groups for each measured request."""
        return self.groups * self.requests_per_s / (self.last - self.first)


@record
class Steady:
    """Steady state of a load.

    Args:
        shares: shares of the busy groups.
        idle: number of idle groups.
        capacity_per_s: requests per second that all groups sustain; 0 for a closed loop, whose
            users wait.
        is_late: True if more requests arrive than the groups sustain.
    """

    shares: tuple[Share, ...]
    idle: int = 0
    capacity_per_s: float = 0.0
    is_late: bool = False

    @property
    def requests_per_s(self) -> float:
        """Return the requests that all groups finish per second."""
        return math.fsum([s.groups * s.requests_per_s for s in self.shares])


def steady(load: Load, groups: int, server: Server) -> Steady:
    """Return the steady state of a load that is spread over rank groups.

    Some groups have one user more than the others, or none.

    Raises:
        ParseError: the trace cannot be read, or a request can never be served.
    """
    if load.trace:
        return _traced(load, groups, server)
    if load.rate:
        return _open(load, groups, server)
    fewer, with_one_more = divmod(load.concurrency, groups)
    shares: list[Share] = []
    for users, count in ((fewer + 1, with_one_more), (fewer, groups - with_one_more)):
        if users and count:
            requests = math.ceil(load.requests * users / load.concurrency)
            part = replace(load, concurrency=users, requests=requests)
            if load.is_whole:
                shares.append(_whole(part.workload(1), count, server))
            else:
                shares.append(_closed(part, count, server))
    return Steady(tuple(shares), groups - sum([s.groups for s in shares]))


def _traced(load: Load, groups: int, server: Server) -> Steady:
    """Return the steady state of a trace, whose requests groups take in turn."""
    requests = load.workload(1).requests
    # a group without a request is idle, and draws power all the same
    busy_groups = min(groups, len(requests))
    parts = [_whole(Workload(requests[i::busy_groups]), 1, server) for i in range(busy_groups)]
    # all groups end with the last of them
    time_s = max(len(part.served) / part.requests_per_s for part in parts)
    shares = [replace(part, requests_per_s=len(part.served) / time_s) for part in parts]
    return Steady(tuple(shares), groups - busy_groups)


def _whole(workload: Workload, groups: int, server: Server) -> Share:
    """Return the share of given requests, from the first step to the last token."""
    run = server.serve(workload)
    count = len(run.served)
    time_s = max(s.last_s + server.before_s(s.request.input_tokens) for s in run.served)
    return Share(run, groups, 0, count, count / time_s)


def _closed(load: Load, groups: int, server: Server) -> Share:
    """Return the share of one group's users who send the next request at once."""
    users = min(load.concurrency, server.most_users(load))
    batch = users * max(1, math.ceil(LEAST_BATCH / users))
    requested = load.requests
    # the whole run counts if it is too short for a warm-up, a measured batch and an end
    if requested and requested < 3 * batch:
        return _whole(load.workload(1), groups, server)
    rounds, is_burst = ROUNDS, load.opening_burst > 0
    # a longer run until the means are certain enough; a given number of requests is run once
    while True:
        count = requested or rounds * batch
        if is_burst and not requested:
            # the burst of all users is this fraction of the requests
            requests = min(round(1 / load.opening_burst) * users, MOST_REQUESTS)
            count = max(requests, 3 * batch)
        part = replace(load, concurrency=users, requests=count)
        run = server.serve(part.workload(1, is_staggered=not is_burst))
        if is_burst:
            # the burst makes the first rounds unlike the later ones: all requests are measured, but
            # the confidence comes from the later ones, without the first quarter
            later = _measured(run, groups, min(count // 4, count - 3 * batch), count - batch, batch)
            share = replace(later, first=0, last=count)
            break
        # in the last round the queue runs dry
        last = count - count % batch - batch
        share = _measured(run, groups, batch, last, batch)
        if requested or _is_long_enough(share):
            break
        rounds *= GROWTH
    served = share.served
    each_s = math.fsum([s.answer_s for s in served]) / len(served)
    before_s = math.fsum([server.before_s(s.request.input_tokens) for s in served]) / len(served)
    # Little's law: all slots are busy, or all users are in the system. A waiting user takes a free
    # slot without the time of the server.
    rate = min(users / each_s, load.concurrency / (each_s + before_s))
    wait_s = load.concurrency / rate - each_s - before_s
    waited = come_earlier(run, wait_s) if wait_s > 0 else run
    return replace(share, run=waited, requests_per_s=rate)


def _open(load: Load, groups: int, server: Server) -> Steady:
    """Return the steady state of open-loop requests, spread evenly over the groups."""
    users = server.most_users(load)
    # as many users as it can serve at once, without the server's time, give the rate that a group
    # sustains
    full = _closed(
        replace(load, concurrency=users, rate=0.0, requests=0, opening_burst=0.0),
        1,
        replace(server, before_s=lambda _: 0.0),
    )
    group_load = replace(load, rate=load.rate / groups)
    capacity = full.requests_per_s
    requested = math.ceil(load.requests / groups)
    if group_load.rate >= capacity:
        count = requested or max(ROUNDS * users, LATE_REQUESTS)
        run = server.serve(replace(group_load, requests=count).workload(1))
        # the queue grows: the first quarter, with the shortest waits, is left out
        share = Share(run, groups, count // 4, count, capacity)
        return Steady((share,), 0, capacity * groups, is_late=True)
    count = requested or FIRST_REQUESTS
    while True:
        run = server.serve(replace(group_load, requests=count).workload(1))
        # the last arrivals see less load than requests with others after them
        ends_s = run.served[-1].arrival_s
        last = next((i for i, s in enumerate(run.served) if s.last_s > ends_s), count)
        # under a high load few requests end before that: half of the run counts in any case
        last = max(last, count // 2, 1)
        first = min(warm_up([s.answer_s for s in run.served[:last]]), last - 1)
        share = _measured(run, groups, first, last, max(1, (last - first) // BATCHES))
        if requested or _is_long_enough(share):
            steady_share = replace(share, requests_per_s=group_load.rate)
            return Steady((steady_share,), 0, capacity * groups)
        count *= GROWTH


def _is_long_enough(share: Share) -> bool:
    """Return True if the means of a run are certain, or it cannot be lengthened."""
    run = share.run
    is_long = GROWTH * len(run.strides) > MOST_STRIDES or GROWTH * len(run.served) > MOST_REQUESTS
    return share.half_width <= HALF_WIDTH or is_long


def _measured(run: SimulatedRun, groups: int, first: int, last: int, batch: int) -> Share:
    """Return the measured part of a run, with the confidence of its means but without its rate."""
    served = run.served[first:last]
    means = (
        interval([s.ttft_s for s in served], batch),
        interval([s.answer_s for s in served], batch),
    )
    return Share(run, groups, first, last, 0.0, max(m.half_width for m in means))
