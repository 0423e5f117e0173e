"""GGUF files as configurations: metadata of their architecture, and types of all tensors."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from perfc.errors import ModelError

from ..config.families._expressions import KeyScope
from ..config.families._rows import merged
from ..config.keys import MOST_LAYERS, Keys
from ..source import one_line
from .gguf_header import SPLIT, GgufHeader, read_gguf
from .stored import FileTensor, WeightFile

FILE = os.path.join(os.path.dirname(__file__), "gguf_architectures.toml")
GENERAL = "decoder"
"""Row of architectures that are not listed."""
EXPERT = re.compile(r"(blk\.\d+\.ffn_(?:gate|up|down))\.\d+(\.\w+)")
"""Names of tensors of single experts, in files from before 2024-04."""
NO_NAMES = frozenset({"family", "like"})
"""Columns of a row that name no tensors."""


@cache
def rows() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of all architectures; a row ``like`` another one has its other entries."""
    with open(FILE, "rb") as file:
        read = tomllib.load(file)

    def whole(name: str) -> Mapping[str, Any]:
        row = read[name]
        return merged(whole(row["like"]), row) if "like" in row else row

    return {name: whole(name) for name in read}


def config_of(path: str) -> tuple[dict[str, Any], WeightFile, str]:
    """Return the configuration that a GGUF file holds, its tensors, and the digest of its header.

    Raises:
        ModelError: it is no GGUF file of a language model, ends early, or a part is missing.
    """
    header, where = read_gguf(path), one_line(path)
    name = header.metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise ModelError("no 'general.architecture' says what it is", where=where)
    content_type = header.metadata.get("general.type", "model")
    # adapters, vocabularies and projectors have the same format
    if content_type != "model" or name == "clip":
        what = "a vision projector" if name == "clip" else f"of the type {str(content_type)[:32]!r}"
        raise ModelError(
            f"{what}, not a language model", hint="give the .gguf of the model", where=where
        )
    return _config(header, name, where), stored_of(header), header.digest


def name_of(path: str) -> str:
    """Return the name of a model: the name of its file, without the number of a part."""
    named = SPLIT.fullmatch(path)
    stem = os.path.basename(named[1].rstrip("-") if named else path)
    return stem.removesuffix(".gguf")


def stored_of(header: GgufHeader) -> WeightFile:
    """Return the tensors of a header; tensors of single experts are added to one tensor."""
    tensors: dict[str, FileTensor] = {}
    for t in header.tensors:
        # a tensor of a single expert is added to those of the layer's other experts
        name = EXPERT.sub(r"\1_exps\2", t.name)
        before = tensors.get(name) if name != t.name else None
        elements, nbytes = (before.elements, before.nbytes) if before is not None else (0, 0)
        tensors[name] = FileTensor(name, t.type, elements + t.elements, nbytes + t.nbytes)
    return WeightFile(tensors, rows()["_tensors"])


def _config(header: GgufHeader, name: str, where: str) -> dict[str, Any]:
    """Return the keys of a configuration.

    Raises:
        ModelError: a value is missing, or of another kind.
    """
    # rows that begin with an underscore are no architectures
    row = rows().get(name) if not name.startswith("_") else None
    scope = _scope(header, name, where)
    values = {
        key: scope.of(text) for key, text in (row or rows()[GENERAL]).items() if key not in NO_NAMES
    }
    family = name if row is None or "family" not in row else scope.of(row["family"])
    # no key of the file names the type of activations: the 16-bit weights have the same type
    is_bf16 = any(t.type.name == "bf16" for t in header.tensors)
    values |= {"model_type": family, "torch_dtype": "bfloat16" if is_bf16 else "float16"}
    return {key: value for key, value in values.items() if value is not None}


def _scope(header: GgufHeader, name: str, where: str) -> KeyScope:
    """Return the values that the expressions of a row may name."""
    nested: dict[str, Any] = {}
    for key, value in header.metadata.items():
        # keys such as llama.attention.head_count become nested tables without the architecture; at
        # most eight deep, as keys of a damaged file may have any number of dots
        *outer, last = key.removeprefix(f"{name}.").split(".")[:8]
        inside = nested
        if key.startswith(f"{name}."):
            for part in outer:
                if not isinstance(inside.get(part), dict):
                    inside[part] = {}
                inside = inside[part]
            inside[last] = value
    scope = KeyScope(Keys(nested, where), {}, {})
    table = next((t for t in header.tensors if t.name == "token_embd.weight"), None)
    names = {re.sub(r"^blk\.\d+\.", "", t.name) for t in header.tensors}
    heads = _part(nested, "attention", "head_count_kv")
    # a list has the key heads of each layer, 0 for layers without attention, which are Mamba's in
    # the hybrid architectures that read ``mixers``
    per_layer = heads if isinstance(heads, list) and len(heads) <= MOST_LAYERS else []
    # names that expressions may use in addition to keys
    scope.bound = {
        "vocab": table.shape[1] if table is not None and len(table.shape) == 2 else None,
        "tensors": sorted(names),
        "rotary": _rotary(nested),
        "attending": [i for i, count in enumerate(per_layer) if count],
        "mixers": ["attention" if count else "mamba" for count in per_layer],
    }
    return scope


def _part(nested: Mapping[str, Any], outer: str, name: str) -> Any:
    """Return a value of a nested table; None without it."""
    inner = nested.get(outer)
    return inner.get(name) if isinstance(inner, dict) else None


def _rotary(nested: Mapping[str, Any]) -> float | None:
    """Return the rotated share of a head; None if all of it is rotated, or if no key says."""
    width, heads = nested.get("embedding_length"), _part(nested, "attention", "head_count")
    head, rotated = (
        _part(nested, "attention", "key_length"),
        _part(nested, "rope", "dimension_count"),
    )
    if head is None and isinstance(width, int) and isinstance(heads, int) and heads > 0:
        head = width // heads
    if not isinstance(head, int) or not isinstance(rotated, int) or not 0 < rotated < head:
        return None
    return rotated / head
