"""Bands of a runtime that is known by few graphs: how many of its other runs they hold.

    python benchmarks/few_graphs.py DATA [--graphs 3] [--draws 40] [--beside 0,10,20,100]

DATA has the table of whole models and their graphs. Every graph is left out once, by forests of the
others, as `perfc train op runs` does (about ten minutes). Then each runtime of many graphs is taken
to be known by a few of its own, drawn at random: its usual error, over the deviation that like runs
tell, and its band are of their runs and of other runtimes', and its other runs are looked for in
that band.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.intervals.conformal import of_category
from perfc.analyzers.runs.runtime_runs import share_of_forests
from perfc_lab.training.runs.chips_left_out import mixed
from perfc_lab.training.runs.measured_runs import measured_runs
from perfc_lab.training.runs.run_forests import RuntimeRecipe
from perfc_lab.training.runs.run_stack import runtimes, stacked
from perfc_lab.training.runs.runtime_fit import (
    DRAWN_ROWS,
    LENT_ROWS,
    deviations_of_forests,
    graphs_left_out,
    usual_errors,
)

KNOWN = ("tensorrt", "paddle-trt", "fastertransformer", "eager", "torchscript")
"""Runtimes of many graphs."""
Array = NDArray[np.float64]


def held(
    wrong: Array,
    deviation: Array,
    usual: Array,
    own: NDArray[np.bool_],
    few: NDArray[np.bool_],
    beside: int,
) -> tuple[float, float]:
    """Share of a runtime's other runs in its band, and the middle of their upper over lower ends.

    Args:
        wrong: ``log(measured / predicted)`` of every run, in deviations.
        deviation: of each from what like runs tell.
        usual: error expected of each, by its runtime, in deviations.
        own: runs of the runtime.
        few: those of them it is known by.
        beside: as `of_category` has it.
    """
    known = np.abs(wrong[few | ~own])
    rows = few.sum()
    logs = rows * np.log(np.median(np.abs(wrong[few]))) + DRAWN_ROWS * np.log(np.median(known))
    expected = float(np.exp(logs / (rows + DRAWN_ROWS)))
    mine = wrong[few] / expected
    band = of_category(mine, np.concatenate([wrong[~own] / usual[~own], mine]), beside=beside)
    low, high = min(band.low, 0.0) * expected, max(band.high, 0.0) * expected
    rest = own & ~few
    width = float(np.median(np.exp((high - low) * deviation[rest])))
    return float(((wrong[rest] >= low) & (wrong[rest] <= high)).mean()), width


def main() -> None:
    """Print a line for each number of rows beside a runtime's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--graphs", type=int, default=3)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--beside", default=f"0,{LENT_ROWS},20,100")
    asked = parser.parse_args()
    runs = measured_runs(asked.data, print)
    stack, names = stacked(runs), runtimes(runs)
    runtime = np.array([run.row.deployment.runtime for run in runs])
    category = np.array([names.index(name) for name in runtime])
    by_both, deviation = graphs_left_out(stack, RuntimeRecipe(), print)
    of_forests = deviations_of_forests(stack, by_both, deviation, category)[category]
    wrong = mixed(by_both, share_of_forests(deviation, of_forests)) / deviation
    usual = usual_errors(wrong, category)[category]
    for beside in map(int, asked.beside.split(",")):
        generator, shares = np.random.default_rng(0), []
        for name in KNOWN:
            own = runtime == name
            graphs = np.unique(stack.graph[own])
            found = [
                held(wrong, deviation, usual, own,
                     own & np.isin(stack.graph, generator.choice(graphs, asked.graphs, False)),
                     beside)
                for _ in range(asked.draws)
            ]  # fmt: skip
            share, width = np.mean([s for s, _ in found]), np.median([w for _, w in found])
            shares.append(share)
            print(f"{beside} beside: {name} {share:.1%} held, high/low {width:.2f}", flush=True)
        print(f"{beside} beside: {np.mean(shares):.1%} held")


if __name__ == "__main__":
    main()
