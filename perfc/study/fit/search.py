"""Search for the largest batch that fits on a device, and the effect of each change.

``perfc fit`` calls `fitted`; each module of ``changes`` yields other ways to run the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import ClassVar

from perfc.analyzers.estimate.interval import Interval
from perfc.api import Report
from perfc.deployment.extents import axis_of
from perfc.errors import ParseError, PerfcError
from perfc.ir import record
from perfc.view.report.memory_sections.footprint import Footprint
from perfc.view.report.sections.verdict import throughput
from perfc.view.result import Result

from . import changes
from .way import BATCH, Way


@record
class FitChoice:
    """One way to run the model, with memory and time.

    Args:
        title: name of the change; "as given" for the first.
        largest: largest batch that fits; None if the batch of the model is fixed.
        footprint: device memory at the requested batch.
        fits: True if that fits on the device.
        time_s: time of a run at that batch.
        items_per_s: throughput at that batch.
        note: what is not modeled.
    """

    title: str
    largest: int | None
    footprint: Footprint
    fits: bool
    time_s: Interval
    items_per_s: float
    note: str


@record
class Fit(Result):
    """A run on a device, and changes that save memory.

    Args:
        report: report of the run as given.
        batch: batch of all choices: the given one, or the largest that fits; None if the batch of
            the model is fixed.
        is_auto: True if the largest batch was searched.
        choices: ways to run the model, as given first.
        is_predicted: True if times are predictions.
    """

    layout: ClassVar[str] = "perfc.study.fit.views:LAYOUT"
    report: Report
    batch: int | None
    is_auto: bool
    choices: tuple[FitChoice, ...]
    is_predicted: bool

    @property
    def fits(self) -> bool:
        """Return True if the run fits as given."""
        return self.choices[0].fits


@cache
def known_changes() -> tuple[ModuleType, ...]:
    """Return the modules of ``changes``, least invasive first."""
    files = (import_module(f"{changes.__name__}.{m.name}") for m in iter_modules(changes.__path__))
    return tuple(sorted(files, key=lambda m: m.RANK))


def ways_of(report: Report, gpus: int) -> Iterator[Way]:
    """Yield every way to run the model with less memory."""
    for change in known_changes():
        try:
            yield from change.ways(report, gpus)
        except PerfcError:
            continue  # a change that the model or the runtime does not allow


def fitted(report: Report, *, is_auto: bool, gpus: int = 8, predict: bool = True) -> Fit:
    """Check whether a run fits on its device, and try changes.

    Args:
        report: report of the run.
        is_auto: search the largest batch that fits; a fixed batch is changed if the model allows
            others.
        gpus: number of GPUs for ZeRO.
        predict: predict times; otherwise use measured rates.

    Raises:
        ParseError: if the largest batch is requested for a model with a fixed batch.
    """
    report, batch = with_symbol(report, is_required=is_auto)
    first = Way("as given", report)
    if is_auto:
        # where no batch fits, memory at a batch of one says how much is missing
        batch = max(first.largest(), 1)
    choices = [chosen(first, batch, predict=predict)]
    for way in ways_of(report, gpus):
        choice = chosen(way, batch, predict=predict)
        # some changes have no effect, such as half precision for a model in half precision
        if replace(choice, title=first.title) != choices[0]:
            choices.append(choice)
    return Fit(report, batch, is_auto, tuple(choices), predict)


def with_symbol(report: Report, *, is_required: bool) -> tuple[Report, int | None]:
    """Return a report with a symbolic batch, and the given batch.

    The size of the symbol in the report is arbitrary where the batch was fixed: `Way.at` sets it.

    Args:
        report: report of a model whose batch may be fixed.
        is_required: raise an error for a batch that cannot change; otherwise the report is
            unchanged and the batch is None.

    Raises:
        ParseError: if the batch cannot change and ``is_required``.
    """
    size = axis_of(report.source, BATCH).size
    if not size:
        return report, Way("", report).batch
    try:
        # `at` replaces a fixed extent by a symbol only for another size
        return report.at({BATCH: size + 1}), size
    except ParseError:
        if is_required:
            raise
        return report, None


def chosen(way: Way, batch: int | None, *, predict: bool) -> FitChoice:
    """Return memory and time of a way at a batch."""
    report = way.at(batch)
    time_s = way.time_s(report, predict=predict)
    return FitChoice(
        way.title,
        None if way.batch is None else way.largest(),
        way.footprint(batch),
        way.holds(batch),
        time_s,
        throughput(report, time_s.mid).per_s,
        way.note,
    )
