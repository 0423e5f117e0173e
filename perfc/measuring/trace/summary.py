"""Summary of a trace: busy time, gaps, classes and kernels with their lower bounds.

`summarized` adds the launches of a `DeviceTrace` up; all reports and analyses begin with it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import field

from perfc.ir import mutable, record
from perfc.machine import Machine

from .analyses.collectives import BusyTime, communicates
from .classes import TracedClass, class_of
from .facts import UNKNOWN_NS, DeviceFacts, DeviceTrace, OperatorCall
from .floors import OperatorFloor, floor_of, is_with_host, target_of

MOST_FLOORS = 20_000
"""Maximum calls of operators that are analyzed, the longest first."""


@record
class DeviceTime:
    """Times of one device.

    Args:
        key: the tool's number of the device.
        facts: facts of the device in the trace.
        target: name of the target that it is; empty if none.
        launches: kernels and copies.
        span_ns: from the first begin to the last end; 0 without a time line.
        busy_ns: part of the span in which at least one kernel ran.
        kernel_ns: time of all kernels, overlaps counted several times.
        late_ns: part of the idle time before the host began the next launch.
        pending_ns: part of the idle time after the host began the launch that ends the gap.
        unknown_ns: idle time before kernels whose launch the trace does not record.
        exposed_ns: time in which only communication ran.
    """

    key: str
    facts: DeviceFacts
    target: str
    launches: int
    span_ns: int
    busy_ns: int
    kernel_ns: int
    late_ns: int
    pending_ns: int
    unknown_ns: int
    exposed_ns: int


@record
class ClassTime:
    """Name of one class of kernels, its launches and their time."""

    name: TracedClass
    launches: int
    time_ns: int


@record
class KernelTime:
    """Time of the launches of one kernel by one operator with its shapes.

    Args:
        kernel: name.
        class_name: class.
        call: operator with shapes; None if not recorded.
        launches: count.
        time_ns: time of all launches.
        operator_ns: time of all kernels of that operator with those shapes.
        executions: executions of the operator.
        floor: work and lower bound of one execution; None if unknown, or for a kernel that is not
            the longest of its operator.
        is_withheld: True if the lower bound that its shapes give is above the measured time.
    """

    kernel: str
    class_name: TracedClass
    call: OperatorCall | None
    launches: int
    time_ns: int
    operator_ns: int
    executions: int
    floor: OperatorFloor | None = None
    is_withheld: bool = False

    @property
    def operator(self) -> str:
        """Return the name of the operator; empty if not recorded."""
        return self.call.operator if self.call else ""

    @property
    def shapes(self) -> str:
        """Return the extents of the operator's tensors; empty if not recorded."""
        return self.call.shapes if self.call else ""


@record
class TraceSummary:
    """Summary of one trace.

    Args:
        trace: the trace.
        devices: times by device.
        classes: times by class, the longest first.
        kernels: times by kernel, operator and shapes, the longest first.
        target: target of the lower bounds; None if the trace names none.
    """

    trace: DeviceTrace
    devices: tuple[DeviceTime, ...]
    classes: tuple[ClassTime, ...]
    kernels: tuple[KernelTime, ...]
    target: Machine | None

    @property
    def kernel_ns(self) -> int:
        """Return the time of all kernels."""
        return sum(k.time_ns for k in self.kernels)

    @property
    def bounded(self) -> tuple[KernelTime, ...]:
        """Return the kernels with a lower bound."""
        return tuple(k for k in self.kernels if k.floor is not None)

    @property
    def withheld(self) -> tuple[KernelTime, ...]:
        """Return kernels whose lower bound is above their time, so that one of the two is wrong."""
        return tuple(k for k in self.kernels if k.is_withheld)


@mutable
class _Total:
    """Launches of one kernel by one operator.

    ``executions`` are the numbers of the operator's executions; one of them may launch the kernel
    several times.
    """

    launches: int = 0
    time_ns: int = 0
    executions: set[int] = field(default_factory=set)


