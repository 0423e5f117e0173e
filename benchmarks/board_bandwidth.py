"""What a board keeps up of its bandwidth: how far boards of timm are off while they are left out.

    python benchmarks/board_bandwidth.py GRAPHS [--shares 1 0.8 ...] [--every 3]

GRAPHS is what `perfc data build timm` wrote. First, how many times as fast one board runs a network
as another, under the same framework, by how much arithmetic the network has. Then, for each share
of device memory in the effective bandwidth: the error of each board, told by the others with a
small recipe, and what is left where the median of each way of running is taken out.
"""

from __future__ import annotations

import argparse
import zlib
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np

from perfc.analyzers.features import effective_bandwidth
from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.predictor import Budget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.whole_runs import kernel_sums
from perfc.analyzers.whole_runs.physics_residual import APART, PhysicsResidual
from perfc_lab.whole_runs.residual_fit import fitted

LEAST_NETWORKS = 100
PARTS = 5


def mac_per_byte(data: Measurements, row: GraphRow) -> float:
    """Multiply–adds over bytes of all launches of a run."""
    columns = kernel_sums.distinct(data.kernels(row)).at(row.batch)
    nbytes = columns.amounts["read_bytes"] + columns.amounts["write_bytes"]
    return float((columns.amounts["mac"] * columns.times).sum() / (nbytes * columns.times).sum())


def print_ratios(data: Measurements) -> None:
    """How many times as fast a board is as another, in each fifth of the networks."""
    alike: dict[tuple[str, ...], dict[str, GraphRow]] = defaultdict(dict)
    for r in data.rows:
        way = (r.graph, r.part, r.setting.precision.value, r.setting.framework)
        alike[way][r.target] = r
    ways = sorted({key[1:] for key in alike})
    for way in ways:
        for slow, fast in permutations(data.targets, 2):
            both = [(rows[slow], rows[fast]) for key, rows in alike.items()
                    if key[1:] == way and slow in rows and fast in rows]  # fmt: skip
            each = np.array([a.time_s / a.batch / (b.time_s / b.batch) for a, b in both])
            if len(both) < LEAST_NETWORKS or np.median(each) < 1:
                continue
            order = np.argsort([mac_per_byte(data, a) for a, _ in both])
            fifths = [f"{np.median(each[part]):.2f}" for part in np.array_split(order, PARTS)]
            print(f"{fast} over {slow}, {', '.join(way)}: {', '.join(fifths)} times", flush=True)


def left_out(data: Measurements, target: str) -> tuple[float, float, float]:
    """Mean error of a board, its bias as a logarithm, and the error within its ways of running."""
    others = data.where(lambda r: r.target != target)
    mine = data.where(lambda r: r.target == target)
    one = PhysicsResidual(quantity=Quantity.TIME)
    one.learned = fitted(
        others, data.of(()), Quantity.TIME, Budget(seed=0), APART, lambda _: None, 2
    )
    wrong = np.log(mine.values(Quantity.TIME) / one.detail(mine).value)
    ways = np.unique([kernel_sums.kin_of(r) for r in mine.rows], axis=0, return_inverse=True)[1]
    medians = np.array([np.median(wrong[ways == way]) for way in range(ways.max() + 1)])
    within = np.abs(wrong - medians[ways]).mean()
    return float(np.abs(np.expm1(-wrong)).mean()), float(np.median(wrong)), float(within)


def main() -> None:
    """Print the ratios, then a line for each share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=[1, 0.8, 0.75, 0.7, 0.65])
    parser.add_argument("--every", type=int, default=3, help="one architecture in so many")
    asked = parser.parse_args()
    data = load(asked.graphs, "timm").where(lambda r: not r.setting.training)
    print_ratios(data)
    some = data.where(lambda r: zlib.crc32(r.architecture.encode()) % asked.every == 0)
    for share in asked.shares:
        effective_bandwidth.MEMORY_SHARE = share
        kernel_sums.effective_sheet.cache_clear()
        errors = [left_out(some, target) for target in some.targets]
        each = ", ".join(
            f"{t} {error:.1%} (bias {bias:+.2f}, within {within:.1%})"
            for t, (error, bias, within) in zip(some.targets, errors, strict=True)
        )
        print(f"share {share}: mean {np.mean([e[0] for e in errors]):.1%}; {each}", flush=True)


if __name__ == "__main__":
    main()
