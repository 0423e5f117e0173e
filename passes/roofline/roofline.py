"""Hierarchical roofline: what each kernel cannot beat, and what measured rates would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from perfc.common.fitted import constants_next_to
from perfc.ir import Dim, DType, Env, Kind, Module, Numbers, Poly, Value, frozen
from perfc.ir.problem import Experts, SlidingWindow
from perfc.machine import Machine, Unit, load_machine

from .. import Analysis
from ..fusion.fuse import Fuse, KernelTable
from ..fusion.kernel import Kernel
from ..manager import Analyses
from ..memory.residency import Touched, capacity, missed, touched
from ..runtimes import DEFAULT, LaunchMode, Tf32
from .ceilings import Ceiling as Ceiling
from .ceilings import KernelBound as KernelBound
from .ceilings import LaunchCounts as LaunchCounts
from .ceilings import lowered, vector_dtype
from .charges import ByteSizes
from .efficiency import TILE as TILE
from .efficiency import wave_efficiency
from .floor import Floors

NOTHING: Mapping[str, int] = MappingProxyType({})
"""No values of symbols, as a default that nobody can change."""
GRAPH_GAP = constants_next_to(__file__)["graph_gap"].number
"""Gap between kernels of a recorded graph as a share of an eager launch."""


@frozen
class RooflineTable:
    """Bounds of all kernels on a machine, and of the run as a whole.

    ``weight_floor_s`` is the time to stream the weights that no cache can hold from run to run;
    the kernels' floors alone would let each kernel find its weights in cache.

    On several ``streams`` kernels overlap. The floor is then the longest of three times: an equal
    share of all floors, the longest kernel, and the sum of all times under each ceiling. Sustained
    times stay those of one kernel after the other. ``envs`` has the symbols of each kernel where a
    table has kernels of several sizes, to be estimated at once; such a table describes no run.
    """

    machine: Machine
    kernels: tuple[KernelBound, ...]
    weight_floor_s: float
    env: Env = field(default_factory=dict)
    streams: int = 1
    envs: tuple[Mapping[str, int], ...] = ()

    def at(self, index: int) -> Numbers:
        """Return the evaluator of the formulas of one kernel."""
        return self._numbers[id(self.envs[index] if self.envs else self.env)]

    @cached_property
    def _numbers(self) -> dict[int, Numbers]:
        """Return the evaluator of each mapping of symbols, by its identity."""
        return {id(env): Numbers(env) for env in (self.env, *self.envs)}

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """Return for each kernel the index of the first equal one; they share one ``floor``."""
        first: dict[int, int] = {}
        return tuple([first.setdefault(id(k.floor), i) for i, k in enumerate(self.kernels)])

    @cached_property
    def floor_s(self) -> float:
        """Return the lower bound of one run's kernel time."""
        floors = [k.floor_s for k in self.kernels]
        # one kernel after the other
        if self.streams == 1:
            return max(math.fsum(floors), self.weight_floor_s)
        busy: dict[Ceiling, float] = {}
        for k in self.kernels:
            for ceiling, t in k.floor.items():
                busy[ceiling] = busy.get(ceiling, 0.0) + t
        return max(math.fsum(floors) / self.streams, *floors, *busy.values(), self.weight_floor_s)

    @cached_property
    def sustained_s(self) -> float:
        """Return the kernel time at measured rates."""
        return math.fsum(k.sustained_s for k in self.kernels)

    @cached_property
    def launch_gap_s(self) -> float:
        """Return the launch overhead of one run."""
        return math.fsum(k.launch_gap_s for k in self.kernels)

    @cached_property
    def time_s(self) -> float:
        """Return the kernel time at measured rates with launching."""
        return self.sustained_s + self.launch_gap_s


