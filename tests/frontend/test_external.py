"""Small contents in other files: read inside the model's folder, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.errors import ModelError
from perfc.frontend.reading.external import external_path, read_contents, small_place
from perfc.frontend.reading.proto import ProtoTensor
from perfc.frontend.source import open_model


def model() -> onnx.ModelProto:
    """A Reshape to a stored shape, then a product with a stored weight."""
    shape = numpy_helper.from_array(np.array([2, 3, 32], np.int64), "shape")
    weight = numpy_helper.from_array(np.ones((32, 64), np.float32), "w")
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([-1]))),
        helper.make_node("Reshape", ["y", "c"], ["z"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [192])
    outputs = [onnx.ValueInfoProto(name=n) for n in ("y", "z")]
    graph = helper.make_graph(nodes, "g", [x], outputs, [shape, weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def saved(path: Path, *, location: str = "m.bin", attributes: bool = False) -> Path:
    """The model with all its tensors in another file."""
    onnx.save(
        model(),
        path,
        save_as_external_data=True,
        size_threshold=0,
        location=location,
        convert_attribute=attributes,
    )
    return path


@pytest.mark.parametrize("attributes", [False, True])
def test_shapes_in_another_file_are_read(tmp_path: Path, attributes: bool) -> None:
    path = saved(tmp_path / "m.onnx", attributes=attributes)
    types = perfc.infer_shapes(path)
    assert [str(types[n]) for n in "ryz"] == ["f32[2, 3, 32]", "f32[2, 3, 64]", "f32[384]"]
    report = perfc.analyze(path)
    assert (report.cost.work.mac, report.cost.is_bound) == (2 * 3 * 32 * 64, False)
    assert report.source.origin.side_files == ("m.bin",)


def test_a_file_that_is_missing_leaves_contents_open(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    before = open_model(path).origin
    (tmp_path / "m.bin").unlink()
    report = perfc.analyze(path)
    assert report.cost.is_bound
    assert report.source.origin.side_files == ()
    assert report.source.origin.digest != before.sha256


def test_a_file_cut_short_gives_what_it_has(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    with (tmp_path / "m.bin").open("r+b") as file:
        file.truncate(20)
    assert perfc.analyze(path).cost.is_bound


def test_other_contents_give_another_digest(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    first = open_model(path).origin
    data = bytearray((tmp_path / "m.bin").read_bytes())
    assert data[:8] == (2).to_bytes(8, "little")
    data[0], data[8] = 3, 2
    (tmp_path / "m.bin").write_bytes(data)
    second = open_model(path).origin
    assert first.sha256 != second.sha256
    assert str(perfc.infer_shapes(path)["r"]) == "f32[3, 2, 32]"


def test_bytes_have_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert perfc.analyze(path.read_bytes()).cost.is_bound
    assert not perfc.analyze("m.onnx").cost.is_bound


def test_links_out_of_the_folder_and_pipes_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    path = saved(folder / "m.onnx")
    outside = tmp_path / "m.bin"
    (folder / "m.bin").rename(outside)
    (folder / "m.bin").symlink_to(outside)
    assert perfc.analyze(path).cost.is_bound
    (folder / "m.bin").unlink()
    os.mkfifo(folder / "m.bin")
    assert perfc.analyze(path).cost.is_bound
    (folder / "m.bin").unlink()
    (folder / "data").mkdir()
    outside.rename(folder / "data" / "m.bin")
    (folder / "m.bin").symlink_to(folder / "data" / "m.bin")
    assert not perfc.analyze(path).cost.is_bound


@pytest.mark.parametrize("location", ["../m.bin", "sub/../../m.bin", "link/m.bin", "/m.bin", ""])
def test_a_place_outside_the_folder_is_not_read(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    saved(folder / "m.onnx")
    (folder / "m.bin").rename(tmp_path / "m.bin")
    found = onnx.load(folder / "m.onnx", load_external_data=False)
    for tensor in found.graph.initializer:
        tensor.external_data[0].value = location.replace("/m.bin", str(tmp_path / "m.bin"), 1)
    path = folder / "n.onnx"
    path.write_bytes(found.SerializeToString())
    assert perfc.analyze(path).cost.is_bound


def entry(
    dims: tuple[int, ...], data_type: int = TensorProto.INT64, **external: str
) -> ProtoTensor:
    return ProtoTensor("t", dims, data_type, external={"location": "t.bin", **external})


@pytest.mark.parametrize(
    ("tensor", "is_read"),
    [
        (entry((2,)), True),
        (entry((2,), offset="0", length="16"), True),
        (entry((1024,), length="8192"), True),
        (entry((1025,), length="8200"), False),
        (entry((256,), TensorProto.FLOAT), True),
        (entry((257,), TensorProto.FLOAT), False),
        (entry((2,), length="8"), False),
        (entry((2,), offset="-1"), False),
        (entry((2,), offset="1e3"), False),
        (entry((2,), offset=str(1 << 63)), False),
        (entry((2,), offset="9" * 400), False),
        (entry((2,), offset="١"), False),
        (entry((-1,)), False),
        (entry((0,)), False),
        (entry((2,), TensorProto.STRING), False),
        (entry((2,), 99), False),
        (entry((10**12,)), False),
    ],
)
def test_only_small_entries_that_fit_their_type_are_read(
    tensor: ProtoTensor, is_read: bool
) -> None:
    assert (small_place(tensor) is not None) == is_read


def test_what_is_read_is_bounded(tmp_path: Path) -> None:
    for i in range(300):
        (tmp_path / f"{i}.bin").write_bytes(bytes(16))
    tensors = [entry((2,), location=f"{i}.bin") for i in range(300)]
    _, files, _ = read_contents(tensors, tmp_path)
    assert len(files) == 256
    (tmp_path / "t.bin").write_bytes(bytes(8192))
    many = [entry((1024,)) for _ in range(5000)]
    read_contents(many, tmp_path)
    assert sum(t.payload is not None for t in many) * 8192 <= 1 << 25


def test_external_data_lies_inside_the_models_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    (folder / "self").symlink_to(folder / "sub")
    assert external_path(folder, "w.bin") == folder.resolve() / "w.bin"
    assert external_path(folder, "sub/w.bin") == folder.resolve() / "sub" / "w.bin"
    assert external_path(folder, "self/w.bin") == folder.resolve() / "sub" / "w.bin"
    for location in (
        *("", ".", "/etc/passwd", "../w.bin", "sub/../../w.bin", "sub\\..\\..\\w.bin"),
        *("C:\\w.bin", "c:w.bin", "\\\\host\\w.bin", "a\0b", "link/w.bin", "link"),
    ):
        with pytest.raises(ModelError, match="not inside the model's folder"):
            external_path(folder, location)


def test_the_same_bytes_elsewhere_give_another_digest(tmp_path: Path) -> None:
    for name in ("t.bin", "u.bin"):
        (tmp_path / name).write_bytes(bytes(64))

    def digest(*tensors: ProtoTensor) -> str:
        return read_contents(tensors, tmp_path)[0]

    first, further, longer = entry((2,)), entry((2,), offset="8"), entry((3,))
    elsewhere = entry((2,), location="u.bin")
    found = [digest(t) for t in (first, further, longer, elsewhere)]
    assert len(set(found)) == 4
    assert digest(entry((2,))) == found[0]
    assert digest(entry((2,), location="none.bin")) == ""
