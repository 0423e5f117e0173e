"""How far runs of a kind of network are off whose like nobody measured under their runtime.

    python benchmarks/unlike_runs.py DATA

Of each runtime that ran both convolutions and products, one kind is left out: the rest teaches the
factors of kernels. Runs left out are told by their sums with these factors, pooled with the sums of
the kernels' own estimates. The figures stand in `perfc.analyzers.runs.runtime_runs.UNLIKE`.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from perfc.analyzers.runs.run_table import Network
from perfc.analyzers.runs.runtime_runs import UNLIKE_SHARE
from perfc_lab.training.runs.chips_left_out import mixed
from perfc_lab.training.runs.measured_runs import measured_runs
from perfc_lab.training.runs.run_forests import RuntimeRecipe, factors
from perfc_lab.training.runs.run_stack import stacked, sums_of

RUNTIMES = ("tensorrt", "paddle-trt", "torchscript", "eager")
LEAST_ROWS = 5
SHARES = (0.0, 1 / 3, 2 / 3, 1.0)
"""Of the logarithm of the kernels' own sums, that are tried."""


def main() -> None:
    """Print the errors of every kind left out, and of all, each counting the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    runs = measured_runs(parser.parse_args().data, print)
    stack = stacked(runs)
    kind = np.array([run.table.network.number for run in runs])
    runtime = np.array([run.row.deployment.runtime for run in runs])
    pooled, errors = [], []
    for name, network in product(RUNTIMES, Network):
        out = (runtime == name) & (kind == network.number)
        if out.sum() < LEAST_ROWS:
            continue
        factor, _ = factors(stack.take(~out), RuntimeRecipe())
        tested = stack.take(out)
        sums_s = np.stack([sums_of(factor, tested.launches), tested.kernels_s], axis=1)
        wrong = np.log(tested.launches.time_s[:, None] / sums_s)
        errors.append([float(np.abs(mixed(wrong, share)).mean()) for share in SHARES])
        pooled.append(mixed(wrong, UNLIKE_SHARE))
        each = ", ".join(f"{error:.2f}" for error in errors[-1])
        print(f"{name}, {network.value}, {out.sum()} runs: |log| {each}")
    means = ", ".join(f"{error:.2f}" for error in np.mean(errors, axis=0))
    print(f"shares {', '.join(f'{s:.2f}' for s in SHARES)} of the kernels' own sums: {means}")
    every = np.concatenate(pooled)
    order = np.argsort(every)
    weight = np.concatenate([np.full(len(part), 1 / len(part)) for part in pooled])[order]
    levels = np.cumsum(weight) / weight.sum()
    low, high = (every[order][np.searchsorted(levels, level)] for level in (0.05, 0.95))
    print(f"nine in ten, pooled with {UNLIKE_SHARE:.2f}: {low:+.2f} to {high:+.2f}")


if __name__ == "__main__":
    main()
