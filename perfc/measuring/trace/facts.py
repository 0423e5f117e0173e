"""Contents of a trace: launches of kernels, operators with shapes, facts of devices.

Traces carry command lines, environments and host names. Nothing of a trace is stored except what
these records hold, so that no report can print anything else.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import cast

from perfc.errors import ParseError
from perfc.ir.record import mutable, record

MOST_LAUNCHES = 4_000_000
MOST_NAMES = 200_000
LONGEST_NAME = 1000
"""Maximum characters of a kernel's name; templates of CUTLASS reach 4,000."""
LARGEST_EXTENT = 1 << 40
MOST_AXES = 16
MOST_ARGUMENTS = 64
_OPERATOR = re.compile(r"[A-Za-z_][\w.:<>(), /~-]{0,159}")
UNKNOWN_NS = -1


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
        name: as the driver prints it; empty if not recorded.
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

    ``held`` is the number of elements in memory if axes of an expanded tensor share them.
    """

    dtype: str
    sizes: tuple[int, ...]
    held: int | None = None

    def __str__(self) -> str:
        return "×".join(map(str, self.sizes)) or "1"


Argument = TensorArgument | tuple[TensorArgument, ...] | int | float | bool | tuple[int, ...] | None


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
        """Extents of the tensors, as ``4096×1024, 1024×512``."""
        shown: list[str] = []
        for argument in self.arguments:
            match argument:
                case TensorArgument():
                    shown.append(str(argument))
                case tuple() if argument and isinstance(argument[0], TensorArgument):
                    shown.append("[" + ", ".join(map(str, argument)) + "]")
                case _:
                    pass
        return ", ".join(shown)


@mutable
class LaunchColumns:
    """Columns of launches: a row is one execution of a kernel or copy.

    Args:
        kernel: index of the name.
        call: index of the operator's call with its shapes; -1 without one.
        execution: number of the execution of the operator; -1 without one.
        device: index of the device.
        start_ns: begin on the device; `UNKNOWN_NS` without a time line.
        duration_ns: time on the device.
        host_ns: begin of the launch on the host; `UNKNOWN_NS` if not recorded.
    """

    kernel: array[int] = field(default_factory=lambda: array("q"))
    call: array[int] = field(default_factory=lambda: array("q"))
    execution: array[int] = field(default_factory=lambda: array("q"))
    device: array[int] = field(default_factory=lambda: array("q"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    duration_ns: array[int] = field(default_factory=lambda: array("q"))
    host_ns: array[int] = field(default_factory=lambda: array("q"))


@mutable
class Numbering:
    """Numbers of different values, in the order of their first use."""

    numbers: dict[object, int] = field(default_factory=dict[object, int])

    def number(self, value: object) -> int:
        """Return the number of a value.

        Raises:
            ParseError: too many different values.
        """
        known = self.numbers.get(value)
        if known is None:
            known = len(self.numbers)
            if known >= MOST_NAMES:
                raise ParseError("more than 200,000 different kernels or operators in a trace")
            self.numbers[value] = known
        return known


@mutable
class DeviceTrace:
    """Launches of a trace, and facts of its devices.

    Args:
        source: tool that wrote it.
        runs: runs over which its times are averaged; 1 for a time line.
        facts: facts by the tool's number of a device.
    """

    source: TraceSource
    runs: int = 1
    launches: LaunchColumns = field(default_factory=LaunchColumns)
    kernel_names: Numbering = field(default_factory=Numbering)
    operator_calls: Numbering = field(default_factory=Numbering)
    devices: Numbering = field(default_factory=Numbering)
    facts: dict[object, DeviceFacts] = field(default_factory=dict[object, DeviceFacts])

    def add(
        self, kernel: str, duration_ns: int, device: object = 0, *, start_ns: int = UNKNOWN_NS,
        host_ns: int = UNKNOWN_NS, call: OperatorCall | None = None, execution: int = -1,
    ) -> None:  # fmt: skip
        """Append a launch.

        Raises:
            ParseError: too many launches.
        """
        rows = self.launches
        if len(rows.kernel) >= MOST_LAUNCHES:
            hint = "record fewer steps"
            raise ParseError(f"more than {MOST_LAUNCHES:,} launches in a trace", hint=hint)
        rows.kernel.append(self.kernel_names.number(kernel[:LONGEST_NAME]))
        rows.call.append(-1 if call is None else self.operator_calls.number(call))
        rows.execution.append(execution)
        rows.device.append(self.devices.number(device))
        rows.start_ns.append(start_ns)
        rows.duration_ns.append(max(duration_ns, 0))
        rows.host_ns.append(host_ns)

    @property
    def kernels(self) -> list[str]:
        """Names of kernels by number."""
        return [str(name) for name in self.kernel_names.numbers]

    @property
    def calls(self) -> list[OperatorCall]:
        """Calls of operators by number."""
        return [c for c in self.operator_calls.numbers if isinstance(c, OperatorCall)]

    @property
    def used_devices(self) -> Mapping[object, DeviceFacts]:
        """Facts of the devices that executed something, by the tool's number.

        Equal facts are those of every device: a process may number its devices in another way.
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


def nanoseconds(microseconds: float | None) -> int | None:
    """Return a time of a Chrome trace as whole nanoseconds; None if out of range."""
    if microseconds is None or not abs(microseconds) < 9e15:
        return None
    return round(microseconds * 1000)


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
