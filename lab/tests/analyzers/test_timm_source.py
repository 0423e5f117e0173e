"""The benchmark's table on graphs: what is used, what is left out, and why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.frontend import load
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc_lab.tables.timm import TABLE, measured
from perfc_lab.tables.timm_variants import forms, parameters, variants

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RESNET = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
LINE = {
    "device": "RTX 3090",
    "mode": "infer",
    "model": "resnet50",
    "img_size": 224,
    "batch": 64,
    "precision": "amp_fp16",
    "memory_format": "nchw",
    "torch_compile": False,
    "torch_version": "2.4.0",
    "step_time_ms": 40.0,
}


def test_tables_without_graphs_name_the_command_that_exports_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no graphs") as found:
        model_folder(tmp_path)
    assert f"perfc data export timm --data {tmp_path}" in str(found.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        LINE,
        LINE | {"torch_version": "1.13", "memory_format": "nhwc"},
        LINE | {"step_time_ms": float("nan")},
        LINE | {"step_time_ms": -1.0},
        LINE | {"device": "Intel i7-12700H", "precision": "fp32"},
        LINE | {"model": "absent"},
    ]
    pd.DataFrame(lines).to_parquet(tmp_path / TABLE)
    (tmp_path / "models").mkdir()
    shutil.copy(RESNET, tmp_path / "models" / "timm__resnet50__224.onnx.gz")
    return tmp_path


def test_rows_without_time_or_of_processors_are_left_out(folder: Path) -> None:
    found = list(measured(folder))
    assert [(r.target, r.batch, r.time_s) for r in found] == [("rtx3090", 64, 0.04)] * 3
    assert found[1].setting.channels_last
    assert found[1].setting.version == (1, 13)


def test_tables_that_are_missing_are_one_clear_line(folder: Path) -> None:
    (folder / TABLE).unlink()
    with pytest.raises(DataError, match="no such table"):
        list(measured(folder))
    pd.DataFrame([{"device": "RTX 3090"}]).to_parquet(folder / TABLE)
    with pytest.raises(DataError, match="no column"):
        list(measured(folder))


def test_a_deployed_model_is_told_by_its_parameters() -> None:
    as_trained, folded, further = 7_885_000, 7_811_000, 7_808_000
    counts = (as_trained, folded, further)
    assert forms(counts, [7.88e6, 7.81e6, None]) == [0, 2, 0]
    assert forms(counts, [7.81e6]) == [2]
    # all were run as they are, though the graph has a head of its own
    assert forms([4_085_700, 4_065_900, 4_051_700], [4.06e6, 4.07e6]) == [1, 0]
    # folding that changes no parameter, in a graph that shares tensors
    assert forms([15_022_000, 15_022_000, 15_022_000], [10.34e6]) == [0]


def test_parameters_are_those_of_the_model_wherever_they_are_read() -> None:
    am = Analyses()
    module = am.apply(Canonicalize(), am.apply(Shapes(), load(RESNET)))
    assert parameters(module) == pytest.approx(25_557_032, abs=2)
    assert variants(module, am) == [module]
