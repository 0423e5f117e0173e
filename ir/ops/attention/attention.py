"""Scaled dot-product attention: the standard operator and the base of its variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    ABSENT,
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Parts,
    Positive,
    Shape,
    TensorType,
    Traffic,
    Types,
    Work,
    at_most,
    dim_max,
    dim_min,
    dim_sum,
    each_once,
    element_count,
    first_dtype,
    frozen,
    has,
    known,
    record,
    same,
    shape_at,
    single,
    storage_bytes,
    tensor,
)
from ...cost import work_of
from ...problem import Attention as Problem
from ...symbolic.fresh import data_extent
from ...traffic import parts_once, rows_read
from .score_pairs import seen_keys, unmasked_pairs

SOFTMAX_ALU = 4
"""Scale, running maximum, subtraction and sum of each score; the exponential is counted
separately."""


@record
class Scores:
    """Variables of the formulas of attention.

    b sequences, h query heads, s queries, t keys, head sizes d of queries and keys and v of
    values, u unmasked pairs of query and key per head. ``x`` and ``y`` are vector and special
    operations per pair, ``z`` vector operations per token outside the scores. ``i`` by ``j`` is
    the weight that projects the input to queries, keys and values, 0 by 0 if the operator has no
    such weight. ``is_bound`` marks t and u as lower bounds, because the number of keys depends
    on data.
    """

    b: Dim
    h: Dim
    s: Dim
    t: Dim
    d: Dim
    v: Dim
    u: Dim
    x: Dim = SOFTMAX_ALU
    y: Dim = 1
    z: Dim = 0
    i: Dim = 0
    j: Dim = 0
    is_bound: bool = False

    @property
    def idle_mac(self) -> Dim:
        """Return the MACs of masked pairs."""
        return self.b * self.h * (self.s * self.t - self.u) * (self.d + self.v)

    def letters(self) -> dict[str, Dim]:
        """Return the variables by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if len(f.name) == 1}


SCORES = {
    # d for scores Q @ K^T, v for probabilities @ V
    "mac": "b*h*s*t*(d + v)",
    # each of the s result rows is divided by the sum of its exponentials: one reciprocal per row
    # (s in sfu), multiplied with the v values of the row (s*v in alu)
    "alu": "b*h*(u*x + s*v) + b*s*z",
    "sfu": "b*h*(u*y + s)",
}
PROJECTED_SCORES = {**SCORES, "mac": "b*h*s*t*(d + v) + b*s*i*j"}  # i, j: the projection


def work_of_scores(formulas: Mapping[str, str], scores: Scores, dtype: DType | None) -> Work:
    """Return the operations of attention; MACs of masked pairs are not in ``effective_mac``."""
    dense = work_of(formulas, scores.letters(), dtype)
    effective_mac = dense.mac - scores.idle_mac
    # None says that nothing is masked, so that reports show no second number
    effective = None if effective_mac == dense.mac else effective_mac
    return replace(dense, effective_mac=effective, is_bound=scores.is_bound)


@frozen
class AttentionLike(Op):
    """An attention: ``softmax(Q @ K^T * scale + mask) @ V`` for each head.

    Work:    {mac}, and b*s*i*j if the operator projects its input to queries,
             keys and values; ``effective_mac`` counts the u pairs that a causal mask or window
             leaves; {alu} with x = 4 for softmax, 1 for a mask or bias,
             2 for a soft cap; {sfu} with y = 1 for the exponential, 1 for tanh of
             the cap.
    Source:  arXiv:1706.03762 section 3.2; online softmax arXiv:2205.14135.
    """

    kind = Kind.ATTENTION
    formulas = SCORES
    cache_at: ClassVar[int | None] = None
    """Position of the past keys among the operands. None if no fused attention kernel computes the
    whole operator, as it projects its input first, or if data decide which pairs count (sparse and
    paged attention); such an operator has no ``problem``."""

    def scores(self, ins: Inputs) -> Scores | None:
        """Return the variables, None if the operands do not determine them."""
        raise NotImplementedError(f"{type(self).__name__}.scores")

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        scores = self.scores(ins)
        return (
            None if scores is None else work_of_scores(self.formulas, scores, self.mac_dtype(ins))
        )

    def after_projection(self) -> type[AttentionLike] | None:
        """Return the operator that takes ``input @ weights`` in place of these two operands.

        Its attributes and other operands have the same names. None if this operator does not
        project its input, or not in one product of its element type.
        """
        return None

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        scores = self.scores(ins)
        return {} if scores is None else scores.letters()

    def key_heads(self, ins: Inputs) -> Dim | None:
        """Return heads of keys and values if they differ from those of queries, else None."""
        return None

    def visible(self) -> tuple[bool, int]:
        """Return True if queries see only earlier keys, and the window in tokens, 0 for none."""
        return False, 0

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        if self.cache_at is None or (n := self.scores(ins)) is None:
            return None
        heads, bits = self.key_heads(ins) or n.h, tensor(ins, self.cache_at).dtype.bits
        # `visible` gives is_causal and window; without a cache the type is unknown, of 0 bits
        return Problem(n.b, n.h, heads, n.s, n.t, n.d, n.v, *self.visible(), bits)


