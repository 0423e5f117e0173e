"""Ranks of one job, a trace each: their times, matched collectives, waiting, stragglers.

`ranks_of` reads the traces of a folder for `perfc trace`; the records are the objects of its JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from perfc.common.plain_text import printable
from perfc.errors import ParseError
from perfc.ir import mutable, record
from perfc.machine import Machine
from perfc.view.report.units import Unit, plural, quantity
from perfc.view.result import Result

from ..facts import FEWER, UNKNOWN_NS, DeviceTrace
from ..floors import target_of
from ..notes import notes_of
from .arrivals import Arrival, RankMatching, Skew, Together, compared, matched, spread_ns
from .collectives import BusyTime, Collective, CollectiveKind, communicates, messages_of
from .rank_files import files_of, numbered

MOST_ARRIVALS = 2_000_000
"""Maximum collectives of all ranks together, which are matched in memory."""
MOST_NAMED = 5
"""Maximum collectives, and names of files, in a note."""
EPOCH_NS = 10**18
"""Minimum time of a clock that counts from 1970, as that of PyTorch before 2.3: a day of 2001."""


@record
class RankTime:
    """Times of one rank.

    Args:
        rank: number in the job.
        path: path of the file, in the folder if one is given.
        device: the tool's number of the device.
        launches: kernels and copies.
        span_s: from the first begin to the last end.
        busy_s: part of the span in which something ran.
        compute_s: part in which something else than communication ran.
        exposed_s: part in which only communication ran; with ``compute_s`` it is the busy time.
        overlapped_s: part in which communication and something else ran.
        idle_s: rest of the span.
        matched: collectives that another rank has too.
        transfer_s: time of the matched collectives on the rank that waits least.
        waiting_s: rest of their time on this rank.
        last: number of the matched collectives at which this rank arrives last.
        late_s: sum of the times by which it then follows the rank before it.
        offset_s: time that was added to its clock.
    """

    rank: int
    path: str
    device: str
    launches: int
    span_s: float
    busy_s: float
    compute_s: float
    exposed_s: float
    overlapped_s: float
    idle_s: float
    matched: int = 0
    transfer_s: float = 0.0
    waiting_s: float = 0.0
    last: int = 0
    late_s: float = 0.0
    offset_s: float = 0.0


@record
class RankedCollective:
    """A collective of several ranks.

    Args:
        kind: kind, in the terms of NCCL.
        dtype: element type; empty if unknown.
        bytes: largest message of a rank, as nccl-tests counts it; null if unknown.
        group: process group; empty if unknown.
        group_size: ranks that take part; null if unknown.
        ranks: maximum number of these ranks that have a trace.
        count: collectives.
        time_s: time on all these ranks.
        transfer_s: time on the rank that waits least, of each collective.
        waiting_s: rest of the time of all ranks.
        skew_s: mean time from the first arrival to the last.
        largest_skew_s: largest one.
        bus_bytes_per_s: bus bandwidth of the transfer; null if unknown.
        link_share: that over one direction of the links within a node; null if unknown.
        last_rank: rank that arrives last most often; null if all arrive together.
        last_share: share of the collectives at which it does; null as the rank.
    """

    kind: CollectiveKind
    dtype: str
    bytes: int | None
    group: str
    group_size: int | None
    ranks: int
    count: int
    time_s: float
    transfer_s: float
    waiting_s: float
    skew_s: float
    largest_skew_s: float
    bus_bytes_per_s: float | None
    link_share: float | None
    last_rank: int | None
    last_share: float | None


@record
class TracedRanks(Result):
    """Ranks of one job.

    Args:
        path: path of the folder, or of the files.
        world_size: ranks of the job; null if not recorded.
        target: target whose links are compared; empty without one.
        ranks: times of each rank that has a trace.
        collectives: matched collectives, those with the longest time first.
        unmatched: launches of collectives that no other rank has.
        imbalance: longest compute time of a rank over the mean, minus 1.
        is_aligned: the ends of collectives aligned the clocks, which are not comparable.
        straggler: rank that delays the others most; null if none does.
        notes: sentences on what the traces lack.
    """

    layout: ClassVar[str] = "perfc.measuring.trace.analyses.ranks_output:LAYOUT"
    path: str
    world_size: int | None
    target: str
    ranks: tuple[RankTime, ...]
    collectives: tuple[RankedCollective, ...]
    unmatched: int
    imbalance: float
    is_aligned: bool
    straggler: int | None
    notes: tuple[str, ...]


@mutable
class DistributedJob:
    """Traces of a job while they are read.

    Args:
        times: times of each device of each rank.
        arrivals: collectives of each device, in order.
        worlds: size of the job that the trace of each device records; None without one.
        machine: target whose links are compared; that of the first known device if None.
        is_absolute: all clocks count from 1970.
        notes: names of files by the sentence that is about them.
    """

    times: list[RankTime]
    arrivals: list[list[Arrival]]
    worlds: list[int | None]
    machine: Machine | None
    is_absolute: bool
    notes: dict[str, list[str]]

    @property
    def world_size(self) -> int | None:
        """Return the most frequent size, of equally frequent ones the largest; None without one."""
        counts = Counter(w for w in self.worlds if w is not None)
        return max(counts, key=lambda w: (counts[w], w), default=None)

    def note(self, text: str, name: str) -> None:
        """Add a file that a sentence is about."""
        self.notes.setdefault(text, []).append(name)

    def add(self, rank: int, name: str, trace: DeviceTrace) -> None:
        """Add the devices of a trace."""
        rows, communicating = trace.launches, communicates(trace)
        base = trace.base_ns or 0
        messages = list(messages_of(trace))
        self.is_absolute &= base > 0 or min(rows.start_ns) > EPOCH_NS
        known = map(target_of, trace.used_devices.values())
        self.machine = self.machine or next(filter(None, known), None)
        for (key, _), order in zip(trace.used_devices.items(), trace.by_device(), strict=True):
            if not order:
                continue
            computing: list[int] = []
            sending: list[int] = []
            for r in order:
                is_sent = (rows.kernel[r], rows.call[r]) in communicating
                (sending if is_sent else computing).append(r)
            chosen = order, computing, sending
            busy, compute, communication = (BusyTime.of(trace, part).total for part in chosen)
            end = max(rows.start_ns[r] + rows.duration_ns[r] for r in order)
            # communication is exposed where it alone makes the device busy
            span, exposed = end - rows.start_ns[order[0]], busy - compute
            overlapped, idle = communication - exposed, span - busy
            place = len(self.times)
            self.times.append(
                RankTime(
                    rank,
                    name,
                    str(key),
                    len(order),
                    span_s=span * 1e-9,
                    busy_s=busy * 1e-9,
                    compute_s=compute * 1e-9,
                    exposed_s=exposed * 1e-9,
                    overlapped_s=overlapped * 1e-9,
                    idle_s=idle * 1e-9,
                )
            )
            self.arrivals.append([])
            self.worlds.append(trace.world_size)
            for r in order:
                c, message = messages[r], rows.message[r]
                if c is not None and compared(c.kind):
                    begin = rows.start_ns[r] + base
                    number = trace.messages.columns[1][message] if message >= 0 else -1
                    arrival = Arrival(place, begin, begin + rows.duration_ns[r], c, number)
                    self.arrivals[-1].append(arrival)
        if sum(map(len, self.arrivals)) > MOST_ARRIVALS:
            raise ParseError(f"more than {MOST_ARRIVALS:,} collectives", hint=FEWER)


def ranks_of(
    paths: Sequence[str], read: Callable[[str], DeviceTrace], machine: Machine | None = None
) -> TracedRanks:
    """Return the times of the ranks of one job.

    Args:
        paths: a folder, or files.
        read: reads the trace of one file.
        machine: target whose links are compared; that of the first known device if None.

    Raises:
        ParseError: no trace in the folder, too many, or an unreadable one among the files.
    """
    job = DistributedJob([], [], [], machine, is_absolute=True, notes={})
    file_of: dict[int, str] = {}
    for path, number in numbered(files_of(paths, job.note)):
        name = str(path) if len(paths) > 1 else path.relative_to(paths[0]).as_posix()
        try:
            trace = read(str(path))
            if UNKNOWN_NS in trace.launches.start_ns[:1]:
                raise ParseError("no time line in it")
        except ParseError as error:
            if len(paths) > 1:
                raise
            job.note(f"left out: {error.message}", name)
            continue
        # a trace of a job of one process names no rank of this job
        recorded = None if trace.world_size == 1 else trace.rank
        if recorded is None:
            job.note("rank not recorded: numbered by the names", name)
        rank = number if recorded is None else recorded
        if rank in file_of:
            job.note(f"left out: rank {rank} as {file_of[rank]}", name)
            continue
        file_of[rank] = name
        job.add(rank, name, trace)
        for text in notes_of(trace):
            job.note(text, name)
    if not job.times:
        reasons = (f"{', '.join(names[:MOST_NAMED])}: {text}" for text, names in job.notes.items())
        # three reasons are enough to find the cause
        hint = "; ".join(list(reasons)[:3])
        raise ParseError("no traces of ranks in it", where=paths[0], hint=hint)
    return viewed(" ".join(paths), job)


def viewed(path: str, job: DistributedJob) -> TracedRanks:
    """Return the view of the traces that were read."""
    # traces of a job of another size are listed, but not matched
    world = job.world_size
    arrivals = [
        a if w in (None, world) else [] for a, w in zip(job.arrivals, job.worlds, strict=True)
    ]
    result = matched(arrivals, is_absolute=job.is_absolute)
    skews = [(c, Skew.of(c)) for c in result.collectives]
    groups: dict[Collective, list[tuple[Together, Skew]]] = {}
    # sums by rank: collectives, transfer, waiting, last arrivals, time by which it was late
    totals = [[0, 0, 0, 0, 0] for _ in job.times]
    for together, skew in skews:
        # ranks may have different messages, as of an all-to-all: the largest names the group
        largest = max((a.collective for a in together), key=lambda c: c.nbytes or 0)
        groups.setdefault(largest, []).append((together, skew))
        for a in together:
            late = skew.late_ns if a.rank == skew.last else 0
            each = 1, skew.transfer_ns, skew.waiting_ns[a.rank], int(late > 0), late
            totals[a.rank] = [x + y for x, y in zip(totals[a.rank], each, strict=True)]
    times = [
        replace(
            t,
            matched=count,
            transfer_s=transfer * 1e-9,
            waiting_s=waiting * 1e-9,
            last=last,
            late_s=late * 1e-9,
            offset_s=offset * 1e-9,
        )
        for t, (count, transfer, waiting, last, late), offset in zip(
            job.times, totals, result.offsets_ns, strict=True
        )
    ]
    collectives = [ranked(c, group, job) for c, group in groups.items()]
    compute = [t.compute_s for t in times]
    latest = max(times, key=lambda t: t.late_s)
    return TracedRanks(
        path,
        world,
        job.machine.name if job.machine else "",
        tuple(sorted(times, key=lambda t: (t.rank, t.device))),
        tuple(sorted(collectives, key=lambda c: -c.time_s)),
        result.unmatched,
        max(compute) * len(compute) / sum(compute) - 1 if sum(compute) else 0.0,
        result.is_aligned and bool(skews),
        latest.rank if latest.late_s else None,
        tuple(notes(job, result)),
    )


def ranked(
    c: Collective, group: Sequence[tuple[Together, Skew]], job: DistributedJob
) -> RankedCollective:
    """Return the sums over the collectives with the same message."""
    count = len(group)
    transfer_s = sum(skew.transfer_ns for _, skew in group) * 1e-9
    waiting_s = sum(sum(skew.waiting_ns.values()) for _, skew in group) * 1e-9
    time_s = sum(a.end_ns - a.begin_ns for together, _ in group for a in together) * 1e-9
    factor, link = c.kind.bus_factor(c.group_size), c.link_bytes_per_s(job.machine)
    bus = None
    if c.nbytes is not None and factor is not None and transfer_s > 0:
        bus = c.nbytes * count * factor / transfer_s
    late = Counter(skew.last for _, skew in group if skew.late_ns)
    last = max(late, key=late.__getitem__, default=None)
    return RankedCollective(
        c.kind,
        c.dtype,
        c.nbytes,
        c.label or c.group,
        c.group_size,
        max(len(together) for together, _ in group),
        count,
        time_s,
        transfer_s,
        waiting_s,
        sum(skew.skew_ns for _, skew in group) / count * 1e-9,
        max(skew.skew_ns for _, skew in group) * 1e-9,
        bus,
        None if bus is None or link is None else bus / link,
        None if last is None else job.times[last].rank,
        None if last is None else late[last] / count,
    )


def notes(job: DistributedJob, result: RankMatching) -> Iterator[str]:
    """Yield sentences on what the traces lack, and on their clocks."""
    ranks = {t.rank for t in job.times}
    sizes = sorted({w for w in job.worlds if w is not None})
    if len(sizes) > 1:
        text = f"traces of jobs of {', '.join(map(str, sizes))} ranks: those of {job.world_size} "
        yield text + "are matched"
    elif sizes and len(ranks) < sizes[0]:
        yield f"{len(ranks)} of {sizes[0]} ranks: waiting for the others counts as transfer"
    if not result.collectives:
        yield "no collective that several ranks have"
    elif result.is_aligned:
        yield "clocks are not comparable: aligned by the ends of collectives, in the median"
    else:
        spread = quantity(spread_ns(result.collectives) * 1e-9, Unit.SECOND)
        text = f"collectives end within {spread} on their ranks, in the "
        yield text + "median: smaller skews may be those of the clocks"
    if any(not a.collective.group and a.place < 0 for t in result.collectives for a in t):
        yield "process groups are not recorded: collectives are matched by kind, size and time"
    if result.unmatched:
        what = plural(result.unmatched, "launch", "launches")
        yield f"{what} of collectives that no other rank has"
    for text, names in job.notes.items():
        rest = len(names) - MOST_NAMED
        more = f" and {rest} more" if rest > 0 else ""
        yield f"{', '.join(map(printable, names[:MOST_NAMED]))}{more}: {text}"
