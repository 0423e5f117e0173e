"""Lay out a fit as document and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report.formats.document import (
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
    in_bytes,
    tabulate,
)
from perfc.view.report.memory_sections.device_memory import DeviceMemory, parts_of
from perfc.view.report.names import emulated, machine_title, runtime_title
from perfc.view.report.units import DASH, Unit, change_text, size_text
from perfc.view.result import Field, Fields, ResultLayout

from .search import Fit, FitChoice


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
    first = fit.choices[0]

    def slower(c: FitChoice) -> str:
        # the run as given is the reference
        if c is first or not first.time_s.mid:
            return ""
        return change_text(c.time_s.mid / first.time_s.mid, 0)

    *others, per_s = CHOICE.columns(fit.choices, fit)
    return tabulate((*others, Column("cost", "time change", cell=slower), per_s), fit.choices)


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


def memory(choice: FitChoice) -> DeviceMemory:
    """Return the device memory by part."""
    return DeviceMemory.shown(choice.footprint)


def largest(choice: FitChoice) -> str:
    """Format the largest batch."""
    return DASH if choice.largest is None else f"{choice.largest:,}"


def model(fit: Fit) -> str:
    """Return the name of the model."""
    return fit.report.path or fit.report.source.name


CHOICE = Fields(
    FitChoice,
    {
        "title": Field(title="change"),
        "largest": Field(title="largest batch", text=largest),
        "fits": Field(text=lambda c: "yes" if c.fits else "no", title="fits"),
        "memory": Field(
            memory,
            title=lambda f: "memory" if f.batch is None else f"memory at {f.batch}",
            text=lambda c: in_bytes(c.footprint.total_bytes),
        ),
        "time_s": Field("time_s.mid", title="time"),
        "low_s": "time_s.low",
        "high_s": "time_s.high",
        "items_per_s": Field(title="items/s", unit=Unit.COUNT),
        "note": "note",
    },
)
LAYOUT = ResultLayout(
    "perfc-fit/1",
    Fields(
        Fit,
        {
            "model": model,
            "target": "report.machine.name",
            "runtime": "report.deployment.table_name",
            "train": "report.deployment.train",
            "batch": "batch",
            "is_auto": "is_auto",
            "fits": "fits",
            "is_predicted": "is_predicted",
            "choices": Field(of=CHOICE),
        },
    ),
    document,
    rows="choices",
)