def axis(shape: Shape | None, index: int) -> Dim | None:
    """Return extent ``index`` of a shape that may be unknown."""
    return shape[index] if shape is not None and -len(shape) <= index < len(shape) else None


def either(*candidates: Dim | None) -> Dim:
    """Return the first number among these extents, else the first known one, else a new symbol."""
    present = [d for d in candidates if d is not None]
    numbers = [d for d in present if isinstance(d, int)]
    return numbers[0] if numbers else present[0] if present else data_extent()


def ranked(ins: Inputs, index: int, *ranks: int) -> Shape | None:
    """Return the shape of an operand that must have one of these ranks; None if unknown.

    Raises:
        ShapeError: it has another rank.
    """
    shape = shape_at(ins, index)
    if shape is not None and len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ShapeError(f"operand {index} of an attention has rank {len(shape)}, not {wanted}")
    return shape


def rows_of(cache: TensorType, rows: Dim) -> Dim:
    """Return bytes of ``rows`` rows of a cache [..., length, size]; 0 if its shape is unknown."""
    if cache.shape is None or len(cache.shape) < 3:
        return 0
    *outer, _, size = cache.shape
    return storage_bytes(element_count((*outer, size)) * rows, cache.dtype.bits)


def cached_traffic(
    ins: Inputs,
    outs: Types,
    caches: tuple[int, ...],
    presents: tuple[int, ...],
    old_and_new: tuple[Dim | None, Dim],
) -> Traffic:
    """Return the traffic of an operator that appends to caches [..., length, size] in place.

    Args:
        ins: its operands.
        outs: its results.
        caches: positions of the caches among the operands.
        presents: positions of the same buffers among the results.
        old_and_new: rows that are read, None (counted as 0) if unknown, and rows that are written.
    """
    old, new = old_and_new
    without_caches = tuple(None if i in caches else v for i, v in enumerate(ins))
    without_presents = tuple(ABSENT if i in presents else t for i, t in enumerate(outs))
    others = each_once(without_caches, without_presents)
    states = [outs[i] for i in presents if i < len(outs) and outs[i] is not ABSENT]
    tensors = [t for t in states if isinstance(t, TensorType)]
    return Traffic(
        dim_sum((others.read_bytes, *(rows_of(t, old or 0) for t in tensors))),
        dim_sum((others.write_bytes, *(rows_of(t, new) for t in tensors))),
        others.is_bound or old is None,
    )


@record
class _Extents:
    """Extents of one call: as ``Scores``, with g key heads, kv new keys and past cached keys."""

    b: Dim
    h: Dim
    g: Dim
    s: Dim
    kv: Dim
    past: Dim
    d: Dim
    v: Dim

    @property
    def t(self) -> Dim:
        """Return the keys of a query: cached and new ones."""
        return self.past + self.kv


