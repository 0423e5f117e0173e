"""Collectives of several ranks, matched: the arrivals of each, by one clock.

Launches with a number in the sequence of their group are matched by it. Others run at the same
time: a collective ends on no rank before it has begun on each. Clocks that contradict this are
aligned by the ends of collectives, which they leave nearly together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from perfc.ir import record

from .collectives import Collective, CollectiveKind

LEAST_GAIN = 1.5
"""Ratio above which recorded clocks count as wrong: of the collectives of a rank, those that run on
all their ranks at one moment by aligned clocks, over those that do so by recorded ones. A smaller
gain may be chance."""
LEAST_SPREAD_NS, MOST_NARROWED = 20_000, 0.25
"""Recorded clocks also count as wrong if the ends of a collective on its ranks are, in the median,
further from each other than this time, and aligned clocks leave less than this share of it. Ends
that differ by the same time in all collectives are those of the clocks, not of the collectives."""
UNNUMBERED = -1
"""Position of a collective that its trace does not number; it is matched by its identity."""


@record
class Arrival:
    """Launch of a collective on one rank, in nanoseconds of one clock.

    Args:
        rank: place of the rank in the list of ranks.
        begin_ns: begin.
        end_ns: end.
        collective: collective with the message of the rank.
        place: number in the sequence of the group; -1 if not recorded.
    """

    rank: int
    begin_ns: int
    end_ns: int
    collective: Collective
    place: int = UNNUMBERED

    @property
    def key(self) -> tuple[object, ...]:
        """Return group and kind, with the number in the sequence or else the size of messages."""
        c = self.collective
        numbered = c.group, c.members, c.kind, self.place
        return c.identity if self.place == UNNUMBERED else numbered


Together = tuple[Arrival, ...]
"""Arrivals of one collective, one for each rank that has it, at least two."""
Lists = Mapping[int, Sequence[Arrival]]
"""Arrivals by rank, in order."""


@record
class RankMatching:
    """Matched collectives of several ranks.

    Args:
        collectives: arrivals of each.
        offsets_ns: time that was added to the clock of each rank.
        is_aligned: True if the ends of collectives gave the offsets.
        unmatched: launches without one of another rank.
    """

    collectives: tuple[Together, ...]
    offsets_ns: tuple[int, ...]
    is_aligned: bool
    unmatched: int


def matched(ranks: Sequence[Sequence[Arrival]], *, is_absolute: bool) -> RankMatching:
    """Return the collectives that several ranks have.

    Args:
        ranks: arrivals of each rank, in order, without sends and receives.
        is_absolute: True if the clocks of all ranks count from the same moment.
    """
    groups: dict[tuple[object, ...], dict[int, list[Arrival]]] = {}
    for arrivals in ranks:
        for a in arrivals:
            groups.setdefault(a.key, {}).setdefault(a.rank, []).append(a)
    shared = [lists for lists in groups.values() if len(lists) > 1]
    # matched twice, by recorded clocks and by aligned ones, to choose the better match
    zeros = (0,) * len(ranks)
    recorded = tuple(instances(shared, zeros)) if is_absolute else ()
    offsets = aligned(shared, len(ranks))
    moved = tuple(instances(shared, offsets))
    before, after = overlapping(recorded), overlapping(moved)
    # clocks are aligned if they count from different moments, or if the recorded ones are wrong
    is_aligned = (
        not is_absolute
        or any(after[rank] > LEAST_GAIN * before[rank] for rank in after)
        or max(LEAST_SPREAD_NS, spread_ns(moved) / MOST_NARROWED) < spread_ns(recorded)
    )
    chosen = moved if is_aligned else recorded
    unmatched = sum(map(len, ranks)) - sum(map(len, chosen))
    return RankMatching(chosen, offsets if is_aligned else zeros, is_aligned, unmatched)


def spread_ns(collectives: Sequence[Together]) -> float:
    """Return the median time from the first end of a collective to the last; 0 without any."""
    ends = [[a.end_ns for a in c] for c in collectives]
    return median(max(e) - min(e) for e in ends) if ends else 0.0


def overlapping(collectives: Sequence[Together]) -> Counter[int]:
    """Return the number of collectives of each rank that run on all their ranks at one time."""
    together = (c for c in collectives if max(a.begin_ns for a in c) < min(a.end_ns for a in c))
    return Counter(a.rank for c in together for a in c)


def instances(groups: Sequence[Lists], offsets: Sequence[int]) -> Iterator[Together]:
    """Yield the arrivals of each collective, with the offsets added to their times."""
    for lists in groups:
        moved = {
            rank: [
                Arrival(
                    rank,
                    a.begin_ns + offsets[rank],
                    a.end_ns + offsets[rank],
                    a.collective,
                    a.place,
                )
                for a in arrivals
            ]
            for rank, arrivals in lists.items()
        }
        # the key of numbered collectives has their place, so all lists have the same one in order;
        # a shorter list, as of a cut trace, leaves the last ones unmatched
        if next(iter(moved.values()))[0].place != UNNUMBERED:
            yield from zip(*moved.values(), strict=False)
            continue
        for together in simultaneous(moved):
            # with more ranks than the group has, they are of several groups that have no name
            if 1 < len(together) <= (together[0].collective.group_size or len(together)):
                yield tuple(together)


def simultaneous(lists: Lists) -> Iterator[list[Arrival]]:
    """Yield arrivals that overlap in time, at most one of each rank."""
    together: list[Arrival] = []
    for a in sorted((a for arrivals in lists.values() for a in arrivals), key=begin):
        is_other = any(b.rank == a.rank or b.end_ns <= a.begin_ns for b in together)
        if is_other:
            yield together
            together = []
        together.append(a)
    yield together


def begin(a: Arrival) -> int:
    """Return the begin."""
    return a.begin_ns


def aligned(groups: Sequence[Lists], count: int) -> tuple[int, ...]:
    """Return the offset of each clock, so that collectives end together, in the median.

    Ranks that share no group are compared through others. Launches that some ranks lack are
    compared from the last one, and only between ranks that have nothing else in common.
    """
    # differences of the ends of collectives on two ranks: of those that have equally many launches,
    # and of others
    complete: dict[tuple[int, int], list[int]] = {}
    partial: dict[tuple[int, int], list[int]] = {}
    for lists in groups:
        ranks = sorted(lists)
        for one, other in pairwise(ranks):
            ours, theirs = lists[one], lists[other]
            pairs = zip(reversed(ours), reversed(theirs), strict=False)
            ends_ns = (complete if len(ours) == len(theirs) else partial).setdefault(
                (one, other), []
            )
            ends_ns += [a.end_ns - b.end_ns for a, b in pairs]
    links: dict[int, dict[int, int]] = {}
    # complete differences replace partial ones of the same ranks
    for (one, other), ends_ns in {**partial, **complete}.items():
        links.setdefault(one, {})[other] = round(median(ends_ns))
        links.setdefault(other, {})[one] = -round(median(ends_ns))
    offsets: dict[int, int] = {}
    for first in range(count):
        # from each rank that no earlier one reaches, along the links; such a rank keeps its clock
        waiting = [] if first in offsets else [first]
        offsets.setdefault(first, 0)
        while waiting:
            reached = waiting.pop()
            for other, difference in links.get(reached, {}).items():
                if other not in offsets:
                    offsets[other] = offsets[reached] + difference
                    waiting.append(other)
    return tuple(offsets[rank] for rank in range(count))


@record
class Skew:
    """Skew of one collective, in nanoseconds.

    Args:
        transfer_ns: time on the rank that waits least, the shortest.
        waiting_ns: rest of the time of each rank.
        skew_ns: from the first arrival to the last.
        last: rank that arrives last.
        late_ns: from the arrival before the last one.
    """

    transfer_ns: int
    waiting_ns: Mapping[int, int]
    skew_ns: int
    last: int
    late_ns: int

    @classmethod
    def of(cls, together: Together) -> Skew:
        """Build the skew of a collective."""
        # the rank that arrives last does not wait: its time is that of the transfer
        times = {a.rank: a.end_ns - a.begin_ns for a in together}
        shortest = min(times.values())
        begins = sorted((a.begin_ns, a.rank) for a in together)
        (first, _), (before, _), (last, last_rank) = begins[0], begins[-2], begins[-1]
        waiting = {rank: time - shortest for rank, time in times.items()}
        return cls(
            transfer_ns=shortest,
            waiting_ns=waiting,
            skew_ns=last - first,
            last=last_rank,
            late_ns=last - before,
        )


def compared(kind: CollectiveKind) -> bool:
    """Return True for collectives of a whole group: a send or receive has no skew of a group."""
    return kind is not CollectiveKind.SEND_RECEIVE
