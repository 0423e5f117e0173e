"""The run at other batches, precisions and targets, each analysed when the page is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.report import Verdict
from perfc.report.names import machine_title
from perfc.report.remedies import batch_symbol

from .payload import Json, number, text

if TYPE_CHECKING:
    from perfc.api import Report

BATCHES = tuple(2**i for i in range(9))
"""Batches that are tried, with the report's own."""
HALF = "f16"
"""The precision that is tried, with the report's own."""
MOST_TARGETS = 8
"""Machines on one page."""
MOST_KERNELS = 400
"""Kernels of a model that is analysed in so many ways without a reader having to wait for it."""


def what_ifs(report: Report, targets: Sequence[str], *, predict: bool) -> Json | None:
    """Headlines of every setting as the scripts read them; None where there is only one.

    A setting that cannot be analysed is null: nothing is known of it, and so nothing is shown.

    Args:
        report: the page's.
        targets: names or files of other machines.
        predict: whether times are predicted.
    """
    batches, dtypes = batches_of(report), dtypes_of(report)
    reported = reported_batch(report)
    machines = ("", *targets)
    if len(batches) * len(dtypes) * len(machines) == 1:
        return None
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
    """Leading extent of the first input; 0 where no symbol leads."""
    return report.env.get(batch_symbol(report) or "", 0)


def batches_of(report: Report) -> list[int]:
    """Batches that are tried, the report's own among them; that alone where no symbol leads."""
    reported = reported_batch(report)
    if reported < 1 or len(report.kernels.kernels) > MOST_KERNELS:
        return [reported]
    return sorted({*BATCHES, reported})


def dtypes_of(report: Report) -> list[str]:
    """The report's precision, and half precision where it has none."""
    if report.dtype or len(report.kernels.kernels) > MOST_KERNELS:
        return [report.dtype]
    return ["", HALF]


def bases(report: Report, target: str, dtype: str) -> Report | None:
    """The report on a machine in a precision; None where it cannot be analysed in that.

    Raises:
        TargetError: no such target.
    """
    moved = report if not target else report.under(target)
    try:
        return moved if dtype == report.dtype else moved.under(dtype=dtype)
    except PerfcError:
        return None


def headline(base: Report | None, batch: int, reported: int, *, predict: bool) -> Json | None:
    """The figures of one setting."""
    if base is None:
        return None
    try:
        symbol = batch_symbol(base)
        sized = base if batch == reported or not symbol else base.under(dims={symbol: batch})
        return dict(figures(Verdict.of(sized, predict=predict)))
    except PerfcError:
        return None


def figures(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """What a row shows."""
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
