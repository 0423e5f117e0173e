"""Processor time of one command in several trees, in turn, so that a busy machine is fair to all.

    git worktree add --detach ../before COMMIT
    python benchmarks/in_turn.py ../before,. 14 analyze examples/models/resnet50.onnx.gz

Each tree runs the whole process, start-up included, its byte code written before.
"""

from __future__ import annotations

import compileall
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

FOLDERS = ("perfc", "ir", "passes", "analyzers", "kernels")


def spent_s() -> float:
    """Of processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print least, first quarter and median of each tree, and over those of the first."""
    trees = [Path(name).resolve() for name in sys.argv[1].split(",")]
    rounds, arguments = int(sys.argv[2]), sys.argv[3:]
    for tree in trees:
        for folder in FOLDERS:
            compileall.compile_dir(tree / folder, quiet=2)
    taken: dict[Path, list[float]] = {tree: [] for tree in trees}
    for _ in range(rounds):
        for tree in trees:
            before_s = spent_s()
            subprocess.run(
                [sys.executable, "-P", "-m", "perfc", *arguments], check=True,
                env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
            taken[tree].append(spent_s() - before_s)
    first: list[float] = []
    for tree, times in taken.items():
        ordered = sorted(times)
        figures = [ordered[0], ordered[len(ordered) // 4], statistics.median(ordered)]
        first = first or figures
        each = ", ".join(
            f"{1e3 * t:.0f} ms ({t / f:.2f})" for t, f in zip(figures, first, strict=True)
        )
        print(f"{tree}: {each}")


if __name__ == "__main__":
    main()
