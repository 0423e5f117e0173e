"""Lay out a fit as document and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
    in_bytes,
    in_seconds,
    tabulate,
)
from perfc.view.report.memory_sections.device_memory import DeviceMemory, parts_of
from perfc.view.report.names import emulated, machine_title, runtime_title
from perfc.view.report.units import DASH, Unit, change_text, size_text

from .search import Fit, FitChoice

SCHEMA = "perfc-fit/1"


@record
class ChoiceView:
    """One way to run the model, with memory and time at the requested batch.

    Args:
        title: name of the change.
        largest: largest batch that fits; null if the batch of the model is fixed.
        fits: True if the requested batch fits.
        memory: device memory at the requested batch.
        time_s: time of a run.
        low_s: lower end of the 90 % prediction interval.
        high_s: upper end of the interval.
        items_per_s: images, tokens or runs per second.
        note: what is not modeled.
    """

    title: str
    largest: int | None
    fits: bool
    memory: DeviceMemory
    time_s: float
    low_s: float
    high_s: float
    items_per_s: float
    note: str

    @classmethod
    def of(cls, choice: FitChoice) -> ChoiceView:
        """Create the view of a choice."""
        return project(
            cls,
            choice,
            memory=DeviceMemory.shown(choice.footprint),
            time_s=choice.time_s.mid,
            low_s=choice.time_s.low,
            high_s=choice.time_s.high,
        )


@record
class FitView:
    """A run on a device, and changes that save memory.

    Args:
        model: name of the model.
        target: the machine.
        runtime: the runtime.
        train: optimizer; empty for a forward pass.
        batch: batch of all choices; null if the batch of the model is fixed.
        is_auto: True if the largest batch was searched.
        fits: True if the run fits as given.
        is_predicted: True if times are predictions.
        choices: ways to run the model, as given first.
    """

    model: str
    target: str
    runtime: str
    train: str
    batch: int | None
    is_auto: bool
    fits: bool
    is_predicted: bool
    choices: tuple[ChoiceView, ...]

    @classmethod
    def of(cls, fit: Fit) -> FitView:
        """Create the view of a fit."""
        report = fit.report
        return project(
            cls,
            fit,
            model=report.path or report.source.name,
            target=report.machine.name,
            runtime=report.deployment.table_name,
            train=report.deployment.train,
            choices=tuple(map(ChoiceView.of, fit.choices)),
        )


def document(fit: Fit) -> Document:
    """Return the document: whether the run fits, changes, and memory by part."""
    report, first = fit.report, fit.choices[0]
    how = report.deployment
    step = f"a training step with {how.train}" if how.train else "a run"
    runtime = runtime_title(report.kernels.runtime)
    # a model from memory has no path
    name = report.path.rpartition("/")[2] or report.source.name
    title = f"{name} · {step} on {machine_title(report.machine)} · {runtime}"
    parts: tuple[Part, ...] = (Facts(tuple(facts(fit))), table(fit), *notes(fit))
    memory = tuple(parts_of(DeviceMemory.shown(first.footprint)))
    return Document(title, (Section("fit", "fit", parts), Section("memory", "memory", memory)))


def facts(fit: Fit) -> Iterator[Fact]:
    """Yield batch, memory and whether the run fits."""
    first = fit.choices[0]
    capacity_bytes = first.footprint.capacity_bytes
    need = size_text(first.footprint.total_bytes)
    margin = size_text(first.footprint.margin_bytes)
    available = ""
    if capacity_bytes is not None:
        available = f" of {size_text(capacity_bytes)}, with a margin of {margin}"
    if fit.is_auto and first.fits:
        yield Fact("batch", None, f"{fit.batch} is the largest that fits")
    elif fit.batch is not None:
        yield Fact("batch", None, f"{fit.batch}; the largest that fits is {first.largest}")
    verdict = "fits" if first.fits else "does not fit"
    yield Fact("memory", None, f"{need}{available}: {verdict}")
    if not first.fits:
        enough = [c.title for c in fit.choices if c.fits]
        yield Fact("would fit", None, ", ".join(enough) or "no known change")


def table(fit: Fit) -> Table:
    """Return the table of changes, one row each."""
    at_batch = "" if fit.batch is None else f" at {fit.batch}"
    first = fit.choices[0]

    def slower(c: FitChoice) -> str:
        # the run as given is the reference
        if c is first or not first.time_s.mid:
            return ""
        return change_text(c.time_s.mid / first.time_s.mid, 0)

    columns = (
        Column("title", "change"),
        Column(
            "largest",
            "largest batch",
            cell=lambda c: DASH if c.largest is None else f"{c.largest:,}",
        ),
        Column("memory", f"memory{at_batch}", cell=lambda c: in_bytes(c.footprint.total_bytes)),
        Column("fits", cell=lambda c: "yes" if c.fits else "no"),
        Column("time_s", "time", cell=lambda c: in_seconds(c.time_s.mid)),
        Column("cost", "time change", cell=slower),
        Column(
            "items_per_s", "items/s", Unit.COUNT, cell=lambda c: Amount(c.items_per_s, Unit.COUNT)
        ),
    )
    return tabulate(columns, fit.choices)


def notes(fit: Fit) -> Iterator[Note]:
    """Yield the notes below the table."""
    # changes with the same note share one line
    for text in dict.fromkeys(c.note for c in fit.choices if c.note):
        titles = ", ".join(c.title for c in fit.choices if c.note == text)
        yield Note(f"{titles}: {text}")
    kernels = fit.report.roofline.kernels
    if words := emulated(fit.report.machine, {k.dtype.code for k in kernels if k.dtype}):
        yield Note(words, is_warning=True)
    if not fit.is_predicted:
        yield Note("times are at measured rates")
    if any(c.footprint.is_bound for c in fit.choices):
        yield Note("some sizes are unknown: more may be needed", is_warning=True)
    yield Note("not included: convolution workspace and memory of other processes")
