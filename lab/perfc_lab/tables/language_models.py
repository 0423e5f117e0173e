"""Columns of rows from profiles of language models: model and layer of a row, and its traffic.

`MODEL` is the number of the model. Rows of layers have two more columns: `SHARDS`, the number of
machines that share the model, and `IN_BLOCK`, the times that a block of the model has the layer, or
0 if the table lacks other layers of the block, so that no time of a block can be summed.
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
"""Type that all rows count as: f16 is multiplied by the same unit at the same rate, and nearly all
rows are bf16."""
SHARDS, IN_BLOCK = "shards", "in_block"
"""Columns of rows that are no parameters of a kernel class; see the module."""
# names for models that two profiles name differently
LLAMA_3_8B, LLAMA_3_70B = "Llama 3 8B", "Llama 3 70B"
NAMES = {
    "meta-llama/Llama-3.1-8B": LLAMA_3_8B,
    "meta-llama/Meta-Llama-3-8B": LLAMA_3_8B,
    "meta-llama/Llama-3.1-70B": LLAMA_3_70B,
    "meta-llama/Meta-Llama-3-70B": LLAMA_3_70B,
}
"""Common name of models whose layers have the same extents, by their names in profiles."""
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
"""Every model; its place is its number."""
OF_HEADS = "qk_norm"
"""Name of the layer that normalises each head."""
TWICE = frozenset({"layernorm", "add"})
"""Layers that a block has twice."""
OUTSIDE = frozenset({"lm_head", "embedding", "emb", "final_layernorm", "sampler"})
"""Layers before and after all blocks."""


@record
class TokenExtents:
    """Elements of a token in a model's layers, on one of the machines that share it.

    Args:
        hidden: elements between layers.
        inner: elements inside the feed-forward layer.
        rotated: elements of queries and keys together, which rotary embedding turns.
        heads: heads of queries and keys together.
        is_gated: whether the activation multiplies one half of the inner elements by the other.
    """

    hidden: float
    inner: float
    rotated: float
    heads: float
    is_gated: bool = True


def number(model: str) -> float:
    """Return the number of a model; −1 if it is not among `KNOWN`."""
    name = NAMES.get(model, model)
    return float(KNOWN.index(name)) if name in KNOWN else -1.0


def in_block(layer: str) -> float:
    """Return how often a block of a dense model has a layer; 0 for a layer outside of blocks."""
    return 0.0 if layer in OUTSIDE else 1.0 + (layer in TWICE)


def moved(layer: str, e: TokenExtents) -> tuple[TokenOperation, float, float] | None:
    """Return the operation of a layer, and the elements that it reads and writes per token.

    None for a layer that is not of the class ``tokenwise``, such as a product.
    """
    match layer:
        case "layernorm" | "final_layernorm":
            # one kernel with the residual sum before it: two tensors read, two written
            return TokenOperation.NORMALIZATION, 2 * e.hidden, 2 * e.hidden
        # the same norms in a profile where the sum is a separate layer
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
        framework: framework whose kernels were profiled.
        layer: name of the column with the layer.
        tokens: name of the column with the number of tokens.
        extents: returns the extents of a token, from the model, the number of machines that share
            it and their rows; None for an unknown model.
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
    """Return columns and times in µs of a device's ``tokenwise`` layers; None without any."""
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
            # a norm of heads normalises each head as another norm does a token
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
    # `pop` removes the time, so that the columns of the class remain
    latency_us: Array = whole.pop("latency_us").to_numpy(np.float64)
    return {str(n): whole[n].to_numpy(np.float64) for n in whole.columns}, latency_us
