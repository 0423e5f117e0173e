"""BERT under TensorRT's plugins, from the page of its demonstration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, checked, files_in, pandas
from .trtllm import cells_of, number_of

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "demo/BERT"
PAGE = f"{FOLDER}/README.md"
COLUMNS = (
    "source", "device", "gpu", "n_gpus", "runtime", "runtime_version", "precision", "mode",
    "model", "canonical_model", "seq_len", "batch", "latency_ms", "percentile", "measure",
    "includes_io", "grade", "source_file", "graph", "graph_size_match",
)  # fmt: skip
"""Columns of `whole_models` that the page has something for."""
DEVICE = re.compile(r"Inference performance: NVIDIA (?P<device>(?P<gpu>\w+).*)")
PRECISION = re.compile(r"(?P<precision>INT8|FP16)(?: QAT)? Latency \(ms\)")
VERSION = re.compile(r"TensorRT(?: version)? v?(\d+\.\d+)")
PERCENTILES = {"95th Percentile": "p95", "99th Percentile": "p99", "Average": "mean"}
GRAPHS = {"base": "hf__bert-base.onnx.gz", "large": "hf__bert-large.onnx.gz"}
SPARSE = "sparsity"


class TensorRtBert(PublicSource):
    """``demo/BERT/README.md``: a row a GPU, model, length, batch, precision and percentile.

    Means of dense networks are of grade A, percentiles of C, as in `whole_models`. Times leave
    transfers out. TensorRT's version is the first that the page names.
    """

    name: ClassVar[str] = "tensorrt_bert"
    title: ClassVar[str] = "latency of BERT under TensorRT on data-center GPUs"
    url: ClassVar[str] = "https://github.com/NVIDIA/TensorRT"
    commit: ClassVar[str] = "9973b2f4ab5c0d0055e9d36cd94a5692f8f8da1f"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("whole_models_tensorrt_bert",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the tables under the headings that name GPUs."""
        path = files_in(clone, PAGE)[0]
        rows = list(latencies(checked(path).read_text(encoding="utf-8"), path))
        if not rows:
            raise FetchError("no table of latencies", where=str(path), hint="another commit?")
        frame = pandas().DataFrame(rows, columns=list(COLUMNS))
        whole = dict.fromkeys(("n_gpus", "seq_len", "batch"), "Int32")
        return {self.tables[0]: frame.astype(whole)}


def latencies(text: str, path: Path) -> Iterator[tuple[object, ...]]:
    """Yield a row a cell.

    Raises:
        FetchError: a cell that is no time, or a table of another form.
    """
    version = match[1] if (match := VERSION.search(text)) else ""
    device: re.Match[str] | None = None
    model, precisions, percentiles = "", list[str](), list[str]()
    for line in text.splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
            device = DEVICE.fullmatch(title) or device
            model, precisions, percentiles = title, [], []
        elif not line.startswith("|") or device is None:
            continue
        elif "Latency (ms)" in line:
            precisions = [m["precision"].lower() for m in PRECISION.finditer(line)]
        elif "Percentile" in line:
            percentiles = [PERCENTILES.get(cell, "") for cell in cells_of(line)[2:]]
        elif percentiles and cells_of(line)[0].isdecimal():
            length, batch, *times = cells_of(line)
            if len(times) != len(percentiles) or len(times) != len(PERCENTILES) * len(precisions):
                raise FetchError(f"{len(times)} times of {model[:40]!r}", where=str(path))
            for i, (percentile, cell) in enumerate(zip(percentiles, times, strict=True)):
                yield (
                    "tensorrt_bert", device["device"], device["gpu"], 1, "tensorrt", version,
                    precisions[i // len(PERCENTILES)], "inference", *of_model(model),
                    int(number_of(length, path)), int(number_of(batch, path)),
                    number_of(cell, path), percentile, "model", False,
                    "A" if percentile == "mean" and SPARSE not in model.lower() else "C",
                    PAGE, *graph_of(model),
                )  # fmt: skip


def of_model(model: str) -> tuple[str, str]:
    """Return a model's title, and its name on the hub, "" for none."""
    return model, next((f"bert-{n}-uncased" for n in GRAPHS if is_dense(model, n)), "")


def graph_of(model: str) -> tuple[str | None, str | None]:
    """Return the file of a model's graph, and that it takes any length."""
    file = next((file for n, file in GRAPHS.items() if is_dense(model, n)), None)
    return file, "any seq" if file else None


def is_dense(model: str, size: str) -> bool:
    """Return True for ``BERT Base`` and ``BERT Large``, not for networks of other kinds."""
    return model.lower() == f"bert {size}"
