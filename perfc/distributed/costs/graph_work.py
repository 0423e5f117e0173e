"""Training step of a graph: its kernels in order, cut into parts of about equal time.

A graph is only data parallel: each copy has other samples, and matrix products are not divided.
Kernels are those of the training graph (`perfc.passes.training.train`). A backward kernel belongs
to the part of its forward kernel. The loss is the last part.

Trainers of transformers fuse pointwise kernels, and so do the default fusion rules of a graph.
Networks whose published steps have a fit ran operator by operator, as `CLUSTER_DEFAULT` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfc.analyzers.estimate.estimate import Estimate
from perfc.deployment.fields import Mode
from perfc.errors import ModelError
from perfc.ir import Phase, Value
from perfc.machine import load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.roofline.roofline import KernelBound
from perfc.passes.runtimes import CLUSTER_DEFAULT, Steps, of_steps, recorded

from ..parts import PartCost, parameters_of, part_of
from .both_passes import Ran, Waiter, saved_values
from .work import RankParts, TrainingWork

if TYPE_CHECKING:
    from perfc.analyzers.runs.run_law import RunLaw
    from perfc.api import Report
    from perfc.deployment import Deployment

LOG_BYTES = 4.0
"""Bytes of a log probability, which PyTorch's own loss saves. Trainers' fused losses save logits in
the type of products and write gradients over them (flash-attn, CrossEntropyLoss with
inplace_backward, as llm-foundry has it; Megatron's cross_entropy_loss_fusion)."""
PARTS = 16
"""Number of parts of a graph, and of the steps in which its gradients are reduced."""
ANY_OPTIMIZER = "sgd"
"""Optimizer with which the graph is analyzed; any will do, as `step` counts the update itself."""
FORWARD = (Phase.FORWARD, Phase.LOSS)
"""Phases before gradients; a loss is computed with the forward pass."""
SUFFIX = ".grad"
"""Suffix that the name of a backward node adds to the name of its forward node."""


class GraphWork(TrainingWork):
    """Training work of a model that a file describes as a graph.

    Args:
        model: as `perfc.analyze` takes it.
        name: name of the model.
        deployment: deployment of one copy; without a runtime, compiled kernels, or
            `CLUSTER_DEFAULT` if published steps of such networks are fitted.
        seq: tokens of a sample; 1 if samples are not sequences.
    """

    def __init__(self, model: Any, name: str, deployment: Deployment, *, seq: int) -> None:
        self.model, self.name, self.deployment = model, name, deployment
        self.seq = seq
        self.target = str(load_machine(deployment.target).path)
        self.is_divisible = False
        self.known: dict[int, RankParts] = {}  # by samples of a micro-batch
        self.has_step_law = False
        self.runtime = deployment.runtime

    def tokens(self, given: int) -> int:
        """Return the tokens of a sample in the deployment; 1 for images and the like."""
        return self.seq

    @property
    def depth(self) -> int:
        """Return the number of parts."""
        return PARTS

    @cached_property
    def has_experts(self) -> bool:
        """Return False: experts of a graph are not divided."""
        return False

    def routed(self, layer: int) -> int:
        """Return 0: tokens of a graph are not routed."""
        return 0

    def kv_share(self, layer: int) -> float:
        """Return 0: sequences of a graph are not divided."""
        return 0.0

    def law(self, known: RunLaw, reference: RunLaw) -> RunLaw:
        """Return the run overhead on kernels of a graph.

        The factor on pointwise kernels was fitted to configurations, which have fewer of them than
        graphs: a graph takes it relative to the reference, which runs such kernels as predicted.
        Steps with a fit take no factors.
        """
        if self.has_step_law:
            return replace(known, products=1.0, attention=1.0, experts=1.0, pointwise=1.0)
        return replace(known, pointwise=known.pointwise / reference.pointwise)

    def parts(self, parallel: Parallel, samples: int, seq: int) -> RankParts:
        """Return the parts of one copy, for a micro-batch; the deployment has set ``seq`` already.

        Raises:
            ModelError: other parallelism than data parallelism.
        """
        if parallel.devices > parallel.data:
            hint = "a configuration (config.json) of a language model divides so"
            raise ModelError("a graph is divided by its samples alone", where=self.name, hint=hint)
        if samples not in self.known:
            self.known[samples] = self._parts(samples)
        return self.known[samples]

    def _parts(self, samples: int) -> RankParts:
        """Return the parts of a copy: forward kernels, cut by time, and their backward kernels."""
        # `_times` finds out whether published steps of such networks have a fit
        report = self._report(samples, self.runtime or CLUSTER_DEFAULT)
        times = self._times(report)
        if not self.runtime:
            self.runtime = CLUSTER_DEFAULT
            if not self.has_step_law:
                # pointwise kernels are fused, as trainers' are
                compiled = of_steps(Steps.COMPILED)
                self.runtime = (recorded(compiled) or compiled).name
                report = self._report(samples, self.runtime)
                times = report.prediction.kernels
        env = report.env
        rows = rows_of(report.roofline.kernels, times)
        # indices of the rows of the forward pass; ``layer_rows`` leaves the loss out
        forward_rows = [i for i, r in enumerate(rows) if r.role is Waiter.FORWARD]
        written = [*report.module.graph.inputs, *(v for i in forward_rows for v in writes(rows[i]))]
        layer_rows = [
            i for i in forward_rows if rows[i].bound.kernel.anchor.loc.phase is not Phase.LOSS
        ]
        loss_row = next((i for i in forward_rows if i > max(layer_rows, default=-1)), len(rows))
        starts = [layer_rows[i] for i in cuts_of([rows[i].time.time_s for i in layer_rows])[:-1]]
        parts = []
        # between two starts are forward kernels and, after each, its backward kernels
        for first, last in pairwise([*starts, loss_row, len(rows)]):
            forward = [r.bound.kernel for r in rows[first:last] if r.role is Waiter.FORWARD]
            backward = [r.bound.kernel for r in rows[first:last] if r.role is not Waiter.FORWARD]
            parts.append(part_of(forward, rows[first:last], env, saved_values(backward, written)))
        # a parameter that several parts read counts in each of them, but is stored once
        distinct = sum(parameters_of([rows[i].bound.kernel for i in forward_rows]))
        tied = sum(p.parameters + p.expert_parameters for p in parts) - distinct
        # a fused loss saves logits in the type of products in place of log probabilities
        logits = parts[-1].saved_bytes * self.recipe.weight_bytes / LOG_BYTES
        parts[-1] = replace(parts[-1], saved_bytes=logits)
        return RankParts(nothing(env), tuple(parts[:-1]), parts[-1], tied)

    def _report(self, samples: int, runtime: str) -> Report:
        """Return the analysis of the passes of one copy."""
        from perfc.api import analyze

        how = replace(
            self.deployment.at({"batch": samples}),
            train=ANY_OPTIMIZER,
            mode=Mode.TRAINING,
            runtime=runtime,
        )
        return analyze(self.model, deployment=how, predictor="kernels")

    def _times(self, report: Report) -> Sequence[Estimate]:
        """Return the times of the step's kernels, by the fit to published steps if it covers it."""
        from perfc.analyzers.runs.step_law import factors

        table = report.prediction
        kernel_factors = factors(report.execution, table, report.deployment, report.source)
        self.has_step_law = kernel_factors is not None
        if kernel_factors is None:
            return table.kernels
        return [
            replace(kernel, time=(kernel.time * factor).at_least(kernel.floor_s))
            for kernel, factor in zip(table.kernels, kernel_factors, strict=True)
        ]


def writes(row: Ran) -> Sequence[Value]:
    """Return the results of a kernel."""
    return row.bound.kernel.writes


def rows_of(bounds: Sequence[KernelBound], times: Sequence[Estimate]) -> list[Ran]:
    """Return the forward kernels of a step, each followed by the backward kernels of its nodes.

    Backward kernels whose results another layer's backward pass reads are in the role ``INPUT``,
    those of parameters' gradients in ``WEIGHT``. A backward kernel without a forward node follows
    the kernel before it.

    Args:
        bounds: kernels of the step in order, the optimizer's included.
        times: times of the kernels.
    """
    forward = [i for i, b in enumerate(bounds) if b.kernel.anchor.loc.phase in FORWARD]
    places = {n.loc.name: p for p, i in enumerate(forward) for n in bounds[i].kernel.nodes}
    backward = [i for i, b in enumerate(bounds) if b.kernel.anchor.loc.phase is Phase.BACKWARD]
    # position of the forward kernel by index of the backward kernel; backward kernels before the
    # first one with a forward node belong to the last forward kernel
    place_of: dict[int, int] = {}
    place = len(forward) - 1
    for i in backward:
        names = [n.loc.name.removesuffix(SUFFIX) for n in bounds[i].kernel.nodes]
        place = next((places[name] for name in names if name in places), place)
        place_of[i] = place
    waited_for = read_elsewhere(bounds, place_of)
    behind: list[list[Ran]] = [[Ran(1, bounds[i], times[i], Waiter.FORWARD)] for i in forward]
    for i, place in place_of.items():
        role = Waiter.INPUT if i in waited_for else Waiter.WEIGHT
        behind[place].append(Ran(1, bounds[i], times[i], role))
    return [row for rows in behind for row in rows]


def read_elsewhere(bounds: Sequence[KernelBound], of: Mapping[int, int]) -> set[int]:
    """Return the indices of backward kernels on which gradients of another forward kernel depend.

    Args:
        bounds: kernels of the step.
        of: position of the forward kernel by index of its backward kernel, in execution order.
    """
    readers: dict[Value, list[int]] = {}
    for i in of:
        for v in bounds[i].kernel.reads:
            readers.setdefault(v, []).append(i)
    result: set[int] = set()
    # from the last backward kernel on, so that readers are classified before what they read
    for i in reversed(of):
        by = [j for v in bounds[i].kernel.writes for j in readers.get(v, ())]
        if any(of[j] != of[i] or j in result for j in by):
            result.add(i)
    return result


def nothing(env: Mapping[str, int]) -> PartCost:
    """Return a part without kernels."""
    return part_of([], [], env, ())


def cuts_of(times_s: list[float]) -> list[int]:
    """Return the starts of parts of about equal time, and the end.

    >>> cuts_of([1.0] * 32)[:4]
    [0, 2, 4, 6]
    """
    total, cuts, elapsed_s = sum(times_s), [0], 0.0
    for i, time_s in enumerate(times_s):
        # a part begins where the parts before it have taken their shares of the time
        if elapsed_s >= total * len(cuts) / PARTS:
            cuts.append(i)
        elapsed_s += time_s
    return [*cuts, len(times_s)]
