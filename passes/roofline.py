"""Hierarchical roofline: what each kernel cannot beat, and what measured rates would give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from perfc.ir.dim import Dim
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Module, Value
from perfc.ir.op import Kind
from perfc.ir.types import DType, TensorType
from perfc.machine import Machine, Peak, Unit, load_machine

from . import Analysis
from .fuse import Fuse, Kernel, KernelTable
from .runtimes import Launch

if TYPE_CHECKING:
    from .manager import Analyses


class Ceiling(Enum):
    """What can bind a kernel."""

    MATRIX = "matrix"
    VECTOR = "vector"
    SPECIAL = "special function"
    INTEGER = "integer"
    L1 = "L1"
    L2 = "L2"
    DEVICE = "device memory"
    WAVES = "wave quantisation"
    LAUNCH = "launch"

    __hash__ = object.__hash__


TILE = 128
"""Rows and columns of a matrix tile one SM works on; the common size of library kernels."""
GRAPH_GAP = 0.25
"""Gap between kernels of a recorded graph as a share of an eager launch; assumed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Operations and bytes of one launch as numbers."""

    mac: float
    floor_mac: float
    alu: float
    sfu: float
    integer: float
    read_bytes: float
    write_bytes: float

    @property
    def flop(self) -> float:
        """Floating-point operations."""
        return 2 * self.mac + self.alu + self.sfu

    @property
    def nbytes(self) -> float:
        """Compulsory bytes."""
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True, slots=True)
class KernelBound:
    """Times of one kernel; all launches of one run together.

    Args:
        kernel: what runs.
        counts: of one launch.
        launches: in one run.
        floor: seconds each ceiling takes at the best rate the hardware can ever give.
        sustained: seconds each ceiling takes at measured rates (rated ones where none is).
        launch_gap_s: what launching adds where the kernel is shorter than its launch.
        device_bytes: bytes charged to device memory in ``sustained``.
        dtype: element type of the multiply–accumulates.
    """

    kernel: Kernel
    counts: Counts
    launches: float
    floor: Mapping[Ceiling, float]
    sustained: Mapping[Ceiling, float]
    launch_gap_s: float
    device_bytes: float
    dtype: DType

    @property
    def floor_s(self) -> float:
        """Lower bound of the kernel's time."""
        return max(self.floor.values(), default=0.0)

    @property
    def sustained_s(self) -> float:
        """Time at measured rates, without launching."""
        return max(self.sustained.values(), default=0.0)

    @property
    def time_s(self) -> float:
        """Time at measured rates with its launch."""
        return self.sustained_s + self.launch_gap_s

    @property
    def binding(self) -> Ceiling:
        """The ceiling that binds at measured rates; launching where it takes longer."""
        if self.launch_gap_s > self.sustained_s:
            return Ceiling.LAUNCH
        if not self.sustained:
            return Ceiling.LAUNCH
        return max(self.sustained, key=self.sustained.__getitem__)

    @property
    def margin(self) -> float:
        """How many times longer the binding ceiling takes than the next."""
        times = sorted((*self.sustained.values(), 0.0), reverse=True)
        return times[0] / times[1] if len(times) > 1 and times[1] > 0 else math.inf

    @property
    def intensity_flop_per_byte(self) -> float | None:
        """Flop per compulsory byte, None where nothing moves."""
        return self.counts.flop / self.counts.nbytes if self.counts.nbytes else None


@dataclass(frozen=True)
class RooflineTable:
    """Bounds of all kernels on a machine, and of the run as a whole.

    ``weight_floor_s`` is what streaming the weights that no cache can hold from run to run takes;
    the kernels' floors alone would let each of them find its weights in cache.
    """

    machine: Machine
    kernels: tuple[KernelBound, ...]
    weight_floor_s: float
    env: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def floor_s(self) -> float:
        """Lower bound of one run's kernel time."""
        return max(math.fsum(k.floor_s for k in self.kernels), self.weight_floor_s)

    @property
    def sustained_s(self) -> float:
        """Kernel time at measured rates."""
        return math.fsum(k.sustained_s for k in self.kernels)

    @property
    def launch_gap_s(self) -> float:
        """What launching adds to it."""
        return math.fsum(k.launch_gap_s for k in self.kernels)

    @property
    def time_s(self) -> float:
        """Kernel time at measured rates with launching."""
        return self.sustained_s + self.launch_gap_s

    def pressure(self) -> dict[Ceiling, float]:
        """Share of the run's time for which each ceiling alone would be busy."""
        total = self.time_s
        busy: dict[Ceiling, float] = dict.fromkeys(Ceiling, 0.0)
        for k in self.kernels:
            for ceiling, t in k.sustained.items():
                busy[ceiling] += t
        busy[Ceiling.LAUNCH] = self.launch_gap_s
        return {c: t / total for c, t in busy.items() if t > 0 and total > 0}


