"""Read the ``.xplane.pb`` of JAX's profiler, or the Chrome trace ``trace.json.gz`` made of it.

Processes are devices, threads are streams or derived lines. Kernels are those of the streams of a
GPU, or of the line of XLA operators of a TPU; on a CPU, events with an operator of HLO.
"""

from __future__ import annotations

import re
from dataclasses import field

from perfc.errors import ParseError
from perfc.ir import mutable

from ...measure.runtimes.events import Event, arrays, head, inner, integer, text
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
from ..wire import Fields, decoded

MOST_THREADS = 100_000
"""Maximum names of threads and processes."""
MOST_EVENTS = 4_000_000
"""Maximum kernels, and launches, of a trace, which are joined in memory."""
OPERATIONS = "XLA Ops"
"""Line of the operations of a TPU; GPUs have lines of streams."""
_SHAPE = re.compile(r"\b(bf16|f8\w*|[fsuc]\d{1,3}|pred)\[([\d,]{0,200})\]")
"""Type and extents of XLA: ``bf16[8,128]``."""
# names of planes in the first bytes, by which an XSpace is recognized
_PLANE = re.compile(r"/(?:host:(?:CPU|metadata)|device:[A-Z]+:\d)|Task Environment")
SCHEMA = """
XSpace 1 planes XPlane*
XPlane 2 name text 3 lines XLine* 4 events EventEntry* 5 stats StatEntry*
XLine 1 id int 2 name text 3 begin_ns int 4 events XEvent* 10 display_id int 11 display_name text
XEvent 1 metadata_id int 2 offset_ps int 3 duration_ps int 4 stats XStat*
XStat 1 metadata_id int 3 count int 4 number int 5 text text 7 ref int
EventEntry 2 value EventMetadata
EventMetadata 1 id int 2 name text 4 display_name text 5 stats XStat*
StatEntry 2 value StatMetadata
StatMetadata 1 id int 2 name text
"""
"""Messages of an XSpace. Source: tsl/profiler/protobuf/xplane.proto."""
_DEVICE = re.compile(r"/device:(?:GPU|TPU):\d{1,6}")
"""Planes of devices in the profiler's protocol buffer."""


