"""Measures drawn networks on this processor, and scores the predictions of ``perfc analyze``.

    perfc calibrate --quick -o here.toml
    python -m benchmarks.host_truth measure --models ../shared/models --rows build/truth
    python -m benchmarks.host_truth score --models ../shared/models --rows build/truth -t here.toml

Measured networks lie in a folder for each setting, one file of kernels and one of the run for
each, so that an interrupted campaign goes on and predictions are scored without measuring. With
``--again`` all are measured once more, and the faster run of each stays: others only add time.
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np

from benchmarks.arguments import parser_of
from perfc.analyzers.estimators.adapting import without_profiler_s
from perfc.api import Report, analyze
from perfc.errors import PassError, PerfcError
from perfc.ir import evaluate
from perfc.kernels.backends.host import processors
from perfc.measuring.measure.process import MeasurementProtocol
from perfc.measuring.measure.session import measure_cases
from perfc.measuring.measure.tables import dataset, rows
from perfc.passes.runtimes import runtime
from perfc_lab.board import kendall_tau

DATASET = Path(__file__).parents[1] / "datasets/cpu-epyc-2c/models.csv.gz"
TARGET = "generic-x86-64"
"""Machine that the bounds in measured rows are of."""
LARGEST_MAC, LARGEST_WEIGHT_BYTES = 6e9, 1 << 30
"""Work of one item and weights above which a network is not measured here."""
MOST_SPREAD = 0.2
"""Interquartile range over median above which a run is measured again."""


class TooLargeError(PassError):
    """A network has more work or weights than are measured here."""


def family_of(name: str) -> str:
    """Return the architecture up to its first number or separator: ``resnet`` of ``resnet50``."""
    source, _, rest = name.removeprefix("legacy__").partition("__")
    first = re.match(r"[a-z]+", rest or source)
    return f"{source}:{first.group() if first else rest}"


def drawn(models: Path, seed: int, without: Collection[str], family: int = 2) -> Iterator[Path]:
    """Yield files in random order, some of each family, without those that were fitted."""
    paths = sorted(p for p in models.iterdir() if ".onnx" in p.name or p.suffix == ".tflite")
    random.Random(seed).shuffle(paths)
    by_family: Counter[str] = Counter()
    for path in paths:
        name = rows.model_name(path.name)
        if name not in without and by_family[family_of(name)] < family:
            by_family[family_of(name)] += 1
            yield path


@dataclass(frozen=True)
class Setting:
    """Runtime, type, threads and batch of the runs of one folder, and whether only memory is."""

    runtime: str
    dtype: str
    threads: int
    batch: int
    is_lean: bool

    @property
    def name(self) -> str:
        """Return the name of the folder."""
        return (
            f"{self.runtime}-{self.dtype}-t{self.threads}-b{self.batch}" + "-memory" * self.is_lean
        )

    def report(self, path: Path, target: str) -> Report:
        """Return the analysis of a network as ``perfc analyze`` makes it."""
        # OpenVINO narrows what nobody asks of it, and quantised files have their types
        is_usual = self.dtype == "int8" or (self.dtype == "f32" and self.runtime != "openvino")
        dtype = "" if is_usual else self.dtype
        dims = {"batch": self.batch}
        return analyze(path, target, dims=dims, runtime=self.runtime, dtype=dtype)


def fitted_names(path: Path) -> set[str]:
    """Return the networks of a dataset, which are not drawn."""
    return {m.model for m in dataset.read(path, rows.ModelRow)} if path.is_file() else set()


def measure_all(options: argparse.Namespace, setting: Setting) -> None:
    """Measure networks until there are enough or the time is spent."""
    folder, large = options.rows / setting.name, options.rows / "too-large"
    for created in (folder, large):
        created.mkdir(parents=True, exist_ok=True)
    begin, good = time.monotonic(), 0
    fitted = fitted_names(options.without)
    for path in drawn(options.models, options.seed, fitted, options.family):
        name = rows.model_name(path.name)
        failed, done = folder / f"{name}.failed", folder / f"{name}-models.csv.gz"
        if good >= options.count or failed.exists() or (large / name).exists():
            continue
        if options.again or not done.exists():
            if time.monotonic() - begin > options.budget_s:
                print("the time is spent; run again to go on")
                break
            try:
                text = measure_one(setting, path, folder / f"{name}.csv.gz", options.limit_s)
            except TooLargeError:
                (large / name).touch()
                continue
            except (PerfcError, MemoryError) as error:
                text = f"{error}"[:160]
                failed.write_text(text, encoding="utf-8")
            print(f"{name}: {text}", flush=True)
        good += done.exists()
    print(f"{setting.name}: {good} networks")


def measure_one(setting: Setting, path: Path, to: Path, limit_s: float) -> str:
    """Measure a network, write its rows if they are its fastest, and return its time in words.

    Raises:
        TooLargeError: more work or weights than are measured here.
        PerfcError: the runtime cannot run it.
    """
    report = setting.report(path, TARGET)
    mac = evaluate(report.cost.work.mac, report.env) / setting.batch
    if mac > LARGEST_MAC or evaluate(report.weight_bytes, report.env) > LARGEST_WEIGHT_BYTES:
        raise TooLargeError(f"{mac / 1e9:.1f} G multiply-accumulates")
    protocol = MeasurementProtocol(
        framework=runtime(setting.runtime).framework,
        table=setting.runtime,
        dtype="" if setting.dtype == "int8" else setting.dtype,
        threads=setting.threads,
        repeat=7,
        min_time_s=0.5,
        max_time_s=6.0,
        limit_s=limit_s,
        # what TorchInductor compiled is timed as a whole only
        is_profiled=not setting.is_lean and setting.runtime != "inductor",
    )
    for _ in range(2):  # once more where other programs disturbed the first
        run = measure_cases(path, TARGET, [report.env], protocol, reports=[report])[0]
        if setting.is_lean or run.total_iqr_s < MOST_SPREAD * run.total_s:
            break
    text = f"{run.total_s * 1e3:.2f} ms, interquartile range {run.total_iqr_s / run.total_s:.0%}"
    models = dataset.models_file(to)
    if models.exists() and dataset.read(models, rows.ModelRow)[0].time_s <= run.total_s:
        return f"{text}, slower than before"
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    dataset.write(to, rows.kernel_rows(run))
    dataset.write(models, [rows.model_row(run, date)])
    return text


@dataclass(frozen=True)
class Scored:
    """A measured run with its prediction; memory is the growth of the process by the run."""

    row: rows.ModelRow
    report: Report
    classes: Mapping[str, Sequence[float]]

    @property
    def ratio(self) -> float:
        """Return the predicted over measured time."""
        return self.report.prediction.total.time_s / self.row.time_s

    @property
    def is_held(self) -> bool:
        """Return True if the measured time lies in the interval."""
        time_ = self.report.prediction.total.time
        return time_.low <= self.row.time_s <= time_.high

    @property
    def memory_ratio(self) -> float:
        """Return the predicted over measured memory."""
        growth = self.row.peak_rss_bytes - self.row.base_rss_bytes
        return self.report.footprint.total_bytes / max(growth, 1)


def scored(setting: Setting, path: Path, target: str, files: Path) -> Scored:
    """Return the prediction of one measured run.

    Raises:
        PerfcError: it cannot be analyzed.
    """
    row = dataset.read(dataset.models_file(files), rows.ModelRow)[0]
    report = setting.report(path, f"{target}/{setting.threads}t")
    kernels = dataset.read(files, rows.MeasuredRow) if files.exists() else []
    return Scored(row, report, class_ratios(kernels, report))


def class_ratios(measured: Sequence[rows.MeasuredRow], report: Report) -> dict[str, list[float]]:
    """Return predicted over measured times by class, where both divide nodes in the same way."""
    bounds, estimates = report.roofline.kernels, report.prediction.kernels
    # a copy into blocks has the nodes of its maker
    each = [{n.name for n in b.kernel.nodes} for b in bounds]
    parts: dict[int, list[rows.MeasuredRow]] = defaultdict(list)
    for row in measured:
        parts[row.part].append(row)
    ratios: dict[str, list[float]] = defaultdict(list)
    for part in parts.values():
        names = {n for row in part for n in row.nodes.split()}
        indices = [i for i, nodes in enumerate(each) if nodes & names]
        if indices and all(each[i] <= names for i in indices) and part[0].part_s > 0:
            longest = max(indices, key=lambda i: bounds[i].time_s)
            predicted_s = sum(estimates[i].time_s for i in indices)
            row = part[0]
            time_s = without_profiler_s(row, row.part_s, row.runtime_ops.count("+") + 1)
            ratios[bounds[longest].kernel.kind.value].append(predicted_s / time_s)
    return ratios


def score_all(options: argparse.Namespace, setting: Setting) -> list[Scored]:
    """Return the predictions of all measured runs of a setting, and print each."""
    folder = options.rows / setting.name
    scores: list[Scored] = []
    for file in sorted(folder.glob("*-models.csv.gz")):
        name = file.name.removesuffix("-models.csv.gz")
        paths = [
            p
            for e in (".onnx.gz", ".onnx", ".tflite")
            if (p := options.models / f"{name}{e}").exists()
        ]
        if not paths or len(scores) >= options.count:
            continue
        try:
            score = scored(setting, paths[0], options.target, folder / f"{name}.csv.gz")
        except PerfcError as error:
            print(f"{name}: {error}"[:160])
            continue
        scores.append(score)
        if options.verbose:
            print(
                f"{name:56} {score.row.time_s * 1e3:9.2f} ms, predicted over measured "
                f"{score.ratio:6.2f}, {'held' if score.is_held else 'missed':6}, "
                f"memory {score.memory_ratio:5.2f}"
            )
    return scores


def gather(options: argparse.Namespace) -> None:
    """Write a dataset of the calm runs of a runtime and type, at all batches and threads."""
    runs: list[rows.ModelRow] = []
    kernels: list[rows.MeasuredRow] = []
    for file in sorted(options.rows.glob(f"{options.runtime}-{options.dtype}-*/*-models.csv.gz")):
        run = dataset.read(file, rows.ModelRow)[0]
        if run.iqr_s < 2 * MOST_SPREAD * run.time_s:
            runs.append(run)
            files = file.with_name(file.name.replace("-models.csv.gz", ".csv.gz"))
            kernels += dataset.read(files, rows.MeasuredRow) if files.exists() else []
    kernels.sort(key=lambda r: (r.model, r.part, r.kernel, r.dims, r.threads))
    options.output.mkdir(parents=True, exist_ok=True)
    if kernels:
        dataset.write(options.output / "kernels.csv.gz", kernels)
    dataset.write(options.output / "models.csv.gz", runs)
    print(f"{options.output}: {len(runs)} runs, {len(kernels)} kernels")


def show(setting: Setting, scores: Sequence[Scored]) -> None:
    """Print the figures of a setting."""
    if not scores:
        print(f"{setting.name}: nothing is measured")
        return
    errors = [abs(score.ratio - 1) for score in scores]
    pairs = np.array([(s.row.time_s, s.report.prediction.total.time_s) for s in scores])
    below = sum(score.report.roofline.floor_s <= score.row.time_s for score in scores)
    ratios = sorted(score.ratio for score in scores)
    memory = [
        score.memory_ratio
        for score in scores
        if score.row.peak_rss_bytes > score.row.base_rss_bytes
    ]
    print(
        f"{setting.name}: {len(scores)} networks; error median {median(errors):.1%}, mean "
        f"{fmean(errors):.1%}; predicted over measured {median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}); held {fmean(o.is_held for o in scores):.0%}; "
        f"bounds below {below} of {len(scores)}; Kendall {kendall_tau(*pairs.T):.3f}"
    )
    if memory:
        print(
            f"  memory over growth {median(memory):.2f} ({min(memory):.2f} to {max(memory):.2f}), "
            f"median error {median(abs(m - 1) for m in memory):.1%}"
        )
    by_class: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        for kind, values in score.classes.items():
            by_class[kind] += values
    for kind, values in sorted(by_class.items(), key=lambda item: -len(item[1])):
        error = median(abs(v - 1) for v in values)
        print(
            f"  {kind:16} {len(values):6} kernels, median error {error:7.1%}, "
            f"ratio {median(values):6.2f}"
        )


def main() -> int:
    """Measure or score the networks of one setting."""
    parser = parser_of(
        __doc__,
        models=Path("../shared/models"),
        rows=Path("build/truth"),
        runtime="ort-cpu-blocked",
        dtype="f32",
        batch=1,
        seed=0,
        budget_s=300.0,
    )
    parser.add_argument("do", choices=("measure", "score", "gather"))
    parser.add_argument("--threads", type=int, default=len(processors()))
    parser.add_argument("--memory", action="store_true", help="only memory, without times")
    parser.add_argument("--count", type=int, default=60, help="networks")
    parser.add_argument("--family", type=int, default=2, help="networks of one family")
    parser.add_argument("--again", action="store_true", help="measure all; the faster run stays")
    parser.add_argument("--without", type=Path, default=DATASET, help="dataset that was fitted to")
    parser.add_argument("-t", "--target", default="host")
    parser.add_argument("-o", "--output", type=Path, help="folder of the gathered dataset")
    parser.add_argument("--limit-s", type=float, default=60.0, help="of one network")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    setting = Setting(
        options.runtime, options.dtype, options.threads, options.batch, options.memory
    )
    if options.do == "measure":
        measure_all(options, setting)
    elif options.do == "gather":
        gather(options)
    else:
        show(setting, score_all(options, setting))
    return 0


if __name__ == "__main__":
    sys.exit(main())
