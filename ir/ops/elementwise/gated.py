"""Activations of one half of a product's result, times the other half."""

from __future__ import annotations

from ... import Extents, Inputs, Op, Types, count, frozen, single, tensor
from ..contraction.epilogue import activation_cost


@frozen
class GatedActivation(Op):
    """``activation(gate) * up`` of two halves of one tensor, as from a merged product.

    Shapes:  X[..., 2*h] -> Y[..., h].
    Work:    {alu}, {sfu}: the activation and a product for each of e elements of the result.
    Traffic: X and the result once.
    Source:  arXiv:2002.05202; ``silu_and_mul`` of vLLM.
    """

    mnemonic = "gated_activation"
    operands = "X"
    formulas = {"alu": "e*(x + 1)", "sfu": "e*y"}

    activation: str = "silu"

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if not x.shape:
            return single(x.dtype, None)
        return single(x.dtype, (*x.shape[:-1], x.shape[-1] // 2))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        alu, sfu = activation_cost(self.activation)
        return {"e": count(outs[0]), "x": alu, "y": sfu}
