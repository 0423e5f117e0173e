"""Fit the laws of XNNPACK's kernels to whole runs.

    python -m perfc_lab.fits.whole_run_laws

A row has the seconds of each resource of a run, at the rates of the machine, and its measured time.
Writes `analyzers/estimators/laws/whole_run_laws.toml`. All classes of kernels share the
coefficients, as kernels were not timed. Printed errors are of networks that a fit to other families
predicts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfc.analyzers.estimators.laws.law import KernelLaw
from perfc.analyzers.estimators.laws.processor_laws import WHOLE, XNNPACK
from perfc_lab.data.fitted import as_toml
from perfc_lab.fits.processor_laws import ENDS, ROOT, UNKNOWN, solved

# columns of runs.csv: amounts of a run, whose times add up
RESOURCES = ["products", "cache", "beyond", "weights"]
CLASSES = {"conv": 0, "gemm": 0, "conv.depthwise": 1, "memory": 1}
"""Index of the first of `RESOURCES` that each class takes; 1 leaves products out, as such kernels
are bound by memory."""


def main() -> None:
    """Print the errors, and write the laws."""
    rows = pd.read_csv(ROOT / "cpu-genoa-2c-litert/runs.csv")
    x = rows[RESOURCES].to_numpy()
    time_s = rows["time_s"].to_numpy()
    weights = np.ones(len(rows))
    ratios = weights.copy()
    # a family is the letters that names of networks begin with
    for tested in rows.groupby(rows["model"].str.extract(r"([a-z]+)")[0]).indices.values():
        rest = np.setdiff1d(rows.index, tested)
        ratios[tested] = time_s[tested] / (x[tested] @ solved(x[rest], time_s[rest], weights[rest]))
    errors = np.abs(1 / ratios - 1)
    print(f"{len(rows)} runs: median error {np.median(errors):.1%}, mean {errors.mean():.1%}")
    low, high = np.quantile([*ratios, *UNKNOWN], ENDS).tolist()
    # rounded to three digits, as the file has them
    each = [
        (n, float(f"{c:.3g}")) for n, c in zip(RESOURCES, solved(x, time_s, weights), strict=True)
    ]
    fits = {
        f"{XNNPACK} {name}": KernelLaw(
            dict(each[first:]),
            1.0,  # times of resources add up
            (low, low),  # ends of short and of long kernels
            (high, high),
            len(rows),
            float(np.median(errors)),
            ("cpu-genoa-2c",),
            "datasets",
        )
        for name, first in CLASSES.items()
    }
    WHOLE.write_text(as_toml(fits, "laws of kernels fitted to whole runs"), encoding="utf-8")


if __name__ == "__main__":
    main()
