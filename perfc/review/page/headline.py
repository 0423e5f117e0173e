"""Headline of a page of two analyses: old and new time, the change and its cause."""

from __future__ import annotations

from perfc.review.diff import Difference
from perfc.review.diff.figures import BY_KEY, Metric, percent, signed
from perfc.review.diff.views import DiffViews, TotalRow, collect, in_words
from perfc.view.html.blocks import VerdictBlock, limit_blocks
from perfc.view.html.payload import text
from perfc.view.report import Views
from perfc.view.report.formats.text import HARD_SPACE, ScreenFigure, Style, clipped
from perfc.view.report.units import DASH, INTERVAL, quantity, share

OTHER_METRICS = (Metric.FLOOR, Metric.PEAK_MEMORY, Metric.ENERGY)
"""Metrics other than time in the headline of a comparison."""


def change_block(difference: Difference, after: Views, title: str) -> VerdictBlock:
    """Return the headline of a comparison: old and new time, change and interval.

    Args:
        difference: the comparison.
        after: views of the new analysis, for its limits.
        title: title of the page.
    """
    views = collect(difference)
    rows = {BY_KEY[row.metric]: row for row in views.totals}
    time = rows[Metric.TIME]
    first = ScreenFigure("time", sides(time), f"{target_of(views)}predicted, per run", Style.PLAIN)
    figures = [change(time)]
    if views.blame:
        culprit = views.blame[0]
        cause = in_words(views.blame, 1)
        figures.append(ScreenFigure("from", share(culprit.share), clipped(cause), Style.PLAIN))
    figures += [
        ScreenFigure(m.title, sides(rows[m]), percent(rows[m].relative), tone(rows[m]))
        for m in OTHER_METRICS
        if m in rows and rows[m].delta
    ]
    return VerdictBlock(text(title), first, tuple(figures), limit_blocks(after.verdict.limits))


def target_of(views: DiffViews) -> str:
    """Return the target as a prefix of a description."""
    return clipped(f"on {views.target}, ")


def change(row: TotalRow) -> ScreenFigure:
    """Return the change with its interval."""
    unit = BY_KEY[row.metric].unit
    words = percent(row.relative)
    if row.delta_low is not None and row.delta_high is not None:
        ends = f"{signed(row.delta_low, unit)} to {signed(row.delta_high, unit)}"
        words += f", {INTERVAL} {ends}"
    return ScreenFigure("change", signed(row.delta, unit), words, tone(row))


def sides(row: TotalRow) -> str:
    """Format old and new value."""
    unit = BY_KEY[row.metric].unit
    ends = [DASH if x is None else quantity(x, unit) for x in (row.old, row.new)]
    return " → ".join(dict.fromkeys(end.replace(" ", HARD_SPACE) for end in ends))


def tone(row: TotalRow) -> Style:
    """Return good for a decrease, poor for an increase, plain if the interval contains zero."""
    low, high = row.delta_low, row.delta_high
    if not row.delta or (low is not None and high is not None and low < 0 < high):
        return Style.PLAIN
    # every metric here is better if it is small
    return Style.GOOD if row.delta < 0 else Style.POOR