@frozen
class Roofline(Analysis[RooflineTable]):
    """Time ≥ max over units and memory levels, kernel by kernel.

    Floor: peak rates; a kernel's bytes pass L1 and L2 once, and device memory only as far as they
    exceed what L2 can hold at the kernel's start and at its end. On processors L1 too keeps data
    from kernel to kernel, so that bytes pass L2 only as far as they exceed L1. Rows that indices
    choose may all be one row, so that only L1 sees them all.
    Stride-one convolutions may use Winograd's minimal filtering, so their multiply–accumulates
    are divided by its gain. Causal attention counts only unmasked pairs. What depends on data
    has its least value. Left out: workspace, bank conflicts, clocks below boost.

    Sustained: measured rates where the target has them. Bytes are charged to device memory unless
    their tensor was touched within the last L2 capacity of traffic. Tiles run in whole waves, and
    depthwise convolutions on the vector unit.

    Source: Williams et al. 2009 (roofline); Yang et al. 2020 (hierarchical roofline); Lavin & Gray
    2016 (Winograd).
    """

    requires: ClassVar = (Fuse,)
    reads_files = True
    target: str = "a100"
    runtime: str = DEFAULT
    tf32: Tf32 | None = None
    dims: tuple[tuple[str, int], ...] = ()

    def run(self, module: Module, am: Analyses) -> RooflineTable:
        """Return the bounds at the default values of the symbols, or at ``dims``."""
        table = am.get(Fuse(self.runtime), module)
        env = {**module.defaults(), **dict(self.dims)}
        return bounds(table, load_machine(self.target), env, tf32=self.tf32)


def launch_s(machine: Machine, launch: LaunchMode) -> float:
    """Return the time between the starts of two empty kernels, in seconds; 0 if unknown."""
    overhead = machine.launch_overhead_s
    gap_s = overhead.value if overhead is not None else 0.0
    # kernels of a graph follow each other without the host
    return gap_s * GRAPH_GAP if launch is LaunchMode.GRAPH else gap_s


def bounds(
    table: KernelTable, machine: Machine, env: Env, *, tf32: Tf32 | None = None
) -> RooflineTable:
    """Return the bounds of every kernel at ``env``, by default with the runtime's TF32."""
    tf32 = table.runtime.tf32_on(machine.vendor) if tf32 is None else tf32
    at = table.numbers(env)
    sizes, counts, traffic = table.once("counts", env, lambda: evaluated(table, at))
    charged = missed(traffic, capacity(machine, "l2"))
    gap_s = launch_s(machine, table.runtime.launch)
    rates = rates_by_kind(machine, tf32)
    bound_of: dict[tuple[int, float], KernelBound] = {}
    bounded: list[KernelBound] = []
    for k, c, charge in zip(table.kernels, counts, charged, strict=True):
        # kernels that differ in names and position alone share their bounds
        key = k.identity, charge
        bound = bound_of.get(key)
        if bound is None:
            bound = bound_of[key] = rates(k.kind).bound(k, c, at(k.repeat), charge, gap_s, at)
        bounded.append(bound if bound.kernel is k else bound.of(k))
    for other in table.alternatives:
        inner = KernelTable(table.runtime, other.kernels, (), other.alternatives)
        least = math.fsum(k.floor_s for k in bounds(inner, machine, env, tf32=tf32).kernels)
        # either side may run: the bound is that of the cheaper one
        bounded[other.first : other.last] = lowered(bounded[other.first : other.last], least)
    weights_s = weight_floor(table, sizes, machine, env)
    return RooflineTable(machine, tuple(bounded), weights_s, dict(env), table.runtime.streams)


def evaluated(
    table: KernelTable, at: Numbers
) -> tuple[dict[Value, float], list[LaunchCounts], list[Touched]]:
    """Return bytes of values, and counts and traffic of each kernel as numbers."""
    once = dict[int, LaunchCounts]()
    counts = [
        once.get(k.identity) or once.setdefault(k.identity, counts_at(k, at)) for k in table.kernels
    ]
    sizes = value_bytes(table, at)
    moved = [(c.read_bytes, c.write_bytes) for c in counts]
    return sizes, counts, touched(table.kernels, moved, sizes)


