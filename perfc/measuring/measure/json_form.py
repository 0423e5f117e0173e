"""A measurement as JSON: schema ``perfc-measure/1``; without a target, predictions are null."""

from __future__ import annotations

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.result import Fields

from .matching.compare import Compared, Measurement

NO_TARGET = (
    "nothing to compare with: no --target says which machine this is; --target host is this "
    "processor, and perfc calibrate -o my.toml measures another device"
)
"""Note on a measurement without a target."""
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


def kernels(m: Measurement) -> tuple[PartView, ...]:
    """Return the rows that were measured."""
    rows = (PartView.of(i, c, has_target=m.has_target) for i, c in enumerate(m.rows))
    return tuple(row for row, c in zip(rows, m.rows, strict=True) if c.is_measured)


def target(m: Measurement) -> str | None:
    """Return the machine whose prediction it is compared with; null without one."""
    return m.report.machine.name if m.has_target else None


def floor_s(m: Measurement) -> float | None:
    """Return the lower bound of the time of a run."""
    return m.floor_s if m.has_target else None


def prediction_s(m: Measurement) -> float | None:
    """Return the predicted time of a run."""
    return m.prediction_s if m.has_target else None


def residual_s(m: Measurement) -> float | None:
    """Return measured less predicted."""
    return m.residual_s if m.has_target else None


def lost(m: Measurement) -> tuple[str, ...]:
    """Return the kernels of the runtime that were traced to none."""
    return tuple([k.name for k in m.attribution.lost])


def notes(m: Measurement) -> tuple[str, ...]:
    """Return what a reader must know."""
    return (*m.notes, *(() if m.has_target else (NO_TARGET,)))


FIELDS = Fields(
    Measurement,
    {
        "model": "report.path",
        "digest": "report.source.origin.digest",
        "target": target,
        "dims": "report.env",
        "runtime": "setting.runtime",
        "version": "setting.version",
        "device": "setting.device",
        "threads": "setting.threads",
        "floor_s": floor_s,
        "prediction_s": prediction_s,
        "time_s": "total_s",
        "iqr_s": "total_iqr_s",
        "best_s": "best_s",
        "runs": "runs",
        "residual_s": residual_s,
        "badge": "badge",
        "kernel_s": "kernel_s",
        "attributed": "attribution.share",
        "lost": lost,
        "peak_rss_bytes": "peak_rss_bytes",
        "base_rss_bytes": "base_rss_bytes",
        "notes": notes,
        "kernels": kernels,
    },
)
