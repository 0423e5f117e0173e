"""Floors against measured times of whole models: none may be above.

    python benchmarks/floor_check.py DATA [--table TABLE ...] [--count 60] [--device Jetson Xeon]

DATA is the folder of the tables; graphs lie in ``models/`` in it or beside it. A row is one model,
image size or sequence length, batch, precision, machine and runtime:

- `timm_benchmark`, public: steps in PyTorch, eager or compiled;
- `whole_models`: latencies that others published, of which rows of grade A are taken whose graph is
  that of the row. Precisions are given as a user does (``--dtype i8`` of int8 runs);
- `help_nas_latency`, public: networks of NAS-Bench-201 and FBNet, built from their strings.

The floor is that of the graph on the row's target, in its precision, with the fusion table of its
runtime or of the one that fuses most like it. Where a model can be run with its branches folded,
the lowest floor of its forms counts, as tables do not say which was run. Prints the share of rows
whose floor is not above the measured time, how tight it is by runtime and precision, and the rows
that come closest; exits with 1 if a floor is above a measured time and nobody knows why.
Kernels alone are checked by ``benchmarks/floor_kernels.py``.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perfc.analyzers.graph.measured_runs import model_folder
from perfc.api import typed
from perfc.errors import PerfcError
from perfc.ir.graph import Module
from perfc.ir.symbolic.evaluate import evaluate
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.layout.launches import launched
from perfc.passes.manager import Analyses
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.passes.roofline.roofline import RooflineTable, bounds
from perfc.passes.runtimes import Layout
from perfc_lab.datasets import dataset
from perfc_lab.datasets.spaces.help_nas import SearchSpace, architectures
from perfc_lab.tables.timm_variants import variants
from perfc_lab.tables.whole_models import graded

TIMM, WHOLE, HELP = "timm_benchmark", "whole_models", "help_nas_latency"
SPACES = {"nasbench201": "nb201", "fbnet": "fbnet"}
TARGETS, RUNTIMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).values()
"""The fastest variant of a device whose variant is not given, and of runtimes the table of one that
fuses most like them, or more."""
DTYPES = {
    "amp_fp16": "amp-f16",
    "amp_bf16": "amp-bf16",
    "fp16": "f16",
    "bf16": "bf16",
    "int8": "i8",
    "fp32": "",
    "tf32": "",
}
"""Rows in ``fp32`` may have used TF32 where there is any, so that floors always may."""
ODD: Mapping[tuple[str, str, str, int], str] = {
    ("pd__Fix_ResNeXt101_32x48d_wsl__320", "V100", "fp32", 8): "named as wrong where the table is "
    "described: its 1×1 products alone take 189 of the 205 ms at the card's highest clock",
}
"""Rows that are known to be wrong, by graph, device, precision and batch, and why."""


@dataclass(frozen=True)
class Run:
    """A measured run.

    Args:
        graph: stem of its file.
        device: name of the device in the table.
        runtime: name of the runtime in the table.
        precision: name of the precision in the table.
        batch: images or sequences.
        length: tokens of a sequence; 0 for images.
        time_s: measured time of one run.
        table: fusion table of perfc for the runtime.
        published_mac: of one example, 0 if not given.
    """

    graph: str
    device: str
    runtime: str
    precision: str
    batch: int
    length: int
    time_s: float
    table: str
    published_mac: float = 0.0

    def __str__(self) -> str:
        size = f" of {self.length}" if self.length else ""
        return f"{self.graph} × {self.batch}{size} {self.precision} {self.runtime} {self.device}"


@dataclass(frozen=True)
class Bounded:
    """A run with its bounds."""

    run: Run
    floor_s: float
    time_s: float

    @property
    def share(self) -> float:
        """Return the floor as a share of the measured time; above 1 is a violation."""
        return self.floor_s / self.run.time_s

    @property
    def odd(self) -> str:
        """Return why the row is known to be wrong, "" where it is not."""
        run = self.run
        return ODD.get((run.graph, run.device, run.precision, run.batch), "")


class Model:
    """One graph in every form it may be run in; its kernels are made once."""

    def __init__(self, graph: Module) -> None:
        self.am = Analyses()
        module = self.am.apply(Canonicalize(), graph)
        self.forms = variants(module, self.am)
        self.retyped: dict[tuple[int, str], Module] = {}

    def macs(self) -> float:
        """Return multiply–accumulates of one example, as exported."""
        module = self.forms[0]
        return float(evaluate(self.am.get(Cost(), module).work.mac, module.defaults()))

    def roofline(self, form: int, run: Run, machine: Machine) -> RooflineTable:
        """Return the bounds of a run of one form."""
        dtype = DTYPES[run.precision]
        module = self.forms[form]
        if dtype and (form, dtype) not in self.retyped:
            self.retyped[form, dtype] = self.am.apply(what_if(dtype), module)
        module = self.retyped.get((form, dtype), module)
        # the first symbol is the batch, the second the length of sequences
        values = (run.batch, run.length) if run.length else (run.batch,)
        names = [s.name for s in module.symbols]
        env = {**module.defaults(), **dict(zip(names, values, strict=False))}
        table = self.am.get(Fuse(run.table), module)
        # the order of feature maps that a table does not say: the one with the lower floor
        tables = [launched(table, machine, env, module, layout=layout) for layout in Layout]
        return min((bounds(one, machine, env) for one in tables), key=lambda b: b.floor_s)

    def bounded(self, run: Run, machine: Machine) -> Bounded:
        """Return the lowest floor of the model's forms."""
        rooflines = [self.roofline(form, run, machine) for form in range(len(self.forms))]
        lowest = min(rooflines, key=lambda table: table.floor_s)
        return Bounded(run, lowest.floor_s, lowest.time_s)


