"""Time of kernels by module, source line and call stack of the host.

`stack_times` is a breakdown of `perfc trace`; `difference` sums kernels by the chains of
`chains_of`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum

from perfc.errors import ParseError
from perfc.ir import mutable, record

from ..facts import FEWER, DeviceTrace
from ..floors import is_with_host
from ..summary import TraceSummary
from ..timeline import HostKind, HostLabel, HostTimeline
from .host import span_of, stacks

MOST_NODES = 200_000
"""Maximum calls of a tree, which is written as a whole."""
NESTED = 16
"""Maximum nodes of autograd before a launch that are searched for the one around it."""
RECORD = "record with torch.profiler.profile(with_stack=True, with_modules=True)"
"""Hint where the trace lacks these events."""


class StackBy(Enum):
    """Parts of the host's stack that kernels are summed by."""

    MODULE = "module"
    LINE = "line"
    CALL = "call"

    @property
    def kinds(self) -> frozenset[HostKind]:
        """Return the kinds of events that count."""
        match self:
            case StackBy.MODULE:
                return frozenset({HostKind.MODULE})
            case StackBy.LINE:
                return frozenset({HostKind.PYTHON})
            case StackBy.CALL:
                # the operator is the innermost event: not its library, not the call that launches
                return frozenset(HostKind) - {HostKind.LIBRARY, HostKind.CALL}


@record
class StackTime:
    """Kernels launched in one module, function or path of calls.

    Args:
        path: names from the outermost on, with slashes between; empty for launches outside of all.
        name: last of these names. Before it stands the module or range around it, with a slash, if
            that has no row because it launches only through this one.
        depth: nodes around it.
        launches: count.
        self_s: time of kernels launched here, in no inner module, function or call.
        time_s: time of all kernels.
        share: of the time of all kernels of the trace.
        backward_s: part of the time in gradients, charged to the forward operator.
        bounded_s: time of operators with a lower bound.
        floor_s: lower bound of these operators; null without one.
        floor_share: lower bound over their time; null without one.
    """

    path: str
    name: str
    depth: int
    launches: int
    self_s: float
    time_s: float
    share: float
    backward_s: float
    bounded_s: float
    floor_s: float | None
    floor_share: float | None


@mutable
class _ChainTime:
    """Launches and times of one stack; ``self_ns`` is of kernels that it launches itself."""

    launches: int = 0
    time_ns: int = 0
    backward_ns: int = 0
    bounded_ns: int = 0
    floor_s: float = 0.0
    self_ns: int = 0

    def add(self, other: _ChainTime) -> None:
        """Add launches inside."""
        self.launches += other.launches
        self.time_ns += other.time_ns
        self.backward_ns += other.backward_ns
        self.bounded_ns += other.bounded_ns
        self.floor_s += other.floor_s


@mutable
class Gradients:
    """Nodes of autograd, to find the forward operator of a gradient.

    Args:
        backward: begin, end and number of gradients by thread, in order.
        forward: begin and thread of forward operators by number, in order.
    """

    backward: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    forward: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, host: HostTimeline) -> Gradients:
        """Build the table of a trace."""
        result = cls()
        for thread, begin, end, number, is_gradient in sorted(host.sequences):
            if is_gradient:
                result.backward.setdefault(thread, []).append((begin, end, number))
            else:
                result.forward.setdefault(number, []).append((begin, thread))
        for listed in result.forward.values():
            listed.sort()
        return result

    def origin(self, thread: int, time: int) -> tuple[int, tuple[int, int]] | None:
        """Return the begin of the gradient around a time, with thread and begin of its forward.

        Several operators may have the number of a node: the last before the gradient created it.
        """
        listed = self.backward.get(thread, [])
        # the last gradient that begins by then; nested ones begin after the one around them
        at = bisect_right(listed, (time, 1 << 63, 0))
        for begin, end, number in reversed(listed[max(at - NESTED, 0) : at]):
            if time <= end:
                forward = self.forward.get(number, [])
                place = bisect_right(forward, (begin, -1)) - 1
                return (begin, forward[place][::-1]) if place >= 0 else None
        return None


def stack_times(summary: TraceSummary, by: StackBy, path: str = "") -> tuple[StackTime, ...]:
    """Return the time by module, line or call; modules and calls as a tree, depth first.

    Calls that only make one further call are part of its path. ``self_s`` adds up to the time of
    all kernels, as each kernel counts in the ``self_s`` of its innermost node alone.

    Raises:
        ParseError: the trace has no events of these kinds.
    """
    trace = summary.trace
    kinds = (
        {x.kind for x in trace.host.labels.numbers if isinstance(x, HostLabel)}
        if trace.host
        else set()
    )
    has_operators = by is StackBy.CALL and trace.host is not None and len(trace.host.operators) > 0
    if not (by.kinds & kinds or has_operators):
        raise ParseError(f"no {by.value}s of the host in it", where=path, hint=RECORD)
    chains = summed(trace, summary, by)
    sums: dict[tuple[HostLabel, ...], _ChainTime] = {}
    for chain, total in chains.items():
        is_list = by is StackBy.LINE
        # a launch counts in each node of its stack; in a list of lines once, even in a recursion
        prefixes = (chain[:n] for n in range(1, len(chain) + 1))
        # a dict drops repeated lines and keeps their order; a launch outside of all events has ()
        keys = dict.fromkeys(p[-1:] if is_list else p for p in prefixes) or [()]
        for key in keys:
            sums.setdefault(key, _ChainTime()).add(total)
        if len(sums) > MOST_NODES:
            raise ParseError(f"more than {MOST_NODES:,} calls in a tree", where=path, hint=FEWER)
        sums[chain[-1:] if is_list else chain].self_ns += total.time_ns
    records = [
        timed(chain, name, depth, sums[chain], summary.kernel_ns)
        for chain, name, depth in ordered(sums, is_short=by is StackBy.CALL)
    ]
    # a tree keeps its order; lines are sorted by the time of kernels that they launch themselves
    return tuple(
        sorted(records, key=lambda n: (-n.self_s, -n.time_s)) if by is StackBy.LINE else records
    )


