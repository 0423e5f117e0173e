"""What predictors say of kernels, as text for a golden file, and its comparison with another.

A question is a line that begins with ``>``; the lines that follow are its answer::

    > row matmul bf16 a100 graph m=1024 n=4096 k=4096
    > model windows.onnxtxt a100 ort f16 batch=64
    > steps windows.onnxtxt rtx4090 amp-f16 eager batch=64
    > run windows.onnxtxt rtx4090 amp-f16 eager batch=4096
    > passes windows.onnxtxt v100-pcie-32gb eager-literal batch=4
    > graph windows.onnxtxt rtx4090 amp-f16 eager batch=64

A row is a kernel by its extents. Its answer has what the forests read of it (features, scale,
floor) and what comes out. A model's has every kernel and the run, steps' every launch, a run's what
the predictor of whole runs says, and a graph's the tables such predictors read, column by column.
Passes are the forward and the backward one of models in FP32, kernels summed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

import numpy as np

import perfc
from perfc.analyzers.estimate.estimate import Estimate, Timed
from perfc.analyzers.estimators import predictor
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, tabulate
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.runs.energy import Energy
from perfc.analyzers.steps.columns import columns
from perfc.analyzers.steps.features import tabulate as tabulate_launches
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Setting, precision_of
from perfc.api import typed
from perfc.frontend import load
from perfc.machine import load_machine
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import Tf32
from perfc_lab.papers.kernel_forest import FEATURES, LaunchTable
from perfc_lab.papers.networks.row_features import ROW, row_features
from perfc_lab.papers.perf_graph import EDGES, GRAPH, NODES, edge_table, graph_vector, node_table
from perfc_lab.training.runs.end_to_end import Plan, Spent, inference, training
from perfc_lab.whole_runs.boosted_totals import totals
from perfc_lab.whole_runs.launch_columns import RUNS, linear_runs

RELATIVE = 1e-6
"""What processors and versions of NumPy may differ by."""
ABOUT = 0.02
"""What numbers that begin with ``~`` may differ by: libraries of trees and of optimization."""
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?\Z")
PER_LINE = 6


def answered(text: str, folder: Path) -> str:
    """The questions of a text, each with its answer as it is now."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(">"):
            lines += [line, *(f"  {part}" for part in answer(line, folder))]
        elif line.startswith("#") or not line:
            lines.append(line)
    return "\n".join(lines) + "\n"


def answer(question: str, folder: Path) -> Iterator[str]:
    """Lines that answer one question."""
    _, what, *words = question.split()
    plain = [w for w in words if "=" not in w]
    given = dict(w.split("=", 1) for w in words if "=" in w)
    match what:
        case "row":
            framework = given.pop("framework", "")
            yield from row(*plain, framework, {k: float(v) for k, v in given.items()})
        case "model":
            path, *rest = plain
            yield from model(folder / path, *rest, dims={k: int(v) for k, v in given.items()})
        case "steps":
            path, *rest = plain
            yield from steps(folder / path, *rest, dims={k: int(v) for k, v in given.items()})
        case "run":
            path, *rest = plain
            yield from run(folder / path, *rest, dims={k: int(v) for k, v in given.items()})
        case "passes":
            path, *rest = plain
            yield from passes(folder / path, *rest, dims={k: int(v) for k, v in given.items()})
        case "graph":
            path, *rest = plain
            yield from graph(folder / path, *rest, dims={k: int(v) for k, v in given.items()})
        case "tables":
            from tests.golden_passes import answer as tables

            yield from tables(folder / words[0], words[1:])
        case "interface":
            from tests.golden_interface import interface

            yield from interface()
        case "refused":
            from tests.golden_interface import refused

            yield from refused(question.removeprefix("> refused "), folder)
        case "variants":
            from tests.golden_variants import answer as variants

            yield from variants(folder / plain[0])
        case _:
            from tests.golden_training import answer as further

            yield from further(what, plain, given, folder)


def row(
    name: str, dtype: str, target: str, protocol: str, framework: str, extents: Mapping[str, float]
) -> Iterator[str]:
    """One kernel by its extents."""
    kind, machine, how = class_of(name), load_machine(target), Protocol(protocol)
    rows = {key: np.array([value]) for key, value in extents.items()}
    table = tabulate(kind, rows, dtype, Sheet(machine), how)
    category = kind.categories[int(table.category[0])] if kind.categories else "all"
    result = predictor.predict(name, rows, dtype, machine, how, framework)
    yield (
        f"{category.replace(' ', '_')}: floor {text(table.floor_s[0])} s, scale "
        f"{text(table.scale_s[0])} s"
    )
    ends = (result.low_s[0], result.time_s[0], result.high_s[0])
    strange = ", extrapolating" if result.extrapolating[0] else ""
    yield f"time {text(ends[1])} s in {text(ends[0])} s to {text(ends[2])} s{strange}"
    yield from numbers(zip(table.names, table.values[0].tolist(), strict=True))


