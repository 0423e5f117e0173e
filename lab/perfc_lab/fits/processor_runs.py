"""Fit the time of whole runs on a processor beyond that of their kernels.

    python -m perfc_lab.fits.processor_runs DATA MODELS

Rows are published runs in FP32 with a batch of one: OpenVINO and Paddle of grade A whose graph is
in MODELS, and networks of two search spaces in eager PyTorch (HELP). A fit has a factor of the
kernels' sum and a cost of each kernel, chosen from a grid by the least mean error of the logarithm.
Networks of search spaces have few operations, which do not determine the factor: theirs is that of
Paddle. Their grouped convolutions have a further cost per group. Costs are cycles of a core.
TorchInductor's runs have a factor of 1 and no cost per group: its kernels follow the laws of eager
PyTorch. Printed errors are of groups of runs, graphs or machines, that are left out of the fit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import perfc
from perfc.analyzers.runs.processor_runs import FILE, ProcessorLaw, groups_of, slowdown
from perfc.analyzers.whole_runs.machine_bands import from_few
from perfc.common.fitted import read_records
from perfc.common.whole_file import write_output
from perfc.ir.graph import Module
from perfc.machine import load_machine
from perfc.measuring.measure.tables.dataset import read
from perfc.measuring.measure.tables.rows import ModelRow
from perfc_lab.data.fitted import as_toml
from perfc_lab.datasets.spaces import fbnet, nas_bench_201
from perfc_lab.datasets.spaces.help_nas import LATENCIES, architectures
from perfc_lab.tables import read_parquet
from perfc_lab.tables.whole_models import graded

ENGINES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("openvino", "Xeon Cascade Lake"): ("openvino", "xeon-platinum-8280"),
    ("paddle-cpu", "Xeon Gold 5117 (8 threads)"): ("paddle", "xeon-gold-5117"),
    ("paddle-mkldnn", "Xeon Gold 6148"): ("paddle", "xeon-gold-6148"),
}
"""Runtime and target by the runtime and device of the table. For Cascade Lake, of which the table
names no model, the target is the largest one."""
EAGER = {
    name: f"xeon-{name.replace('_', '-')}"
    for name in ("gold_6226", "gold_6240", "silver_4114", "silver_4210r")
}
"""Target by the device of HELP's table."""
ROOT = Path(__file__).resolve().parents[3] / "datasets"
# builders of networks by the space in HELP's table
SPACES = {"nasbench201": nas_bench_201.network, "fbnet": fbnet.network}
NETWORKS = 40
"""Number of networks of each search space, the first of the table."""
FACTORS = np.geomspace(0.5, 8, 200)
"""Candidates of the factor of the kernels' sum; neighbours differ by 1.4 %."""
LAUNCHES_S = np.linspace(0, 500e-6, 501)
"""Candidates of the cost of a kernel, every microsecond up to 0.5 ms."""
NONE = np.zeros(1)
"""The only candidate, 0 s, of the cost of a group where groups have no cost."""
GROUPS_S = np.linspace(0, 20e-6, 81)
"""Candidates of the cost of a group of convolutions, every quarter of a microsecond."""


class Run(NamedTuple):
    """One measured run.

    Args:
        runtime: name of its runtime.
        target: machine.
        group: graph or machine; runs of one group are left out together.
        time_s: measured time.
        kernels_s: sum of the kernels' estimates.
        launches: number of kernels, times the slowdown of the core's clock.
        groups: number of groups of convolutions, times the same.
    """

    runtime: str
    target: str
    group: str
    time_s: float
    kernels_s: float
    launches: float
    groups: float


def fitted(
    rows: np.ndarray, factors: np.ndarray = FACTORS, groups_s: np.ndarray = NONE
) -> tuple[float, float, float]:
    """Return the costs of runs, by the least error over all candidates.

    Args:
        rows: columns are the fields of `Run` from ``time_s`` on.
        factors: candidates of the factor of the sum.
        groups_s: candidates of the cost of a group.

    Returns:
        The factor of the sum, and the costs of a kernel and of a group.
    """
    measured, kernels_s, launches, groups = rows.T
    each_s = LAUNCHES_S[:, None, None] * launches + groups_s[:, None] * groups
    errors = [np.abs(np.log((f * kernels_s + each_s) / measured)).mean(axis=2) for f in factors]
    factor, launch, group = np.unravel_index(np.argmin(errors), np.shape(errors))
    return float(factors[factor]), float(LAUNCHES_S[launch]), float(groups_s[group])


