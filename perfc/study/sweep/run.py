"""Evaluate one analysis at many values of its symbols, without reading the model again.

``perfc sweep`` calls `sweep`, ``perfc.sweep`` is `sweep_model`. Formulas of an analysis hold for
all sizes, unless a symbol was bound to one value while it was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from perfc.api import Model, Report, analyze
from perfc.deployment import Deployment, with_signature
from perfc.deployment.extents import keyed, require_ranges
from perfc.deployment.reading import located
from perfc.errors import ParseError
from perfc.frontend.pytorch.torch_inputs import Inputs
from perfc.ir import evaluate, record
from perfc.machine import Capacity as DeviceCapacity
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.fuse import KernelTable
from perfc.passes.inference.sizes import settled
from perfc.passes.inference.sizing import Sizing
from perfc.passes.roofline.roofline import (
    Ceiling,
    KernelBound,
    RooflineTable,
    bounds,
)
from perfc.view.report.memory_sections.footprint import holds
from perfc.view.report.sections.verdict import memory_need

from .axes import Axis, Sizes, axes_of
from .results import Crossover, Point, Regime, SizeLimit, Sweep
from .search import largest, merged_spans

if TYPE_CHECKING:
    from ..tasks import Each

_MEMORY = frozenset({Ceiling.L1, Ceiling.L2, Ceiling.DEVICE})
"""Ceilings of memory; a kernel under another is limited by computation."""


@dataclass(slots=True)
class Evaluator:
    """Evaluator of the roofline of one kernel table on one machine.

    Args:
        report: one analysis.
        machine: the target.
        sizing: constraints between the sizes of the report's module.
        swept: keys of the swept symbols.
        predicts: True if points predict.
    """

    report: Report
    machine: Machine
    sizing: Sizing
    swept: frozenset[str]
    predicts: bool = True

    def launched(self, env: Mapping[str, int]) -> tuple[KernelTable, RooflineTable]:
        """Return the kernels and the bounds of each, as an analysis at these sizes does."""
        report = self.report
        kernels = report.deployment.launched(
            report.module, self.machine, env, report.analyses, report.source
        )
        return kernels, bounds(kernels, self.machine, env, tf32=report.tf32)

    @property
    def is_fixed(self) -> bool:
        """Return True if formulas hold only at the report's values of a swept symbol."""
        return any(s.is_bound and s.name in self.swept for s in self.report.source.symbols)

    def at(self, dims: Mapping[str, int]) -> Evaluator:
        """Return an evaluator whose formulas hold at ``dims``."""
        # an analysis per point only where formulas do not hold at other sizes; its symbols have the
        # values of ``dims`` already, so nothing is swept
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
            ParseError: a size that the model does not allow.
        """
        given = {**self.report.given, **self.sized(dims)}
        with located(self.report.model):
            require_ranges(self.report.source, given)
            return settled(self.sizing, given).env

    def sized(self, dims: Mapping[str, int]) -> dict[str, int]:
        """Return sizes by symbol key; ``batch`` and ``seq`` may stand for several symbols."""
        return keyed(self.report.source, dims) or {}

    def at_sizes(self, dims: Mapping[str, int], env: Mapping[str, int]) -> Report:
        """Return the report on the machine with other values of its symbols."""
        how = self.report.deployment.at(dims).with_values({"target": str(self.machine.path)})
        how = how.for_model(self.report.model, self.report.predictor)
        given = {**self.report.given, **self.sized(dims)}
        return replace(
            self.report, machine=self.machine, env=dict(env), given=given, deployment=how
        )

    @property
    def capacity(self) -> DeviceCapacity | None:
        """Return the device memory available to the model; None if the target states none."""
        return self.report.deployment.capacity(self.machine)

    def point(self, dims: Mapping[str, int]) -> tuple[Point, Sequence[KernelBound]]:
        """Evaluate the model and its kernels at ``dims``.

        Raises:
            ShapeError: if the sizes contradict each other or the model.
        """
        env = self.checked(dims) if self.swept else self.report.env
        table, roofline = self.launched(env)
        kernels = roofline.kernels
        report = replace(self.at_sizes(dims, env), kernels=table, roofline=roofline)
        memory = memory_need(report)
        launch_s = math.fsum(b.launch_gap_s for b in kernels)
        point = Point(
            dims=dict(dims),
            target=self.machine.name,
            sustained_s=math.fsum(b.sustained_s for b in kernels) + launch_s,
            floor_s=roofline.floor_s,
            launch_s=launch_s,
            mac=int(evaluate(self.report.cost.work.mac, env)),
            device_bytes=math.fsum(b.device_bytes for b in kernels),
            memory_bytes=memory.total_bytes,
            fits=memory.fits is not False,
            regime=regime_of(kernels),
            predicted=report.prediction.total if self.predicts else None,
        )
        return point, kernels


def regime_of(bounds: Iterable[KernelBound]) -> Regime:
    """Return the regime that takes most of the time of some kernels."""
    spent = dict.fromkeys(Regime, 0.0)
    for b in bounds:
        spent[Regime.LAUNCH] += b.launch_gap_s
        if b.sustained:
            # the ceiling with the longest time limits the kernel
            longest = max(b.sustained, key=b.sustained.__getitem__)
            spent[Regime.MEMORY if longest in _MEMORY else Regime.COMPUTE] += b.sustained_s
    return max(spent, key=spent.__getitem__)


def operators(kernels: Sequence[KernelBound]) -> Sequence[KernelBound]:
    """Return the kernels of a model's operators, without helpers, which only some sizes have."""
    return [b for b in kernels if b.kernel.helper is None]


