"""Select the predictor of whole runs for a prediction, and scale its kernels to that time.

Predictions of single kernels leave out effects of whole runs, such as tensors that stay in cache.
Predictors that are fitted to whole runs include them. The selected one gives the time of the run,
which `timeline.spread` distributes over the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.deployment.fields import KERNELS, RUN_LAW, STEP_LAW
from perfc.errors import ModelError, PerfcError
from perfc.passes.runtimes import Layout

from ..artefacts.artefact import WeightsError
from ..estimate.estimate import CandidateRun
from ..estimate.interval import Interval
from ..runs import runtime_runs
from ..runs.host import given_host
from ..runs.prediction import PredictionTable, extrapolation
from ..runs.recurrence import has_steps
from ..runs.run_table import leading_extent, precision, stored_element, tabulated
from ..runs.timeline import spread
from ..steps.setting import PRECISIONS, Setting, is_measured_whole
from .published_run import by_published_runs, by_published_steps
from .summed_steps import widened

if TYPE_CHECKING:
    from pathlib import Path

    from perfc.deployment import Deployment
    from perfc.ir import Module
    from perfc.machine import Machine

    from ..estimators import Execution
    from .estimate import WholeRunEstimate

# reasons why a predictor that covers a run is not used (`CandidateRun.withheld`)
RECURRENT = "no measured run with recurrent layers"
OWN_HOST = "the launch overhead of the host is given; measured runs had other hosts"
WIDER, ELSEWHERE = "its interval is wider", "no measured run of this kind on this machine"
ANOTHER = "another predictor is requested"


def with_whole(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
    *,
    predictor: str = "",
) -> PredictionTable:
    """Return the table with the time of a predictor of whole runs.

    Predictors with such runs of this machine come first; among several the narrowest interval
    decides. Intervals are calibrated on held-out rows of the same kind, so that the narrowest has
    the least expected error.

    Args:
        table: prediction by the timeline of the kernels.
        source: typed module as read.
        execution: kernels on their machine.
        deployment: deployment of the run.
        predictor: name or card of a predictor; by default the best one that covers such runs, if
            any does.

    Raises:
        PerfcError: the named predictor is missing or cannot read the model.
    """
    table = replace(table, notes=(*table.notes, *limitations(deployment)))
    if predictor and predictor != KERNELS and table.kernels:
        return with_runs(table, [run_by(table, predictor, source, execution, deployment)])
    if not predictor and table.kernels:
        runs, notes = candidates(table, source, execution, deployment)
        table = replace(table, notes=(*table.notes, *notes), others=tuple(runs))
        table = with_runs(table, runs) if runs and not runs[0].withheld else table
    # no predictor of whole runs was used: the step is a sum of kernels
    is_summed = not table.total.predictor and table.kernels
    return widened(table) if deployment.train and is_summed else table


def candidates(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> tuple[list[CandidateRun], list[str]]:
    """Return the run by every predictor that covers it, the most trusted first, and notes.

    Args:
        table: prediction by the timeline of the kernels.
        source: typed module as read.
        execution: kernels on their machine.
        deployment: deployment of the run.
    """
    # runtimes of trainers have no other fits
    trained = by_published_runs(table, execution, deployment)
    if trained is not None:
        return [trained], []
    runs, notes = list[CandidateRun](), list[str]()
    for candidate in (under_runtime, by_graph, by_published_steps):
        try:
            run = candidate(table, source, execution, deployment)
            runs += [run] if run is not None else []
        except WeightsError:  # damaged weights are an error of the installation, not of the model
            raise
        except PerfcError as error:  # only graph predictors encode the model again and may fail
            note = f"the graph predictor cannot read this model ({error})"
            is_answered = any(not run.withheld for run in runs)
            left_out = "it is left out" if is_answered else "kernels are summed instead"
            notes.append(f"{note}: {left_out}")
    # those that may be used first, then by trust
    return sorted(runs, key=lambda run: (bool(run.withheld), run.doubt)), notes


def other_runs(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> tuple[CandidateRun, ...]:
    """Return the predictions of whole-run predictors that were not used, each with the reason.

    They are computed here if the table has none, as when the user named a predictor.

    Args:
        table: prediction of the run.
        source: typed module as read.
        execution: kernels on their machine.
        deployment: deployment of the run.
    """
    if table.others or not table.kernels:
        return table.others
    runs, _ = candidates(table, source, execution, deployment)
    return tuple(
        replace(run, withheld=run.withheld or ANOTHER)
        for run in runs
        if run.predictor != table.total.predictor
    )


def under_runtime(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
) -> CandidateRun | None:
    """Return the run by a fit to whole runs under the same runtime; None if none were measured.

    Withheld are runs with recurrent layers, which no measured run has, and runs with a given launch
    overhead, as measured runs had other hosts. A wide interval is no reason: the sum of the kernels
    was never compared with such runs, so that its narrower interval is not calibrated for them.
    """
    element, bounds = stored_element(source), execution.bounds
    if execution.machine.kind == "cpu":
        run = runtime_runs.on_processor(execution, table, deployment, element)
        if run is None:
            return None
    else:
        stored = precision(deployment, element, bounds)
        weights = runtime_runs.covering(execution, stored)
        # the fits are to forward passes alone
        if weights is None or deployment.train:
            return None
        batch = leading_extent(source, bounds.env)
        facts = tabulated(execution, table, deployment, stored, batch)
        run = runtime_runs.estimated(weights, facts)
    name, runtime = execution.machine.name, deployment.runtime
    rows = f"{run.rows:,} runs, {run.runs:,} with {deployment.runtime}"
    words = f"the {runtime_runs.NAME} predictor, trained on {rows}"
    kernels, env = execution.kernels, bounds.env
    # `once` computes it once for these kernels and extents
    is_chained = kernels.once("recurrent", env, lambda: has_steps(kernels, env))
    # a launch overhead matters only where the host launches kernels one by one
    own_host = execution.kernels.runtime.is_dispatched and (
        given_host(execution.machine, execution.host_launch_s) is not None
    )
    reasons = {
        f"no {runtime} measurement on {name} in the training data": not run.is_own,
        f"no {runtime} measurement of a similar network in the training data": not run.is_like,
        RECURRENT: is_chained,
        OWN_HOST: own_host,
    }
    outside = tuple(reason for reason, holds in reasons.items() if holds)
    withheld = RECURRENT if is_chained else OWN_HOST if own_host else ""
    return CandidateRun(
        run.floor_s,
        run.time,
        runtime_runs.NAME,
        words,
        run.is_own,
        outside,
        withheld,
        run.publications,
    )


def by_graph(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
) -> CandidateRun | None:
    """Return the run by a graph predictor with rows of such an execution mode; None without one."""
    machine = execution.machine
    chosen = by_default(machine, deployment, source)
    if chosen is None:
        return None
    card, setting, is_own = chosen
    from .estimate import run_of

    floor_s = execution.bounds.floor_s
    run = run_of(source, card, machine, setting, execution.bounds.env, floor_s)
    # on other machines its errors are larger: 25 and 36 % (115 eager and 9 compiled runs), those of
    # the timeline of kernels and host 19 and 26 %
    # training steps were not compared in this way: there the graph predictor stays
    is_kernels_better = not (is_own or setting.training)
    withheld = ELSEWHERE if is_kernels_better else ""
    return replace(whole_run(run), is_own=is_own, withheld=withheld)


def whole_run(run: WholeRunEstimate) -> CandidateRun:
    """Return a graph predictor's estimate as a candidate.

    A predictor without intervals has NaN ends; the candidate's interval then reaches from the lower
    bound to infinity.
    """
    low = run.floor_s if math.isnan(run.low) else run.low
    high = math.inf if math.isnan(run.low) else run.high
    time = Interval(low, run.value, high)
    other_quantities = tuple((quantity.value, value) for quantity, value in run.other_quantities)
    return CandidateRun(
        run.floor_s,
        time,
        run.predictor,
        words(run),
        outside=run.outside,
        other_quantities=other_quantities,
    )


def limitations(deployment: Deployment) -> Iterator[str]:
    """Yield notes on settings of a deployment that kernel predictors ignore."""
    if deployment.layout is not Layout.CHANNELS_FIRST:
        yield f"kernel times are for channels-first tensors, not {deployment.layout.value}"
    if deployment.runtime_version:
        yield "kernel times are for the newest measured version of the runtime"


def by_default(
    machine: Machine, deployment: Deployment, source: Module
) -> tuple[Path, Setting, bool] | None:
    """Return the card that covers such runs, their setting, and True if it has this machine's rows.

    None if no whole runs were measured in such a deployment.
    """
    # whole runs were measured on GPUs, in the precisions of PRECISIONS, of models stored in f32
    is_known = is_measured_whole(deployment.table) and deployment.dtype in PRECISIONS
    if not is_known or machine.kind == "cpu" or stored_element(source) != "f32":
        return None
    from . import shipped

    name = shipped.known_name(str(machine.path))
    setting = shipped.in_measured_half(machine, Setting.of(deployment))
    match = shipped.reaching(name, setting)
    if match is None:
        return None
    card, is_own = match
    return card, shipped.newest(card, name, setting, version=deployment.version), is_own


def run_by(
    table: PredictionTable,
    predictor: str,
    source: Module,
    execution: Execution,
    deployment: Deployment,
) -> CandidateRun:
    """Return the run by a named predictor, whether or not it covers such runs.

    Raises:
        ModelError: no whole runs were measured in such a deployment.
    """
    from ..graph.rows import Quantity
    from .estimate import by_card

    if predictor == runtime_runs.NAME:
        measured = under_runtime(table, source, execution, deployment)
        if measured is None:
            raise ModelError(
                f"{predictor}: no whole runs under {deployment.runtime} were measured",
                hint=f"--predictor {KERNELS}",
            )
        return measured
    if predictor in (STEP_LAW, RUN_LAW):
        step = (
            by_published_steps(table, source, execution, deployment)
            if predictor == STEP_LAW
            else by_published_runs(table, execution, deployment)
        )
        if step is None:
            hint = f"--predictor {KERNELS}"
            raise ModelError(f"{predictor}: no such training step was published", hint=hint)
        return step
    try:
        bounds = execution.bounds
        given = source, execution.machine, deployment, bounds.env
        run = by_card(predictor, *given, floor_s=bounds.floor_s)
    except ModelError as error:
        error.message = f"{predictor}: {error.message}"
        error.hint = ", or ".join(filter(None, (error.hint, f"--predictor {KERNELS}")))
        raise
    if run.quantity is not Quantity.TIME:
        raise ModelError(
            f"{predictor} predicts {run.quantity.value}, not time", hint="perfc analyze -q"
        )
    return whole_run(run)


def with_runs(table: PredictionTable, runs: Sequence[CandidateRun]) -> PredictionTable:
    """Return the table with the time of the first of some whole runs spread over its kernels.

    Args:
        table: prediction by the timeline of the kernels.
        runs: at least one, the most trusted first; the others become `PredictionTable.others`.
    """
    alone, run = table.total, runs[0]
    floor_s = max(alone.floor_s, run.floor_s)
    time_s = max(run.time.mid, floor_s)
    low_s = min(max(run.time.low, floor_s), time_s)
    # a prediction raised to the lower bound keeps the ratio of its upper end to the estimate
    high_s = max(run.time.high, time_s * (run.time.high / run.time.mid if run.time.mid else 1.0))
    # a predictor without intervals takes the upper end of the timeline
    if math.isinf(high_s):
        high_s = max(alone.high_s, time_s)
    time = Interval(low_s, time_s, high_s)
    kernels, total = spread(table.kernels, replace(alone, time=time, predictor=run.predictor))
    return replace(
        table,
        kernels=tuple(kernels),
        total=total,
        alone=alone,
        whole=run.words,
        is_own=run.is_own,
        publications=run.publications,
        other_quantities=run.other_quantities,
        others=tuple(
            replace(
                other,
                floor_s=alone.floor_s,
                time=other.time.at_least(alone.floor_s),
                withheld=other.withheld or (WIDER if other.is_own == run.is_own else ELSEWHERE),
            )
            for other in runs[1:]
        ),
        notes=(*table.notes, *(extrapolation(run.predictor) + reason for reason in run.outside)),
    )


def words(run: WholeRunEstimate) -> str:
    """Return a description of the predictor, its training rows and their setting, for users."""
    setting, card = run.setting, run.card
    how = f"{setting.mode.value}, {setting.precision.value}, {setting.framework}"
    measured = {precision for _, precision, *_ in card.runs}
    if setting.precision.value not in measured and f"amp {setting.precision.value}" in measured:
        how += ", measured under autocast"
    return (
        f"the {run.predictor} predictor, trained on {card.rows:,} runs of {card.dataset}, for {how}"
    )
