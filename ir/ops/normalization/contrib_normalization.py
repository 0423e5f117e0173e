"""ONNX Runtime normalizations fused with preceding operators."""

from __future__ import annotations

from ... import (
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
    count,
    dim_sum,
    element_count,
    frozen,
    has,
    shape_at,
    tensor,
)
from ...problem import Rows, Span
from ...traffic import rows_read
from .normalization import STATISTICS_ALU, Normalization

RMS_ALU = 4
"""Operations per element of RMSNormalization: square, sum, product with the root, one with
gamma."""
LAYER_NORM_ALU = STATISTICS_ALU + 2
"""Operations per element without the addition of beta."""


@frozen
class SkipLayerNormalization(Normalization):
    """LayerNormalization of ``input + skip + bias``.

    Shapes:  input[r..., h], skip (broadcast to input), gamma, beta, bias[h] -> output like input,
             mean and inv_std_var[r..., 1], input_skip_bias_sum like input.
    Work:    a = 7 with skip, 1 more for each of beta and bias; {sfu}.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime contrib SkipLayerNormalization-1.
    """

    mnemonic = "skip_layer_norm"
    onnx = "com.microsoft::SkipLayerNormalization"
    operands = "input skip gamma beta? bias?"
    epsilon: float = 1e-12

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        rows = None if x.shape is None else (*x.shape[:-1], 1)
        statistics = TensorType(DType.F32, rows)
        y = TensorType(x.dtype, x.shape)
        return y, statistics, statistics, y

    def alu(self, ins: Inputs) -> int:
        # the addition of skip, then that of beta and of bias if given
        return 1 + LAYER_NORM_ALU + has(ins, 3) + has(ins, 4)


class SkipSimplifiedLayerNormalization(SkipLayerNormalization):
    """RMSNormalization of ``input + skip + bias``.

    Shapes:  as SkipLayerNormalization, without beta.
    Work:    a = 5 with skip, 1 more for bias; {sfu}.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime contrib SkipSimplifiedLayerNormalization-1.
    """

    mnemonic = "skip_rms_norm"
    onnx = "com.microsoft::SkipSimplifiedLayerNormalization"
    operands = "input skip gamma bias?"

    def alu(self, ins: Inputs) -> int:
        return 1 + RMS_ALU + has(ins, 3)


@frozen
class GroupNorm(Normalization):
    """Group normalization, channels last by default, with an optional swish.

    Shapes:  X[n, d..., c], gamma, beta[c] -> same shape; r = n*groups.
    Work:    a = 7; with ``activation`` 10 and two special functions per element: {sfu}.
    Traffic: each operand and the result once.
    Source:  ONNX Runtime contrib GroupNorm-1.
    """

    mnemonic = "group_norm_nhwc"
    onnx = "com.microsoft::GroupNorm"
    span = Span.GROUP
    operands = "X gamma beta"
    formulas = {"alu": "a*e", "sfu": "r + s*e"}
    activation: int = 0
    groups: Positive = 1
    channels_last: int = 1
    epsilon: float = 1e-5

    def alu(self, ins: Inputs) -> int:
        # products with the root and gamma, the addition of beta; a swish is three operations
        return STATISTICS_ALU + 3 + (3 if self.activation else 0)

    def rows(self, shape: Shape | None) -> Dim:
        return shape[0] * self.groups if shape else 0

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {**super().extents(ins, outs), "s": 2 if self.activation else 0}


@frozen
class SkipGroupNorm(GroupNorm):
    """GroupNorm of ``X + skip + bias``, and that sum.

    Shapes:  X[n, d..., c], gamma, beta[c], skip like X or [n, c], bias[c] -> Y, S like X.
    Work:    as GroupNorm, and an addition per element for skip and for bias.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime contrib SkipGroupNorm-1.
    """

    mnemonic = "skip_group_norm"
    onnx = "com.microsoft::SkipGroupNorm"
    operands = "X gamma beta skip bias?"

    def infer(self, ins: Inputs) -> Types:
        return super().infer(ins) * 2

    def alu(self, ins: Inputs) -> int:
        return super().alu(ins) + 1 + has(ins, 4)


