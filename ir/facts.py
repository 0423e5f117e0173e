"""Where a number comes from; facts are tables outside the graph."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Origin(IntEnum):
    """Origin of a number, from strong to weak; what is derived has its weakest input's."""

    COUNTED = 0
    """A closed form on the graph."""
    MEASURED = 1
    """A probe on a machine, with samples behind it."""
    VENDOR = 2
    """A data sheet."""
    BOUND = 3
    """A proved inequality."""
    PREDICTED = 4
    """A trained model, with a card."""
    ASSUMED = 5
    """A default that someone must defend."""

    def __str__(self) -> str:
        return self.name.lower()


def weakest(origins: Iterable[Origin]) -> Origin:
    """The origin of a number derived from these."""
    return max(origins, default=Origin.COUNTED)