def reads(head: str) -> bool:
    """Return True for a Chrome trace of XProf, or an XSpace of protobuf."""
    # 0x0A, a line feed, is the tag of field 1 (planes) of a message
    if head.startswith("\n"):
        return _PLANE.search(head) is not None
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
        steps: number, begin and end of steps that the program marked.
        planes: names of the planes of an XSpace, whose places are their numbers.
    """

    processes: dict[int, str] = field(default_factory=dict)
    threads: dict[tuple[int, int], str] = field(default_factory=dict)
    kernels: list[tuple[int, int, str, int | None, int | None, OperatorCall | None, int | None]] = (
        field(default_factory=list)
    )
    launches: dict[int, int] = field(default_factory=dict)
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    planes: list[str] = field(default_factory=list)

    def event(self, e: Event) -> None:
        """Add one event of a Chrome trace."""
        process, thread, args = integer(e, "pid"), integer(e, "tid") or 0, inner(e, "args")
        if process is None:
            return
        if e.get("ph") == "M":
            if len(self.threads) + len(self.processes) < MOST_THREADS:
                self.named(text(e, "name"), process, thread, text(args, "name"))
            return
        if e.get("ph") == "X":
            start, length = nanoseconds(e, "ts"), nanoseconds(e, "dur")
            self.executed(process, thread, text(e, "name"), start, length, args)

    def executed(
        self,
        process: int,
        thread: int,
        name: str,
        start: int | None,
        length: int | None,
        args: Event,
    ) -> None:
        """Add an event with a duration: a step, a kernel or its launch on the host."""
        correlation, step = integer(args, "correlation_id"), integer(args, "step_num")
        if step is not None and start is not None and length is not None:
            self.steps.append((step, start, start + length))
        if process in self.processes or "hlo_op" in args:
            if len(self.kernels) >= MOST_EVENTS:
                raise ParseError("more than four million events in a trace")
            name = name[:LONGEST_NAME] or "kernel without a name"
            call = call_of(args)
            self.kernels.append((process, thread, name, start, length, call, correlation))
        elif correlation is not None and start is not None and len(self.launches) < MOST_EVENTS:
            self.launches[correlation] = start

    def plane(self, plane: Fields) -> None:
        """Add a plane of an XSpace as the events that its Chrome trace has."""
        process = len(self.planes)
        self.planes.append(plane.get("name", ""))
        self.named("process_name", process, 0, plane.get("name", ""))
        entries = ((e.get("value", {}) for e in plane.get(key, ())) for key in ("stats", "events"))
        stats, metadata = ({e.get("id", 0): e for e in entry} for entry in entries)
        labels = {number: e.get("name", "") for number, e in stats.items()}
        for line in plane.get("lines", ()):
            thread = line.get("display_id") or line.get("id", 0)
            self.named(
                "thread_name", process, thread, line.get("display_name") or line.get("name", "")
            )
            begin_ns = line.get("begin_ns", 0)
            for event in line.get("events", ()):
                shared = metadata.get(event.get("metadata_id", 0), {})
                args = {"long_name": shared.get("name", "")}
                # facts of the event replace those that all events with its metadata share
                for stat in (*shared.get("stats", ()), *event.get("stats", ())):
                    label = labels.get(stat.get("metadata_id", 0), "")
                    value = (stat[k] for k in ("text", "number", "count") if k in stat)
                    args[label] = next(value, labels.get(stat.get("ref", -1), ""))
                name = shared.get("display_name") or shared.get("name", "")
                start_ns = begin_ns + event.get("offset_ps", 0) // 1000  # ps to ns
                self.executed(
                    process, thread, name, start_ns, event.get("duration_ps", 0) // 1000, args
                )

    def named(self, kind: str, process: int, thread: int, name: str) -> None:
        """Record the name of a thread, or of a process that is a device."""
        device = _DEVICE.match(name)
        if kind == "process_name" and device:
            self.processes[process] = device[0]
        elif kind == "thread_name":
            self.threads[process, thread] = name


def call_of(args: Event) -> OperatorCall | None:
    """Return the operator of a kernel, by its path in the program where the trace has it."""
    path = text(args, "tf_op").rstrip(":") or text(args, "name") or text(args, "hlo_op")
    # as long as names of operators may be, without brackets, which they do not have
    operator = operator_name(path[:160].replace("[", "(").replace("]", ")"))
    if not operator:
        return None
    shape = _SHAPE.search(text(args, "shape_with_layout") or text(args, "long_name"))
    # the trace has the shape of the result only, which stands for the operands
    tensors: tuple[TensorArgument, ...] = ()
    if shape is not None:
        # an extent of 13 digits and more is damaged
        extents = tuple(int(d) for d in shape[2].split(",") if d and len(d) < 13)
        tensors = (TensorArgument(shape[1], extents),)
    return OperatorCall(operator, tensors)


def read(path: str) -> DeviceTrace:
    """Read the kernels of a trace.

    Raises:
        ParseError: neither JSON nor protobuf, cut, or too large.
    """
    trace, events = DeviceTrace(TraceSource.XPLANE), XplaneEvents()
    if head(path, 1) == "\n":
        decoded(path, SCHEMA, "XSpace", "XPlane", events.plane)
    else:
        for _, e in arrays(path, ("traceEvents",), trace.cut):
            events.event(e)
    # GPUs have lines of streams and lines derived from them; TPUs have no streams
    with_streams = {p for (p, _), name in events.threads.items() if name.startswith("Stream")}
    for process, thread, kernel, start, length, call, correlation in events.kernels:
        name = events.threads.get((process, thread), "")
        is_stream = name.startswith("Stream") if process in with_streams else name == OPERATIONS
        if process in events.processes and not is_stream:
            continue
        device = events.processes.get(process, "cpu")
        host = UNKNOWN_NS if correlation is None else events.launches.get(correlation, UNKNOWN_NS)
        trace.facts.setdefault(device, DeviceFacts())
        trace.add(kernel, length, device, start_ns=start, host_ns=host, call=call)
    # equal marks, of several lines, are one step
    for step, begin, end in dict.fromkeys(events.steps):
        trace.annotations.add(0, step, begin, end, 1)
    return trace
