"""GGUF files: the configuration of their metadata, bytes of weights, and damaged headers."""

from __future__ import annotations

import json
import random
import struct
import time
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ModelError, PerfcError
from perfc.frontend.checkpoints.ggml_types import TYPES
from perfc.frontend.checkpoints.gguf import config_of, rows
from perfc.frontend.checkpoints.gguf_header import read_gguf
from perfc.frontend.config import ServingPrecision, lower, precision_of, read_config
from perfc.frontend.config.facts import parameters, weight_bytes
from perfc.frontend.config.precision import WeightFormat, weight_format
from perfc.frontend.config.reader import families
from tests.frontend.checkpoints.files import (
    LLAMA,
    gguf_header,
    llama_tensors,
    text,
    write_gguf,
)

CONFIG = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
}


def stored_bytes(path: Path) -> int:
    model = read_config(path)
    return weight_bytes(model, precision_of(model.dtype, model.quantization))


def test_a_file_is_the_configuration_of_its_network(tmp_path: Path) -> None:
    path, config = tmp_path / "small-Q4_K_M.gguf", tmp_path / "config.json"
    write_gguf(path)
    config.write_text(json.dumps(CONFIG))
    read, wanted = read_config(path), read_config(config)
    assert read.name == "small-Q4_K_M"
    assert read.stacks == wanted.stacks
    assert read.context == wanted.context == 4096
    assert parameters(read) == parameters(wanted)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kinds", [(12, 14), (8, 8), (2, 14), (0, 0), (1, 1), (1, 0)])
def test_the_weights_are_the_bytes_of_the_file(
    tmp_path: Path, version: int, kinds: tuple[int, int]
) -> None:
    path = tmp_path / "m.gguf"
    nbytes = write_gguf(path, tensors=llama_tensors(*kinds), version=version)
    assert stored_bytes(path) == nbytes


def test_a_server_holds_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    nbytes = write_gguf(path)
    report = perfc.llm(path, "rtx4090", runtime="llamacpp", isl=64, osl=8)
    assert report.memory.weight_bytes == nbytes


def test_each_product_reads_the_bytes_of_its_tensors(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    write_gguf(path)
    model = read_config(path)
    held = {v.name: v.type for v in lower(model).graph.weights}
    assert held["layers.0.0.attention.qkv.weight"].nbytes == (384 * 144 + 128 * 210)
    assert held["layers.1.1.mlp.down.weight"].nbytes == 2 * 256 * 210
    assert held["layers.embedding.weight"].nbytes == 512 * 144
    assert held["layers.norm.weight"].nbytes == 4 * 256
    # 2 of 4 columns on each of two ranks
    halves = perfc.machine.parallel.Parallel(2)
    both = weight_bytes(model, precision_of(model.dtype, model.quantization), halves)
    assert 0 < both < stored_bytes(path)


def test_another_precision_is_taken_instead_of_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    write_gguf(path)
    halves = perfc.llm(path, "rtx4090", runtime="llamacpp", isl=64, osl=8, dtype="f16")
    assert halves.weights == "half"
    # a file holds no tables of angles
    assert halves.memory.weight_bytes == weight_bytes(read_config(path), ServingPrecision())


def test_parts_of_a_split_file_are_one_model(tmp_path: Path) -> None:
    every = list(llama_tensors())
    first, second = (tmp_path / f"m-0000{i}-of-00002.gguf" for i in (1, 2))
    nbytes = write_gguf(first, {**LLAMA, "split.count": 2}, every[:9])
    with pytest.raises(ModelError, match="1 of 2 parts of the model are missing"):
        read_config(first)
    nbytes += write_gguf(second, {"split.no": 1}, every[9:])
    for path in (first, second):
        assert stored_bytes(path) == nbytes
        assert read_config(path).name == "m"


def test_experts_and_old_names_of_single_experts_are_read(tmp_path: Path) -> None:
    metadata = {**LLAMA, "llama.expert_count": 4, "llama.expert_used_count": 2}
    dense = [t for t in llama_tensors() if "ffn_" not in t[0] or "norm" in t[0]]
    together, single = list(dense), list(dense)
    for i in range(2):
        router = (f"blk.{i}.ffn_gate_inp.weight", (256, 4), 0)
        together += [
            router,
            (f"blk.{i}.ffn_gate_exps.weight", (256, 512, 4), 12),
            (f"blk.{i}.ffn_up_exps.weight", (256, 512, 4), 12),
            (f"blk.{i}.ffn_down_exps.weight", (512, 256, 4), 14),
        ]
        single.append(router)
        for e in range(4):
            single += [
                (f"blk.{i}.ffn_gate.{e}.weight", (256, 512), 12),
                (f"blk.{i}.ffn_up.{e}.weight", (256, 512), 12),
                (f"blk.{i}.ffn_down.{e}.weight", (512, 256), 14),
            ]
    for number, tensors in enumerate((together, single)):
        path = tmp_path / f"{number}.gguf"
        nbytes = write_gguf(path, metadata, tensors)
        assert read_config(path).family == "mixtral"
        assert stored_bytes(path) == nbytes
        assert parameters(read_config(path)).active < parameters(read_config(path)).resident


def test_the_commands_take_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "small.gguf")
    write_gguf(Path(path))
    assert cli.run(["llm", path, "-t", "rtx4090", "--isl", "64", "--osl", "8"]) == 0
    shown = capsys.readouterr().out
    assert "llamacpp b6325 · q4_k weights" in shown
    assert cli.run(["analyze", path, "-t", "rtx4090"]) == 0
    assert "llamacpp" in capsys.readouterr().out


