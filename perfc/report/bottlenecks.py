"""What would make the run faster, by how much: each ceiling lifted in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.ir.record import record
from perfc.ir.types import DType
from perfc.machine import Machine
from perfc.machine import Unit as Engine
from perfc.passes.roofline import GRAPH_GAP, Ceiling, KernelBound
from perfc.passes.runtimes import Launch

from .amounts import key, ratio
from .document import Cell, Column, Note, Section, Table
from .pressure import Repeated
from .units import Unit, quantity, share

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report

LEAST = 0.005
"""A remedy that saves a smaller share of the time is left out of the text."""


@record
class Bottleneck:
    """One ceiling and the time there would be without it.

    Args:
        ceiling: what binds.
        bound_kernels: kernels it binds.
        bound_share: their share of the run's time.
        time_doubled_s: the run's time if this ceiling were twice as fast.
        time_lifted_s: the run's time if it cost nothing.
        saving_doubled_s: what the first saves.
        saving_lifted_s: what the second saves, the most that any remedy can.
        remedy: what lifts it, in words.
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
class Remedy:
    """A change that can be made, re-evaluated on the tables of this run.

    Args:
        name: the change.
        time_s: the run's time with it.
        saving_s: what it saves.
        basis: what the number rests on.
    """

    name: str
    time_s: float
    saving_s: float
    basis: str


@record
class Bottlenecks:
    """Ceilings by what lifting them would save, then changes that can be made.

    Args:
        ceilings: largest saving first.
        remedies: largest saving first.
    """

    ceilings: tuple[Bottleneck, ...]
    remedies: tuple[Remedy, ...]


ADVICE = {
    Ceiling.MATRIX: "a narrower type, fewer operations, or more matrix units",
    Ceiling.VECTOR: "a narrower type, or fusing arithmetic that is repeated",
    Ceiling.SPECIAL: "cheaper activations, or 16-bit ones",
    Ceiling.INTEGER: "fewer index computations; fold them before running",
    Ceiling.L1: "wider fusion, so that values stay in registers",
    Ceiling.L2: "wider fusion, a narrower type, larger tiles",
    Ceiling.DEVICE: "a narrower type, wider fusion, more reuse of weights (larger batch)",
    Ceiling.WAVES: "extents that fill whole waves, smaller tiles or split-k",
    Ceiling.LAUNCH: "recording the launches (CUDA graph), wider fusion, larger batch",
}


def collect(report: Report, kernels: Sequence[Repeated]) -> Bottlenecks:
    """What lifting each ceiling of ``report`` would save.

    Of the predicted time where there is a prediction: a kernel's is taken to change as its
    sustained time does. Otherwise of the sustained time.
    """
    roof, run = report.roofline, Run.of(report, kernels)
    found: list[Bottleneck] = []
    for c in Ceiling:
        bound = [k for k in kernels if k.binding is c]
        is_used = bound or any(k.kernel.sustained.get(c) for k in kernels)
        if not is_used and not (c is Ceiling.LAUNCH and roof.launch_gap_s):
            continue
        doubled, lifted = (run.retimed(scaled(c, factor)) for factor in (0.5, 0.0))
        found.append(
            Bottleneck(
                key(c),
                sum(k.count for k in bound),
                ratio(math.fsum(k.count * run.time_s(k) for k in bound), run.kernels_s),
                doubled,
                lifted,
                max(run.total_s - doubled, 0.0),
                max(run.total_s - lifted, 0.0),
                ADVICE[c],
            )
        )
    remedies = [r for r in changes(report, run) if r.saving_s > 0]
    return Bottlenecks(
        tuple(sorted(found, key=lambda b: (-b.saving_lifted_s, b.ceiling))),
        tuple(sorted(remedies, key=lambda r: (-r.saving_s, r.name))),
    )


def launch_s(report: Report) -> float:
    """Time between the starts of two empty kernels."""
    overhead = report.machine.launch_overhead_s
    value = overhead.value if overhead is not None else 0.0
    return value * GRAPH_GAP if report.kernels.runtime.launch is Launch.GRAPH else value


Factor = Callable[[KernelBound, Ceiling], float]
"""What a ceiling's time of a kernel is multiplied by."""


def scaled(ceiling: Ceiling, factor: float) -> Factor:
    """``ceiling`` takes ``factor`` of its time, everything else what it takes.

    Partly empty waves slow the matrix unit: a faster one speeds them up as well, and with full
    waves its own time is what remains.
    """
    both = (Ceiling.MATRIX, Ceiling.WAVES) if ceiling is Ceiling.MATRIX else (ceiling,)
    return lambda k, c: factor if c in both else 1.0


