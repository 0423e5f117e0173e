"""What every kernel will take: floor, prediction, interval, and who says so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.ir.graph import Module
from perfc.machine import Machine
from perfc.passes import Analysis
from perfc.passes.fitted import Efficiencies, Ratios, host_nodes, of_machine
from perfc.passes.fitted.efficiencies import WHOLE
from perfc.passes.fuse import Fuse, KernelTable
from perfc.passes.roofline import KernelBound, Roofline, RooflineTable

from . import adapt, artefact
from .energy import Energy, Spell, energy_of, idling, summed
from .host import host_note, kept_waiting
from .launch_gap import Gap as Gap
from .launch_gap import gap as gap
from .learned import Learned, learned
from .overlap import overlapped
from .recurrence import chained
from .spread import Spread, spread_of
from .steps.kernels import Autocasting, KernelTime, kernel_times
from .steps.predict import CLASS
from .summing import half_width, sides_of

if TYPE_CHECKING:
    from perfc.passes.manager import Analyses

WIDELY = frozenset({"matmul", "attention_prefill", "attention_decode"})
"""Classes measured in 16 bits on many machines."""
UNKNOWN_RATIOS = Ratios(0.4, 2.5)
"""Of a class whose fit left no kernel out; assumed."""


class Predictor(Enum):
    """Who says what a kernel takes, the most trusted first."""

    FITTED = "fitted"
    """Rates fitted to kernels that this machine ran under this runtime."""
    LEARNED = "learned"
    """The operator predictor, from the target's data sheet."""
    STEPS = "steps"
    """What whole steps of models taught of kernels that nobody timed alone."""
    ROOFLINE = "roofline"
    """Sustained rates, times what kernels of the kind usually take of them."""


@dataclass(frozen=True, slots=True)
class KernelPrediction:
    """What one kernel will take; all launches of one run together.

    Args:
        floor_s: no execution is faster.
        time_s: predicted, waiting for its launch included; never below the floor.
        low_s: lower end of the interval that holds nine of ten such kernels.
        high_s: upper end.
        wait_s: part of ``time_s`` that only waits for the launch.
        predictor: who says so.
        class_name: class of kernels whose measurements it rests on.
        is_extrapolating: whether the kernel, or the machine, is unlike all that was measured.
        is_measured: whether kernels of the class were measured on this machine, or a near one.
        is_own: whether kernels of the class were measured on this very machine.
        in_run: ends that count in the interval of the run, where errors cancel in a sum; None
            where they are ``low_s`` and ``high_s``.
        correction: factor in ``time_s`` that kernels measured on this machine gave (`adapt`).
    """

    floor_s: float
    time_s: float
    low_s: float
    high_s: float
    wait_s: float
    predictor: Predictor
    class_name: str
    is_extrapolating: bool = False
    is_measured: bool = True
    is_own: bool = False
    in_run: tuple[float, float] | None = None
    correction: float = 1.0


@dataclass(frozen=True, slots=True)
class Total:
    """What the run will take.

    Args:
        floor_s: no run is faster.
        time_s: kernels, launches and the host's own nodes.
        low_s: lower end of the interval that holds nine of ten such runs.
        high_s: upper end.
        wait_s: part of ``time_s`` that waits for launches.
        host_s: part of ``time_s`` that the host's own nodes take.
        predictor: of whole runs, who says so; "" for the sum of the kernels. Then ``wait_s`` and
            ``host_s`` are the kernels' still.
    """

    floor_s: float
    time_s: float
    low_s: float
    high_s: float
    wait_s: float
    host_s: float
    predictor: str = ""


@dataclass(frozen=True)
class PredictionTable:
    """Predictions of all kernels in the order of the roofline's, and of the run.

    Args:
        kernels: one for each kernel of the roofline.
        total: of the run.
        notes: what a reader must know before trusting them.
        energies: of the kernels; None where nobody fitted the power of such a machine.
        energy: of the run.
        summed: the kernels' own total, where a predictor of whole runs answers for ``total``.
        whole: in words, that predictor and the runs it learned from.
    """

    kernels: tuple[KernelPrediction, ...]
    total: Total
    notes: tuple[str, ...] = ()
    energies: tuple[Energy | None, ...] = ()
    energy: Energy | None = None
    summed: Total | None = None
    whole: str = ""

    @property
    def kernels_total(self) -> Total:
        """The run as the sum of its kernels, which shares of kernels are of."""
        return self.summed or self.total

    def share(self, predictor: Predictor) -> float:
        """Share of the predicted kernel time that one predictor answers for."""
        whole = math.fsum(k.time_s for k in self.kernels)
        own = math.fsum(k.time_s for k in self.kernels if k.predictor is predictor)
        return own / whole if whole else 0.0