def model(
    path: Path, target: str, runtime: str, dtype: str, dims: Mapping[str, int]
) -> Iterator[str]:
    """Every kernel of a model, then the run; ``-`` for the model's own types."""
    if target.endswith(".toml"):
        target = str(path.parent / target)
    report = perfc.analyze(
        path, target, dims=dims, runtime=runtime, dtype="" if dtype == "-" else dtype
    )
    table = report.prediction
    rows = zip(report.roofline.kernels, table.kernels, table.energies, strict=True)
    for bound, result, energy in rows:
        yield f"{bound.kernel.label}: sustained {text(bound.sustained_s)} s"
        yield f"  {estimated(result)}{spent(energy)}"
    yield f"kernels: {timed(table.timeline)}, {text(table.wait_s + table.gap_s)} s waiting"
    yield f"run: {timed(table.total)}{spent(table.energy)}"
    yield from (f"note: {note}" for note in table.notes)


def estimated(result: Estimate) -> str:
    """An estimate with what is said of it."""
    flags = {
        "extrapolating": result.is_extrapolating,
        "measured": result.is_measured,
        "own": result.is_own,
    }
    said = [result.predictor.value, result.class_name, *(n for n, is_so in flags.items() if is_so)]
    in_run, waiting = "", ""
    if result.in_run is not None:
        in_run = f", in a run {text(result.in_run.low)} s to {text(result.in_run.high)} s"
    if result.idle_s:
        waiting = f", {text(result.idle_s)} s waiting"
    return f"{timed(result)}{in_run}{waiting}; {' '.join(said)}"


def timed(result: Timed) -> str:
    """Floor, time, and its interval."""
    low_s, high_s = text(result.low_s), text(result.high_s)
    return f"floor {text(result.floor_s)} s, {text(result.time_s)} s in {low_s} s to {high_s} s"


def spent(energy: Energy | None) -> str:
    """Energy, with its interval."""
    if energy is None:
        return ""
    ends = f"{text(energy.low_j)} J to {text(energy.high_j)} J"
    return f"; {text(energy.energy_j)} J in {ends}, {text(energy.power_w)} W"


def steps(
    path: Path, target: str, precision: str, mode: str, dims: Mapping[str, int]
) -> Iterator[str]:
    """Every launch of a run, and what the factor of the first of each kind depends on."""
    am, machine, setting = Analyses(), load_machine(target), setting_of(precision, mode)
    module = am.apply(Canonicalize(setting.training), typed(path, dims, am=am))
    listed = launches(module, am, setting, [module.defaults()])[1]
    table = tabulate_launches(columns(listed), setting, Sheet(machine))
    shown: set[LaunchKind] = set()
    for i, launch in enumerate(listed):
        yield (
            f"{launch.kind.value}, {text(launch.times)} times: "
            f"scale {text(table.scale_s[i])} s, floor {text(table.floor_s[i])} s"
        )
        if launch.kind not in shown:
            yield from numbers(zip(table.names, table.values[i].tolist(), strict=True))
        shown.add(launch.kind)


def setting_of(precision: str, mode: str) -> Setting:
    """How a framework runs a model, by the words of a question."""
    return Setting(
        precision_of(precision, "golden file"),
        channels_last=mode == "channels-last",
        compiled=mode == "compiled",
        training=mode == "training",
        version={"training": (1, 12), "channels-last": (2, 4)}.get(mode, (2, 9)),
    )


def run(
    path: Path, target: str, precision: str, mode: str, dims: Mapping[str, int]
) -> Iterator[str]:
    """A whole run by the predictor that ships."""
    wide = precision == "f32"
    result = perfc.predict(
        path,
        target=target,
        dims=dims,
        tf32=not wide,
        predictor="physics-residual",
        dtype="f32" if precision == "tf32" else precision.replace(" ", "-"),
        runtime="inductor" if mode == "compiled" else "eager",
        layout="channels-last" if mode == "channels-last" else "channels-first",
        mode="training" if mode == "training" else "inference",
    )
    ends = f"{text(result.low)} s to {text(result.high)} s"
    yield f"{result.predictor}: floor {text(result.floor_s)} s, {text(result.value)} s in {ends}"
    yield from (f"outside: {reason}" for reason in result.outside)


def passes(path: Path, target: str, runtime: str, dims: Mapping[str, int]) -> Iterator[str]:
    """A forward pass, and the same with a backward one."""
    plans = [Plan.of(path, target, dims, runtime, tf32=Tf32.NONE, trains=t) for t in (False, True)]
    for plan in plans:
        copied = [*plan.copies(), *plan.copies(backward=True)]
        moved = sum(row.parameters["read_bytes"] for row in copied)
        yield f"{len(copied)} copies of views, {text(moved)} bytes"
    for name, result in (("inference", inference(plans[0])), ("training", training(plans[1]))):
        yield f"{name}: floor {text(result.floor_s)} s, {spans(result.whole)}"
        yield f"  backward {spans(result.backward)}"


