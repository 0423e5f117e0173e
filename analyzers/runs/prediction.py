"""Prediction of every kernel and of the run: lower bound, time, interval and predictor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from perfc.ir import frozen
from perfc.machine import Machine
from perfc.passes.roofline.roofline import RooflineTable
from perfc.passes.runtimes import LaunchMode

from ..estimate.estimate import CandidateRun, Estimate, Predictor, RunEstimate
from ..estimate.interval import Interval
from ..estimators import IN_ORDER, Execution
from ..features.sheet import Sheet
from ..intervals import adapt
from ..intervals.summing import half_width, sides_of
from .energy import Energy, energy_of, idling, summed
from .host import QUEUE_GAP, host_note, host_of, launch_gap
from .recurrence import chained
from .timeline import RunHost, changed_ratio, spread, timeline

HOST_BOUND = 0.05
"""Share of a run in waits for the host above which the run is host-bound. Almost every run has some
short kernels that wait, so that less is not worth a note."""


def extrapolation(predictor: str) -> str:
    """Return the prefix of a note on why a predictor extrapolates; "" stands for ``kernels``."""
    return f"extrapolation by the predictor {predictor or 'kernels'}: "


@frozen
class PredictionTable:
    """Predictions of all kernels in the order of the roofline, and of the run.

    The times of the kernels and the fixed time of the run add up to its time.

    Args:
        kernels: estimate of each kernel in the run, with its part of the waits for the host, times
            the run factor.
        total: estimate of the run.
        notes: limitations of the prediction, for users.
        bounds: roofline of the kernels, for energies; None without energies.
        launched: estimates of the kernels on a device that never waits for its host.
        host: launches of the run by its host; None if the device never waits for it.
        alone: the run by its timeline, before the run factor; None if that is ``total``.
        whole: the predictor of whole runs and its training runs, as text; "" without one.
        others: the same run by further predictors of whole runs.
        is_own: True if the whole-run predictor was fitted to such runs of this machine.
        publications: titles of publications with measured runs of the network in this deployment.
        other_quantities: ``memory_bytes`` or ``energy_j`` by the whole-run predictor.
    """

    kernels: tuple[Estimate, ...]
    total: RunEstimate
    notes: tuple[str, ...] = ()
    bounds: RooflineTable | None = field(default=None, compare=False, repr=False)
    launched: tuple[Estimate, ...] = field(default=(), repr=False)
    host: RunHost | None = None
    alone: RunEstimate | None = None
    whole: str = ""
    others: tuple[CandidateRun, ...] = ()
    is_own: bool = False
    publications: tuple[str, ...] = ()
    other_quantities: tuple[tuple[str, float], ...] = ()

    @cached_property
    def energies(self) -> tuple[Energy | None, ...]:
        """Return the energies of the kernels; None for machines without a power model."""
        if self.bounds is None:
            return ()
        sheet = Sheet(self.bounds.machine)
        # equal kernels with one estimate are computed once
        pairs = [*zip(self.bounds.kernels, self.kernels, strict=True)]
        keys = [(b.kernel.identity, id(k)) for b, k in pairs]
        distinct = dict(zip(keys, pairs, strict=True))
        # while it waits for its host or between launches the board draws idle power
        energy = {key: energy_of(b, k.time, k.idle_s, sheet) for key, (b, k) in distinct.items()}
        return tuple([energy[key] for key in keys])

    @cached_property
    def energy(self) -> Energy | None:
        """Return the energy of the run; the board is idle outside of kernels."""
        if self.bounds is None:
            return None
        fixed_s = self.total.fixed_s
        idle = [idling(fixed_s, self.bounds.machine)] if fixed_s > 0 else []
        return summed((*self.energies, *idle), self.total.time)

    @property
    def outside(self) -> tuple[str, ...]:
        """Return the reasons why the predictor of whole runs extrapolates; empty if it does not."""
        start = extrapolation(self.total.predictor)
        return tuple(n.removeprefix(start) for n in self.notes if n.startswith(start))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the notes without the reasons why the predictor of whole runs extrapolates."""
        start = extrapolation(self.total.predictor)
        return tuple(n for n in self.notes if not n.startswith(start))

    @property
    def timeline(self) -> RunEstimate:
        """Return the run by its kernels, host and fixed time, without the run factor."""
        return self.alone or self.total

    @property
    def run_factor(self) -> float:
        """Return the time of the run by measured runs over that of its timeline."""
        return self.total.time_s / self.timeline.time_s if self.timeline.time_s else 1.0

    def at_scale(self, scale: float) -> tuple[Estimate, ...]:
        """Return the kernels at another factor of the run than their own.

        Their own factor is divided out; kernels without time stay.
        """
        if scale == self.scale:
            return self.kernels
        return tuple(
            k.scaled(scale / ratio).above(k.floor_s) if (ratio := _ratio(k, alone)) else k
            for k, alone in zip(self.kernels, self.launched, strict=True)
        )

    @cached_property
    def scale(self) -> float:
        """Return the factor of kernels in the run, without waits.

        It is the smallest of all kernels: those that it would take below their lower bounds are at
        these bounds, so that they have a larger one.
        """
        ratios = map(_ratio, self.kernels, self.launched)
        return min((ratio for ratio in ratios if ratio), default=1.0)

    @cached_property
    def kernels_s(self) -> float:
        """Return the time of all kernels in the run, in seconds."""
        return math.fsum([k.time_s for k in self.kernels])

    @cached_property
    def wait_s(self) -> float:
        """Return the part of `kernels_s` in which the device waits for its host."""
        return math.fsum([k.wait_s for k in self.kernels])

    @cached_property
    def gap_s(self) -> float:
        """Return the part of `kernels_s` between launches."""
        return math.fsum([k.gap_s for k in self.kernels])

    @property
    def is_host_bound(self) -> bool:
        """Return True if the device waits for its host for much of the run."""
        return self.wait_s > HOST_BOUND * self.total.time_s

    def total_with(self, times_s: Mapping[int, float], launch_factor: float = 1.0) -> float:
        """Return the time of the run if some kernels took other times, in seconds.

        The timeline is computed again; the run factor stays.

        Args:
            times_s: times of `launched` kernels, by index.
            launch_factor: ratio of the host time per launch to the present one.
        """
        now_s = [k.time_s for k in self.launched]
        # time of the changed timeline over that of the present one
        ratio = changed_ratio(now_s, times_s, self.host, launch_factor)
        return self.total.fixed_s + self.kernels_s * ratio

    def time_of(self, other: PredictionTable) -> float:
        """Return the time of another run with the factors of this one, in seconds."""
        # the sum of kernels and the fixed time have separate factors
        fixed_s = self.timeline.fixed_s
        alone_s = self.timeline.time_s - fixed_s
        factor = self.kernels_s / alone_s if alone_s > 0 else 1.0
        of_fixed = self.total.fixed_s / fixed_s if fixed_s else 1.0
        return other.total.fixed_s * of_fixed + other.kernels_s * factor

    def share(self, predictor: Predictor) -> float:
        """Return the share of the kernel time that one predictor gives."""
        whole = math.fsum(k.time_s for k in self.kernels)
        selected = math.fsum(k.time_s for k in self.kernels if k.predictor is predictor)
        return selected / whole if whole else 0.0


