"""Networks of a search space with made-up times: what tests of graph predictors learn from."""

from __future__ import annotations

import itertools
import random
from functools import cache

from perfc.analyzers.graph.dataset import with_floors
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.steps.setting import Precision, Setting
from perfc_lab.datasets.spaces.nas_bench_201 import OPERATORS, network

SETTING = Setting(Precision.F32, version=(1, 8))
TARGETS = ("gtx1080ti", "rtx2080ti", "titan-xp")


def arch(names: list[str]) -> str:
    """A string of the space from six operators."""
    a, b, c, d, e, f = names
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


def arches(count: int = 24) -> dict[str, str]:
    """Strings of drawn architectures, by name."""
    generator = random.Random(0)
    return {
        f"nb201-{i}": arch([generator.choice(OPERATORS) for _ in range(6)]) for i in range(count)
    }


@cache
def measurements(count: int = 24) -> Measurements:
    """Rows on three machines; a time is three times its floor and some microseconds a launch."""
    graphs, rows = {}, []
    for name, text in arches(count).items():
        graph = encode_module(name, network(text), [SETTING])
        graphs[name] = graph
        for target, batch in itertools.product(TARGETS, (1, 64)):
            blank = GraphRow(name, name, SETTING, target, batch, 1.0)
            floor_s = with_floors(graph, [blank])[0].floor_s
            time_s = 3 * floor_s + 5e-6 * len(next(iter(graph.kernels.values())))
            rows.append(GraphRow(name, name, SETTING, target, batch, time_s, floor_s=floor_s))
    return Measurements("nb201", graphs, tuple(rows), "digest")
