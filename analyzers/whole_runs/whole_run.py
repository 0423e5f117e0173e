"""The run as a whole, by a predictor of graphs, where its rows are of such a machine and runtime.

Kernels that are predicted one by one and summed know nothing of what their neighbours leave in
cache, nor of the host between them; a predictor that learned from whole runs does. It answers for
the run's total; kernels keep their own numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.errors import ModelError, PerfcError
from perfc.ir.tensors.types import TensorType
from perfc.passes.runtimes import Layout, tables

from ..artefacts.artefact import WeightsError
from ..estimate.estimate import CandidateRun, RunEstimate
from ..estimate.interval import Interval
from ..runs import runtime_runs
from ..runs.energy import Energy
from ..runs.host import stated_host
from ..runs.prediction import PredictionTable
from ..runs.recurrence import chained_s
from ..runs.run_table import leading_extent, stored_element
from ..steps.setting import PRECISIONS, Setting, is_measured_whole
from .published_run import NAME as STEP_LAW
from .published_run import by_published_steps
from .summed_steps import widened

if TYPE_CHECKING:
    from pathlib import Path

    from perfc.deployment import Deployment
    from perfc.ir.graph import Module
    from perfc.machine import Machine

    from ..estimators import Execution
    from .estimate import WholeRunEstimate

WIDEST = 12.0
"""Upper over lower end beyond which the kernels' sum is as good: three and a half either way."""
TOO_WIDE = "its interval spans more than a factor of twelve"
WORSE = "on held-out runs the sum of the kernels is more accurate"
FAR = "no measured run of this kind and none on this machine"
RECURRENT = "no measured run with recurrent layers"
OWN_HOST = "the launch overhead of the host is given; measured runs had other hosts"
WIDER, ELSEWHERE = "its interval is wider", "no measured run of this kind on this machine"
"""Why a predictor that knows a run is not its answer."""
KERNELS = "kernels"
"""The predictor that is none of whole runs: kernels one by one, summed."""


def with_whole(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
    *,
    predictor: str = "",
) -> PredictionTable:
    """The table with the total of a predictor of whole runs.

    Of several that know such runs one that knows them on this machine answers, and of those the one
    with the narrowest interval: intervals are calibrated on held-out rows of the same kind, so that
    it is the one with the least expected error there.

    Args:
        table: kernels one by one.
        source: the module as read, typed.
        execution: the kernels, on their machine.
        deployment: how the model is run.
        predictor: name or card of one that is used in any case; by default of those whose rows are
            of such runs, if there are any.

    Raises:
        PerfcError: the predictor asked for is not there, or cannot read the model.
    """
    table = replace(table, notes=(*table.notes, *unheard(deployment)))
    if predictor == KERNELS or not table.kernels:
        return widened(table) if deployment.train and table.kernels else table
    if predictor:
        return joined(table, [asked(table, predictor, source, execution, deployment)])
    heard = list[CandidateRun]()
    for candidate in (under_runtime, by_graph, by_published_steps):
        try:
            run = candidate(table, source, execution, deployment)
            if run is not None and not run.withheld:
                run = no_slower(run, unmerged(table, source, execution, deployment))
            heard += [run] if run is not None else []
        except WeightsError:
            raise
        except PerfcError as error:
            note = f"the graph predictor cannot read this model ({error})"
            is_answered = any(not run.withheld for run in heard)
            left_out = "it is left out" if is_answered else "kernels are summed instead"
            table = replace(table, notes=(*table.notes, f"{note}: {left_out}"))
    heard.sort(key=lambda run: (bool(run.withheld), run.doubt))
    if not heard or heard[0].withheld:
        table = replace(table, others=tuple(heard))
        return widened(table) if deployment.train else table
    return joined(table, heard)


def under_runtime(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
    *,
    is_asked: bool = False,
) -> CandidateRun | None:
    """What whole runs under the same runtime taught; None where none were measured.

    Asked for by name it answers in any case, else where held-out runs say that it is better than
    the sum of the kernels. No run with recurrent layers was measured, and no column tells that
    their steps wait for one another: those are left to their kernels. So are runs of a framework
    whose host is known, as those measured had others. A wide range is no reason: the sum, which
    nobody held against runs of that kind there, would only look narrower.
    """
    if deployment.train:
        # the runs are of forward passes
        return None
    batch = leading_extent(source, execution.bounds.env)
    run = runtime_runs.estimate(
        execution, table, deployment, stored_element(source), batch,
        in_any_case=is_asked, folder=execution.folder,
    )  # fmt: skip
    if run is None:
        return None
    name = execution.machine.name
    rows = f"{run.rows:,} runs, {run.runs:,} with {deployment.runtime}"
    words = f"predictor {runtime_runs.NAME}, trained on {rows}"
    bounds = execution.bounds
    is_chained = any(chained_s(b.kernel, bounds.env) is not None for b in bounds.kernels)
    own_host = execution.kernels.runtime.is_dispatched and (
        stated_host(execution.machine, execution.host_launch_s) is not None
    )
    reasons = {
        f"no measured {deployment.runtime} run on {name}": not run.is_own,
        f"no measured {deployment.runtime} run of a similar network": not run.is_like,
        RECURRENT: is_chained,
        OWN_HOST: own_host,
    }
    outside = tuple(reason for reason, holds in reasons.items() if holds)
    said = CandidateRun(run.floor_s, run.time, runtime_runs.NAME, words, run.is_own, outside)
    reason = "" if run.is_better else WORSE
    return replace(said, withheld=RECURRENT if is_chained else OWN_HOST if own_host else reason)


