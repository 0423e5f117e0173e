"""How long a graph's representation takes: from a model file to the arrays predictors read.

    python benchmarks/graph_speed.py examples/models/*.onnx.gz

Processor time of one thread, medians of several runs in one process, in milliseconds: reading and
lowering the file, types, folding, operators, kernels of one setting, and all of it.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

from perfc.analyzers.graph.encode import environments, kernel_graph, op_graph
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Setting
from perfc.frontend import load
from perfc.frontend.collector import paused_collector
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.manager import Analyses
from perfc.passes.shapes import Shapes

RUNS = 9
PARTS = ("read", "types", "fold", "operators", "kernels")


def parts_s(path: Path) -> list[float]:
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


def main() -> None:
    print(f"{'model':32}", *(f"{p:>10}" for p in PARTS), f"{'all':>10}")
    for path in map(Path, sys.argv[1:]):
        parts_s(path)
        runs = [parts_s(path) for _ in range(RUNS)]
        medians = [statistics.median(column) for column in zip(*runs, strict=True)]
        whole = statistics.median(map(sum, runs))
        cells = (f"{1e3 * s:10.1f}" for s in (*medians, whole))
        print(f"{path.name[:32]:32}", *cells)


if __name__ == "__main__":
    main()
