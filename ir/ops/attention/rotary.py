"""Rotary position embedding of the default domain and of ONNX Runtime."""

from __future__ import annotations

from typing import ClassVar

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Natural,
    Naturals,
    Op,
    Parts,
    Shape,
    Traffic,
    Types,
    count,
    dim_min,
    dim_sum,
    each_once,
    element_count,
    frozen,
    has,
    shape_at,
    storage_bytes,
    tensor,
)


@frozen
class RotaryEmbedding(Op):
    """Rotates pairs of elements of each head by an angle that grows with the position.

    Shapes:  X[b, h, s, d] or X[b, s, h*d], or packed X[n, h*d] -> Y like X; cos_cache and
             sin_cache[p, r/2], or [b, s, r/2] without position_ids.
    Work:    alu = 3*e*r//d: two products and a sum for each of the r rotated elements of d.
    Traffic: X once, of the caches a row for each position (at most all of them), Y once.
    Source:  ONNX RotaryEmbedding-23; arXiv:2104.09864 equation 34.
    """

    mnemonic = "rotary_embedding"
    onnx = "RotaryEmbedding"
    operands = "X cos_cache sin_cache position_ids?"
    formulas = {"alu": "3*(e*r//d)"}
    caches: ClassVar[tuple[int, int]] = (1, 2)  # positions of cos_cache and sin_cache

    interleaved: int = 0
    num_heads: Natural = 0
    rotary_embedding_dim: Natural = 0

    def head_size(self, x: Shape) -> Dim | None:
        """Return d, None if the heads share the last axis and their number is unknown."""
        if len(x) == 4:
            return x[3]
        return x[-1] // self.num_heads if self.num_heads and x else None

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, cos = shape_at(ins, 0), shape_at(ins, self.caches[0])
        if x is None:
            return {}
        d = self.head_size(x)
        # a cache has one angle per pair of elements
        rotated = cos[-1] * 2 if cos else d
        if self.rotary_embedding_dim:
            rotated = self.rotary_embedding_dim
        if d == 0:  # the formula divides by d
            return {}
        if d is None or rotated is None:
            # with an unknown head size every element counts as rotated: r = d
            return {"e": element_count(x), "r": 1, "d": 1}
        return {"e": element_count(x), "r": rotated, "d": d}

    def read_parts(self, ins: Inputs) -> Parts:
        x = shape_at(ins, 0)
        if x is None or len(x) < 2:
            return {}
        # tokens: n of packed rows, else b times s, which is axis 2 where heads have an axis
        positions = x[0] if len(x) == 2 else x[0] * x[2 if len(x) == 4 else 1]
        parts: dict[int, Dim] = {}
        for i in range(len(ins)):
            operand = tensor(ins, i)
            parts[i] = operand.nbytes or 0
            if i in self.caches and operand.shape:
                # one row per position, though no more than the cache has
                rows = dim_min(positions, element_count(operand.shape[:-1]))
                parts[i] = storage_bytes(rows * operand.shape[-1], operand.dtype.bits)
        return {i: part for i, part in parts.items() if ins[i] is not None}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        others = each_once(tuple(None if i in self.caches else v for i, v in enumerate(ins)), outs)
        # the parts contain the other operands too; without a known shape of X the caches count as
        # not read
        parts = self.read_parts(ins)
        read = dim_sum(parts.values()) if parts else others.read_bytes
        return Traffic(read, others.write_bytes, others.is_bound)


@frozen
class ContribRotaryEmbedding(RotaryEmbedding):
    """RotaryEmbedding of ONNX Runtime: positions precede the caches.

    Shapes:  input[b, s, h*d] or [b, h, s, d] -> output like it; position_ids[1] or [b, s].
    Source:  ONNX Runtime ContribOperators, RotaryEmbedding.
    """

    mnemonic = "ms_rotary_embedding"
    onnx = "com.microsoft::RotaryEmbedding"
    operands = "input position_ids cos_cache sin_cache"
    caches = (2, 3)

    is_packed_batching: int = 0
    scale: float = 1.0


@frozen
class MRotaryEmbedding(ContribRotaryEmbedding):
    """Rotary embedding by three positions: time, height and width.

    Shapes:  as RotaryEmbedding; position_ids[3, b, s].
    Source:  ONNX Runtime ContribOperators, MRotaryEmbedding.
    """

    mnemonic = "multimodal_rotary_embedding"
    onnx = "com.microsoft::MRotaryEmbedding"

    mrope_layout: int = 0
    mrope_section: Naturals = ()


class GemmaRotaryEmbedding(Op):
    """Rotates queries and keys by the sine and cosine of given angles.

    Shapes:  emb[b, s, d], q and q_rot[b, h, s, d], k and k_rot likewise -> two results like q, k.
    Work:    {alu} over the elements of both results; {sfu} for sine and cosine of the a
             angles.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, GemmaRotaryEmbedding.
    """

    mnemonic = "gemma_rotary_embedding"
    onnx = "com.microsoft::GemmaRotaryEmbedding"
    operands = "emb q q_rot k k_rot"
    kind = Kind.ELEMENTWISE
    formulas = {"alu": "3*e", "sfu": "2*a"}

    def infer(self, ins: Inputs) -> Types:
        return tensor(ins, 1), tensor(ins, 3)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        if not has(ins, 0) or any(shape_at(ins, i) is None for i in (0, 1, 3)):
            return {}
        return {"e": count(outs[0]) + count(outs[1]), "a": count(tensor(ins, 0))}
