"""ONNX Runtime attention operators in exports of BERT- and GPT-like models."""

from __future__ import annotations

from typing import ClassVar

from perfc.errors import ShapeError

from ... import (
    Dim,
    DType,
    Inputs,
    Natural,
    Positive,
    Positives,
    TensorType,
    Traffic,
    Types,
    each_once,
    first_dtype,
    frozen,
    has,
    known,
    record,
    shape_at,
)
from ...symbolic.fresh import data_extent
from .attention import (
    PROJECTED_SCORES,
    SOFTMAX_ALU,
    AttentionLike,
    Scores,
    axis,
    cached_traffic,
    either,
    ranked,
)
from .packed_attention import AfterProjection
from .score_pairs import unmasked_pairs


def known_extent(ins: Inputs, index: int) -> Dim | None:
    """Return the content of a one-element operand as an extent."""
    content = known(ins, index)
    return content.dims[0] if content is not None and len(content.dims) == 1 else None


@record
class Past:
    """Keys in the cache from earlier calls.

    ``used`` is their number, None if data dependent; ``held`` is the extent of the buffer, which
    is larger if past and present share it.
    """

    used: Dim | None
    held: Dim

    @property
    def least(self) -> Dim:
        """Return the minimum number of past keys."""
        return 0 if self.used is None else self.used


NO_PAST = Past(0, 0)


