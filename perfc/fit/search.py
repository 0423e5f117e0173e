"""The largest batch, and what each change would give and cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from perfc.errors import ParseError, PerfcError
from perfc.extents import axis_of
from perfc.ir.record import record
from perfc.report.footprint import Footprint
from perfc.report.verdict import throughput

from . import changes
from .way import BATCH, Way

if TYPE_CHECKING:
    from perfc.analyzers.estimate.interval import Interval
    from perfc.api import Report


@record
class Choice:
    """One way with what it gives and costs.

    Args:
        title: what it changes; "as given" of the first.
        largest: batch that the device holds; None where the batch is a number in the model.
        footprint: at the batch that is asked for.
        fits: whether the device holds that.
        time_s: of a run at that batch.
        items_per_s: at that batch.
        note: what is left out.
    """

    title: str
    largest: int | None
    footprint: Footprint
    fits: bool
    time_s: Interval
    items_per_s: float
    note: str


@record
class Fit:
    """A run on a device, and what would make room.

    Args:
        report: of the run as asked.
        batch: that everything is told of: the one asked for, else the largest that fits; None
            where the model has none that may change.
        is_auto: whether the largest was looked for.
        choices: as asked first.
        is_predicted: whether times are predictions.
    """

    report: Report
    batch: int | None
    is_auto: bool
    choices: tuple[Choice, ...]
    is_predicted: bool

    @property
    def fits(self) -> bool:
        """Whether the device holds the run as asked."""
        return self.choices[0].fits


@cache
def known_changes() -> tuple[ModuleType, ...]:
    """The files of ``changes``, the gentlest first."""
    found = (import_module(f"{changes.__name__}.{m.name}") for m in iter_modules(changes.__path__))
    return tuple(sorted(found, key=lambda m: m.RANK))


def ways_of(report: Report, gpus: int) -> Iterator[Way]:
    """Every way of running the model that would make room."""
    for change in known_changes():
        try:
            yield from change.ways(report, gpus)
        except PerfcError:
            continue  # a change that the model or the runtime does not allow


def fitted(report: Report, *, is_auto: bool, gpus: int = 8, predict: bool = True) -> Fit:
    """Whether the device of a report holds its run.

    Args:
        report: of the run.
        is_auto: whether its batch is to be the largest that fits; a batch that is a number in the
            model is changed, if the model holds for others.
        gpus: that ZeRO divides among.
        predict: whether times are predicted; else they are at measured rates.

    Raises:
        ParseError: the largest batch is asked for of a model that has none or lets none change.
    """
    report, batch = with_symbol(report, is_required=is_auto)
    first = Way("as given", report)
    if is_auto:
        batch = max(first.largest(), 1)
    choices = [chosen(first, batch, predict=predict)]
    choices += [chosen(way, batch, predict=predict) for way in ways_of(report, gpus)]
    return Fit(report, batch, is_auto, tuple(choices), predict)


def with_symbol(report: Report, *, is_required: bool) -> tuple[Report, int | None]:
    """The report of a model whose batch is a symbol, and the batch as asked.

    Args:
        report: of a model whose batch may be a number.
        is_required: whether a batch that cannot change is an error; else the report stays, and
            the batch is None.

    Raises:
        ParseError: the model holds for one number alone, if ``is_required``.
    """
    size = axis_of(report.source, BATCH).size
    if not size:
        return report, Way("", report).batch
    try:
        return report.at({BATCH: size + 1}), size
    except ParseError:
        if is_required:
            raise
        return report, None


def chosen(way: Way, batch: int | None, *, predict: bool) -> Choice:
    """What a way gives and costs at a batch."""
    report = way.at(batch)
    time_s = way.time_s(report, predict=predict)
    return Choice(
        way.title, None if way.batch is None else way.largest(), way.footprint(batch),
        way.holds(batch), time_s, throughput(report, time_s.mid).per_s, way.note,
    )  # fmt: skip
