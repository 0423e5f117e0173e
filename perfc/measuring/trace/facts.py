"""Contents of a trace: launches of kernels, operators with shapes, facts of devices.

Traces carry command lines, environments and host names. Nothing of a trace is stored except what
these records hold, so that no report can print anything else.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, cast

from perfc.errors import ParseError
from perfc.ir import mutable, record

from ..measure.runtimes.events import Event, number

if TYPE_CHECKING:
    from .timeline import HostTimeline

MOST_ROWS = 6_000_000
"""Maximum rows of a table of events: 480 MB for the ten columns of `LaunchColumns`."""
FEWER = "record fewer steps"
"""Hint where a trace is too large."""
MOST_NAMES = 200_000
"""Maximum different names of a trace: whole files have few, damaged ones another for each event."""
LONGEST_NAME = 1000
"""Maximum characters of a kernel's name; those of CUTLASS's templates reach 4,000 and are cut."""
LARGEST_EXTENT = 1 << 40
"""Maximum extent of an operand; a larger one is damaged."""
LARGEST_US = 4.5e15
"""Maximum time in microseconds: in nanoseconds, it and sums of two fit into 64 bits."""
MOST_AXES = 16
"""Maximum axes of an operand; a longer list is damaged."""
MOST_ARGUMENTS = 64
"""Maximum arguments of an operator; further ones are not read."""
_OPERATOR = re.compile(r"[A-Za-z_][\w.:<>(), /~&*-]{0,159}")
"""Names of operators; without ``=``, so that no assignment of an environment passes for one."""
UNKNOWN_NS = -1
"""Time that a trace does not have, in tables of whole numbers."""


class TraceSource(Enum):
    """Tools that write traces."""

    KINETO = "PyTorch profiler"
    XPLANE = "JAX profiler"
    ROCPROF = "rocprofv3"
    NSYS = "Nsight Systems"
    ORT = "onnxruntime"
    TENSORRT = "TensorRT"


@record
class DeviceFacts:
    """Facts of one device.

    Args:
        name: as the driver prints it, at most 100 characters; empty if not recorded.
        memory_bytes: memory; 0 if not recorded.
        sm_count: multiprocessors or compute units; 0 if not recorded.
        capability: major and minor number of the architecture; zeros if not recorded.
    """

    name: str = ""
    memory_bytes: int = 0
    sm_count: int = 0
    capability: tuple[int, int] = (0, 0)


@record
class TensorArgument:
    """Element type and extents of a tensor; the type is a word of the tool.

    ``held`` is the number of elements in memory if axes of an expanded tensor share them; None if
    it is the product of ``sizes``. Calls that differ in ``strides`` only are equal.
    """

    dtype: str
    sizes: tuple[int, ...]
    held: int | None = None
    strides: tuple[int, ...] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "×".join(map(str, self.sizes)) or "1"


Argument = TensorArgument | tuple[TensorArgument, ...] | int | float | bool | tuple[int, ...] | None
"""Argument of an operator as it is stored; None for text and other kinds."""


@record
class OperatorCall:
    """Operator with its arguments in order; text arguments are never stored.

    Args:
        operator: name, as ``aten::mm``.
        arguments: tensors and numbers; None for anything else.
        result: first result; None if not recorded.
    """

    operator: str
    arguments: tuple[Argument, ...] = ()
    result: TensorArgument | None = None

    @property
    def shapes(self) -> str:
        """Return the extents of the tensors, as ``4096×1024, 1024×512``."""
        texts: list[str] = []
        for argument in self.arguments:
            match argument:
                case TensorArgument():
                    texts.append(str(argument))
                case tuple() if argument and isinstance(argument[0], TensorArgument):
                    texts.append("[" + ", ".join(map(str, argument)) + "]")
                case _:
                    pass
        return ", ".join(texts)

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the distinct numbers of elements of the call's tensors, the largest first.

        Scalars and empty tensors do not count.
        """
        lists = (a if isinstance(a, tuple) else (a,) for a in (*self.arguments, self.result))
        tensors = (t for listed in lists for t in listed if isinstance(t, TensorArgument))
        return tuple(sorted({math.prod(t.sizes) for t in tensors} - {0, 1}, reverse=True))


