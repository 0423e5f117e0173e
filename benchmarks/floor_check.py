"""Floors against measured times of whole models: none may be above.

Each row is one model, image size, batch, precision and device of the public timm benchmark. The
floor is that of the graph on the device's target in the row's precision, with the fusion table of
an eager framework, or of Inductor where the row was compiled. Prints the share of rows whose floor
is not above the measured time, how tight it is, and the rows that come closest.

    python benchmarks/floor_check.py --data ../shared/data/timm_benchmark.parquet

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfc.api import typed
from perfc.errors import PerfcError
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Module
from perfc.machine import Machine, load_machine
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.cost import Cost
from perfc.passes.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.retype import Retype
from perfc.passes.roofline import RooflineTable, bounds

TARGETS = {
    "RTX 3090": "rtx3090",
    "RTX 4090": "rtx4090",
    "RTX PRO 6000 Blackwell Max-Q": "rtx-pro-6000-max-q",
}
MERGED = ("mobileone",)
"""Families that the benchmark runs with their parallel branches merged into one convolution."""
DTYPES = {"amp_fp16": "f16", "amp_bf16": "bf16", "bf16": "bf16", "fp32": ""}


@dataclass(frozen=True)
class Row:
    """A measured time beside its bounds."""

    name: str
    measured_s: float
    floor_s: float
    time_s: float

    @property
    def share(self) -> float:
        """Floor as a share of the measured time; above 1 is a violation."""
        return self.floor_s / self.measured_s


class Model:
    """One graph, its kernels in each precision and runtime made once."""

    def __init__(self, path: Path) -> None:
        self.am = Analyses()
        self.module = self.am.apply(Canonicalize(), typed(path))
        self.retyped: dict[str, Module] = {"": self.module}

    def macs(self) -> float:
        """Multiply–accumulates of one sample."""
        env = self.module.defaults()
        return float(evaluate(self.am.get(Cost(), self.module).work.mac, env))

    def roofline(self, dtype: str, runtime: str, machine: Machine, batch: int) -> RooflineTable:
        """Bounds at one batch size."""
        if dtype not in self.retyped:
            self.retyped[dtype] = self.am.apply(Retype(dtype), self.module)
        module = self.retyped[dtype]
        env = module.defaults()
        env |= {module.symbols[0].name: batch} if module.symbols else {}
        return bounds(self.am.get(Fuse(runtime), module), machine, env)


def rows_of(path: Path, records: Any, machines: dict[str, Machine]) -> Iterator[Row]:
    """Bounds of every measured row of one model.

    Raises:
        PerfcError: the graph is not what was measured: the published count of products differs
            by a tenth, as where branches were merged before running.
    """
    if any(name in path.name for name in MERGED):
        raise PerfcError("another graph was measured: its branches were merged")
    model = Model(path)
    published = float(records["gmacs"].iloc[0]) * 1e9
    if not 0.9 * published <= model.macs() <= 1.1 * published:
        counted = f"{model.macs() / 1e9:.2f} G products, {published / 1e9:.2f} G published"
        raise PerfcError(f"another graph was measured: {counted}")
    for r in records.itertuples():
        runtime = "inductor" if r.torch_compile else "eager"
        table = model.roofline(DTYPES[r.precision], runtime, machines[r.device], int(r.batch))
        name = f"{r.model} {r.img_size} × {r.batch} {r.precision} {runtime} {r.device}"
        yield Row(name, r.step_time_ms / 1e3, table.floor_s, table.time_s)


def selected(folder: Path, data: Any, count: int) -> Iterator[tuple[Path, Any]]:
    """Models that are there and were measured, evenly spread over their names."""
    by_size = dict(iter(data.groupby(["model", "img_size"], observed=True)))
    paths = {
        key: folder / f"timm__{key[0]}__{key[1]}.onnx.gz"
        for key in sorted(by_size)
        if (folder / f"timm__{key[0]}__{key[1]}.onnx.gz").exists()
    }
    keys = list(paths)
    for key in keys[:: max(len(keys) // count, 1)][:count]:
        yield paths[key], by_size[key]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/timm_benchmark.parquet"))
    parser.add_argument("--models", type=Path, default=Path("../shared/models"))
    parser.add_argument("--count", type=int, default=60, help="models compared")
    parser.add_argument("--top", type=int, default=10, help="closest rows shown")
    args = parser.parse_args()
    import pandas

    data = pandas.read_parquet(args.data)
    data = data[(data["mode"] == "infer") & data["device"].isin(TARGETS)]
    data = data[data["step_time_ms"].notna()]
    machines = {device: load_machine(target) for device, target in TARGETS.items()}
    rows: list[Row] = []
    models = 0
    for path, records in selected(args.models, data, args.count):
        try:
            rows += rows_of(path, records, machines)
            models += 1
        except PerfcError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
    if not rows:
        print("no rows: is --data there, and --models?", file=sys.stderr)
        return 2
    return report(models, rows, args.top)


def report(models: int, rows: list[Row], top: int) -> int:
    """Print what was found; 1 where a floor is above a measured time."""
    kept = sum(r.share <= 1 for r in rows)
    shares = sorted(r.share for r in rows)
    ratios = sorted(r.time_s / r.measured_s for r in rows)
    print(f"{models} models, {len(rows)} rows")
    print(f"floor <= measured: {kept} of {len(rows)} ({kept / len(rows):.2%})")
    print(f"floor / measured: median {statistics.median(shares):.2f}, largest {shares[-1]:.2f}")
    print(f"time at measured rates / measured: median {statistics.median(ratios):.2f}")
    for r in sorted(rows, key=lambda r: -r.share)[:top]:
        print(f"  {r.share:6.3f}  {r.measured_s * 1e3:9.3f} ms  {r.name}")
    return 0 if kept == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
