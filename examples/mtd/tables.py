"""Plain tables, and the analyses that several scripts of this folder share."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from textwrap import fill

import conclusions
import network
import thesis

import perfc
from perfc.api import Report
from perfc.machine import Unit
from perfc.passes.roofline.ceilings import Ceiling, KernelBound

DTYPES = {"single": "", "mixed": "f16"}
"""Of inference: mixed precision is taken for f16 everywhere."""
AUTOCAST = {"single": "", "mixed": "amp-f16"}
"""Of training: autocast, parameters in f32."""
PHASES = ("forward", "loss", "backward", "optimizer")


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    texts = [[*header], *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    print(f"\n{title}")
    for row in texts:
        first, *rest = row
        cells = [cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True)]
        print("  " + "  ".join([first.ljust(widths[0]), *cells]).rstrip())


def say(text: str) -> None:
    """Print a paragraph."""
    print(f"\n{fill(text, 96)}")


def conclude(
    header: str,
    rates: conclusions.Rates,
    factors: Collection[str] = (),
    precisions: Collection[str] = (),
) -> tuple[int, int]:
    """Print section 3.4.1's conclusions beside rates; how many these say too, and of how many.

    Where factors and precisions are given, those alone have rates.
    """
    rows = []
    for conclusion in conclusions.conclusions():
        if factors and conclusion.factor not in factors:
            continue
        if precisions and conclusion.precision and conclusion.precision not in precisions:
            continue
        text, agrees = conclusion.outcome(rates)
        rows.append((str(conclusion), conclusion.where, text, "yes" if agrees else "no"))
    show("Conclusions", ["section 3.4.1 concludes", "where", header, "agrees"], rows)
    needing = [(f"{what} ({points})", where) for what, where, points in conclusions.LOCALITY]
    show("Conclusions that need counters", ["section 3.4.1 concludes", "where"], needing)
    return sum(row[3] == "yes" for row in rows), len(rows)


def percent(share: float | None) -> str:
    """A share; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f} %"


@cache
def step(gpu: str, batch: int, precision: str) -> Report:
    """The analysis of one training step on a GPU, operator by operator: `perfc --train adam`."""
    return perfc.analyze(
        network.PATH,
        thesis.TARGETS[gpu],
        dims={"batch": batch},
        runtime="eager",
        layout=thesis.LAYOUT,
        dtype=AUTOCAST[precision],
        train="adam",
        loss="mse",
    )


def busy_s(gpu: str, batch: int, precision: str) -> float:
    """Seconds of an epoch in which kernels run: their sustained times, for every step."""
    return step(gpu, batch, precision).roofline.time_s * thesis.TIME_STEPS / batch


def phases(report: Report) -> dict[str, float]:
    """Seconds of forward, loss, backward and optimizer, with launches."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for k in report.roofline.kernels:
        found[k.kernel.anchor.loc.phase.value].append(k.time_s)
    return {p: math.fsum(found[p]) for p in PHASES}


def matrix_share(report: Report) -> float:
    """Share of the kernel time in kernels that multiply matrices or convolve."""
    table = report.roofline
    return math.fsum(k.time_s for k in table.kernels if k.counts.mac) / table.time_s


def tensor_share(report: Report) -> float | None:
    """Share of the kernel time in products on tensor cores; None where there are none.

    A product is taken to run there if the target has a higher rate for matrices of its type than
    for vectors.
    """
    table = report.roofline

    def is_on_tensor_cores(k: KernelBound) -> bool:
        rates = [table.machine.entry(u, k.dtype.code).nominal for u in (Unit.MATRIX, Unit.VECTOR)]
        return k.counts.mac > 0 and rates[0].value > rates[1].value

    found = [k.time_s for k in table.kernels if is_on_tensor_cores(k)]
    return math.fsum(found) / table.time_s if found else None


def memory_share(report: Report, whole_s: float) -> float:
    """Share of a time in which device memory is read or written, at its measured rate."""
    busy = [k.sustained.get(Ceiling.DEVICE, 0.0) for k in report.roofline.kernels]
    return math.fsum(busy) / whole_s


def pairs() -> Iterator[tuple[str, int, str]]:
    """GPU, batch size and precision of each column of table 3.2."""
    yield from thesis.TRAINING
