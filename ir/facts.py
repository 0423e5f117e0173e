"""Origins of numbers, by which reports mark how well each is known."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Origin(IntEnum):
    """Origin of a number, from strong to weak; a derived number has the weakest of its inputs."""

    COUNTED = 0
    """Computed by a closed form on the graph."""
    MEASURED = 1
    """Computed from samples of a probe on a machine."""
    VENDOR = 2
    """Copied from a vendor's data sheet."""
    BOUND = 3
    """Derived from a proved inequality."""
    PREDICTED = 4
    """Predicted by a trained model, whose card describes its data and errors."""
    ASSUMED = 5
    """Assumed as a default, which a person must justify."""

    def __str__(self) -> str:
        return self.name.lower()


def weakest(origins: Iterable[Origin]) -> Origin:
    """Return the origin of a number derived from numbers of these origins."""
    return max(origins, default=Origin.COUNTED)
