"""The total that `perfc analyze` prints for whole models it has not learned from.

    python benchmarks/whole_totals.py DATA [--steps FOLDER] [--card FILE] [--rows 40] [--seed 0]

Rows are timm's benchmark, eager and compiled, one a model, drawn at random from the architectures
that are held out, then from each machine that is left out of the steps. Kernels are answered for by
whoever comes first: classes timed alone, steps learned without the test, the roofline; their sum is
what `--predictor kernels` prints. With CARD, a graph predictor trained on the same split
(`perfc train graph --split random --seed 0`), the default total is scored too. FOLDER keeps the
weights of the steps, trained here where they are not there yet, which takes minutes. Shares are of
predicted time. `analyze` assumes the newest PyTorch that a machine was measured with; rows of the
newest, and those that ran without autocast, have lines of their own. A row below its floor is
named: deployed forms are, whose graph is another.
"""

from __future__ import annotations

import argparse
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import perfc
from perfc.analyzers.artefacts.artefact import SHIPPED, save
from perfc.analyzers.estimate.estimate import Predictor, RunEstimate
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.runs.prediction import predict
from perfc.analyzers.steps.kernels import Autocasting
from perfc.analyzers.steps.predict import weights_name
from perfc.analyzers.steps.setting import Precision, RunMode
from perfc.analyzers.whole_runs.whole_run import with_whole
from perfc.errors import PerfcError
from perfc.frontend import load
from perfc_lab.tables.architectures import DatasetPart, random_architectures
from perfc_lab.tables.timm import TimmLine, measured
from perfc_lab.training.experiments import experiments
from perfc_lab.training.experiments.steps import StepExperiment
from perfc_lab.training.runs.step_fit import train_steps

RUNTIMES = {RunMode.EAGER: "eager", RunMode.COMPILED: "inductor"}
TESTED = "tested.txt"
"""Architectures that the weights beside it have not seen."""
DTYPES = {
    Precision.AMP_F16: "amp-f16", Precision.F16: "f16", Precision.AMP_BF16: "amp-bf16",
    Precision.BF16: "bf16",
}  # fmt: skip


@dataclass(frozen=True)
class Scored:
    """One run: measured, the sum of its kernels, the default total, and who answered."""

    time_s: float
    summed: RunEstimate
    whole: RunEstimate | None
    shares: tuple[float, ...]


def lines(data: Path, mode: RunMode) -> list[TimmLine]:
    """Rows of one way of running whose graph is there."""
    graphs = model_folder(data)
    found = [m for m in measured(data) if m.setting.mode is mode and m.setting.precision in DTYPES]
    return [m for m in found if (graphs / f"{m.file}.onnx.gz").is_file()]


def weights(data: Path, mode: RunMode, part: str, keep: Path, seed: int) -> Path:
    """Folder of all weights, those of the steps learned without the test.

    Args:
        data: the tables.
        mode: way of running.
        part: ``random``, or the machine that is left out.
        keep: folder in which they are, or will be.
        seed: of the split.
    """
    folder = keep / f"{mode.value.replace(' ', '-')}-{part}"
    name = weights_name(mode)
    for file in SHIPPED.glob("*.*"):
        if not file.name.startswith("step-"):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
    if (folder / f"{name}.toml").is_file():
        return folder
    experiment = experiments()[name]
    assert isinstance(experiment, StepExperiment)
    rows = experiment.rows(data, print)
    if part == "random":
        cut = random_architectures(sorted({r.architecture for r in rows}), seed)
        rows = [r for r in rows if cut[r.architecture] is not DatasetPart.TEST]
        tested = sorted(a for a, side in cut.items() if side is DatasetPart.TEST)
        (folder / TESTED).write_text("\n".join(tested), encoding="utf-8")
    found = train_steps(
        name, [r for r in rows if r.target != part], experiment.recipe, group=str,
        leave_machines_out=part != "random",
    )  # fmt: skip
    save(found, folder, overwrite=True)
    return folder


def drawn(found: Sequence[TimmLine], most: int, seed: int) -> list[TimmLine]:
    """At most so many, one an architecture."""
    mixed = random.Random(seed).sample(list(found), len(found))
    return list({m.architecture: m for m in mixed}.values())[:most]


