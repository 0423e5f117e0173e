"""Consistent totals of runtimes: one that fuses kernels is no slower than one that does not.

TensorRT took no longer than eager PyTorch, TorchScript and ONNX Runtime in 144 of 146 published
pairs of runs of one model on one machine in one precision (`whole_models`, grade A, inference).
ONNX Runtime took 0.6 to 1.3 times as long as TorchScript, in 27 pairs of one architecture.
So a prediction from runs of this machine bounds one from runs of other machines. If neither runtime
was measured here, the runtime that fuses less is no faster.

A slice of a card is no faster than a larger slice or the card, which have all that it has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Unpack
from weakref import WeakKeyDictionary

from perfc.common.fitted import constants_next_to
from perfc.deployment.fields import Mode
from perfc.ir.op import Kind
from perfc.machine.slices import container_of
from perfc.passes.runtimes import Layout, runtime

from ..estimate.estimate import CandidateRun
from ..estimate.interval import Interval
from ..runs import runtime_runs
from ..runs.run_table import precision, stored_element
from .whole_run import KERNELS, joined, launched_apart, no_slower

if TYPE_CHECKING:
    from perfc.deployment import Deployment, DeploymentKeywords
    from perfc.ir.graph import Module

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable


APART = frozenset({Kind.CONV, Kind.NORMALIZATION})
"""Operators that a framework launches one by one, whatever it fuses around them."""
_FITTED = constants_next_to(__file__)
ABOUT_AS_LONG = _FITTED["about_as_long"].number
"""Largest ratio of summed kernels with attention in parts to fused attention at which measured runs
of this machine count for more."""
LEAST_LAUNCH_S = _FITTED["least_launch_s"].number
"""Least mean time per kernel where the host launches each one."""


_ON_CONTAINERS: WeakKeyDictionary[Module, dict[tuple[str, str], PredictionTable]] = (
    WeakKeyDictionary()
)
"""Predictions on larger slices and cards by model, machine and deployment."""


class Deployed(Protocol):
    """A deployed model that can be deployed under other runtimes too."""

    @property
    def source(self) -> Module:
        """Return the module as read, typed."""

    @property
    def deployment(self) -> Deployment:
        """Return how the model is run."""

    @property
    def execution(self) -> Execution:
        """Return its kernels on their machine."""

    @property
    def unordered(self) -> PredictionTable:
        """Return its prediction without regard to other runtimes."""

    @property
    def prediction(self) -> PredictionTable:
        """Return its prediction, consistent with other runtimes."""

    def under(self, target: str | None = None, **changed: Unpack[DeploymentKeywords]) -> Deployed:
        """Return the same model in another deployment."""


def in_order(run: Deployed) -> PredictionTable:
    """Return a run's prediction, bounded by those of other runtimes and of larger slices.

    Args:
        run: the model as it is run.
    """
    table, machine = among_runtimes(run), run.execution.machine
    container = container_of(machine)
    if container is None:
        return table
    whole = on_container(run, str(container))
    if whole.total.time_s <= table.total.time_s:
        return table
    name = container.name.removesuffix(".toml")
    reason = f"predicted faster than {name}, of which it is a part"
    bound = CandidateRun(
        table.total.floor_s, table.total.time.slower_of(whole.total.time),
        whole.total.predictor or KERNELS, whole.whole or "the sum of the kernels", table.is_own,
        (reason,),
    )  # fmt: skip
    return rejoined(table, bound)


def on_container(run: Deployed, target: str) -> PredictionTable:
    """Return a run's prediction on a larger slice or the card, computed once for all its parts."""
    known = _ON_CONTAINERS.setdefault(run.source, {})
    key = target, repr(run.deployment)
    if key not in known:
        known[key] = run.under(target).prediction
    return known[key]


def among_runtimes(run: Deployed) -> PredictionTable:
    """Return a run's prediction, bounded by better-known runtimes that fuse more or less.

    Args:
        run: the model as it is run.
    """
    table = run.unordered
    if run.deployment.mode is not Mode.INFERENCE or table.is_own:
        return table
    is_told = table.total.predictor == runtime_runs.NAME
    if is_told:
        table = attending(run, table)
        for name in launched_apart(run.deployment.runtime):
            if may_be_faster(run, name, table.total.time_s):
                table = bounded(table, under(run, name).unordered)
    merged_by = run.deployment.table.merged_by
    if not merged_by or not is_asked(run, table, merged_by):
        return table
    other = merging(run, table)
    if other is None:
        return table
    merged = other.prediction
    if not (merged.is_own or is_told or candidate(merged).doubt < candidate(table).doubt):
        return table
    bounded_table = no_faster(table, merged, other.deployment.runtime)
    if attends(other) >= attends(run):
        return bounded_table
    low = replace(bounded_table.total.time, low=table.total.time.low)
    return replace(bounded_table, total=replace(bounded_table.total, time=low))


