"""Attention over sequences packed without padding, and over windows of long sequences."""

from __future__ import annotations

from dataclasses import replace

from ... import (
    Dim,
    DType,
    Inputs,
    Positive,
    Positives,
    Shape,
    Types,
    first_dtype,
    frozen,
    has,
    single,
    tensor,
)
from ...problem import Attention as Problem
from .attention import (
    PROJECTED_SCORES,
    SCORES,
    SOFTMAX_ALU,
    AttentionLike,
    Scores,
    axis,
    either,
    ranked,
)
from .score_pairs import unmasked_pairs


class AfterProjection(AttentionLike):
    """Attention after its projection: queries, keys and values are side by side in one operand."""

    onnx = ""  # ONNX has no such operator: only a rewrite creates it
    formulas = SCORES

    def _joint(self, ins: Inputs) -> Dim | None:
        """Return the width of queries, keys and values together, here of operand 0."""
        return axis(ranked(ins, 0, 2, 3), -1)

    def scores(self, ins: Inputs) -> Scores | None:
        variables = super().scores(ins)
        # the projection, i by j, is another node
        return None if variables is None else replace(variables, i=0, j=0)


class Packed(AttentionLike):
    """Attention of tokens packed without padding, whose sequences are in ``token_offset``."""

    def _offsets(self, ins: Inputs) -> Shape | None:
        """Return the shape [b, t] of token_offset: b sequences of at most t tokens."""
        return ranked(ins, self.signature.names.index("token_offset"), 2)

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        """Return the extents with sequences of equal lengths; None if it projects its input."""
        offsets, n = self._offsets(ins), self.scores(ins)
        if offsets is None or n is None or self.after_projection() is not None:
            return None
        # n.t is the mean length of a sequence, of its queries as of its keys; query heads and
        # key/value heads are equally many
        return Problem(offsets[0], n.h, n.h, n.t, n.t, n.d, n.v)


