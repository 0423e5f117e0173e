"""JAX profiler: the ``trace.json.gz`` that it writes with the XPlane, a Chrome trace.

Processes are devices, threads are streams or derived lines. Kernels are those of the streams of a
GPU, or of the line of XLA operators of a TPU; on a CPU, events with an operator of HLO.
"""

from __future__ import annotations

import re
from dataclasses import field

from perfc.errors import ParseError
from perfc.ir.record import mutable

from ...measure.runtimes.events import Event, arrays, inner, integer, number, text
from ..facts import (
    LONGEST_NAME,
    UNKNOWN_NS,
    DeviceFacts,
    DeviceTrace,
    OperatorCall,
    TensorArgument,
    TraceSource,
    nanoseconds,
    operator_name,
)

MOST_THREADS = 100_000
MOST_EVENTS = 4_000_000
OPERATIONS = "XLA Ops"
_SHAPE = re.compile(r"\b(bf16|f8\w*|[fsuc]\d{1,3}|pred)\[([\d,]{0,200})\]")
_DEVICE = re.compile(r"/device:(?:GPU|TPU):\d{1,6}")


def reads(head: str) -> bool:
    """Return True for a Chrome trace of XProf."""
    has_process = '"/device:' in head or '"/host:CPU"' in head or '"/host:metadata"' in head
    return '"traceEvents"' in head and has_process


@mutable
class XplaneEvents:
    """Names of processes and threads, and executed kernels.

    Args:
        processes: names of devices by process.
        threads: names of threads of devices and hosts.
        kernels: process, thread, kernel, begin, duration, operator, correlation number.
        launches: begin of the launch on the host by correlation number.
    """

    processes: dict[int, str] = field(default_factory=dict[int, str])
    threads: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    kernels: list[tuple[int, int, str, int | None, int | None, OperatorCall | None, int | None]] = (
        field(
            default_factory=list[
                "tuple[int, int, str, int | None, int | None, OperatorCall | None, int | None]"
            ]
        )
    )
    launches: dict[int, int] = field(default_factory=dict[int, int])

    def event(self, e: Event) -> None:
        """Take one event."""
        process, thread, args = integer(e, "pid"), integer(e, "tid") or 0, inner(e, "args")
        if process is None:
            return
        if e.get("ph") == "M":
            if len(self.threads) + len(self.processes) < MOST_THREADS:
                self.named(text(e, "name"), process, thread, text(args, "name"))
            return
        start, length = nanoseconds(number(e, "ts")), nanoseconds(number(e, "dur"))
        if e.get("ph") != "X":
            return
        correlation = integer(args, "correlation_id")
        if process in self.processes or "hlo_op" in args:
            if len(self.kernels) >= MOST_EVENTS:
                raise ParseError("more than four million events in a trace")
            name = text(e, "name")[:LONGEST_NAME] or "kernel without a name"
            call = call_of(args)
            self.kernels.append((process, thread, name, start, length, call, correlation))
        elif correlation is not None and start is not None and len(self.launches) < MOST_EVENTS:
            self.launches[correlation] = start

    def named(self, kind: str, process: int, thread: int, name: str) -> None:
        """Take the name of a process or thread."""
        device = _DEVICE.match(name)
        if kind == "process_name" and device:
            self.processes[process] = device[0]
        elif kind == "thread_name":
            self.threads[process, thread] = name


def call_of(args: Event) -> OperatorCall | None:
    """Return the operator of a kernel, by its path in the program where the trace has it."""
    path = text(args, "tf_op").rstrip(":") or text(args, "name") or text(args, "hlo_op")
    operator = operator_name(path[:160].replace("[", "(").replace("]", ")"))
    if not operator:
        return None
    shape = _SHAPE.search(text(args, "shape_with_layout") or text(args, "long_name"))
    result = () if shape is None else (
        TensorArgument(shape[1], tuple(int(d) for d in shape[2].split(",") if d and len(d) < 13)),
    )  # fmt: skip
    return OperatorCall(operator, result)


def read(path: str) -> DeviceTrace:
    """Read the kernels of a trace.

    Raises:
        ParseError: not JSON, or too large.
    """
    trace, seen = DeviceTrace(TraceSource.XPLANE), XplaneEvents()
    for _, e in arrays(path, ("traceEvents",), trace.cut):
        seen.event(e)
    with_streams = {p for (p, _), name in seen.threads.items() if name.startswith("Stream")}
    for process, thread, kernel, start, length, call, correlation in seen.kernels:
        name = seen.threads.get((process, thread), "")
        is_stream = name.startswith("Stream") if process in with_streams else name == OPERATIONS
        if process in seen.processes and not is_stream:
            continue
        device = seen.processes.get(process, "cpu")
        host = UNKNOWN_NS if correlation is None else seen.launches.get(correlation, UNKNOWN_NS)
        trace.facts.setdefault(device, DeviceFacts())
        trace.add(kernel, length, device, start_ns=start, host_ns=host, call=call)
    return trace