@frozen
class Attention(AttentionLike):
    """Attention over queries, keys and values, with grouped heads, mask, cache and window.

    Shapes:  Q[b, h, s, d], K[b, g, l, d], V[b, g, l, v] -> Y[b, h, s, v], or with heads in the
             last axis Q[b, s, h*d] …; past_key[b, g, p, d] makes t = p + l keys;
             present_key[b, g, t, d], present_value[b, g, t, v], qk_matmul_output[b, h, s, t].
    Work:    as AttentionLike. With nonpad_kv_seqlen t is the number of valid keys; if that is
             unknown or sequences differ, t is a lower bound: the smallest known number, else 1.
    Traffic: each operand once, but only the valid keys of K and V, and without a present state
             only the keys, values and columns of the mask in some query's window; each result
             once; the present state is written completely.
    Source:  ONNX Attention-25; arXiv:1706.03762, arXiv:2305.13245.
    """

    mnemonic = "attention"
    onnx = "Attention"
    operands = "Q K V attn_mask? past_key? past_value? nonpad_kv_seqlen?"
    cache_at = 4

    is_causal: int = 0
    kv_num_heads: Positive | None = None
    left_window_size: int = -1
    q_num_heads: Positive | None = None
    qk_matmul_output_mode: int = 0
    right_window_size: int = -1
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | DType | None = None

    def _extents(self, ins: Inputs) -> tuple[int | None, _Extents]:
        """Return the rank of Q and the extents; new symbols for unknown ones."""
        q, k, v = (ranked(ins, i, 3, 4) for i in range(3))
        pk, pv = ranked(ins, 4, 4), ranked(ins, 5, 4)  # past keys and values: operands 4 and 5
        rank = next((len(x) for x in (q, k, v) if x is not None), None)
        past: Dim = 0
        if has(ins, 4) or has(ins, 5):
            past = either(axis(pk, 2), axis(pv, 2))
        b = either(*(axis(x, 0) for x in (q, k, v, pk, pv)))
        # w is the head size of values (the field v); here v is the operand
        if rank == 4:
            h, g = either(axis(q, 1)), either(axis(k, 1), axis(v, 1), axis(pk, 1), axis(pv, 1))
            s, kv = either(axis(q, 2)), either(axis(k, 2), axis(v, 2))
            d, w = either(axis(q, 3), axis(k, 3), axis(pk, 3)), either(axis(v, 3), axis(pv, 3))
            return rank, _Extents(b, h, g, s, kv, past, d, w)
        if rank == 3 and not (self.q_num_heads and self.kv_num_heads):
            raise ShapeError("attention on operands of rank 3 needs q_num_heads and kv_num_heads")
        # rank 3: heads share the last axis, whose extent is number of heads times head size
        h, g = self.q_num_heads or either(), self.kv_num_heads or either(axis(pk, 1), axis(pv, 1))
        s, kv = either(axis(q, 1) if rank else None), either(axis(k, 1), axis(v, 1))
        widths = (axis(q, -1), axis(k, -1), axis(v, -1))
        of_q, of_k, of_v = (
            None if width is None or heads is None else width // heads
            for width, heads in zip(
                widths, (self.q_num_heads, self.kv_num_heads, self.kv_num_heads), strict=True
            )
        )
        d, w = either(of_q, of_k, axis(pk, 3)), either(of_v, axis(pv, 3))
        return rank, _Extents(b, h, g, s, kv, past, d, w)

    def infer(self, ins: Inputs) -> Types:
        rank, e = self._extents(ins)
        # e.d is the head size of Q if that is a number; `same` is None if neither can be decided
        same_head = same(e.d, either(axis(shape_at(ins, 1), 3), e.d)) if rank == 4 else True
        if same_head is False:
            raise ShapeError(f"head sizes of Q and K differ: {e.d} and {shape_at(ins, 1)}")
        dtype, v_dtype = first_dtype(ins, 0, 1), first_dtype(ins, 2, 5, 0)
        y: Shape | None = None
        if rank is not None:
            y = (e.b, e.h, e.s, e.v) if rank == 4 else (e.b, e.s, e.h * e.v)
        return (
            TensorType(dtype, y),
            TensorType(dtype, (e.b, e.g, e.t, e.d)),
            TensorType(v_dtype, (e.b, e.g, e.t, e.v)),
            TensorType(dtype, (e.b, e.h, e.s, e.t)),
        )

    def key_heads(self, ins: Inputs) -> Dim | None:
        return self.kv_num_heads or axis(ranked(ins, 1, 4), 1)

    def visible(self) -> tuple[bool, int]:
        # the window of a problem includes the query itself; -1, no limit, becomes 0
        return self.is_causal == 1, max(self.left_window_size + 1, 0)

    def _window(self) -> tuple[int | None, int | None]:
        """Return the limits of `unmasked_pairs` on both sides of a query, None for no limit."""
        left = None if self.left_window_size < 0 else self.left_window_size
        right = None if self.right_window_size < 0 else self.right_window_size
        return left, 0 if self.is_causal else right

    def scores(self, ins: Inputs) -> Scores | None:
        if any(shape_at(ins, i) is None for i in range(3)):
            return None
        e = self._extents(ins)[1]
        # a mask, operand 3, is an addition; a soft cap, cap * tanh(score / cap), two products
        x = SOFTMAX_ALU + int(has(ins, 3)) + 2 * int(bool(self.softcap))
        u = unmasked_pairs(e.s, e.t, e.past, *self._window())
        scores = Scores(e.b, e.h, e.s, e.t, e.d, e.v, u, x, 1 + int(bool(self.softcap)))
        return self._padded(ins, scores) if has(ins, 6) else scores

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole, scores = each_once(ins, outs), self.scores(ins) if has(ins, 6) else None
        if scores is None and any(out is not ABSENT for out in outs[1:]):
            return whole  # all keys are copied to the present state, or all scores are written
        is_bound = whole.is_bound or (scores is not None and scores.is_bound)
        return Traffic(dim_sum(self.read_parts(ins).values()), whole.write_bytes, is_bound)

    def read_parts(self, ins: Inputs) -> Parts:
        scores = self.scores(ins)
        if scores is None:
            return parts_once(ins, {})
        e = self._extents(ins)[1]
        if has(ins, 6):  # nonpad_kv_seqlen limits the rows of K and V, operands 1 and 2
            rows: dict[int, Dim] = {1: scores.t, 2: scores.t}
        else:
            first, end = seen_keys(e.s, e.t, e.past, *self._window())
            new = dim_max(end - e.past, 0) - dim_max(first - e.past, 0)
            old = dim_min(end, e.past) - dim_min(first, e.past)
            rows = {1: new, 2: new, 3: end - first, 4: old, 5: old}
        # the mask has keys in its last axis, the others rows of keys before it
        at = {i: len(tensor(ins, i).shape or ()) - (1 if i == 3 else 2) for i in rows}
        return parts_once(
            ins, {i: rows_read(tensor(ins, i), n, at[i]) for i, n in rows.items() if at[i] >= 0}
        )

    def _padded(self, ins: Inputs, full: Scores) -> Scores:
        """Return the variables with the valid keys alone: the fewest of any sequence, a bound."""
        content = known(ins, 6)
        valid = () if content is None else tuple(d for d in content.dims if d is not None)
        if not valid or content is None or not content.is_complete:
            # lengths depend on data: at least one key per query
            return replace(full, t=1, u=full.s, is_bound=True)
        n, is_bound = dim_min(*valid, full.t), len(set(valid)) > 1
        if same(n, full.t):
            return replace(full, is_bound=is_bound)
        # a causal mask or a window takes queries as the last s of n positions, so that s <= n
        if self._window() == (None, None) or same(full.s, n) or at_most(full.s, n):
            u = unmasked_pairs(full.s, n, n - full.s, *self._window())
            return replace(full, t=n, u=u, is_bound=is_bound)
        return replace(full, t=1, u=full.s, is_bound=True)


