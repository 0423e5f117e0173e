"""Compares the launches of captured CUDA graphs with those that perfc expects.

    python benchmarks/launch_counts.py MODELS [--rows] [--match TEXT]

Rows are the inference runs of ``datasets/h200/vision.csv.gz`` whose nodes were counted; MODELS is
the folder of their exported graphs. A memset and a kernel are a node each.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

import perfc
from benchmarks.arguments import index_rows
from perfc.errors import PerfcError
from perfc.ir import Numbers
from perfc.passes.runtimes import Tf32
from perfc_lab.tables.own_runs import measured_rows

ROWS = Path(__file__).parents[1] / "datasets/h200/vision.csv.gz"
SOURCES = {"timm": "timm__{}__{}", "rnd": "rnd__{}", "mtd": "mtd__{}"}
"""Names of the files of graphs, by the source of a model: its name, then the image size."""
PRECISIONS = {"fp16": ("f16", Tf32.ALL), "tf32": ("", Tf32.ALL), "fp32": ("", Tf32.NONE)}
"""Precision and TF32 of `perfc.analyze` by the precision of a row."""


def measured() -> Iterator[Mapping[str, str]]:
    """Yield the inference rows with a number of nodes."""
    for row in measured_rows(ROWS):
        if row["graph_nodes"] and row["mode"] == "infer":
            yield row


@cache
def sizes(models: Path) -> Mapping[str, str]:
    """Return the input size at which each graph was exported; empty without an index."""
    if not (models / "INDEX.csv").is_file():
        return {}
    return {row["file"]: row["input_size"] for row in index_rows(models)}


def expected(row: Mapping[str, str], models: Path) -> Counter[str] | None:
    """Return the number of launches by purpose; None without a graph or for one that fails."""
    source, _, name = row["name"].partition(":")
    path = models / f"{SOURCES[source].format(name, row['size'])}.onnx.gz"
    # a graph without its size in the name may have been exported at another
    if not path.is_file() or row["size"] != sizes(models).get(path.name, row["size"]):
        return None
    dtype, tf32 = PRECISIONS[row["prec"]]
    try:
        report = perfc.analyze(
            path, "h200", batch=int(row["batch"]), runtime="cudagraph", dtype=dtype, tf32=tf32
        )
    except PerfcError as error:
        print(f"left out: {row['key']}: {error}")
        return None
    at, counts = Numbers(report.env), Counter[str]()
    for kernel in report.kernels.kernels:
        word = kernel.kind.value if kernel.helper is None else kernel.helper.value
        counts[word] += round(at(kernel.repeat))
    return counts


def main() -> None:
    """Print the errors by precision, and each row with `--rows`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--match", default="", help="only rows whose key contains this")
    args = parser.parse_args()
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in measured():
        counts = expected(row, args.models) if args.match in row["key"] else None
        if counts is None:
            continue
        nodes = int(row["graph_nodes"])
        ratio = counts.total() / nodes
        ratios[row["prec"]].append(ratio)
        if args.rows:
            parts = " ".join(f"{word} {n}" for word, n in counts.most_common())
            print(f"{ratio:.3f} {counts.total():5} {nodes:5} {row['key']}: {parts}")
    for precision, group in ratios.items():
        errors = [abs(r - 1) for r in group]
        within = [sum(e <= limit for e in errors) for limit in (0.05, 0.1)]
        spread = math.exp(median(math.log(r) for r in group))
        print(
            f"{precision}: {len(group)} rows, median error {100 * median(errors):.1f} %, median "
            f"ratio {spread:.2f}, within 5 %: {within[0]}, within 10 %: {within[1]}"
        )


if __name__ == "__main__":
    main()
