"""A machine and kernels of round numbers, so that a test's answer can be computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perfc.ir.graph import Graph, Module, Node, Value
from perfc.ir.tensors.types import DType, TensorType
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.manager import Analyses
from perfc.passes.roofline.ceilings import Ceiling, KernelBound, LaunchCounts
from tests.passes.random_graphs import op

TARGET = """\
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


def toy(folder: Path, *device: str, kind: str = "cuda", more: str = "") -> Machine:
    """A machine of 10 multiprocessors at 1 GHz: 100 Tflop/s of f16, 1 TB/s, 4 TB/s of L2.

    Args:
        folder: where its file is written.
        device: ``key value source`` of further facts.
        kind: of machine.
        more: text behind all others.
    """
    facts = (line.split() for line in device)
    lines = [f'{key} = {{ value = {value}, from = "{source}" }}' for key, value, source in facts]
    path = folder / "toy.toml"
    path.write_text(TARGET.format(kind=kind, device="\n".join(lines)) + more, encoding="utf-8")
    return load_machine(path)


def bound(
    counts: Mapping[str, float],
    dtype: DType = DType.F16,
    launches: float = 1.0,
    floor_s: float = 1e-9,
    sustained: Mapping[Ceiling, float] | None = None,
) -> KernelBound:
    """A kernel of so many operations and bytes, of which nothing else is known."""
    every = LaunchCounts(
        **{
            name: counts.get(name, 0.0)
            for name in ("mac", "floor_mac", "alu", "sfu", "integer", "read_bytes", "write_bytes")
        }
    )
    return KernelBound(
        relu(), every, launches, {Ceiling.DEVICE: floor_s}, sustained or {}, 0.0, 0.0, dtype
    )


def relu() -> Kernel:
    """A kernel of one operator on eight elements."""
    x = Value("x", TensorType(DType.F16, (8,)))
    y = Value("y", TensorType(DType.F16, (8,)))
    module = Module(Graph("g", (x,), (y,), (Node(op("relu"), (x,), (y,)),)))
    return Analyses().get(Fuse("eager"), module).kernels[0]
