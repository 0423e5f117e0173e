"""What a board keeps up of its rate of products, and how far products of boards left out are off.

    python benchmarks/board_products.py DATA

DATA is what `perfc data fetch` wrote. First, of each board's products of 16 bits under a profiler
that take 0.1 ms of arithmetic and more: the fastest tenth, over what its sheet states and over what
units and power allow together. Then each board is left out: the error and the median bias of all
its products, of those long ones and of the others, told by forests of the recipe for unseen
machines, with each of the two rates.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from perfc.analyzers.features import physics, power_limit
from perfc.analyzers.features.rows import Protocol, Rows
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine
from perfc_lab.training.experiments import experiments
from perfc_lab.training.fit import Recipe
from perfc_lab.training.growing import grow, protocols_of, stacked
from perfc_lab.training.protocols import UnseenMachine, split, targets

LONG_S = 1e-4
FASTEST = 0.9
HALF = ("bf16", "f16")
TESTED_ROWS = 30_000
Rate = Callable[[str, Sheet], float]


def print_kept_up(blocks: Sequence[Rows]) -> None:
    """The fastest tenth of each board's long products, over both rates."""
    half = [b for b in blocks if b.protocol is Protocol.KERNELS and b.dtype in HALF]
    for target in targets(half):
        sheet = Sheet(load_machine(target))
        there = [block for block in half if block.target == target]
        flop = np.concatenate([
            2 * np.prod([block.columns[name] for name in ("m", "n", "k")], axis=0)
            for block in there
        ])  # fmt: skip
        time_s = np.concatenate([block.time_s for block in there])
        stated = physics.matrix_flop_per_s(there[0].dtype, sheet)
        allowed = power_limit.matrix_flop_per_s(there[0].dtype, sheet)
        is_long = flop / stated > LONG_S
        if is_long.any():
            fastest = np.quantile((flop / time_s)[is_long], FASTEST)
            shares = f"{fastest / stated:.2f} of stated, {fastest / allowed:.2f} of allowed"
            print(f"{target}, {is_long.sum()} products: {shares}", flush=True)


def left_out(blocks: Sequence[Rows], target: str, recipe: Recipe) -> tuple[float, ...]:
    """Mean error of a board's products, and median biases of all, long and short ones."""
    frameworks = tuple(sorted({block.framework for block in blocks}))
    parts = split(blocks, UnseenMachine(target))
    protocols = protocols_of(blocks)
    forest = grow(stacked(parts.train, frameworks, recipe, protocols), recipe)
    tested = stacked(parts.test, frameworks, replace(recipe, max_rows=TESTED_ROWS), protocols)
    off = forest(tested.table.values) - tested.log_factor
    compute = tested.table.values[:, tested.table.names.index("log_compute_s")]
    is_long = compute > np.log2(LONG_S)
    biases = [np.median(off[rows]) if rows.any() else np.nan for rows in (is_long, ~is_long)]
    return float(np.abs(np.expm1(off)).mean()), *np.expm1([np.median(off), *biases]).tolist()


def print_left_out(blocks: Sequence[Rows], rate: Rate, name: str, recipe: Recipe) -> None:
    """Each board left out, its scale by one rate."""
    with patch.object(power_limit, "matrix_flop_per_s", rate):
        for target in targets(blocks):
            error, *biases = left_out(blocks, target, recipe)
            told = ", ".join(f"{bias:+.1%}" for bias in biases)
            print(
                f"{name}, {target} left out: {error:.1%} off; bias, long, short {told}", flush=True
            )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    data = parser.parse_args().data
    experiment = experiments()["matmul"]
    blocks = experiment.rows(data)
    print_kept_up(blocks)
    recipe = experiment.recipe.for_unseen_machine()
    print_left_out(blocks, power_limit.matrix_flop_per_s, "allowed", recipe)
    print_left_out(blocks, physics.matrix_flop_per_s, "stated", recipe)


if __name__ == "__main__":
    main()
