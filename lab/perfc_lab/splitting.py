"""Divide rows into folds, which are left out of a training in turn.

The rows of a group, which is a graph, a machine or an architecture, are all in one fold.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import GraphRow

# types of rows, of names of folds and of groups
Row = TypeVar("Row")
Name = TypeVar("Name", int, str)
Group = TypeVar("Group", bound=Hashable)


def fold_of(
    groups: Iterable[Group], folds: int, seed: int, key: Callable[[Group], Any] | None = None
) -> dict[Group, int]:
    """Return the fold of each group, dealt at random; ``key`` sorts groups that have no order."""
    # sorted first, so that folds depend on the seed alone and not on the order of rows
    names = sorted(set(groups), key=key)  # type: ignore[type-var, arg-type]
    random.Random(seed).shuffle(names)
    return {name: i % folds for i, name in enumerate(names)}


def grouped(rows: Iterable[Row], key: Callable[[Row], Group]) -> dict[Group, list[Row]]:
    """Return the rows of each group, in their order.

    >>> grouped(["ax", "b", "ay"], lambda text: text[0])
    {'a': ['ax', 'ay'], 'b': ['b']}
    """
    groups: dict[Group, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def leave_out(
    rows: Sequence[Row], folds: Sequence[Name]
) -> Iterator[tuple[Name, list[Row], list[Row]]]:
    """Yield each fold in order, with the rows to train on and the rows of the fold to test on.

    >>> list(leave_out("abc", [1, 0, 1]))
    [(0, ['a', 'c'], ['b']), (1, ['b'], ['a', 'c'])]
    """
    for fold in sorted(set(folds)):
        train = [row for row, name in zip(rows, folds, strict=True) if name != fold]
        yield fold, train, [row for row, name in zip(rows, folds, strict=True) if name == fold]


def at_several_batches(rows: Sequence[GraphRow]) -> bool:
    """Return True if a graph was measured at several batches on one machine and setting."""
    # `setdefault` returns the first batch of a graph: a row with another batch decides
    seen: dict[object, int] = {}
    return any(seen.setdefault((r.target, r.setting, r.graph), r.batch) != r.batch for r in rows)
