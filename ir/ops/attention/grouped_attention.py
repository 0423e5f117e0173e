"""ONNX Runtime attention operators of decoders: grouped heads, rotary embedding, KV caches."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ... import (
    Dim,
    DType,
    Inputs,
    Natural,
    Parts,
    Positive,
    Shape,
    TensorType,
    Traffic,
    Types,
    ceil_div,
    dim_max,
    dim_sum,
    each_once,
    first_dtype,
    frozen,
    has,
    interval,
    shape_at,
    storage_bytes,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...traffic import parts_once, rows_read
from .attention import (
    SOFTMAX_ALU,
    AttentionLike,
    Scores,
    axis,
    cached_traffic,
    either,
    ranked,
    rows_of,
)
from .contrib_attention import known_extent
from .score_pairs import seen_keys, unmasked_pairs

ROTARY_ALU = 3
"""Two products and a sum for each rotated element (arXiv:2104.09864 equation 34)."""
QK_NORM_ALU = 4
"""Operations of an RMS norm per element: square, addition to the sum, product with the reciprocal
root, product with the scale."""


def angle_rows(
    op: GroupQueryAttention | PagedAttention, ins: Inputs, rows: Dim | None
) -> dict[int, Dim | None]:
    """Return bytes of ``rows`` rows of the cosines and the sines, by position of the operand."""
    used = rows if op.do_rotary and rows is not None else 0
    names = ("cos_cache", "sin_cache")
    return {i: rows_read(tensor(ins, i), used) for i in map(op.signature.names.index, names)}


@frozen
class GroupQueryAttention(AttentionLike):
    """Causal attention with fewer key and value heads than query heads, on a cache.

    Shapes:  query[b, s, h*d], key and value[b, s, g*d], past[b, g, p, d] -> output[b, s, h*d],
             present[b, g, l, d], output_qk[b, h, s, t], with t = total_sequence_length keys and
             l the larger of p and t. Or query[b, s, (h + 2*g)*d] with all three.
    Work:    as AttentionLike; z = 3*(h + g)*d where it rotates, 4*(h + g)*d more where it
             normalizes queries and keys. Sequences shorter than the longest count at full
             length; where the total is not known, t is the s new keys, a lower bound.
    Traffic: operands once, but of the cache the t - s old keys and values, at most a window of
             them, and the s new ones that are written, in place; of cosines and sines a row for
             each of the s positions, none if it does not rotate.
    Source:  ONNX Runtime ContribOperators, GroupQueryAttention; arXiv:2305.13245.
    """

    mnemonic = "group_query_attention"
    onnx = "com.microsoft::GroupQueryAttention"
    operands = (
        "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
        "sin_cache? position_ids? attention_bias? head_sink? k_scale? v_scale? q_norm_weight? "
        "k_norm_weight?"
    )
    total_at = 6
    """Position of total_sequence_length among the operands."""
    cache_at: ClassVar[int | None] = 3  # past_key; past_value is operand 4

    num_heads: Positive = 1
    kv_num_heads: Positive = 1
    causal: int = 1
    do_rotary: int = 0
    k_quant_type: str = "NONE"
    kv_cache_bit_width: Natural = 0
    local_window_size: int = -1
    qk_norm_epsilon: float = 1e-6
    qk_output: int = 0
    rotary_interleaved: int = 0
    scale: float | None = None
    sliding_window_cache: int = 0
    smooth_softmax: int = -1
    softcap: float = 0.0
    v_quant_type: str = "NONE"

    def head_size(self, ins: Inputs) -> Dim:
        """Return d, from the width of the query or from the cache."""
        width = axis(ranked(ins, 0, 3), 2)
        # without a key operand the query holds queries, keys and values side by side
        heads = self.num_heads if has(ins, 1) else self.num_heads + 2 * self.kv_num_heads
        if width is not None:
            return width // heads
        of_key = axis(shape_at(ins, 1), 2)
        return either(None if of_key is None else of_key // self.kv_num_heads)

    def past(self, ins: Inputs) -> Dim:
        """Return the extent of the buffer of past keys; 0 without one."""
        if not has(ins, 3):
            return 0
        return either(axis(ranked(ins, 3, 4), 2), axis(ranked(ins, 4, 4), 2))

    def total(self, ins: Inputs) -> Dim | None:
        """Return the keys of the longest sequence, None if data dependent."""
        known = known_extent(ins, self.total_at)
        # without a cache the new keys are the only ones
        return axis(ranked(ins, 0, 3), 1) if known is None and not has(ins, 3) else known

    def present(self, ins: Inputs, s: Dim) -> Dim:
        """Return the extent of the present state."""
        past, total = self.past(ins), self.total(ins)
        # a sliding window never grows: new keys overwrite the oldest ones
        if self.sliding_window_cache and has(ins, 3):
            return past
        if total is not None:
            return dim_max(past, total)
        # between the buffer of the past and one that also holds all new keys
        return data_extent(past + s, past if isinstance(past, int) else 0)

    def infer(self, ins: Inputs) -> Types:
        q = ranked(ins, 0, 3)
        b, s, d = either(axis(q, 0)), either(axis(q, 1)), self.head_size(ins)
        dtype, total = first_dtype(ins, 0, 1), self.present(ins, s)
        # rows of a quantized cache differ in width and element type
        width = axis(ranked(ins, 3, 4), 3) if has(ins, 3) else None
        state = (b, self.kv_num_heads, total, d if width is None else width)
        cache_dtype = first_dtype(ins, 3, 4) if has(ins, 3) else dtype
        keys = self.total(ins)
        if keys is None:
            # between the new keys alone and a full buffer
            keys = data_extent(self.past(ins) + s, max(interval(s)[0] or 0, 0))
        scores = (b, self.num_heads, s, keys)
        return (
            TensorType(dtype, (b, s, self.num_heads * d)),
            TensorType(cache_dtype, state),
            TensorType(cache_dtype, state),
            TensorType(dtype, scores),
        )

    def key_heads(self, ins: Inputs) -> Dim | None:
        return self.kv_num_heads

    def visible(self) -> tuple[bool, int]:
        return self.causal == 1, max(self.local_window_size, 0)

    def _window(self) -> tuple[int | None, int | None]:
        """Return the limits of `unmasked_pairs` on both sides of a query, None for no limit."""
        # local_window_size counts the query itself, `unmasked_pairs` only keys before it
        left = self.local_window_size - 1 if self.local_window_size > 0 else None
        return left, 0 if self.causal else None

    def scores(self, ins: Inputs) -> Scores | None:
        q = ranked(ins, 0, 3)
        if q is None:
            return None
        b, s, d, total = q[0], q[1], self.head_size(ins), self.total(ins)
        t = s if total is None else total
        u = unmasked_pairs(s, t, t - s, *self._window())
        capped = int(bool(self.softcap))
        # operand 10 is attention_bias, 14 q_norm_weight; a soft cap takes two products and a tanh
        x = SOFTMAX_ALU + int(has(ins, 10)) + 2 * capped
        normalized = (self.num_heads + self.kv_num_heads) * d if has(ins, 14) else 0
        z, y, is_bound = self.rotation(d) + QK_NORM_ALU * normalized, 1 + capped, total is None
        # head size d twice: values are as wide as keys
        return Scores(b, self.num_heads, s, t, d, d, u, x, y, z, is_bound=is_bound)

    def rotation(self, d: Dim) -> Dim:
        """Return the vector operations that rotate the queries and keys of a token."""
        return ROTARY_ALU * bool(self.do_rotary) * (self.num_heads + self.kv_num_heads) * d

    def one_key(self, q: Shape, d: Dim) -> Scores:
        """Return the variables if each query attends to itself alone, the minimum."""
        heads, z = self.num_heads, self.rotation(d)
        # t = 1 key, so that u = s pairs
        return Scores(q[0], heads, q[1], 1, d, d, q[1], SOFTMAX_ALU, 1, z, is_bound=True)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # operands 3 and 4 are the past keys and values, results 1 and 2 the present ones
        whole = cached_traffic(ins, outs, (3, 4), (1, 2), self._old_and_new(ins))
        return replace(whole, read_bytes=dim_sum(self.read_parts(ins).values()))

    def read_parts(self, ins: Inputs) -> Parts:
        old, s = self._old_and_new(ins)
        caches = {i: rows_of(tensor(ins, i), old or 0) for i in (3, 4)}
        return parts_once(ins, {**caches, **angle_rows(self, ins, s)})

    def _old_and_new(self, ins: Inputs) -> tuple[Dim | None, Dim]:
        """Return the rows of the cache that are read, None if data dependent, and those written."""
        s, total = axis(shape_at(ins, 0), 1), self.total(ins)
        if s is None:
            return None, 0
        if total is None:
            return None, s
        old = dim_max(total - s, 0)
        return old - seen_keys(s, total, old, *self._window())[0], s


@frozen
class SelectedKeys(GroupQueryAttention):
    """Grouped attention that reads only some keys, which an operand selects."""

    cache_at = None  # data decide which pairs count, so that it has no `problem`

    def scores(self, ins: Inputs) -> Scores | None:
        q = ranked(ins, 0, 3)
        return None if q is None else self.one_key(q, self.head_size(ins))

    def infer(self, ins: Inputs) -> Types:
        return super().infer(ins)[:3]  # no output_qk

    def _old_and_new(self, ins: Inputs) -> tuple[Dim | None, Dim]:
        # how many old rows are selected depends on data
        return None, super()._old_and_new(ins)[1]


@frozen
class SparseAttention(SelectedKeys):
    """Causal grouped attention that reads only the blocks in a mask.

    Shapes:  as GroupQueryAttention; the present state keeps the extent of the cache.
    Work:    as AttentionLike with t = 1, a lower bound of one key per query: which blocks are
             visited is content of an operand.
    Traffic: as GroupQueryAttention, without old keys and values: how many are read is not known.
    Source:  ONNX Runtime ContribOperators, SparseAttention; arXiv:2404.14219.
    """

    mnemonic = "sparse_attention"
    onnx = "com.microsoft::SparseAttention"
    operands = (
        "query key? value? past_key past_value block_row_indices block_col_indices "
        "total_sequence_length key_total_sequence_lengths cos_cache? sin_cache?"
    )
    total_at = 7

    sparse_block_size: Positive = 64

    def present(self, ins: Inputs, s: Dim) -> Dim:
        return self.past(ins)


@frozen
class DynamicSparseAttention(SelectedKeys):
    """Causal grouped attention that reads the keys selected by another operator.

    Shapes:  as GroupQueryAttention; selected_indices[b*s, m].
    Work:    as SparseAttention: how many of the m keys count is content of an operand.
    Traffic: as SparseAttention.
    Source:  ONNX Runtime ContribOperators, DynamicSparseAttention.
    """

    mnemonic = "dynamic_sparse_attention"
    onnx = "com.microsoft::DynamicSparseAttention"
    operands = (
        "query key? value? past_key? past_value? auxiliary_key? auxiliary_value? "
        "selected_indices selected_counts seqlens_k total_sequence_length cos_cache? sin_cache? "
        "position_ids? q_norm_weight? k_norm_weight? head_sink?"
    )
    total_at = 10

    attention_mode: str = "selected_only"
    auxiliary_kv_shared: int = 0
    is_causal: int = 1
    rotary_offset: int = 0
    selected_kv_source: str = "main"


@frozen
class PagedAttention(AttentionLike):
    """Causal grouped attention of packed sequences with a paged cache.

    Shapes:  query[n, h*d], or [n, (h + 2*g)*d] with keys and values, key_cache[pages, page, g, d]
             -> output[n, h*v], key_cache and value_cache as they were.
    Work:    as AttentionLike with b = 1, s = n and t = 1, a lower bound of one key per query: the
             lengths of cached sequences are content of an operand.
    Traffic: queries, keys, values and output once, the new rows of the cache written; old rows
             are not counted, their number is not known; of cosines and sines a row for each token
             of a sequence of mean length.
    Source:  ONNX Runtime ContribOperators, PagedAttention; arXiv:2309.06180.
    """

    mnemonic = "paged_attention"
    onnx = "com.microsoft::PagedAttention"
    operands = (
        "query key? value? key_cache value_cache? cumulative_sequence_length past_seqlens "
        "block_table cos_cache? sin_cache? slot_mapping? head_sink? q_norm_weight? "
        "k_norm_weight? k_scale? v_scale? attention_metadata?"
    )

    num_heads: Positive = 1
    kv_num_heads: Positive = 1
    do_rotary: int = 0
    is_causal: int = 1
    k_cache_dtype: str = ""
    k_quant_type: str = "NONE"
    kv_cache_layout: str = "SEPARATE"
    local_window_size: int = -1
    qk_norm_epsilon: float = 1e-6
    rotary_interleaved: int = 0
    rotary_offset: int = 0
    scale: float | None = None
    softcap: float = 0.0
    v_cache_dtype: str = ""
    v_head_size: Natural = 0
    v_quant_type: str = "NONE"

    def _sizes(self, ins: Inputs) -> tuple[Dim, Dim, Dim]:
        """Return tokens and head sizes of queries and values."""
        q = ranked(ins, 0, 2)
        packed = not has(ins, 1)
        heads = self.num_heads + (2 * self.kv_num_heads if packed else 0)
        width = axis(q, 1)
        d = either() if width is None else width // heads
        return either(axis(q, 0)), d, self.v_head_size or d

    def infer(self, ins: Inputs) -> Types:
        n, _, v = self._sizes(ins)
        out = TensorType(first_dtype(ins, 0, 1), (n, self.num_heads * v))
        return out, tensor(ins, 3), tensor(ins, 4)

    def scores(self, ins: Inputs) -> Scores | None:
        if shape_at(ins, 0) is None:
            return None
        n, d, v = self._sizes(ins)
        z = ROTARY_ALU * bool(self.do_rotary) * (self.num_heads + self.kv_num_heads) * d
        # t = 1 key for each of the n queries, so that u = n pairs
        return Scores(1, self.num_heads, n, 1, d, v, n, SOFTMAX_ALU, 1, z, is_bound=True)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # the caches, operands 3 and 4, are results 1 and 2 too: only their new rows are written
        without_caches = tuple(None if i in (3, 4) else v for i, v in enumerate(ins))
        others = each_once(without_caches, outs[:1])
        written: list[Dim] = [others.write_bytes]
        n = axis(shape_at(ins, 0), 0)
        for cache in (tensor(ins, 3), tensor(ins, 4)):
            if n is not None and cache.shape is not None and cache.dtype is not DType.UNKNOWN:
                heads, size = cache.shape[-2:]
                written.append(storage_bytes(n * heads * size, cache.dtype.bits))
        return Traffic(dim_sum(self.read_parts(ins).values()), dim_sum(written), is_bound=True)

    def read_parts(self, ins: Inputs) -> Parts:
        n, ends = axis(shape_at(ins, 0), 0), axis(shape_at(ins, 5), 0)
        # tokens of different sequences may have one position: the longest has at least the mean.
        # Operand 5, cumulative_sequence_length, has one element more than there are sequences
        rows = None if n is None or ends is None or ends == 1 else ceil_div(n, ends - 1)
        return parts_once(ins, {3: 0, 4: 0, **angle_rows(self, ins, rows)})