def spans(result: Spent) -> str:
    """A part of a run with its interval."""
    return f"{text(result.time_s)} s in {text(result.low_s)} s to {text(result.high_s)} s"


def graph(
    path: Path, target: str, precision: str, mode: str, dims: Mapping[str, int]
) -> Iterator[str]:
    """What predictors of whole runs read of a model: its operators, tensors and launches."""
    setting, batch = setting_of(precision, mode), dims["batch"]
    rest = {name: value for name, value in dims.items() if name != "batch"}
    result = encode_module(path.stem, load(path), [setting], rest)
    ops = result.ops
    yield f"{len(ops)} operators, {ops.edges.shape[1]} tensors, {result.depth} in a row"
    yield from named_sums("operators", ops.at(batch))
    yield from named_sums("tensors", ops.edges_at(batch))
    yield "whole"
    yield from numbers(ops.whole_at(batch).items())
    for key, kernels in result.kernels.items():
        columns_at = kernels.columns.at(batch)
        yield f"{len(kernels)} launches of {key}, {kernels.edges.shape[1]} wait for another"
        yield from named_sums(
            "launches", {"kind": columns_at.kind, "times": columns_at.times, **columns_at.amounts}
        )
        yield from named_sums("traits", columns_at.traits)
        yield from named_sums("edges", dict(zip(("from", "to"), kernels.edges, strict=True)))
    yield from named_sums("edges of operators", dict(zip(("from", "to"), ops.edges, strict=True)))
    for title, table, schema in (
        ("PerfGraph nodes", node_table(result, batch), NODES),
        ("PerfGraph edges", edge_table(result, batch), EDGES),
        ("PerfGraph graph", np.array([graph_vector(result, batch)]), GRAPH),
    ):
        yield from named_sums(title, dict(zip(schema.columns, table.T, strict=True)))
    measured = GraphRow(path.stem, path.stem, setting, target, batch, 1e-3, floor_s=1e-4)
    data = Measurements("golden", {path.stem: result}, (measured,))
    yield "totals"
    yield from numbers(totals(result, measured).items())
    kernels_of = LaunchTable(data, measured)
    names = dict(zip(FEATURES.columns, kernels_of.features.T.astype(np.float64), strict=True))
    yield from named_sums("kernels", {**names, "roofline_s": kernels_of.roofline_s})
    linear = linear_runs(data)
    yield f"linear run: roofline {text(linear.roofline_s[0])} s"
    yield from numbers(zip(RUNS.columns, linear.table[0].tolist(), strict=True))
    yield "row"
    yield from numbers(zip(ROW.columns, row_features(data, measured), strict=True))


def named_sums(title: str, columns: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Columns of a table, each by a sum in which every row has another weight."""
    yield title
    sums = {name: float(c @ (1 + np.arange(len(c)) / 10)) for name, c in columns.items()}
    yield from numbers(sums.items())


def numbers(named: Iterable[tuple[str, float]]) -> Iterator[str]:
    """Features that are not zero, some a line."""
    words = [f"{name} {text(value)}" for name, value in named if value]
    for start in range(0, len(words), PER_LINE):
        yield f"  {', '.join(words[start : start + PER_LINE])}"


def text(value: float) -> str:
    """A number with more digits than the comparison looks at."""
    return f"{value:.8g}"


def differences(expected: str, actual: str) -> list[str]:
    """Lines that say something else, by more than `RELATIVE` where they have numbers."""
    pairs = zip_longest(expected.splitlines(), actual.splitlines(), fillvalue="")
    return [
        f"line {number}\n  expected {a.strip()}\n  actual   {b.strip()}"
        for number, (a, b) in enumerate(pairs, 1)
        if not is_same(a, b)
    ]


def is_same(expected: str, actual: str) -> bool:
    """Whether two lines have the same words, and numbers that are as good as equal."""
    one, other = (re.split(r"[\s,;:]+", line.strip()) for line in (expected, actual))
    return len(one) == len(other) and all(map(is_same_word, one, other))


def is_same_word(expected: str, actual: str) -> bool:
    """Whether two words are the same."""
    if expected == actual:
        return True
    relative = RELATIVE
    if expected.startswith("~") and actual.startswith("~"):
        relative, expected, actual = ABOUT, expected[1:], actual[1:]
    if not (NUMBER.match(expected) and NUMBER.match(actual)):
        return False
    a, b = float(expected), float(actual)
    return abs(a - b) <= relative * max(abs(a), abs(b))