class EventColumns:
    """Rows of whole numbers, column by column.

    Args:
        width: number of columns.
    """

    def __init__(self, width: int) -> None:
        self.columns = [array("q") for _ in range(width)]
        # looked up once: a trace of 1 GB has millions of rows
        self._appends = [column.append for column in self.columns]

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return zip(*self.columns, strict=True)

    def add(self, *values: int) -> None:
        """Append a row.

        Raises:
            ParseError: too many rows.
        """
        if len(self) >= MOST_ROWS:
            raise ParseError(f"more than {MOST_ROWS:,} events in a trace", hint=FEWER)
        for append, value in zip(self._appends, values, strict=True):
            append(value)

    def row(self, at: int) -> tuple[int, ...]:
        """Return a row."""
        return tuple(column[at] for column in self.columns)


class LaunchColumns(EventColumns):
    """Columns of launches; a row is one execution of a kernel or copy.

    Attributes:
        kernel: index of the name.
        call: index of the operator's call with its shapes; -1 without one.
        execution: number of the execution of the operator; -1 without one.
        device: index of the device.
        start_ns: begin on the device; `UNKNOWN_NS` without a time line.
        duration_ns: time on the device.
        host_ns: begin of the launch on the host; `UNKNOWN_NS` if not recorded.
        stream: the tool's number of the stream; -1 if not recorded.
        launch: row of the launch in the calls of the host; -1 if not recorded.
        message: row of the trace's messages; -1 if none is recorded.
    """

    def __init__(self) -> None:
        super().__init__(10)
        (
            self.kernel,
            self.call,
            self.execution,
            self.device,
            self.start_ns,
            self.duration_ns,
            self.host_ns,
            self.stream,
            self.launch,
            self.message,
        ) = self.columns


@record
class StepTime:
    """Number of one step, its launches, and the time of their kernels."""

    number: int
    launches: int
    kernel_ns: int


@mutable
class Numbering:
    """Numbers of different values, in the order of their first use."""

    numbers: dict[object, int] = field(default_factory=dict)

    def number(self, value: object) -> int:
        """Return the number of a value.

        Raises:
            ParseError: too many different values.
        """
        number = self.numbers.get(value)
        if number is None:
            number = len(self.numbers)
            if number >= MOST_NAMES:
                raise ParseError(
                    f"more than {MOST_NAMES:,} different kernels or operators in a trace"
                )
            self.numbers[value] = number
        return number