def kinds(found: Sequence[TimmLine], most: int, seed: int) -> Iterator[tuple[str, list[TimmLine]]]:
    """Rows of every kind, of the newest PyTorch, and of those that ran without autocast."""
    newest = max(m.setting.version for m in found)
    latest = [m for m in found if m.setting.version == newest]
    plain = [m for m in found if m.setting.precision in (Precision.F16, Precision.BF16)]
    yield "", drawn(found, most, seed)
    if len(latest) < len(found):
        yield ", PyTorch " + ".".join(map(str, newest)), drawn(latest, most, seed)
    if plain and len(plain) < len(found):
        yield ", no autocast", drawn(plain, most, seed)


def scored(data: Path, found: Sequence[TimmLine], folder: Path, card: str) -> Iterator[Scored]:
    """Totals as a user's call gives them, with other weights."""
    for one in found:
        path = model_folder(data) / f"{one.file}.onnx.gz"
        dtype = DTYPES[one.setting.precision]
        runtime = RUNTIMES[one.setting.mode]
        try:
            dims = {s.name: one.batch for s in load(path).symbols}
            report = perfc.analyze(path, one.target, dims=dims, dtype=dtype, runtime=runtime)
        except PerfcError as error:
            print(f"left out: {error}")
            continue
        table = predict(
            report.roofline, report.kernels, source=report.source, module=report.module,
            autocast=Autocasting.of(report.source, dtype), folder=folder,
        )  # fmt: skip
        if one.time_s < table.total.floor_s:
            print(f"below its floor: {one.file} on {one.target}, batch {one.batch}")
        whole = None
        if card:
            whole = with_whole(
                table, report.source, report.execution, report.deployment, predictor=card
            ).total
        yield Scored(
            one.time_s, table.total, whole,
            tuple(table.share(p) for p in Predictor),
        )  # fmt: skip


def line(title: str, found: Sequence[Scored]) -> str:
    """A row of the table.

    Raises:
        SystemExit: no run could be analysed.
    """
    if not found:
        raise SystemExit(f"{title}: no runs")
    shares = np.array([f.shares for f in found]).mean(axis=0)
    words = ", ".join(
        f"{p.value} {s:.0%}" for p, s in zip(Predictor, shares, strict=True) if s >= 0.005
    )
    cells = figures([(f.time_s, f.summed) for f in found])
    wholes = [(f.time_s, f.whole) for f in found if f.whole is not None]
    return f"| {title} | {len(found)} | {cells} | {words} | {figures(wholes)} |"


def figures(pairs: Sequence[tuple[float, RunEstimate]]) -> str:
    """Error, its median, median of measured over predicted, and coverage."""
    if not pairs:
        return " | | |"
    measured_s = np.array([t for t, _ in pairs])
    time_s, low_s, high_s = (
        np.array([getattr(p, n) for _, p in pairs]) for n in ("time_s", "low_s", "high_s")
    )
    error = np.abs(time_s / measured_s - 1)
    inside = (low_s <= measured_s) & (measured_s <= high_s)
    bias = np.median(measured_s / time_s) - 1
    return f"{error.mean():.1%} | {np.median(error):.1%} | {bias:+.1%} | {inside.mean():.0%}"


def main() -> None:
    """A Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--steps", type=Path, default=Path("held-out-steps"))
    parser.add_argument("--card", default="")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("| held out | n | MAPE | median | bias | in 90 % | answered by | default: MAPE | median "
          "| bias | in 90 % |")  # fmt: skip
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for mode, runtime in RUNTIMES.items():
        every = lines(given.data, mode)
        targets = sorted({m.target for m in every})
        for part in ("random", *targets):
            folder = weights(given.data, mode, part, given.steps, given.seed)
            test = every
            if part == "random":
                tested = (folder / TESTED).read_text(encoding="utf-8").split()
                test = [m for m in every if m.architecture in tested]
            card = given.card if part == "random" else ""
            what = "architectures" if part == "random" else "this machine"
            for target in targets if part == "random" else (part,):
                own = [m for m in test if m.target == target]
                for words, chosen in kinds(own, given.rows, given.seed):
                    found = list(scored(given.data, chosen, folder, card))
                    print(line(f"{what}, {runtime}, {target}{words}", found), flush=True)


if __name__ == "__main__":
    main()