def by_graph(
    table: PredictionTable,
    source: Module,
    execution: Execution,
    deployment: Deployment,
    *,
    is_bound: bool = False,
) -> CandidateRun | None:
    """What a predictor of graphs says whose rows are of such a way of running.

    It is not heard where neither the machine nor a run of that kind was measured: both
    extrapolations together are wider than the sum of the kernels. Where it is to bound another
    alone, nobody asks it then: to read its weights takes longer than to predict by them.
    """
    machine = execution.machine
    chosen = by_default(machine, deployment, source)
    if chosen is None:
        return None
    card, setting, is_own = chosen
    from .reach import is_surely_far

    if is_bound and not is_own and is_surely_far(execution, card, setting):
        return None
    from .estimate import KINLESS

    run = run_of(source, card, machine, setting, execution.bounds.env)
    is_far = not is_own and len([reason for reason in run.outside if reason != KINLESS]) > 1
    return withheld(replace(whole_run(run), is_own=is_own), FAR if is_far else "")


def withheld(run: CandidateRun, reason: str) -> CandidateRun:
    """The run, which is not the answer for a reason or because its range is too wide."""
    return replace(run, withheld=reason or (TOO_WIDE if run.width > WIDEST else ""))


def whole_run(run: WholeRunEstimate) -> CandidateRun:
    """An estimate of a predictor of graphs; without an interval it reaches to its floor."""
    low = run.floor_s if math.isnan(run.low) else run.low
    high = math.inf if math.isnan(run.low) else run.high
    time = Interval(low, run.value, high)
    return CandidateRun(run.floor_s, time, run.predictor, words(run), outside=run.outside)


def unheard(deployment: Deployment) -> Iterator[str]:
    """What a deployment says that predictors of single kernels do not know."""
    if deployment.layout is not Layout.CHANNELS_FIRST:
        yield f"kernel times are for channels-first tensors, not {deployment.layout.value}"
    if deployment.runtime_version:
        yield "kernel times are for the newest measured version of the runtime"


def by_default(
    machine: Machine, deployment: Deployment, source: Module
) -> tuple[Path, Setting, bool] | None:
    """The card that knows such runs, how they were run, and whether on this machine."""
    is_known = is_measured_whole(deployment.table) and deployment.dtype in PRECISIONS
    if not is_known or machine.kind == "cpu" or stored_element(source) != "f32":
        return None
    from . import shipped

    name = shipped.known_name(str(machine.path))
    setting = shipped.in_measured_half(machine, Setting.of(deployment))
    found = shipped.reaching(name, setting)
    if found is None:
        return None
    card, is_own = found
    return card, shipped.newest(card, name, setting, version=deployment.version), is_own


def asked(
    table: PredictionTable,
    predictor: str,
    source: Module,
    execution: Execution,
    deployment: Deployment,
) -> CandidateRun:
    """The run by a predictor that was asked for, whether or not its rows are of such runs.

    Raises:
        ModelError: no whole runs were ever measured in such a way.
    """
    from ..graph.rows import Quantity
    from . import shipped

    if predictor == runtime_runs.NAME:
        found = under_runtime(table, source, execution, deployment, is_asked=True)
        if found is None:
            raise ModelError(
                f"{predictor}: no whole runs under {deployment.runtime} were measured",
                hint=f"--predictor {KERNELS}",
            )
        return found
    if predictor == STEP_LAW:
        step = by_published_steps(table, source, execution, deployment)
        if step is None:
            hint = f"--predictor {KERNELS}"
            raise ModelError(f"{predictor}: no such training step was published", hint=hint)
        return step
    card, machine = shipped.named(predictor), execution.machine
    try:
        setting = Setting.of(deployment, stored_element(source))
    except ModelError as error:
        error.message = f"{predictor}: {error.message}"
        error.hint += f", or --predictor {KERNELS}"
        raise
    name = shipped.known_name(str(machine.path))
    setting = shipped.newest(card, name, setting, version=deployment.version)
    run = run_of(source, card, machine, setting, execution.bounds.env)
    if run.quantity is not Quantity.TIME:
        raise ModelError(
            f"{predictor} predicts {run.quantity.value}, not time", hint="perfc predict"
        )
    return whole_run(run)


