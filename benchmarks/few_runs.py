"""A GPU that nobody measured, adapted by 32 of its runs: what the commands say of the others.

    python benchmarks/few_runs.py GRAPHS MODELS --weights FOLDER [--runs 32] [--draws 3] [--test 60]

GRAPHS is what `perfc data build timm` wrote, MODELS the folder of the model files. For each machine
weights are trained without a row of it, as `perfc train graph --every-row` trains those that ship,
and kept in FOLDER. Then, for each draw: runs of the machine, each of another architecture, are
written to runs.csv, `perfc adapt -t TARGET --from runs.csv` moves the weights, and `perfc.analyze`
tells with them what other runs take, drawn from architectures that no run of the table was of.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import perfc
from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.predictor import Budget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity, drawn
from perfc.analyzers.graph.weights import card_of, save
from perfc.errors import PerfcError
from perfc.passes.runtimes import Layout, Steps, of_steps
from perfc_lab.training.graphs.bench import trained
from perfc_lab.training.graphs.protocols import Protocol, folds

PREDICTOR = "physics-residual"
FILE = "physics_residual-timm-time_s.json"
COLUMNS = ("model", "time_s", "batch", "runtime", "version", "precision", "layout")
Told = tuple[float, float, float, float]
"""Measured, low, expected, high; seconds."""


def version_of(row: GraphRow) -> str:
    """Major and minor version of the framework."""
    return "{}.{}".format(*row.setting.version)


def runtime_of(row: GraphRow) -> str:
    """PyTorch as it is, or its compiler."""
    return of_steps(Steps.COMPILED if row.setting.compiled else Steps.EAGER).name


def layout_of(row: GraphRow) -> Layout:
    """Of its feature maps."""
    return Layout.CHANNELS_LAST if row.setting.channels_last else Layout.CHANNELS_FIRST


def weights(data: Measurements, target: str, folder: Path) -> Path:
    """The card of weights that know all rows but those of a machine."""
    path = folder / target / FILE
    if not path.is_file():
        rest = data.where(lambda r: r.target != target)
        fold = next(folds(rest, Protocol.RANDOM, (0,)))
        made, metrics = trained(PREDICTOR, fold, Quantity.TIME, Budget(), print)
        made.finish(rest, Budget(), print)
        save(made, card_of(made, rest, f"without {target}", metrics), path.parent)
    return path


def adapted(card: Path, target: str, few: Sequence[GraphRow], models: Path, folder: Path) -> Path:
    """What `perfc adapt` writes of a table of runs."""
    (folder / "models").symlink_to(models.resolve())
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for r in few:
            precision = r.setting.precision.value.replace(" ", "-")
            writer.writerow(
                (r.graph, r.time_s, r.batch, runtime_of(r), version_of(r), precision,
                 layout_of(r).value)
            )  # fmt: skip
    command = [sys.executable, "-m", "perfc", "adapt", "-t", target, "--from", "runs.csv"]
    subprocess.run(
        [*command, "--predictor", str(card.resolve()), "-o", "adapted"], cwd=folder, check=True
    )
    return folder / "adapted" / FILE


def told(card: Path, rows: Sequence[GraphRow], models: Path) -> Iterator[Told]:
    """Runs beside what `perfc.analyze` says of them; what it cannot read is said."""
    for r in rows:
        try:
            total = perfc.analyze(
                models / f"{r.graph}.onnx.gz", r.target, predictor=str(card), batch=r.batch,
                runtime=runtime_of(r), runtime_version=version_of(r), layout=layout_of(r),
                dtype=r.setting.precision.value.replace(" ", "-"),
            ).prediction.total  # fmt: skip
        except PerfcError as error:
            print(f"left out: {error}")
            continue
        yield r.time_s, total.low_s, total.time_s, total.high_s


def scored(name: str, found: Sequence[Told]) -> float:
    """Print the errors of some runs; the mean of them."""
    measured, low, time_s, high = np.array(found).T
    error = np.abs(time_s / measured - 1)
    held = ((measured >= low) & (measured <= high)).mean()
    print(
        f"{name}: {len(found)} runs, MAPE {error.mean():.1%}, median {np.median(error):.1%}, "
        f"{held:.1%} in their range, high/low {np.median(high / low):.2f}",
        flush=True,
    )
    return float(error.mean())


def main() -> None:
    """Print a line for each machine and draw, and one of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--test", type=int, default=60)
    asked = parser.parse_args()
    data = load(asked.graphs, "timm").measured(Quantity.TIME)
    means = []
    for target in data.targets:
        card = weights(data, target, asked.weights)
        mine = [
            r for r in data.rows
            if r.target == target and not r.setting.training
            and (asked.models / f"{r.graph}.onnx.gz").is_file()
        ]  # fmt: skip
        for draw in range(asked.draws):
            few = drawn(mine, draw, asked.runs)
            shown = {r.architecture for r in few}
            rest = drawn([r for r in mine if r.architecture not in shown], draw + 100, asked.test)
            with tempfile.TemporaryDirectory() as folder:
                moved = adapted(card, target, few, asked.models, Path(folder))
                means.append(
                    scored(f"{target}, draw {draw}", list(told(moved, rest, asked.models)))
                )
    print(f"all: MAPE {np.mean(means):.1%}")


if __name__ == "__main__":
    main()
