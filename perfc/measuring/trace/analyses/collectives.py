"""Collectives of a trace: messages, bandwidths, and the time that computation hides.

`collectives_of` groups the launches of communication by collective, `collective_sections` shows
them. Algorithm and bus bandwidth are those of nccl-tests: bytes over time, and that times a factor
by which different collectives compare with the link's bandwidth.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache

from perfc.ir import bits_of, mutable, record
from perfc.machine import Machine
from perfc.machine.cluster import Cluster
from perfc.view.report.formats.document import Column, Part, Section, Table, excerpt
from perfc.view.report.units import Unit

from ...measure.runtimes.events import Event, integer, text
from ..classes import TracedClass, class_of
from ..facts import UNKNOWN_NS, DeviceTrace, OperatorCall, TensorArgument
from ..work.operands import dtype_of

LONGEST_GROUP = 1000
"""Maximum characters of the name of a group, and of its ranks; a prefix identifies it as well."""


class CollectiveKind(Enum):
    """Kinds of collectives, in the terms of NCCL; a name that contains several is the first."""

    REDUCE_SCATTER = "reduce-scatter"
    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    SEND_RECEIVE = "send-receive"
    BARRIER = "barrier"
    GATHER = "gather"
    SCATTER = "scatter"
    REDUCE = "reduce"
    OTHER = "other"

    __hash__ = object.__hash__  # faster than Enum's hash of the name

    @classmethod
    @cache
    def of(cls, name: str) -> CollectiveKind:
        """Return the kind of a collective or kernel by its name.

        >>> CollectiveKind.of("_reduce_scatter_base").value
        'reduce-scatter'
        """
        plain = re.sub(r"[\W_]", "", name.lower())
        words = ((k, _WORDS.get(k, k.value.replace("-", ""))) for k in cls)
        return next((k for k, pattern in words if re.search(pattern, plain)), cls.OTHER)

    def bus_factor(self, ranks: int | None) -> float | None:
        """Return bus bandwidth over that of the algorithm; None if it is not defined.

        Source: nccl-tests, doc/PERFORMANCE.md.
        """
        # share of a message that each rank sends or receives: all but the part that it has
        kind, share = CollectiveKind, 0.0 if ranks is None else (ranks - 1) / max(ranks, 1)
        # None, not 0, for one rank, which sends nothing, and for an unknown number
        match self:
            case kind.BARRIER | kind.OTHER:
                return None
            case kind.BROADCAST | kind.REDUCE | kind.SEND_RECEIVE:
                return 1.0
            case kind.ALL_REDUCE:  # a reduce-scatter and an all-gather
                return 2 * share or None
            case _:
                return share or None


_WORDS = {
    CollectiveKind.ALL_REDUCE: "allreduce|crossdevicereduce|quickreduce|(one|two)shot",
    CollectiveKind.ALL_TO_ALL: "alltoall|a2a",
    CollectiveKind.SEND_RECEIVE: "send|recv",
    CollectiveKind.OTHER: "(?!)",
}
"""Patterns of names without punctuation, where they are not the value of the kind."""
_EVEN = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.BROADCAST,
)
"""Kinds whose ranks surely have messages of one size, which then identifies the collective too."""


@record
class Collective:
    """A collective with the message of one rank.

    Args:
        kind: kind.
        dtype: element type; empty if unknown.
        sent: elements of the rank's input; None if unknown.
        received: elements of its result; None if unknown.
        group_size: ranks that take part; None if unknown.
        group: name of the process group; empty if unknown.
        members: its ranks, as PyTorch prints them; empty if unknown.
        label: description of the group; empty without one.
    """

    kind: CollectiveKind
    dtype: str = ""
    sent: int | None = None
    received: int | None = None
    group_size: int | None = None
    group: str = ""
    members: str = ""
    label: str = ""

    @classmethod
    def of(cls, args: Event) -> Collective:
        """Build a collective from the arguments of an event of PyTorch."""
        dtype, label = (
            dtype_of(text(args, "dtype").lower()),
            text(args, "Process Group Description"),
        )
        sizes = (integer(args, k) for k in ("In msg nelems", "Out msg nelems", "Group size"))
        sent, received, size = (n if n is not None and n > 0 else None for n in sizes)
        return cls(
            CollectiveKind.of(text(args, "Collective name")),
            dtype.code if dtype else "",
            sent,
            received,
            size,
            _clean(text(args, "Process Group Name")),
            _clean(text(args, "Process Group Ranks")),
            "" if label == "undefined" else _clean(label),
        )

    @property
    def nbytes(self) -> int | None:
        """Return bytes of the whole message, the larger of input and result; None if unknown."""
        counts = [n for n in (self.sent, self.received) if n is not None]
        if not counts or not self.dtype:
            return None
        # the input of an all-gather is one rank's part of the message
        is_part = self.kind is CollectiveKind.ALL_GATHER and self.received is None
        if is_part and self.group_size is None:
            return None
        parts = self.group_size if is_part and self.group_size else 1
        return max(counts) * parts * bits_of(self.dtype) // 8

    @property
    def identity(self) -> tuple[object, ...]:
        """Return the group, kind and, where ranks have messages of the same size, bytes."""
        size = (self.dtype, self.nbytes) if self.kind in _EVEN else ()
        return self.group, self.members, self.kind, *size

    def link_bytes_per_s(self, machine: Machine | None) -> float | None:
        """Return one direction of the links of a rank within its node; None if unknown."""
        if machine is None or self.group_size is None:
            return None
        cluster, host = Cluster.of(machine), machine.link("host")
        # ranks are numbered node by node
        nodes = {int(r) // cluster.gpus_per_node for r in re.findall(r"\d+", self.members)}
        if self.group_size > cluster.gpus_per_node or len(nodes) > 1:
            return None
        # without direct links between all ranks, messages pass the host
        is_joined = self.group_size <= cluster.joined
        direct = machine.joined_bytes_per_s(self.group_size) if is_joined else 0.0
        return direct or (None if host is None else host.value)


def _clean(name: str) -> str:
    """Return a name of a trace, "" if it has characters that names of groups do not have."""
    name = name[:LONGEST_GROUP]
    return name if re.fullmatch(r"[\w.:, \[\]-]+", name) else ""


@mutable
class BusyTime:
    """Times in which at least one of several launches runs, in nanoseconds.

    Args:
        begins: begins of the intervals, which do not overlap.
        ends: their ends.
        before: sum of the intervals before each, and last of all.
    """

    begins: list[int]
    ends: list[int]
    before: list[int]

    @classmethod
    def of(cls, trace: DeviceTrace, order: Iterable[int]) -> BusyTime:
        """Return the busy time of launches, which are in the order of their begin."""
        busy = cls([], [], [0])
        starts, durations = trace.launches.start_ns, trace.launches.duration_ns
        for row in order:
            begin, end = starts[row], starts[row] + durations[row]
            if busy.ends and begin <= busy.ends[-1]:
                busy.before[-1] += max(end - busy.ends[-1], 0)
                busy.ends[-1] = max(end, busy.ends[-1])
            else:
                busy.begins.append(begin)
                busy.ends.append(end)
                busy.before.append(busy.before[-1] + end - begin)
        return busy

    @property
    def total(self) -> int:
        """Return the whole busy time."""
        return self.before[-1]

    def until(self, time_ns: int) -> int:
        """Return the busy time before a moment."""
        at = bisect_right(self.begins, time_ns) - 1
        if at < 0:
            return 0
        return self.before[at] + min(time_ns, self.ends[at]) - self.begins[at]


def communicates(trace: DeviceTrace) -> set[tuple[int, int]]:
    """Return kernel and operator of the launches of the class communication."""
    names, calls = trace.kernels, trace.calls
    pairs = {*zip(trace.launches.kernel, trace.launches.call, strict=True)}
    return {
        (kernel, call)
        for kernel, call in pairs
        if class_of(names[kernel], calls[call].operator if call >= 0 else "")
        is TracedClass.COMMUNICATION
    }


def messages_of(trace: DeviceTrace) -> Iterator[Collective | None]:
    """Yield the collective of each launch; None for other launches.

    Copies that an operator of communication launches are none. Without a recorded message, kernel
    and operator give the kind.
    """
    rows, names, calls = trace.launches, trace.kernels, trace.calls
    communicates_by_name = [class_of(name) is TracedClass.COMMUNICATION for name in names]
    # in a job of two ranks every group has both
    size = trace.world_size if trace.world_size == 2 else None
    messages = [c for c in trace.collectives.numbers if isinstance(c, Collective)]
    messages = [replace(c, group_size=c.group_size or size) for c in messages]
    numbers = trace.messages.columns[0]
    for kernel, call, message in zip(rows.kernel, rows.call, rows.message, strict=True):
        if not communicates_by_name[kernel]:
            yield None
        elif message >= 0:
            yield messages[numbers[message]]
        else:
            operator = calls[call] if call >= 0 else OperatorCall("")
            yield replace(unnamed(names[kernel], operator), group_size=size)


@cache
def unnamed(kernel: str, call: OperatorCall) -> Collective:
    """Return a collective by its kernel and operator; only an all-reduce has a size."""
    kinds = map(CollectiveKind.of, (kernel, call.operator))
    kind = next((k for k in kinds if k is not CollectiveKind.OTHER), CollectiveKind.OTHER)
    tensors = (a for a in call.arguments if isinstance(a, TensorArgument) and a.sizes)
    tensor = next(tensors, None) if kind is CollectiveKind.ALL_REDUCE else None
    if tensor is None or (dtype := dtype_of(tensor.dtype)) is None:
        return Collective(kind)
    return Collective(kind, dtype.code, math.prod(tensor.sizes))


@record
class CollectiveTime:
    """Launches of one collective.

    Args:
        kind: kind, in the terms of NCCL.
        dtype: element type; empty if unknown.
        bytes: whole message of one rank, as nccl-tests counts it; null if unknown.
        group: process group; empty if unknown.
        group_size: ranks that take part; null if unknown.
        launches: count.
        time_s: time of all launches, waiting for other ranks included.
        algorithm_bytes_per_s: bytes over time; null if unknown.
        bus_bytes_per_s: algorithm bandwidth times the factor of nccl-tests; null if unknown.
        best_bytes_per_s: bus bandwidth of the shortest launch, which waits least.
        link_share: that over one direction of the links within a node; null if unknown.
        exposed_s: nothing else ran; null without a time line.
        overlapped_s: computation ran at the same time; null without a time line.
    """

    kind: CollectiveKind
    dtype: str
    bytes: int | None
    group: str
    group_size: int | None
    launches: int
    time_s: float
    algorithm_bytes_per_s: float | None
    bus_bytes_per_s: float | None
    best_bytes_per_s: float | None
    link_share: float | None
    exposed_s: float | None
    overlapped_s: float | None


def collectives_of(
    trace: DeviceTrace, machine: Machine | None = None
) -> tuple[CollectiveTime, ...]:
    """Return the collectives of a trace, those with the longest time first.

    Args:
        trace: the trace.
        machine: target whose links are compared; None if unknown.
    """
    # kernel and operator of launches that communicate, which hide no communication
    communicating = communicates(trace)
    rows, messages = trace.launches, list(messages_of(trace))
    groups: dict[Collective, list[tuple[int, int]]] = {}
    for order in trace.by_device():
        computing = (r for r in order if (rows.kernel[r], rows.call[r]) not in communicating)
        computing_time = BusyTime.of(trace, computing)
        for row in order:
            if (collective := messages[row]) is None:
                continue
            begin, time_ns = rows.start_ns[row], rows.duration_ns[row]
            hidden_ns = UNKNOWN_NS
            if begin != UNKNOWN_NS:
                hidden_ns = computing_time.until(begin + time_ns) - computing_time.until(begin)
            groups.setdefault(collective, []).append((time_ns, hidden_ns))
    times = (timed(c, launches, machine) for c, launches in groups.items())
    return tuple(sorted(times, key=lambda c: -c.time_s))


def timed(
    c: Collective, launches: Sequence[tuple[int, int]], machine: Machine | None
) -> CollectiveTime:
    """Return the times of one collective, from time and hidden part of each launch in ns."""
    time_ns, hidden_ns = (sum(column) for column in zip(*launches, strict=True))
    rate = best = None
    if c.nbytes is not None and time_ns:
        rate = c.nbytes * len(launches) / time_ns * 1e9  # bytes per ns to bytes per s
        best = c.nbytes / max(min(time for time, _ in launches), 1) * 1e9
    factor, link = c.kind.bus_factor(c.group_size), c.link_bytes_per_s(machine)
    bus, best = (None if r is None or factor is None else r * factor for r in (rate, best))
    has_line = all(hidden != UNKNOWN_NS for _, hidden in launches)
    exposed = ((time_ns - hidden_ns) * 1e-9, hidden_ns * 1e-9) if has_line else (None, None)
    share = None if best is None or link is None else best / link
    return CollectiveTime(
        c.kind,
        c.dtype,
        c.nbytes,
        c.label or c.group,
        c.group_size,
        len(launches),
        time_ns * 1e-9,
        rate,
        bus,
        best,
        share,
        *exposed,
    )


COLUMNS = (
    Column("kind", "collective", is_name=True),
    Column("dtype", is_spare=True),
    Column("bytes", "bytes", Unit.BYTE, "whole message of one rank"),
    Column("group", is_spare=True),
    Column("group_size", "ranks", Unit.COUNT),
    Column("launches", "launches", Unit.COUNT),
    Column("time_s", "time", Unit.SECOND, "waiting for other ranks included"),
    Column("algorithm_bytes_per_s", "algorithm", Unit.BYTE_PER_S, "bytes over time", is_spare=True),
    Column("bus_bytes_per_s", "bus", Unit.BYTE_PER_S, "bandwidth by the factors of nccl-tests"),
    Column("best_bytes_per_s", "best", Unit.BYTE_PER_S, "bus bandwidth of the shortest launch"),
    Column("link_share", "of link", Unit.SHARE, "best over one direction of the links"),
    Column("exposed_s", "exposed", Unit.SECOND, "nothing else ran"),
    Column("overlapped_s", "overlapped", Unit.SECOND, "computation ran at the same time"),
)
"""Columns of collectives of one trace; those of several ranks share the first."""


def collective_sections(times: Sequence[CollectiveTime], top: int | None) -> Iterator[Section]:
    """Yield the table of collectives, if there are any."""
    if times:
        yield Section("collectives", "collectives", tuple(tabulated(COLUMNS, times, top)))


def tabulated(
    columns: Sequence[Column], records: Sequence[object], top: int | None
) -> Iterator[Part]:
    """Yield the table of records by the names of its columns, and what it leaves out.

    Columns that are unknown in each record are left out.
    """
    whole, *more = excerpt(columns, records[:top], len(records), "row more")
    assert isinstance(whole, Table)
    cells = zip(*whole.rows, strict=True)
    yield whole.only([at for at, column in enumerate(cells) if {*column} - {None, ""}])
    yield from more