def test_every_architecture_has_a_family() -> None:
    named = [str(row.get("family", "")) for row in rows().values()]
    words = {word for text in named for word in text.split("'")[1::2]}
    assert len(rows()) > 40
    assert words <= set(families())


def test_formats_have_the_bits_of_a_block() -> None:
    assert weight_format("Q4_K") is WeightFormat.Q4_K
    assert weight_format("iq2-xxs").ggml is TYPES[16]
    assert {t.name for t in TYPES.values() if t.dtype is None} <= {f.value for f in WeightFormat}
    bits = {t.name: t.bits_per_weight for t in TYPES.values()}
    assert (bits["q4_k"], bits["q6_k"], bits["q8_0"], bits["mxfp4"]) == (4.5, 6.5625, 8.5, 4.25)
    assert weight_bytes(read_config("qwen3-0.6b"), ServingPrecision(WeightFormat.Q8_0)) > (
        weight_bytes(read_config("qwen3-0.6b"), ServingPrecision(WeightFormat.W8))
    )


def test_an_unknown_architecture_is_read_like_the_nearest_family(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    new = {key.replace("llama", "newer"): value for key, value in LLAMA.items()}
    write_gguf(path, {**new, "general.architecture": "newer"})
    model = read_config(path)
    assert "newer, which has no reader here, is read like llama" in model.assumption


BAD: list[tuple[bytes, str]] = [
    (b"GGUF", "ends within its header"),
    (b"GGUF" + struct.pack("<I", 1), "version 1 of GGUF, not version 2 or 3"),
    (b"GGUF" + struct.pack(">I", 3), "big-endian GGUF"),
    (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "tensors, more than"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "keys, more than"),
    (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62), "ends within its header"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 99), "metadata type"),
    (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 1 << 61),
        "items in arrays",
    ),
    (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 1 << 61),
        "ends within its header",
    ),
    (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + text("a")
        + struct.pack("<I", 9)
        + struct.pack("<IQ", 9, 1) * 9,
        "nested deeper",
    ),
    (gguf_header({}, []), "general.architecture"),
    (gguf_header({"general.architecture": "clip"}, []), "a vision projector"),
    (gguf_header({**LLAMA, "general.type": "adapter"}, []), "of the type 'adapter'"),
    (gguf_header(LLAMA, llama_tensors()) + bytes(64), "or keep its header alone: head -c"),
    (gguf_header({**LLAMA, "general.alignment": 0}, []), "an alignment of 0"),
    (gguf_header({**LLAMA, "llama.block_count": "two"}, []), "block_count"),
    (b"not it", "not a GGUF file"),
    (b"version https://git-lfs.github.com/spec/v1\n", "git-LFS pointer"),
    (b"", "the file is empty"),
]


