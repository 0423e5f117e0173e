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
"""Batches to analyze in addition to that of the report."""
HALF = "f16"
"""Precision to analyze in addition to that of the report."""
MOST_TARGETS = 8
"""Maximum number of machines on one page."""
MOST_KERNELS = 400
"""Maximum number of kernels of a model that is analyzed in all settings."""


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
    reports = {(s, d): bases(report, s, d) for s in machines for d in dtypes}
    titles = {s: machine_title(r.machine) for (s, _), r in reports.items() if r is not None}
    return {
        "batches": batches,
        "batch": batches.index(reported),
        "dtypes": [d or "as the model has it" for d in dtypes],
        "dtype": dtypes.index(report.dtype),
        "targets": [text(titles.get(s, s)) for s in machines],
        "rows": [
            [
                [headline(reports[s, d], b, reported, predict=predict) for b in batches]
                for d in dtypes
            ]
            for s in machines
        ],
    }


def reported_batch(report: Report) -> int:
    """Return the leading extent of the first input; 0 if it is not a symbol."""
    return report.env.get(batch_symbol(report.source) or "", 0)


def batches_of(report: Report) -> list[int]:
    """Return the batches to analyze, including that of the report; only that if it is fixed."""
    reported = reported_batch(report)
    if reported < 1 or len(report.kernels.kernels) > MOST_KERNELS:
        return [reported]
    return sorted({*BATCHES, reported})


def dtypes_of(report: Report) -> list[str]:
    """Return the precision of the report, and half precision if none is set."""
    if report.dtype or len(report.kernels.kernels) > MOST_KERNELS:
        return [report.dtype]
    return ["", HALF]


def bases(report: Report, target: str, dtype: str) -> Report | None:
    """Return the report of a machine and a precision; None if they cannot be analyzed.

    An empty ``target`` is the machine of the report.

    Raises:
        TargetError: if there is no such target.
    """
    moved = report if not target else report.with_(target)
    try:
        return moved if dtype == report.dtype else moved.with_(dtype=dtype)
    except PerfcError:
        return None


def headline(base: Report | None, batch: int, reported: int, *, predict: bool) -> Json | None:
    """Return the figures of one setting; None if it cannot be analyzed."""
    if base is None:
        return None
    try:
        symbol = batch_symbol(base.source)
        sized = base if batch == reported or not symbol else base.with_(dims={symbol: batch})
        return dict(figures(Verdict.of(sized, predict=predict)))
    except PerfcError:
        return None


def figures(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """Return the data of a row."""
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
