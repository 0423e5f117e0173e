"""Whole runs: kernels of the fused graph, one after the other, and the gaps that launches leave.

The runtime decides how kernels are launched. An eager host launches every kernel, which takes
longer than a short kernel itself; a recorded graph has the shorter gaps of the device; compiled
code has fewer kernels. If the host launches kernels, views that strides cannot express are copied
(`view_copies`). Training runs the kernels of the step's graph (`perfc.passes.training.train`), and
further kernels that PyTorch launches for some of its operators (`second_kernels`).
Left out: optimizers, data loading, overlap of several streams.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.estimators import Execution, predictor
from perfc.analyzers.estimators.forest import columns_of
from perfc.analyzers.estimators.selection import INSIDE, computed
from perfc.analyzers.features.lowering import Lowered
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.intervals.summing import (
    IN_INFERENCE,
    IN_TRAINING,
    ErrorSide,
    Sides,
    half_width,
    sides_of,
)
from perfc.analyzers.runs.host import launch_gap
from perfc.analyzers.runs.prediction import predicted
from perfc.frontend import load
from perfc.ir.graph import Module, Value
from perfc.ir.record import record
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.inference.shapes import Shapes
from perfc.passes.inference.strides import Strides, StrideTable
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.rewriting.untie import Untie
from perfc.passes.roofline.roofline import Roofline, RooflineTable
from perfc.passes.runtimes import LaunchMode, Steps, Tf32
from perfc.passes.runtimes import runtime as runtime_of
from perfc.passes.training.train import Train
from perfc_lab.splitting import grouped

from .second_kernels import accumulated, second
from .view_copies import copied


@record
class Spent:
    """Time of a part of a run, with its 90 % interval.

    Args:
        time_s: predicted time.
        below: number of kernels by class and by how far they may be below their estimates, one
            mapping for each pass over the model.
        above: the same for times above the estimates.
        products: correlation of errors of products (`summing`).
    """

    time_s: float
    below: tuple[Sides, ...] = ()
    above: tuple[Sides, ...] = ()
    products: float = IN_INFERENCE

    @property
    def low_s(self) -> float:
        """Return the lower end."""
        return max(self.time_s - self.half_width(self.below), 0.0)

    @property
    def high_s(self) -> float:
        """Return the upper end."""
        return self.time_s + self.half_width(self.above)

    def half_width(self, passes: tuple[Sides, ...]) -> float:
        """Return the error on one side; errors of passes add up, as their predictors are equal."""
        return math.fsum(half_width(sides, self.products) for sides in passes)

    def __add__(self, other: Spent) -> Spent:
        """Return two passes one after the other; the errors of the two add up."""
        return Spent(
            self.time_s + other.time_s,
            self.below + other.below,
            self.above + other.above,
            # of both correlations the one that gives the wider interval
            max(self.products, other.products),
        )

    def plus(self, other: Spent) -> Spent:
        """Return this pass with further kernels; kernels of one class are counted together.

        Both are one pass, and so have one mapping on each side.
        """
        below, above = (
            (Counter(mine[0]) + Counter(theirs[0]),)
            for mine, theirs in ((self.below, other.below), (self.above, other.above))
        )
        return Spent(self.time_s + other.time_s, below, above, self.products)

    def repeated(self, one: Spent, times: int) -> Spent:
        """Return this run with ``times`` further layers; ``one`` is the run with one layer less."""
        return Spent(
            self.time_s + times * (self.time_s - one.time_s),
            tuple(more(a, b, times) for a, b in zip(self.below, one.below, strict=True)),
            tuple(more(a, b, times) for a, b in zip(self.above, one.above, strict=True)),
            self.products,
        )


def more(two: Sides, one: Sides, times: int) -> Sides:
    """Return the kernels of a model with ``times`` layers more than ``two`` has.

    A layer is the difference between ``two`` and ``one``.
    """
    counts = {s: two.get(s, 0) + times * (two.get(s, 0) - one.get(s, 0)) for s in {*two, *one}}
    return {side: count for side, count in counts.items() if count > 0}


@record
class TrainingStep:
    """Time of one step.

    Args:
        forward: time of the forward pass.
        backward: time of the backward pass; `NOTHING` in inference.
        floor_s: lower bound of both together.
    """

    forward: Spent
    backward: Spent
    floor_s: float = 0.0

    @property
    def whole(self) -> Spent:
        """Return both passes together."""
        return self.forward + self.backward

    def layers(self, one: TrainingStep, count: int) -> TrainingStep:
        """Return the step of a model of ``count`` equal layers; this has two, ``one`` has one."""
        return TrainingStep(
            self.forward.repeated(one.forward, count - 2),
            self.backward.repeated(one.backward, count - 2),
            self.floor_s + (count - 2) * (self.floor_s - one.floor_s),
        )


# the backward pass of inference
NOTHING = Spent(0.0)


@record
class Plan:
    """A model's kernels on a machine under a runtime.

    Args:
        bounds: roofline of the kernels.
        kernels: the kernels with their nodes.
        source: the module as read.
        gradients: gradients of parameters, in training.
        strides: strides of the values.
        tf32: which f32 products may use TF32.
    """

    bounds: RooflineTable
    kernels: KernelTable
    source: Module
    gradients: tuple[Value, ...]
    strides: StrideTable
    tf32: Tf32

    @classmethod
    def of(
        cls,
        model: Path,
        target: str,
        dims: Mapping[str, int],
        runtime: str,
        *,
        tf32: Tf32,
        trains: bool = False,
    ) -> Plan:
        """Read a model, write its training step where it ``trains``, and group it.

        Raises:
            PerfcError: the model cannot be read or trained, or target or runtime is not known.
        """
        am = Analyses()
        source = am.apply(Shapes(), load(model, dims, {}))
        # training updates parameters, so that they cannot be folded into constants
        module = am.apply(Canonicalize(keeps_parameters=trains), source)
        if trains:
            fuses = runtime_of(runtime).fuses_attention
            step = Train(optimizer="", loss="mean", fuses_attention=fuses)
            module = am.apply(step, am.apply(Untie(), module))
        bounds = am.get(Roofline(target, runtime, tf32), module)
        strides = am.get(Strides(runtime), module)
        # the first output is the loss
        gradients = module.graph.outputs[1:] if trains else ()
        table = am.get(Fuse(runtime), module)
        return cls(bounds, table, source, gradients, strides, tf32)

    def copies(self, *, backward: bool = False) -> Iterator[Lowered]:
        """Yield the copies of views in a pass, none if the host does not launch each kernel."""
        runtime = self.kernels.runtime
        if runtime.launch is LaunchMode.EAGER and runtime.steps is not Steps.COMPILED:
            for bound in self.bounds.kernels:
                if bound.is_gradient is not backward:
                    continue
                copies = copied(bound.kernel, self.strides, self.bounds.env)
                # a kernel that is launched several times copies its inputs as often
                yield from list(copies) * round(bound.launches)


def inference(plan: Plan, *, folder: Path = artefact.SHIPPED) -> TrainingStep:
    """Return one forward pass under the plan's runtime."""
    prediction = predicted(Execution(plan.bounds, plan.kernels, folder=folder))
    below, above = sides_of(prediction.kernels)
    kernels = Spent(prediction.total.time_s, (below,), (above,))
    copies = spent(plan, list(plan.copies()), folder)
    return TrainingStep(kernels.plus(copies), NOTHING, prediction.total.floor_s)


