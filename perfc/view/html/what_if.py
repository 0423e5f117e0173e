"""Table of the run at other batches, precisions and targets, analyzed with the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.deployment.extents import batch_symbol
from perfc.errors import PerfcError
from perfc.view.report import Verdict
from perfc.view.report.names import machine_title

from .payload import Json, number, text

if TYPE_CHECKING:
    from perfc.api import Report

BATCHES = tuple(2**i for i in range(9))
"""Batches to analyze in addition to that of the report: those of the page's slider."""
HALF = "f16"
"""Precision to analyze in addition to that of the report."""
MOST_TARGETS = 8
"""Maximum number of machines on one page."""
MOST_KERNELS = 400
"""Maximum number of kernels of a model that is analyzed at other batches and precisions; each of
these settings is another analysis before the page is written."""


def what_ifs(report: Report, targets: Sequence[str], *, predict: bool) -> Json | None:
    """Return the headline of every setting; None if there is only one.

    A setting that cannot be analyzed is null.

    Args:
        report: report of the page.
        targets: names or files of other machines.
        predict: predict times; otherwise use measured rates.
    """
    batches, dtypes = batches_of(report), dtypes_of(report)
    reported = reported_batch(report)
    machines = ("", *targets)
    if len(batches) * len(dtypes) * len(machines) == 1:
        return None
    # one report for each machine and precision: batches are new sizes of its formulas
    reports = {(m, dtype): bases(report, m, dtype) for m in machines for dtype in dtypes}
    titles = {m: machine_title(r.machine) for (m, _), r in reports.items() if r is not None}
    return {
        "batches": batches,
        "batch": batches.index(reported),
        "dtypes": [d or "as the model has it" for d in dtypes],
        "dtype": dtypes.index(report.dtype),
        "targets": [text(titles.get(m, m)) for m in machines],
        "rows": [
            [
                [headline(reports[m, dtype], batch, reported, predict=predict) for batch in batches]
                for dtype in dtypes
            ]
            for m in machines
        ],
    }


def reported_batch(report: Report) -> int:
    """Return the batch of the report; 0 if the batch of the model is fixed."""
    return report.env.get(batch_symbol(report.source) or "", 0)


def batches_of(report: Report) -> list[int]:
    """Return the batches to analyze; only that of the report if it is fixed or the model large."""
    reported = reported_batch(report)
    if reported < 1 or len(report.kernels.kernels) > MOST_KERNELS:
        return [reported]
    return sorted({*BATCHES, reported})


def dtypes_of(report: Report) -> list[str]:
    """Return the precision of the report, and half precision unless a precision is set."""
    if report.dtype or len(report.kernels.kernels) > MOST_KERNELS:
        return [report.dtype]
    return ["", HALF]


def bases(report: Report, target: str, dtype: str) -> Report | None:
    """Return the report of a machine and a precision; None if they cannot be analyzed.

    Batches are sizes of this report. An empty ``target`` is the machine of the page's report.

    Raises:
        TargetError: if there is no such target.
    """
    moved = report if not target else report.with_(target)
    try:
        return moved if dtype == report.dtype else moved.with_(dtype=dtype)
    except PerfcError:
        return None


def headline(base: Report | None, batch: int, reported: int, *, predict: bool) -> Json | None:
    """Return the figures of one setting; None if it cannot be analyzed.

    Args:
        base: report of the machine and the precision.
        batch: batch of the setting.
        reported: batch of ``base``.
        predict: predict the time; otherwise use measured rates.
    """
    if base is None:
        return None
    try:
        symbol = batch_symbol(base.source)
        sized = base if batch == reported or not symbol else base.with_(dims={symbol: batch})
        return dict(figures(Verdict.of(sized, predict=predict)))
    except PerfcError:
        return None


def figures(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """Yield names and values of the figures."""
    yield "time_s", number(verdict.time_s)
    yield "low_s", number(verdict.expected.low)
    yield "high_s", number(verdict.expected.high)
    yield "floor_s", number(verdict.floor_s)
    yield "per_s", number(verdict.throughput.per_s)
    yield "items", verdict.throughput.item.value
    yield "memory_bytes", verdict.memory.total_bytes
    yield "memory_is_bound", verdict.memory.is_bound
    yield "fits", verdict.memory.fits
    yield "energy_j", None if verdict.energy is None else number(verdict.energy.mid)
    yield "confidence", "" if verdict.confidence is None else verdict.confidence.grade.value
    yield "limit", verdict.limits[0].title if verdict.limits else ""
