"""The operator without a definition."""

from __future__ import annotations

from .. import UNKNOWN, Inputs, Kind, Natural, Op, Traffic, Types, each_once, frozen


@frozen
class Opaque(Op):
    """An operator without definition, by its ONNX name.

    Shapes:  not known; a declared type of an output stands.
    Work:    not known, which is not zero.
    Traffic: each operand and result once, as a bound.
    Source:  none.
    """

    mnemonic = "opaque"
    operands = ("inputs*",)
    least_results = 0
    kind = Kind.OPAQUE
    is_counted = False
    name: str = ""
    num_outputs: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        return (UNKNOWN,) * self.num_outputs

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        return Traffic(whole.read_bytes, whole.write_bytes, is_bound=True)
