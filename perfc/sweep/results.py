"""What a sweep finds: points, regimes along a symbol, and what fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.ir.record import record

from .axes import Axis

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import RunEstimate
    from perfc.api import Report


class Regime(Enum):
    """What most of the time goes to."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LAUNCH = "launch"

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Point:
    """The model at one value of every symbol on one target.

    Args:
        dims: the values.
        target: the machine.
        sustained_s: of a run at measured rates, launches included.
        floor_s: no run is faster.
        launch_s: part of the sustained time that waits for launches.
        mac: multiply-accumulates.
        device_bytes: that reach device memory at sustained rates.
        memory_bytes: the peak of activations with all weights resident.
        fits: whether that is no more than the machine has.
        regime: what most of the sustained time goes to.
        report: the analysis there, which predicts when it is asked; None where only rooflines are
            wanted.
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
    report: Report | None = field(default=None, repr=False, compare=False)

    @cached_property
    def predicted(self) -> RunEstimate | None:
        """What `perfc analyze` predicts there; None where nobody asks for predictions."""
        return None if self.report is None else self.report.prediction.total

    @property
    def time_s(self) -> float:
        """The predicted time of a run, else the sustained one."""
        return self.sustained_s if self.predicted is None else self.predicted.time_s


@record
class Span:
    """Values of the swept symbol, both ends included, in which one regime holds."""

    regime: Regime
    first: int
    last: int


@record
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


@record
class Capacity:
    """The largest value of a symbol whose peak memory fits, None where every value does.

    0 means that not even 1 fits. ``capacity_bytes`` is what the driver reports of the device.
    """

    target: str
    symbol: str
    fixed: Mapping[str, int]
    capacity_bytes: int
    largest: int | None


@record
class Sweep:
    """The result of a sweep.

    Args:
        model: the file.
        axes: swept symbols with their values.
        assumed: sizes of symbols that nobody gave.
        points: the model at every combination, on every target.
        crossovers: where regimes change.
        capacities: what fits.
        labels: what people read for the names of symbols.
    """

    model: str
    axes: tuple[Axis, ...]
    assumed: Mapping[str, int]
    points: tuple[Point, ...]
    crossovers: tuple[Crossover, ...]
    capacities: tuple[Capacity, ...]
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        """The answer in three lines."""
        from .views import summary_lines

        return "\n".join(summary_lines(self))

    def _repr_html_(self) -> str:
        """The points as a table for a notebook."""
        from perfc.report.notebook_document import render

        from .views import document

        return render(document(self))

    def label(self, name: str) -> str:
        """What people read for the name of a symbol."""
        return self.labels.get(name, name)

    def at(self, sizes: Mapping[str, int]) -> str:
        """Sizes of symbols in words, ``batch s72 4, seq 128``."""
        return ", ".join(f"{self.label(n)} {v}" for n, v in sizes.items())