@dataclass(frozen=True)
class Roofline(Analysis[RooflineTable]):
    """Time ≥ max over units and memory levels, kernel by kernel.

    Floor: peak rates; a kernel's bytes pass L1 and L2 once, and device memory only as far as they
    exceed what L2 can hold at its start and at its end. Stride-one convolutions may use Winograd's
    minimal filtering, so their multiply–accumulates are divided by its gain. Causal attention
    counts only unmasked pairs. Left out: workspace, bank conflicts, clocks below boost.

    Sustained: measured rates where the target has them, bytes charged to device memory unless the
    tensor was touched within the last L2 capacity of traffic, whole waves of tiles.

    Source: Williams et al. 2009 (roofline); Yang et al. 2020 (hierarchical roofline); Lavin & Gray
    2016 (Winograd).
    """

    requires: ClassVar = (Fuse,)
    target: str = "a100"
    runtime: str = "ort"
    tf32: bool = True
    dims: tuple[tuple[str, int], ...] = ()

    def run(self, module: Module, am: Analyses) -> RooflineTable:
        """Bounds at the default values of the symbols, or at ``dims``."""
        table = am.get(Fuse(self.runtime), module)
        env = {**module.defaults(), **dict(self.dims)}
        return bounds(table, load_machine(self.target), env, tf32=self.tf32)


def bounds(
    table: KernelTable, machine: Machine, env: Mapping[str, int], *, tf32: bool = True
) -> RooflineTable:
    """Bounds of every kernel with symbols at ``env``."""
    sizes: dict[Value, float] = {}
    for k in table.kernels:
        for v in (*k.reads, *k.writes):
            if v not in sizes:
                nbytes = v.type.nbytes if isinstance(v.type, TensorType) else None
                sizes[v] = evaluate(nbytes or 0, env)
    counts = [counted(k, env) for k in table.kernels]
    charged = device_traffic(table.kernels, counts, sizes, machine)
    rates = Rates(machine, tf32)
    overhead = machine.launch_overhead_s
    gap_s = overhead.value if overhead is not None else 0.0
    if table.runtime.launch is Launch.GRAPH:
        gap_s *= GRAPH_GAP
    found = tuple(
        rates.bound(k, c, evaluate(k.repeat, env), charge, gap_s, env)
        for k, c, charge in zip(table.kernels, counts, charged, strict=True)
    )
    return RooflineTable(machine, found, weight_floor(table, sizes, machine), dict(env))


def counted(kernel: Kernel, env: Mapping[str, int]) -> Counts:
    """The kernel's formulas at ``env``."""
    w, t = kernel.work, kernel.traffic

    def at(d: Dim) -> float:
        return d if isinstance(d, int) else max(evaluate(d, env), 0)

    return Counts(
        at(w.mac),
        at(w.floor_mac),
        at(w.alu),
        at(w.sfu),
        at(w.integer),
        at(t.read_bytes),
        at(t.write_bytes),
    )


def weight_floor(table: KernelTable, sizes: Mapping[Value, float], machine: Machine) -> float:
    """Seconds to stream, each run, the weights beyond what the last cache can keep."""
    device, cache = machine.level("device"), machine.level("l2")
    if device is None:
        return 0.0
    streamed = {
        v
        for k in table.kernels
        if k.kind is not Kind.GATHER and k.repeat == 1
        for v in k.reads
        if v.weight is not None
    }
    total = math.fsum(sizes[v] for v in streamed)
    kept = cache.capacity_bytes if cache is not None else 0
    return max(total - kept, 0.0) / device.bandwidth.value


def device_traffic(
    kernels: tuple[Kernel, ...],
    counts: list[Counts],
    sizes: Mapping[Value, float],
    machine: Machine,
) -> list[float]:
    """Bytes each kernel fetches from or leaves to device memory.

    A tensor is found in L2 if it was touched less than L2's capacity of traffic ago. The run is
    followed twice, so that what a run leaves in cache serves the next.
    """
    cache = machine.level("l2")
    capacity = cache.capacity_bytes if cache is not None else 0
    touched: dict[Value, float] = {}
    clock = 0.0
    charged: list[float] = []
    for round_ in range(2):
        for k, c in zip(kernels, counts, strict=True):
            missed = math.fsum(
                sizes[v]
                for v in k.reads
                if v not in touched or clock - touched[v] + sizes[v] > capacity
            )
            clock += c.nbytes
            for v in (*k.reads, *k.writes):
                touched[v] = clock
            if round_:
                written = c.write_bytes if c.write_bytes > capacity / 2 else 0.0
                charged.append(min(missed, c.read_bytes) + written)
    return charged


