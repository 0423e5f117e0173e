"""A runtime that merges kernels takes no longer than one that launches them apart.

TensorRT took no longer than eager PyTorch, TorchScript and ONNX Runtime in 144 of 146 published
pairs of runs of one model on one machine in one precision (`whole_models`, grade A, inference).
ONNX Runtime took 0.6 to 1.3 times what TorchScript took, in 27 pairs of one architecture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.deployment_fields import Mode

from ..estimate.estimate import CandidateRun
from ..runs import runtime_runs
from ..runs.run_table import precision, stored_element
from .whole_run import joined

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir.graph import Module

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable


def in_order(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
    under: Callable[[str], PredictionTable],
) -> PredictionTable:
    """The table, bounded by the runtime that merges its kernels where that one is known better.

    Args:
        table: with its total.
        source: the module as read, typed.
        execution: the kernels, on their machine.
        deployment: how the model is run.
        under: what is said of the same run under a runtime.
    """
    merged_by = deployment.table.merged_by
    if not merged_by or deployment.mode is not Mode.INFERENCE or table.is_own:
        return table
    match table.total.predictor:
        case "":
            is_asked = deployment.table.is_dispatched
        case _:
            stored = precision(deployment, stored_element(source), execution.bounds)
            is_asked = runtime_runs.is_measured(
                execution.machine, stored, merged_by, folder=execution.folder
            )
    if not is_asked:
        return table
    merged = under(merged_by)
    is_known = merged.is_own or not table.total.predictor
    return no_faster(table, merged, deployment) if is_known else table


def no_faster(
    table: PredictionTable, merged: PredictionTable, deployment: Deployment
) -> PredictionTable:
    """The table with a total that is no less than that of the runtime which merges its kernels.

    Where no whole run tells the total, kernels are summed; measured runs of a runtime that launches
    fewer of the same kernels then say more than that sum, if they take longer. So do runs of such
    a network that were measured on this machine, beside runs that were not.

    Args:
        table: its total is known less well.
        merged: the same model under the runtime that merges.
        deployment: how ``table`` is run.
    """
    if not merged.total.predictor or merged.total.time_s <= table.total.time_s:
        return table
    how = deployment.table
    run = CandidateRun(
        table.total.floor_s,
        table.total.time.slower_of(merged.total.time),
        merged.total.predictor,
        merged.whole,
        outside=(f"its runs are of {how.merged_by}, which merges kernels of {how.name}",),
    )  # fmt: skip
    return replace(joined(table, [run, *table.others]), summed=table.summed or table.total)
