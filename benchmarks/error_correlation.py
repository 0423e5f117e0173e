"""How errors of kernels of one class on one machine hang together, for the interval of a run.

Kernels of a model share extents, as a width. So shapes of fold 0 are left out, as
`perfc eval` does, each error is divided by the half-width of its interval, and the products of
pairs are averaged over all pairs of different shapes on one machine that share an extent, over the
mean square. 1 is one error for all, 0 is errors that cancel.

    python benchmarks/error_correlation.py DATA [NAME]...
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfc_lab.training.evaluate import Asked, Tested
from perfc_lab.training.experiments import OperatorExperiment, experiments
from perfc_lab.training.protocols import UnseenShapes

NAMES = ("matmul_f32", "elementwise", "softmax", "normalization")
MOST = 3.0
"""Half-widths; what is further off counts as that."""


def scores(tested: Tested) -> NDArray[np.float64]:
    """Errors in half-widths of their side."""
    found = tested.estimates
    error = np.log(tested.rows.time_s / found.time_s)
    ends = np.where(error > 0, found.high_s / found.time_s, found.time_s / found.low_s)
    return np.clip(error / np.maximum(np.log(ends), 1e-6), -MOST, MOST)


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:] or NAMES
    print("class          shared     pairs   correlation   of any pair of a machine")
    for name in names:
        experiment = experiments()[name]
        assert isinstance(experiment, OperatorExperiment)
        blocks = experiment.rows(folder)
        folds = experiment.tested(blocks, UnseenShapes(experiment.group), lambda _: None)
        found = folds[Asked.EVERYTHING]
        parts = [(t.rows.target, t.rows.protocol, t.rows.columns, scores(t)) for t in found]
        for shared in experiment.group:
            every, same, square, pairs, machine_pairs = 0.0, 0.0, [], 0, 0
            for _, _, columns, score in parts:
                shape = np.stack([columns[g] for g in experiment.group], axis=1)
                unique, back = np.unique(shape, axis=0, return_inverse=True)
                # one score a shape, so that a shape is no pair with itself
                count = np.bincount(back.reshape(-1))
                mean = np.bincount(back.reshape(-1), score) / count
                extent = unique[:, experiment.group.index(shared)]
                for value in np.unique(extent):
                    own = mean[extent == value]
                    same += own.sum() ** 2 - (own**2).sum()
                    pairs += len(own) * (len(own) - 1)
                every += mean.sum() ** 2 - (mean**2).sum()
                machine_pairs += len(mean) * (len(mean) - 1)
                square.append(mean)
            variance = float((np.concatenate(square) ** 2).mean())
            print(
                f"{name:14s} {shared:8s} {pairs // 2:8,d}"
                f"   {same / max(pairs, 1) / variance:11.2f}"
                f"   {every / max(machine_pairs, 1) / variance:11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
