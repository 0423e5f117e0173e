"""Difference of two traces: kernels matched by operator, shapes and name; totals add up exactly.

Times are whole nanoseconds, so that the sums of changes, new and gone kernels are the difference
of the totals without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from perfc.ir.record import mutable, record

from .classes import TracedClass
from .summary import ClassTime, KernelTime, TraceSummary


class Match(Enum):
    """Ways to identify a kernel of one trace in the other."""

    EXACT = "operator, shapes, name"
    OPERATOR = "operator, shapes"
    NAME = "name"
    NEW = "new"
    GONE = "gone"


@record
class KernelChange:
    """A kernel in both traces, or in one of them.

    Args:
        kernel: name in the new trace; in the old one if gone.
        operator: operator; empty if not recorded.
        shapes: extents of its tensors; empty if not recorded.
        class_name: class.
        match: how it was identified.
        old_launches: launches in the old trace; 0 if new.
        new_launches: launches in the new trace; 0 if gone.
        old_ns: time in the old trace; 0 if new.
        new_ns: time in the new trace; 0 if gone.
    """

    kernel: str
    operator: str
    shapes: str
    class_name: TracedClass
    match: Match
    old_launches: int
    new_launches: int
    old_ns: int
    new_ns: int

    @property
    def change_ns(self) -> int:
        """Time in the new trace minus that in the old one."""
        return self.new_ns - self.old_ns


@record
class ClassChange:
    """Times of one class in both traces."""

    class_name: TracedClass
    old_launches: int
    new_launches: int
    old_ns: int
    new_ns: int


@record
class TraceDifference:
    """Difference of two traces.

    Args:
        old: summary of the old trace.
        new: summary of the new trace.
        kernels: changes, the largest first.
        classes: changes by class, the largest first.
    """

    old: TraceSummary
    new: TraceSummary
    kernels: tuple[KernelChange, ...]
    classes: tuple[ClassChange, ...]

    @property
    def is_empty(self) -> bool:
        """True if every kernel is in both traces with the same launches and time."""
        return all(k.change_ns == 0 and k.old_launches == k.new_launches for k in self.kernels)


@mutable
class _Side:
    first: KernelTime
    launches: int = 0
    time_ns: int = 0


Key = tuple[str, ...] | None


def exact(k: KernelTime) -> Key:
    """Return operator, shapes and name."""
    return k.operator, k.shapes, k.kernel


def operator(k: KernelTime) -> Key:
    """Return operator and shapes; None if not recorded."""
    return None if k.call is None else (k.operator, k.shapes)


def name(k: KernelTime) -> Key:
    """Return the name."""
    return (k.kernel,)


KEYS: tuple[tuple[Match, Callable[[KernelTime], Key]], ...] = (
    (Match.EXACT, exact),
    (Match.OPERATOR, operator),
    (Match.NAME, name),
)
"""Ways to identify a kernel, the safest first; each takes what the earlier ones left."""


def difference(old: TraceSummary, new: TraceSummary) -> TraceDifference:
    """Return the difference of two traces."""
    left, right = list(old.kernels), list(new.kernels)
    changes: list[KernelChange] = []
    for match, key in KEYS:
        before, after = grouped(left, key), grouped(right, key)
        shared = before.keys() & after.keys()
        changes += [changed(match, before[k], after[k]) for k in after if k in shared]
        left = [k for k in left if key(k) not in shared]
        right = [k for k in right if key(k) not in shared]
    changes += [changed(Match.GONE, s, _Side(s.first)) for s in grouped(left, exact).values()]
    changes += [changed(Match.NEW, _Side(s.first), s) for s in grouped(right, exact).values()]
    changes.sort(key=lambda c: (-abs(c.change_ns), -c.new_ns, c.kernel, c.shapes))
    return TraceDifference(old, new, tuple(changes), class_changes(old, new))


def grouped(
    kernels: Iterable[KernelTime], key: Callable[[KernelTime], Key]
) -> Mapping[tuple[str, ...], _Side]:
    """Return the sums of the kernels with the same key; kernels without one are left out."""
    sides: dict[tuple[str, ...], _Side] = {}
    for k in kernels:
        of = key(k)
        if of is not None:
            side = sides.setdefault(of, _Side(k))
            side.launches += k.launches
            side.time_ns += k.time_ns
    return sides


def changed(match: Match, old: _Side, new: _Side) -> KernelChange:
    """Return the change of a kernel between the traces."""
    k = new.first
    return KernelChange(
        k.kernel, k.operator, k.shapes, k.class_name, match, old.launches, new.launches,
        old.time_ns, new.time_ns,
    )  # fmt: skip


def class_changes(old: TraceSummary, new: TraceSummary) -> tuple[ClassChange, ...]:
    """Return the change of each class, the largest first."""
    before, after = ({c.name: c for c in s.classes} for s in (old, new))
    made: list[ClassChange] = []
    for which in {**before, **after}:
        b, a = (side.get(which, ClassTime(which, 0, 0)) for side in (before, after))
        made.append(ClassChange(which, b.launches, a.launches, b.time_ns, a.time_ns))
    return tuple(sorted(made, key=lambda c: (-abs(c.new_ns - c.old_ns), c.class_name.value)))