def timm_runs(data: Path) -> Iterator[Run]:
    """Yield the runs of inference in timm's benchmark."""
    import pandas

    frame = pandas.read_parquet(data / f"{TIMM}.parquet")
    frame = frame[(frame["mode"] == "infer") & frame["step_time_ms"].notna()]
    for r in frame.itertuples():
        runtime = "inductor" if r.torch_compile else "eager"
        if r.device in TARGETS and r.precision in DTYPES:
            yield Run(
                f"timm__{r.model}__{r.img_size}",
                r.device,
                runtime,
                r.precision,
                int(r.batch),
                0,
                r.step_time_ms / 1e3,
                runtime,
                0 if pandas.isna(r.gmacs) else r.gmacs * 1e9,
            )


def whole_runs(data: Path) -> Iterator[Run]:
    """Yield the latencies of grade A whose graph is that of the row, or takes any length."""
    import pandas

    frame = graded(data)
    for r in frame[frame["batch"].notna() & (frame["latency_ms"] > 0)].itertuples():
        if r.device in TARGETS and r.precision in DTYPES and r.runtime in RUNTIMES:
            yield Run(
                str(r.graph).removesuffix(".onnx.gz"),
                r.device,
                r.runtime,
                r.precision,
                int(r.batch),
                0 if pandas.isna(r.seq_len) else int(r.seq_len),
                r.latency_ms / 1e3,
                RUNTIMES[r.runtime],
            )


def help_runs(data: Path) -> Iterator[Run]:
    """Yield latencies of networks that can be built, in f32; on processors one image at a time."""
    import pandas

    frame = pandas.read_parquet(data / f"{HELP}.parquet")
    for space, name in SPACES.items():
        chosen = architectures(data, space)
        chosen_rows = frame[(frame["space"] == space) & frame["device"].isin(list(TARGETS))]
        chosen_rows = chosen_rows[
            chosen_rows["arch_index"].isin(list(chosen)) & (chosen_rows["latency_ms"] > 0)
        ]
        for r in chosen_rows.itertuples():
            yield Run(
                f"{name}-{r.arch_index}",
                str(r.device),
                "",
                "fp32",
                int(r.batch),
                0,
                r.latency_ms / 1e3,
                "inductor",
            )


SOURCES = {TIMM: timm_runs, WHOLE: whole_runs, HELP: help_runs}


