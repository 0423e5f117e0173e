"""Origins of numbers, by which reports mark how well each is known."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Origin(IntEnum):
    """Origin of a number, from strong to weak; a derived number has the weakest of its inputs."""

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
    """A default that a person must justify."""

    def __str__(self) -> str:
        return self.name.lower()


def weakest(origins: Iterable[Origin]) -> Origin:
    """Return the origin of a number derived from numbers of these origins."""
    return max(origins, default=Origin.COUNTED)