@dataclass(frozen=True)
class Prediction(Analysis[PredictionTable]):
    """Fitted rates first, then the operator predictor, then whole steps, then a roofline.

    No prediction is below the floor. Kernels overlap where the runtime has several streams. Left
    out: clocks that heat lowers, other programs.
    """

    requires: ClassVar = (Fuse, Roofline)
    target: str = "a100"
    runtime: str = "ort"
    tf32: bool = True

    def run(self, module: Module, am: Analyses) -> PredictionTable:
        """Predictions at the default values of the symbols."""
        bounds = am.get(Roofline(self.target, self.runtime, self.tf32), module)
        return predict(bounds, am.get(Fuse(self.runtime), module), module=module, tf32=self.tf32)


def predict(
    bounds: RooflineTable,
    kernels: KernelTable,
    *,
    source: Module | None = None,
    module: Module | None = None,
    tf32: bool = True,
    autocast: Autocasting | None = None,
    folder: Path = artefact.SHIPPED,
) -> PredictionTable:
    """Predictions for every kernel of a roofline.

    Args:
        bounds: the roofline.
        kernels: the kernels it is of, with their runtime.
        source: the module as read, for the nodes that only a host runs; they are left out else.
        module: what the kernels are of, for what whole steps taught; that is left out else.
        tf32: whether f32 products may use TF32.
        autocast: what runs under it, None where nothing does.
        folder: where the weights of the operator predictor lie.
    """
    machine, runtime = bounds.machine, kernels.runtime.name
    efficiencies = of_machine(machine, runtime)
    corrections = adapt.of_machine(machine)
    found = by_fit(bounds, runtime, efficiencies)
    launch = gap(machine, kernels.runtime.launch)
    missing = [i for i, k in enumerate(found) if k is None]
    how = kernels.runtime.launch
    known = learned(bounds, missing, tf32=tf32, launch=how, folder=folder) if missing else {}
    taught: dict[int, KernelTime] = {}
    copies: dict[int, KernelTime] = {}
    if module is not None and missing:
        taught = kernel_times(bounds, kernels, module, missing, autocast=autocast, folder=folder)
        taught = {i: t for i, t in taught.items() if comes_first(t, known.get(i))}
        plain = [i for i in missing if i not in taught]
        copies = kernel_times(
            bounds, kernels, module, plain, copies_alone=True, autocast=autocast, folder=folder
        )
    complete: list[KernelPrediction] = []
    for i, bound in enumerate(bounds.kernels):
        if i in taught:
            own = by_steps(taught[i], bound)
        elif i in known:
            own = by_learning(known[i], bound)
        else:
            own = found[i] or by_roofline(bound, machine)
        own = adapt.corrected(own, bound.launches, corrections)
        if found[i] is None:
            own = after_copies(own, copies.get(i) if i in known and i not in taught else None)
            own = own if machine.kind == "cpu" else chained(own, bound, bounds.env)
            own = waited(own, bound, launch)
        complete.append(own)
    host_s = on_host(source, kernels, efficiencies)
    whole = total(complete, bounds.floor_s, host_s, efficiencies)
    if kernels.runtime.streams > 1 and module is not None:
        whole = overlapped(whole, complete, bounds, kernels, module, launch.time_s)
    launches = math.fsum(b.launches for b in bounds.kernels)
    whole = kept_waiting(whole, launches, machine, runtime)
    return table_of(complete, whole, bounds, runtime)


def table_of(
    complete: Sequence[KernelPrediction], whole: Total, bounds: RooflineTable, runtime: str
) -> PredictionTable:
    """Kernels and the run with their energies; waiting for the host, the board idles."""
    machine = bounds.machine
    energies = tuple(
        energy_of(b, Spell(k.time_s, k.low_s, k.high_s, k.wait_s), machine)
        for b, k in zip(bounds.kernels, complete, strict=True)
    )
    behind_s = whole.wait_s - math.fsum(k.wait_s for k in complete)
    idle = [idling(behind_s, machine)] if behind_s > 1e-9 else []
    launches = math.fsum(b.launches for b in bounds.kernels)
    return PredictionTable(
        tuple(complete),
        whole,
        (*notes(complete, machine, runtime), *(host_note(launches) for _ in idle)),
        energies,
        summed((*energies, *idle), Spell(whole.time_s, whole.low_s, whole.high_s, whole.wait_s)),
    )


def on_host(
    source: Module | None, kernels: KernelTable, efficiencies: Efficiencies | None
) -> float:
    """Seconds of nodes that only a host runs, where anybody fitted them."""
    if efficiencies is None or source is None:
        return 0.0
    return efficiencies.host_s * host_nodes(source, kernels)


