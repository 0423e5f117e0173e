"""Predictors of whole runs that know a deployment and are not the answer for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.errors import PerfcError

from ..artefacts.artefact import WeightsError
from ..runs import runtime_runs
from .whole_run import by_default, by_graph, under_runtime

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir import Module

    from ..estimate.estimate import CandidateRun
    from ..estimators import Execution
    from ..runs.prediction import PredictionTable

ANOTHER = "another predictor was asked for"


def unheard_runs(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> tuple[CandidateRun, ...]:
    """Return the predictions of whole-run predictors that know the deployment but were not chosen.

    They are those of ``table``, and those that were not evaluated because another one was named.
    Each has the reason why it was not chosen.

    Args:
        table: with its total.
        source: the module as read, typed.
        execution: the kernels, on their machine.
        deployment: how the model is run.
    """
    heard = {table.total.predictor, *(run.predictor for run in table.others)}
    asking: dict[str, Callable[..., CandidateRun | None]] = {runtime_runs.NAME: under_runtime}
    chosen = by_default(execution.machine, deployment, source)
    if chosen is not None:
        from ..graph.weights import read_card

        asking[read_card(chosen[0]).predictor.replace("_", "-")] = by_graph
    further: list[CandidateRun] = []
    for name in [name for name in asking if name not in heard]:
        try:
            run = asking[name](table, source, execution, deployment)
            further += [run] if run is not None else []
        except WeightsError:
            raise
        except PerfcError:
            continue  # it cannot read the model, which the table's notes say
    return tuple(
        replace(run, withheld=run.withheld or ANOTHER) for run in (*table.others, *further)
    )
