"""Published latencies of models that a framework's host launches, against what `analyze` says.

    python benchmarks/host_launch.py DATA [--host-launch 30us] [-o rows.csv]

Rows are those of `whole_models` of grade A under PyTorch, eager or TorchScript, whose graph is
there. Each is asked for as a user does: target, precision, batch, length and `--runtime eager`.
Prints by batch and by machine how far the expected time is off, and in how many the range held.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import perfc
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.errors import PerfcError
from perfc_lab.tables.whole_models import WholeModel, whole_models

LAUNCHED = frozenset({"eager", "torchscript"})
SMALL = 8
"""Batches from which on hosts seldom keep the device waiting."""


@dataclass(frozen=True)
class Scored:
    """A run beside what is said of it.

    Args:
        graph: its file.
        target: the machine.
        runtime: that it ran under.
        dtype: of its products.
        batch: images or sequences.
        seq: tokens; 0 where there are none.
        time_s: measured.
        low_s: lower end of the range.
        expected_s: expected.
        high_s: upper end.
        kernels_s: expected of all kernels, launches included.
        launches: of a run.
    """

    graph: str
    target: str
    runtime: str
    dtype: str
    batch: int
    seq: int
    time_s: float
    low_s: float
    expected_s: float
    high_s: float
    kernels_s: float
    launches: float

    @property
    def is_held(self) -> bool:
        """Whether the measured time lies in the range."""
        return self.low_s <= self.time_s <= self.high_s


def scored(folder: Path, runs: Iterable[WholeModel], predictor: str, host: str) -> Iterator[Scored]:
    """What is said of each run whose graph is there; the others are named."""
    for run in runs:
        how = run.deployment
        if not (folder / run.graph).is_file():
            continue
        stated = {"host_launch": host} if host else {}
        try:
            report = perfc.analyze(
                folder / run.graph, deployment=how, runtime="eager", predictor=predictor, **stated
            )
            table = report.prediction
        except PerfcError as error:
            print(f"left out: {run.graph}: {error}", file=sys.stderr)
            continue
        total = table.total
        launches = math.fsum(b.launches for b in report.roofline.kernels)
        yield Scored(
            run.graph, how.target, how.runtime, how.dtype, how.dims["batch"],
            how.dims.get("seq", 0), run.time_s, total.low_s, total.time_s, total.high_s,
            table.kernels_s, launches,
        )  # fmt: skip


def line(name: str, rows: list[Scored]) -> str:
    """Errors and coverage of some rows."""
    ratios = [r.expected_s / r.time_s for r in rows]
    error = statistics.fmean(abs(r - 1) for r in ratios)
    bias = math.exp(statistics.fmean(math.log(r) for r in ratios)) - 1
    held = statistics.fmean(r.is_held for r in rows)
    width = statistics.median(r.high_s / max(r.low_s, 1e-12) for r in rows)
    return f"{name:32s} {len(rows):4d} {error:7.1%} {bias:+7.1%} {held:6.1%} {width:6.2f}"


def batches(batch: int) -> str:
    """The line a batch is told in."""
    return "batch 1" if batch == 1 else "batch 2 to 7" if batch < SMALL else "batch 8 and more"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the tables")
    parser.add_argument("--host-launch", default="", help="as `perfc analyze` takes it")
    parser.add_argument("--predictor", default="kernels", help="others know these runs")
    parser.add_argument("-o", "--output", type=Path, help="CSV of all rows")
    args = parser.parse_args()
    runs = [r for r in whole_models(args.data) if r.deployment.runtime in LAUNCHED]
    found = list(scored(model_folder(args.data), runs, args.predictor, args.host_launch))
    if not found:
        print("no rows", file=sys.stderr)
        return 2
    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in found:
        where = batches(row.batch)
        for name in (where, f"{where}, {row.runtime}", f"{where}, {row.target}"):
            groups[name].append(row)
    print(f"{'rows of':32s} {'n':>4s} {'MAPE':>7s} {'bias':>7s} {'held':>6s} {'width':>6s}")
    for name in sorted(groups):
        print(line(name, groups[name]))
    if args.output:
        with args.output.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, [f.name for f in fields(Scored)])
            writer.writeheader()
            writer.writerows(map(asdict, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
