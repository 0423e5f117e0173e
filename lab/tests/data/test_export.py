"""Files that timm's models are exported to; the exporter itself needs further packages."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from perfc.errors import PerfcError
from perfc.frontend import load
from perfc_lab.data import export


def model(rows: int) -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.ones((rows, 8), np.float32), "w")
    sizes = [
        helper.make_tensor_value_info(n, 1, ["batch", width])
        for n, width in (("x", rows), ("y", 8))
    ]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", sizes[:1], sizes[1:], [weight]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_contents_of_large_tensors_are_left_out_and_shapes_stay(tmp_path: Path) -> None:
    for rows, is_kept in ((8, True), (9, False)):
        content = export.compressed(export.stripped(model(rows)))
        path = tmp_path / f"{rows}.onnx.gz"
        path.write_bytes(content)
        tensor = onnx.load_from_string(gzip.decompress(content)).graph.initializer[0]
        assert bool(tensor.raw_data) is is_kept
        assert tuple(tensor.dims) == (rows, 8)
        assert str(load(path).graph.weights[0].type) == f"f32[{rows}, 8]"


def test_a_file_is_the_same_every_time() -> None:
    assert export.compressed(model(9)) == export.compressed(model(9))


def test_files_that_are_there_are_left_alone_and_failures_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exported(create_model: object, name: str, size: int) -> bytes:
        if name == "broken":
            raise PerfcError(f"{name} at {size} cannot be exported")
        return name.encode()

    monkeypatch.setattr(export, "creator", lambda: None)
    monkeypatch.setattr(export, "exported", exported)
    (tmp_path / "timm__old__224.onnx.gz").write_bytes(b"as it was")
    told: list[str] = []
    failed = export.export([("old", 224), ("broken", 96), ("new", 224)], tmp_path, told.append)
    assert [name for name, _ in failed] == ["timm__broken__96.onnx.gz"]
    assert told == [str(tmp_path / "timm__new__224.onnx.gz")]
    assert (tmp_path / "timm__old__224.onnx.gz").read_bytes() == b"as it was"
    assert (tmp_path / "timm__new__224.onnx.gz").read_bytes() == b"new"
