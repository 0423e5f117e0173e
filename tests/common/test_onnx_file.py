"""Models as protobuf: what is read and written, and what is refused in one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import onnx
import pytest

from perfc.errors import ModelError
from perfc.frontend.reading import onnx_file
from perfc.frontend.reading.onnx_file import read_model, write_model
from perfc.measuring.measure.tables.weights import name_nodes

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
net (float[n, 4] x) => (float[n, 4] y) { y = Relu (x) }"""
MODEL = onnx.parser.parse_model(TEXT)
BYTES = MODEL.SerializeToString()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.onnx", BYTES),
        ("m.onnx.gz", gzip.compress(BYTES, mtime=0)),
        ("m.onnx", gzip.compress(BYTES, mtime=0)),
        ("m.onnxtxt", TEXT.encode()),
        ("m.onnxtxt.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("m.txt", TEXT.encode()),
    ],
)
def test_a_model_is_read_in_every_form(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_model(tmp_path / name) == MODEL


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.onnx", b"\xff\xff\xff", "not an ONNX model: "),
        ("m.onnx", b"", "not an ONNX model: it has no graph"),
        ("m.onnx.gz", gzip.compress(BYTES, mtime=0)[:-9], "cannot be read: Compressed file ended"),
        ("m.onnxtxt", b"nothing of the kind", "not ONNX text: "),
        ("m.onnxtxt", b"\xff\xfe", "not ONNX text: "),
        ("gone/m.onnx", None, "cannot be read: No such file"),
    ],
)
def test_what_is_no_model_is_one_line(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert caught.value.where == str(path)


def test_a_model_ends_where_messages_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a signed count of 32 bits
    assert onnx_file.LARGEST_BYTES == 2147483647
    (tmp_path / "m.onnx").write_bytes(BYTES)
    (tmp_path / "m.gz").write_bytes(gzip.compress(BYTES, mtime=0))
    for name in ("m.onnx", "m.gz"):
        monkeypatch.setattr(onnx_file, "LARGEST_BYTES", len(BYTES))
        assert read_model(tmp_path / name) == MODEL
        monkeypatch.setattr(onnx_file, "LARGEST_BYTES", len(BYTES) - 1)
        with pytest.raises(ModelError, match="larger than 2 GiB in one file"):
            read_model(tmp_path / name)


@pytest.mark.parametrize("name", ["m.onnx", "m.onnx.gz"])
def test_a_model_is_read_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    write_model(MODEL, tmp_path / name)
    assert read_model(tmp_path / name) == MODEL
    assert [p.name for p in tmp_path.iterdir()] == [name]
    packed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert packed is name.endswith(".gz")


def test_every_node_gets_a_name_of_its_own() -> None:
    graph = onnx.parser.parse_graph(
        "g (float[4] x, bool c) => (float[4] y) {"
        " [taken] a = Relu (x)\n"
        " [taken] b = Relu (a)\n"
        " d = Relu (b)\n"
        " e = If (c) <then_branch = t () => (f) { f = Relu (d) },"
        " else_branch = o () => (f) { f = Tanh (d) }>\n"
        " y = Identity (e) }"
    )
    graph.node[4].name = "f"
    assert name_nodes(graph, set()) == 6
    choice = graph.node[3]
    assert [n.name for n in graph.node] == ["taken", "b", "d", "e", "y"]
    assert [n.name for a in choice.attribute for n in a.g.node] == ["f", "f.0"]