def run_of(
    source: Module, card: Path, machine: Machine, setting: Setting, env: Mapping[str, int]
) -> WholeRunEstimate:
    """The estimate at the values of the symbols, the leading one of the first input the batch."""
    from .estimate import estimate

    symbol = batch_symbol(source)
    fixed = {name: value for name, value in env.items() if name != symbol}
    batch = env[symbol] if symbol is not None else None
    return estimate(source, card, str(machine.path), setting, batch, fixed)


def batch_symbol(source: Module) -> str | None:
    """The symbol that leads the shape of the first input; None where a number does."""
    leading = next(
        (
            v.type.shape[0]
            for v in source.graph.inputs
            if isinstance(v.type, TensorType) and v.type.shape
        ),
        None,
    )
    return next((s.name for s in source.symbols if s.name == str(leading)), None)


def joined(table: PredictionTable, runs: Sequence[CandidateRun]) -> PredictionTable:
    """The table with the total of the first of some whole runs; its floor is that of the kernels.

    Args:
        table: kernels one by one.
        runs: at least one; the others are kept beside it.
    """
    summed, run = table.total, runs[0]
    floor_s = max(summed.floor_s, run.floor_s)
    time_s = max(run.time.mid, floor_s)
    low_s = min(max(run.time.low, floor_s), time_s)
    high_s = max(run.time.high, time_s)
    if math.isinf(high_s):
        high_s = max(summed.high_s, time_s)
    time = Interval(low_s, time_s, high_s)
    total = RunEstimate(summed.floor_s, time, summed.wait_s, summed.host_s, run.predictor)
    notes = [f"predictor {run.predictor} extrapolates: {reason}" for reason in run.outside]
    return replace(
        table,
        total=total,
        summed=summed,
        whole=run.words,
        is_own=run.is_own,
        others=tuple(
            replace(
                other, floor_s=summed.floor_s, time=other.time.at_least(summed.floor_s),
                withheld=other.withheld or (WIDER if other.is_own == run.is_own else ELSEWHERE),
            )
            for other in runs[1:]
        ),
        notes=(*table.notes, *notes),
        energy=scaled(table.energy, time_s / summed.time_s if summed.time_s else 1.0),
    )  # fmt: skip


def unmerged(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> CandidateRun | None:
    """The run under a runtime whose kernels this one merges, by a predictor of graphs.

    None where this one merges no other's, nobody knows such runs, or they cannot read the model.
    """
    for launching in launched_apart(deployment.runtime):
        how = replace(
            deployment, runtime=launching, runtime_version="", layout=Layout.CHANNELS_FIRST
        )
        try:
            found = by_graph(table, source, execution, how, is_bound=True)
        except WeightsError:
            raise
        except PerfcError:
            continue
        if found is not None and not found.withheld:
            return found
    return None


def launched_apart(runtime: str) -> Iterator[str]:
    """Runtimes whose kernels one merges, then what those merge; the first of each by name."""
    name = next((table.name for table in tables() if table.merged_by == runtime), "")
    if name:
        yield name
        yield from launched_apart(name)


def no_slower(run: CandidateRun, launched: CandidateRun | None) -> CandidateRun:
    """A run that takes no longer than the same kernels launched apart, where that is known better.

    Runs of this very machine are, then the narrower range: each holds nine in ten held-out runs of
    its kind, on this machine or where no run of it was known. A narrow range of runs elsewhere
    bounds no run of this machine: ViT-B/16 in f16 on T4 was told from other machines at
    three quarters of what FasterTransformer takes there.

    Args:
        run: under a runtime that merges kernels.
        launched: under one that launches them; None where nobody knows.
    """
    if launched is None or launched.time.mid >= run.time.mid:
        return run
    if launched.doubt >= run.doubt:
        return run
    mid, low = launched.time.mid, min(run.time.low, launched.time.low)
    time = Interval(low, mid, max(min(run.time.high, launched.time.high), mid))
    reason = f"predicted slower than {launched.words}, which fuses less"
    return replace(run, time=time, outside=(*run.outside, reason))


def words(run: WholeRunEstimate) -> str:
    """Who predicts the whole run, from which rows, run how."""
    setting, card = run.setting, run.card
    how = f"{setting.mode.value}, {setting.precision.value}, {setting.framework}"
    measured = {precision for _, precision, *_ in card.runs}
    if setting.precision.value not in measured and f"amp {setting.precision.value}" in measured:
        how += ", measured under autocast"
    return f"predictor {run.predictor}, trained on {card.rows:,} runs of {card.dataset}, for {how}"


def scaled(energy: Energy | None, ratio: float) -> Energy | None:
    """The kernels' mean power over the time of the whole run."""
    if energy is None:
        return None
    return replace(
        energy, energy_j=energy.energy_j * ratio, low_j=energy.low_j * ratio,
        high_j=energy.high_j * ratio,
    )  # fmt: skip
