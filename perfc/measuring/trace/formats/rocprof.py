"""Read the JSON of rocprofv3: dispatches of kernels and copies of memory, process by process."""

from __future__ import annotations

from array import array
from dataclasses import field

from perfc.ir import mutable

from ...measure.runtimes.events import Event, arrays, inner, integer, text
from ..facts import LONGEST_NAME, DeviceFacts, DeviceTrace, TraceSource

KEYS = ("agents", "kernel_symbols", "kernel_dispatch", "memory_copy", "hip_api")
"""Lists of a process that are read, in the order of the file."""
GPU = 2
"""Type of an agent that is a GPU. Source: rocprofiler_agent_type_t of rocprofiler-sdk."""
COPIES = {1: "HtoH", 2: "HtoD", 3: "DtoH", 4: "DtoD"}
"""Directions of copies. Source: rocprofiler_memory_copy_operation_t of rocprofiler-sdk."""


def reads(head: str) -> bool:
    """Return True for the JSON of rocprofv3."""
    return '"rocprofiler-sdk-tool"' in head


@mutable
class ProcessRecords:
    """Names and devices of the process that is read.

    Args:
        names: kernels by number.
        devices: number of the device by the handle of its agent.
        correlations: correlation number of every launch of the trace; -1 without one.
        first: number of launches of earlier processes.
        rows: launches by correlation number, made at the first call of HIP.
    """

    names: dict[int, str] = field(default_factory=dict)
    devices: dict[int, int] = field(default_factory=dict)
    correlations: array[int] = field(default_factory=lambda: array("q"))
    first: int = 0
    rows: dict[int, int] | None = None


def read(path: str) -> DeviceTrace:
    """Read the dispatches of all processes.

    Raises:
        ParseError: not JSON, or too large.
    """
    trace, process = DeviceTrace(TraceSource.ROCPROF), ProcessRecords()
    last = -1
    for key, e in arrays(path, KEYS, trace.cut):
        # an earlier list after a later one is of the next process, whose numbers begin again
        at = KEYS.index(key)
        if at < last:
            correlations = process.correlations
            process = ProcessRecords(correlations=correlations, first=len(correlations))
        last = at
        match key:
            case "agents":
                agent(trace, process, e)
            case "kernel_symbols":
                symbol(process, e)
            case "hip_api":
                called(trace, process, e)
            case _:
                executed(trace, process, e)
    return trace


def agent(trace: DeviceTrace, process: ProcessRecords, e: Event) -> None:
    """Add a device."""
    handle, number = integer(inner(e, "id"), "handle"), integer(e, "node_id")
    # as many devices as of other formats; hosts have up to 16
    if integer(e, "type") != GPU or handle is None or len(process.devices) >= 1024:
        return
    number = handle if number is None else number
    process.devices[handle] = number
    name = text(e, "product_name") or text(e, "model_name") or text(e, "name")
    trace.facts[number] = DeviceFacts(name[:100], 0, integer(e, "cu_count") or 0)


def symbol(process: ProcessRecords, e: Event) -> None:
    """Add the name of a kernel."""
    number = integer(e, "kernel_id")
    name = text(e, "formatted_kernel_name") or text(e, "kernel_name")
    # a process has a few thousand kernels; a damaged file may have any number
    if number is not None and len(process.names) < 1_000_000:
        process.names[number] = name[:LONGEST_NAME]


def executed(trace: DeviceTrace, process: ProcessRecords, e: Event) -> None:
    """Add a dispatch or a copy."""
    start, end = integer(e, "start_timestamp"), integer(e, "end_timestamp")
    if start is None or end is None or end < start or start < 0:
        trace.unusable += 1
        return
    info = inner(e, "dispatch_info")
    number = integer(info, "kernel_id")
    if number is not None:
        name = process.names.get(number) or f"kernel {number}"
        handle = integer(inner(info, "agent_id"), "handle")
    else:
        name = f"Memcpy {COPIES.get(integer(e, 'operation') or 0, '')}".rstrip()
        # the agent of the copy that is a GPU: agents of hosts are not among the devices
        handle = next(
            (
                h
                for key in ("dst_agent_id", "src_agent_id")
                if (h := integer(inner(e, key), "handle")) in process.devices
            ),
            None,
        )
    device = 0 if handle is None else process.devices.get(handle, handle)
    trace.add(name, end - start, device, start_ns=start)
    correlation = integer(inner(e, "correlation_id"), "internal")
    process.correlations.append(-1 if correlation is None else correlation)


def called(trace: DeviceTrace, process: ProcessRecords, e: Event) -> None:
    """Record when a call on the host, which launched a kernel, began."""
    if process.rows is None:
        rows = enumerate(process.correlations[process.first :], process.first)
        process.rows = {correlation: row for row, correlation in rows}
    correlation = integer(inner(e, "correlation_id"), "internal")
    start = integer(e, "start_timestamp")
    row = None if correlation is None else process.rows.get(correlation)
    if row is not None and start is not None and start >= 0:
        trace.launches.host_ns[row] = start