def by_fit(
    bounds: RooflineTable, runtime: str, efficiencies: Efficiencies | None
) -> list[KernelPrediction | None]:
    """Predictions by fitted rates, launches included; None where no class was measured."""
    if efficiencies is None:
        return [None] * len(bounds.kernels)
    found: list[KernelPrediction | None] = []
    for bound, fitted in zip(bounds.kernels, efficiencies.kernels(bounds, runtime), strict=True):
        if fitted is None:
            found.append(None)
            continue
        floor_s, time_s = bound.floor_s, fitted.time_s
        side = efficiencies.ratios.get(fitted.name, UNKNOWN_RATIOS)
        low_s, high_s = max(time_s * side.low, floor_s), max(time_s * side.high, floor_s)
        found.append(
            KernelPrediction(floor_s, time_s, low_s, high_s, 0.0, Predictor.FITTED, fitted.name)
        )
    return found


def by_learning(found: Learned, bound: KernelBound) -> KernelPrediction:
    """What the operator predictor says."""
    return KernelPrediction(
        bound.floor_s, found.time_s, found.low_s, found.high_s, 0.0, Predictor.LEARNED,
        found.class_name, found.is_extrapolating, found.is_measured, found.is_own,
    )  # fmt: skip


def comes_first(steps: KernelTime, other: Learned | None) -> bool:
    """Steps of this machine do, as errors cancel in a run; else who is measured, or `WIDELY` is."""
    if other is None or steps.is_own:
        return True
    return not other.is_measured and (steps.is_measured or other.class_name not in WIDELY)


def by_steps(found: KernelTime, bound: KernelBound) -> KernelPrediction:
    """What whole steps taught."""
    floor_s = bound.floor_s
    return KernelPrediction(
        floor_s,
        max(found.time_s, floor_s),
        max(found.low_s, floor_s),
        max(found.high_s, floor_s),
        0.0,
        Predictor.STEPS,
        CLASS,
        found.is_extrapolating,
        found.is_measured,
        in_run=(max(found.in_run[0], floor_s), max(found.in_run[1], floor_s)),
    )


def after_copies(own: KernelPrediction, copies: KernelTime | None) -> KernelPrediction:
    """A kernel with the copies of views that the framework makes for it."""
    if copies is None:
        return own
    return replace(
        own,
        time_s=own.time_s + copies.time_s,
        low_s=own.low_s + copies.low_s,
        high_s=own.high_s + copies.high_s,
        in_run=(own.low_s + copies.in_run[0], own.high_s + copies.in_run[1]),
    )


def by_roofline(bound: KernelBound, machine: Machine) -> KernelPrediction:
    """The sustained roofline times what kernels of the kind usually take of it."""
    spread: Spread = spread_of(machine.kind, bound.kernel.kind)
    floor_s = bound.floor_s
    low_s, time_s, high_s = (
        max(bound.sustained_s * ratio, floor_s) for ratio in (spread.low, spread.mid, spread.high)
    )
    return KernelPrediction(
        floor_s,
        time_s,
        low_s,
        high_s,
        0.0,
        Predictor.ROOFLINE,
        bound.kernel.kind.value,
        is_measured=False,
    )


def waited(found: KernelPrediction, bound: KernelBound, launch: Gap) -> KernelPrediction:
    """A kernel that is shorter than its launch takes as long as that."""
    n = bound.launches
    time_s = max(found.time_s, launch.time_s * n)
    low_s, high_s = launch.low_s * n, launch.high_s * n
    ends = found.in_run
    return replace(
        found,
        time_s=time_s,
        low_s=max(found.low_s, low_s),
        high_s=max(found.high_s, high_s),
        wait_s=time_s - found.time_s,
        in_run=ends and (max(ends[0], low_s), max(ends[1], high_s)),
    )


def total(
    kernels: Sequence[KernelPrediction],
    floor_s: float,
    host_s: float,
    efficiencies: Efficiencies | None,
) -> Total:
    """The run: a sum, and an interval.

    Where nearly everything is fitted and whole runs were left out of the fit, their ratios are the
    interval. Else it is that of the sum (`summing`).
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
    return Total(floor_s, time_s, max(low_s, floor_s), max(high_s, time_s), wait_s, host_s)


def notes(kernels: Sequence[KernelPrediction], machine: Machine, runtime: str) -> Iterable[str]:
    """What a reader must know."""
    if not kernels:
        return
    whole = math.fsum(k.time_s for k in kernels)
    strange = math.fsum(k.time_s for k in kernels if k.is_extrapolating)
    unknown = (k for k in kernels if k.predictor is Predictor.ROOFLINE and not k.is_measured)
    bare = math.fsum(k.time_s for k in unknown)
    if not any(k.is_measured for k in kernels):
        yield (
            f"nothing like {machine.name} under {runtime} was ever measured: wide intervals"
            " (perfc calibrate --fit-from, perfc adapt)"
        )
    elif bare > 0.1 * whole:
        part = f"{100 * bare / whole:.0f} %"
        yield f"{part} of the time is of kernels no predictor knows: wide intervals"
    if strange > 0.1 * whole:
        yield f"{100 * strange / whole:.0f} % of the time is extrapolated beyond what was measured"
