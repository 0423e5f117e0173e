"""Safetensors files: types of their headers, the configuration they need, and damaged headers."""

from __future__ import annotations

import json
import random
import struct
import time
from pathlib import Path

import pytest

from perfc import cli
from perfc.errors import ModelError, PerfcError
from perfc.frontend.checkpoints.safetensors import files_of, types_of
from perfc.frontend.config import read_config
from perfc.frontend.config.precision import WeightFormat
from tests.frontend.checkpoints.files import write_safetensors

CONFIG = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "torch_dtype": "float32",
}
INDEX = "model.safetensors.index.json"


def put(folder: Path, kind: str = "BF16", **config: object) -> Path:
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    path = folder / "model.safetensors"
    write_safetensors(path, {"a.weight": (kind, (64, 96)), "norm.weight": ("F32", (64,))})
    return path


@pytest.mark.parametrize(
    ("kind", "dtype", "form"),
    [
        ("BF16", "bfloat16", None),
        ("F16", "float16", None),
        ("F32", "float32", None),
        ("F8_E4M3", "float32", WeightFormat.F8),
    ],
)
def test_the_header_gives_the_types(
    tmp_path: Path, kind: str, dtype: str, form: WeightFormat | None
) -> None:
    path = put(tmp_path, kind)
    for source in (path, tmp_path):
        model = read_config(source)
        assert model.dtype == dtype
        assert model.name == tmp_path.name
        assert (model.quantization.weights if model.quantization else None) is form
    # a configuration alone stays as it is
    assert read_config(tmp_path / "config.json").dtype == "float32"


def test_the_quantization_of_a_configuration_has_precedence(tmp_path: Path) -> None:
    put(tmp_path, "F8_E4M3", quantization_config={"quant_method": "fp8", "weight_block_size": [8]})
    quantization = read_config(tmp_path).quantization
    assert quantization is not None
    assert quantization.weights is WeightFormat.F8_BLOCK


def test_an_index_names_several_files(tmp_path: Path) -> None:
    put(tmp_path).unlink()
    parts = [tmp_path / f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    total = [write_safetensors(p, {f"{p.name}.weight": ("F16", (8, 8))}) for p in parts]
    named = {f"{p.name}.weight": p.name for p in parts}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": named}))
    assert files_of(str(tmp_path)) == [str(p) for p in parts]
    assert types_of(files_of(str(tmp_path / INDEX))).nbytes == {"F16": sum(total)}
    for source in (tmp_path, tmp_path / INDEX, parts[0]):
        assert read_config(source).dtype == "float16"
    parts[1].unlink()
    with pytest.raises(ModelError, match="1 of 2 files of the model are missing"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/etc/passwd", 7, None, {"a": 1}, "a.bin", ".safetensors"]
)
def test_an_index_names_no_file_outside_its_folder(tmp_path: Path, name: object) -> None:
    put(tmp_path).unlink()
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(ModelError, match="no file of a model"):
        read_config(tmp_path)


def test_weights_alone_need_a_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path)
    (tmp_path / "config.json").unlink()
    for source in (path, tmp_path):
        for command in (["llm", str(source)], ["analyze", str(source), "-t", "h100"]):
            assert cli.run(command) == 2
            said = capsys.readouterr().err
            assert "weights without a config.json" in said
            assert "huggingface.co" in said
            assert said.count("\n") == 1


BAD: list[tuple[bytes, str]] = [
    (b"", "ends within its header"),
    (struct.pack("<Q", 1 << 62) + b"{}", "ends within its header"),
    (struct.pack("<Q", 2) + b"[]", "holds a list"),
    (struct.pack("<Q", 100) + b"[" * 100, "nested deeper"),
    (struct.pack("<Q", 8) + b'{"a": 1}', "is no object"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_a_damaged_file_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = put(tmp_path)
    path.write_bytes(data)
    with pytest.raises(ModelError, match=message) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "F9"}, "which is not known"),
        ({"dtype": "F16", "shape": [2]}, "no shape"),
        ({"dtype": "F16", "shape": [-1], "data_offsets": [0, 2]}, "no shape"),
        ({"dtype": "F16", "shape": [1 << 62] * 16, "data_offsets": [0, 2]}, "2 bytes for"),
        ({"dtype": "F16", "shape": [1 << 30], "data_offsets": [0, 1 << 31]}, "ends before"),
    ],
)
def test_wrong_entries_are_one_line(tmp_path: Path, entry: object, message: str) -> None:
    path, header = put(tmp_path), json.dumps({"a": entry}).encode()
    # with the first of its data: a header alone is read
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0")
    with pytest.raises(ModelError, match=message):
        read_config(path)


def test_the_header_alone_is_read_as_the_file(tmp_path: Path) -> None:
    whole, part = put(tmp_path), tmp_path / "part" / "m.safetensors"
    data = whole.read_bytes()
    header_bytes = 8 + int.from_bytes(data[:8], "little")
    assert header_bytes < len(data)
    part.parent.mkdir()
    (part.parent / "config.json").write_bytes((whole.parent / "config.json").read_bytes())
    part.write_bytes(data[:header_bytes])
    assert read_config(part).stacks == read_config(whole).stacks


def outcome(path: Path) -> str:
    """Return the error of a file; "" for one that is read."""
    try:
        read_config(path)
    except PerfcError as error:
        return str(error)
    return ""


def test_mutated_headers_never_raise_anything_else(tmp_path: Path) -> None:
    path, draw, read = put(tmp_path), random.Random(11), 0
    plain = path.read_bytes()[:300]
    start = time.process_time()
    for _ in range(100):
        data = bytearray(plain)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.choice(b'0123456789"[]{},:a\xff\x00')
        path.write_bytes(data)
        with path.open("r+b") as file:
            file.truncate(100_000)
        said = outcome(path)
        assert "\n" not in said
        read += not said
    assert 0 < read < 100
    assert time.process_time() - start < 10
