"""What a sweep finds: points, regimes along a symbol, and what fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from .axes import Axis


class Regime(Enum):
    """What most of the time goes to."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LAUNCH = "launch"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Point:
    """The model at one value of every symbol on one target.

    ``memory_bytes`` is the peak of activations with all weights resident.
    """

    dims: Mapping[str, int]
    target: str
    time_s: float
    floor_s: float
    launch_s: float
    mac: int
    device_bytes: float
    memory_bytes: int
    fits: bool
    regime: Regime


@dataclass(frozen=True, slots=True)
class Span:
    """Values of the swept symbol, both ends included, in which one regime holds."""

    regime: Regime
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Crossover:
    """Regimes along one symbol, the others fixed.

    Args:
        what: "model", or a kernel's label.
        node: the kernel's first node, "" for the model.
        spans: in ascending order.
    """

    target: str
    symbol: str
    fixed: Mapping[str, int]
    what: str
    node: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The largest value of a symbol whose peak memory fits, None where every value does.

    0 means that not even 1 fits.
    """

    target: str
    symbol: str
    fixed: Mapping[str, int]
    capacity_bytes: int
    largest: int | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of a sweep."""

    model: str
    axes: tuple[Axis, ...]
    assumed: Mapping[str, int]
    points: tuple[Point, ...]
    crossovers: tuple[Crossover, ...]
    capacities: tuple[Capacity, ...]