@dataclass(slots=True)
class Rates:
    """Rates of one machine, looked up once per unit and element type."""

    machine: Machine
    tf32: bool
    entries: dict[tuple[Unit, str], Peak] = field(default_factory=dict[tuple[Unit, str], Peak])

    def entry(self, unit: Unit, dtype: DType) -> Peak:
        """Rates of a unit."""
        key = (unit, dtype.code)
        if key not in self.entries:
            self.entries[key] = self.machine.entry(unit, dtype.code, allow_tf32=self.tf32)
        return self.entries[key]

    def bound(
        self,
        kernel: Kernel,
        c: Counts,
        launches: float,
        device_bytes: float,
        gap_s: float,
        env: Mapping[str, int],
    ) -> KernelBound:
        """Floor and sustained times of a kernel, all launches together."""
        dtype = kernel.mac_dtype
        vector = dtype if dtype.is_float else DType.F32
        floor: dict[Ceiling, float] = {}
        sustained: dict[Ceiling, float] = {}
        least_mac = c.floor_mac / winograd_gain(kernel)
        amounts = (
            (Ceiling.MATRIX, Unit.MATRIX, dtype, least_mac * 2, 2 * c.mac),
            (Ceiling.VECTOR, Unit.VECTOR, vector, c.alu, c.alu),
            (Ceiling.SPECIAL, Unit.SPECIAL, vector, c.sfu, c.sfu),
            (Ceiling.INTEGER, Unit.INTEGER, DType.I32, c.integer / 4, c.integer),
        )
        for ceiling, unit, type_, least, all_ in amounts:
            if all_:
                peak = self.entry(unit, type_)
                floor[ceiling] = launches * least / peak.peak.value
                rate = peak.sustained or peak.nominal
                sustained[ceiling] = launches * all_ / rate.value
        waves = wave_efficiency(kernel, self.machine, env)
        if waves < 1 and Ceiling.MATRIX in sustained:
            sustained[Ceiling.WAVES] = sustained[Ceiling.MATRIX] / waves
        self._memory(c, launches, device_bytes, floor, sustained)
        once = max(sustained.values(), default=0.0) / launches if launches else 0.0
        gap = launches * max(gap_s - once, 0.0)
        return KernelBound(
            kernel, c, launches, floor, sustained, gap, device_bytes * launches, dtype
        )

    def _memory(
        self,
        c: Counts,
        launches: float,
        device_bytes: float,
        floor: dict[Ceiling, float],
        sustained: dict[Ceiling, float],
    ) -> None:
        cache = self.machine.level("l2")
        kept = cache.capacity_bytes if cache is not None else 0
        beyond = max(c.read_bytes - kept, 0) + max(c.write_bytes - kept, 0)
        levels = (
            ("l1", Ceiling.L1, c.nbytes, c.nbytes),
            ("l2", Ceiling.L2, c.nbytes, c.nbytes),
            ("device", Ceiling.DEVICE, beyond, device_bytes),
        )
        for name, ceiling, least, all_ in levels:
            level = self.machine.level(name)
            if level is not None and (least or all_):
                floor[ceiling] = launches * least / level.bandwidth.value
                rate = level.sustained or level.nominal
                sustained[ceiling] = launches * all_ / rate.value


def winograd_gain(kernel: Kernel) -> float:
    """Factor by which minimal filtering F(4, r) can cut a stride-one convolution's products.

    Per axis, ``4 r / (r + 3)``. Source: Winograd 1980; Lavin & Gray 2016, section 3.
    """
    node = next((n for n in kernel.nodes if n.op.kind is Kind.CONV), None)
    if node is None or len(node.inputs) < 2 or not node.inputs[1]:
        return 1.0
    strides = getattr(node.op, "strides", ())
    dilations = getattr(node.op, "dilations", ())
    if any(s != 1 for s in strides) or any(d != 1 for d in dilations):
        return 1.0
    gain = 1.0
    for v in node.inputs:
        if v is not None and v.weight is not None and isinstance(v.type, TensorType):
            for r in (v.type.shape or ())[2:]:
                if isinstance(r, int) and r > 1:
                    gain *= 4 * r / (r + 3)
            break
    return gain


def wave_efficiency(kernel: Kernel, machine: Machine, env: Mapping[str, int]) -> float:
    """Share of the last wave of output tiles that is filled, 1 where no tiles are counted.

    Tiles of ``TILE`` × ``TILE`` go to SMs in whole waves. Source: NVIDIA, Matrix multiplication
    background guide, wave quantisation. Left out: split-k, smaller tiles, several tiles per SM.
    """
    if kernel.kind not in (Kind.MATMUL, Kind.CONV) or machine.kind != "cuda":
        return 1.0
    result = kernel.anchor.results[0].type if kernel.anchor.results else None
    if not isinstance(result, TensorType) or not result.shape or len(result.shape) < 2:
        return 1.0
    extents = [evaluate(d, env) for d in result.shape]
    if kernel.kind is Kind.CONV:
        rows, columns = extents[0] * math.prod(extents[2:]), extents[1]
    else:
        rows, columns = math.prod(extents[:-1]), extents[-1]
    tiles = math.ceil(rows / TILE) * math.ceil(columns / TILE)
    if tiles <= machine.sm_count:
        return 1.0
    filled: float = tiles / (math.ceil(tiles / machine.sm_count) * machine.sm_count)
    return filled
