"""Predicted over measured times of operators on an H200 that no law was fitted to.

    python benchmarks/operator_rates.py [-v] [FILE]

The half of `datasets/h200/operators.csv.gz` that `perfc_lab.fits.kernel_laws` leaves out, or of
`laws.csv.gz`, each operator as `perfc op` analyzes one, in a CUDA graph of eager PyTorch. Without
a file, also sums by class of the traces next to it, half of whose kernels took part in the fit.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import perfc
from perfc_lab.tables import trace_operators
from perfc_lab.tables.h200_operators import FILE, OperatorRow, halves

CLASSES = {
    "native_batch_norm": "batch norm",
    "cudnn_convolution": "convolution",
    "addmm": "products",
    "max_pool2d_with_indices": "pooling",
    "native_layer_norm": "layer norm",
}


def predicted(row: Any, *, tf32: bool) -> Any:
    """Return the prediction of an operator on the device alone."""
    return perfc.analyze(
        row.module,
        "h200",
        runtime="cudagraph",
        predictor="kernels",
        tf32=tf32,
        layout="channels-last" if row.is_last else "channels-first",
        host_launch=0.0,
    ).prediction


def measured_halves(path: Path) -> dict[tuple[str, str], list[tuple[float, bool, OperatorRow]]]:
    """Return predicted over measured, and whether the interval holds, by family and type."""
    by_family = defaultdict(list)
    for row in halves(path)[1]:
        total = predicted(row, tf32=row.dtype == "tf32").total
        dtype = "half" if row.dtype[-2:] == "16" else row.dtype
        family = f"{row.family} last" if row.is_last else row.family
        is_held = total.low_s <= row.time_s <= total.high_s
        by_family[family, dtype].append((total.time_s / row.time_s, is_held, row))
    return by_family


def sums(path: Path) -> dict[str, Any]:
    """Return measured and predicted seconds of a trace by class."""
    totals: dict[str, Any] = defaultdict(lambda: np.zeros(2))
    for row in trace_operators.calls(path):
        kernels = predicted(row, tf32="f32" in path.name and "conv" in row.name).kernels
        both_s = np.array([row.time_s, sum(k.time_s for k in kernels)])
        totals[CLASSES.get(row.name, "element-wise")] += both_s * row.count
    return totals


def main() -> None:
    """Print the table."""
    path = Path(sys.argv[-1]) if sys.argv[-1].endswith(".gz") else FILE
    by_family = measured_halves(path)
    every = [one for rows in by_family.values() for one in rows]
    print("family               type   n  median  least   most  held   bias  error")
    for (family, dtype), rows in sorted(by_family.items()):
        ratios = np.array([ratio for ratio, _, _ in rows])
        inside, bias = sum(is_held for _, is_held, _ in rows), np.exp(np.log(ratios).mean())
        # a mark where predictions are off by more than a quarter on average
        outside = "" if 0.8 <= bias <= 1.25 else " *"
        print(
            f"{family:20} {dtype:5} {len(rows):3} {np.median(ratios):6.2f} {min(ratios):6.2f}"
            f" {max(ratios):6.2f} {inside:5} {bias:6.2f}"
            f" {100 * abs(ratios - 1).mean():4.0f} %{outside}"
        )
    inside = np.mean([is_held for _, is_held, _ in every])
    error = np.median([abs(np.log(ratio)) for ratio, _, _ in every])
    print(
        f"{len(every)} operators, {100 * inside:.0f} % held, {100 * np.expm1(error):.0f} % median"
    )
    if "-v" in sys.argv:
        for ratio, is_held, row in sorted(every, key=lambda one: -abs(np.log(one[0])))[:40]:
            time_us = row.time_s * 1e6
            print(
                f"{ratio:.2f} {is_held} {row.family} {row.dtype} {dict(row.params)} {time_us:.1f}"
            )
    for trace in sorted(path.parent.glob("traces/*.json.gz")) if path == FILE else ():
        for name, (measured_s, predicted_s) in sums(trace).items():
            ratio = predicted_s / measured_s
            times = f"{measured_s * 1e6:7.0f} {predicted_s * 1e6:7.0f} us"
            print(f"{trace.name[:20]:20} {name:12} {times} {ratio:.2f}")


if __name__ == "__main__":
    main()
