"""Analyze a model on every MIG slice of a card, and find the smallest large and fast enough.

Two published rules are reported next to that slice: the rule of DIPPM, by memory only, and the rule
of the dissertation (K. Panner Selvam, University of Luxembourg, 2025), by utilization of the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from perfc.api import analyze
from perfc.deployment.prices import Prices
from perfc.errors import TargetError
from perfc.ir import record
from perfc.machine import SliceProfile, load_machine, partition_of, partitions
from perfc.machine.mig import mig_profile, profiles
from perfc.view.report.memory_sections.footprint import holds, slices_of
from perfc.view.report.sections.limits import HOST
from perfc.view.result import Result

from .order import LimitStatus, Order
from .rows import Comparison, ModelSetting, Row, compare

if TYPE_CHECKING:
    from ..tasks import Each

QUARTERS = 4
"""Number of profiles in the rule of the dissertation, one for each quarter of utilization."""
WAITING = ("launch", HOST)
"""Keys of limits during which no kernel runs."""


class Holding(Enum):
    """Status of a slice for a run."""

    HOLDS = "yes"
    """It fits in memory, and the whole prediction interval meets the maximum time."""
    LIKELY = "likely"
    """It fits in memory, and the predicted time meets the maximum time."""
    SLOW = "too slow"
    """It fits in memory, but the predicted time is too long."""
    SMALL = "too small"
    """It does not fit in memory."""


@record
class CardSlice:
    """One slice of the card.

    Args:
        row: row of the model on the slice.
        profile: profile of the slice.
        fits: True if a run fits, with the allocator of the runtime and the context.
    """

    row: Row
    profile: SliceProfile
    fits: bool

    @property
    def card_per_s(self) -> float:
        """Return the items per second of a card full of such slices."""
        # slices do not share bandwidth or cache, so that rates add up
        return self.profile.instances * self.row.verdict.throughput.per_s

    @property
    def holding(self) -> Holding:
        """Return the status of the slice for the maximum time."""
        if not self.fits:
            return Holding.SMALL
        match self.row.in_time:
            case LimitStatus.LIKELY:
                return Holding.LIKELY
            case LimitStatus.MISSES:
                return Holding.SLOW
            case _:
                return Holding.HOLDS


@record
class Slicing(Result):
    """A model on a card and on all of its slices.

    Args:
        card: row of the whole card.
        slices: slices, smallest first.
        slo_s: maximum time of a run; None without one.
        source: source of the slice profiles.
        by_memory: profile by DIPPM's rule, by memory only; empty if none is large enough.
        by_use: profile by the rule of the dissertation, section 3.4.4, by utilization of the card;
            empty if the card does not have four such profiles.
        used: utilization of the card.
        need_bytes: memory of a run on the whole card, including the context.
        is_predicted: True if times are predictions.
    """

    layout: ClassVar[str] = "perfc.study.comparison.slice_views:LAYOUT"
    card: Row
    slices: tuple[CardSlice, ...]
    slo_s: float | None
    source: str
    by_memory: str
    by_use: str
    used: float
    need_bytes: int
    is_predicted: bool

    @property
    def smallest(self) -> CardSlice | None:
        """Return the recommended slice: the smallest that is large and fast enough."""
        enough = (Holding.HOLDS, Holding.LIKELY)
        return next((s for s in self.slices if s.holding in enough), None)

    @property
    def whole(self) -> CardSlice:
        """Return the card as a slice that is all of it."""
        memory, sm_count = self.card.verdict.memory, load_machine(self.card.verdict.target).sm_count
        profile = SliceProfile("whole card", sm_count, 1, 1.0, 1.0, memory.capacity_bytes or 0, 1)
        return CardSlice(self.card, profile, self.card.fits)

    @property
    def comparison(self) -> Comparison:
        """Return the rows as a comparison of machines."""
        rows = (*(s.row for s in self.slices), self.card)
        return Comparison(rows, Order.GIVEN, self.slo_s, self.is_predicted)


def slicing(
    setting: ModelSetting,
    target: str,
    *,
    slo_s: float | None = None,
    prices: Prices | None = None,
    predict: bool = True,
    each: Each = map,
) -> Slicing:
    """Analyze a model on a card and on all of its slices.

    Raises:
        TargetError: if the card has no known slices.
        PerfcError: as for ``perfc.analyze``.
    """
    card = load_machine(target)
    partition, order = partition_of(card), slices_of(card)
    if partition is None or not order:
        cards = ", ".join(c for p in partitions() for c in p.cards)
        what = f"no known slices of {card.name}"
        raise TargetError(what, where="--target", hint=f"there are those of {cards}")
    parts, slice_machines = zip(*order, strict=True)
    comparison = compare(
        [setting],
        [card, *slice_machines],
        order=Order.GIVEN,
        slo_s=slo_s,
        prices=prices,
        predict=predict,
        each=each,
    )
    whole_row, *slice_rows = comparison.rows
    report = analyze(
        setting.model, str(card.path), deployment=setting.deployment, values=setting.values
    )
    # the run of the whole card in the memory of each slice
    fits = [holds(replace(report, machine=m), report.env) for m in slice_machines]
    slices = tuple(CardSlice(*each) for each in zip(slice_rows, parts, fits, strict=True))
    need_bytes = report.footprint.total_bytes
    # DIPPM's rule
    need = mig_profile(float(need_bytes), card.name)
    used = working(whole_row)
    return Slicing(
        whole_row,
        slices,
        slo_s,
        source=partition.source.title,
        by_memory=need.name if need else "",
        by_use=by_use(used, [p.name for p in profiles(card.name)]),
        used=used,
        need_bytes=need_bytes,
        is_predicted=predict,
    )


def working(row: Row) -> float:
    """Return the share of a run's time in which a kernel runs, as profilers define utilization."""
    waiting = sum(limit.share for limit in row.verdict.limits if limit.key in WAITING)
    return max(1.0 - waiting, 0.0)


def by_use(used: float, names: Sequence[str]) -> str:
    """Return the profile by utilization of the whole card, section 3.4.4 of the dissertation.

    Below a quarter it is the smallest of four, below a half the next; three quarters are assumed
    for its "likewise". Empty for other numbers of profiles, which the dissertation does not cover.

    >>> by_use(0.011, ["1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"])
    '1g.5gb'
    """
    if len(names) != QUARTERS:
        return ""
    # full utilization is in the last quarter
    return names[min(int(used * QUARTERS), QUARTERS - 1)]