def value_bytes(table: KernelTable, at: Numbers) -> dict[Value, float]:
    """Return the bytes of each value that kernels read or write."""
    formulas = table.once("bytes", {}, lambda: byte_formulas(table))
    return {v: at(nbytes) for v, nbytes in formulas.items()}


def byte_formulas(table: KernelTable) -> dict[Value, Dim]:
    """Return the bytes of each value that kernels read or write as formulas."""
    nbytes = ByteSizes()
    return {v: nbytes[v.type] for k in table.kernels for v in (*k.reads, *k.writes)}


def reads_at(kernel: Kernel, at: Numbers) -> list[float]:
    """Return the bytes that a kernel reads of each value; of experts, as many as run on average.

    Uniform independent routing is assumed, as for the time of a step.
    """
    parts = [at(part) for part in kernel.read_parts]
    if not isinstance(kernel.problem, Experts):
        return parts
    times = kernel.problem.touched_over_least(at)
    return [
        part if v.weight is None else part * times
        for v, part in zip(kernel.reads, parts, strict=True)
    ]


def counts_at(kernel: Kernel, at: Numbers) -> LaunchCounts:
    """Return the kernel's formulas as numbers."""
    w, t = kernel.work, kernel.traffic
    read_bytes = at(t.read_bytes)
    # the formula counts the fewest experts that may be read; on average more are chosen
    if isinstance(kernel.problem, Experts):
        read_bytes += math.fsum(reads_at(kernel, at)) - math.fsum(map(at, kernel.read_parts))
    return LaunchCounts(
        at(w.mac),
        at(w.floor_mac) / kernel.winograd_gain,
        at(w.alu),
        at(w.sfu),
        at(w.integer),
        read_bytes,
        at(t.write_bytes),
    )


def weight_floor(
    table: KernelTable,
    sizes: Mapping[Value, float],
    machine: Machine,
    env: Env = NOTHING,
) -> float:
    """Return the seconds per run to stream the weights that exceed the last cache."""
    device = machine.level("device")
    if device is None:
        return 0.0
    kernels = table.once("weighted", {}, lambda: weighted(table))
    is_fixed = table.once("fixed", {}, lambda: all(map(reads_fixed_weights, kernels)))
    # weights of fixed size are summed once for all sizes
    sized = {} if is_fixed else env
    streamed = table.once("weights", sized, lambda: streamed_weights(table, sizes, env))
    return max(streamed - capacity(machine, "l2"), 0.0) / device.bandwidth.value


def streamed_weights(table: KernelTable, sizes: Mapping[Value, float], env: Env) -> float:
    """Return the bytes of weights that every run reads."""
    at = table.numbers(env)
    parts: dict[Value, float] = {}
    for k in table.once("weighted", {}, lambda: weighted(table)):
        for v, part in zip(k.reads, reads_at(k, at), strict=True):
            if v.weight is not None:
                # a weight that several kernels read is streamed once
                parts[v] = max(parts.get(v, 0.0), min(part, sizes[v]))
    return math.fsum(parts.values())


def reads_fixed_weights(kernel: Kernel) -> bool:
    """Return True if the bytes of weights that a kernel reads do not depend on symbols."""
    pairs = zip(kernel.reads, kernel.read_parts, strict=True)
    parts = [part for v, part in pairs if v.weight is not None]
    is_chosen = isinstance(kernel.problem, Experts)
    return not is_chosen and not any(isinstance(part, Poly) for part in parts)


def weighted(table: KernelTable) -> list[Kernel]:
    """Return the kernels that read weights once in every run."""
    # one side of a branch may not run
    unsure = {i for a in table.alternatives for i in range(a.first, a.last)}
    return [
        k
        for i, k in enumerate(table.kernels)
        if k.repeat == 1 and i not in unsure and any(v.weight is not None for v in k.reads)
    ]


