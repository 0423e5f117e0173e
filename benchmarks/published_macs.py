"""Multiply-accumulates of real models against the figures their authors published.

    python benchmarks/published_macs.py --models ../shared/models

The folder holds `INDEX.csv` with the columns file, name and published_gmacs. The profiler behind
the published figures counts, besides macs, normalisation: twice per element for batch
normalisation at inference, five times for the others; and it rounds to 0.01 G.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import adapter
import onnx
from truth import Tensor

DEFAULT_MODELS = Path(__file__).resolve().parent.parent.parent / "shared" / "models"
PER_ELEMENT = {
    "BatchNormalization": 2, "LayerNormalization": 5, "GroupNormalization": 5,
    "InstanceNormalization": 5,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One model's published figure and ours."""

    file: str
    published_g: float
    mac: int
    normalisation: int

    @property
    def ours_g(self) -> float:
        """In the profiler's convention."""
        return (self.mac + self.normalisation) / 1e9

    @property
    def agrees(self) -> bool:
        """Within 1 % or the rounding of 0.01 G."""
        gap = abs(self.ours_g - self.published_g)
        return gap <= max(0.01 * self.published_g, 0.01 + 1e-9)


def load(path: Path) -> onnx.ModelProto:
    """A model, compressed or not; external weights stay where they are."""
    data = path.read_bytes()
    return onnx.load_model_from_string(gzip.decompress(data) if path.suffix == ".gz" else data)


def symbols(model: onnx.ModelProto) -> dict[str, int]:
    """Every input symbol, at one."""
    infos = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    return {d.dim_param: 1 for d in infos if d.dim_param}


def normalisation(model: onnx.ModelProto, dims: dict[str, int]) -> int:
    """What the profiler adds for normalisation nodes."""
    wanted = [n for n in model.graph.node if n.op_type in PER_ELEMENT]
    if not wanted:
        return 0
    types = adapter.infer_perfc(model, dims, {})
    total = 0
    for node in wanted:
        t = types.get(node.output[0])
        if isinstance(t, Tensor) and t.shape and all(isinstance(d, int) for d in t.shape):
            total += PER_ELEMENT[node.op_type] * math.prod(t.shape)  # type: ignore[arg-type]
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--limit", type=int, default=0, help="evenly spaced sample of this many")
    parser.add_argument("--list", type=int, default=60, help="how many disagreeing rows to print")
    args = parser.parse_args()
    index = args.models / "INDEX.csv"
    if not index.exists():
        print(f"no {index}; give the folder with --models", file=sys.stderr)
        return 2
    with index.open(encoding="utf-8") as f:
        wanted = [r for r in csv.DictReader(f) if r["published_gmacs"] and args.only in r["file"]]
    if args.limit:
        wanted = wanted[:: max(1, len(wanted) // args.limit)][: args.limit]
    began, rows, errors = time.perf_counter(), [], []
    for row in wanted:
        path = args.models / row["file"]
        try:
            model = load(path)
            dims = symbols(model)
            mac = adapter.total_mac(path, dims)
            if not isinstance(mac, int):
                errors.append(f"{row['file']}: only a bound is known")
                continue
            extra = normalisation(model, dims)
            rows.append(Row(row["file"], float(row["published_gmacs"]), mac, extra))
        except Exception as error:
            errors.append(f"{row['file']}: {type(error).__name__}: {str(error)[:160]}")
    other = sorted((r for r in rows if not r.agrees), key=lambda r: r.ours_g / r.published_g)
    for r in other[: args.list]:
        ratio = r.ours_g / r.published_g if r.published_g else math.inf
        print(
            f"{r.file:64} published {r.published_g:9.2f}  ours {r.ours_g:9.3f}"
            f" (mac {r.mac / 1e9:.3f}, normalisation {r.normalisation / 1e9:.3f})  x{ratio:.3f}"
        )
    print("\n".join(errors[: args.list]))
    families = Counter(r.file.split("__")[1].split("_")[0] for r in other)
    print(f"disagreeing by family: {dict(families.most_common(30))}")
    n, same = len(wanted), len(rows) - len(other)
    bare = sum(abs(r.mac / 1e9 - r.published_g) <= max(0.01 * r.published_g, 0.01) for r in rows)
    print(
        f"SUMMARY published_macs: {same} of {n} models ({100 * same / max(1, n):.1f} %) within 1 %"
        f" or 0.01 G of the published figure ({bare} without counting normalisation),"
        f" {len(other)} differ, {len(errors)} not counted; {time.perf_counter() - began:.0f} s"
    )
    return 0 if same >= 0.97 * n else 1


if __name__ == "__main__":
    sys.exit(main())
