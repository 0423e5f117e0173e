"""Attention: the fused operators, and products with a softmax between that run as one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind
from perfc.ir.types import TensorType

from . import Lowered, letters, shape

if TYPE_CHECKING:
    from perfc.ir.graph import Node
    from perfc.passes.roofline import KernelBound

PREFILL, DECODE = "attention_prefill", "attention_decode"
CACHES: Mapping[str, int] = {
    "attention": 4,
    "multi_head_attention": 6,
    "decoder_masked_multi_head_attention": 5,
    "group_query_attention": 3,
}
"""Operators that a fused kernel computes as a whole, and their operand of past keys.

Those that project their input as well run a product first; which pairs sparse and paged ones visit
is content of an operand. Neither is a row of these classes.
"""
PATTERN = "attention"
TWIN = {"f16": "bf16"}
"""Types that the same kernels are built for, at the same rates; rows exist of the second."""

COUNTED = ("batch", "heads", "query_len", "kv_len", "head_dim")
"""Extents without which there is nothing to do."""


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Extents of the scores; one query is a decoding step."""
    kernel = bound.kernel
    if kernel.kind is not Kind.ATTENTION:
        return None
    if kernel.anchor.op.mnemonic in CACHES:
        found = of_operator(kernel.anchor, env)
    elif kernel.pattern == PATTERN:
        found = of_pattern(kernel.nodes, env)
    else:
        return None
    if not found or min(found[name] for name in COUNTED) < 1:
        return None
    dtype = TWIN.get(bound.dtype.code, bound.dtype.code)
    if found["query_len"] > 1:
        return Lowered(PREFILL, dtype, found)
    one = {n: v for n, v in found.items() if n not in ("query_len", "kv_len", "causal")}
    return Lowered(DECODE, dtype, {**one, "cached_len": found["kv_len"] - 1})


def of_operator(node: Node, env: Mapping[str, int]) -> dict[str, float]:
    """From an operator's own letters and attributes; empty where they are not known."""
    e = letters(node, env)
    if not e or e.get("j"):
        return {}
    causal, window = mask(node)
    found = {
        "batch": e["b"],
        "query_len": e["s"],
        "kv_len": e["t"],
        "heads": e["h"],
        "kv_heads": kv_heads(node, e["h"], env),
        "head_dim": e["d"],
        "value_dim": e["v"],
        "causal": float(causal),
        "window": window,
    }
    past = CACHES[node.op.mnemonic]
    cache = node.inputs[past] if past < len(node.inputs) else None
    if cache is not None and isinstance(cache.type, TensorType):
        found["cache_bits"] = float(cache.type.dtype.bits)
    return found


def of_pattern(nodes: tuple[Node, ...], env: Mapping[str, int]) -> dict[str, float]:
    """From the two products: queries with keys, then probabilities with values.

    A mask that is added is content: all pairs count. Heads that were repeated before the products
    are heads of keys and values here.
    """
    products = [n for n in nodes if n.op.kind is Kind.MATMUL]
    if len(products) != 2:
        return {}
    first, second = (letters(n, env) for n in products)
    extents = shape(products[0].results[0], env)
    if not all(name in e for e in (first, second) for name in ("b", "m", "n", "k")):
        return {}
    if not extents or len(extents) < 2 or first["m"] != second["m"] or first["n"] != second["k"]:
        return {}
    batch = float(extents[0]) if len(extents) > 3 else 1.0
    heads = first["b"] / max(batch, 1.0)
    return {
        "batch": batch,
        "query_len": first["m"],
        "kv_len": first["n"],
        "heads": heads,
        "kv_heads": heads,
        "head_dim": first["k"],
        "value_dim": second["n"],
        "causal": 0.0,
    }


def mask(node: Node) -> tuple[bool, float]:
    """Whether queries see only the past, and how many of the latest tokens; 0 for all."""
    op = node.op
    causal = any(getattr(op, name, 0) == 1 for name in ("is_causal", "unidirectional", "causal"))
    local, left = getattr(op, "local_window_size", -1), getattr(op, "left_window_size", -1)
    window = local if local > 0 else left + 1 if left >= 0 else 0
    return causal, float(window)


def kv_heads(node: Node, heads: float, env: Mapping[str, int]) -> float:
    """Heads of keys and values: the attribute, or the second axis of keys of rank four."""
    stated = getattr(node.op, "kv_num_heads", None)
    if isinstance(stated, int) and stated > 0:
        return float(stated)
    keys = shape(node.inputs[1], env) if len(node.inputs) > 1 else None
    if node.op.mnemonic == "attention" and keys is not None and len(keys) == 4:
        return float(keys[1])
    return heads