def merging(run: Deployed, table: PredictionTable) -> Deployed | None:
    """Return the model under the nearest runtime that fuses its kernels; None without one.

    PyTorch runs attention as one kernel, ONNX Runtime as several. So only runs measured on this
    machine bound PyTorch, and only if unfused attention takes about as long.
    """
    name = run.deployment.table.merged_by
    while name:
        other = under(run, name)
        if attends(other) >= attends(run):
            return other
        if other.unordered.is_own and may_be_equal(other.unordered, table):
            return other
        name = runtime(name).merged_by
    return None


def may_be_equal(parts: PredictionTable, whole: PredictionTable) -> bool:
    """Return True if a run with unfused attention may be as fast as one with fused attention.

    Fusing other kernels saves time, but writing and reading the scores of 4,096 tokens takes
    longer than that saves.
    """
    return parts.kernels_s <= ABOUT_AS_LONG * whole.kernels_s


def attending(run: Deployed, table: PredictionTable) -> PredictionTable:
    """Return the table with a total no larger than that of a runtime with fused attention.

    That holds if their intervals overlap. The total comes from runs of other machines, which do
    not show that a runtime that fuses all other kernels is slower here.
    """
    if not any(bound.kernel.kind is Kind.SOFTMAX for bound in run.execution.bounds.kernels):
        return table
    for name in launched_apart(run.deployment.runtime):
        other = under(run, name)
        if attends(other) <= attends(run):
            continue
        mine, whole = table.total.time, other.prediction.total.time
        is_near = mine.low <= whole.high or may_be_equal(table, other.prediction)
        if whole.mid < mine.mid and is_near:
            time = Interval(min(mine.low, whole.low), whole.mid, mine.high)
            reason = f"predicted slower than {name}, which runs attention as one kernel"
            table = rejoined(table, replace(candidate(table), time=time, outside=(reason,)))
    return table


def may_be_faster(run: Deployed, name: str, time_s: float) -> bool:
    """Return True if runs of this machine may show that a framework takes less than a time.

    ONNX Runtime does not bound TensorRT, which has more measured runs.

    Args:
        run: the model under a runtime that fuses more.
        name: name of the runtime that fuses less.
        time_s: the time.
    """
    if not runtime(name).is_dispatched or not is_measured(run, name):
        return False
    kernels = run.execution.bounds.kernels
    launches = sum(node.op.kind in APART for bound in kernels for node in bound.kernel.nodes)
    return launches * LEAST_LAUNCH_S < time_s


def under(run: Deployed, name: str) -> Deployed:
    """Return the model under another runtime."""
    return run.under(runtime=name, runtime_version="", layout=Layout.CHANNELS_FIRST)


def is_asked(run: Deployed, table: PredictionTable, merged_by: str) -> bool:
    """Return True if the runtime that fuses a run's kernels may be known better."""
    if run.deployment.table.is_dispatched:
        return True
    return bool(table.total.predictor) and is_measured(run, merged_by)


def attends(run: Deployed) -> int:
    """Return the number of fused attention kernels of a run."""
    return sum(bound.kernel.kind is Kind.ATTENTION for bound in run.execution.bounds.kernels)


def is_measured(run: Deployed, name: str) -> bool:
    """Return True if runs of a runtime were measured on a run's machine, in its precision."""
    execution = run.execution
    stored = precision(run.deployment, stored_element(run.source), execution.bounds)
    return runtime_runs.is_measured(execution.machine, stored, name, folder=execution.folder)


def bounded(table: PredictionTable, unfused: PredictionTable) -> PredictionTable:
    """Return the table with a total no larger than that of a runtime that fuses less.

    Args:
        table: its total comes from runs of other machines.
        unfused: the same model under a runtime that fuses less.
    """
    if not unfused.is_own or unfused.total.predictor != runtime_runs.NAME:
        return table
    mine = candidate(table)
    fastest = no_slower(mine, candidate(unfused))
    return table if fastest is mine else rejoined(table, fastest)


def candidate(table: PredictionTable) -> CandidateRun:
    """Return the total of a table as the candidate of its whole-run predictor."""
    total = table.total
    return CandidateRun(total.floor_s, total.time, total.predictor, table.whole, table.is_own)


def rejoined(table: PredictionTable, run: CandidateRun) -> PredictionTable:
    """Return the table with another total; the sum of its kernels stays."""
    return replace(joined(table, [run, *table.others]), summed=table.summed or table.total)


def no_faster(table: PredictionTable, merged: PredictionTable, merged_by: str) -> PredictionTable:
    """Return the table with a total no smaller than that of the runtime that fuses its kernels.

    The total is the sum of kernels, or comes from runs of other machines. Measured runs of a
    runtime that launches fewer of the same kernels are better evidence, if they take longer.

    Args:
        table: the less certain prediction.
        merged: the same model under the runtime that fuses more.
        merged_by: name of that runtime.
    """
    if not merged.total.predictor or merged.total.time_s <= table.total.time_s:
        return table
    time = table.total.time.slower_of(merged.total.time)
    reason = f"its runs are of {merged_by}, which merges more kernels"
    run = replace(candidate(merged), time=time, outside=(reason,))
    return rejoined(table, replace(run, floor_s=table.total.floor_s))
