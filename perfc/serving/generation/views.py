"""Lay out a generation as a document that ``perfc diffusion`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    Table,
    in_bytes,
    in_seconds,
    tabulate,
)
from perfc.view.report.units import (
    INTERVAL,
    LOWER_BOUND,
    Unit,
    plural,
    quantity,
    ratio_text,
    size_text,
    time_range,
    time_text,
)
from perfc.view.result import ResultLayout

from .service import GenerationReport


def document(r: GenerationReport) -> Document:
    """Return the first screen: what a batch takes, and which part takes it."""
    title = f"{r.model} on {r.target} · {batch_text(r)}"
    notes = [Note(n) for n in r.notes]
    if not r.fits:
        # first, as the figures below hold only if it fits
        notes.insert(0, Note("does not fit: parts have to be moved away in turn", is_warning=True))
    answer = Section("answer", "a batch", (Facts(tuple(delivered(r))),))
    return Document(title, (answer, Section("parts", "where time goes", (parts(r), *notes))))


def batch_text(r: GenerationReport) -> str:
    """Return the text that describes the generated batch."""
    noun, frames = "image", ""
    if r.picture.frames > 1:
        noun, frames = "video", f", {r.picture.frames} frames"
    guided = "guided" if r.is_guided else "not guided"
    size = f"{r.picture.width} × {r.picture.height}"
    return f"{plural(r.batch, noun)} of {size}{frames}, {plural(r.steps, 'step')}, {guided}"


def delivered(r: GenerationReport) -> Iterator[Fact]:
    """Yield the facts of a batch: time, rate, energy and memory."""
    noun, one = ("image", "an image") if r.picture.frames == 1 else ("video", "a video")
    each = time_text(r.time_s / r.batch)
    ends = time_range(r.low_s, r.high_s)
    time = f"{each} {one}, {INTERVAL} per batch {ends}"
    yield Fact("predicted", in_seconds(r.time_s), time)
    # pictures take seconds: a rate per minute has readable digits
    yield Fact("rate", None, f"{60 * r.pictures_per_s:,.3g} {noun}s a minute")
    # no device reaches the bound: the text says how far the prediction is above it
    less = f"{ratio_text(r.time_s / r.floor_s, 1)} × below the predicted time"
    yield Fact(LOWER_BOUND, in_seconds(r.floor_s), less)
    if r.energy is not None:
        low, high = (quantity(end, Unit.JOULE) for end in (r.energy.low_j, r.energy.high_j))
        spent = f"{one}, board only, {INTERVAL} {low} to {high}"
        yield Fact("energy", Amount(r.energy.energy_j, Unit.JOULE), spent)
    of = f"of {size_text(r.capacity_bytes)}: weights of all parts, largest activations"
    yield Fact("memory", in_bytes(r.memory_bytes), of)


def parts(r: GenerationReport) -> Table:
    """Return the table with one row per part."""
    columns = (
        Column("part", "", cell=lambda p: p.name),
        Column("share", "share", Unit.SHARE, cell=lambda p: p.time_s / r.time_s),
        Column("calls", "calls", Unit.COUNT),
        Column("batch", "batch", Unit.COUNT, is_spare=True),
        Column("call_s", "each"),
        Column(
            "floor_s", LOWER_BOUND, is_spare=True, cell=lambda p: in_seconds(p.floor_s / p.calls)
        ),
        Column("weight_bytes", "weights"),
        Column("activation_bytes", "activations", is_spare=True),
        Column("class_name", "class", is_spare=True),
    )
    return tabulate(columns, r.parts)


LAYOUT = ResultLayout("perfc-diffusion/1", GenerationReport, document, rows="parts")
