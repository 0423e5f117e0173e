"""Evaluation of one analysis at many values of its symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from perfc.api import Report, located
from perfc.deployment.extents import keyed
from perfc.ir.graph import Value
from perfc.ir.op import Kind
from perfc.ir.symbolic.dim import Dim
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType
from perfc.machine import Capacity as DeviceCapacity
from perfc.machine import Machine
from perfc.passes.fusion.fuse import KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.sizes import settled
from perfc.passes.inference.sizing import Sizing
from perfc.passes.roofline.roofline import (
    GRAPH_GAP,
    Ceiling,
    KernelBound,
    LaunchCounts,
    Rates,
    RooflineTable,
    bounds,
    counted,
    device_traffic,
    rates_by_kind,
    weight_floor,
)
from perfc.passes.runtimes import LaunchMode

from .axes import Axis
from .results import Crossover, Point, Regime, SizeLimit, Sweep
from .search import largest, merged_spans

_MEMORY = frozenset({Ceiling.L1, Ceiling.L2, Ceiling.DEVICE})


@dataclass(slots=True)
class Evaluator:
    """Evaluator of the roofline of one kernel table on one machine.

    Equal formulas are evaluated once per point, and equal kernels are bounded once.

    Args:
        report: one analysis.
        machine: the target.
        sizing: constraints between the sizes of the report's module.
        swept: keys of the swept symbols.
        predicts: True if points can predict.
    """

    report: Report
    machine: Machine
    sizing: Sizing
    swept: frozenset[str]
    predicts: bool = True
    rates: Callable[[Kind], Rates] = field(init=False)
    sizes: dict[Value, Dim] = field(init=False)
    groups: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.rates = rates_by_kind(self.machine, self.report.tf32)
        kernels = self.table.kernels
        self.sizes = {v: _nbytes(v) for k in kernels for v in (*k.reads, *k.writes)}
        numbers: dict[object, int] = {}
        self.groups = [numbers.setdefault(_identity(k), len(numbers)) for k in kernels]

    @property
    def table(self) -> KernelTable:
        """Kernel table of the report."""
        return self.report.kernels

    def bounds(self, env: Mapping[str, int]) -> tuple[tuple[KernelBound, ...], float]:
        """Return bounds of every kernel in order, and the lower bound of streaming the weights.

        Equal kernels share one result, so ``bound.kernel`` is one of the equal kernels.
        """
        if self.table.alternatives:
            table = bounds(self.table, self.machine, env, tf32=self.report.tf32)
            return table.kernels, table.weight_floor_s
        numbers: dict[Dim, float] = {}
        sizes = {v: _at(d, env, numbers) for v, d in self.sizes.items()}
        by_group: dict[int, LaunchCounts] = {}
        for k, g in zip(self.table.kernels, self.groups, strict=True):
            if g not in by_group:
                by_group[g] = counted(k, env)
        counts = [by_group[g] for g in self.groups]
        charged = device_traffic(self.table.kernels, counts, sizes, self.machine)
        memo: dict[tuple[int, float], KernelBound] = {}
        in_order: list[KernelBound] = []
        gap_s = self.gap_s
        for k, g, c, charge in zip(self.table.kernels, self.groups, counts, charged, strict=True):
            bound = memo.get((g, charge))
            if bound is None:
                launches = _at(k.repeat, env, numbers)
                bound = self.rates(k.kind).bound(k, c, launches, charge, gap_s, env)
                memo[g, charge] = bound
            in_order.append(bound)
        return tuple(in_order), weight_floor(self.table, sizes, self.machine, env)

    @property
    def is_fixed(self) -> bool:
        """True if formulas hold only at the report's values of a swept symbol."""
        return any(s.is_bound and s.name in self.swept for s in self.report.source.symbols)

    def at(self, dims: Mapping[str, int]) -> Evaluator:
        """Return an evaluator whose formulas hold at ``dims``."""
        if not self.is_fixed:
            return self
        return replace(self, report=self.report.at(dims), swept=frozenset())

    def env(self, dims: Mapping[str, int]) -> dict[str, int]:
        """Return the values of all symbols with ``dims``, unchecked."""
        given = {**self.report.given, **self.sized(dims)}
        return self.report.source.defaults(given)

    def checked(self, dims: Mapping[str, int]) -> Mapping[str, int]:
        """Return the values of all symbols with ``dims``, checked.

        Raises:
            ShapeError: if the sizes contradict each other or the model.
        """
        with located(self.report.model):
            return settled(self.sizing, {**self.report.given, **self.sized(dims)}).env

    def sized(self, dims: Mapping[str, int]) -> dict[str, int]:
        """Return sizes by symbol key; ``batch`` and ``seq`` may stand for several symbols."""
        return keyed(self.report.source, dims) or {}

    @property
    def gap_s(self) -> float:
        """Time between launches in seconds."""
        overhead = self.machine.launch_overhead_s
        gap_s = overhead.value if overhead is not None else 0.0
        return gap_s * GRAPH_GAP if self.table.runtime.launch is LaunchMode.GRAPH else gap_s

    def memory_bytes(self, env: Mapping[str, int]) -> int:
        """Return the peak of activations plus the weights, in bytes."""
        liveness = self.report.liveness
        return liveness.peak(env)[0] + int(evaluate(self.report.weight_bytes, env))

    @property
    def capacity(self) -> DeviceCapacity | None:
        """Device memory available to the model; None if the target does not declare it."""
        return self.report.deployment.capacity(self.machine)

    def fits(self, memory_bytes: int) -> bool:
        """Return True if tensors of this size fit, or if the capacity is unknown."""
        return self.capacity is None or memory_bytes <= self.capacity.tensor_bytes

    def point(self, dims: Mapping[str, int]) -> tuple[Point, tuple[KernelBound, ...]]:
        """Evaluate the model and its kernels at ``dims``.

        Raises:
            ShapeError: if the sizes contradict each other or the model.
        """
        env = self.checked(dims) if self.swept else self.report.env
        bounds, weights_s = self.bounds(env)
        memory = self.memory_bytes(env)
        roofline = RooflineTable(
            self.machine, bounds, weights_s, dict(env), self.table.runtime.streams
        )
        report = replace(self.report, machine=self.machine, env=dict(env), roofline=roofline)
        launch_s = math.fsum(b.launch_gap_s for b in bounds)
        point = Point(
            dims=dict(dims),
            target=self.machine.name,
            sustained_s=math.fsum(b.sustained_s for b in bounds) + launch_s,
            floor_s=roofline.floor_s,
            launch_s=launch_s,
            mac=int(evaluate(self.report.cost.work.mac, env)),
            device_bytes=math.fsum(b.device_bytes for b in bounds),
            memory_bytes=memory,
            fits=self.fits(memory),
            regime=regime_of(bounds),
            report=report if self.predicts else None,
        )
        return point, bounds