def summed(
    trace: DeviceTrace, summary: TraceSummary, by: StackBy
) -> Mapping[tuple[HostLabel, ...], _ChainTime]:
    """Return the launches by the events around them."""
    floors, bounded = floors_of(summary)
    rows, names = trace.launches, trace.kernels
    result: dict[tuple[HostLabel, ...], _ChainTime] = {}
    for row, (chain, is_gradient) in enumerate(chains_of(trace, by)):
        time_ns, key = rows.duration_ns[row], (rows.kernel[row], rows.call[row])
        total = result.setdefault(chain, _ChainTime())
        total.launches += 1
        total.time_ns += time_ns
        total.backward_ns += time_ns * is_gradient
        # all copies with the host of a call are bounded together, and all its other kernels; a
        # floor is that of one kernel
        if (rows.call[row], is_with_host(names[rows.kernel[row]])) in bounded:
            total.bounded_ns += time_ns
            # only the longest kernel of an operator has its lower bound: others add nothing
            total.floor_s += floors.get(key, 0.0)
    return result


def chains_of(trace: DeviceTrace, by: StackBy) -> Sequence[tuple[tuple[HostLabel, ...], bool]]:
    """Return the events around each launch, and whether it computes a gradient.

    Gradients run outside of the modules and lines of the model, so the events around the forward
    operator of a gradient count, unless one of the events around the launch began within the
    gradient. Calls are always those of the launch.
    """
    result: list[tuple[tuple[HostLabel, ...], bool]] = [((), False)] * len(trace.launches)
    if trace.host is None:
        return result
    # rows with thread and begin of their launch on the host
    spans = [(row, span_of(trace, row)) for row in range(len(trace.launches))]
    moments = [(row, (span[0], span[1])) for row, span in spans if span is not None]
    gradients = Gradients.of(trace.host)
    gradients_outside: list[tuple[int, tuple[int, int]]] = []
    times = [moment for _, moment in moments]
    for place, chain, begin in stacks(trace.host, by.kinds, times):
        row, moment = moments[place]
        origin = gradients.origin(*moment)
        result[row] = chain, origin is not None
        if origin is not None and by is not StackBy.CALL:
            gradient_begin, forward = origin
            # the innermost event began before the gradient did
            if begin <= gradient_begin:
                gradients_outside.append((row, forward))
    for place, chain, _ in stacks(
        trace.host, by.kinds, [moment for _, moment in gradients_outside]
    ):
        result[gradients_outside[place][0]] = chain, True
    return result


def floors_of(
    summary: TraceSummary,
) -> tuple[Mapping[tuple[int, int], float], frozenset[tuple[int, bool]]]:
    """Return the lower bound of a launch by kernel and call, and the calls that have one."""
    trace = summary.trace
    floors: dict[tuple[int, int], float] = {}
    bounded: set[tuple[int, bool]] = set()
    for k in summary.kernels:
        if k.floor is not None:
            call = trace.operator_calls.numbers[k.call]
            kernel = trace.kernel_names.numbers[k.kernel]
            # the bound is of an execution, which may launch this kernel several times
            floors[kernel, call] = k.floor.floor_s * k.executions / k.launches
            # copies from or to the host have another bound than other kernels of the same call
            bounded.add((call, is_with_host(k.kernel)))
    return floors, frozenset(bounded)


def ordered(
    sums: Mapping[tuple[HostLabel, ...], _ChainTime], *, is_short: bool
) -> Iterator[tuple[tuple[HostLabel, ...], str, int]]:
    """Yield the nodes of a tree with name and depth, the longest branch first.

    With ``is_short``, nodes that add nothing to the only one inside them are left out; the last
    module of these is part of its name.
    """
    children: dict[tuple[HostLabel, ...], list[tuple[HostLabel, ...]]] = {}
    for chain in sums:
        if chain:
            children.setdefault(chain[:-1], []).append(chain)
    # ascending, as the last of a list is the next to yield
    for listed in children.values():
        listed.sort(key=lambda c: (sums[c].time_ns, c[-1].name))
    waiting = [(chain, "", 0) for chain in children.get((), ())]
    while waiting:
        chain, module, depth = waiting.pop()
        inner, label = children.get(chain, ()), chain[-1]
        is_shown = not is_short or len(inner) != 1 or sums[chain].self_ns > 0
        if is_shown:
            yield chain, module + label.name, depth
            module = ""
        elif label.kind in (HostKind.MODULE, HostKind.RANGE):
            module = f"{label.name}/"
        waiting += [(each, module, depth + is_shown) for each in inner]
    if () in sums:
        yield (), "", 0


def timed(
    chain: tuple[HostLabel, ...], name: str, depth: int, total: _ChainTime, all_ns: int
) -> StackTime:
    """Return the record of one node."""
    floor_s = total.floor_s if total.bounded_ns else None
    bounded_s = total.bounded_ns * 1e-9
    return StackTime(
        path="/".join(label.name for label in chain),
        name=name,
        depth=depth,
        launches=total.launches,
        self_s=total.self_ns * 1e-9,
        time_s=total.time_ns * 1e-9,
        share=total.time_ns / all_ns,
        backward_s=total.backward_ns * 1e-9,
        bounded_s=bounded_s,
        floor_s=floor_s,
        floor_share=None if floor_s is None else floor_s / bounded_s,
    )