@record
class Line:
    """Points along one symbol on one machine, with the other symbols fixed.

    Args:
        points: the model at each value.
        crossovers: regimes of the model and of its longest kernels.
        capacity: largest value that fits; None where the memory is unknown.
    """

    points: tuple[Point, ...]
    crossovers: tuple[Crossover, ...]
    capacity: SizeLimit | None


def line_of(
    ask: Callable[[], Report],
    along: Axis,
    swept: frozenset[str],
    top: int,
    predict: bool,
    task: tuple[Machine, Mapping[str, int]],
) -> Line:
    """Return the line along a symbol on a machine, at fixed values of the other symbols."""
    report, (machine, fixed) = ask(), task
    # the source is both to be typed and typed
    sizing = Sizing(report.source, report.source)
    evaluator = Evaluator(report, machine, sizing, swept, predict)
    line, capacity = SymbolLine(evaluator, along, fixed), None
    if evaluator.capacity is not None and not evaluator.is_fixed:
        capacity = line.capacity(evaluator.capacity.usable_bytes)
    return Line(tuple(line.points), tuple(line.crossovers(top)), capacity)


def sweep(
    report: Report,
    axes: Sequence[Axis],
    machines: Sequence[Machine],
    *,
    top: int = 5,
    predict: bool = True,
    each: Each = map,
) -> Sweep:
    """Evaluate the report's formulas at every combination of ``axes`` on every machine.

    Args:
        report: one analysis; it is repeated only if its formulas do not hold along an axis.
        axes: symbols and their values; regimes are tracked along the first with several values.
        machines: targets.
        top: number of longest kernels whose regimes are tracked too.
        predict: predict each point; otherwise only the roofline is evaluated.
        each: applies a function to all lines of points: `map`, or elsewhere.
    """
    # the first axis with several values is the line; others are fixed along it
    along = next((a for a in axes if len(a.values) > 1), axes[0])
    others = [a for a in axes if a is not along]
    swept = frozenset(keyed(report.source, {a.name: 0 for a in axes}) or ())
    fixed = [
        {a.name: v for a, v in zip(others, values, strict=True)}
        for values in product(*(a.values for a in others))
    ]
    tasks = list(product(machines, fixed))
    # a report stays here: other processes analyze the model again
    again = {n: getattr(report, n) for n in ("deployment", "values", "predictor")}
    ask = (lambda: report) if each is map else partial(analyze, report.model, **again)
    lines = list(each(partial(line_of, ask, along, swept, top, predict), tasks))
    assumed = {n: v for n, v in report.env.items() if n not in swept and n not in report.given}
    return Sweep(
        report.path,
        tuple(axes),
        assumed,
        tuple(point for line in lines for point in line.points),
        tuple(crossover for line in lines for crossover in line.crossovers),
        tuple(line.capacity for line in lines if line.capacity is not None),
        report.source.labels,
    )


