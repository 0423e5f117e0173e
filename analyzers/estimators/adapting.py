"""Residuals of measured kernels against what the predictors say of them, for `perfc adapt`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from perfc.common.choice import member
from perfc.ir import Kind, dtype_named, record
from perfc.machine import Machine, split
from perfc.machine.slices import sliced
from perfc.passes.runtimes import Framework, tables

from ..artefacts.artefact import SHIPPED
from ..estimate.estimate import Predictor
from ..features.lowering import Lowered
from ..intervals.adapt import PROFILER_S, Adaptation, AdaptError, KernelResidual, adapt
from .forest import columns_of
from .laws.processor_laws import named_law, start_on
from .laws.processor_resources import ProcessorSeconds, is_rated
from .predictor import known_classes, predict
from .roofline import measured_share
from .selection import INSIDE, computed
from .subject import KernelSubject

BELOW = 0.5
"""Fraction of the lower bound below which a measured time is rejected: it has another unit, or the
rates of the target are far too low. Corrections can make up for smaller errors."""
EXTENTS = ("m", "n", "k", "elements", "batch", "heads")
"""Parameters that are counts, and so at least 1."""
ROOFLINE = Predictor.ROOFLINE.value
"""Name of the predictor of residuals against the roofline."""
LONGEST_S = 1e6
"""Longest time of a kernel that is accepted, 12 days: a longer one has another unit."""
LARGEST = 1e18
"""Largest parameter of a kernel; products of larger ones overflow."""
LEAST_LEFT = 0.2
"""Share of a measured time that remains at least when the profiler's time is subtracted: of very
short kernels the profiler's mean would leave nothing or less."""


class MeasuredRow(Protocol):
    """Columns of a row of `perfc measure` that are compared with predictions."""

    @property
    def target(self) -> str:
        """Return the name of the target that the row was measured against."""

    @property
    def model(self) -> str:
        """Return the name of the model."""

    @property
    def kind(self) -> str:
        """Return the kind of the kernel."""

    @property
    def runtime(self) -> str:
        """Return the name of the framework that ran the kernel."""

    @property
    def device(self) -> str:
        """Return the device of the framework."""

    @property
    def threads(self) -> int:
        """Return the number of threads of the run."""

    @property
    def launches(self) -> float:
        """Return the number of launches."""

    @property
    def time_s(self) -> float:
        """Return the time of all launches, in seconds."""

    @property
    def sustained_s(self) -> float:
        """Return the sustained time of all launches, in seconds."""


@record
class AdaptationSample:
    """One measured kernel.

    Args:
        class_name: class of the operator predictor, "" if none.
        dtype: element type.
        parameters: parameters of the class, by name.
        time_s: time of one launch.
        row: row of `perfc measure`; None if the sample has another source.
        subject: kernel of the row.
    """

    class_name: str
    dtype: str
    parameters: Mapping[str, float]
    time_s: float
    row: MeasuredRow | None = None
    subject: KernelSubject | None = None


def corrections(
    measured: Sequence[AdaptationSample], machine: Machine, folder: Path | None = None
) -> Adaptation:
    """Return the corrections of a machine by measured kernels.

    Args:
        measured: measured kernels.
        machine: the machine.
        folder: folder of the operator predictor's weights; None for the shipped ones.

    Raises:
        AdaptError: as `residuals`.
    """
    return adapt(residuals(measured, machine, folder), is_rated=is_rated(machine))


def residuals(
    measured: Sequence[AdaptationSample], machine: Machine, folder: Path | None = None
) -> list[KernelResidual]:
    """Return residuals of measured kernels against the predictor that `perfc analyze` uses.

    That is the roofline on CPUs and the operator predictor elsewhere, for classes with weights.

    Raises:
        AdaptError: a time that is not positive or far below its lower bound, an extent below 1, or
            of a CPU no row that was measured against it.
        ParseError: an unknown element type.
    """
    folder = folder or SHIPPED
    # kernels of CPUs are compared with the roofline and the laws of runtimes instead
    classes = known_classes(folder) if machine.kind != "cpu" else frozenset[str]()
    # all rows are checked before the first prediction, which takes much longer
    for row in measured:
        check(row)
    groups: dict[tuple[str, str], list[AdaptationSample]] = {}
    others: list[AdaptationSample] = []
    for row in measured:
        choice = class_of(row, machine, classes)
        if choice is None:
            others.append(row)
        else:
            groups.setdefault(choice, []).append(row)
    result = [r for k, group in groups.items() for r in by_class(*k, group, machine, folder)]
    result += by_roofline(others, machine)
    # a row may count twice: against the roofline and against the law of its runtime
    result += by_law(measured, machine)
    if machine.kind == "cpu" and not result:
        targets = sorted({m.row.target for m in measured if m.row is not None})
        there = f"these were measured against {', '.join(targets)}" if targets else "there are none"
        raise AdaptError(
            f"a CPU is adapted with kernels measured against {machine.name}; {there}",
            hint="perfc measure MODEL --target TARGET --append ROWS writes them",
        )
    return result


