"""Results of a sweep: points, regimes along a symbol, and the largest sizes that fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from perfc.ir import record
from perfc.view.result import Result

from .axes import Axis

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import RunEstimate


class Regime(Enum):
    """Regime: compute, memory or launch, whichever takes most of the time."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LAUNCH = "launch"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@dataclass(frozen=True)
class Point:
    """The model at one value of every symbol on one target.

    Args:
        dims: values of the symbols.
        target: the machine.
        sustained_s: time of a run at measured rates, including launches.
        floor_s: lower bound.
        launch_s: part of the sustained time that waits for launches.
        mac: multiply-accumulates.
        device_bytes: traffic of device memory at sustained rates.
        memory_bytes: device memory of the process: weights, activations, context.
        fits: True if that fits into the memory of the machine.
        regime: regime that takes most of the sustained time.
        predicted: prediction of `perfc analyze` at the point; None for rooflines only.
    """

    dims: Mapping[str, int]
    target: str
    sustained_s: float
    floor_s: float
    launch_s: float
    mac: int
    device_bytes: float
    memory_bytes: int
    fits: bool
    regime: Regime
    predicted: RunEstimate | None = field(default=None, repr=False, compare=False)

    @property
    def time_s(self) -> float:
        """Return the predicted time of a run, or the sustained time without a prediction."""
        return self.sustained_s if self.predicted is None else self.predicted.time_s

    @property
    def low_s(self) -> float | None:
        """Return the lower end of the prediction interval; None without a prediction."""
        return None if self.predicted is None else self.predicted.low_s

    @property
    def high_s(self) -> float | None:
        """Return the upper end of the interval."""
        return None if self.predicted is None else self.predicted.high_s


@record
class RegimeSpan:
    """Range of the swept symbol, both ends included, with one regime."""

    regime: Regime
    first: int
    last: int


@record
class Crossover:
    """Regimes along one symbol, with the others fixed.

    Args:
        target: the machine.
        symbol: symbol that varies.
        fixed: values of the other symbols.
        what: ``model``, or the label of a kernel.
        node: first node of the kernel; empty for the model.
        spans: ranges in ascending order.
    """

    target: str
    symbol: str
    fixed: Mapping[str, int]
    what: str
    node: str
    spans: tuple[RegimeSpan, ...]


@record
class SizeLimit:
    """Largest value of a symbol whose peak memory fits; None if every value fits.

    0 means that not even 1 fits. ``capacity_bytes`` is the device memory reported by the driver.
    """

    target: str
    symbol: str
    fixed: Mapping[str, int]
    capacity_bytes: int
    largest: int | None


@record
class Sweep(Result):
    """The result of a sweep.

    Args:
        model: the file.
        axes: swept symbols with their values.
        assumed: default sizes of symbols that were not given.
        points: the model at every combination of values, on every target.
        crossovers: regimes along each symbol.
        capacities: largest values that fit.
        labels: labels of symbols.
    """

    layout: ClassVar[str] = "perfc.study.sweep.views:LAYOUT"
    model: str
    axes: tuple[Axis, ...]
    assumed: Mapping[str, int]
    points: tuple[Point, ...]
    crossovers: tuple[Crossover, ...]
    capacities: tuple[SizeLimit, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    __repr__ = Result.__repr__

    def label(self, name: str) -> str:
        """Return the label of a symbol."""
        return self.labels.get(name, name)

    def at(self, sizes: Mapping[str, int]) -> str:
        """Describe sizes of symbols: ``batch s72 4, seq 128``."""
        return ", ".join(f"{self.label(n)} {v}" for n, v in sizes.items())
