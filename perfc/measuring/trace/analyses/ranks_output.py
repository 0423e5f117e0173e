"""Ranks of one job, and the collectives that they share, as a document, JSON and CSV."""

from __future__ import annotations

from perfc.view.report.formats.document import Amount, Column, Document, Fact, Facts, Note, Section
from perfc.view.report.units import Unit, plural, share
from perfc.view.result import ResultLayout

from .collectives import COLUMNS, tabulated
from .ranks import TracedRanks

RANKS = (
    Column("rank", "rank", Unit.COUNT),
    Column("path", "file", is_name=True, is_spare=True),
    Column("span_s", "span", Unit.SECOND),
    Column("busy_s", "busy", Unit.SECOND),
    Column("compute_s", "compute", Unit.SECOND),
    Column("exposed_s", "exposed", Unit.SECOND, "only communication ran"),
    Column("overlapped_s", "overlapped", Unit.SECOND, "communication and computation ran"),
    Column("idle_s", "idle", Unit.SECOND),
    Column("transfer_s", "transfer", Unit.SECOND, "collectives on the rank that waits least"),
    Column("waiting_s", "waiting", Unit.SECOND, "rest of their time"),
    Column("last", "last", Unit.COUNT, "collectives at which it arrives last"),
    Column("late_s", "late", Unit.SECOND, "after the rank before it, in all"),
)
"""Columns of ranks."""
COLLECTIVES = (
    *COLUMNS[:5],
    Column("count", "count", Unit.COUNT),
    Column("transfer_s", "transfer", Unit.SECOND, "on the rank that waits least"),
    Column("waiting_s", "waiting", Unit.SECOND, "of all ranks"),
    Column("skew_s", "skew", Unit.SECOND, "mean, from the first arrival to the last"),
    Column("largest_skew_s", "largest skew", Unit.SECOND, is_spare=True),
    Column("bus_bytes_per_s", "bus", Unit.BYTE_PER_S, "bandwidth of the transfer, as nccl-tests"),
    Column("link_share", "of link", Unit.SHARE, "one direction of the links", is_spare=True),
    Column("last_rank", "last rank", Unit.COUNT, "arrives last most often"),
    Column("last_share", "of times", Unit.SHARE),
)
"""Columns of collectives: what each is, as in one trace, then times over all ranks."""


def document(view: TracedRanks, top: int | None = None) -> Document:
    """Return the sections: summary, ranks, collectives."""
    title = f"ranks: {view.path}" + (f" on {view.target}" if view.target else "")
    count, ranks = len(view.ranks), view.ranks

    def mean(name: str) -> Amount:
        return Amount(sum(getattr(t, name) for t in ranks) / count, Unit.SECOND)

    # of all ranks together
    waiting_s = sum(t.waiting_s for t in ranks)
    collectives_s = waiting_s + sum(t.transfer_s for t in ranks)
    rows = [
        Fact("ranks", Amount(count, Unit.COUNT), f"of {view.world_size or 'an unknown number'}"),
        Fact(
            "compute", mean("compute_s"), f"mean; the longest is {share(view.imbalance)} above it"
        ),
        Fact("exposed communication", mean("exposed_s"), "mean; only communication ran"),
        Fact("overlapped communication", mean("overlapped_s"), "mean; computation hides it"),
        Fact("idle", mean("idle_s"), "mean"),
    ]
    if collectives_s:
        text = f"mean; {share(waiting_s / collectives_s)} of the time of matched collectives"
        rows.append(Fact("waiting for ranks", mean("waiting_s"), text))
    # a straggler may have several devices: the one that delayed others
    late = next((t for t in ranks if t.rank == view.straggler and t.late_s), None)
    if late is not None:
        text = f"rank {late.rank} arrives last at {late.last} of "
        text += f"{plural(late.matched, 'collective')}, by this in all"
        rows.append(Fact("straggler", Amount(late.late_s, Unit.SECOND), text))
    sections = [
        Section("summary", "job", (Facts(tuple(rows)),)),
        Section("ranks", "ranks", tuple(tabulated(RANKS, ranks, top))),
    ]
    if view.notes:
        sections.insert(0, Section("notes", "notes", tuple(map(Note, view.notes))))
    if view.collectives:
        parts = tuple(tabulated(COLLECTIVES, view.collectives, top))
        sections.append(Section("collectives", "collectives of several ranks", parts))
    return Document(title, tuple(sections))


LAYOUT = ResultLayout("perfc-trace-ranks/1", TracedRanks, document, rows="ranks")
