"""Published latencies of whole models under eager PyTorch, Inductor and ONNX Runtime, by source."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from perfc.deployment import Deployment
from perfc.errors import PerfcError
from perfc.machine import load_machine
from perfc.passes.runtimes import Tf32

from .whole_models import FRAMEWORK, PRECISIONS, VERSION, WholeModel, known_runtime

TABLE = "ort_runs.csv.gz"
GRAPHS: Mapping[str, str] = {
    "bert-base": "hf__bert-base.onnx.gz",
    "BAAI/bge-base-en-v1.5": "hf__bert-base.onnx.gz",
    "roberta-large": "hf__roberta-large.onnx.gz",
    "cardiffnlp/twitter-roberta-base": "hf__roberta-base.onnx.gz",
    "microsoft/resnet-50": "timm__resnet50__224.onnx.gz",
    "torchvision/mobilenet_v2": "timm__mobilenetv2_100__224.onnx.gz",
    "torchvision/mobilenet_v3_large": "timm__mobilenetv3_large_100__224.onnx.gz",
    "torchvision/mnasnet1_0": "timm__mnasnet_100__224.onnx.gz",
}
"""Graph by the start of a model's name, where no graph has its name."""
NAMED = re.compile(r"(?:timm|torchvision)/(\w+)$")
OTHERS = (
    "encoder layers only",
    "optimised",
    "reduce-overhead",
    "memory arena off",
    "numpy",
    "copy",
)
"""Words of rows with another graph, a recorded one, odd settings, or copies of inputs."""


def published_runs(folder: Path, graphs: Path) -> Iterator[WholeModel]:
    """Yield the rows on known machines whose model has a graph; none without the table.

    Args:
        folder: of the table.
        graphs: folder of the graphs.
    """
    path = folder / TABLE
    if not path.is_file():
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        graph, table, target = graph_of(row, graphs), known_runtime(row["runtime"]), target_of(row)
        is_timed = row["latency_ms"] and row["batch"] and row["precision"] in PRECISIONS
        if not graph or table is None or not target or not is_timed:
            continue
        is_cast = row["precision"] == "fp16" and "autocast" in row["note"]
        dtype, tf32 = PRECISIONS["amp_fp16" if is_cast else row["precision"]]
        dims = {"batch": int(float(row["batch"]))}
        if row["seq_len"]:
            dims["seq"] = int(float(row["seq_len"]))
        how = Deployment(target, runtime=table.name, dtype=dtype, tf32=Tf32(tf32), dims=dims)
        version = VERSION.match(row["runtime_version"])
        framework = (int(version[1]), int(version[2])) if version else FRAMEWORK
        time_s = float(row["latency_ms"]) / 1e3
        yield WholeModel(graph, how, time_s, row["source"], framework)


def graph_of(row: Mapping[str, str], graphs: Path) -> str:
    """Return the graph of a row's model; "" without one."""
    # a note on compiled rows is in those of eager PyTorch, too
    note = (
        row["note"] if row["runtime"] == "inductor" else row["note"].partition("compiled rows")[0]
    )
    if any(words in f"{row['model']} {row['graph']} {note}" for words in OTHERS):
        return ""
    model = row["model"]
    name = next((graph for start, graph in GRAPHS.items() if model.startswith(start)), "")
    match = NAMED.match(model)
    if not name and match is not None:
        candidates = (f"{kind}__{match[1]}__224.onnx.gz" for kind in ("timm", "tv"))
        name = next((c for c in candidates if (graphs / c).is_file()), "")
    return name if (graphs / name).is_file() else ""


def target_of(row: Mapping[str, str]) -> str:
    """Return the target of a row's device; "" without one."""
    try:
        return load_machine(row["device"].lower().replace(" ", "-")).name
    except PerfcError:
        return ""
