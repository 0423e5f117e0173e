"""Prediction of every kernel and of the run: lower bound, time, interval and predictor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir import Module, frozen

from ..artefacts import artefact
from ..estimate.estimate import CandidateRun, Estimate, Predictor, RunEstimate
from ..estimate.interval import Interval
from ..estimators import Execution, estimates
from ..estimators.fitted_rates import Efficiencies, host_nodes, of_machine
from ..estimators.fitted_rates.efficiencies import WHOLE
from ..estimators.steps import StepFactors
from ..intervals import adapt
from ..intervals.summing import half_width, sides_of
from .energy import Energy, energy_of, idling, summed
from .host import host_note, kept_waiting, launch_cost, launches_of
from .launch_gap import launch_gap
from .recurrence import chained

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.roofline.roofline import RooflineTable
    from perfc.passes.runtimes import Runtime

    from ..steps.kernels import Autocasting


HOST_BOUND_S = 1e-9
"""A run that waits longer than this behind its kernels' own launches waits for its host."""


def extrapolation(predictor: str) -> str:
    """Return the start of a note on why a predictor, by default ``kernels``, extrapolates."""
    return f"extrapolation by the predictor {predictor or 'kernels'}: "


@frozen
class PredictionTable:
    """Predictions of all kernels in the order of the roofline's, and of the run.

    Args:
        kernels: one for each kernel of the roofline.
        total: total of the run.
        notes: limitations that a reader must know.
        powered: roofline of the kernels and the run as their sum, for energies; None without them.
        ratios: ratios of the times of whole runs to that of the sum, one after another.
        summed: the sum of the kernels, if a predictor of whole runs gives ``total``.
        whole: that predictor and its training runs, as text.
        others: the same run by further predictors of whole runs.
        is_own: whether the whole-run predictor was fitted to such runs of this machine.
        publications: titles of publications with measured runs of the network in this deployment.
        other_quantities: by the whole-run predictor, ``memory_bytes`` or ``energy_j``.
    """

    kernels: tuple[Estimate, ...]
    total: RunEstimate
    notes: tuple[str, ...] = ()
    powered: tuple[RooflineTable, RunEstimate] | None = field(
        default=None, compare=False, repr=False
    )
    ratios: tuple[float, ...] = ()
    summed: RunEstimate | None = None
    whole: str = ""
    others: tuple[CandidateRun, ...] = ()
    is_own: bool = False
    publications: tuple[str, ...] = ()
    other_quantities: tuple[tuple[str, float], ...] = ()

    @cached_property
    def energies(self) -> tuple[Energy | None, ...]:
        """Return the energies of the kernels; None for machines without a power model."""
        if self.powered is None:
            return ()
        bounds = self.powered[0]
        at = [(b.kernel.identity, id(k)) for b, k in zip(bounds.kernels, self.kernels, strict=True)]
        each = dict(zip(at, zip(bounds.kernels, self.kernels, strict=True), strict=True))
        energy = {
            key: energy_of(b, k.time, k.wait_s, bounds.machine) for key, (b, k) in each.items()
        }
        return tuple([energy[key] for key in at])

    @cached_property
    def energy(self) -> Energy | None:
        """Return the energy of the run; the board is idle while it waits for the host."""
        if self.powered is None:
            return None
        bounds, run = self.powered
        behind_s = run.wait_s - self.wait_s
        idle = [idling(behind_s, bounds.machine)] if behind_s > HOST_BOUND_S else []
        energy = summed((*self.energies, *idle), run.time)
        return None if energy is None else reduce(Energy.scaled, self.ratios, energy)

    @property
    def outside(self) -> tuple[str, ...]:
        """Reasons why the predictor of whole runs extrapolates; empty if it does not."""
        start = extrapolation(self.total.predictor)
        return tuple(n.removeprefix(start) for n in self.notes if n.startswith(start))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes without the reasons why the predictor of whole runs extrapolates."""
        start = extrapolation(self.total.predictor)
        return tuple(n for n in self.notes if not n.startswith(start))

    @property
    def kernels_total(self) -> RunEstimate:
        """The run as the sum of its kernels, with launches, host and overlap."""
        return self.summed or self.total

    @property
    def unattributed_s(self) -> float:
        """Return the predicted time of the run minus the sum of its kernels, launches and host.

        Zero where the kernels are summed. Negative where measured runs are faster than the sum.
        """
        return self.total.time_s - self.kernels_total.time_s

    @cached_property
    def kernels_s(self) -> float:
        """Return the time of all kernels one after another, in seconds."""
        return math.fsum([k.time_s for k in self.kernels])

    @property
    def outside_kernels_s(self) -> float:
        """Return the predicted time of the run minus the sum of its kernels, in seconds.

        Time of the host and unattributed time are in it. Negative where streams overlap, or where
        measured runs are faster than the sum.
        """
        return self.total.time_s - self.kernels_s

    @cached_property
    def wait_s(self) -> float:
        """Return the part of `kernels_s` in which kernels wait for their launches."""
        return math.fsum([k.wait_s for k in self.kernels])

    @property
    def behind_s(self) -> float:
        """Return the time that the device waits for a slow host, in seconds.

        Waits of single kernels for their launches are not in it.
        """
        behind_s = self.kernels_total.wait_s - self.wait_s
        return behind_s if behind_s > HOST_BOUND_S else 0.0

    @property
    def host_s(self) -> float:
        """Return the host time added to the kernels: its nodes, and the wait for its launches."""
        return self.kernels_total.host_s + self.behind_s

    def total_with(self, times_s: Mapping[int, float]) -> float:
        """Return the time of the run if some kernels took other times, in seconds.

        Overlap of streams changes in proportion; unattributed time stays. A host that keeps
        the device waiting does so still.

        Args:
            times_s: by the kernels' indices.
        """
        saved_s = math.fsum(self.kernels[i].time_s - t for i, t in times_s.items())
        return self.total_of(self.kernels_s - saved_s)

    def total_of(self, kernels_s: float, launch_factor: float = 1.0) -> float:
        """Return the time of the run if all kernels together took ``kernels_s``.

        Args:
            kernels_s: launches included, in seconds.
            launch_factor: host time per launch, over the present one.
        """
        now = self.kernels_total
        alone_s = self.kernels_s + now.host_s
        behind_s = self.behind_s
        device_s = now.time_s - behind_s
        then_s = device_s * ((kernels_s + now.host_s) / alone_s) if alone_s else 0.0
        return self.run_time_s(max(then_s, now.time_s * launch_factor if behind_s else 0.0))

    def run_time_s(self, kernels_s: float) -> float:
        """Return the time of the run if its kernels summed up to ``kernels_s``, in seconds.

        Unattributed time is added; if it is negative, its ratio to the run stays instead.
        """
        now_s = self.kernels_total.time_s
        if self.unattributed_s >= 0 or not now_s:
            return kernels_s + self.unattributed_s
        return kernels_s * (self.total.time_s / now_s)

    def share(self, predictor: Predictor) -> float:
        """Return the share of the kernel time that one predictor gives."""
        whole = math.fsum(k.time_s for k in self.kernels)
        selected = math.fsum(k.time_s for k in self.kernels if k.predictor is predictor)
        return selected / whole if whole else 0.0


def predict(
    bounds: RooflineTable,
    kernels: KernelTable,
    *,
    source: Module | None = None,
    module: Module | None = None,
    autocast: Autocasting | None = None,
    folder: Path = artefact.SHIPPED,
) -> PredictionTable:
    """Return the predictions for every kernel of a roofline.

    Args:
        bounds: the roofline.
        kernels: its kernels, with their runtime.
        source: the module as read, for nodes that only a host runs; left out by default.
        module: the module of the kernels, for fits to whole steps; left out by default.
        autocast: the nodes that run under autocast; None without it.
        folder: folder of the operator predictor's weights.
    """
    return predicted(Execution(bounds, kernels, module, autocast, folder), source)


def predicted(execution: Execution, source: Module | None = None) -> PredictionTable:
    """Return the predictions of the kernels and of the run.

    Args:
        execution: kernels, machine and runtime.
        source: the module as read, for the nodes that only a host runs; they are left out else.
    """
    bounds, kernels, module = execution.bounds, execution.kernels, execution.module
    machine, runtime = bounds.machine, kernels.runtime.name
    complete = in_run(execution, estimates(execution))
    efficiencies = of_machine(machine, runtime)
    host_s = on_host(source, kernels, efficiencies)
    whole = total(complete, bounds.floor_s, host_s, efficiencies)
    if kernels.runtime.streams > 1 and module is not None:
        from .overlap import overlapped

        launch_s = launch_gap(machine, kernels.runtime.launch).mid
        whole = overlapped(whole, complete, bounds, kernels, module, launch_s)
    stated_s = execution.host_launch_s
    host = launch_cost(machine, kernels.runtime, stated_s)
    launches = launches_of(execution) if host is not None else 0.0
    whole = kept_waiting(whole, launches, host)
    is_stated = stated_s is not None
    note = "" if host is None else host_note(launches, kernels.runtime, host, is_stated=is_stated)
    return table_of(complete, whole, bounds, kernels.runtime, note)


def in_run(execution: Execution, alone: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates of kernels in a run: with copies, recurrent steps and launches.

    The machine's corrections come first; fitted rates already include the rest.
    """
    bounds, machine = execution.bounds, execution.machine
    corrections = adapt.of_machine(machine)
    launch = launch_gap(machine, execution.kernels.runtime.launch)
    timed_alone = (Predictor.LEARNED, Predictor.ROOFLINE)
    plain = [i for i, e in enumerate(alone) if e.predictor in timed_alone]
    copies = StepFactors().copies(execution, plain)
    result: list[Estimate] = []
    firsts: dict[tuple[int, int], Estimate] = {}
    for i, (bound, estimate) in enumerate(zip(bounds.kernels, alone, strict=True)):
        same = (bound.kernel.identity, id(estimate))
        if same in firsts and i not in copies:
            result.append(firsts[same])
            continue
        here = adapt.corrected(estimate, bound.launches, corrections)
        if estimate.predictor is not Predictor.FITTED:
            if i in copies and estimate.predictor is Predictor.LEARNED:
                here = here.followed_by(copies[i].time, copies[i].summed)
            here = here if machine.kind == "cpu" else chained(here, bound, bounds.env_of(i))
            here = here.waiting(launch * bound.launches)
        if i not in copies:
            firsts[same] = here
        result.append(here)
    return result


