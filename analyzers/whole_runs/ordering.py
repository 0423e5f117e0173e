"""A runtime that merges kernels takes no longer than one that launches them apart.

TensorRT took no longer than eager PyTorch, TorchScript and ONNX Runtime in 144 of 146 published
pairs of runs of one model on one machine in one precision (`whole_models`, grade A, inference).
ONNX Runtime took 0.6 to 1.3 times what TorchScript took, in 27 pairs of one architecture.
So runs of this machine bound those that were told by others, and where neither runtime was measured
here the one that launches kernels apart takes no less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Unpack

from perfc.common.fitted import constants_next_to
from perfc.deployment.fields import Mode
from perfc.ir.op import Kind
from perfc.passes.runtimes import Layout, runtime

from ..estimate.estimate import CandidateRun
from ..estimate.interval import Interval
from ..runs import runtime_runs
from ..runs.run_table import precision, stored_element
from .whole_run import joined, launched_apart, no_slower

if TYPE_CHECKING:
    from perfc.deployment import Deployment, DeploymentKeywords
    from perfc.ir.graph import Module

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable


APART = frozenset({Kind.CONV, Kind.NORMALIZATION})
"""Operators that a host's framework launches one by one, whatever it merges around them."""
_FITTED = constants_next_to(__file__)
ABOUT_AS_LONG = _FITTED["about_as_long"].number
"""Largest ratio of summed kernels with attention in parts to fused attention at which measured runs
of this machine count for more."""
LEAST_LAUNCH_S = _FITTED["least_launch_s"].number
"""Least mean time per kernel where the host launches each one."""


class Deployed(Protocol):
    """A model as it is run, of which other runtimes can be asked."""

    @property
    def source(self) -> Module:
        """The module as read, typed."""

    @property
    def deployment(self) -> Deployment:
        """How it is run."""

    @property
    def execution(self) -> Execution:
        """Its kernels, on their machine."""

    @property
    def unordered(self) -> PredictionTable:
        """What is said of it alone."""

    @property
    def prediction(self) -> PredictionTable:
        """What is said of it beside runs under other runtimes."""

    def under(self, target: str | None = None, **changed: Unpack[DeploymentKeywords]) -> Deployed:
        """The same model deployed otherwise."""


def in_order(run: Deployed) -> PredictionTable:
    """What is said of a run, bounded by runtimes that merge more or less and are known as well.

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
    told = no_faster(table, merged, other.deployment.runtime)
    if attends(other) >= attends(run):
        return told
    low = replace(told.total.time, low=table.total.time.low)
    return replace(told, total=replace(told.total, time=low))


def merging(run: Deployed, table: PredictionTable) -> Deployed | None:
    """The model under the nearest runtime that merges its kernels; None where there is none.

    PyTorch runs attention as one kernel that ONNX Runtime runs in parts. So runs of this machine
    alone say that PyTorch takes no less, and only where attention in parts takes about as long.
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
    """Whether a run with attention in parts may take as long as one with attention as one kernel.

    Its kernels are launched with others merged. Scores of 4,096 tokens, written and read, take
    longer than that saves.
    """
    return parts.kernels_s <= ABOUT_AS_LONG * whole.kernels_s


def attending(run: Deployed, table: PredictionTable) -> PredictionTable:
    """The table with a total no larger than where attention is one kernel, if the ranges meet.

    Its runs are of other machines, so that nothing says that a runtime which merges all other
    kernels takes longer here.
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
    """Whether runs of this machine may say that a framework takes less than a time.

    TensorRT is not bounded by ONNX Runtime: its runs are told by more than those.

    Args:
        run: the model under a runtime that merges more.
        name: of the runtime that launches kernels apart.
        time_s: the time.
    """
    if not runtime(name).is_dispatched or not is_measured(run, name):
        return False
    kernels = run.execution.bounds.kernels
    launches = sum(node.op.kind in APART for bound in kernels for node in bound.kernel.nodes)
    return launches * LEAST_LAUNCH_S < time_s


def under(run: Deployed, name: str) -> Deployed:
    """The model under another runtime."""
    return run.under(runtime=name, runtime_version="", layout=Layout.CHANNELS_FIRST)


def is_asked(run: Deployed, table: PredictionTable, merged_by: str) -> bool:
    """Whether the runtime that merges a run's kernels may be known as well."""
    if run.deployment.table.is_dispatched:
        return True
    return bool(table.total.predictor) and is_measured(run, merged_by)


def attends(run: Deployed) -> int:
    """How many kernels of a run are attention as a whole."""
    return sum(bound.kernel.kind is Kind.ATTENTION for bound in run.execution.bounds.kernels)


def is_measured(run: Deployed, name: str) -> bool:
    """Whether runs under a runtime were measured on a run's machine, in its precision."""
    execution = run.execution
    stored = precision(run.deployment, stored_element(run.source), execution.bounds)
    return runtime_runs.is_measured(execution.machine, stored, name, folder=execution.folder)


def bounded(table: PredictionTable, apart: PredictionTable) -> PredictionTable:
    """The table with a total no larger than that of runs which launch its kernels apart.

    Args:
        table: its total is told by runs of other machines.
        apart: the same model under a runtime that launches its kernels apart.
    """
    if not apart.is_own or apart.total.predictor != runtime_runs.NAME:
        return table
    mine = candidate(table)
    told = no_slower(mine, candidate(apart))
    return table if told is mine else rejoined(table, told)


def candidate(table: PredictionTable) -> CandidateRun:
    """The total of a table that whole runs tell."""
    total = table.total
    return CandidateRun(total.floor_s, total.time, total.predictor, table.whole, table.is_own)


def rejoined(table: PredictionTable, run: CandidateRun) -> PredictionTable:
    """The table with another total; what its kernels sum up to is kept."""
    return replace(joined(table, [run, *table.others]), summed=table.summed or table.total)


def no_faster(table: PredictionTable, merged: PredictionTable, merged_by: str) -> PredictionTable:
    """The table with a total that is no less than that of the runtime which merges its kernels.

    Where no whole run tells the total, kernels are summed; measured runs of a runtime that launches
    fewer of the same kernels then say more than that sum, if they take longer. So do runs of such
    a network that were measured on this machine, beside runs that were not.

    Args:
        table: its total is known less well.
        merged: the same model under the runtime that merges.
        merged_by: name of that runtime.
    """
    if not merged.total.predictor or merged.total.time_s <= table.total.time_s:
        return table
    time = table.total.time.slower_of(merged.total.time)
    reason = f"its runs are of {merged_by}, which merges more kernels"
    run = replace(candidate(merged), time=time, outside=(reason,))
    return rejoined(table, replace(run, floor_s=table.total.floor_s))
