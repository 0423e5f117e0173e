"""Small inputs whose answers follow by hand, for tests of rules, passes and predictors.

>>> from perfc import analyze, testing
>>> report = analyze(testing.module("%x: f32[8, 4]", "%y = relu(%x) : f32[8, 4]"), "a100")
>>> [kernel.kernel.label for kernel in report.roofline.kernels]
['relu']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.ir.record import record

if TYPE_CHECKING:
    from perfc.ir import DType, Module
    from perfc.machine import Machine
    from perfc.passes.roofline.ceilings import Ceiling, KernelBound

__all__ = ["TraceLaunch", "kernel", "machine", "module", "trace"]

MACHINE = """\
schema = 1
name = "toy"
aliases = []
kind = "{kind}"
vendor = "nobody"
arch = "sm_00"
description = "A toy"

[source.sheet]
origin = "vendor"
title = "Toy sheet"

[source.lab]
origin = "measured"
tool = "a stopwatch"

[device]
sm_count = {{ value = 10, from = "sheet" }}
clock_boost_hz = {{ value = 1e9, from = "sheet" }}
clock_max_hz = {{ value = 1e9, from = "sheet" }}
{device}

[compute.matrix.f16]
peak_flop_per_s = {{ value = 100e12, from = "sheet" }}

[compute.matrix.i8]
peak_flop_per_s = {{ value = 400e12, from = "sheet" }}

[compute.vector.f32]
peak_flop_per_s = {{ value = 10e12, from = "sheet" }}

[compute.special.f32]
peak_op_per_s = {{ value = 1e12, from = "sheet" }}

[memory.l2]
capacity_bytes = {{ value = 1_000_000, from = "sheet" }}
bandwidth_bytes_per_s = {{ value = 4e12, from = "sheet" }}

[memory.device]
capacity_bytes = {{ value = 16e9, from = "sheet" }}
bandwidth_bytes_per_s = {{ value = 1e12, from = "sheet" }}
"""


def module(inputs: str, *lines: str, **sizes: int) -> Module:
    """Return a module of its text form; the last result is its output.

    Args:
        inputs: inputs with their types, ``%x: f32[batch, 4]``.
        lines: weights and operators, ``%y = relu(%x) : f32[batch, 4]``.
        sizes: default of each symbol.

    Raises:
        ParseError: the text is no module.

    >>> module("%x: f32[n, 4]", "%y = relu(%x) : f32[n, 4]", n=8).graph.outputs[0].name
    'y'
    """
    from perfc.ir.syntax.parse import parse_module

    symbols = [f"dim {name} in 1.. = {size}" for name, size in sizes.items()]
    result = lines[-1].partition(" =")[0]
    body = "\n".join(f"  {line}" for line in (*lines, f"return {result}"))
    head = "\n".join(["perfir 1", "module @m", *symbols])
    return parse_module(f"{head}\ngraph @main({inputs}) {{\n{body}\n}}\n")


def machine(folder: Path, *facts: str, kind: str = "cuda", more: str = "") -> Machine:
    """Write a target file of round numbers, and return its machine.

    It has 10 multiprocessors at 1 GHz, 100 Tflop/s of f16, 10 of f32, 1 TB/s and 4 TB/s of L2. The
    file is ``folder / "toy.toml"``, which every command takes as a target.

    Args:
        folder: where its file is written.
        facts: ``key value source`` of further facts of the device.
        kind: kind of the machine.
        more: text of the file behind all others.

    Raises:
        MachineError: an unknown fact, or one that contradicts another.
    """
    from perfc.machine import load_machine

    rows = (fact.split() for fact in facts)
    lines = [f'{key} = {{ value = {value}, from = "{source}" }}' for key, value, source in rows]
    path = folder / "toy.toml"
    path.write_text(MACHINE.format(kind=kind, device="\n".join(lines)) + more, encoding="utf-8")
    return load_machine(path)


def kernel(
    counts: Mapping[str, float],
    dtype: DType | None = None,
    launches: float = 1.0,
    floor_s: float = 1e-9,
    sustained: Mapping[Ceiling, float] | None = None,
) -> KernelBound:
    """Return a kernel of so many operations and bytes, of which nothing else is known.

    Args:
        counts: ``mac``, ``floor_mac``, ``alu``, ``sfu``, ``integer``, ``read_bytes`` and
            ``write_bytes``; 0 where missing.
        dtype: type in which it computes; None for f16.
        launches: number of launches.
        floor_s: its lower bound in seconds, by device memory.
        sustained: its time in seconds by measured ceilings.
    """
    from perfc.ir import DType
    from perfc.passes.fusion.fuse import Fuse
    from perfc.passes.manager import Analyses
    from perfc.passes.roofline.ceilings import Ceiling, KernelBound, LaunchCounts

    names = ("mac", "floor_mac", "alu", "sfu", "integer", "read_bytes", "write_bytes")
    every = LaunchCounts(**{name: counts.get(name, 0.0) for name in names})
    one = Analyses().get(Fuse("eager"), module("%x: f16[8]", "%y = relu(%x) : f16[8]")).kernels[0]
    floors = {Ceiling.DEVICE: floor_s}
    return KernelBound(one, every, launches, floors, sustained or {}, 0.0, 0.0, dtype or DType.F16)


@record
class TraceLaunch:
    """One launch of a trace.

    Args:
        kernel: name of the kernel.
        start_us: begin on the device in microseconds.
        time_us: its duration in microseconds.
        operator: PyTorch operator that launched it; empty for none.
        shapes: shapes of the operator's inputs.
        stream: number of its stream.
    """

    kernel: str
    start_us: float
    time_us: float
    operator: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()
    stream: int = 7


def trace(launches: Iterable[TraceLaunch]) -> dict[str, Any]:
    """Return a trace in the form of PyTorch's profiler, to be written as JSON.

    The host launches each kernel five microseconds before it begins, on an H100.
    """
    events: list[dict[str, Any]] = []
    for number, one in enumerate(launches):
        host_us = one.start_us - 5
        link: dict[str, Any] = {"External id": number, "correlation": number}
        given = {**link, "Input Dims": one.shapes, "Input type": ["float"] * len(one.shapes)}
        on_device = {**link, "device": 0, "stream": one.stream}
        rows: list[tuple[str, str, float, float, dict[str, Any]]] = [
            ("cuda_runtime", "cudaLaunchKernel", host_us, 2.0, link),
            ("kernel", one.kernel, one.start_us, one.time_us, on_device),
        ]
        if one.operator:
            rows.insert(0, ("cpu_op", one.operator, host_us - 1, 4.0, given))
        events += [
            {"ph": "X", "cat": cat, "name": name, "tid": 1, "ts": ts, "dur": dur, "args": args}
            for cat, name, ts, dur, args in rows
        ]
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
    return {"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}
