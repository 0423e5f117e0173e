"""PerfSeer's Figure 5 on a processor: nn-Meter on measured kernels against SeerNet on whole models.

    perfc data build mine --data FOLDER -o GRAPHS   # models.csv.gz of the rows beside models/
    python -m benchmarks.nn_meter datasets/cpu-epyc-2c --graphs GRAPHS --seed 0

Both know 70 of 100 models of each family and are tested on the rest: the share of runs within 10 %
of the measured time, as nn-Meter counts. nn-Meter's kernels are those that perfc's table of the
runtime merges; it learns their times one by one. SeerNet learns times of whole models.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from perfc.analyzers.graph.datasets import load
from perfc.analyzers.graph.predictor import Budget, predictor
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.papers.nn_meter import MeasuredKernel, NnMeter
from perfc.analyzers.tables.architectures import Part, family, within_families
from perfc.analyzers.training.graphs.protocols import divided
from perfc.measure.dataset import read
from perfc.measure.rows import KernelRow

Run = tuple[str, int]
"""An architecture and its batch."""


def architecture(model: str) -> str:
    """Of a model file's name, as the data set has it: ``timm__resnet18__224``.

    >>> architecture("timm__resnet18__224"), architecture("hf__distilbert")
    ('resnet18', 'distilbert')
    """
    words = model.split("__")
    return words[1] if len(words) > 1 else model


def kernels(path: Path, threads: int) -> Mapping[tuple[str, int], list[MeasuredKernel]]:
    """Measured kernels of every run, by architecture and batch."""
    runs: dict[Run, list[MeasuredKernel]] = defaultdict(list)
    for k in read(path, KernelRow):
        if k.threads == threads:
            batch = int(k.dims.partition("=")[2].partition(" ")[0] or 1)
            measured = MeasuredKernel(
                k.label, k.kind, k.op, k.operands, k.results, k.mac, k.read_bytes, k.write_bytes,
                k.time_s,
            )  # fmt: skip
            runs[architecture(k.model), batch].append(measured)
    return runs


def nn_meter_s(
    runs: Mapping[Run, list[MeasuredKernel]], parts: Mapping[str, Part], test: Measurements
) -> list[float]:
    """What nn-Meter says of each tested run; NaN where its kernels were not measured."""
    meter = NnMeter()
    meter.fit([k for (name, _), ks in runs.items() if parts.get(name) is not Part.TEST for k in ks])
    found = []
    for row in test.rows:
        mine = runs.get(run_of(row))
        found.append(float(meter.predict(mine).sum()) if mine else float("nan"))
    return found


def run_of(row: GraphRow) -> Run:
    """Architecture and batch."""
    return row.architecture, row.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit-s", type=float, default=240.0)
    parser.add_argument("--scale", type=float, default=0.25)
    options = parser.parse_args()
    data = load(options.graphs, "mine")
    parts = within_families(data.architectures, options.seed)
    train, validation, test = divided(data, parts)
    seer = predictor("seernet")
    budget = Budget(options.seed, options.limit_s, scale=options.scale)
    seer.fit(train, validation, budget, lambda line: None)
    measured = test.values(Quantity.TIME)
    meter = nn_meter_s(kernels(options.rows / "kernels.csv.gz", options.threads), parts, test)
    said = {"nn-Meter": np.array(meter), "SeerNet": np.asarray(seer.predict(test))}
    families = np.array([family(r.architecture) for r in test.rows])
    print(f"{'family':16s} {'runs':>5s}" + "".join(f"{name:>24s}" for name in said))
    for name in [*sorted(set(families)), "all"]:
        mine = (families == name) | (name == "all")
        cells = []
        for values in said.values():
            errors = np.abs(values / measured - 1)[mine]
            errors = errors[np.isfinite(errors)]
            cells.append(f"{(errors <= 0.1).mean():8.0%} within {errors.mean():6.1%}")
        print(f"{name:16s} {mine.sum():5d}" + "".join(f"{cell:>24s}" for cell in cells))


if __name__ == "__main__":
    main()