@frozen
class EmbedLayerNormalization(Op):
    """LayerNormalization of the sum of word, position and segment embeddings.

    Shapes:  input_ids, segment_ids[b, s]; word_embedding[v, h], position_embedding[p, h],
             segment_embedding[g, h] -> output[b, s, h], mask_index[b], embedding_sum[b, s, h].
    Work:    {alu} with e = b*s*h and a = 7, 1 more for position, 1 for segment; {sfu} = b*s.
    Traffic: identifiers, mask, gamma and beta once; of a table the rows taken, at most one for
             each identifier and at most all; the results once.
    Source:  ONNX Runtime contrib EmbedLayerNormalization-1.
    """

    mnemonic = "embed_layer_norm"
    onnx = "com.microsoft::EmbedLayerNormalization"
    operands = (
        "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta "
        "mask? position_ids?"
    )
    kind = Kind.NORMALIZATION
    formulas = {"alu": "a*e", "sfu": "r"}
    epsilon: float = 1e-12
    mask_index_type: int = 0

    def infer(self, ins: Inputs) -> Types:
        ids, words = shape_at(ins, 0), tensor(ins, 2)
        hidden = words.shape[1:] if words.shape else shape_at(ins, 5)
        y = TensorType(words.dtype, None if ids is None or hidden is None else (*ids, *hidden))
        return y, TensorType(DType.I32, None if ids is None else ids[:1]), y

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # beta and the position embedding; the segment embedding if given
        a = LAYER_NORM_ALU + 2 + has(ins, 4)
        return {"e": count(outs[0]), "a": a, "r": count(tensor(ins, 0))}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        e, _, r = self.extents(ins, outs).values()
        return Rows(rows=r, elements=e)

    def read_parts(self, ins: Inputs) -> Parts:
        rows = self._rows(ins)
        others = {i: tensor(ins, i).nbytes or 0 for i in range(len(ins)) if has(ins, i)}
        return {**others, **{i: part or 0 for i, part in rows.items()}} if rows else {}

    def _rows(self, ins: Inputs) -> dict[int, Dim | None]:
        """Return bytes of the rows read of each table, None if unknown; empty without a shape."""
        ids = shape_at(ins, 0)
        if ids is None:
            return {}
        # without position_ids all sequences share the positions 0 to s - 1
        n_rows = element_count(ids)
        positions = n_rows if has(ins, 8) or not ids else ids[-1]
        tables = ((2, n_rows), (3, positions), (4, n_rows))
        return {i: rows_read(tensor(ins, i), n) for i, n in tables if has(ins, i)}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # of the tables, operands 2 to 4, only some rows are read
        base = super().traffic(tuple(v for i, v in enumerate(ins) if i not in (2, 3, 4)), outs)
        rows = self._rows(ins)
        if not rows:
            return Traffic(base.read_bytes, base.write_bytes, is_bound=True)
        read = dim_sum([base.read_bytes, *(b for b in rows.values() if b is not None)])
        return Traffic(read, base.write_bytes, base.is_bound or None in rows.values())


@frozen
class GatedRMSNorm(Normalization):
    """RMSNormalization of X times an activation of ``gate``.

    Shapes:  X[r..., h], scale[h], gate like X -> Y like X.
    Work:    a = 8: RMSNormalization 4, swish of the gate 3, product; {sfu}.
    Traffic: each operand and the result once.
    Source:  ONNX Runtime contrib GatedRMSNorm-1.
    """

    mnemonic = "gated_rms_norm"
    onnx = "com.microsoft::GatedRMSNorm"
    operands = "X scale gate"
    formulas = {"alu": "a*e", "sfu": "r + 2*e"}
    epsilon: float = 1e-5
    activation: str = "silu"

    def alu(self, ins: Inputs) -> int:
        # swish of the gate and the product with it
        return RMS_ALU + 4
