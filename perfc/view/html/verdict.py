"""Headline section of a page: the figures of the first screen and the limits."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import record
from perfc.view.report import Views
from perfc.view.report.formats.screen import facts_of, percents, plain, printed, titles
from perfc.view.report.formats.text import ScreenFigure
from perfc.view.report.sections.limits import LimitShare

ONE_LINE = 100_000
"""Width larger than any title, so that only parts that never share a line are separate lines."""


@record
class LimitBlock:
    """One part of the bar of limits.

    Args:
        key: identifier in data formats, and class of its colour.
        title: title of the limit.
        percent: percent of the time, rounded as on the first screen.
    """

    key: str
    title: str
    percent: int


@record
class VerdictBlock:
    """The headline of one report.

    Args:
        title: model, machine, sizes, runtime and precision.
        first: time of a run.
        rest: other figures.
        limits: parts of the time by limit, largest first.
    """

    title: str
    first: ScreenFigure
    rest: tuple[ScreenFigure, ...]
    limits: tuple[LimitBlock, ...]


def verdict_block(views: Views) -> VerdictBlock:
    """Return the headline of a report."""
    first, *rest = printed(facts_of(views.verdict))
    title = " ".join(plain(line).strip() for line in titles(views, ONE_LINE))
    return VerdictBlock(title, first, tuple(rest), limit_blocks(views.verdict.limits))


def limit_blocks(limits: Sequence[LimitShare]) -> tuple[LimitBlock, ...]:
    """Return parts of the bar of at least one percent."""
    return tuple(
        LimitBlock(limit.key, limit.title, percent)
        for limit, percent in zip(limits, percents(limits), strict=True)
        if percent
    )
