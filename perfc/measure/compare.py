"""Predicted against measured, kernel by kernel and in total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfc.analyzers.estimators.fitted_rates import of_machine
from perfc.ir.record import record
from perfc.passes.roofline import KernelBound

from .attribute import Attribution, Part

if TYPE_CHECKING:
    from perfc.api import Report

FASTER = "faster than its floor"
"""Impossible: a bug of ours or of the clock."""


@record
class Setting:
    """What ran, on what.

    Args:
        runtime: ``ort``, ``torch`` or ``tensorrt``.
        version: of the runtime, with its name.
        device: ``cpu``, ``cuda:0`` or a name.
        threads: of the runtime's pool, 0 where nobody knows.
    """

    runtime: str
    version: str
    device: str
    threads: int


@record
class Compared:
    """One kernel of ours, or several that the runtime's kernels overlap with.

    Args:
        part: what was measured.
        bounds: of the kernels, by our analysis; empty for what launches nothing in our reading.
        prediction_s: as an analysis predicts.
    """

    part: Part
    bounds: tuple[KernelBound, ...]
    prediction_s: float

    @property
    def floor_s(self) -> float:
        """No time can be below it."""
        return math.fsum(b.floor_s for b in self.bounds)

    @property
    def time_s(self) -> float:
        """Measured."""
        return self.part.time_s

    @property
    def residual_s(self) -> float:
        """Measured time that the prediction lacks; negative where it has too much."""
        return self.time_s - self.prediction_s

    @property
    def is_measured(self) -> bool:
        """Whether the runtime timed anything of it; what it merged away has no time of its own."""
        return bool(self.part.runtime)

    @property
    def badge(self) -> str:
        """Always shown when a kernel was faster than is possible."""
        if self.is_measured and self.time_s + self.part.iqr_s < self.floor_s:
            return FASTER
        return ""

    @property
    def label(self) -> str:
        """Operators it executes."""
        if not self.bounds:
            return " + ".join(dict.fromkeys(k.op or k.name for k in self.part.runtime))
        return " | ".join(b.kernel.label for b in self.bounds)

    @property
    def kind(self) -> str:
        """Class of its longest kernel; ``host`` for what launches nothing in our reading."""
        if not self.bounds:
            return "host"
        return max(self.bounds, key=lambda b: b.time_s).kernel.kind.value


@dataclass(frozen=True)
class Measurement:
    """One model, measured, beside what the analysis says of it.

    Args:
        report: the analysis at the values that were measured.
        setting: what ran, on what.
        rows: by kernel in execution order, then what launches nothing in our reading.
        attribution: where the kernel time went.
        total_s: median of whole runs; of kernels alone where only a profile was given.
        total_iqr_s: of that.
        best_s: shortest run.
        runs: that the total is the median of.
        peak_rss_bytes: highest memory of the process, 0 where nobody knows.
        base_rss_bytes: memory of the process without a model.
        prediction_s: of the whole run.
        is_whole: whether ``total_s`` is of whole runs.
        has_target: whether the caller named the machine; else the analysis is of one that stands
            for its kind, and comparing with it says nothing.
        notes: what a reader must know.
    """

    report: Report
    setting: Setting
    rows: tuple[Compared, ...]
    attribution: Attribution
    total_s: float
    total_iqr_s: float
    best_s: float
    runs: int
    peak_rss_bytes: int
    base_rss_bytes: int
    prediction_s: float
    is_whole: bool = True
    has_target: bool = True
    notes: tuple[str, ...] = ()

    @property
    def floor_s(self) -> float:
        """Lower bound of the whole run."""
        return self.report.roofline.floor_s

    @property
    def kernel_s(self) -> float:
        """Measured time inside kernels."""
        return self.attribution.total_s

    @property
    def residual_s(self) -> float:
        """Measured time of the run that the prediction lacks."""
        return self.total_s - self.prediction_s

    @property
    def badge(self) -> str:
        """Always shown when the run was faster than is possible."""
        is_faster = self.has_target and self.total_s + self.total_iqr_s < self.floor_s
        return FASTER if is_faster else ""


def compared(attribution: Attribution, report: Report) -> tuple[Compared, ...]:
    """Every part beside what the analysis says of it."""
    bounds, times = report.roofline.kernels, [k.time_s for k in report.prediction.kernels]
    efficiencies = of_machine(report.machine, report.kernels.runtime.name)
    host_s = efficiencies.host_s if efficiencies is not None else 0.0
    rows: list[Compared] = []
    for part in attribution.parts:
        own = tuple(bounds[i] for i in part.kernels)
        time_s = math.fsum(times[i] for i in part.kernels) if own else host_s * len(part.runtime)
        rows.append(Compared(part, own, time_s))
    return tuple(rows)
