"""Plain tables, and the analyses that several scripts of this folder share."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from textwrap import fill

import network
import thesis

import perfc
from perfc.api import Report

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
        dtype=AUTOCAST[precision],
        train="adam",
        loss="mse",
    )


def phases(report: Report) -> dict[str, float]:
    """Seconds of forward, loss, backward and optimiser, with launches."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for k in report.roofline.kernels:
        found[k.kernel.anchor.loc.phase.value].append(k.time_s)
    return {p: math.fsum(found[p]) for p in PHASES}


def matrix_share(report: Report) -> float:
    """Share of the kernel time in kernels that multiply matrices or convolve."""
    table = report.roofline
    return math.fsum(k.time_s for k in table.kernels if k.counts.mac) / table.time_s


def pairs() -> Iterator[tuple[str, int, str]]:
    """GPU, batch size and precision of each column of table 3.2."""
    yield from thesis.TRAINING
