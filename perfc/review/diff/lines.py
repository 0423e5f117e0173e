"""Changed lines of code, with what each costs and the nearest change that saves time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.view.report.units import Unit, time_text

from .figures import Metric, signed

if TYPE_CHECKING:
    from ..lint.finding import Finding
    from .blame import Culprit
    from .difference import Difference

MOST_SITES = 8
"""Maximum lines of code that are listed with a change."""


@record
class LineRow:
    """A changed line of code; deltas are new minus old.

    Args:
        source: file and line.
        code: its text.
        what: its largest change of the model, the line of code of the changed operator, and the
            number of its further changes.
        time_s: change of the time of its kernels; of the whole run if no other line changed it.
        memory_bytes: change of the weights, and of the peak of live activations while its kernels
            run.
        remedy: rule with the largest gain at its operators, or else in the whole run.
        remedy_s: time that following the rule saves.
        sites: lines that make or call the changed operators, those of the first cause first.
    """

    source: str
    code: str
    what: str
    time_s: float
    memory_bytes: float
    remedy: str
    remedy_s: float
    sites: tuple[str, ...] = ()

    @property
    def cost(self) -> str:
        """Return what the line costs in words."""
        saving = f"; {self.remedy} saves {time_text(self.remedy_s)}" if self.remedy else ""
        time, memory = signed(self.time_s, Unit.SECOND), signed(self.memory_bytes, Unit.BYTE)
        return f"time {time}, memory {memory}: {self.what}{saving}"

    def __str__(self) -> str:
        """Return the line with its cost and its text."""
        return f"{self.source}: {self.cost}: {self.code}"


def changed_lines(d: Difference, findings: Sequence[Finding] = ()) -> tuple[LineRow, ...]:
    """Return the changed lines that explain a difference, the first to blame first.

    Args:
        d: the difference.
        findings: what `perfc lint` finds in the new model, largest gain first.
    """
    if d.blame.change is None:
        return ()
    # lines in the order of their first cause, which groups the causes of each line
    sources = [c.source for c in d.blame.culprits]
    by_line = groupby(
        sorted(d.blame.culprits, key=lambda c: sources.index(c.source)), lambda c: c.source
    )
    rows = [row(d, list(group), findings) for source, group in by_line if source]
    before, after = d.totals[Metric.TIME]
    # a line that explains all costs what the run does, time outside of kernels included
    if len(rows) == 1 and before and after:
        rows = [replace(rows[0], time_s=after.value - before.value)]
    return tuple(rows)


def row(d: Difference, culprits: Sequence[Culprit], findings: Sequence[Finding]) -> LineRow:
    """Return the row of a line from its causes, the first to blame first."""
    from .blame import frames_of

    first = culprits[0]
    # a cause has the old nodes and the new ones
    nodes = {n for c in culprits for side in c.nodes for n in side}
    pairs = [p for p in d.kernels if not nodes.isdisjoint(p.nodes)]
    live_bytes = [
        max([cost.live_bytes for cost in costs], default=0.0)
        for costs in ([p.before for p in pairs], [p.after for p in pairs])
    ]
    elements, weights = (
        sum(f.value for f in d.totals[m] if f) for m in (Metric.PARAMETERS, Metric.WEIGHTS)
    )
    # causes count elements of weights, which become bytes by the mean size of an element in both
    # models
    added = sum(c.parameters for c in culprits) * weights / (elements or 1.0)
    names = {n.name for n in nodes}
    saving = [f for f in findings if f.gain and f.gain.time_s > 0]
    # the remedy is at an operator of this line, or else the largest of the run
    remedies = [f for f in saving if not names.isdisjoint(f.nodes)] or saving
    # the reversed sides put new nodes before old ones
    sites = frames_of(n for c in culprits for side in c.nodes[::-1] for n in side)
    site = next((n.loc.source for side in first.nodes[::-1] for n in side), "")
    count = sum(c.count for c in culprits) - 1
    assert d.blame.change is not None
    return LineRow(
        first.source,
        d.blame.change.text(first.source),
        f"{first.what or first.op_type}{f' at {site}' if site else ''}"
        + (f" and {count} more" if count else ""),
        sum(c.delta.time_s for c in culprits),
        added + live_bytes[1] - live_bytes[0],
        f"{remedies[0].rule} ({remedies[0].code})" if remedies else "",
        remedies[0].gain.time_s if remedies and remedies[0].gain else 0.0,
        tuple([site for site in sites if site != first.source][:MOST_SITES]),
    )