class Rates(Floors):
    """Best and measured rates of one machine."""

    def bound(
        self,
        kernel: Kernel,
        c: LaunchCounts,
        launches: float,
        device_bytes: float,
        gap_s: float,
        at: Numbers,
    ) -> KernelBound:
        """Return lower bounds and sustained times of a kernel, all launches together."""
        dtype = kernel.mac_dtype
        sustained = self.sustained_s(kernel, c, dtype, device_bytes, at)
        # a list of tensors updated by several launches shares the cache as one launch would
        parts = launches if kernel.kind is Kind.OPTIMIZER else 1
        is_chosen = kernel.kind is Kind.GATHER or kernel.anchor.op.is_choosing
        least = c if kernel.work.least_alu is None else replace(c, alu=at(kernel.work.least_alu))
        floor = self.times_s(least, dtype, is_chosen=is_chosen, parts=parts)
        # a kernel that finds all operands in cache has no sustained time in device memory, and gets
        # no lower bound there either
        floor = {ceiling: t for ceiling, t in floor.items() if ceiling in sustained}
        work_s = max(sustained.values(), default=0.0)
        # while a kernel runs, the host launches the next one
        gap = launches * max(gap_s - work_s, 0.0)
        if launches != 1:
            floor = {ceiling: launches * t for ceiling, t in floor.items()}
            sustained = {ceiling: launches * t for ceiling, t in sustained.items()}
        return KernelBound(
            kernel, c, launches, floor, sustained, gap, device_bytes * launches, dtype, self.tf32
        )

    def sustained_s(
        self,
        kernel: Kernel,
        c: LaunchCounts,
        dtype: DType,
        device_bytes: float,
        at: Numbers,
    ) -> dict[Ceiling, float]:
        """Return seconds that each ceiling takes at measured rates, rated ones if none exist."""
        times_s: dict[Ceiling, float] = {}
        vector = vector_dtype(dtype)
        if c.mac:
            time_s = 2 * c.mac / self.measured(Unit.MATRIX, dtype)
            # depthwise convolutions run on the vector unit; the time on matrix units stays, as
            # `bound` leaves out floors of ceilings without one
            if isinstance(kernel.problem, SlidingWindow) and kernel.problem.is_depthwise:
                times_s[Ceiling.VECTOR] = 2 * c.mac / self.measured(Unit.VECTOR, vector)
            times_s[Ceiling.MATRIX] = time_s
            waves = wave_efficiency(kernel, self.machine, at)
            if waves < 1:
                times_s[Ceiling.WAVES] = time_s / waves
        for ceiling, unit, type_, amount in (
            (Ceiling.VECTOR, Unit.VECTOR, vector, c.alu),
            (Ceiling.SPECIAL, Unit.SPECIAL, vector, c.sfu),
            (Ceiling.INTEGER, Unit.INTEGER, DType.I32, c.integer),
        ):
            if amount:
                time_s = amount / self.measured(unit, type_)
                times_s[ceiling] = times_s.get(ceiling, 0.0) + time_s
        nbytes = c.read_bytes + c.write_bytes
        for ceiling, level in self.memory.items():
            level_bytes = device_bytes if ceiling is Ceiling.DEVICE and nbytes else nbytes
            if level_bytes:
                times_s[ceiling] = level_bytes / (level.sustained or level.nominal).value
        return times_s

    def measured(self, unit: Unit, dtype: DType) -> float:
        """Return measured operations per second of a unit, rated ones if none were measured."""
        peak = self.entry(unit, dtype)
        return (peak.sustained or peak.nominal).value


def rates_by_kind(machine: Machine, tf32: Tf32) -> Callable[[Kind], Rates]:
    """Return the rates of a machine for kernels of a kind, some of which may use TF32."""
    rates = {allowed: Rates(machine, tf32=allowed) for allowed in (False, True)}
    return lambda kind: rates[tf32.of(kind)]
