"""Pieces that the papers' node vectors are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...features.classes import Array

OTHER = "other"


def one_hot(names: Sequence[str], vocabulary: Sequence[str]) -> Array:
    """``[nodes, len(vocabulary)]``; what is not listed is ``other`` where that is, else zeros."""
    place = {name: i for i, name in enumerate(vocabulary)}
    rest = place.get(OTHER, -1)
    columns = np.array([place.get(name, rest) for name in names], np.int64)
    found = np.zeros((len(names), len(vocabulary)))
    known = columns >= 0
    found[np.flatnonzero(known), columns[known]] = 1.0
    return found


def logs(facts: Mapping[str, Array], names: Iterable[str]) -> Array:
    """``[nodes, names]``: log₂(1 + x), as sizes span nine orders of magnitude.

    The papers feed raw numbers; with few graphs to learn from, a network does not get over that.
    """
    return np.log2(1 + np.stack([facts[name] for name in names], axis=1))


def indicators(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Columns of a one-hot part; their prefix keeps them from being standardised."""
    return tuple(f"is {name}" for name in vocabulary)
