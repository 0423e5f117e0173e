"""Time of a graph's representation: from a model file to the arrays predictors read.

    python benchmarks/graph_speed.py examples/models/*.onnx.gz
    python benchmarks/graph_speed.py --models MODELS --draw 40

With ``--draw`` so many graphs of timm are drawn from the ``INDEX.csv`` of a folder; the median of
all stands below. Processor time of one thread, medians of several runs in one process, in
milliseconds: reading and lowering the file, types, folding, operators, kernels of one setting, and
all of it.
"""

from __future__ import annotations

import random
import statistics
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.arguments import index_rows, parser_of
from perfc.analyzers.graph.encode import environments, kernel_graph, op_graph
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Setting
from perfc.frontend import load
from perfc.frontend.collector import paused_collector
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize

RUNS = 9
PARTS = ("read", "types", "fold", "operators", "kernels")


def parts_s(path: Path) -> list[float]:
    """Return the processor time of each of ``PARTS`` for one file, in seconds."""
    marks = [time.process_time()]
    with paused_collector():
        module = load(path)
        marks.append(time.process_time())
        am = Analyses()
        module = am.apply(Shapes(), module)
        marks.append(time.process_time())
        module = am.apply(Canonicalize(), module)
        marks.append(time.process_time())
        op_graph(module, am)
        marks.append(time.process_time())
        kernel_graph(*launches(module, am, Setting(), environments(module)))
        marks.append(time.process_time())
    return [b - a for a, b in pairwise(marks)]


def drawn(models: Path, count: int, seed: int) -> list[Path]:
    """Return files of timm's graphs that are drawn from the index of a folder."""
    names = sorted(r["file"] for r in index_rows(models) if r["source"] == "timm")
    return [models / name for name in random.Random(seed).sample(names, count)]


def main() -> None:
    parser = parser_of(__doc__, seed=2026)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--models", type=Path, help="folder with an INDEX.csv")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="graphs of timm")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    files = [*options.files]
    if options.models is not None:
        files += drawn(options.models, options.draw, options.seed)
    print(f"{'model':32}", *(f"{p:>10}" for p in PARTS), f"{'all':>10}")
    every: list[list[float]] = []
    for path in files:
        parts_s(path)  # warm-up
        runs = [parts_s(path) for _ in range(options.runs)]
        medians = [statistics.median(column) for column in zip(*runs, strict=True)]
        every.append([*medians, statistics.median(map(sum, runs))])
        print(f"{path.name[:32]:32}", *(f"{1e3 * s:10.1f}" for s in every[-1]))
    columns = list(zip(*every, strict=True))
    print(f"{'median':32}", *(f"{1e3 * statistics.median(c):10.1f}" for c in columns))
    print(f"{'share, %':32}", *(f"{100 * sum(c) / sum(columns[-1]):10.1f}" for c in columns))
    print(
        f"{'least and most':32}",
        *(f"{1e3 * end:10.1f}" for end in (min(columns[-1]), max(columns[-1]))),
    )


if __name__ == "__main__":
    main()
