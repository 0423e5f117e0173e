"""The operator without a definition."""

from __future__ import annotations

from .. import (
    UNKNOWN,
    Dim,
    Inputs,
    Kind,
    Natural,
    Op,
    Parts,
    Traffic,
    Types,
    Work,
    each_once,
    frozen,
)


@frozen
class Opaque(Op):
    """An operator without definition, by its ONNX name.

    Shapes:  not known; a declared type of an output stands.
    Work:    a formula that users registered; without one not known, which is not zero.
    Traffic: each operand and result once if users registered a formula; else the results alone,
             a lower bound: it may read no more than a row of a table.
    Source:  none.
    """

    mnemonic = "opaque"
    operands = "inputs*"
    least_results = 0
    kind = Kind.OPAQUE
    is_counted = False
    name: str = ""
    num_outputs: Natural = 0
    flop: Dim | None = None

    def infer(self, ins: Inputs) -> Types:
        return (UNKNOWN,) * self.num_outputs

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        return None if self.flop is None else Work(alu=self.flop)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        if self.flop is not None:
            return whole
        return Traffic(0, whole.write_bytes, is_bound=True)

    def read_parts(self, ins: Inputs) -> Parts:
        # nothing is certain to be read of an operand of which nothing is known
        return {} if self.flop is not None else dict.fromkeys(range(len(ins)), 0)
