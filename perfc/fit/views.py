"""A fit as a document and as data."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.record import record
from perfc.report.device_memory import DeviceMemory, parts_of
from perfc.report.document import (
    Amount,
    Cell,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
)
from perfc.report.json_form import enveloped
from perfc.report.names import emulated, machine_title, runtime_title
from perfc.report.units import DASH, Unit, quantity

from .search import Choice, Fit

SCHEMA = "perfc-fit/1"


@record
class ChoiceView:
    """One way with what it gives and costs, at the batch asked for; null is what nobody knows.

    Args:
        title: what it changes.
        largest: batch that the device holds; null where the batch is a number in the model.
        fits: whether the device holds the batch asked for.
        memory: of that.
        time_s: of a run.
        low_s: nine in ten take more than this and less than ``high_s``.
        high_s: the upper end.
        items_per_s: images, tokens or runs.
        note: what is left out.
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
    def of(cls, found: Choice) -> ChoiceView:
        """What is said of a way."""
        return cls(
            found.title, found.largest, found.fits, DeviceMemory.shown(found.footprint),
            found.time_s.mid, found.time_s.low, found.time_s.high, found.items_per_s, found.note,
        )  # fmt: skip


@record
class FitView:
    """A run on a device, and what would make room.

    Args:
        model: as it was named.
        target: the machine.
        runtime: whose kernels run.
        train: optimiser; "" for a forward pass.
        batch: that everything is told of; null where the model has none that may change.
        is_auto: whether the largest was looked for.
        fits: whether the device holds the run as asked.
        is_predicted: whether times are predictions.
        choices: as asked first.
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
    def of(cls, found: Fit) -> FitView:
        """What is said of a fit."""
        report = found.report
        return cls(
            report.path or report.source.name, report.machine.name, report.deployment.table_name,
            report.deployment.train, found.batch, found.is_auto, found.fits, found.is_predicted,
            tuple(map(ChoiceView.of, found.choices)),
        )  # fmt: skip


def to_dict(found: Fit) -> dict[str, object]:
    """The JSON document, schema ``perfc-fit/1``."""
    return enveloped(SCHEMA, FitView.of(found))


def document(found: Fit) -> Document:
    """Whether it fits, what would make room, and where the memory goes."""
    report, first = found.report, found.choices[0]
    how = report.deployment
    step = f"a training step with {how.train}" if how.train else "a run"
    runtime = runtime_title(report.kernels.runtime)
    name = report.path.rpartition("/")[2] or report.source.name
    title = f"{name} · {step} on {machine_title(report.machine)} · {runtime}"
    parts: tuple[Part, ...] = (Facts(tuple(facts(found))), table(found), *notes(found))
    memory = tuple(parts_of(DeviceMemory.shown(first.footprint)))
    return Document(title, (Section("fit", "fit", parts), Section("memory", "memory", memory)))


def facts(found: Fit) -> Iterator[Fact]:
    """The answer."""
    first = found.choices[0]
    whole = first.footprint.capacity_bytes
    need = quantity(first.footprint.total_bytes, Unit.BYTE)
    margin = quantity(first.footprint.margin_bytes, Unit.BYTE)
    of = "" if whole is None else f" of {quantity(whole, Unit.BYTE)}, with a margin of {margin}"
    if found.is_auto and first.fits:
        yield Fact("batch", None, f"{found.batch} is the largest that fits")
    elif found.batch is not None:
        yield Fact("batch", None, f"{found.batch}; the largest that fits is {first.largest}")
    verdict = "fits" if first.fits else "does not fit"
    yield Fact("memory", None, f"{need}{of}: {verdict}")
    if not first.fits:
        enough = [c.title for c in found.choices if c.fits]
        yield Fact("would fit", None, ", ".join(enough) or "no known change")


def table(found: Fit) -> Table:
    """One line a way."""
    at = "" if found.batch is None else f" at {found.batch}"
    columns = (
        Column("title", "change"),
        Column("largest", "largest batch"),
        Column("memory", f"memory{at}"),
        Column("fits", "fits"),
        Column("time_s", "time"),
        Column("cost", "time change"),
        Column("items_per_s", "items/s", Unit.COUNT),
    )
    first = found.choices[0]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            c.title, DASH if c.largest is None else f"{c.largest:,}",
            Amount(c.footprint.total_bytes, Unit.BYTE), "yes" if c.fits else "no",
            Amount(c.time_s.mid, Unit.SECOND),
            ""
            if c is first or not first.time_s.mid
            else f"{100 * (c.time_s.mid / first.time_s.mid - 1):+.0f} %",
            Amount(c.items_per_s, Unit.COUNT),
        )
        for c in found.choices
    )  # fmt: skip
    return Table(columns, rows)


def notes(found: Fit) -> Iterator[Note]:
    """What must be said beside the table."""
    for text in dict.fromkeys(c.note for c in found.choices if c.note):
        titles = ", ".join(c.title for c in found.choices if c.note == text)
        yield Note(f"{titles}: {text}")
    kernels = found.report.roofline.kernels
    if words := emulated(found.report.machine, {k.dtype.code for k in kernels if k.dtype}):
        yield Note(words, is_warning=True)
    if not found.is_predicted:
        yield Note("times are at measured rates")
    if any(c.footprint.is_bound for c in found.choices):
        yield Note("some sizes are unknown: more may be needed", is_warning=True)
    yield Note("not included: convolution workspace and memory of other processes")
