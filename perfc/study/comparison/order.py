"""Sort orders of a comparison, and the status of a row against its maximum time."""

from __future__ import annotations

from enum import Enum


class Order(Enum):
    """Sort order of rows; best first, unknown last."""

    GIVEN = "given"
    """Order of the given models, runtimes, precisions and targets."""
    TIME = "time"
    FLOOR = "floor"
    THROUGHPUT = "throughput"
    ENERGY = "energy"
    MEMORY = "memory"
    PRICE = "price"
    TARGET = "target"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class LimitStatus(Enum):
    """Status of a run against its maximum time."""

    HOLDS = "yes"
    """The whole prediction interval meets it."""
    LIKELY = "likely"
    """The predicted time meets it, the end of the interval does not."""
    MISSES = "no"
    """The predicted time is longer, or the run does not fit in memory."""