@record
class Run:
    """The kernels of a run, and what the run takes when some of them take another time.

    Args:
        kernels: the distinct ones.
        launch_s: time between the starts of two empty kernels.
        table: the prediction, None where none was asked for.
        total_s: of the run, as it is printed.
    """

    kernels: Sequence[Repeated]
    launch_s: float
    table: PredictionTable | None
    total_s: float

    @classmethod
    def of(cls, report: Report, kernels: Sequence[Repeated]) -> Run:
        """The run of a report, predicted if its kernels are."""
        is_predicted = bool(kernels) and kernels[0].predicted is not None
        table = report.prediction if is_predicted else None
        total_s = table.total.time_s if table is not None else report.roofline.time_s
        return cls(kernels, launch_s(report), table, total_s)

    @property
    def kernels_s(self) -> float:
        """Time of all kernels, one after another."""
        return math.fsum(k.count * self.time_s(k) for k in self.kernels)

    def time_s(self, kernel: Repeated) -> float:
        """One kernel's time, launch included."""
        return kernel.time_s if kernel.predicted is None else kernel.predicted.time_s

    def retimed(self, factor: Factor) -> float:
        """The run's time with every kernel's ceilings scaled."""
        kernels_s = math.fsum(k.count * self.retimed_kernel(k, factor) for k in self.kernels)
        if self.table is None:
            return kernels_s
        launches = (factor(k.kernel, Ceiling.LAUNCH) for k in self.kernels)
        return self.table.total_of(kernels_s, max(launches, default=1.0))

    def retimed_kernel(self, repeated: Repeated, factor: Factor) -> float:
        """One kernel's time with its ceilings scaled; a launch takes its time besides."""
        kernel, predicted = repeated.kernel, repeated.predicted
        now_s = max(kernel.sustained.values(), default=0.0)
        busy_s = max((t * factor(kernel, c) for c, t in kernel.sustained.items()), default=0.0)
        waits_s = kernel.launches * self.launch_s * factor(kernel, Ceiling.LAUNCH)
        if predicted is None:
            return max(busy_s, waits_s)
        busy_s = (predicted.time_s - predicted.wait_s) * (busy_s / now_s if now_s else 1.0)
        # a prediction whose launch is in its rates already does not wait for it once more
        return max(busy_s, min(waits_s, predicted.time_s))


def changes(report: Report, run: Run) -> Iterator[Remedy]:
    """Changes whose effect the tables of this run tell."""
    total, gap_s, kernels = run.total_s, run.launch_s, run.kernels
    if report.kernels.runtime.launch is not Launch.GRAPH and gap_s:
        time = run.retimed(scaled(Ceiling.LAUNCH, GRAPH_GAP))
        basis = f"gaps of {quantity(gap_s * GRAPH_GAP, Unit.SECOND)}, assumed"
        yield Remedy("record the launches in a CUDA graph", time, total - time, basis)
    if not report.dtype and any(k.kernel.dtype is DType.F32 for k in kernels):
        time = run.retimed(narrowed(report.machine, DType.F16, report.tf32))
        basis = "f16 rates and half the bytes of every f32 kernel; exactly: --dtype f16"
        yield Remedy("f16 where the model has f32", time, total - time, basis)
    if report.tf32 is False and any(
        k.kernel.dtype is DType.F32 and k.kernel.counts.mac for k in kernels
    ):
        time = run.retimed(narrowed(report.machine, DType.TF32, False))
        yield Remedy("TF32 for f32 products", time, total - time, "the TF32 rate")


def narrowed(machine: Machine, dtype: DType, tf32: bool) -> Factor:
    """Factors of running f32 kernels in ``dtype``."""
    ratios: dict[Ceiling, float] = {}
    engines = {
        Ceiling.MATRIX: Engine.MATRIX,
        Ceiling.VECTOR: Engine.VECTOR,
        Ceiling.SPECIAL: Engine.SPECIAL,
    }
    for ceiling, engine in engines.items():
        now = machine.entry(engine, DType.F32.code, allow_tf32=tf32)
        then = machine.entry(engine, dtype.code)
        ratios[ceiling] = min(
            (now.sustained or now.nominal).value / (then.sustained or then.nominal).value, 1.0
        )
    ratios[Ceiling.WAVES] = ratios[Ceiling.MATRIX]
    for ceiling in (Ceiling.L1, Ceiling.L2, Ceiling.DEVICE):
        ratios[ceiling] = dtype.bits / DType.F32.bits
    if dtype is DType.TF32:
        ratios = {c: ratios[c] for c in (Ceiling.MATRIX, Ceiling.WAVES)}
    return lambda k, c: ratios.get(c, 1.0) if k.dtype is DType.F32 else 1.0


def section(view: Bottlenecks, total_s: float, *, is_predicted: bool) -> Section:
    """Ceilings with what lifting them saves; changes with what they save.

    Args:
        view: of a run.
        total_s: what the run takes.
        is_predicted: whether that is the prediction; otherwise it is the sustained time.
    """
    of_which = "the predicted time" if is_predicted else "the sustained time"
    columns = (
        Column("ceiling", "ceiling"),
        Column("bound_share", "% bound", Unit.SHARE, f"share of {of_which} it binds"),
        Column("saving_doubled_s", "at 2x", Unit.SECOND, "saved if it were twice as fast"),
        Column("saving_lifted_s", "lifted", Unit.SECOND, "saved if it cost nothing"),
        Column("remedy", "what lifts it", is_name=True, wraps=True),
    )
    shown = [b for b in view.ceilings if ratio(b.saving_lifted_s, total_s) >= LEAST]
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (b.ceiling, b.bound_share, -b.saving_doubled_s, -b.saving_lifted_s, b.remedy) for b in shown
    )
    notes = [
        Note(
            f"{r.name}: -{quantity(r.saving_s, Unit.SECOND)} "
            f"({share(ratio(r.saving_s, total_s))}) to {quantity(r.time_s, Unit.SECOND)}; {r.basis}"
        )
        for r in view.remedies
        if ratio(r.saving_s, total_s) >= LEAST
    ]
    if not shown:
        return Section(
            "bottlenecks",
            "bottlenecks",
            (Note("no single ceiling: lifting one saves nothing"), *notes),
        )
    return Section("bottlenecks", "bottlenecks", (Table(columns, cells), *notes))
