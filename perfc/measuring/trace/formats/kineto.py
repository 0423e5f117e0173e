"""PyTorch profiler: kernels by correlation with the operators that launched them."""

from __future__ import annotations

import ast
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import cast

from perfc.errors import ParseError
from perfc.ir.record import mutable

from ...measure.runtimes.events import Event, events, inner, integer, number, text
from ..facts import (
    LARGEST_EXTENT,
    LONGEST_NAME,
    MOST_ARGUMENTS,
    UNKNOWN_NS,
    Argument,
    DeviceFacts,
    DeviceTrace,
    OperatorCall,
    TensorArgument,
    TraceSource,
    listed,
    nanoseconds,
    operator_name,
    sizes_of,
)

MOST_OPERATORS = 2_000_000
MOST_DEVICES = 1024
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_HOST = frozenset({"cuda_runtime", "cuda_driver"})
MOST_WORDS = 100_000
LONGEST_WORDS = 2000
LONGEST_LITERAL = 200
ATEN = "aten::"
_ARGUMENTS = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")
ATTENTION = ("scaled_dot_product", "_scaled_dot_product")
"""Operators whose kernels are those of the operators inside them."""


def reads(head: str) -> bool:
    """Return True for a Chrome trace of Kineto."""
    words = ('"deviceProperties"', '"schemaVersion"', '"cpu_op"', '"gpu_memcpy"', '"External id"')
    return any(w in head for w in words)


@mutable
class HostOperator:
    """An operator on the host, with the operator around it."""

    begin_ns: int
    end_ns: int
    thread: object
    number: int
    call: OperatorCall
    parent: HostOperator | None = None


@mutable
class KinetoEvents:
    """Events of a trace that count.

    Args:
        operators: operators on the host, by thread.
        by_identity: operators by their external number.
        launches: thread and begin of the launch by correlation number.
        kernels: kernel, device, begin, duration, external number and correlation number.
        words: operators by the text of their arguments.
        names: one object for each name of a kernel.
    """

    operators: dict[object, list[HostOperator]] = field(
        default_factory=dict[object, "list[HostOperator]"]
    )
    by_identity: dict[int, HostOperator] = field(default_factory=dict[int, "HostOperator"])
    launches: dict[int, tuple[object, int]] = field(default_factory=dict[int, "tuple[object, int]"])
    kernels: list[tuple[str, object, int, int, int | None, int | None]] = field(
        default_factory=list["tuple[str, object, int, int, int | None, int | None]"]
    )
    words: dict[object, OperatorCall] = field(default_factory=dict[object, "OperatorCall"])
    names: dict[str, str] = field(default_factory=dict[str, str])
    count: int = 0

    def event(self, e: Event) -> None:
        """Take one event."""
        if e.get("ph") != "X":
            return
        category, start = text(e, "cat").lower(), nanoseconds(number(e, "ts"))
        length = nanoseconds(number(e, "dur"))
        if start is None or length is None or length < 0:
            return
        args = inner(e, "args")
        if category in _DEVICE:
            device = integer(args, "device")
            name = text(e, "name")[:LONGEST_NAME] or "kernel without a name"
            kernel = self.names.setdefault(name, name)
            self.kernels.append(
                (kernel, 0 if device is None else device, start, length,
                 integer(args, "External id"), integer(args, "correlation"))
            )  # fmt: skip
        elif category in _HOST:
            correlation = integer(args, "correlation")
            if correlation is not None:
                self.launches[correlation] = (thread_of(e), start)
        elif category in ("cpu_op", "operator"):
            self.operator(e, args, start, start + length)
        else:
            return
        self.count += 1
        if self.count > 3 * MOST_OPERATORS:
            raise ParseError("more than six million events in a trace", hint="record fewer steps")

    def operator(self, e: Event, args: Event, begin_ns: int, end_ns: int) -> None:
        """Take an operator of the host."""
        name = operator_name(text(e, "name"))
        if not name:
            return
        thread = thread_of(e)
        key = name, *(repr(args.get(k)) for k in _ARGUMENTS)
        call = self.words.get(key)
        if call is None:
            call = call_of(name, args)
            if len(self.words) < MOST_WORDS and sum(map(len, key)) < LONGEST_WORDS:
                self.words[key] = call
        made = HostOperator(begin_ns, end_ns, thread, 0, call)
        self.operators.setdefault(thread, []).append(made)
        identity = integer(args, "External id")
        if identity is not None:
            self.by_identity[identity] = made

    def nest(self) -> None:
        """Connect every operator with the one around it, and number them."""
        position = 0
        for operators in self.operators.values():
            operators.sort(key=lambda o: (o.begin_ns, -o.end_ns))
            outer: list[HostOperator] = []
            for operator in operators:
                while outer and outer[-1].end_ns <= operator.begin_ns:
                    outer.pop()
                operator.parent = outer[-1] if outer else None
                operator.number = position
                position += 1
                outer.append(operator)

    def operator_at(self, thread: object, at_ns: int) -> HostOperator | None:
        """Return the innermost operator of a thread at a time."""
        operators = self.operators.get(thread, [])
        at = bisect_right(operators, at_ns, key=lambda o: o.begin_ns) - 1
        operator = operators[at] if at >= 0 else None
        while operator is not None and operator.end_ns < at_ns:
            operator = operator.parent
        return operator