def table_of(
    complete: Sequence[Estimate],
    whole: RunEstimate,
    bounds: RooflineTable,
    runtime: Runtime,
    waiting: str = "",
) -> PredictionTable:
    """Return kernels and run with what their energies are computed from.

    Args:
        complete: the kernels.
        whole: the run.
        bounds: the roofline of the kernels.
        runtime: runtime of the kernels.
        waiting: the note of a run that waits for its host.
    """
    behind_s = whole.wait_s - math.fsum([k.wait_s for k in complete])
    late = [waiting] if waiting and behind_s > HOST_BOUND_S else []
    limits = (*notes(complete, bounds.machine, runtime.name), *late)
    return PredictionTable(tuple(complete), whole, limits, (bounds, whole))


def on_host(
    source: Module | None, kernels: KernelTable, efficiencies: Efficiencies | None
) -> float:
    """Return the fitted time of nodes that only a host runs, in seconds; 0 without a fit."""
    if efficiencies is None or source is None:
        return 0.0
    return efficiencies.host_s * host_nodes(source, kernels)


def total(
    kernels: Sequence[Estimate],
    floor_s: float,
    host_s: float,
    efficiencies: Efficiencies | None,
) -> RunEstimate:
    """Return the run as the sum of its kernels, with an interval.

    If fitted rates give nearly all of it, the interval is that of whole runs that the fit held out.
    Else it is the interval of the sum (`summing`).
    """
    time_s = max(math.fsum(k.time_s for k in kernels) + host_s, floor_s)
    wait_s = math.fsum(k.wait_s for k in kernels)
    fitted_s = host_s + math.fsum(k.time_s for k in kernels if k.predictor is Predictor.FITTED)
    whole = efficiencies.ratios.get(WHOLE) if efficiencies is not None else None
    if whole is not None and fitted_s > 0.95 * time_s:
        low_s, high_s = time_s * whole.low, time_s * whole.high
    else:
        below, above = sides_of(kernels)
        low_s, high_s = time_s - half_width(below), time_s + half_width(above)
    time = Interval(max(low_s, floor_s), time_s, max(high_s, time_s))
    return RunEstimate(floor_s, time, wait_s, host_s)


def notes(kernels: Sequence[Estimate], machine: Machine, runtime: str) -> Iterable[str]:
    """Yield the limitations of a prediction that a reader must know."""
    if not kernels:
        return
    whole = math.fsum(k.time_s for k in kernels)
    unknown = (k for k in kernels if k.predictor is Predictor.ROOFLINE and not k.is_measured)
    bare = math.fsum(k.time_s for k in unknown)
    if not any(k.is_measured for k in kernels):
        yield (
            f"no measurement of {runtime} on a machine like {machine.name}: wide intervals"
            " (perfc calibrate --fit-from, perfc adapt)"
        )
    elif bare > 0.1 * whole:
        part = f"{100 * bare / whole:.0f} %"
        yield f"{part} of the time is in kernels without a predictor: wide intervals"
