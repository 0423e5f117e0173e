"""Writes small files of weights whose data are holes: headers as GGUF and safetensors have them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Tensors = Sequence[tuple[str, tuple[int, ...], int]]
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210)}
"""Elements and bytes of a block by type: F32, F16, Q4_0, Q8_0, Q4_K and Q6_K."""
LLAMA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.context_length": 4096,
    "llama.embedding_length": 256,
    "llama.block_count": 2,
    "llama.feed_forward_length": 512,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.rope.dimension_count": 64,
}


def llama_tensors(kind: int = 12, wide: int = 14) -> Tensors:
    """Return the tensors of a network of two layers, values and down projections in ``wide``."""
    tensors: list[tuple[str, tuple[int, ...], int]] = [
        ("token_embd.weight", (256, 512), kind),
        ("output_norm.weight", (256,), 0),
        ("output.weight", (256, 512), wide),
        ("rope_freqs.weight", (32,), 0),
    ]
    for i in range(2):
        tensors += [
            (f"blk.{i}.attn_norm.weight", (256,), 0),
            (f"blk.{i}.ffn_norm.weight", (256,), 0),
            (f"blk.{i}.attn_q.weight", (256, 256), kind),
            (f"blk.{i}.attn_k.weight", (256, 128), kind),
            (f"blk.{i}.attn_v.weight", (256, 128), wide),
            (f"blk.{i}.attn_output.weight", (256, 256), kind),
            (f"blk.{i}.ffn_gate.weight", (256, 512), kind),
            (f"blk.{i}.ffn_up.weight", (256, 512), kind),
            (f"blk.{i}.ffn_down.weight", (512, 256), wide),
        ]
    return tensors


def text(value: str) -> bytes:
    """Return a string of a GGUF file."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value(given: Any) -> bytes:
    """Return a metadata value with its type."""
    match given:
        case bytes():
            return given
        case bool():
            return struct.pack("<I?", 7, given)
        case int():
            return struct.pack("<II", 4, given)
        case float():
            return struct.pack("<If", 6, given)
        case str():
            return struct.pack("<I", 8) + text(given)
        case _:
            items = [value(item) for item in given]
            kind = items[0][:4] if items else struct.pack("<I", 4)
            return (
                struct.pack("<I", 9)
                + kind
                + struct.pack("<Q", len(items))
                + b"".join(item[4:] for item in items)
            )


def gguf_header(metadata: Mapping[str, Any], tensors: Tensors, version: int = 3) -> bytes:
    """Return the bytes of a header."""
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(metadata))]
    parts += [text(key) + value(given) for key, given in metadata.items()]
    at = 0
    for name, shape, kind in tensors:
        parts.append(text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        parts.append(struct.pack("<IQ", kind, at))
        at += -(-nbytes_of(shape, kind) // 32) * 32
    return b"".join(parts)


def nbytes_of(shape: tuple[int, ...], kind: int) -> int:
    """Return the bytes of a tensor."""
    elements, nbytes = BLOCKS[kind]
    count = 1
    for extent in shape:
        count *= extent
    return count // elements * nbytes


def write_gguf(
    path: Path,
    metadata: Mapping[str, Any] = LLAMA,
    tensors: Tensors | None = None,
    version: int = 3,
) -> int:
    """Write a GGUF file; return the bytes of its tensors."""
    every = llama_tensors() if tensors is None else tensors
    header = gguf_header(metadata, every, version)
    path.write_bytes(header)
    sizes = [nbytes_of(shape, kind) for _, shape, kind in every]
    with path.open("r+b") as file:
        file.truncate(len(header) + 32 + sum(-(-size // 32) * 32 for size in sizes))
    return sum(sizes)


def write_safetensors(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Write a safetensors file; return the bytes of its tensors."""
    widths = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "U8": 1, "I32": 4}
    header, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        count = widths[dtype]
        for extent in shape:
            count *= extent
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + count]}
        at += count
    data = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(data)) + data)
    with path.open("r+b") as file:
        file.truncate(8 + len(data) + at)
    return at
