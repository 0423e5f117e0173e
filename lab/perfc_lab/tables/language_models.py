"""Common parts of profiles of language models: whose layers rows are of, and their traffic.

Rows name their model by a number, `MODEL`. Those of layers besides state how many machines share
the model, `SHARDS`, and how often a block of it has the layer, `IN_BLOCK`, 0 where the table lacks
other layers of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.analyzers.features.classes.tokenwise import TokenOperation
from perfc.analyzers.features.rows import Protocol
from perfc.ir.record import record

from ..data.rows import Rows
from . import MODEL

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

HALF_BYTES = 2
"""Bytes of an element of bf16 and f16."""
COMPUTED = "bf16"
"""Type that f16 stands for: one unit multiplies both at one rate; nearly all rows are bf16."""
SHARDS, IN_BLOCK = "shards", "in_block"
"""Columns that are no parameters of a class."""
# models that two profiles have under different names
LLAMA_3_8B, LLAMA_3_70B = "Llama 3 8B", "Llama 3 70B"
NAMES = {
    "meta-llama/Llama-3.1-8B": LLAMA_3_8B,
    "meta-llama/Meta-Llama-3-8B": LLAMA_3_8B,
    "meta-llama/Llama-3.1-70B": LLAMA_3_70B,
    "meta-llama/Meta-Llama-3-70B": LLAMA_3_70B,
}
"""Models whose layers have the same extents, under one name."""
KNOWN = (
    LLAMA_3_8B,
    LLAMA_3_70B,
    "meta-llama/Llama-2-7b-hf",
    "Qwen/Qwen-72B",
    "internlm/internlm-20b",
    "microsoft/phi-2",
    "mistralai/Mixtral-8x7B-v0.1",
    "microsoft/Phi-mini-MoE-instruct",
    "Qwen/Qwen3-30B-A3B-Instruct-2507",
    "Qwen/Qwen3-32B",
)
"""Every model, in the order of its number."""
OF_HEADS = "qk_norm"
"""The layer that normalises each head."""
TWICE = frozenset({"layernorm", "add"})
"""Layers that a block has twice."""
OUTSIDE = frozenset({"lm_head", "embedding", "emb", "final_layernorm", "sampler"})
"""Layers before and after all blocks."""


@record
class TokenExtents:
    """Elements of a token in a model's layers, on one machine.

    Args:
        hidden: between layers.
        inner: inside the feed-forward layer.
        rotated: rotated elements of queries and keys together.
        heads: they have together.
        is_gated: whether an activation multiplies one half by the other.
    """

    hidden: float
    inner: float
    rotated: float
    heads: float
    is_gated: bool = True


def number(model: str) -> float:
    """Return the number of a model, −1 of one that is not among `KNOWN`."""
    name = NAMES.get(model, model)
    return float(KNOWN.index(name)) if name in KNOWN else -1.0


def in_block(layer: str) -> float:
    """Return how often a block of a dense model has a layer."""
    return 0.0 if layer in OUTSIDE else 1.0 + (layer in TWICE)


def moved(layer: str, e: TokenExtents) -> tuple[TokenOperation, float, float] | None:
    """Return the operation, elements read and written of a token.

    None for a layer that is none of them.
    """
    match layer:
        case "layernorm" | "final_layernorm":
            # with the sum before it, in one kernel
            return TokenOperation.NORMALIZATION, 2 * e.hidden, 2 * e.hidden
        case "input_layernorm" | "post_attention_layernorm":
            return TokenOperation.NORMALIZATION, e.hidden, e.hidden
        case layer if layer == OF_HEADS:
            return TokenOperation.NORMALIZATION, e.rotated, e.rotated
        case "add":  # of a residual
            return TokenOperation.POINTWISE, 2 * e.hidden, e.hidden
        case "act_fn" | "mlp_act":
            return TokenOperation.ACTIVATION, (1 + e.is_gated) * e.inner, e.inner
        case "rotary_emb" | "attn_rope":
            return TokenOperation.ROTATION, e.rotated, e.rotated
        case "embedding" | "emb":
            return TokenOperation.LOOKUP, e.hidden, e.hidden
        case _:
            return None


def token_rows(
    frame: pd.DataFrame,
    framework: str,
    layer: str,
    tokens: str,
    extents: Callable[[str, float, pd.DataFrame], TokenExtents | None],
    target: Callable[[str], str],
) -> Iterator[Rows]:
    """Yield the norms, activations, rotations, sums and look-ups of a profile, by device.

    Args:
        frame: with columns ``device``, ``model``, ``tensor_parallel`` and ``latency_us``.
        framework: whose kernels they are.
        layer: column of the layer's name.
        tokens: column of their number.
        extents: extents of a model on one of so many machines, from the rows that share both.
        target: name of the target of a device.
    """
    for device, block in frame.groupby("device", observed=True, sort=True):
        token_columns = _token_columns(block, layer, tokens, extents)
        if token_columns is not None:
            columns, latency_us = token_columns
            yield Rows(
                "tokenwise",
                target(str(device)),
                COMPUTED,
                Protocol.KERNELS,
                framework,
                columns,
                latency_us * 1e-6,
            )


def _token_columns(
    block: pd.DataFrame,
    layer: str,
    tokens: str,
    extents: Callable[[str, float, pd.DataFrame], TokenExtents | None],
) -> tuple[dict[str, Array], Array] | None:
    """Return columns and microseconds of a device's rows whose layers are `tokenwise`."""
    parts: list[pd.DataFrame] = []
    keys = ["model", "tensor_parallel", layer]
    for values, part in block.groupby(keys, observed=True, sort=True):
        assert isinstance(values, tuple)
        model, shards, name = str(values[0]), float(str(values[1])), str(values[2])
        extents_of_part = extents(model, shards, part)
        moved_columns = None if extents_of_part is None else moved(name, extents_of_part)
        if extents_of_part is None or moved_columns is None:
            continue
        operation, read, written = moved_columns
        count = part[tokens].to_numpy(np.float64)
        columns: dict[str, Any] = {
            # a norm of heads takes each for a token
            "tokens": count * (extents_of_part.heads if name == OF_HEADS else 1.0),
            "read_bytes": HALF_BYTES * read * count,
            "write_bytes": HALF_BYTES * written * count,
            "operation": float(operation),
            MODEL: number(model),
            SHARDS: shards,
            IN_BLOCK: in_block(name),
        }
        parts.append(part[["latency_us"]].assign(**columns))
    if not parts:
        return None
    import pandas as pd

    whole = pd.concat(parts)
    # what is left after `pop` are the columns of the class
    latency_us: Array = whole.pop("latency_us").to_numpy(np.float64)
    return {str(n): whole[n].to_numpy(np.float64) for n in whole.columns}, latency_us