@mutable
class _Operator:
    """Executions of one operator with its shapes.

    Copies to and from the host are a separate entry, even of the same operator: device memory does
    not bound them. The lower bound is printed with the longest kernel.
    """

    time_ns: int = 0
    executions: set[int] = field(default_factory=set)
    kernels: dict[str, _Total] = field(default_factory=dict)
    floor: OperatorFloor | None = None
    is_withheld: bool = False

    def add(self, kernel: str, total: _Total) -> None:
        """Add the launches of one of its kernels."""
        self.time_ns += total.time_ns
        self.executions |= total.executions
        self.kernels[kernel] = total

    @property
    def longest(self) -> str:
        """Return the name of the kernel that takes most of its time."""
        return max(self.kernels, key=lambda k: self.kernels[k].time_ns)

    @property
    def count(self) -> int:
        """Return executions; launches of its longest kernel if the trace does not number them."""
        return len(self.executions) or self.kernels[self.longest].launches

    def bound(self, call: OperatorCall, machine: Machine) -> None:
        """Find the lower bound, and withhold one above the measured time."""
        time_s = self.time_ns * 1e-9 / self.count
        floor = floor_of(call, machine, tuple(self.kernels), time_s)
        self.is_withheld = floor is not None and floor.floor_s > time_s
        self.floor = None if self.is_withheld else floor


def summarized(
    trace: DeviceTrace, machine: Machine | None = None, *, is_bounded: bool = True
) -> TraceSummary:
    """Return the summary of a trace.

    Args:
        trace: the trace.
        machine: target of the lower bounds; that of the first known device if None.
        is_bounded: False to leave out the lower bounds.
    """
    names = trace.kernels
    calls = trace.calls
    totals: dict[tuple[int, int], _Total] = {}
    rows = trace.launches
    for kernel, call, execution, time_ns in zip(
        rows.kernel, rows.call, rows.execution, rows.duration_ns, strict=True
    ):
        total = totals.setdefault((kernel, call), _Total())
        total.launches += 1
        total.time_ns += time_ns
        # -1: the trace does not number executions
        if execution >= 0:
            total.executions.add(execution)
    # a job has many equal devices: each kind is looked up once
    targets = {facts: target_of(facts) for facts in set(trace.used_devices.values())}
    machines = (targets[facts] for facts in trace.used_devices.values())
    machine = machine or next(filter(None, machines), None)
    kernels = kernel_times(names, calls, totals, machine if is_bounded else None)
    devices = device_times(trace, communicates(trace), targets)
    return TraceSummary(trace, devices, class_times(kernels), kernels, machine)


def kernel_times(
    names: Sequence[str],
    calls: Sequence[OperatorCall],
    totals: Mapping[tuple[int, int], _Total],
    machine: Machine | None,
) -> tuple[KernelTime, ...]:
    """Return the kernels, the longest first, with the bounds of the longest operators."""
    operators: dict[tuple[int, bool], _Operator] = {}
    for (kernel, call), total in totals.items():
        key = call, is_with_host(names[kernel])
        operators.setdefault(key, _Operator()).add(names[kernel], total)
    # bounds of the longest operators first, up to a number: each takes an analysis; kernels
    # without a recorded call have the number -1
    recorded = [key for key in operators if key[0] >= 0]
    recorded.sort(key=lambda key: -operators[key].time_ns)
    if machine is not None:
        for key in recorded[:MOST_FLOORS]:
            call, _ = key
            operators[key].bound(calls[call], machine)
    times: list[KernelTime] = []
    for (kernel, call), total in totals.items():
        name = names[kernel]
        operator = calls[call] if call >= 0 else None
        group = operators[call, is_with_host(name)]
        if operator is None:
            # kernels without an operator have nothing in common: each is a group with no other
            group = _Operator()
            group.add(name, total)
        is_longest = group.longest == name
        class_name = class_of(name, operator.operator if operator else "")
        times.append(
            KernelTime(
                name,
                class_name,
                operator,
                total.launches,
                total.time_ns,
                group.time_ns,
                group.count,
                group.floor if is_longest else None,
                is_longest and group.is_withheld,
            )
        )
    times.sort(key=lambda k: (-k.time_ns, k.kernel, k.shapes))
    return tuple(times)