def _ratio(kernel: Estimate, alone: Estimate) -> float:
    """Return the factor of a kernel in the run, without waits; 0 if it has no time."""
    return (kernel.time_s - kernel.wait_s) / alone.time_s if alone.time_s else 0.0


def predicted(execution: Execution) -> PredictionTable:
    """Return the predictions of the kernels and of the run."""
    bounds, kernels, module = execution.bounds, execution.kernels, execution.module
    machine, runtime = bounds.machine, kernels.runtime
    launched = in_run(execution)
    device = total(launched, bounds.floor_s)
    stream_ratio = 1.0
    if runtime.streams > 1 and module:
        from .overlap import overlap

        stream_ratio = overlap(launched, bounds, kernels, module)
    host = host_of(execution)
    waiting = timeline(launched, host)
    fixed = host.fixed if host else Interval.exactly(0.0)
    sum_s = math.fsum([*(k.time_s for k in waiting), fixed.mid])
    # host and device run concurrently: the slower one decides; the fixed time is before and after
    time = device.time.slower_of(host.time) + fixed if host else device.time
    # the estimate is the sum of the timeline, kernels that wait for the host included, times the
    # effect of streams; the ends keep their ratios to the middle
    time = time * (stream_ratio * sum_s / time.mid) if time.mid else time
    run = replace(device, time=time.at_least(bounds.floor_s), fixed_s=fixed.mid)
    in_time, run = spread(waiting, run)
    table = PredictionTable(
        tuple(in_time),
        run,
        (*notes(launched, machine, runtime.name),),
        bounds,
        tuple(launched),
        host,
    )
    if host is None or not table.is_host_bound:
        return table
    is_given = execution.host_launch_s is not None
    return replace(table, notes=(*table.notes, host_note(host, runtime, is_given=is_given)))