@frozen
class FlexAttention(AttentionLike):
    """Attention whose scores and probabilities are transformed by given subgraphs.

    Shapes:  Q[b, h, s, d], K[b, g, t, d], V[b, g, t, v] -> Y[b, h, s, v].
    Work:    as AttentionLike; operations of the subgraphs are not counted.
    Traffic: each operand once, Y once.
    Source:  ONNX ai.onnx.preview FlexAttention-1.
    """

    mnemonic = "flex_attention"
    onnx = "ai.onnx.preview::FlexAttention"
    operands = "Q K V"

    scale: float | None = None
    softmax_precision: int | DType | None = None

    def infer(self, ins: Inputs) -> Types:
        q, k, v = (ranked(ins, i, 4) for i in range(3))
        b = either(axis(q, 0), axis(k, 0), axis(v, 0))
        shape = (b, either(axis(q, 1)), either(axis(q, 2)), either(axis(v, 3)))
        return single(first_dtype(ins, 0, 1), shape)

    def scores(self, ins: Inputs) -> Scores | None:
        q, k, v = (ranked(ins, i, 4) for i in range(3))
        if q is None or k is None or v is None:
            return None
        (b, h, s, d), t = q, k[2]
        # all s*t pairs count: which ones the subgraphs mask is not read from them
        return Scores(b, h, s, t, d, v[3], s * t)
