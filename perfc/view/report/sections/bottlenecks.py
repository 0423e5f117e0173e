"""Bottlenecks of a run: time saved when each ceiling is lifted, and possible changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.passes.roofline.roofline import GRAPH_GAP, Ceiling, KernelBound, launch_s

from ..amounts import key, ratio, title
from ..formats.document import Column, Note, Section, tabulate
from ..memory_sections import remedies
from ..memory_sections.pressure import Repeated
from ..memory_sections.remedies import Remedy
from ..units import Unit, share, time_text
from .limits import LimitShare

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report

LEAST = 0.005
"""Minimum share of the time that a remedy must save to appear in the text."""


@record
class Bottleneck:
    """One ceiling and the time of the run without it.

    Args:
        ceiling: identifier of the ceiling.
        bound_kernels: number of kernels it binds.
        bound_share: share of the run's time that it limits.
        time_doubled_s: time of the run if this ceiling were twice as fast.
        time_lifted_s: time of the run if this ceiling took no time.
        saving_doubled_s: time saved if it were twice as fast.
        saving_lifted_s: time saved if it took no time, the limit for any remedy.
        remedy: advice against it.
    """

    ceiling: str
    bound_kernels: int
    bound_share: float
    time_doubled_s: float
    time_lifted_s: float
    saving_doubled_s: float
    saving_lifted_s: float
    remedy: str


@record
class Bottlenecks:
    """Ceilings with the time that lifting them saves, and possible changes.

    Args:
        ceilings: largest saving first.
        remedies: largest saving first.
    """

    ceilings: tuple[Bottleneck, ...]
    remedies: tuple[Remedy, ...]


ADVICE = {
    Ceiling.MATRIX: "a narrower type, fewer operations, or more matrix units",
    Ceiling.VECTOR: "a narrower type, or fusion of repeated arithmetic",
    Ceiling.SPECIAL: "cheaper or 16-bit activation functions",
    Ceiling.INTEGER: "fewer index computations; fold them ahead of time",
    Ceiling.L1: "wider fusion, which keeps values in registers",
    Ceiling.L2: "wider fusion, a narrower type, larger tiles",
    Ceiling.DEVICE: "a narrower type, wider fusion, more reuse of weights (larger batch)",
    Ceiling.WAVES: "shapes that fill whole waves, smaller tiles or split-k",
    Ceiling.LAUNCH: "CUDA graph, wider fusion, larger batch",
}


def changes(report: Report, kernels: Sequence[Repeated]) -> tuple[Remedy, ...]:
    """Return the changes that save time, as `remedies.collect` does.

    Args:
        report: the analyzed run.
        kernels: its distinct kernels.
    """
    run = ChangedRun.of(report, kernels)
    return remedies.collect(
        report,
        run.total_s,
        lambda: run.retimed(scaled(Ceiling.LAUNCH, GRAPH_GAP)),
        predict=run.table is not None,
    )


def collect(
    report: Report,
    kernels: Sequence[Repeated],
    limits: Sequence[LimitShare],
    useful: tuple[Remedy, ...],
) -> Bottlenecks:
    """Compute the time saved by lifting each ceiling of ``report``.

    Savings refer to the predicted time if there is a prediction, assuming that the prediction of a
    kernel scales with its sustained time; otherwise to the sustained time.

    Args:
        report: the analyzed run.
        kernels: its distinct kernels.
        limits: shares of its time by limit.
        useful: its `changes`.
    """
    shares = {limit.key: limit.share for limit in limits}
    roof, run = report.roofline, ChangedRun.of(report, kernels)
    bottlenecks: list[Bottleneck] = []
    for c in Ceiling:
        bound = [k for k in kernels if k.binding is c]
        is_used = bound or any(k.kernel.sustained.get(c) for k in kernels)
        if not is_used and not (c is Ceiling.LAUNCH and roof.launch_gap_s):
            continue
        doubled, lifted = (run.retimed(scaled(c, factor)) for factor in (0.5, 0.0))
        bottlenecks.append(
            Bottleneck(
                key(c),
                bound_kernels=sum(k.count for k in bound),
                bound_share=shares.get(key(c), 0.0),
                time_doubled_s=doubled,
                time_lifted_s=lifted,
                saving_doubled_s=max(run.total_s - doubled, 0.0),
                saving_lifted_s=max(run.total_s - lifted, 0.0),
                remedy=ADVICE[c],
            )
        )
    return Bottlenecks(
        tuple(sorted(bottlenecks, key=lambda b: (-b.saving_lifted_s, b.ceiling))),
        useful,
    )


Factor = Callable[[KernelBound, Ceiling], float]
"""Function that returns the factor for the time of a kernel under a ceiling."""


def scaled(ceiling: Ceiling, factor: float) -> Factor:
    """Return a function that scales the time of ``ceiling`` by ``factor`` and keeps the others.

    Time in partial waves is time of matrix units: faster units shorten it too. If only the waves
    are full, the plain time of matrix units remains.
    """
    changed = (Ceiling.MATRIX, Ceiling.WAVES) if ceiling is Ceiling.MATRIX else (ceiling,)
    return lambda k, c: factor if c in changed else 1.0


@record
class ChangedRun:
    """The kernels of a run, and the time of the run with changed kernel times.

    Args:
        kernels: distinct kernels with their counts.
        launch_s: time between the starts of two empty kernels.
        table: the prediction; None without one.
        total_s: time of the run as printed.
    """

    kernels: Sequence[Repeated]
    launch_s: float
    table: PredictionTable | None
    total_s: float

    @classmethod
    def of(cls, report: Report, kernels: Sequence[Repeated]) -> ChangedRun:
        """Create the run of a report, predicted if its kernels are."""
        is_predicted = bool(kernels) and kernels[0].predicted is not None
        table = report.prediction if is_predicted else None
        total_s = table.total.time_s if table is not None else report.roofline.time_s
        return cls(kernels, launch_s(report.machine, report.kernels.runtime.launch), table, total_s)

    def time_s(self, kernel: Repeated) -> float:
        """Return the time of one kernel, including its launch."""
        return kernel.time_s if kernel.predicted is None else kernel.predicted.time_s

    def retimed(self, factor: Factor) -> float:
        """Return the time of the run with the ceilings of every kernel scaled."""
        times_s = [self.retimed_kernel(k, factor) for k in self.kernels]
        if self.table is None:
            return math.fsum(k.count * t for k, t in zip(self.kernels, times_s, strict=True))
        # the host has one time per launch: `scaled` gives every kernel the same factor
        launches = (factor(k.kernel, Ceiling.LAUNCH) for k in self.kernels)
        changed = {i: t for k, t in zip(self.kernels, times_s, strict=True) for i in k.indices}
        return self.table.total_with(changed, max(launches, default=1.0))

    def retimed_kernel(self, repeated: Repeated, factor: Factor) -> float:
        """Return the time of one kernel with its ceilings scaled, at least its launch time."""
        kernel = repeated.kernel
        now_s = max(kernel.sustained.values(), default=0.0)
        busy_s = max((t * factor(kernel, c) for c, t in kernel.sustained.items()), default=0.0)
        waits_s = kernel.launches * self.launch_s * factor(kernel, Ceiling.LAUNCH)
        if self.table is None:
            return max(busy_s, waits_s)
        launched = self.table.launched[repeated.indices[0]]
        # the predicted time on the device scales as the time at measured rates does
        busy_s = launched.device_s * (busy_s / now_s if now_s else 1.0)
        return launched.relaunched_s(busy_s, waits_s, factor(kernel, Ceiling.LAUNCH))


def section(view: Bottlenecks, total_s: float) -> Section:
    """Return the section of ceilings and changes with the time each saves.

    Args:
        view: bottlenecks of a run.
        total_s: time of the run.
    """
    columns = (
        Column("ceiling", "limited by", cell=lambda b: title(b.ceiling)),
        Column("bound_share", "share", Unit.SHARE),
        Column(
            "saving_doubled_s",
            "if 2× faster",
            Unit.SECOND,
            is_spare=True,
            cell=lambda b: -b.saving_doubled_s,
        ),
        Column("saving_lifted_s", "if free", Unit.SECOND, cell=lambda b: -b.saving_lifted_s),
        Column("remedy", "what helps", is_name=True, wraps=True),
    )
    shown = [b for b in view.ceilings if ratio(b.saving_lifted_s, total_s) >= LEAST]
    notes = [Note(words(r, total_s)) for r in view.remedies if ratio(r.saving_s, total_s) >= LEAST]
    if not shown:
        return Section(
            "bottlenecks",
            "bottlenecks",
            (Note("removing any single limit saves nothing"), *notes),
        )
    return Section("bottlenecks", "bottlenecks", (tabulate(columns, shown), *notes))


def words(remedy: Remedy, total_s: float) -> str:
    """Describe a change: the time of the run with it, and the saving."""
    saved = f"-{share(ratio(remedy.saving_s, total_s))}"
    saved += "" if remedy.items == 1 else f" per item, {remedy.items} × the items"
    means = remedy.option or remedy.basis
    return f"{remedy.name} ({means}): {time_text(remedy.time_s)}, {saved}"
