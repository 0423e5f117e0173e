"""Published runs of ONNX Runtime: which rows count, on which graph, and how they were run."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from perfc_lab.tables.ort_runs import published_runs
from perfc_lab.tables.whole_models import WholeModel

COLUMNS = (
    "source",
    "source_file",
    "device",
    "runtime",
    "runtime_version",
    "precision",
    "mode",
    "model",
    "input_shape",
    "seq_len",
    "batch",
    "latency_ms",
    "includes_io",
    "note",
    "graph",
)
BERT = {
    "source": "a/b",
    "device": "T4",
    "runtime": "onnxruntime",
    "precision": "fp16",
    "mode": "inference",
    "model": "bert-base-cased",
    "seq_len": "128.0",
    "batch": "2.0",
    "latency_ms": "3.5",
}
IMAGE = {**BERT, "model": "timm/resnet18", "seq_len": "", "input_shape": "3x224x224"}


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("hf__bert-base", "timm__resnet18__224"):
        (folder / f"{name}.onnx.gz").touch()
    return folder


def read(graphs: Path, *rows: dict[str, str]) -> list[WholeModel]:
    with gzip.open(graphs.parent / "ort_runs.csv.gz", "wt", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return list(published_runs(graphs.parent, graphs))


def test_the_column_of_the_graph_decides_on_the_table(graphs: Path) -> None:
    plain, optimized, recent = read(
        graphs,
        {**BERT, "graph": "plain"},
        {**BERT, "graph": "optimised"},
        {**IMAGE, "runtime_version": "1.22.0", "precision": "fp32"},
    )
    assert plain.deployment.table.name == "ort-fused"
    assert optimized.deployment.table.name == "ort-optimized"
    assert recent.deployment.table.name == "ort"
    assert {r.deployment.table.measured_name for r in (plain, optimized, recent)} == {"ort"}
    assert (plain.time_s, plain.graph, plain.source) == (0.0035, "hf__bert-base.onnx.gz", "a/b")
    assert plain.deployment.dims == {"batch": 2, "seq": 128}


@pytest.mark.parametrize(
    "changed",
    [
        {"note": "batch not stated"},
        {"note": "encoder layers only, without embeddings"},
        {"mode": "serving"},
        {"device": "Some Card"},
        {"model": "rfdetr-nano"},
        {"precision": ""},
        {"batch": ""},
        {**IMAGE, "includes_io": "yes (H2D)", "batch": "12", "latency_ms": "4"},
    ],
)
def test_weak_rows_are_left_out(graphs: Path, changed: dict[str, str]) -> None:
    assert read(graphs, {**BERT, **changed}) == []
    assert read(graphs, {**IMAGE, "includes_io": "yes (H2D)", "batch": "12", "latency_ms": "40"})


def test_eager_rows_have_the_version_of_pytorch_that_ran_them(graphs: Path) -> None:
    eager = {**BERT, "runtime": "eager", "runtime_version": "2.1.0", "note": "autocast (amp)"}
    (row,) = read(graphs, eager)
    assert (row.framework, row.deployment.dtype) == ((2, 1), "amp-f16")


def test_there_are_none_without_the_table(tmp_path: Path) -> None:
    assert list(published_runs(tmp_path, tmp_path)) == []
