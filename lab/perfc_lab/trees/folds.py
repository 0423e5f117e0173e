"""Name the fold of each row: a random fifth, its model, or its machine.

The fold of a row is its name; rows of one fold are tested together.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import Enum

from .rows import TreeRow

FOLDS = 5
"""Number of random folds: a fifth of the rows is tested at a time."""


class HeldOutKind(Enum):
    """Kinds of folds."""

    RANDOM = "random fifth"
    """Random folds, as in K. Panner Selvam's thesis: each training has every model and machine."""
    MODEL = "unseen model"
    """All rows of a model are one fold."""
    MACHINE = "unseen machine"
    """All rows of a machine are one fold."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


def folds_of(rows: Sequence[TreeRow], kind: HeldOutKind, seed: int = 0) -> list[str]:
    """Return the fold of each row; all rows of one run are in the same fold.

    Args:
        rows: measurements of one target.
        kind: kind of the folds.
        seed: random seed of ``RANDOM``, which stratifies by table and model.
    """
    match kind:
        case HeldOutKind.MODEL:
            return [row.model for row in rows]
        case HeldOutKind.MACHINE:
            return [row.machine for row in rows]
        case HeldOutKind.RANDOM:
            return _dealt(rows, seed)


def _dealt(rows: Sequence[TreeRow], seed: int) -> list[str]:
    """Return the fold of each row: five folds of whole runs, stratified by table and model."""
    generator = random.Random(seed)
    strata: dict[tuple[str, str], dict[tuple[str | float, ...], list[int]]] = {}
    for i, row in enumerate(rows):
        stratum = strata.setdefault((row.source, row.model), {})
        stratum.setdefault(row.served.run, []).append(i)
    names = [""] * len(rows)
    start = 0
    for runs in strata.values():
        members = list(runs.values())
        generator.shuffle(members)
        for position, run in enumerate(members):
            for i in run:
                names[i] = str((start + position) % FOLDS)
        # the next stratum begins with the fold after the last, so that folds stay equally large
        start += len(members)
    return names
