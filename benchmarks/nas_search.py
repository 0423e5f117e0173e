"""Search NAS-Bench-201 with `perfc search`, and compare its front with measured latencies.

    python -m benchmarks.nas_search DATA --device gold_6226

DATA has `help_nas_latency.parquet` and `help_nas_archs.parquet` (HELP, MIT). They have no
accuracies: the score is the number of parameters. NSGA-II sees predicted latencies only. The
hypervolume of its front at measured latencies is divided by that of the table's front, both from
the slowest latency and no parameters. Of two searches in one process the second is after warm-up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.arguments import parser_of
from perfc.api import analyze
from perfc.deployment import Deployment
from perfc.ir.graph import Module
from perfc.study.search import Objective, SearchPlan, Space, search_space
from perfc.study.search.evaluate import ModelEvaluator
from perfc_lab.datasets.spaces.nas_bench_201 import OPERATORS, network, parse

TARGETS = {"1080ti": "gtx1080ti", "2080ti": "rtx2080ti", "gold_6226": "xeon-gold-6226"}
EDGES = ((0,), (0, 1), (0, 1, 2))
"""Sources of the edges of each node after the first."""
WEIGHTS = {"nor_conv_1x1": 1, "nor_conv_3x3": 9}
"""Weights of an operator per pair of channels; the others have none."""
built = cache(network)
"""Networks by string: equal strings give one network, which is analyzed once."""


def text_of(names: Iterable[str]) -> str:
    """Return the architecture string of six operators, with `none` on edges that lead nowhere."""
    remaining = iter(names)
    cell = [[(next(remaining), source) for source in sources] for sources in EDGES]
    # from the output back: edges into a node that no used edge leaves are "none"
    used = {3}
    for node in (3, 2, 1):
        if node not in used:
            cell[node - 1] = [("none", source) for _, source in cell[node - 1]]
        used |= {source for name, source in cell[node - 1] if name != "none"}
    return "+".join("|" + "|".join(f"{n}~{s}" for n, s in edges) + "|" for edges in cell)


def parameters(arch: str) -> float:
    """Return the weights of the convolutions of all cells in thousands."""
    of_cell = sum(WEIGHTS.get(name, 0) for edges in parse(arch) for name, _ in edges)
    # five cells in each of three stages, with 16, 32 and 64 channels
    return 5 * of_cell * (16**2 + 32**2 + 64**2) / 1e3


def build(trial: Any) -> tuple[Module, float]:
    """Return the network of a trial and its parameters."""
    arch = text_of(trial.suggest_categorical(f"edge{i}", OPERATORS) for i in range(6))
    return built(arch), parameters(arch)


def measured(folder: Path, device: str, batch: int) -> dict[str, float]:
    """Return the measured latencies of a device in seconds by architecture."""
    rows, names = (pd.read_parquet(folder / f"help_nas_{n}.parquet") for n in ("latency", "archs"))
    rows = rows[(rows.space == "nasbench201") & (rows.device == device) & (rows.batch == batch)]
    rows = rows.merge(names, on=["space", "arch_index"])
    return dict(zip(rows.arch, rows.latency_ms / 1e3, strict=True))


def hypervolume(points: Iterable[tuple[float, float]], slowest_s: float) -> float:
    """Return the area that points dominate, from the slowest latency and no parameters."""
    area, last = 0.0, slowest_s
    best: list[tuple[float, float]] = []
    for time_s, score in sorted(points):
        if time_s < slowest_s and (not best or score > best[-1][1]):
            best.append((time_s, score))
    for time_s, score in reversed(best):
        area, last = area + (last - time_s) * score, time_s
    return area


def main() -> None:
    """Print the times of two searches, equality with `perfc.analyze`, and the hypervolume."""
    parser = parser_of(__doc__, batch=1, trials=2000)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=TARGETS, default="gold_6226")
    args = parser.parse_args()
    deployment = Deployment(
        target=TARGETS[args.device], runtime="eager", dims={"batch": args.batch}
    )
    evaluator = ModelEvaluator(deployment, frozenset({Objective.LATENCY}))
    space, table = Space("build", build), measured(args.folder, args.device, args.batch)
    for seed in (0, 1):
        plan = SearchPlan((Objective.LATENCY, Objective.SCORE), trials=args.trials, seed=seed)
        before, began_s = evaluator.analyzed, time.process_time()
        search = search_space(space, evaluator, plan)
        spent_s, count = time.process_time() - began_s, evaluator.analyzed - before
        print(f"seed {seed}: {search.time_s:.1f} s, processor {spent_s:.1f} s, {count} analyzed")
        archs = [text_of(trial.params.values()) for trial in search.front]
        equal = sum(
            analyze(network(arch), deployment=deployment).prediction.total.time_s
            == trial.value(Objective.LATENCY)
            for trial, arch in zip(search.front, archs, strict=True)
        )
        slowest_s, shares = max(table.values()), list[float]()
        for chosen in (archs, table):
            points = [(table[arch], parameters(arch)) for arch in {*chosen} & {*table}]
            shares.append(hypervolume(points, slowest_s))
        print(
            f"  {equal} of {len(archs)} on the front equal perfc.analyze; hypervolume "
            f"{shares[0] / shares[1]:.3f} of the table's"
        )


if __name__ == "__main__":
    main()