def _nbytes(v: Value) -> Dim:
    return (v.type.nbytes or 0) if isinstance(v.type, TensorType) else 0


def _at(d: Dim, env: Mapping[str, int], memo: dict[Dim, float]) -> float:
    if isinstance(d, int):
        return d
    value = memo.get(d)
    if value is None:
        value = memo[d] = evaluate(d, env)
    return value


def _identity(k: Kernel) -> object:
    anchor = k.anchor
    types = (
        tuple(v and (v.type, v.weight is None) for v in anchor.inputs),
        tuple(v.type for v in anchor.results),
    )
    convs = tuple((n.op, *(v and v.type for v in n.inputs[:2])) for n in k.nodes if n is not anchor)
    return k.work, k.traffic, k.repeat, type(anchor.op), anchor.op, types, convs


def regime_of(bounds: Iterable[KernelBound]) -> Regime:
    """Return the regime that takes most of the time of some kernels."""
    spent = dict.fromkeys(Regime, 0.0)
    for b in bounds:
        spent[Regime.LAUNCH] += b.launch_gap_s
        if b.sustained:
            longest = max(b.sustained, key=b.sustained.__getitem__)
            spent[Regime.MEMORY if longest in _MEMORY else Regime.COMPUTE] += b.sustained_s
    return max(spent, key=spent.__getitem__)