@frozen
class ProjectedAttention(AttentionLike):
    """Attention with the projection of its input to queries, keys and values.

    Shapes:  input[b, s, i], weights[i, j] with j the widths of Q, K and V together, bias[j],
             past[2, b, h, p, v] -> output[b, s, h*v], present[2, b, h, p + s, v]; a shared
             buffer keeps its own extent. Heads of keys are as wide as those of values there.
    Work:    as AttentionLike with the projection; z = j for its bias. In a shared buffer whose
             past_sequence_length is unknown, t is the s new keys, a lower bound.
    Traffic: each operand once, each result once; of a shared buffer only the keys and values that
             are read and those that are new.
    Source:  ONNX Runtime ContribOperators, Attention.
    """

    mnemonic = "ms_attention"
    onnx = "com.microsoft::Attention"
    operands = "input weights bias? mask_index? past? attention_bias? past_sequence_length?"
    formulas = PROJECTED_SCORES
    typed_by: ClassVar[tuple[int, ...]] = (0, 1)
    weights_at: ClassVar[tuple[int, ...]] = (1,)
    """Positions of the projection weights among the operands."""

    num_heads: Positive = 1
    do_rotary: int = 0
    mask_filter_value: float = -10000.0
    past_present_share_buffer: int = 0
    qkv_hidden_sizes: Positives = ()
    rotary_embedding_dim: Natural = 0
    scale: float | None = None
    unidirectional: int = 0

    def after_projection(self) -> type[AttentionLike] | None:
        return QkvAttention if "weights" in self.signature.names else None

    def given(self, ins: Inputs, name: str) -> int | None:
        """Return the position of an optional operand of this variant, None if it is not given."""
        index = self.signature.names.index(name) if name in self.signature.names else None
        return index if index is not None and has(ins, index) else None

    def has_bias(self, ins: Inputs) -> bool:
        """Return True if queries, keys and values have a bias."""
        return self.given(ins, "bias") is not None

    def per_score(self, ins: Inputs) -> int:
        """Return vector operations per score: softmax, mask and bias."""
        added = [self.given(ins, name) for name in ("mask_index", "attention_bias")]
        return SOFTMAX_ALU + sum(index is not None for index in added)

    def _joint(self, ins: Inputs) -> Dim | None:
        """Return j, the width of Q, K and V together, from the weights; None if unknown."""
        return axis(ranked(ins, 1, 2), 1)

    def widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim | None]:
        """Return widths of queries and of values over all heads, and of Q, K and V together.

        The last is None if neither weights nor bias have a known shape.
        """
        together = self._joint(ins)
        bias = self.given(ins, "bias")
        if together is None and bias is not None:
            together = axis(ranked(ins, bias, 1), 0)
        if len(self.qkv_hidden_sizes) == 3:
            q, _, v = self.qkv_hidden_sizes
            return q, v, together
        third = either() if together is None else together // 3  # equally wide by default
        return third, third, together

    def _past(self, ins: Inputs) -> Past:
        """Return the keys before this call, and the buffer that holds them."""
        past, length = self.given(ins, "past"), self.given(ins, "past_sequence_length")
        if past is None:
            return NO_PAST
        extent = either(axis(ranked(ins, past, 5), 3))
        if not self.past_present_share_buffer:
            return Past(extent, extent)
        return Past(None if length is None else known_extent(ins, length), extent)

    def infer(self, ins: Inputs) -> Types:
        x = ranked(ins, 0, 3)
        b, s = either(axis(x, 0)), either(axis(x, 1))
        _, v, _ = self.widths(ins)
        dtype = self.result_dtype(ins)
        held = self._past(ins).held
        # a shared buffer already has the extent of past and present together
        total = held if self.past_present_share_buffer and held != 0 else held + s
        state = (2, b, self.num_heads, total, v // self.num_heads)  # 2: keys and values
        return TensorType(dtype, (b, s, v)), TensorType(dtype, state)

    def scores(self, ins: Inputs) -> Scores | None:
        x, weights = ranked(ins, 0, 3), [ranked(ins, i, 2) for i in self.weights_at]
        q, v, together = self.widths(ins)
        if x is None or None in weights or together is None:
            return None
        b, s, i = x
        past = self._past(ins)
        h, t = self.num_heads, past.least + s
        u = unmasked_pairs(s, t, past.least, None, 0 if self.unidirectional else None)
        bias = together if self.has_bias(ins) else 0
        x_ops, is_bound = self.per_score(ins), past.used is None
        # in the order of the fields: b, h, s, t, d, v, u, x, y, z, i, j
        return Scores(b, h, s, t, q // h, v // h, u, x_ops, 1, bias, i, together, is_bound)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        past, x = self.given(ins, "past"), ranked(ins, 0, 3)
        if past is None or x is None or not self.past_present_share_buffer:
            return each_once(ins, outs)
        # result 1 is the present state; x[1] new rows are written to it
        return cached_traffic(ins, outs, (past,), (1,), (self._past(ins).used, x[1]))


@frozen
class QkvAttention(AfterProjection, ProjectedAttention):
    """com.microsoft Attention after its projection.

    Shapes:  qkv[b, s, j]; else as com.microsoft Attention.
    Work:    as AttentionLike; z = j for the bias of the projection.
    Source:  onnxruntime contrib_ops/cuda/bert/attention.cc: a product by cuBLAS before it.
    """

    mnemonic = "qkv_attention"
    operands = (
        "qkv bias? mask_index? past? attention_bias? past_sequence_length? beam_width? "
        "cache_indirection?"
    )
    weights_at = ()
    cache_at = 3

    def visible(self) -> tuple[bool, int]:
        return self.unidirectional == 1, 0


@frozen
class DecoderMaskedSelfAttention(ProjectedAttention):
    """Attention of one new token with a required cache.

    Shapes:  as com.microsoft Attention with s = 1.
    Source:  ONNX Runtime ContribOperators, DecoderMaskedSelfAttention.
    """

    mnemonic = "decoder_masked_self_attention"
    onnx = "com.microsoft::DecoderMaskedSelfAttention"
    operands = (
        "input weights bias mask_index? past attention_bias? past_sequence_length beam_width? "
        "cache_indirection?"
    )


@frozen
class QAttention(ProjectedAttention):
    """Attention whose projection is a product of 8-bit integers.

    Shapes:  as com.microsoft Attention.
    Work:    as com.microsoft Attention; macs count as int8 although scores are in floating
             point: the faster of the two, so that a lower bound stays one.
    Source:  ONNX Runtime ContribOperators, QAttention.
    """

    mnemonic = "qattention"
    onnx = "com.microsoft::QAttention"
    operands = (
        "input weight bias input_scale weight_scale mask_index? input_zero_point? "
        "weight_zero_point? past?"
    )
    macs_in = DType.I8
    typed_by = (2, 3)  # bias and input_scale have the floating-point type of the result


@frozen
class QOrderedAttention(ProjectedAttention):
    """Attention on int8 in cuBLASLt layouts, with three separate projections.

    Shapes:  input[b, s, i], Q_weight[i, h*d], K_weight[i, h*d], V_weight[i, h*v] ->
             output[b, s, h*v].
    Work:    as com.microsoft Attention, in int8; requantizing between steps is left out.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, QOrderedAttention.
    """

    mnemonic = "qordered_attention"
    onnx = "com.microsoft::QOrderedAttention"
    operands = (
        "input scale_input scale_Q_gemm scale_K_gemm scale_V_gemm Q_weight K_weight V_weight "
        "scale_Q_weight scale_K_weight scale_V_weight Q_bias K_bias V_bias scale_QKT_gemm? "
        "scale_QKT_softmax? scale_values_gemm mask_index? past? attention_bias?"
    )

    weights_at = (5, 6, 7)  # Q_weight, K_weight, V_weight

    order_input: int = 0
    order_output: int = 0
    order_weight: int = 0

    def has_bias(self, ins: Inputs) -> bool:
        return True  # three required operands, none of them named ``bias``

    def widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim | None]:
        q, k, v = (either(axis(ranked(ins, i, 2), 1)) for i in self.weights_at)
        return q, v, q + k + v

    def infer(self, ins: Inputs) -> Types:
        return super().infer(ins)[:1]  # no present state


@frozen
class MultiHeadAttention(AttentionLike):
    """Attention after projections: separate, packed, or with keys and values from a cache.

    Shapes:  query[b, s, h*d], key[b, l, h*d], value[b, l, h*v], past_key[b, h, p, d] ->
             output[b, s, h*v], present_key[b, h, t, d], present_value[b, h, t, v],
             qk[b, h, s, t] with t = p + l. Or query[b, s, h, 3, d] with all three; or
             key[b, l, h, 2, d] with both; or key[b, h, l, d] and value likewise, computed before.
    Work:    as AttentionLike; adding the bias of the projections is left out. In a shared buffer
             whose past_sequence_length is not known t is the l new keys, a lower bound.
    Traffic: each operand once, each result once; of a shared buffer only the keys and values that
             are read and those that are new.
    Source:  ONNX Runtime ContribOperators, MultiHeadAttention.
    """

    mnemonic = "multi_head_attention"
    onnx = "com.microsoft::MultiHeadAttention"
    operands = (
        "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
        "past_sequence_length? cache_indirection?"
    )
    mask_at: ClassVar[tuple[int, int]] = (4, 5)  # masks and biases that are added to scores
    past_at: ClassVar[tuple[int, int]] = (6, 7)  # past keys and values
    cache_at = 6
    length_at = 8  # number of used keys in a shared buffer

    num_heads: Positive = 1
    mask_filter_value: float = -10000.0
    scale: float | None = None
    unidirectional: int = 0

    def visible(self) -> tuple[bool, int]:
        return self.unidirectional == 1, 0

    def shares_buffer(self, ins: Inputs) -> bool:
        """Return True if past and present are one buffer, with the extent of the past."""
        return has(ins, self.length_at)

    def _sizes(self, ins: Inputs) -> tuple[Dim, Dim, Dim, Dim, Dim]:
        """Return b, s, the number of new keys, d and v; new symbols for unknown ones."""
        h = self.num_heads
        q, k, v = ranked(ins, 0, 3, 5), ranked(ins, 1, 3, 4, 5), ranked(ins, 2, 3, 4)
        # packed queries, keys and values: [b, s, heads, 3, d]
        if q is not None and len(q) == 5:
            return q[0], q[1], q[1], q[4], q[4]
        b, s, width = either(axis(q, 0), axis(k, 0)), either(axis(q, 1)), axis(q, 2)
        if not has(ins, 1):
            # no key operand: the query operand holds queries, keys and values
            third = either() if width is None else width // (3 * h)
            return b, s, s, third, third
        d = None if width is None else width // h
        # packed keys and values: [b, keys, heads, 2, d]
        if k is not None and len(k) == 5:
            return b, s, k[1], either(d, k[4]), k[4]
        # keys and values that were computed before: [b, heads, keys, size]
        if (k is not None and len(k) == 4) or (v is not None and len(v) == 4):
            return b, s, either(axis(k, 2), axis(v, 2)), either(d, axis(k, 3)), either(axis(v, 3))
        of_v = axis(v, 2)  # separate keys and values: [b, keys, h*size]
        head_v = None if of_v is None else of_v // h
        return b, s, either(axis(k, 1), axis(v, 1)), either(d), either(head_v)

    def _past(self, ins: Inputs) -> Past:
        """Return the keys before this call, and the buffer that holds them."""
        first, second = self.past_at
        if not has(ins, first):
            return NO_PAST
        held = either(axis(ranked(ins, first, 4), 2), axis(ranked(ins, second, 4), 2))
        return Past(known_extent(ins, self.length_at) if self.shares_buffer(ins) else held, held)

    def infer(self, ins: Inputs) -> Types:
        q = shape_at(ins, 0)
        if q is not None and len(q) == 3 and isinstance(q[2], int) and q[2] % self.num_heads:
            raise ShapeError(f"width {q[2]} does not divide into {self.num_heads} heads")
        b, s, new, d, v = self._sizes(ins)
        past = self._past(ins)
        # an unknown number of past keys in a shared buffer is anything up to its extent
        held, used = past.held, data_extent(past.held) if past.used is None else past.used
        total = held if held != 0 and self.shares_buffer(ins) else held + new
        h, dtype = self.num_heads, first_dtype(ins, 0, 1)
        return (
            TensorType(dtype, (b, s, h * v)),
            TensorType(dtype, (b, h, total, d)),
            TensorType(dtype, (b, h, total, v)),
            TensorType(dtype, (b, h, s, used + new)),
        )

    def scores(self, ins: Inputs) -> Scores | None:
        if shape_at(ins, 0) is None or any(
            has(ins, i) and shape_at(ins, i) is None for i in (1, 2)
        ):
            return None
        b, s, new, d, v = self._sizes(ins)
        past = self._past(ins)
        t = past.least + new
        u = unmasked_pairs(s, t, past.least, None, 0 if self.unidirectional else None)
        x = SOFTMAX_ALU + sum(has(ins, i) for i in self.mask_at)
        return Scores(b, self.num_heads, s, t, d, v, u, x, is_bound=past.used is None)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        if not has(ins, self.past_at[0]) or not self.shares_buffer(ins):
            return each_once(ins, outs)
        _, _, new, _, _ = self._sizes(ins)
        # results 1 and 2 are the present keys and values
        return cached_traffic(ins, outs, self.past_at, (1, 2), (self._past(ins).used, new))


@frozen
class DecoderMaskedMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention of one new token.

    Shapes:  as MultiHeadAttention with s = 1.
    Source:  ONNX Runtime ContribOperators, DecoderMaskedMultiHeadAttention.
    """

    mnemonic = "decoder_masked_multi_head_attention"
    onnx = "com.microsoft::DecoderMaskedMultiHeadAttention"
    operands = (
        "query key? value? mask_index? attention_bias? past_key? past_value? "
        "past_sequence_length? beam_width? cache_indirection? bias?"
    )
    mask_at = (3, 4)
    past_at = (5, 6)
    cache_at = 5
    length_at = 7

    output_qk: int = 0
    past_present_share_buffer: int = 0

    def shares_buffer(self, ins: Inputs) -> bool:
        return bool(self.past_present_share_buffer)
