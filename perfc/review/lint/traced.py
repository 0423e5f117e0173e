"""Subject of lint rules for traces: measured executions, and the most that a change can save."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby

from perfc.ir import DType, record
from perfc.measuring.trace.classes import TracedClass, class_of
from perfc.measuring.trace.facts import DeviceTrace, OperatorCall, TensorArgument
from perfc.measuring.trace.summary import KernelTime, TraceSummary
from perfc.measuring.trace.work.call_work import CallWork
from perfc.measuring.trace.work.costs import work_of
from perfc.measuring.trace.work.operators import signature_of
from perfc.passes.roofline.ceilings import LaunchCounts
from perfc.passes.roofline.floor import Floors
from perfc.view.report.units import Unit, plural, quantity

from .finding import Finding, Gain, GainBasis
from .rule import Rule
from .subject import Subject


@record
class LaunchedOperator:
    """Operator with its arguments and the kernels that it ran as.

    Args:
        call: operator with its arguments; None if not recorded.
        kernels: names.
        class_name: class of the first kernel.
    """

    call: OperatorCall | None
    kernels: tuple[str, ...]
    class_name: TracedClass

    @property
    def name(self) -> str:
        """Return the name of the operator, or of the kernel if it is not recorded."""
        return self.call.operator.removeprefix("aten::") if self.call else self.kernels[0]

    @property
    def shapes(self) -> str:
        """Return the extents of the tensors."""
        return self.call.shapes if self.call else ""

    @property
    def tensors(self) -> tuple[TensorArgument, ...]:
        """Return the operands that are tensors."""
        given = self.call.arguments if self.call else ()
        return tuple(a for a in given if isinstance(a, TensorArgument))

    @property
    def work(self) -> CallWork | None:
        """Return the operations and bytes; None for an operator without a formula."""
        return None if self.call is None else counted(self.call, self.kernels)


@cache
def counted(call: OperatorCall, kernels: tuple[str, ...]) -> CallWork | None:
    """Return the work of an operator; None for one without a formula."""
    signature = signature_of(call.operator)
    return None if signature is None else work_of(call, signature, kernels)


@record
class TracedExecution:
    """Consecutive kernels of one operator's execution on a stream, and their total time.

    Where another operator's kernel runs in between, the execution is two of these.
    """

    what: LaunchedOperator
    time_ns: int


def streams_of(trace: DeviceTrace) -> Iterator[list[TracedExecution]]:
    """Yield for each stream its executions, the earliest first."""
    rows, names, calls = trace.launches, trace.kernels, trace.calls
    operators: dict[tuple[int, tuple[int, ...]], LaunchedOperator] = {}
    by_stream: dict[tuple[int, int], list[int]] = {}
    for at in sorted(range(len(rows)), key=rows.start_ns.__getitem__):
        by_stream.setdefault((rows.device[at], rows.stream[at]), []).append(at)
    for order in by_stream.values():
        executions: list[TracedExecution] = []
        for _, group in groupby(order, lambda at: (rows.execution[at], rows.call[at])):
            members = list(group)
            call = rows.call[members[0]]
            # launches that the trace gives to no execution stay separate
            parts = [members] if rows.execution[members[0]] >= 0 else [[at] for at in members]
            for part in parts:
                kernel_numbers = tuple(rows.kernel[at] for at in part)
                key = call, kernel_numbers
                if key not in operators:
                    kernels = tuple(names[kernel] for kernel in kernel_numbers)
                    given = calls[call] if call >= 0 else None
                    kernel_class = class_of(kernels[0], given.operator if given else "")
                    operators[key] = LaunchedOperator(given, kernels, kernel_class)
                executions.append(
                    TracedExecution(operators[key], sum(rows.duration_ns[at] for at in part))
                )
        yield executions


@dataclass(frozen=True, eq=False)
class TracedSubject:
    """A trace with lookups shared by rules."""

    summary: TraceSummary

    @cached_property
    def streams(self) -> tuple[list[TracedExecution], ...]:
        """Return the executions of each stream in order; none without a time line."""
        has_line = any(d.span_ns for d in self.summary.devices)
        return tuple(streams_of(self.summary.trace)) if has_line else ()

    @cached_property
    def time_s(self) -> float:
        """Return the time of the run: its span, or without a time line the sum of all kernels."""
        spans = max((d.span_ns for d in self.summary.devices), default=0)
        return (spans or self.summary.kernel_ns) * 1e-9

    @cached_property
    def floors(self) -> Floors | None:
        """Return the lower bounds of time on the target; None without a target."""
        return None if self.summary.target is None else Floors(self.summary.target)

    def floor_s(self, counts: LaunchCounts, dtype: DType) -> float:
        """Return the lower bound of one kernel; 0 without a target."""
        times = {} if self.floors is None else self.floors.times_s(counts, dtype)
        return max(times.values(), default=0.0)

    def fused_s(
        self,
        part: list[TracedExecution],
        fused: Callable[[LaunchCounts, LaunchCounts], LaunchCounts],
    ) -> float:
        """Return the lower bound of one kernel in place of a part of a stream; 0 if unknown.

        Args:
            part: executions that follow each other.
            fused: returns the counts of the kernel from those of the first and last operator.
        """
        first, last = part[0].what.work, part[-1].what.work
        if first is None or last is None:
            return 0.0
        return self.floor_s(fused(first.counts, last.counts), first.dtype)

    def saves(self, time_ns: float, floor_s: float = 0.0) -> Gain:
        """Return the most that a change saves: a measured time less its lower bound."""
        time_s = max(time_ns * 1e-9 - floor_s, 0.0)
        share = time_s / self.time_s if self.time_s else 0.0
        # a time that may be saved, so that no part of it is certain
        return Gain(time_s, share, floor_s=0.0, basis=GainBasis.MEASURED, base_s=self.time_s)


class TraceRule(Rule):
    """Checks one measured trace; models have no such findings."""

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield nothing, as a model has no trace."""
        yield from ()

    @abstractmethod
    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield all findings in a trace."""

    def at(self, place: str, message: str, advice: str, gain: Gain) -> Finding:
        """Create a finding at an operator, or about the whole trace."""
        return Finding(
            self.code,
            self.name(),
            self.saves,
            self.severity,
            message,
            advice,
            (place,) if place else (),
            gain=gain,
            is_whole=not place,
        )


def amount(items: Iterable[tuple[int, int, str]]) -> str:
    """Return the total count and time as text, and the extents that take most of the time.

    >>> amount([(2, 3000, "[8]"), (1, 1000, "[4]")])
    '3 times, 4.00 µs, of which 3.00 µs with [8]'

    Args:
        items: count, nanoseconds and extents of each row.
    """
    times: dict[str, int] = {}
    count = 0
    for number, time_ns, shapes in items:
        count += number
        times[shapes] = times.get(shapes, 0) + time_ns
    longest = max(times, key=times.__getitem__)
    text = f"{plural(count, 'time')}, {seconds(sum(times.values()))}"
    if len(times) > 1 and longest:
        return f"{text}, of which {seconds(times[longest])} with {longest}"
    return f"{text} with {longest}" if longest else text


def total_ns(items: Iterable[TracedExecution]) -> int:
    """Return the measured time of executions."""
    return sum(item.time_ns for item in items)


def seconds(time_ns: float) -> str:
    """Return nanoseconds as text with a unit."""
    return quantity(time_ns * 1e-9, Unit.SECOND)


def kernel_rows(kernels: Iterable[KernelTime]) -> list[tuple[int, int, str]]:
    """Return a row of launches, time and extents of each kernel, for `amount`."""
    return [(k.launches, k.time_ns, k.shapes) for k in kernels]