def read(path: str) -> DeviceTrace:
    """Read the kernels of a trace with their operators.

    Raises:
        ParseError: not JSON, or too large.
    """
    trace, seen = DeviceTrace(TraceSource.KINETO), KinetoEvents()
    for e in events(path, "traceEvents"):
        seen.event(e)
    seen.nest()
    for kernel, device, start, length, identity, correlation in seen.kernels:
        launched = None if correlation is None else seen.launches.get(correlation)
        operator = None if identity is None else seen.by_identity.get(identity)
        if operator is None and launched is not None:
            operator = seen.operator_at(*launched)
        operator = charged(operator)
        trace.add(
            kernel, length, device, start_ns=start,
            host_ns=UNKNOWN_NS if launched is None else launched[1],
            call=None if operator is None else operator.call,
            execution=-1 if operator is None else operator.number,
        )  # fmt: skip
    if trace.launches.kernel:
        trace.facts.update(facts_of(path))
    else:
        from_host(trace, seen)
    return trace


def from_host(trace: DeviceTrace, seen: KinetoEvents) -> None:
    """Take the outermost operators as kernels where no device was traced: a run on a CPU."""
    for o in (o for operators in seen.operators.values() for o in operators):
        if o.call.operator.startswith(ATEN) and not any(
            p.call.operator.startswith(ATEN) for p in around(o)
        ):
            time_ns = o.end_ns - o.begin_ns
            trace.add(o.call.operator, time_ns, "cpu", call=o.call, execution=o.number)


def around(operator: HostOperator | None) -> Iterator[HostOperator]:
    """Yield the operators around an operator, the innermost first."""
    while operator is not None and operator.parent is not None:
        operator = operator.parent
        yield operator


def charged(operator: HostOperator | None) -> HostOperator | None:
    """Return the operator that a kernel counts for: attention as a whole, else the innermost."""
    for each in (operator, *around(operator)):
        name = "" if each is None else each.call.operator.removeprefix(ATEN)
        if name.startswith(ATTENTION) and name != "scaled_dot_product_attention":
            return each
    return operator


def facts_of(path: str) -> Mapping[object, DeviceFacts]:
    """Return the devices by number; empty for a trace without them."""
    devices: dict[object, DeviceFacts] = {}
    try:
        for e in events(path, "deviceProperties"):
            if len(devices) < MOST_DEVICES:
                capability = integer(e, "computeMajor") or 0, integer(e, "computeMinor") or 0
                sm_count = integer(e, "numSms") or 0
                devices[integer(e, "id")] = DeviceFacts(
                    text(e, "name")[:100], integer(e, "totalGlobalMem") or 0, sm_count, capability
                )
    except ParseError:
        return {}
    return devices


def thread_of(e: Event) -> object:
    """Return the thread of an event."""
    thread = e.get("tid")
    return thread if isinstance(thread, int | str) else 0


def call_of(name: str, args: Event) -> OperatorCall:
    """Return an operator with its arguments, from the lists of Kineto."""
    dims, types, values, strides = (listed(args.get(key)) for key in _ARGUMENTS)
    arguments: list[Argument] = []
    for at, extents in enumerate(dims[:MOST_ARGUMENTS]):
        kind = types[at] if at < len(types) else ""
        value = values[at] if at < len(values) else ""
        steps = strides[at] if at < len(strides) else None
        arguments.append(argument_of(extents, kind, value, steps))
    return OperatorCall(name, tuple(arguments))


def argument_of(extents: object, kind: object, value: object, steps: object) -> Argument:
    """Return one argument of an operator."""
    dtype = kind if isinstance(kind, str) and operator_name(kind) else ""
    sizes = sizes_of(extents)
    if dtype in ("TensorList", "GenericList"):
        several = (sizes_of(x) for x in listed(extents)[:MOST_ARGUMENTS])
        return tuple(TensorArgument("", s) for s in several if s is not None)
    if dtype and dtype not in ("Scalar", "ScalarList") and sizes is not None:
        return TensorArgument(dtype, sizes, held_of(sizes, sizes_of(steps)))
    return literal_of(value)


def held_of(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int | None:
    """Return the elements in memory of an expanded or overlapping tensor; None if there are all.

    >>> held_of((8, 8, 128), (128, 0, 1))
    1024
    """
    if strides is None or len(strides) != len(sizes) or 0 in sizes:
        return None
    span = 1 + sum((size - 1) * abs(step) for size, step in zip(sizes, strides, strict=True))
    shared = (s for s, step in zip(sizes, strides, strict=True) if step or s == 1)
    held = min(math.prod(shared), span)
    return held if held < math.prod(sizes) else None


def literal_of(value: object) -> Argument:
    """Return a number, a truth value or whole numbers; None for anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_LITERAL:
        return None
    try:
        parsed: object = ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if isinstance(parsed, list):
        return sizes_of(parsed)
    is_number = isinstance(parsed, int | float) and abs(parsed) <= LARGEST_EXTENT
    return cast("Argument", parsed) if is_number else None