def in_run(execution: Execution) -> list[Estimate]:
    """Return the estimates of kernels in a run: with recurrent steps and launches.

    Each kernel is estimated by itself first, by the first estimator that knows it. Then follow the
    corrections of the machine, the latency of recurrent steps, and the launches.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    alone: dict[int, Estimate] = {}
    # the most trusted first: each takes the kernels that no estimator before it knows
    for estimator in IN_ORDER:
        if wanted := [i for i in execution.indices if i not in alone]:
            alone |= estimator.estimate(execution, wanted)
    bounds, machine = execution.bounds, execution.machine
    corrections = adapt.of_machine(machine)
    launch = launch_gap(machine, execution.kernels.runtime.launch)
    is_graph = execution.kernels.runtime.launch is LaunchMode.GRAPH
    result: list[Estimate] = []
    firsts: dict[tuple[int, int], Estimate] = {}
    for i, bound in enumerate(bounds.kernels):
        estimate = alone[i]
        # equal kernels share one estimate
        same = (bound.kernel.identity, id(estimate))
        if same not in firsts:
            corrected_estimate = estimate
            if corrections:
                corrected_estimate = adapt.corrected(estimate, bound.launches, corrections)
            corrected_estimate = (
                corrected_estimate
                if machine.kind == "cpu"
                else chained(corrected_estimate, bound, bounds.at(i))
            )
            # laws were fitted to kernels in recorded graphs and include the gap there; kernels that
            # are launched one by one have a further gap
            if estimate.predictor is not Predictor.LAW:
                corrected_estimate = corrected_estimate.launched(launch * bound.launches)
            elif not is_graph and machine.kind != "cpu":
                corrected_estimate = corrected_estimate.spaced(QUEUE_GAP * bound.launches)
            firsts[same] = corrected_estimate
        result.append(firsts[same])
    return result


def total(kernels: Sequence[Estimate], floor_s: float) -> RunEstimate:
    """Return the run as the sum of its kernels, with the interval of the sum (`summing`)."""
    time_s = max(math.fsum(k.time_s for k in kernels), floor_s)
    below, above = sides_of(kernels)
    low_s, high_s = time_s - half_width(below), time_s + half_width(above)
    time = Interval(max(low_s, floor_s), time_s, max(high_s, time_s))
    return RunEstimate(floor_s, time, 0.0)


def notes(kernels: Sequence[Estimate], machine: Machine, runtime: str) -> Iterable[str]:
    """Yield the limitations of a prediction, as notes for users."""
    if not kernels:
        return
    whole = math.fsum(k.time_s for k in kernels)
    unknown = (k for k in kernels if k.predictor is Predictor.ROOFLINE and not k.is_measured)
    unknown_s = math.fsum(k.time_s for k in unknown)
    if not any(k.is_measured for k in kernels):
        yield (
            f"no measurement of {runtime} on a machine like {machine.name}: wide intervals"
            " (perfc adapt)"
        )
    elif unknown_s > 0.1 * whole:  # a smaller part hardly widens the interval of the run
        part = f"{100 * unknown_s / whole:.0f} %"
        yield f"{part} of the time is in kernels without a predictor: wide intervals"
