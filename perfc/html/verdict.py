"""The answer as the page's first section: the figures of the first screen, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir.record import record
from perfc.plain_text import printable
from perfc.report import Views
from perfc.report.limits import LimitShare
from perfc.report.screen import UNIT, Fact, facts_of, percents, plain, titles
from perfc.report.screen_tables import LIMITS
from perfc.report.text import HARD_SPACE, Style

ONE_LINE = 100_000
"""Columns that no title fills."""


@record
class LimitBlock:
    """A part of the limits' bar.

    Args:
        key: its name in data formats.
        title: what limits that part of the time.
        percent: of the time, as the first screen rounds it.
        style: of the bar: work, traffic or waiting.
    """

    key: str
    title: str
    percent: int
    style: str


@record
class VerdictBlock:
    """The headline of one report.

    Args:
        title: model, machine, sizes, runtime and precision.
        first: the time of a run.
        rest: what else is known of it.
        limits: what that time goes to, the most first.
    """

    title: str
    first: Fact
    rest: tuple[Fact, ...]
    limits: tuple[LimitBlock, ...]


def verdict_block(views: Views) -> VerdictBlock:
    """The headline of the report that ``views`` are of."""
    first, *rest = (
        Fact(f.label, f.number, UNIT.sub(rf"\1{HARD_SPACE}\2", printable(f.words)), f.style)
        for f in facts_of(views.verdict)
    )
    title = " ".join(plain(line).strip() for line in titles(views, ONE_LINE))
    return VerdictBlock(title, first, tuple(rest), limit_blocks(views.verdict.limits))


def limit_blocks(limits: Sequence[LimitShare]) -> tuple[LimitBlock, ...]:
    """Parts of the bar of at least one percent."""
    return tuple(
        LimitBlock(limit.key, limit.title, percent, LIMITS.get(limit.key, Style.WAITING).value)
        for limit, percent in zip(limits, percents(limits), strict=True)
        if percent
    )
