"""Attention over sequences packed without padding, and over windows of long sequences."""

from __future__ import annotations

from typing import ClassVar

from ... import (
    Dim,
    DType,
    Inputs,
    Positive,
    Positives,
    TensorType,
    Types,
    first_dtype,
    frozen,
    has,
    tensor,
)
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


def fewest_keys(n: Dim, b: Dim) -> Dim:
    """Return the minimum keys per token if ``n`` tokens are in ``b`` sequences: equal lengths."""
    return n // b


@frozen
class PackedMultiHeadAttention(AttentionLike):
    """MultiHeadAttention over packed tokens.

    Shapes:  query[n, h*d], key[n, h*d], value[n, h*v], or query[n, h, 3, d] with all three;
             token_offset[b, t] -> output[n, h*v].
    Work:    as AttentionLike with one sequence of n tokens, each with t = n//b keys: the fewest
             there can be in b sequences, whose lengths are content of an operand.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, PackedMultiHeadAttention.
    """

    mnemonic = "packed_multi_head_attention"
    onnx = ("com.microsoft::PackedMultiHeadAttention",)
    operands = (
        *("query", "key?", "value?", "bias?", "token_offset", "cumulative_sequence_length"),
        "attention_bias?",
    )
    formulas = SCORES

    num_heads: Positive = 1
    mask_filter_value: float = -10000.0
    scale: float | None = None

    def _widths(self, ins: Inputs) -> tuple[Dim, Dim]:
        q, v = ranked(ins, 0, 2, 4), axis(ranked(ins, 2, 2), 1) if has(ins, 2) else None
        if q is not None and len(q) == 4:
            return q[1] * q[3], q[1] * q[3]
        width = either(axis(q, 1))
        return width, either(v) if has(ins, 2) else width

    def infer(self, ins: Inputs) -> Types:
        n = either(axis(ranked(ins, 0, 2, 4), 0))
        return (TensorType(first_dtype(ins, 0, 1), (n, self._widths(ins)[1])),)

    def scores(self, ins: Inputs) -> Scores | None:
        q, offsets = tensor(ins, 0).shape, ranked(ins, 4, 2)
        if q is None or offsets is None:
            return None
        (width, of_v), h, n, b = self._widths(ins), self.num_heads, q[0], offsets[0]
        t, x = fewest_keys(n, b), SOFTMAX_ALU + int(has(ins, 6))
        return Scores(1, h, n, t, width // h, of_v // h, n * t, x, is_bound=b != 1)


@frozen
class PackedAttention(AttentionLike):
    """com.microsoft Attention over packed tokens.

    Shapes:  input[n, i], weights[i, j], token_offset[b, t] -> output[n, h*v].
    Work:    as PackedMultiHeadAttention with the projection; z = j for its bias.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, PackedAttention.
    """

    mnemonic = "packed_attention"
    onnx = ("com.microsoft::PackedAttention",)
    operands = (
        *("input", "weights", "bias", "token_offset", "cumulative_sequence_length"),
        "attention_bias?",
    )
    formulas = PROJECTED_SCORES

    num_heads: Positive = 1
    qkv_hidden_sizes: Positives = ()
    scale: float | None = None

    def _widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim]:
        joint = either(axis(ranked(ins, 1, 2), 1), axis(ranked(ins, 2, 1), 0))
        if len(self.qkv_hidden_sizes) == 3:
            return self.qkv_hidden_sizes[0], self.qkv_hidden_sizes[2], joint
        return joint // 3, joint // 3, joint

    def infer(self, ins: Inputs) -> Types:
        n = either(axis(ranked(ins, 0, 2), 0))
        return (TensorType(first_dtype(ins, 0, 1), (n, self._widths(ins)[1])),)

    def scores(self, ins: Inputs) -> Scores | None:
        x, w, offsets = ranked(ins, 0, 2), ranked(ins, 1, 2), ranked(ins, 3, 2)
        if x is None or w is None or offsets is None:
            return None
        (q, v, joint), h, (n, i), b = self._widths(ins), self.num_heads, x, offsets[0]
        t, ops = fewest_keys(n, b), SOFTMAX_ALU + int(has(ins, 5))
        return Scores(1, h, n, t, q // h, v // h, n * t, ops, 1, joint, i, joint, b != 1)


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
    onnx: ClassVar[tuple[str, ...]] = ("com.microsoft::LongformerAttention",)
    operands: ClassVar[tuple[str, ...]] = (
        *("input", "weight", "bias", "mask", "global_weight", "global_bias", "global"),
    )
    formulas = PROJECTED_SCORES
    weight_at: ClassVar[int] = 1

    num_heads: Positive = 1
    window: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        x = ranked(ins, 0, 3)
        return (TensorType(tensor(ins, 0).dtype, x or (either(), either(), either())),)

    def scores(self, ins: Inputs) -> Scores | None:
        x, w = ranked(ins, 0, 3), tensor(ins, self.weight_at).shape
        if x is None:
            return None
        (b, s, i), h, t = x, self.num_heads, 2 * self.window + 1
        joint = 3 * i if w is None or len(w) != 2 else w[1]
        d = i // h
        u = unmasked_pairs(s, s, 0, self.window, self.window)
        return Scores(b, h, s, t, d, d, u, SOFTMAX_ALU + 1, 1, joint, i, joint, is_bound=True)


@frozen
class QOrderedLongformerAttention(LongformerAttention):
    """LongformerAttention on int8 in cuBLASLt layouts.

    Work:    as LongformerAttention, in int8.
    Source:  ONNX Runtime ContribOperators, QOrderedLongformerAttention.
    """

    mnemonic = "qordered_longformer_attention"
    onnx = ("com.microsoft::QOrderedLongformerAttention",)
    operands = (
        *("input", "scale_input", "weight", "scale_weight", "bias", "scale_bias"),
        *("scale_qkv_gemm", "mask", "global_weight", "scale_global_weight", "global_bias"),
        *("scale_global_gemm", "global", "scale_output"),
    )
    weight_at = 2
    macs_in = DType.I8

    order_global_weight: int = 0
    order_input: int = 0
    order_output: int = 0
    order_weight: int = 0