def class_times(kernels: Sequence[KernelTime]) -> tuple[ClassTime, ...]:
    """Return the times by class, the longest first."""
    totals: dict[TracedClass, _Total] = {}
    for k in kernels:
        total = totals.setdefault(k.class_name, _Total())
        total.launches += k.launches
        total.time_ns += k.time_ns
    times = [ClassTime(name, t.launches, t.time_ns) for name, t in totals.items()]
    return tuple(sorted(times, key=lambda c: (-c.time_ns, c.name.value)))


def device_times(
    trace: DeviceTrace,
    communicating: Container[tuple[int, int]],
    targets: Mapping[DeviceFacts, Machine | None],
) -> tuple[DeviceTime, ...]:
    """Return the times of every device that executed something."""
    times: list[DeviceTime] = []
    rows = trace.launches
    for (key, facts), order in zip(trace.used_devices.items(), trace.by_device(), strict=True):
        if not order:
            continue
        machine = targets[facts]
        kernel_ns = sum(rows.duration_ns[i] for i in order)
        name = machine.name if machine else ""
        # without a time line, the sum of the kernels is all that is known
        if rows.start_ns[order[0]] == UNKNOWN_NS:
            times.append(
                DeviceTime(
                    str(key),
                    facts,
                    name,
                    len(order),
                    span_ns=0,
                    busy_ns=0,
                    kernel_ns=kernel_ns,
                    late_ns=0,
                    pending_ns=0,
                    unknown_ns=0,
                    exposed_ns=0,
                )
            )
            continue
        # by_device gives the rows in the order of their begin, which gaps require
        gaps = Gaps()
        for i in order:
            gaps.launch(rows.start_ns[i], rows.duration_ns[i], rows.host_ns[i])
        # exposed communication is the busy time without the kernels that compute
        computing = [i for i in order if (rows.kernel[i], rows.call[i]) not in communicating]
        times.append(
            DeviceTime(
                str(key),
                facts,
                name,
                len(order),
                gaps.end_ns - rows.start_ns[order[0]],
                gaps.busy_ns,
                kernel_ns,
                gaps.late_ns,
                gaps.pending_ns,
                gaps.unknown_ns,
                gaps.busy_ns - BusyTime.of(trace, computing).total,
            )
        )
    return tuple(times)


@mutable
class Gaps:
    """Busy time of launches in the order of their begin, and the idle time between them.

    In a gap the device waits for the host until the launch of the next kernel begins; from then
    on the launch is under way, or the kernel waits for another one.

    Args:
        end_ns: end of the busy time so far.
        busy_ns: time in which a kernel ran.
        late_ns: idle time until the host began the next launch.
        pending_ns: idle time after that.
        unknown_ns: idle time before kernels whose launch is not recorded.
    """

    end_ns: int = UNKNOWN_NS
    busy_ns: int = 0
    late_ns: int = 0
    pending_ns: int = 0
    unknown_ns: int = 0

    def launch(self, start_ns: int, duration_ns: int, host_ns: int) -> None:
        """Add the next launch."""
        if self.end_ns == UNKNOWN_NS:
            self.end_ns = start_ns
        if start_ns > self.end_ns:
            if host_ns == UNKNOWN_NS:
                self.unknown_ns += start_ns - self.end_ns
            else:
                # begin of the launch on the host, as far as it lies in the gap
                begun = min(max(host_ns, self.end_ns), start_ns)
                self.late_ns += begun - self.end_ns
                self.pending_ns += start_ns - begun
            self.end_ns = start_ns
        end_ns = start_ns + duration_ns
        # what overlaps earlier kernels is busy already
        if end_ns > self.end_ns:
            self.busy_ns += end_ns - self.end_ns
            self.end_ns = end_ns