@mutable
class DeviceTrace:
    """Launches of a trace, and facts of its devices.

    Args:
        source: tool that wrote it.
        runs: runs over which its times are averaged; 1 for a time line.
        launches: executed kernels and copies.
        kernel_names: names of kernels, numbered.
        operator_calls: calls of operators with their arguments, numbered.
        devices: the tool's numbers of devices, numbered in turn.
        facts: facts by the tool's number of a device.
        annotations: group, number, begin and end of each range that the program marked, and 1 for
            one on a device. Group 0 are the steps of the profiler; names are not stored.
        collectives: different collectives with their messages, numbered.
        messages: number of the collective, and its place in the sequence of its group; -1 if not
            recorded.
        rank: number of the process in its job; None if not recorded.
        world_size: processes of the job; None if not recorded.
        base_ns: time since 1970 from which the times count; None if not recorded.
        is_cut: the file ends in the middle.
        is_host: times are those of the host, because no device was traced.
        unusable: launches without a duration, or with a negative one, which are left out.
        replays: number of kernels that launches of graphs executed.
        joined: number of those kernels that got the operator of their capture.
        recorded: number and time of all launches of the file, of which this trace may be a part.
        earlier: number and time of the launches from before the trace began.
        host: events of the host; None if not recorded.
        steps: steps of the file.
        step: number of the step that this trace is; None for the whole.
    """

    source: TraceSource
    runs: int = 1
    launches: LaunchColumns = field(default_factory=LaunchColumns)
    kernel_names: Numbering = field(default_factory=Numbering)
    operator_calls: Numbering = field(default_factory=Numbering)
    devices: Numbering = field(default_factory=Numbering)
    facts: dict[object, DeviceFacts] = field(default_factory=dict)
    annotations: EventColumns = field(default_factory=lambda: EventColumns(5))
    collectives: Numbering = field(default_factory=Numbering)
    messages: EventColumns = field(default_factory=lambda: EventColumns(2))
    rank: int | None = None
    world_size: int | None = None
    base_ns: int | None = None
    is_cut: bool = False
    is_host: bool = False
    unusable: int = 0
    replays: int = 0
    joined: int = 0
    recorded: tuple[int, int] = (0, 0)
    earlier: tuple[int, int] = (0, 0)
    host: HostTimeline | None = field(default=None, repr=False, compare=False)
    steps: tuple[StepTime, ...] = ()
    step: int | None = None

    def add(
        self,
        kernel: str,
        duration_ns: int | None,
        device: object = 0,
        *,
        start_ns: int | None = UNKNOWN_NS,
        host_ns: int = UNKNOWN_NS,
        call: OperatorCall | None = None,
        execution: int = -1,
    ) -> None:
        """Append a launch; one without valid times is counted and left out.

        Raises:
            ParseError: too many launches.
        """
        if duration_ns is None or duration_ns < 0 or start_ns is None:
            self.unusable += 1
            return
        operator = -1 if call is None else self.operator_calls.number(call)
        kernel_number = self.kernel_names.number(kernel[:LONGEST_NAME])
        place = self.devices.number(device)
        unknown = -1, -1, -1  # stream, launch and message: formats with these use HostTimeline
        self.launches.add(
            kernel_number, operator, execution, place, start_ns, duration_ns, host_ns, *unknown
        )

    def cut(self) -> None:
        """Record that the file ends in the middle."""
        self.is_cut = True

    def with_rows(self, rows: Iterable[int]) -> DeviceTrace:
        """Return the trace with some of its launches."""
        launches = LaunchColumns()
        for column, values in zip(launches.columns, self.launches.columns, strict=True):
            column.extend(values[row] for row in rows)
        return replace(self, launches=launches)

    @property
    def kernels(self) -> list[str]:
        """Return the names of kernels by number."""
        return [str(name) for name in self.kernel_names.numbers]

    @property
    def calls(self) -> list[OperatorCall]:
        """Return the calls of operators by number."""
        return [c for c in self.operator_calls.numbers if isinstance(c, OperatorCall)]

    @property
    def used_devices(self) -> Mapping[object, DeviceFacts]:
        """Return the facts of the devices that executed something, by the tool's number.

        If all recorded facts are equal, a device without facts gets them too: the launches of a
        process may number its devices in another way.
        """
        usual = next(iter(self.facts.values())) if len({*self.facts.values()}) == 1 else None
        usual = usual or DeviceFacts()
        return {key: self.facts.get(key, usual) for key in self.devices.numbers}

    def by_device(self) -> Iterator[list[int]]:
        """Yield the rows of each device in order of their begin."""
        rows = self.launches
        lists: list[list[int]] = [[] for _ in self.devices.numbers]
        for row, device in enumerate(rows.device):
            lists[device].append(row)
        for listed in lists:
            yield sorted(listed, key=rows.start_ns.__getitem__)


def operator_name(text: str) -> str:
    """Return the name of an operator; empty for text that is no name, such as ``KEY=value``."""
    return text if _OPERATOR.fullmatch(text) else ""


def nanoseconds(event: Event, key: str) -> int | None:
    """Return a time in microseconds of a Chrome trace as whole nanoseconds; None without one."""
    value = event.get(key)
    # numbers pass quickly, as a trace has millions; text and truth values take the careful way
    if type(value) is not float and type(value) is not int:
        value = number(event, key)
        if value is None:
            return None
    if not -LARGEST_US < value < LARGEST_US:
        return None
    whole = int(value)
    # a product of the float would lose the last digits
    return whole * 1000 + round((value - whole) * 1000)


def sizes_of(extents: object) -> tuple[int, ...] | None:
    """Return a list of extents; None for anything else."""
    values = extents if isinstance(extents, list) else None
    if values is None or len(values) > MOST_AXES:
        return None
    if not all(isinstance(x, int) and abs(x) <= LARGEST_EXTENT for x in values):
        return None
    return tuple(int(x) for x in values)


def listed(value: object) -> list[object]:
    """Return a list; empty for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []
