"""A measurement as JSON: schema ``perfc-measure/1``; without a target, predictions are null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from perfc.ir import record
from perfc.ir.record import project

from .matching.compare import Compared, Measurement

SCHEMA = "perfc-measure/1"
"""Schema of the JSON document."""
NOT_COMPARED = {"floor_s": None, "prediction_s": None, "residual_s": None, "badge": ""}
"""Fields that require a target."""


@record
class RuntimeKernel:
    """Kernel of the runtime: name, operator, time."""

    name: str
    op: str
    time_s: float


@record
class PartView:
    """One analyzed kernel, or several that overlap with the same runtime kernels.

    Args:
        part: number of the row, from 0.
        kernels: indices of the analyzed kernels.
        label: operators.
        kind: kind of the kernel.
        floor_s: lower bound of its time.
        prediction_s: predicted time.
        time_s: measured, median of the runs.
        iqr_s: distance between the quartiles of the runs.
        residual_s: measured less predicted.
        badge: "faster than its floor" for a time below the lower bound, else "".
        nodes: nodes of the graph.
        runtime: kernels that the runtime ran for it.
    """

    part: int
    kernels: tuple[int, ...]
    label: str
    kind: str
    floor_s: float | None
    prediction_s: float | None
    time_s: float
    iqr_s: float
    residual_s: float | None
    badge: str
    nodes: tuple[str, ...]
    runtime: tuple[RuntimeKernel, ...]

    @classmethod
    def of(cls, i: int, c: Compared, *, has_target: bool) -> PartView:
        """Build the view of one row."""
        return project(
            cls,
            c,
            part=i,
            kernels=tuple(c.part.kernels),
            iqr_s=c.part.iqr_s,
            nodes=tuple(c.part.nodes),
            runtime=tuple([project(RuntimeKernel, k) for k in c.part.runtime]),
            **({} if has_target else NOT_COMPARED),
        )


@record
class MeasurementView:
    """Measurement compared with the prediction.

    Args:
        model: the file.
        digest: digest of its graph.
        target: machine whose prediction it is compared with; null without one.
        dims: sizes of the model's extents.
        runtime: ``ort``, ``torch`` or ``tensorrt``.
        version: version of the runtime, with its name.
        device: device that the model ran on.
        threads: number of threads of the runtime's pool, 0 if unknown.
        floor_s: lower bound of the time of a run.
        prediction_s: predicted time of a run.
        time_s: measured, median of the runs.
        iqr_s: distance between the quartiles of the runs.
        best_s: shortest run.
        runs: number of runs.
        residual_s: measured less predicted.
        badge: "faster than its floor" for a time below the lower bound, else "".
        kernel_s: time of kernels alone.
        attributed: share of the kernels' time that was traced to nodes.
        lost: kernels of the runtime that were traced to none.
        peak_rss_bytes: most memory of the process.
        base_rss_bytes: its memory before the run.
        notes: what a reader must know.
        kernels: rows that were measured.
    """

    model: str
    digest: str
    target: str | None
    dims: Mapping[str, int]
    runtime: str
    version: str
    device: str
    threads: int
    floor_s: float | None
    prediction_s: float | None
    time_s: float
    iqr_s: float
    best_s: float
    runs: int
    residual_s: float | None
    badge: str
    kernel_s: float
    attributed: float
    lost: tuple[str, ...]
    peak_rss_bytes: int | None
    base_rss_bytes: int | None
    notes: tuple[str, ...]
    kernels: tuple[PartView, ...]

    @classmethod
    def of(cls, m: Measurement, notes: tuple[str, ...]) -> MeasurementView:
        """Build the view of a measurement."""
        has = m.has_target
        kernels = (PartView.of(i, c, has_target=has) for i, c in enumerate(m.rows) if c.is_measured)
        return project(
            cls,
            m,
            model=m.report.path,
            digest=m.report.source.origin.digest,
            target=m.report.machine.name if has else None,
            dims=dict(m.report.env),
            time_s=m.total_s,
            iqr_s=m.total_iqr_s,
            attributed=m.attribution.share,
            lost=tuple([k.name for k in m.attribution.lost]),
            notes=notes,
            kernels=tuple(kernels),
            **asdict(m.setting),
            **({} if has else NOT_COMPARED),
        )