def training(plan: Plan, *, folder: Path = artefact.SHIPPED) -> TrainingStep:
    """Return the forward and the backward pass of a plan that trains."""
    prediction = predicted(Execution(plan.bounds, plan.kernels, folder=folder))
    passes: list[Spent] = []
    for backward in (False, True):
        of_pass = [
            (bound, estimate)
            for bound, estimate in zip(plan.bounds.kernels, prediction.kernels, strict=True)
            if bound.is_gradient is backward
        ]
        below, above = sides_of([k for _, k in of_pass])
        kernels = Spent(math.fsum(k.time_s for _, k in of_pass), (below,), (above,))
        rows = [*plan.copies(backward=backward)]
        rows += [r for b, _ in of_pass for n in b.kernel.nodes for r in second(n, plan.bounds.env)]
        if backward:
            # PyTorch adds each gradient to the gradient that its parameter already has
            rows += accumulated(plan.gradients, plan.bounds.env)
        passes.append(replace(kernels.plus(spent(plan, rows, folder)), products=IN_TRAINING))
    return TrainingStep(passes[0], passes[1], prediction.total.floor_s)


def spent(plan: Plan, rows: Sequence[Lowered], folder: Path) -> Spent:
    """Return the time of kernels one after the other, each at least as long as its launch.

    Kernels of one class are predicted in one call; the order does not change the sum.
    """
    machine = plan.bounds.machine
    launch = launch_gap(machine, plan.kernels.runtime.launch)
    groups = grouped(rows, lambda row: computed(row, machine, tf32=plan.tf32 is Tf32.ALL))
    time_s, below, above = 0.0, Counter[ErrorSide](), Counter[ErrorSide]()
    for (name, dtype), members in groups.items():
        columns = columns_of([m.parameters for m in members])
        estimates = predictor.predict(name, columns, dtype, machine, INSIDE, folder=folder)
        card = predictor.select(name, dtype, INSIDE, machine.name, folder).card
        is_measured = card.has_rows(Sheet(machine).name, dtype)
        for ends in zip(estimates.low_s, estimates.time_s, estimates.high_s, strict=True):
            # the device waits for a host whose launch takes longer than the kernel
            time = Interval(*map(float, ends)).slower_of(launch)
            time_s += time.mid
            below[ErrorSide(name, is_measured, time.mid - time.low)] += 1
            above[ErrorSide(name, is_measured, time.high - time.mid)] += 1
    return Spent(time_s, (below,), (above,))
