"""Layers of language models that are no products: what their kernels read and write of a token."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir.record import record

from ..features.classes.tokenwise import TokenOperation

if TYPE_CHECKING:
    import pandas as pd

    from ..features.classes import Array

HALF_BYTES = 2


@record
class TokenExtents:
    """Elements of a token in a model's layers, on one machine.

    Args:
        hidden: between layers.
        inner: inside the feed-forward layer.
        rotated: of queries and keys together.
        is_gated: whether an activation multiplies one half by the other.
    """

    hidden: float
    inner: float
    rotated: float
    is_gated: bool = True


def moved(layer: str, e: TokenExtents) -> tuple[TokenOperation, float, float] | None:
    """Operation, elements read and written of a token; None for a layer that is none of them."""
    match layer:
        case "layernorm" | "final_layernorm":
            # with the sum before it, in one kernel
            return TokenOperation.NORMALIZATION, 2 * e.hidden, 2 * e.hidden
        case "input_layernorm" | "post_attention_layernorm":
            return TokenOperation.NORMALIZATION, e.hidden, e.hidden
        case "qk_norm":
            return TokenOperation.NORMALIZATION, e.rotated, e.rotated
        case "add":
            return TokenOperation.POINTWISE, 2 * e.hidden, e.hidden
        case "act_fn" | "mlp_act":
            return TokenOperation.ACTIVATION, (1 + e.is_gated) * e.inner, e.inner
        case "rotary_emb" | "attn_rope":
            return TokenOperation.ROTATION, e.rotated, e.rotated
        case "embedding" | "emb":
            return TokenOperation.LOOKUP, e.hidden, e.hidden
        case _:
            return None


def token_columns(
    block: pd.DataFrame,
    keys: list[str],
    layer: str,
    tokens: str,
    extents: Callable[..., TokenExtents | None],
) -> tuple[dict[str, Array], Array] | None:
    """Parameters of `tokenwise` and microseconds of a block's rows that are such layers.

    Args:
        block: of one device, with a column ``latency_us``.
        keys: columns that tell a model and its share on a machine.
        layer: column of the layer's name.
        tokens: column of their number.
        extents: from values of ``keys`` and the rows that share them.
    """
    parts: list[pd.DataFrame] = []
    for values, part in block.groupby([*keys, layer], observed=True, sort=True):
        named: tuple[Hashable, ...] = values if isinstance(values, tuple) else (values,)
        own = extents(*named[:-1], part)
        found = None if own is None else moved(str(named[-1]), own)
        if found is None:
            continue
        operation, read, written = found
        count = part[tokens].to_numpy(np.float64)
        columns: dict[str, Any] = {
            "tokens": count,
            "read_bytes": HALF_BYTES * read * count,
            "write_bytes": HALF_BYTES * written * count,
            "operation": float(operation),
        }
        parts.append(part[["latency_us"]].assign(**columns))
    if not parts:
        return None
    import pandas as pd

    whole = pd.concat(parts)
    names = ("tokens", "read_bytes", "write_bytes", "operation")
    return {n: whole[n].to_numpy(np.float64) for n in names}, whole["latency_us"].to_numpy(
        np.float64
    )