def sweep(
    report: Report,
    axes: Sequence[Axis],
    machines: Sequence[Machine],
    *,
    top: int = 5,
    predict: bool = True,
) -> Sweep:
    """Evaluate the report's formulas at every combination of ``axes`` on every machine.

    Args:
        report: one analysis; it is repeated only if its formulas do not hold along an axis.
        axes: symbols and their values; regimes are tracked along the first with several values.
        machines: targets.
        top: number of longest kernels whose regimes are tracked too.
        predict: let points predict on demand; otherwise only the roofline is evaluated.
    """
    points: list[Point] = []
    crossovers: list[Crossover] = []
    capacities: list[SizeLimit] = []
    along = next((a for a in axes if len(a.values) > 1), axes[0])
    others = [a for a in axes if a is not along]
    swept = frozenset(keyed(report.source, {a.name: 0 for a in axes}) or ())
    sizing = Sizing(report.source, report.source)
    for machine in machines:
        evaluator = Evaluator(report, machine, sizing, swept, predict)
        for values in product(*(a.values for a in others)):
            fixed = {a.name: v for a, v in zip(others, values, strict=True)}
            line = SymbolLine(evaluator, along, fixed)
            points += line.points
            crossovers += line.crossovers(top)
            if evaluator.capacity is not None and not evaluator.is_fixed:
                capacities.append(line.capacity(evaluator.capacity.usable_bytes))
    assumed = {n: v for n, v in report.env.items() if n not in swept and n not in report.given}
    return Sweep(
        report.path,
        tuple(axes),
        assumed,
        tuple(points),
        tuple(crossovers),
        tuple(capacities),
        report.source.labels,
    )


@dataclass(slots=True)
class SymbolLine:
    """Points along one symbol, with the regime of each kernel."""

    evaluator: Evaluator
    along: Axis
    fixed: Mapping[str, int]
    points: list[Point] = field(default_factory=list[Point])
    last: tuple[KernelBound, ...] = ()
    regimes: dict[int, tuple[Regime, ...]] = field(default_factory=dict[int, tuple[Regime, ...]])

    def __post_init__(self) -> None:
        for value in self.along.values:
            dims = self.dims(value)
            point, self.last = self.evaluator.at(dims).point(dims)
            self.points.append(point)
            self.regimes[value] = self.regimes_of(self.last)

    def dims(self, value: int) -> dict[str, int]:
        """Return the values of all swept symbols."""
        return {self.along.name: value, **self.fixed}

    @staticmethod
    def regimes_of(bounds: tuple[KernelBound, ...]) -> tuple[Regime, ...]:
        """Return the regime of the model, then of every kernel."""
        memo: dict[int, Regime] = {}
        for b in bounds:
            if id(b) not in memo:
                memo[id(b)] = regime_of((b,))
        return (regime_of(bounds), *(memo[id(b)] for b in bounds))

    def crossovers(self, top: int) -> Iterator[Crossover]:
        """Yield regimes of the model, then of the longest kernels at the last point."""
        yield self.crossover(0, "model", "")
        if self.evaluator.is_fixed:
            return
        order = sorted(range(len(self.last)), key=lambda i: -self.last[i].time_s)
        first = {self.evaluator.groups[i]: i for i in reversed(order)}
        for i in sorted(first.values(), key=order.index)[:top]:
            kernel = self.evaluator.table.kernels[i]
            yield self.crossover(i + 1, kernel.label, kernel.nodes[0].name)

    def crossover(self, column: int, what: str, node: str) -> Crossover:
        """Return the spans of the regime in one column of ``regimes``."""

        def at(value: int) -> Regime:
            if value not in self.regimes and self.evaluator.is_fixed:
                # sizes between points may be invalid together
                return self.regimes[max(v for v in self.along.values if v < value)][column]
            if value not in self.regimes:
                env = self.evaluator.env(self.dims(value))
                self.regimes[value] = self.regimes_of(self.evaluator.bounds(env)[0])
            return self.regimes[value][column]

        spans = merged_spans(self.along.values, at)
        name = self.evaluator.machine.name
        return Crossover(name, self.along.name, self.fixed, what, node, spans)

    def capacity(self, usable_bytes: int) -> SizeLimit:
        """Return the largest value that fits, searched beyond the swept range.

        Args:
            usable_bytes: memory of the device.
        """
        evaluator = self.evaluator

        def fits(value: int) -> bool:
            return evaluator.fits(evaluator.memory_bytes(evaluator.env(self.dims(value))))

        return SizeLimit(
            evaluator.machine.name, self.along.name, self.fixed, usable_bytes, largest(fits)
        )
