"""Errors of trees on the kernel sum, random fifths of all tables, by table and machine.

    python benchmarks/tree_machines.py DATA --kept DIR

With the folder that `perfc eval trees --kept DIR` wrote nothing is learned again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from like_rows import spread

from perfc_lab.trees.experiment import LEARNED_FROM, RESIDUAL, gathered
from perfc_lab.trees.folds import LeftOut
from perfc_lab.trees.kept import NOTHING, Kept
from perfc_lab.trees.predictors import ResidualTrees
from perfc_lab.trees.rows import Target
from perfc_lab.trees.scores import left_out


def main() -> None:
    """Print a line for each table and each of its machines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--kept", type=Path)
    asked = parser.parse_args()
    kept = Kept(asked.kept) if asked.kept else NOTHING
    every = gathered(asked.data, LEARNED_FROM, lambda line: None)
    rows = [r for r in every if r.target is Target.THROUGHPUT]
    said, _ = left_out(rows, ResidualTrees, LeftOut.RANDOM, lambda line: None, kept, f"{RESIDUAL} ")
    errors: dict[tuple[str, str], list[float]] = {}
    for row, expected in zip(rows, said.tolist(), strict=True):
        for machine in ("all machines", row.machine):
            errors.setdefault((row.source, machine), []).append(abs(expected / row.value - 1))
    for (source, machine), own in sorted(errors.items()):
        print(f"{source}, {machine}: {spread(own)}")


if __name__ == "__main__":
    main()