@frozen
class PackedMultiHeadAttention(Packed):
    """MultiHeadAttention over packed tokens.

    Shapes:  query[n, h*d], key[n, h*d], value[n, h*v], or query[n, h, 3, d] with all three;
             token_offset[b, t] -> output[n, h*v].
    Work:    as AttentionLike with one sequence of n tokens, each with t = n//b keys: the fewest
             there can be in b sequences, whose lengths are content of an operand.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, PackedMultiHeadAttention.
    """

    mnemonic = "packed_multi_head_attention"
    onnx = "com.microsoft::PackedMultiHeadAttention"
    operands = "query key? value? bias? token_offset cumulative_sequence_length attention_bias?"
    formulas = SCORES

    num_heads: Positive = 1
    mask_filter_value: float = -10000.0
    scale: float | None = None

    def _widths(self, ins: Inputs) -> tuple[Dim, Dim]:
        """Return the widths of queries and of values over all heads."""
        q, v = ranked(ins, 0, 2, 4), axis(ranked(ins, 2, 2), 1) if has(ins, 2) else None
        if q is not None and len(q) == 4:
            # [n, h, 3, d]: keys and values are as wide as queries
            return q[1] * q[3], q[1] * q[3]
        width = either(axis(q, 1))
        return width, either(v) if has(ins, 2) else width

    def infer(self, ins: Inputs) -> Types:
        n = either(axis(ranked(ins, 0, 2, 4), 0))
        return single(first_dtype(ins, 0, 1), (n, self._widths(ins)[1]))

    def scores(self, ins: Inputs) -> Scores | None:
        q, offsets = tensor(ins, 0).shape, self._offsets(ins)
        if q is None or offsets is None:
            return None
        (width, of_v), h, n, b = self._widths(ins), self.num_heads, q[0], offsets[0]
        # pairs are the sum of the squared lengths, which is least for equal lengths: one sequence
        # has exactly n keys per token, several have at least n//b. Operand 6 is attention_bias
        t, x = n // b, SOFTMAX_ALU + int(has(ins, 6))
        return Scores(1, h, n, t, width // h, of_v // h, n * t, x, is_bound=b != 1)


@frozen
class PackedAttention(Packed):
    """com.microsoft Attention over packed tokens.

    Shapes:  input[n, i], weights[i, j], token_offset[b, t] -> output[n, h*v].
    Work:    as PackedMultiHeadAttention with the projection; z = j for its bias.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, PackedAttention.
    """

    mnemonic = "packed_attention"
    onnx = "com.microsoft::PackedAttention"
    operands = "input weights bias token_offset cumulative_sequence_length attention_bias?"
    formulas = PROJECTED_SCORES

    num_heads: Positive = 1
    qkv_hidden_sizes: Positives = ()
    scale: float | None = None

    def after_projection(self) -> type[AttentionLike] | None:
        return PackedQkvAttention if "weights" in self.signature.names else None

    def _joint(self, ins: Inputs) -> Dim | None:
        """Return the width of queries, keys and values together."""
        return axis(ranked(ins, 1, 2), 1)

    def _widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim]:
        """Return the widths of queries and values over all heads, and of Q, K and V together."""
        joint = either(
            self._joint(ins), axis(ranked(ins, self.signature.names.index("bias"), 1), 0)
        )
        if len(self.qkv_hidden_sizes) == 3:
            return self.qkv_hidden_sizes[0], self.qkv_hidden_sizes[2], joint
        return joint // 3, joint // 3, joint

    def infer(self, ins: Inputs) -> Types:
        n = either(axis(ranked(ins, 0, 2), 0))
        return single(first_dtype(ins, 0, 1), (n, self._widths(ins)[1]))

    def scores(self, ins: Inputs) -> Scores | None:
        x, offsets = ranked(ins, 0, 2), self._offsets(ins)
        if x is None or offsets is None or self._joint(ins) is None:
            return None
        (q, v, joint), h, (n, i), b = self._widths(ins), self.num_heads, x, offsets[0]
        ops = SOFTMAX_ALU + int(has(ins, self.signature.names.index("attention_bias")))
        # the fewest keys per token, exact for one sequence
        t = n // b
        # z = joint: the bias of the projection, which is always given
        return Scores(1, h, n, t, q // h, v // h, n * t, ops, 1, joint, i, joint, b != 1)


@frozen
class PackedQkvAttention(AfterProjection, PackedAttention):
    """com.microsoft PackedAttention after its projection.

    Shapes:  qkv[n, j], token_offset[b, t] -> output[n, h*v].
    Work:    as PackedMultiHeadAttention; z = j for the bias of the projection.
    Traffic: each operand once, the result once.
    Source:  onnxruntime contrib_ops/cuda/bert/packed_attention.cc: a product by cuBLAS before it.
    """

    mnemonic = "packed_qkv_attention"
    operands = "qkv bias token_offset cumulative_sequence_length attention_bias?"


@frozen
class LongformerAttention(AttentionLike):
    """Attention to a window on both sides of each token, and to a few global tokens.

    Shapes:  input[b, s, i], weight[i, 3*i] -> output[b, s, i].
    Work:    as AttentionLike with the projection and t = 2*window + 1 keys per query, fewer at
             both ends (u, ``effective_mac``). Global tokens, their projection and their scores
             are left out, so that counts are a bound: how many there are is content of an operand.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, LongformerAttention; arXiv:2004.05150.
    """

    mnemonic = "longformer_attention"
    onnx = "com.microsoft::LongformerAttention"
    operands = "input weight bias mask global_weight global_bias global"
    formulas = PROJECTED_SCORES
    weight_at = 1

    num_heads: Positive = 1
    window: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        x = ranked(ins, 0, 3)
        return single(tensor(ins, 0).dtype, x or (either(), either(), either()))

    def scores(self, ins: Inputs) -> Scores | None:
        x, w = ranked(ins, 0, 3), tensor(ins, self.weight_at).shape
        if x is None:
            return None
        (b, s, i), h, t = x, self.num_heads, 2 * self.window + 1
        # queries, keys and values side by side
        joint = 3 * i if w is None or len(w) != 2 else w[1]
        d = i // h
        u = unmasked_pairs(s, s, 0, self.window, self.window)
        # x: the mask adds one operation per score; z = joint: the bias of the projection
        return Scores(b, h, s, t, d, d, u, SOFTMAX_ALU + 1, 1, joint, i, joint, is_bound=True)


@frozen
class QOrderedLongformerAttention(LongformerAttention):
    """LongformerAttention on int8 in cuBLASLt layouts.

    Work:    as LongformerAttention, in int8.
    Source:  ONNX Runtime ContribOperators, QOrderedLongformerAttention.
    """

    mnemonic = "qordered_longformer_attention"
    onnx = "com.microsoft::QOrderedLongformerAttention"
    operands = (
        "input scale_input weight scale_weight bias scale_bias scale_qkv_gemm mask global_weight "
        "scale_global_weight global_bias scale_global_gemm global scale_output"
    )
    weight_at = 2
    macs_in = DType.I8

    order_global_weight: int = 0
    order_input: int = 0
    order_output: int = 0
    order_weight: int = 0
