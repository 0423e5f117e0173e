"""Selective state spaces over packed sequences: Mamba and Mamba-2."""

from __future__ import annotations

from ... import (
    Extents,
    Inputs,
    Kind,
    Op,
    Positive,
    TensorType,
    Types,
    first_dtype,
    frozen,
    shape_at,
    tensor,
)
from ...problem import LinearAttention
from ..attention.attention import axis, either


@frozen
class StateSpaceScan(Op):
    """``S = exp(dt*A) * S + dt * x (x) B``, ``y = S @ C + D * x`` for each token and head.

    Shapes:  x[n, h*p], dt[n, h], B[n, g*s], C[n, g*s], lengths[b], state[b, h, p, s], A[h] or
             [h*p, s], D[h], dt_bias[h] -> y[n, h*p], state as it was.
    Work:    with one decay a head (A[h], Mamba-2) {mac}: the outer product and the read;
             {alu}: the decay of the state, and dt and D; {sfu}: softplus and exponential.
             With a decay for each element (Mamba) all of it is on the vector unit. The recurrence
             token by token; a chunked kernel does more macs.
    Traffic: each operand once, each result once; the state stays on chip between tokens.
    Source:  arXiv:2312.00752 algorithm 2; arXiv:2405.21060 section 3.
    """

    mnemonic = "state_space_scan"
    operands = "x dt B C lengths? state A D? dt_bias?"
    kind = Kind.ATTENTION
    formulas = {
        # m is 1 for Mamba-2, 0 for Mamba: its outer product and read are 4*s vector operations
        "mac": "2*n*h*p*s*m",
        # s for the decay, 2 for the products dt*x and D*x; the sum of s products in the read begins
        # with D*x, which adds no operation
        "alu": "n*h*p*(s + 2 + 4*s*(1 - m))",
        "sfu": "n*h*(2 + e)",
    }

    heads: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        return TensorType(first_dtype(ins, 0), shape_at(ins, 0)), tensor(ins, 5)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, state, decay = (shape_at(ins, i) for i in (0, 5, 6))
        if x is None or state is None or decay is None:
            return {}
        s = either(axis(state, 3))
        is_scalar = len(decay) == 1
        p = x[1] // self.heads
        return {
            "n": x[0],
            "h": self.heads,
            "p": p,
            "s": s,
            "m": int(is_scalar),
            # exponentials per head for a decay of each element, added to the 2 of `sfu`
            "e": 0 if is_scalar else s * p,
        }

    def problem(self, ins: Inputs, outs: Types) -> LinearAttention | None:
        """Return the problem of Mamba-2 (one decay per head); Mamba has no matrix products."""
        size, width_of_b = self.extents(ins, outs), axis(shape_at(ins, 2), 1)
        sequences = axis(shape_at(ins, 5), 0)
        if not size or not size["m"] or width_of_b is None or sequences is None:
            return None
        # B is [n, g*s], as keys shared by the heads of a group
        groups = width_of_b // size["s"]
        return LinearAttention(
            sequences=sequences,
            tokens=size["n"],
            heads=size["h"],
            key_heads=groups,
            key_dim=size["s"],
            value_dim=size["p"],
            is_delta=False,
        )
