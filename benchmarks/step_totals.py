"""What `perfc analyze --train` says of training steps of timm's benchmark, as a user gets it.

    python benchmarks/step_totals.py DATA --rows 60 [--seed 0] [--kernels]

They are of one RTX 3090 under autocast, forward, backward and SGD. Lines: measured over expected
by precision, and the share in range; ``--kernels`` sums the kernels instead. Steps on A100 and
V100: ``benchmarks/published_steps.py``.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import perfc
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.runs.prediction import predicted
from perfc.errors import PerfcError
from perfc.ir.op import Kind
from perfc.ir.record import record
from perfc.view.report import Verdict
from perfc_lab.tables.timm import measured

VERSION = "1.12"
"""Of PyTorch in the rows of training."""


@record
class Step:
    """A published step.

    Args:
        model: file of its graph.
        target: machine.
        dtype: what-if precision.
        tf32: whether f32 products use TF32.
        layout: of feature maps.
        batch: images.
        time_s: measured.
    """

    model: Path
    target: str
    dtype: str
    tf32: bool
    layout: str
    batch: int
    time_s: float


def timm_steps(folder: Path) -> Iterator[Step]:
    """Training steps of timm's benchmark."""
    for row in measured(folder):
        path = model_folder(folder) / f"{row.file}.onnx.gz"
        if row.setting.training and path.is_file():
            layout = "channels-last" if row.setting.channels_last else "channels-first"
            dtype = row.setting.precision.value
            yield Step(path, row.target, dtype, True, layout, row.batch, row.time_s)


def analysed(step: Step, batch: int | None = None, version: str = "") -> perfc.Report:
    """A step as it was run.

    Args:
        step: published.
        batch: another number of images.
        version: of PyTorch; the newest by default.

    Raises:
        PerfcError: its graph cannot be analysed.
    """
    return perfc.analyze(
        str(step.model), target=step.target, train="sgd", runtime="eager", dtype=step.dtype,
        tf32=step.tf32, layout=step.layout, batch=batch or step.batch, runtime_version=version,
    )  # fmt: skip


def kind_of(report: perfc.Report) -> str:
    """Which multiply–accumulates there are more of, those of convolutions or of products."""
    macs = dict.fromkeys((Kind.CONV, Kind.MATMUL), 0.0)
    for bound in report.roofline.kernels:
        if bound.kernel.kind in macs:
            macs[bound.kernel.kind] += bound.counts.mac
    return max(macs, key=macs.__getitem__).value


def told(step: Step, *, kernels: bool) -> tuple[str, Interval, float]:
    """What is told of a step: its group, the expected time, and the floor.

    Args:
        step: published.
        kernels: the sum of kernels, which no step taught, under the PyTorch of the rows.
    """
    report = analysed(step, version=VERSION if kernels else "")
    if kernels:
        time = predicted(report.execution, report.source).total.time
        return kind_of(report), time, report.roofline.floor_s
    verdict = Verdict.of(report)
    key = f"{step.target} {step.dtype or ('tf32' if step.tf32 else 'f32')}"
    return key, verdict.expected, verdict.floor_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true", help="sums of kernels, by kind")
    options = parser.parse_args()
    steps = list(timm_steps(options.data))
    chosen = random.Random(options.seed).sample(steps, min(options.rows, len(steps)))
    found: dict[str, list[tuple[float, bool, bool]]] = defaultdict(list)
    for step in chosen:
        try:
            key, expected, floor_s = told(step, kernels=options.kernels)
        except PerfcError as error:
            print(f"{step.model.name}: {error}")
            continue
        ratio = step.time_s / expected.mid
        is_held = expected.low <= step.time_s <= expected.high
        found[key].append((ratio, is_held, floor_s <= step.time_s))
        print(f"{step.model.name:52s} {key:24s} {step.batch:5d} {ratio:6.2f} {is_held}")
    for key, rows in found.items():
        ratios = [r for r, _, _ in rows]
        error = sum(abs(1 / r - 1) for r in ratios) / len(ratios)
        held, above = (sum(row[i] for row in rows) / len(rows) for i in (1, 2))
        print(
            f"{key}: {len(rows)} rows, measured over expected {median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}), MAPE {error:.1%}, "
            f"in range {held:.0%}, above the floor {above:.0%}"
        )


if __name__ == "__main__":
    main()
