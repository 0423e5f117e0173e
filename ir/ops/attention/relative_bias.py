"""Biases of attention scores that depend on the distance of two positions."""

from __future__ import annotations

from ... import (
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positive,
    TensorType,
    Traffic,
    Types,
    dim_min,
    dim_sum,
    first_dtype,
    frozen,
    has,
    single,
    tensor,
)
from ..convolution.window import result_shape
from .attention import axis, either, ranked
from .contrib_attention import known_extent


@frozen
class RelativePositionBias(Op):
    """Lookup of a bias for the bucket of each distance between query and key.

    Shapes:  bias_table[n, h] -> [1, h, s, t] with s and t the contents of the length operands.
    Work:    {integer} to find the bucket of each pair (difference, sign, comparison, scale,
             limit, offset); the logarithm of far distances is left out.
    Traffic: as much of the table as is looked up, at most all of it; the result once.
    Source:  ONNX Runtime ContribOperators, RelativePositionBias; arXiv:1910.10683 section 2.1.
    """

    mnemonic = "relative_position_bias"
    onnx = "com.microsoft::RelativePositionBias"
    operands = "bias_table query_length key_length"
    kind = Kind.GATHER
    formulas = {"integer": "6*s*t"}

    is_bidirectional: int = 0
    max_distance: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        heads = either(axis(ranked(ins, 0, 2), 1))
        s, t = either(known_extent(ins, 1)), either(known_extent(ins, 2))
        return single(tensor(ins, 0).dtype, (1, heads, s, t))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = result_shape(outs)
        if shape is None or len(shape) != 4:
            return {}
        _, _, s, t = shape
        return {"s": s, "t": t}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        table, out = tensor(ins, 0).nbytes, outs[0].nbytes if isinstance(outs[0], TensorType) else 0
        if table is None or out is None:
            return Traffic(is_bound=True)
        lengths = [tensor(ins, i).nbytes or 0 for i in (1, 2)]
        # a lookup reads one element of the table for each element of the result
        return Traffic(dim_sum((dim_min(table, out), *lengths)), out)


@frozen
class GatedRelativePositionBias(Op):
    """Relative position bias scaled by gates computed from the queries.

    Shapes:  query_layer[b, s, h*d], rel_pos[1, h, s, s], weight[d, m] -> [b, h, s, s]; packed
             queries [n, h*d] with token_offset[b, s].
    Work:    {mac}; {alu}: query bias, sums of halves, gates,
             scaling of the row; {sfu}, the sigmoids of two gates.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime ContribOperators, GatedRelativePositionBias; arXiv:2110.13900 section 3.
    """

    mnemonic = "gated_relative_position_bias"
    onnx = "com.microsoft::GatedRelativePositionBias"
    operands = "query_layer query_bias rel_pos weight bias eco_a token_offset?"
    kind = Kind.MATMUL
    # alu per row: d for the query bias, m for the sums of halves, 8 for the gates, s to scale the
    # row. sfu: two sigmoids, each of an exponential and a quotient
    formulas = {"mac": "b*h*s*d*m", "alu": "b*h*s*(d + m + 8 + s)", "sfu": "4*b*h*s"}

    num_heads: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        q, table = ranked(ins, 0, 2, 3), ranked(ins, 2, 4)
        # packed queries have no batch axis: token_offset[b, s] does
        of_batch = ranked(ins, 6, 2) if has(ins, 6) else q  # operand 6 is token_offset
        b, s = either(axis(of_batch, 0)), either(axis(of_batch, 1), axis(table, 2))
        dtype = first_dtype(ins, 0, 2)
        return single(dtype, (b, self.num_heads, s, s))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape, w = result_shape(outs), ranked(ins, 3, 2)
        if shape is None or w is None or tensor(ins, 0).shape is None:
            return {}
        return {"b": shape[0], "h": shape[1], "s": shape[2], "d": w[0], "m": w[1]}
