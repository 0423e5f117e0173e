"""Rows of models that were deployed have the graph that was run, not the one that was exported."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from perfc_lab.datasets.timm import TimmRuns

pytest.importorskip("onnx")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

CHANNELS = 128
WIDE, NARROW = CHANNELS * CHANNELS * 9, CHANNELS * CHANNELS
LINE = {
    "device": "RTX 4090",
    "mode": "infer",
    "model": "rep",
    "img_size": 32,
    "batch": 64,
    "precision": "amp_fp16",
    "memory_format": "nchw",
    "torch_compile": False,
    "step_time_ms": 1.0,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        LINE | {"torch_version": "2.4.0", "params_m": (WIDE + NARROW) / 1e6},
        LINE | {"torch_version": "2.9.1", "params_m": WIDE / 1e6},
        LINE | {"torch_version": "2.9.1", "params_m": WIDE / 1e6, "model": "absent"},
    ]
    pd.DataFrame(lines).to_parquet(tmp_path / "timm_benchmark.parquet")
    (tmp_path / "models").mkdir()
    path = tmp_path / "models" / "timm__rep__32.onnx.gz"
    path.write_bytes(gzip.compress(branched()))
    return tmp_path


def branched() -> bytes:
    """Two convolutions of one tensor and their sum."""
    import onnx

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> '
        f"net (float[N,{CHANNELS},32,32] x) => (float[N,{CHANNELS},32,32] y) {{"
        "a = Conv <pads = [1, 1, 1, 1]> (x, wide) b = Conv (x, narrow) c = Add (a, b) y = Relu (c)"
        "}"
    )
    for name, extent in (("wide", 3), ("narrow", 1)):
        filters = np.ones((CHANNELS, CHANNELS, extent, extent), np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(filters, name))
    return bytes(model.SerializeToString())


def test_a_row_with_the_parameters_of_folded_branches_has_a_graph_without_them(
    folder: Path, tmp_path: Path
) -> None:
    found = TimmRuns().build(folder, tmp_path / "graphs", lambda _: None)
    exported, deployed = sorted(found.rows, key=lambda r: r.setting.version)
    assert exported.architecture == deployed.architecture == "rep"
    assert (exported.graph, deployed.graph) == ("timm__rep__32", "timm__rep__32--folded-2")
    operators = [found.graph(r).ops.ops.count("conv") for r in (exported, deployed)]
    assert operators == [2, 1]
    assert len(found.kernels(deployed)) < len(found.kernels(exported))


def test_a_row_whose_graph_is_missing_or_unreadable_is_of_the_graph_as_it_is(folder: Path) -> None:
    (folder / "models" / "timm__rep__32.onnx.gz").write_bytes(b"nothing")
    names = {row.graph for row in TimmRuns().rows(folder)}
    assert names == {"timm__rep__32", "timm__absent__32"}
