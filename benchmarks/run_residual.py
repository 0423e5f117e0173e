"""Measures how much of a predicted run its kernels do not explain.

    python -m benchmarks.run_residual MODELS [--networks 12] [--seed 0]

Convolutional networks are drawn from a folder of graphs. The residual of a run is the difference
between its prediction and that of its kernels, launches and host alone, over the prediction.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np

import perfc
from benchmarks.arguments import parser_of
from perfc.ir import Kind

TARGETS = ("a100", "h100", "t4", "l4", "v100", "rtx4090")
BATCHES = (1, 8)
KERNELS = "kernels"
"""Predictor that sums kernels, launches and host."""
LEAST_SHARE = 0.5
"""Share of convolutions in the MACs of a convolutional network."""


def is_convolutional(path: Path) -> bool:
    """Return True if convolutions have most of a graph's MACs."""
    try:
        bounds = perfc.analyze(path, TARGETS[0], batch=1).roofline.kernels
    except perfc.PerfcError:
        return False
    macs: dict[bool, float] = defaultdict(float)
    for bound in bounds:
        macs[bound.kernel.kind is Kind.CONV] += bound.counts.mac * bound.launches
    return macs[True] > LEAST_SHARE * sum(macs.values())


def residual(path: Path, target: str, batch: int) -> float:
    """Return the share of a run that its kernels do not explain."""
    run, alone = (
        perfc.analyze(path, target, batch=batch, predictor=predictor).prediction.total.time_s
        for predictor in ("", KERNELS)
    )
    return abs(run - alone) / run


def main() -> None:
    """Print the median and the 90th percentile of the residuals by target."""
    parser = parser_of(__doc__, networks=12, seed=0)
    parser.add_argument("models", type=Path)
    given = parser.parse_args()
    graphs = sorted(given.models.glob("timm__*.onnx.gz"))
    random.Random(given.seed).shuffle(graphs)
    chosen: list[Path] = []
    for path in graphs:
        if len(chosen) < given.networks and is_convolutional(path):
            chosen.append(path)
    shares = {t: [residual(p, t, b) for p, b in product(chosen, BATCHES)] for t in TARGETS}
    every = [share for group in shares.values() for share in group]
    for name, group in {**shares, "all": every}.items():
        middle, far = np.percentile(group, [50, 90])
        print(f"{name}: {len(group)} runs, median {middle:.1%}, 90th percentile {far:.1%}")


if __name__ == "__main__":
    main()
