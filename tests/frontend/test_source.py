"""Opening: forms by content, what is refused, what is never read."""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper, printer

from perfc.errors import ModelError
from perfc.frontend import source
from perfc.frontend.lowering.schema import MESSAGES
from perfc.frontend.lowering.window import ByteWindow
from perfc.frontend.reading.wire import WireDecoder
from perfc.frontend.source import open_model

RELU = helper.make_model(
    helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
    )
)
DATA = RELU.SerializeToString()


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def with_weight(path: Path, nbytes: int) -> None:
    """Write a model whose one weight is a hole of the given size, its name after it."""
    head = b"\x08" + varint(nbytes // 4) + b"\x10\x01\x4a" + varint(nbytes)
    tail = b"\x42\x01w"
    tensor = varint(len(head) + nbytes + len(tail)) + head
    node = b"\x0a\x06\x22\x04Relu"
    graph = varint(1 + len(tensor) + nbytes + len(tail) + len(node))
    with path.open("wb") as file:
        file.write(b"\x08\x08\x3a" + graph + b"\x2a" + tensor)
        file.seek(nbytes, os.SEEK_CUR)
        file.write(tail + node)


class CountingFile(io.FileIO):
    read_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.read_bytes += len(data)
        return data


def test_a_file_its_bytes_and_its_gzip_are_the_same_model(tmp_path: Path) -> None:
    plain, packed = tmp_path / "m.onnx", tmp_path / "m.onnx.gz"
    plain.write_bytes(DATA)
    # as tape archives and block devices pad a file
    packed.write_bytes(gzip.compress(DATA[:50]) + gzip.compress(DATA[50:]) + bytes(512))
    models = [open_model(plain), open_model(str(packed)), open_model(DATA)]
    assert models[0].graph == models[1].graph == models[2].graph
    assert len({(model.origin.sha256, model.origin.nbytes) for model in models}) == 1
    assert models[0].origin.path == str(plain)


@pytest.mark.parametrize("name", ["m.onnxtxt", "m.txt", "m.onnx", "m.onnxtxt.gz"])
def test_onnx_text_is_read(tmp_path: Path, name: str) -> None:
    text = printer.to_text(RELU).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    graph = open_model(path).graph
    assert [node.op_type for node in graph.node] == ["Relu"]
    assert graph.input == open_model(DATA).graph.input


def test_a_weight_of_five_gigabytes_is_never_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    nbytes = 5 << 30
    with_weight(path, nbytes)
    with CountingFile(str(path)) as file:
        window = ByteWindow("large", file=file, nbytes=path.stat().st_size)
        model = WireDecoder(window, MESSAGES).walk(MESSAGES["ModelProto"], 0, window.nbytes, 0)
        assert file.read_bytes < 20_000
    weight = model.graph.initializer[0]
    assert (weight.name, weight.payload, weight.nbytes) == ("w", None, nbytes)
    assert weight.offset == path.stat().st_size - nbytes - len(b"\x42\x01w\x0a\x06\x22\x04Relu")
    assert model.graph.node[0].op_type == "Relu"


def test_the_digest_is_blind_to_weights_but_not_to_the_graph(tmp_path: Path) -> None:
    digests = []
    for change in (b"", b"\x01", b"graph"):
        path = tmp_path / "m.onnx"
        with_weight(path, 1 << 20)
        with path.open("r+b") as file:
            file.seek(-3 if change == b"graph" else 1000, os.SEEK_END if change == b"graph" else 0)
            file.write(change[:3])
        digests.append(open_model(path).origin.sha256)
    assert digests[0] == digests[1] != digests[2]


def test_a_large_gzip_goes_through_a_file_of_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MEMORY_BYTES", 1 << 16)
    plain = tmp_path / "m.onnx"
    with_weight(plain, 1 << 20)
    packed = tmp_path / "m.onnx.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert open_model(packed).graph == open_model(plain).graph
    assert open_model(packed).origin.sha256 == open_model(plain).origin.sha256


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BOMB_BYTES", 1 << 20)
    path = tmp_path / "m.onnx.gz"
    path.write_bytes(gzip.compress(b"\0" * (1 << 22)))
    with pytest.raises(ModelError, match="decompresses to more than"):
        open_model(path)


@pytest.mark.parametrize("cut", [5, 30, -4])
def test_a_cut_or_damaged_gzip_is_refused(cut: int) -> None:
    data = gzip.compress(random.Random(0).randbytes(500))
    with pytest.raises(ModelError, match="gzip data ends early"):
        open_model(data[:cut])
    broken = bytearray(data)
    broken[-6] ^= 1
    with pytest.raises(ModelError, match="damaged gzip data"):
        open_model(bytes(broken))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-LFS pointer"),
        (b"<!DOCTYPE html><html></html>", "an HTML page"),
        (b"\n  <html>", "an HTML page"),
        (b"\x80\x02}q", "pickle"),
        (b"\x28\0\0\0ORTMmodel", "ORT-format"),
        (b"\x40\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32"}}', "safetensors"),
        (b"GGUF\3\0\0\0", "GGUF"),
        (b'{"irVersion": "8"}', "JSON"),
        (b"ir_version: 8\ngraph {\n}\n", "protobuf text"),
        (b"Hello, this is a README.\n", "not an ONNX model but other text"),
        (b"<ir_version: 8>\nagraph (float x) =>", "ONNX text does not parse"),
        (b"<" + b"(" * 100_000, "nested deeper than 64"),
        (b"<" + b'\\"' * 500_000, "ONNX text does not parse"),
        pytest.param(gzip.compress(gzip.compress(DATA)), "compressed twice", id="compressed twice"),
        (b"\x08\x08", "no graph in it"),
    ],
)
def test_what_is_not_an_onnx_model_is_named(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    for model in (data, path):
        with pytest.raises(ModelError, match=message) as caught:
            open_model(model)
        assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_code_is_named_as_a_module(tmp_path: Path) -> None:
    (path := tmp_path / "net.py").write_text("class Net: ...\n")
    with pytest.raises(ModelError, match=rf"a module in it is {path}:NAME"):
        open_model(path)


def test_what_is_not_a_readable_file_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    paths: list[tuple[str | Path, str]] = [
        (tmp_path / "none.onnx", "no such file"),
        (tmp_path, "a folder"),
        (pipe, "not a regular file"),
        ("a\0b", "not a path"),
        ("x" * 5000, "cannot be read"),
    ]
    for path, message in paths:
        with pytest.raises(ModelError, match=message) as caught:
            open_model(path)
        assert "\n" not in str(caught.value)


def test_a_file_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ModelError, match="no permission"):
        open_model(__file__)


def test_reading_imports_neither_onnx_nor_numpy_nor_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(DATA)
    code = (
        "import sys; from perfc.frontend.source import open_model; open_model(sys.argv[1]);"
        "print({'onnx', 'numpy', 'google.protobuf'} & set(sys.modules))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    assert done.stdout.strip() == "set()"
