"""What a few measured kernels of a new machine are worth to the learned predictor.

    python benchmarks/adapt_curve.py DATA --machine rtx-pro-6000-server [--rows 60000]

Trains each class without the machine, from a part of the rows, predicts kernels of the machine that
one framework ran, and corrects them as ``perfc adapt`` does after 0, 1, 2, 3, 5 … 50 of them, drawn
at random from all classes together; errors are of other kernels. Last, the kernels that ``perfc
calibrate`` measures stand in for them: one large product of each element type. DATA is the folder
that `perfc data fetch` fills.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perfc.analyzers.estimators.forest import INSIDE
from perfc.analyzers.estimators.predictor import predict_with
from perfc.analyzers.features.rows import Rows
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.intervals.adapt import Residual, correction, posterior
from perfc.machine import load_machine
from perfc_lab.training.calibration.calibrate import Calibrating
from perfc_lab.training.experiments import OperatorExperiment, experiments
from perfc_lab.training.fit import train
from perfc_lab.training.protocols import UnseenMachine, split

CLASSES = ("matmul", "attention_prefill", "attention_decode")
COUNTS = (0, 1, 2, 3, 5, 10, 20, 50)
DRAWS, TESTED = 40, 1500


@dataclass(frozen=True)
class Kernel:
    """A measured kernel, its prediction, and what a probe would be chosen by."""

    residual: Residual
    dtype: str
    mac: float


def thinned(blocks: Sequence[Rows], rows: int, seed: int = 0) -> list[Rows]:
    """At most so many rows, drawn at random."""
    rng = np.random.default_rng(seed)
    share = min(1.0, rows / sum(map(len, blocks)))
    found = [b.take(rng.random(len(b)) < share) for b in blocks]
    return [b for b in found if len(b)]


def kernels(name: str, data: Path, machine: str, rows: int) -> list[Kernel]:
    """Kernels of a class on a machine that its predictor has not seen."""
    experiment = experiments()[name]
    assert isinstance(experiment, OperatorExperiment)
    parts = split(experiment.rows(data), UnseenMachine(machine))
    recipe = replace(experiment.recipe.for_unseen_machine(), max_rows=rows)
    found = train(
        name, thinned(parts.train, rows), recipe, experiment.group,
        leave_machines_out=False, calibrating=Calibrating(turns=2),
    )  # fmt: skip
    sizes: dict[str, int] = {}
    for block in parts.test:
        sizes[block.framework] = sizes.get(block.framework, 0) + len(block)
    framework = max(sizes, key=lambda one: sizes[one])
    print(f"{name}: trained without {machine}; tested on {sizes[framework]:,} rows of {framework}")
    own = thinned([b for b in parts.test if b.framework == framework], 4000)
    made: list[Kernel] = []
    for block in own:
        sheet = Sheet(load_machine(machine))
        times = predict_with(found, block.columns, block.dtype, sheet, INSIDE).time_s
        mac = np.prod([block.columns.get(n, np.zeros(len(block))) for n in ("m", "n", "k")], axis=0)
        for predicted, measured, work in zip(times, block.time_s, mac, strict=True):
            residual = Residual(name, float(predicted), float(measured))
            made.append(Kernel(residual, block.dtype, float(work)))
    return made


def scored(seen: Sequence[Residual], tested: Sequence[Residual]) -> dict[str, tuple[float, float]]:
    """Mean error and coverage after some kernels, by class and of all."""
    found = posterior(seen)
    names = sorted({r.class_name for r in tested})
    corrections = {name: correction(found, name, 0) for name in names}
    errors: dict[str, list[float]] = {name: [] for name in (*names, "all")}
    inside: dict[str, list[bool]] = {name: [] for name in (*names, "all")}
    for one in tested:
        own = corrections[one.class_name]
        time_s = one.predicted_s * (own.at(one.predicted_s) if seen else 1.0)
        ratio = one.measured_s / time_s
        for name in (one.class_name, "all"):
            errors[name].append(abs(1 / ratio - 1))
            inside[name].append(own.low_ratio <= ratio <= own.high_ratio)
    return {n: (math.fsum(errors[n]) / len(errors[n]), float(np.mean(inside[n]))) for n in errors}


def line(label: str, scores: Sequence[dict[str, tuple[float, float]]]) -> str:
    """A row of the table: means over draws."""
    cells = []
    for name in scores[0]:
        error, share = np.mean([s[name] for s in scores], axis=0)
        cells.append(f"{error:.1%} ({share:.0%})")
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    """Print a learning curve as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--machine", default="rtx-pro-6000-server")
    parser.add_argument("--rows", type=int, default=60_000)
    arguments = parser.parse_args()
    every = [
        k
        for name in CLASSES
        for k in kernels(name, arguments.data, arguments.machine, arguments.rows)
    ]
    rng = random.Random(0)
    by_class = {n: [k for k in every if k.residual.class_name == n] for n in CLASSES}
    tested = [
        k.residual for own in by_class.values() for k in rng.sample(own, min(TESTED, len(own)))
    ]
    # kernels to measure are drawn class after class, so that none has most of them
    print(f"| kernels measured | {' | '.join(sorted(CLASSES))} | all |")
    print(f"| ---: | {' | '.join('---:' for _ in range(len(CLASSES) + 1))} |")
    for count in COUNTS:
        scores = []
        for _ in range(DRAWS if count else 1):
            order = rng.sample(CLASSES, len(CLASSES))
            seen = [rng.choice(by_class[order[i % len(order)]]).residual for i in range(count)]
            scores.append(scored(seen, tested))
        print(line(str(count), scores))
    probes = [
        max((k for k in by_class["matmul"] if k.dtype == dtype), key=lambda k: k.mac).residual
        for dtype in sorted({k.dtype for k in by_class["matmul"]})
    ]
    print(line(f"{len(probes)} large products", [scored(probes, tested)]))


if __name__ == "__main__":
    main()