def test_the_header_alone_is_read_as_the_file(tmp_path: Path) -> None:
    whole, part = tmp_path / "m.gguf", tmp_path / "part" / "m.gguf"
    part.parent.mkdir()
    write_gguf(whole)
    part.write_bytes(gguf_header(LLAMA, llama_tensors()))
    assert part.stat().st_size < whole.stat().st_size
    (config, weights, digest), (other, others, other_digest) = map(
        config_of, map(str, (part, whole))
    )
    assert (config, digest, weights.tensors) == (other, other_digest, others.tensors)


@pytest.mark.parametrize(("data", "message"), BAD)
def test_a_damaged_file_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=message) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        read_config(tmp_path / "m.gguf")


def test_long_vocabularies_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tokens = struct.pack("<IIQ", 9, 8, 300_000) + b"".join(text(f"{i}") for i in range(300_000))
    scores = struct.pack("<IIQ", 9, 6, 300_000) + bytes(1_200_000)
    nbytes = write_gguf(path, {"tokens": tokens, "scores": scores, **LLAMA})
    start = time.process_time()
    header = read_gguf(str(path))
    assert time.process_time() - start < 2
    assert header.metadata["tokens"] is None
    assert stored_bytes(path) == nbytes


def outcome(path: Path) -> str:
    """Return the error of a file; "" for one that is read."""
    try:
        lower(read_config(path))
    except PerfcError as error:
        return str(error)
    return ""


def test_mutated_headers_never_raise_anything_else(tmp_path: Path) -> None:
    metadata = {**LLAMA, "tokens": ["a", "b", "c"], "x": [1.5, 2.5], "flag": True}
    plain = gguf_header(metadata, llama_tensors())
    size = len(plain) + 4_000_000
    path, draw, read = tmp_path / "m.gguf", random.Random(7), 0
    start = time.process_time()
    for _ in range(200):
        data = bytearray(plain)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(4, len(data))
            match draw.randrange(4):
                case 0:
                    data[at] = draw.randrange(256)
                case 1:
                    data[at : at + 8] = draw.randbytes(8)
                case 2:
                    data[at : at + 8] = struct.pack("<q", draw.choice((-1, 1 << 40, 0, 1 << 62)))
                case _:
                    del data[at : at + draw.randint(1, 16)]
        path.write_bytes(data)
        if draw.random() < 0.9:
            with path.open("r+b") as file:
                file.truncate(size)
        said = outcome(path)
        assert "\n" not in said
        read += not said
    assert read > 10
    assert time.process_time() - start < 10


def test_the_gguf_package_reads_the_same(tmp_path: Path) -> None:
    gguf: Any = pytest.importorskip("gguf")
    path = tmp_path / "m.gguf"
    write_gguf(path, {**LLAMA, "tokens": ["a", "b"]})
    theirs = gguf.GGUFReader(str(path))
    ours = read_gguf(str(path)).tensors
    assert [(t.name, tuple(t.shape), t.nbytes) for t in ours] == [
        (t.name, tuple(int(n) for n in t.shape), int(t.n_bytes)) for t in theirs.tensors
    ]
    sizes = {int(t): gguf.GGML_QUANT_SIZES[t] for t in gguf.GGMLQuantizationType}
    assert {code: (t.elements, t.nbytes) for code, t in TYPES.items()}.items() <= sizes.items()
