"""Join kernels with the launches of the host and with the operators around them.

Readers of formats give events in any order. Every kernel gets the operator around its launch, by
thread and time; a kernel of a graph gets that around its launch during the capture. An operator's
number that the profiler wrote on the kernel counts only if the trace does not have the launch.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, IntEnum, auto
from operator import eq

from perfc.ir import mutable, record

from .facts import (
    LONGEST_NAME,
    UNKNOWN_NS,
    DeviceTrace,
    EventColumns,
    Numbering,
    OperatorCall,
    operator_name,
)

DEEPEST = 100
"""Maximum operators around a launch that are searched."""
MOST_FITTED = 1_000_000
"""Maximum comparisons of captured and launched graphs; with more, kernels get no operators."""
ROUNDING_NS = 1000
"""Maximum excess of a launch over its operator: old traces have whole microseconds."""
ATTENTION = re.compile(r"aten::_scaled_dot_product_(?!attention_math)\w*")
"""Attention, for which all launches of the operators inside it count. ``attention_math``, the form
of separate products, is not among them: its operators count one by one."""
WRAPPER = re.compile(r"torch::|autograd::|[^:]*$")
"""Names of events around operators that are none: autograd nodes, and names without a namespace."""


class HostKind(Enum):
    """Kinds of events of the host."""

    RANGE = "range"
    MODULE = "module"
    PYTHON = "Python"
    LIBRARY = "Python of a library"
    OPERATOR = "operator"
    CALL = "runtime call"


@record
class HostLabel:
    """Kind and name of events of the host."""

    kind: HostKind
    name: str


class HostCall(IntEnum):
    """Calls of a runtime by their effect on kernels."""

    OTHER = 0
    NODE = 1  # a launch, copy or fill; during a capture it becomes a node of the graph
    GRAPH = 2  # launches a graph
    BEGIN_CAPTURE = 3
    END_CAPTURE = 4


class OperatorRole(Enum):
    """Roles of operators around a launch."""

    WHOLE = auto()  # attention: all launches inside count for it
    SHAPED = auto()  # has shapes: a launch counts for the innermost of this role
    WRAPPER = auto()  # has shapes, but is no operator: only launches directly inside count for it
    PLAIN = auto()  # has no shapes

    @classmethod
    def of(cls, call: OperatorCall) -> OperatorRole:
        """Return the role of an operator."""
        if ATTENTION.fullmatch(call.operator):
            return cls.WHOLE
        if not call.shapes:
            return cls.PLAIN
        return cls.WRAPPER if WRAPPER.match(call.operator) else cls.SHAPED


_CALLS = re.compile(
    "(?P<GRAPH>GraphLaunch)|(?P<BEGIN_CAPTURE>StreamBeginCapture)|(?P<END_CAPTURE>StreamEndCapture)"
    "|(?P<NODE>Launch(?!HostFunc)|Memcpy|Memset)"
)
"""Names of functions of CUDA and HIP, runtime or driver."""


@record
class CapturedNode:
    """A launch that was captured into a graph.

    Args:
        kernel: number of the kernel's name; -1 if not recorded.
        call: number of the operator with its arguments; -1 without one.
        execution: number of the execution of the operator during the capture; -1 without one.
    """

    kernel: int
    call: int
    execution: int


Graph = tuple[CapturedNode, ...]  # in the order of the capture


@mutable
class HostTimeline:
    """Events of the host and of the devices of a trace.

    Columns are accessed by their position in the lists below; ``at`` is the row of an event.

    Args:
        trace: trace that receives the launches; numbers names, devices and operators.
        threads: threads of the host.
        operators: thread, begin, end, operator and external number of each execution.
        calls: correlation number, thread, begin, end, kind, kernel and label of each call of a
            runtime.
        frames: thread, begin, end and label of ranges, modules and functions of Python; empty
            unless they are read.
        sequences: thread, begin, end and number of nodes of autograd, and 1 for their gradient.
        labels: labels of calls and frames.
        kernels: name, device, begin, duration, correlation number, external number, stream and
            message.
        sends: thread, begin, end and message of each collective on the host.
        parents: execution around each execution, in the order of `nest`; -1 without one.
        roles: role of each operator of the trace.
        bounds: first execution of each thread, in the order of `nest`, and the number of all.
    """

    trace: DeviceTrace
    threads: Numbering = field(default_factory=Numbering)
    operators: EventColumns = field(default_factory=lambda: EventColumns(5))
    calls: EventColumns = field(default_factory=lambda: EventColumns(7))
    frames: EventColumns = field(default_factory=lambda: EventColumns(4))
    sequences: EventColumns = field(default_factory=lambda: EventColumns(5))
    labels: Numbering = field(default_factory=Numbering)
    kernels: EventColumns = field(default_factory=lambda: EventColumns(8))
    sends: list[tuple[int, ...]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    roles: list[OperatorRole] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)

    def operator(
        self, thread: object, begin_ns: int, end_ns: int, call: int, identity: int | None = None
    ) -> None:
        """Add an execution of an operator, by its number in the trace."""
        identity = -1 if identity is None else identity
        self.operators.add(self.threads.number(thread), begin_ns, end_ns, call, identity)

    def call(
        self,
        name: str,
        thread: object,
        begin_ns: int,
        end_ns: int,
        correlation: int,
        kernel: str = "",
    ) -> None:
        """Add a call of a runtime by its name and, where it is known, the kernel."""
        match = _CALLS.search(name)
        kind = HostCall.OTHER if match is None else HostCall[str(match.lastgroup)]
        number = (
            self.trace.kernel_names.number(kernel[:LONGEST_NAME])
            if kernel and kind is HostCall.NODE
            else -1
        )
        thread = self.threads.number(thread)
        label = self.labels.number(HostLabel(HostKind.CALL, operator_name(name)))
        self.calls.add(correlation, thread, begin_ns, end_ns, kind, number, label)

    def frame(self, thread: object, begin_ns: int, end_ns: int, label: HostLabel) -> None:
        """Add a range, a module or a function of Python."""
        number = self.labels.number(label)
        self.frames.add(self.threads.number(thread), begin_ns, end_ns, number)

    def kernel(
        self,
        name: str,
        device: object,
        start_ns: int | None,
        duration_ns: int | None,
        correlation: int | None,
        identity: int | None = None,
        stream: int | None = None,
        message: int = -1,
    ) -> None:
        """Add an execution of a kernel or copy."""
        if start_ns is None or duration_ns is None or duration_ns < 0:
            self.trace.unusable += 1
            return
        numbers = (-1 if n is None else n for n in (correlation, identity, stream))
        kernel = self.trace.kernel_names.number(name[:LONGEST_NAME])
        device = self.trace.devices.number(device)
        self.kernels.add(kernel, device, start_ns, duration_ns, *numbers, message)

    def nest(self) -> None:
        """Sort the executions of operators and connect each with the one around it."""
        import numpy as np

        columns = [np.array(c, dtype=np.int64) for c in self.operators.columns]
        # by thread and begin; of executions with equal begin, the longest encloses the others
        order = np.lexsort((-columns[2], columns[1], columns[0]))
        for column, values in zip(self.operators.columns, columns, strict=True):
            column[:] = type(column)("q", values[order].tobytes())
        threads = columns[0][order]
        self.bounds = np.searchsorted(threads, np.arange(len(self.threads.numbers) + 1)).tolist()
        self.roles = [OperatorRole.of(call) for call in self.trace.calls]
        outer: list[int] = []  # executions that enclose the current one, the innermost last
        last = -1
        _, begins, ends, *_ = self.operators.columns
        for at, thread in enumerate(self.operators.columns[0]):
            if thread != last:
                outer.clear()
                last = thread
            # executions that ended before this one, or that end within it, do not enclose it
            while outer and (
                ends[outer[-1]] <= begins[at] or ends[outer[-1]] + ROUNDING_NS < ends[at]
            ):
                outer.pop()
            self.parents.append(outer[-1] if outer else -1)
            outer.append(at)

    def around(self, at: int) -> Iterator[int]:
        """Yield an execution and those around it, the innermost first."""
        for _ in range(DEEPEST):
            if at < 0:
                return
            yield at
            at = self.parents[at]

    def operator_at(self, thread: int, begin_ns: int, end_ns: int) -> int:
        """Return the innermost execution around a call on a thread; -1 without one."""
        begins = self.operators.columns[1]
        low, high = self.bounds[thread], self.bounds[thread + 1]
        at = bisect_right(begins, begin_ns, low, high) - 1
        chain = self.around(at if at >= low else -1)
        return next((o for o in chain if self.is_around(o, thread, begin_ns, end_ns)), -1)

    def is_around(self, at: int, thread: int, begin_ns: int, end_ns: int) -> bool:
        """Return True if a call on a thread lies within an execution."""
        its_thread, begin, end, *_ = self.operators.row(at)
        is_inside = begin <= begin_ns <= end and end_ns <= end + ROUNDING_NS
        # rounding may shift a call beyond the end, but does not make it longer
        return its_thread == thread and is_inside and end_ns - begin_ns <= end - begin

    def message_at(self, thread: int, begin_ns: int, end_ns: int) -> int:
        """Return the message of the collective around a call; -1 without one.

        Of the two that began last the earlier is tried first: the other one may be a range that the
        program marked within the operator, and only the operator has the group.
        """
        at = bisect_right(self.sends, (thread, begin_ns + 1))
        around = (s for s in self.sends[max(at - 2, 0) : at] if s[0] == thread)
        return next((message for *_, end, message in around if end_ns <= end + ROUNDING_NS), -1)

    def charged(self, at: int) -> int:
        """Return the execution that a launch inside an execution counts for.

        It is the innermost operator with shapes, a wrapper only for launches directly inside it;
        attention counts as a whole. Without such an operator it is the given execution.
        """
        shaped = -1
        for outer in self.around(at):
            role = self.roles[self.operators.columns[3][outer]]
            if role is OperatorRole.WHOLE:
                return outer
            is_own = role is OperatorRole.WRAPPER and outer == at
            if shaped < 0 and (role is OperatorRole.SHAPED or is_own):
                shaped = outer
        return at if shaped < 0 else shaped

    def fill(self, captured: Sequence[Graph] = ()) -> None:
        """Append the kernels to the trace; ``captured`` are graphs that another file captured."""
        self.nest()  # first: rows of operators are numbers only once they are sorted
        # rows of calls by the correlation number that they share with their kernels
        launches = {correlation: at for at, correlation in enumerate(self.calls.columns[0])}
        nodes = self.replayed(launches, self.captured() or captured)
        correlations, identities = self.kernels.columns[4:6]
        self.sends.sort()
        by_identity: dict[int, int] = {}
        # profilers of PyTorch 1.13 to 2.1 write the correlation number in place of the operator's:
        # if half of the numbers are equal, they identify no operators
        equal = sum(map(eq, identities, correlations))
        if 2 * equal < len(identities) - identities.count(-1):
            by_identity = {n: at for at, n in enumerate(self.operators.columns[4]) if n >= 0}
        for at, row in enumerate(self.kernels):
            kernel, device, start, length, correlation, identity, stream, message = row
            launch = launches.get(correlation, -1)
            host, call, is_graph = UNKNOWN_NS, -1, False
            execution = named = by_identity.get(identity, -1)
            if launch >= 0:
                _, thread, host, end, kind, *_ = self.calls.row(launch)
                is_graph = kind == HostCall.GRAPH
                if named < 0 or not self.is_around(named, thread, host, end):
                    execution = self.operator_at(thread, host, end)
                execution = named if execution < 0 else execution
                if message < 0 and not is_graph:
                    message = self.message_at(thread, host, end)
            if at in nodes:
                call, execution = nodes[at]
            elif execution >= 0:
                execution = execution if is_graph else self.charged(execution)
                call = self.operators.columns[3][execution]
            self.trace.launches.add(
                kernel, call, execution, device, start, length, host, stream, launch, message
            )
        self.trace.host = self

    def captured(self) -> list[Graph]:
        """Return the graphs that were captured, in order of their begin."""
        if HostCall.BEGIN_CAPTURE not in self.calls.columns[4]:
            return []
        executed = {*self.kernels.columns[4]}  # what ran was launched, not captured
        open_graphs: dict[int, list[CapturedNode]] = {}
        graphs: list[list[CapturedNode]] = []
        begins = self.calls.columns[2]
        for at in sorted(range(len(self.calls)), key=begins.__getitem__):
            correlation, thread, begin, end, kind, kernel, _ = self.calls.row(at)
            match kind:
                case HostCall.BEGIN_CAPTURE:
                    graphs.append(open_graphs.setdefault(thread, []))
                case HostCall.END_CAPTURE:
                    open_graphs.pop(thread, None)
                case HostCall.NODE if thread in open_graphs and correlation not in executed:
                    execution = self.operator_at(thread, begin, end)
                    execution = -1 if execution < 0 else self.charged(execution)
                    call = -1 if execution < 0 else self.operators.columns[3][execution]
                    open_graphs[thread].append(CapturedNode(kernel, call, execution))
                case _:
                    pass
        return [tuple(nodes) for nodes in graphs]

    def replayed(
        self, launches: Mapping[int, int], graphs: Sequence[Graph]
    ) -> dict[int, tuple[int, int]]:
        """Return operator and execution of the kernels of graphs, by row.

        A launch of a graph is identified by the names and the number of its kernels; where graphs
        with other shapes have the same, by its place if all graphs are launched in turn.
        """
        rows: dict[int, list[int]] = {}
        kinds, begins = self.calls.columns[4], self.calls.columns[2]
        for at, correlation in enumerate(self.kernels.columns[4]):
            launch = launches.get(correlation, -1)
            if launch >= 0 and kinds[launch] == HostCall.GRAPH:
                rows.setdefault(launch, []).append(at)
        result: dict[int, tuple[int, int]] = {}
        used = len(self.operators)  # replays get execution numbers that no operator has
        known: dict[tuple[int, ...], list[Graph]] = {}
        for place, launch in enumerate(sorted(rows, key=begins.__getitem__)):
            order = sorted(rows[launch], key=self.kernels.columns[2].__getitem__)
            kernels = tuple(self.kernels.columns[0][at] for at in order)
            if kernels not in known:
                tried = graphs if len(graphs) * (len(known) + 1) <= MOST_FITTED else ()
                known[kernels] = [g for each in tried if (g := fitted(each, kernels)) is not None]
            nodes = chosen(known[kernels])
            if nodes is None and known[kernels] and len(rows) % len(graphs) == 0:
                nodes = fitted(graphs[place % len(graphs)], kernels)
            self.trace.replays += len(order)
            self.trace.joined += len(order) if nodes else 0
            executions = Numbering()
            for at, node in zip(order, nodes or (), strict=bool(nodes)):
                execution = -1 if node.call < 0 else used + executions.number(node.execution)
                result[at] = node.call, execution
            used += len(executions.numbers)
        return result


def chosen(fitting: Sequence[Graph]) -> Graph | None:
    """Return the first graph if all have the same operators; None otherwise, or without any."""
    return fitting[0] if len({tuple(n.call for n in g) for g in fitting}) == 1 else None


def fitted(graph: Graph, kernels: Sequence[int]) -> Graph | None:
    """Return the nodes of a graph in the order of its kernels; None if it has other ones.

    Streams execute the nodes of a graph in another order than that of the capture. A kernel whose
    name no node has gets the next node without a name.
    """
    if len(graph) != len(kernels):
        return None
    waiting: dict[int, deque[CapturedNode]] = {}
    for node in graph:
        waiting.setdefault(node.kernel, deque()).append(node)
    result: list[CapturedNode] = []
    for kernel in kernels:
        nodes = waiting.get(kernel) or waiting.get(-1)
        if not nodes:
            return None
        result.append(nodes.popleft())
    return tuple(result)