def check(row: AdaptationSample) -> None:
    """Reject an invalid measurement.

    Raises:
        AdaptError: an impossible time or extent.
        ParseError: an unknown element type.
    """
    # NaN fails both comparisons, and is rejected too
    if not 0 < row.time_s <= LONGEST_S:
        raise AdaptError(f"a {row.class_name} that takes {row.time_s} s", hint="drop such rows")
    dtype_named(row.dtype)
    if any(row.parameters.get(name, 1.0) < 1 for name in EXTENTS):
        raise AdaptError(f"a {row.class_name} with an extent below 1", hint="drop such rows")
    for name, value in row.parameters.items():
        if not abs(value) < LARGEST:
            what = f"a {row.class_name} whose {name} is {value:g}"
            raise AdaptError(what, hint="drop such rows")


def class_of(
    row: AdaptationSample, machine: Machine, known: Collection[str]
) -> tuple[str, str] | None:
    """Return class and element type for the operator predictor, None if it has no weights."""
    dtype = dtype_named(row.dtype).code
    lowered = Lowered(row.class_name, dtype, row.parameters)
    # first the class and type that the machine computes in place of these, then these
    choices = (computed(lowered, machine, tf32=False), (row.class_name, dtype))
    return next((choice for choice in choices if choice[0] in known), None)


def by_class(
    name: str, dtype: str, group: Sequence[AdaptationSample], machine: Machine, folder: Path
) -> Iterator[KernelResidual]:
    """Yield residuals of one class and element type against the operator predictor.

    Raises:
        AdaptError: a time far below its lower bound.
    """
    columns = columns_of([r.parameters for r in group])
    # INSIDE: times of launches in a recorded graph, without the host's part of a launch
    predicted = predict(name, columns, dtype, machine, INSIDE, folder=folder)
    for predicted_s, floor_s, r in zip(predicted.time_s, predicted.floor_s, group, strict=True):
        if r.time_s < BELOW * floor_s:
            raise AdaptError(
                f"a {r.class_name} that takes {r.time_s:.3g} s, at best {floor_s:.3g} s",
                hint="times are seconds; or the target's rates are too low",
            )
        yield KernelResidual(name, float(predicted_s), r.time_s)


def by_roofline(group: Sequence[AdaptationSample], machine: Machine) -> Iterator[KernelResidual]:
    """Yield residuals against the sustained roofline; only of rows measured against this target."""
    for measured in group:
        row = measured.row
        if row is None or row.target != machine.name or not row.sustained_s:
            continue
        kind = member(Kind, row.kind, "kind")
        # sustained_s is of all launches of the row; measured_share is the usual measured time
        # divided by it, so that only the deviation of this machine is left as a residual
        predicted_s = row.sustained_s / row.launches * measured_share(machine.kind, kind).mid
        yield KernelResidual(kind.value, predicted_s, measured.time_s, ROOFLINE, row.model)


def by_law(measured: Sequence[AdaptationSample], machine: Machine) -> Iterator[KernelResidual]:
    """Yield residuals against the laws of runtimes on processors; none for other machines."""
    kernels = [(m.row, m.subject) for m in measured if m.row and m.subject]
    kernels = kernels if machine.kind == "cpu" else []
    counts = {min(row.threads, machine.sm_count) for row, _ in kernels}
    # by number of threads: resources of the processor cut down to as many, as ``xeon/4t``
    seconds = {n: ProcessorSeconds(sliced(machine, f"{n}t")) for n in counts}
    for row, subject in kernels:
        start = start_on(machine, runtime_of(row))
        if start is None or split(row.target)[0] != machine.name or row.time_s <= 0:
            continue
        # resources of the kernel under each name that a law may have, the most specific first
        names = seconds[min(row.threads, machine.sm_count)].of(subject)
        if pair := named_law(start, subject.dtype, names):
            law, k = pair  # k: resources under the name of that law
            time_s = without_profiler_s(row, row.time_s / row.launches)
            yield KernelResidual(k.name, law.time_s(k), time_s, Predictor.LAW.value, row.model)


def without_profiler_s(row: MeasuredRow, time_s: float, count: int = 1) -> float:
    """Return the measured time of ``count`` kernels without what the profiler adds to each."""
    # only profilers of runtimes other than PyTorch add this time
    added_s = PROFILER_S * count * (row.runtime != Framework.TORCH.value)
    return max(time_s - added_s, LEAST_LEFT * time_s)


def runtime_of(row: MeasuredRow) -> str:
    """Return the name of the runtime that ran a kernel, "" if none of perfc's stands for it."""
    device = row.device.partition(":")[0]
    names = (
        t.name for t in tables() if t.framework.value == row.runtime and device in t.stands_for
    )
    return next(names, "")
