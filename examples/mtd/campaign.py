"""The Conv2D sweep as one H200 ran it: rates, and what ran, from `datasets/h200`.

The campaign ran the whole sweep on a 96 x 112 grid of 3 channels, and its batches on the base of
``operators.py``, a 128 x 96 grid of 112 channels.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import conclusions

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "h200"
BASE = {"b": 32, "s": 3, "k": 3, "f": 56}
SWEEP: dict[str, tuple[str, Sequence[int]]] = {
    "batch": ("b", (16, 32, 64)),
    "stride": ("s", (2, 3, 4, 5)),
    "kernel": ("k", (3, 5, 7)),
    "filters": ("f", (56, 112, 224)),
}
GRIDS = {112: (128, 96), 3: (96, 112)}
"""Channels of the two bases, and their grids."""
PASSES = {conclusions.FORWARD: "fwd", conclusions.BACKWARD: "bwd"}
SINGLE = {"V100": "fp32", "A100": "tf32"}
"""Type of TensorFlow's single precision on each GPU: tensor cores take TF32 since the A100."""
LAYOUT = re.compile(r"nchwToNhwc|nhwcToNchw|transform|scalePackedTensor|stage_0", re.IGNORECASE)
"""Kernels that prepare operands: layouts, zeroed gradients, index tables."""


@dataclass(frozen=True)
class CountedKernel:
    """A kernel under the profiler: its time, and bytes that passed each level."""

    name: str
    time_s: float
    l1_bytes: float
    l2_bytes: float
    device_bytes: float


@cache
def sweep() -> dict[tuple[int, str, str, tuple[int, ...]], float]:
    """Return Tflop/s by channels, pass, type and ``(batch, stride, kernel, filters)``."""
    found = {}
    for row in rows("mtd.csv.gz"):
        p = json.loads(row["params"])
        if p["cl"] or GRIDS[p["ci"]] != (p["h"], p["w"]):
            continue
        # inputs out of the cache, as in a training, where that was measured
        taken_us = float(row["cold_us"] or row["hot_us"])
        key = p["ci"], row["pass"], row["dtype"], tuple(p[name] for name in BASE)
        found[key] = float(row["flops"]) / taken_us / 1e6
    return found


def rates(channels: int) -> conclusions.Rates:
    """Return the measured rates of a base; a GPU says what its single precision is.

    Raises:
        KeyError: not measured, from the function that it returns.
    """

    def measured(gpu: str, direction: str, precision: str, factor: str) -> list[float]:
        types = {conclusions.SINGLE: SINGLE[gpu], conclusions.HALF: "fp16"}
        base = tuple(BASE.values())
        if factor == "precision":
            wanted = [(t, base) for t in types.values()]
        else:
            name, values = SWEEP[factor]
            wanted = [(types[precision], tuple({**BASE, name: v}.values())) for v in values]
        return [sweep()[channels, PASSES[direction], dtype, case] for dtype, case in wanted]

    return measured


@cache
def counted() -> dict[tuple[int, str, str], tuple[CountedKernel, ...]]:
    """Return the kernels of a base under the profiler, by channels, pass and type."""
    kernels: dict[int, list[CountedKernel]] = {}
    place = -1
    for row in rows("mtd-counters.csv.gz", "=="):
        if mark := re.match(r"perfc_mark_(\d+)", row["Kernel Name"]):
            place = int(mark.group(1))
        elif row["ID"]:
            kernels.setdefault(place, []).append(kernel(row))
    found = {}
    for case in rows("mtd-counters-cases.csv.gz"):
        sizes = [int(case[n]) for n in ("batch", "stride", "kernel", "filters")]
        channels, shape = int(case["ci"]), (int(case["h"]), int(case["w"]))
        if sizes == [*BASE.values()] and case["nhwc"] == "0" and GRIDS[channels] == shape:
            found[channels, case["pass"], case["dtype"]] = tuple(kernels[int(case["index"])])
    return found


def kernel(row: dict[str, str]) -> CountedKernel:
    """Return a profiler's line as counts."""
    time_ns, l1, l2, device = (
        float(row[f"{name}.sum"].replace(",", ""))
        for name in ("gpu__time_duration", "l1tex__t_bytes", "lts__t_bytes", "dram__bytes")
    )
    return CountedKernel(row["Kernel Name"], time_ns / 1e9, l1, l2, device)


def rows(name: str, comment: str = "#") -> Iterator[dict[str, str]]:
    """Yield the lines of a table without its comments."""
    with gzip.open(FOLDER / name, "rt", encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith(comment))