@with_signature
def sweep_model(
    model: Model,
    target: str | Sequence[str] = "a100",
    input: Sequence[int] | None = None,
    *,
    batch: Sizes | None = None,
    seq: Sizes | None = None,
    dims: Mapping[str, Sizes] | None = None,
    inputs: Inputs | None = None,
    values: Mapping[str, Any] | None = None,
    top: int = 5,
    deployment: Deployment | None = None,
    **keywords: Any,
) -> Sweep:
    """Sweep sizes of a model; this is ``perfc.sweep``.

    Args:
        model: model as for ``perfc.analyze``.
        target: name or file of a machine, or a list of them.
        input: extents of one example of a PyTorch module.
        batch: sizes of the batch: ``"1:64:*2"``, ``[1, 8, 32]``, ``range(1, 65)`` or a number.
        seq: sizes of the sequence.
        dims: sizes of other symbols, by name.
        inputs: inputs of a PyTorch module with several; see ``perfc.analyze``.
        values: contents of inputs that determine shapes.
        top: number of longest kernels whose regimes are tracked too.
        deployment: deployment of the model, as one value.
        keywords: other keywords as for ``perfc.analyze``.

    Raises:
        PerfcError: as for ``perfc.analyze``, or without sizes or a target.

    >>> found = sweep_model("examples/models/resnet50.onnx.gz", "t4", batch=[1, 8])
    >>> [point.dims for point in found.points]
    [{'batch': 1}, {'batch': 8}]
    """
    sizes = {n: s for n, s in (("batch", batch), ("seq", seq)) if s is not None} | dict(dims or {})
    if not sizes:
        raise ParseError("no sizes to sweep", where="sweep", hint='batch="1:64:*2"')
    axes = axes_of(sizes)
    machines = [load_machine(name) for name in ([target] if isinstance(target, str) else target)]
    if not machines:
        raise ParseError("no target", where="sweep", hint='["a100", "h100"]')
    first = {"dims": {a.name: a.values[0] for a in axes}, "target": str(machines[0].path)}
    how = (deployment or Deployment()).with_values({**keywords, **first})
    report = analyze(model, input=input, inputs=inputs, values=values, deployment=how)
    return sweep(report, axes, machines, top=top)


@dataclass(slots=True)
class SymbolLine:
    """Points along one symbol, with the regime of each kernel.

    Args:
        evaluator: evaluator of the model on one target.
        along: symbol that varies, with its values.
        fixed: values of the other symbols.
        points: the model at each value of ``along``.
        last: kernels of operators at the last value.
        regimes: by value, the regime of the model, then of each kernel in the order of ``last``.
    """

    evaluator: Evaluator
    along: Axis
    fixed: Mapping[str, int]
    points: list[Point] = field(default_factory=list)
    last: Sequence[KernelBound] = ()
    regimes: dict[int, tuple[Regime, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Evaluate every value of the axis."""
        for value in self.along.values:
            dims = self.dims(value)
            point, kernels = self.evaluator.at(dims).point(dims)
            self.points.append(point)
            self.regimes[value] = self.regimes_of(kernels)
            self.last = operators(kernels)

    def dims(self, value: int) -> dict[str, int]:
        """Return the values of all swept symbols."""
        return {self.along.name: value, **self.fixed}

    @staticmethod
    def regimes_of(kernels: Sequence[KernelBound]) -> tuple[Regime, ...]:
        """Return the regime of the model, then of every kernel of its operators."""
        op_kernels = operators(kernels)
        # kernels of one identity and traffic have one regime: large models repeat few kernels
        keys = [(b.kernel.identity, b.device_bytes) for b in op_kernels]
        regimes = {
            key: regime_of((b,)) for key, b in dict(zip(keys, op_kernels, strict=True)).items()
        }
        return (regime_of(kernels), *(regimes[key] for key in keys))

    def crossovers(self, top: int) -> Iterator[Crossover]:
        """Yield regimes of the model, then of the longest kernels at the last point."""
        yield self.crossover(0, "model", "")
        # each point is another analysis with other kernels, which cannot be followed along the line
        if self.evaluator.is_fixed:
            return
        order = sorted(range(len(self.last)), key=lambda i: -self.last[i].time_s)
        # one kernel of each identity, the longest of them
        longest_of = {self.last[i].kernel.identity: i for i in reversed(order)}
        for i in sorted(longest_of.values(), key=order.index)[:top]:
            kernel = self.last[i].kernel
            yield self.crossover(i + 1, kernel.label, kernel.nodes[0].name)

    def crossover(self, column: int, what: str, node: str) -> Crossover:
        """Return the spans of the regime in one column of ``regimes``."""

        def at(value: int) -> Regime:
            if value not in self.regimes and self.evaluator.is_fixed:
                # an analysis at a size between points may fail: the regime of the point before
                return self.regimes[max(v for v in self.along.values if v < value)][column]
            if value not in self.regimes:
                env = self.evaluator.env(self.dims(value))
                self.regimes[value] = self.regimes_of(self.evaluator.launched(env)[1].kernels)
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
            dims = self.dims(value)
            env = evaluator.env(dims)
            return holds(evaluator.at_sizes(dims, env), env)

        return SizeLimit(
            evaluator.machine.name, self.along.name, self.fixed, usable_bytes, largest(fits)
        )