def graph_of(data: Path, name: str) -> Module | None:
    """Return the graph of a row: a file, or a network of a search space; None if none exists."""
    space, _, index = name.rpartition("-")
    if space in SPACES.values():
        builder = dataset(space)
        assert isinstance(builder, SearchSpace)
        return typed(builder.network(architectures(data, builder.space)[int(index)]))
    path = model_folder(data) / f"{name}.onnx.gz"
    return typed(path) if path.is_file() else None


def checked(graph: Module, runs: Iterable[Run], machines: Mapping[str, Machine]) -> list[Bounded]:
    """Return the bounds of every run of one model.

    Raises:
        PerfcError: the graph is not what was measured: the published count of products differs
            by a tenth.
    """
    model = Model(graph)
    pairs: list[Bounded] = []
    for run in runs:
        published = run.published_mac
        if published and not 0.9 * published <= model.macs() <= 1.1 * published:
            counted = f"{model.macs() / 1e9:.2f} G products, {published / 1e9:.2f} G published"
            raise PerfcError(f"another graph was measured: {counted}")
        pairs.append(model.bounded(run, machines[run.device]))
    return pairs


def selected(runs: Iterable[Run], count: int) -> dict[str, list[Run]]:
    """Return at most ``count`` measured models with their runs, evenly spread over their names."""
    by_graph: dict[str, list[Run]] = {}
    for run in runs:
        by_graph.setdefault(run.graph, []).append(run)
    names = sorted(by_graph)
    return {name: by_graph[name] for name in names[:: max(len(names) // count, 1)][:count]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the tables")
    parser.add_argument("--table", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--count", type=int, default=60, help="models of a table compared")
    parser.add_argument(
        "--device", nargs="+", default=[""], help="only of devices whose names begin so"
    )
    parser.add_argument("--top", type=int, default=10, help="closest rows shown")
    args = parser.parse_args()
    machines = {device: load_machine(target) for device, target in TARGETS.items()}
    is_sound = True
    for table in args.table:
        pairs: list[Bounded] = []
        rows = (r for r in SOURCES[table](args.data) if r.device.startswith(tuple(args.device)))
        models = 0
        for name, runs in selected(rows, args.count).items():
            try:
                if (graph := graph_of(args.data, name)) is not None:
                    pairs += checked(graph, runs, machines)
                    models += 1
            except PerfcError as error:
                print(f"{name}: {error}", file=sys.stderr)
        if not pairs:
            print(f"{table}: no rows", file=sys.stderr)
            return 2
        print(f"{table}: {models} models, {len(pairs):,} rows")
        is_sound &= report(pairs, args.top)
    return 0 if is_sound else 1


def report(rows: list[Bounded], top: int) -> bool:
    """Print the figures; return False if a floor is above a measured time and nobody knows why."""
    above = [r for r in rows if r.share > 1]
    valid = len(rows) - len(above)
    ratios = [r.time_s / r.run.time_s for r in rows]
    print(f"floor <= measured: {valid:,} of {len(rows):,} ({valid / len(rows):.2%})")
    print(f"time at measured rates / measured: median {statistics.median(ratios):.2f}")
    print("floor / measured:")
    groups: dict[tuple[str, str], list[float]] = {}
    for r in rows:
        groups.setdefault((r.run.runtime, r.run.precision), []).append(r.share)
    groups["~", "all"] = [r.share for r in rows]
    for (runtime, precision), shares in sorted(groups.items()):
        middle, highest = statistics.median(shares), max(shares)
        print(f"  {runtime:22s} {precision:9s} {len(shares):6,} {middle:6.2f} {highest:6.2f}")
    for r in sorted(rows, key=lambda r: -r.share)[:top]:
        print(f"  {r.share:6.3f}  {r.run.time_s * 1e3:9.3f} ms  {r.run}")
    for r in above:
        print(f"above: {r.run}: {r.odd or 'nobody knows why'}")
    return all(r.odd for r in above)


if __name__ == "__main__":
    sys.exit(main())
