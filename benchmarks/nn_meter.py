"""PerfSeer's Figure 5 on a processor: nn-Meter on measured kernels against SeerNet on whole models.

    perfc data build mine --data FOLDER -o GRAPHS   # models.csv.gz of the rows beside models/
    python -m benchmarks.nn_meter datasets/cpu-epyc-2c --graphs GRAPHS --threads 1 --seed 0

Both know 70 of 100 models of each family and are tested on the rest: the share of runs within 10 %
of the measured time, as nn-Meter counts, then mean and median error. Kernels and whole runs are
those of as many threads. nn-Meter's kernels are those that perfc's table of the runtime merges; it
learns their times one by one. SeerNet learns times of whole models; ``--limit-s 0`` leaves it out.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.measured_runs import SEPARATOR
from perfc.analyzers.graph.predictor import Budget, predictor
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.measuring.measure.dataset import read
from perfc.measuring.measure.rows import KernelRow, ModelRow
from perfc_lab.papers.nn_meter import MeasuredKernel, NnMeter
from perfc_lab.tables.architectures import family, within_families
from perfc_lab.training.graphs.protocols import divided

Run = tuple[str, int]
"""A model's file and its batch."""


def batch_of(dims: str) -> int:
    """The first symbol's value, which is the batch.

    >>> batch_of("batch=4 seq=128")
    4
    """
    return int(dims.partition("=")[2].partition(" ")[0] or 1)


def kernels(path: Path, threads: int) -> Mapping[Run, list[MeasuredKernel]]:
    """Measured kernels of every run."""
    runs: dict[Run, list[MeasuredKernel]] = defaultdict(list)
    for k in read(path, KernelRow):
        if k.threads == threads:
            measured = MeasuredKernel(
                k.label, k.kind, k.op, k.operands, k.results, k.mac, k.read_bytes, k.write_bytes,
                k.time_s,
            )  # fmt: skip
            runs[k.model, batch_of(k.dims)].append(measured)
    return runs


def timed_with(data: Measurements, path: Path, threads: int) -> Measurements:
    """The same runs with the times of so many threads; the data set has those of the most."""
    times = {
        (m.model, batch_of(m.dims)): m.time_s for m in read(path, ModelRow) if m.threads == threads
    }
    return data.of([replace(r, time_s=times[run_of(r)]) for r in data.rows if run_of(r) in times])


def nn_meter_s(
    runs: Mapping[Run, list[MeasuredKernel]], known: Measurements, test: Measurements
) -> list[float]:
    """What nn-Meter says of each tested run; NaN where its kernels were not measured."""
    meter = NnMeter()
    meter.fit([k for row in known.rows for k in runs.get(run_of(row), ())])
    found = []
    for row in test.rows:
        mine = runs.get(run_of(row))
        found.append(float(meter.predict(mine).sum()) if mine else float("nan"))
    return found


def run_of(row: GraphRow) -> Run:
    """Model and batch."""
    return row.graph.partition(SEPARATOR)[0], row.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit-s", type=float, default=240.0)
    parser.add_argument("--scale", type=float, default=0.25)
    options = parser.parse_args()
    data = timed_with(load(options.graphs, "mine"), options.rows / "models.csv.gz", options.threads)
    parts = within_families(data.architectures, options.seed)
    train, validation, test = divided(data, parts)
    measured = test.values(Quantity.TIME)
    known = data.of([*train.rows, *validation.rows])
    runs = kernels(options.rows / "kernels.csv.gz", options.threads)
    said = {"nn-Meter": np.array(nn_meter_s(runs, known, test))}
    if options.limit_s > 0:
        seer = predictor("seernet")
        budget = Budget(options.seed, options.limit_s, scale=options.scale)
        seer.fit(train, validation, budget, lambda line: None)
        said["SeerNet"] = np.asarray(seer.predict(test))
    counts = [len(set(d.architectures)) for d in (train, validation, test)]
    print(f"{counts[0]} + {counts[1]} architectures known, {counts[2]} tested")
    families = np.array([family(r.architecture) for r in test.rows])
    print(f"{'family':16s} {'runs':>5s}" + "".join(f"{name:>36s}" for name in said))
    for name in [*sorted(set(families)), "all"]:
        mine = (families == name) | (name == "all")
        cells = []
        for values in said.values():
            errors = np.abs(values / measured - 1)[mine]
            errors = errors[np.isfinite(errors)]
            middle = float(np.median(errors))
            cells.append(f"{(errors <= 0.1).mean():.0%} within, {errors.mean():.1%}, {middle:.1%}")
        print(f"{name:16s} {mine.sum():5d}" + "".join(f"{cell:>36s}" for cell in cells))


if __name__ == "__main__":
    main()
