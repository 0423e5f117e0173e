"""Comparison of predicted and measured times, per kernel and in total.

`compared` gives each part of `attribute` its bounds and prediction; `Measurement` is the result
that `session` returns and the views print.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from perfc.api import Report
from perfc.ir import record
from perfc.passes.roofline.roofline import KernelBound
from perfc.view.result import Result

from .attribute import Attribution, MatchedKernels

FASTER = "faster than its floor"
"""Badge for an impossible time: an error of perfc or of the clock."""


@record
class RuntimeSetting:
    """Runtime and device of a measurement.

    Args:
        runtime: ``ort``, ``torch`` or ``tensorrt``.
        version: version of the runtime, with its name.
        device: ``cpu``, ``cuda:0`` or a name.
        threads: number of threads of the runtime's pool, 0 if unknown.
    """

    runtime: str
    version: str
    device: str
    threads: int


@record
class Compared:
    """One analyzed kernel, or several that overlap with the same runtime kernels.

    Args:
        part: the measured runtime kernels.
        bounds: bounds of the analyzed kernels; empty for nodes that launch none.
        prediction_s: predicted time of the analyzed kernels together.
    """

    part: MatchedKernels
    bounds: tuple[KernelBound, ...]
    prediction_s: float

    @property
    def floor_s(self) -> float:
        """Return the lower bound of the kernels, in seconds."""
        return math.fsum(b.floor_s for b in self.bounds)

    @property
    def time_s(self) -> float:
        """Return the measured time in seconds."""
        return self.part.time_s

    @property
    def residual_s(self) -> float:
        """Return the measured minus predicted time."""
        return self.time_s - self.prediction_s

    @property
    def is_measured(self) -> bool:
        """Return True if the runtime timed it; a kernel merged into another one has no time."""
        return bool(self.part.runtime)

    @property
    def badge(self) -> str:
        """Return the badge for a kernel below its lower bound; empty for others."""
        # one interquartile range is allowed for the scatter of the runs
        if self.is_measured and self.time_s + self.part.iqr_s < self.floor_s:
            return FASTER
        return ""

    @property
    def label(self) -> str:
        """Return the operators of the kernel."""
        # where no kernel was analyzed, only the runtime names the operators
        if not self.bounds:
            return " + ".join(dict.fromkeys(k.op or k.name for k in self.part.runtime))
        return " | ".join(b.kernel.label for b in self.bounds)

    @property
    def kind(self) -> str:
        """Return the class of its longest kernel; ``host`` if it launches no analyzed kernel."""
        if not self.bounds:
            return "host"
        return max(self.bounds, key=lambda b: b.time_s).kernel.kind.value


@dataclass(frozen=True)
class Measurement(Result):
    """Measured model with its analysis.

    Args:
        report: the analysis at the values that were measured.
        setting: the runtime, its version, device and threads.
        rows: kernels in execution order, then nodes that launch no analyzed kernel.
        attribution: assignment of the kernel time to nodes.
        total_s: median of whole runs; of kernels alone where only a profile was given.
        total_iqr_s: interquartile range of that.
        best_s: shortest run.
        runs: number of runs that the total is the median of.
        peak_rss_bytes: highest memory of the process, 0 if unknown.
        base_rss_bytes: memory of the process without a model.
        prediction_s: predicted time of the whole run.
        is_whole: whether ``total_s`` is of whole runs.
        has_target: whether the caller named the machine. Else the analysis is of a machine that
            stands for all of its kind, and a run below its lower bound is no error.
        notes: facts that limit what the numbers say, for the reader of the result.
    """

    layout: ClassVar[str] = "perfc.measuring.measure.views:LAYOUT"
    report: Report
    setting: RuntimeSetting
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
        """Return the lower bound of the whole run."""
        return self.report.roofline.floor_s

    @property
    def kernel_s(self) -> float:
        """Return the measured time inside kernels."""
        return self.attribution.total_s

    @property
    def residual_s(self) -> float:
        """Return the measured minus predicted time of the run."""
        return self.total_s - self.prediction_s

    @property
    def badge(self) -> str:
        """Return the badge for a run below its lower bound."""
        is_faster = self.has_target and self.total_s + self.total_iqr_s < self.floor_s
        return FASTER if is_faster else ""


def compared(attribution: Attribution, report: Report) -> tuple[Compared, ...]:
    """Return each part of the measured time with the bounds and the prediction of its kernels.

    On a GPU the prediction is the time on the device, since profilers time kernels there: waiting
    for the host is no part of it.
    """
    bounds, is_gpu = report.roofline.kernels, report.machine.kind == "cuda"
    times = [k.device_s if is_gpu else k.time_s for k in report.prediction.kernels]
    return tuple(
        Compared(
            part, tuple(bounds[i] for i in part.kernels), math.fsum(times[i] for i in part.kernels)
        )
        for part in attribution.parts
    )
