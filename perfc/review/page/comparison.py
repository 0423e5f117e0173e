"""HTML page of two analyses: the new one, with the old one and the change next to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.view.html.blocks import VerdictBlock, section_block
from perfc.view.html.page import CHARTS, PRINTED, Tables, rendered
from perfc.view.html.payload import Json, number, payload, table
from perfc.view.report import Views, collect, document
from perfc.view.report.formats.document import Cell, Column, Document, Name, Section, Table
from perfc.view.report.names import gathered
from perfc.view.report.units import Unit

from .headline import change_block

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.review.diff import Difference
    from perfc.review.diff.kernels import KernelPair


@record
class Pair:
    """Old and new kernels that execute the same nodes, with their positions.

    Args:
        old: positions of the old kernels in the old run.
        new: positions of the new kernels in the new run.
        kernels: the kernels with their costs.
    """

    old: tuple[int, ...]
    new: tuple[int, ...]
    kernels: KernelPair


@record
class ComparedSide:
    """One analysis and its views."""

    report: Report
    views: Views


@record
class ComparisonContent:
    """Content of a page of two analyses.

    Args:
        old: old analysis.
        new: new analysis.
        pairs: every kernel of both sides once, in the order of the new run.
        document: document below the charts, whose title the page has too.
        verdict: headline of the change.
    """

    old: ComparedSide
    new: ComparedSide
    pairs: tuple[Pair, ...]
    document: Document
    verdict: VerdictBlock


def comparison_of(difference: Difference, shown: Document) -> ComparisonContent:
    """Return the comparison of ``perfc diff``, with the times of its tables."""
    old_side, new_side = (ComparedSide(r, collect(r)) for r in (difference.old, difference.new))
    # positions by kernel
    old, new = (
        {k: i for i, k in enumerate(s.report.kernels.kernels)} for s in (old_side, new_side)
    )
    pairs = tuple(
        Pair(tuple(old[k.kernel] for k in p.old), tuple(new[k.kernel] for k in p.new), p)
        for p in difference.kernels
    )
    verdict = change_block(difference, new_side.views, shown.title)
    return ComparisonContent(old_side, new_side, pairs, shown, verdict)


def ordered(comparison: ComparisonContent) -> list[Pair]:
    """Return pairs, largest change first."""
    return sorted(comparison.pairs, key=lambda pair: -abs(pair.kernels.delta.time_s))


COLUMNS = (
    Column("index", "#", Unit.COUNT, "position in the new run"),
    Column("change", "what"),
    Column("old_s", "old", Unit.SECOND),
    Column("new_s", "new", Unit.SECOND),
    Column("delta_s", "change", Unit.SECOND, "new minus old"),
    Column("kernel", is_name=True),
    Column("nodes", "ONNX nodes", is_name=True),
)
"""Columns of the table of pairs."""


def pair_table(comparison: ComparisonContent, shown: Sequence[Pair]) -> Table:
    """Return the table of pairs."""
    return Table(COLUMNS, tuple(cells(comparison, pair) for pair in shown))


def cells(comparison: ComparisonContent, pair: Pair) -> tuple[Cell, ...]:
    """Return the cells of one pair, with names of the new side if it exists."""
    old = [comparison.old.views.kernels[i] for i in pair.old]
    new = [comparison.new.views.kernels[i] for i in pair.new]
    labels = [" | ".join(k.label for k in side) for side in (old, new) if side]
    nodes = gathered([n for k in new or old for n in k.nodes])
    return (
        pair.new[0] if pair.new else None,
        pair.kernels.status,
        pair.kernels.before.time_s if old else None,
        pair.kernels.after.time_s if new else None,
        pair.kernels.delta.time_s,
        " → ".join(dict.fromkeys(labels)),
        Name(nodes, nodes),
    )


def comparison_payload(comparison: ComparisonContent) -> Json:
    """Return the data of pairs; a change is distributed over the new kernels by time."""
    every = ordered(comparison)
    kernels = comparison.new.views.kernels
    delta: list[float | None] = [None] * len(kernels)
    row_of: list[int | None] = [None] * len(kernels)
    for place, pair in enumerate(every):
        pair_s = sum(kernels[i].time_s for i in pair.new)
        for i in pair.new:
            row_of[i] = place
            # new kernels of a pair share its change by their time, or equally without any
            part = kernels[i].time_s / pair_s if pair_s else 1 / len(pair.new)
            delta[i] = number(pair.kernels.delta.time_s * part)
    return {
        "table": table(pair_table(comparison, every)),
        "kernels": [pair.new[0] if pair.new else None for pair in every],
        "row_of": row_of,
        "delta_s": delta,
        "largest_s": max((abs(d) for d in delta if d is not None), default=0.0),
    }


def comparison_page(comparison: ComparisonContent) -> str:
    """Return two analyses as an HTML document: charts of the new one next to the old one."""
    # the first rows, for a browser without scripts; with scripts all are in the payload
    shown = pair_table(comparison, ordered(comparison)[:PRINTED])
    new = comparison.new.views
    kernels = section_block(Section("kernels", "kernels", (shown,)))
    memory = section_block(document(new, ("memory",)).sections[0])
    sections = [s for s in comparison.document.sections if s.name not in CHARTS]
    # the list of changed nodes may be long: it follows the charts
    above, below = (
        [section_block(s) for s in sections if (s.name == "changes") == is_below]
        for is_below in (False, True)
    )
    data: Json = {
        "reports": [payload(side.report, side.views) for side in (comparison.new, comparison.old)],
        "comparison": comparison_payload(comparison),
    }
    return rendered(
        comparison.document.title, above, Tables(kernels, memory), below, data, comparison.verdict
    )