def held_out(rows: np.ndarray, names: Sequence[str], *costs: np.ndarray) -> np.ndarray:
    """Return ``log(measured / predicted)`` of each row by the fit to rows of other names."""
    result = np.zeros(len(rows))
    for name in set(names):
        is_tested = np.array(names) == name
        law = fitted(rows[~is_tested], *costs)
        # columns after the time are those that the three costs multiply
        result[is_tested] = np.log(rows[is_tested, 0] / (rows[is_tested, 1:] @ law))
    return result


def run_of(model: Path | Module, runtime: str, target: str, group: str, time_s: float) -> Run:
    """Return a measured run with the sum and number of its kernels."""
    report = perfc.analyze(model, target, runtime=runtime, batch=1, predictor="kernels")
    slow, table, bounds = slowdown(load_machine(target)), report.prediction, report.roofline.kernels
    # costs are fitted at one clock, so that a slower core counts as more kernels
    counts = slow * len(bounds), slow * groups_of(bounds)
    return Run(runtime, target, group, time_s, table.total.time_s, *counts)


def of_engines(folder: Path, models: Path) -> Iterator[Run]:
    """Yield the runs of whole models."""
    frame = graded(folder)
    frame = frame[(frame["batch"] == 1) & (frame["grade"] == "A")]
    columns = ["runtime", "device", "graph", "latency_ms"]
    for name, device, graph, time_ms in frame[columns].itertuples(index=False):
        if (name, device) in ENGINES and graph and (models / graph).is_file():
            yield run_of(models / graph, *ENGINES[name, device], graph, time_ms / 1e3)


def of_spaces(folder: Path) -> Iterator[Run]:
    """Yield the runs of networks of search spaces."""
    frame = read_parquet(folder / LATENCIES)
    frame = frame[(frame["batch"] == 1) & frame["device"].isin(list(EAGER))]
    for space, network in SPACES.items():
        chosen = dict(list(architectures(folder, space).items())[:NETWORKS])
        of_space = frame[(frame["space"] == space) & frame["arch_index"].isin(list(chosen))]
        columns = ["device", "arch_index", "latency_ms"]
        for device, index, time_ms in of_space[columns].itertuples(index=False):
            target = EAGER[device]
            yield run_of(network(chosen[index]), "eager", target, target, time_ms / 1e3)


def of_inductor(models: Path) -> Iterator[Run]:
    """Yield the runs of TorchInductor on a machine with measured rates."""
    for m in read(ROOT / "cpu-genoa-2c-inductor/models.csv.gz", ModelRow):
        target = os.fspath(ROOT / f"cpu-genoa-2c/target.toml/{m.threads}t")
        yield run_of(models / f"{m.model}.onnx.gz", "inductor", target, m.model, m.time_s)


def fit_of(name: str, runs: Sequence[Run], *costs: np.ndarray) -> ProcessorLaw:
    """Print the errors of a runtime, and return its fit.

    Args:
        name: the runtime.
        runs: runs of all runtimes.
        costs: factors, and costs of a group, to choose from.
    """
    of_runtime = [run for run in runs if run.runtime == name]
    rows = np.array([run[3:] for run in of_runtime])  # from `Run.time_s` on
    rest = held_out(rows, [run.group for run in of_runtime], *costs)
    factor, launch_s, group_s = fitted(rows, *costs)
    error = np.abs(np.expm1(-rest))
    print(
        f"{name}: {len(rows)} runs held out: MAPE {error.mean():.1%}, median {np.median(error):.1%}"
    )
    targets = {run.target for run in of_runtime}
    # where groups are machines, machines were left out, so that the interval holds for others too
    has_others = targets == {r.group for r in of_runtime}
    reach = from_few(rest).high
    return ProcessorLaw(
        sorted(targets), factor, launch_s, reach, len(rows), has_others, group_s=group_s
    )


def update(fits: Mapping[str, ProcessorLaw]) -> None:
    """Write fits into the file, whose other entries stay."""
    title = "Whole runs on processors; lab/perfc_lab/fits/processor_{runs,laws}.py write it."
    write_output(FILE, as_toml({**read_records(FILE, ProcessorLaw), **fits}, title))


def main() -> None:
    """Print the errors, and write the fits."""
    data, models = map(Path, sys.argv[1:])
    runs = [*of_engines(data, models), *of_spaces(data), *of_inductor(models)]
    fits = {name: fit_of(name, runs) for name in ("openvino", "paddle")}
    # the factor has one candidate, that of Paddle; the cost of a group is fitted
    fits["eager"] = fit_of("eager", runs, np.array([fits["paddle"].factor]), GROUPS_S)
    # no targets: laws of kernels at measured rates hold on any machine with such rates
    fits["rated inductor f32"] = replace(fit_of("inductor", runs, np.ones(1)), targets=())
    update(fits)


if __name__ == "__main__":
    main()
