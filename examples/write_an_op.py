"""Teach perfc an operator of your own: its shapes, its work and its traffic.

    python examples/write_an_op.py

A model calls ``my.company::SparseMix``, which nobody knows: it is analyzed all the same, but
counts are only lower bounds. Then the operator is defined, and the counts are exact.
Prints both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import onnx

import perfc
from perfc.ir.cost import Work
from perfc.ir.graph import Inputs
from perfc.ir.op import Kind, Op, Types, count, tensor
from perfc.ir.record import frozen
from perfc.ir.symbolic.dim import Dim
from perfc.ir.tensors.types import TensorType

TEXT = """
<ir_version: 9, opset_import: ["" : 17, "my.company" : 1]>
mix (float[batch, 4096] x, float[4096, 1024] w) => (float[batch, 1024] y) {
    h = my.company.SparseMix <keep: int = 64> (x, w)
    y = Relu (h)
}
"""


def show(title: str) -> None:
    """Analyze the model and print what is known of its cost."""
    report = perfc.analyze(onnx.parser.parse_model(TEXT), "a100", dims={"batch": 32})
    cost = report.cost
    print(f"{title}: mac {cost.work.mac}, traffic {cost.traffic.nbytes} bytes")
    for node, c in cost.nodes.items():
        print(f"  {node.loc.op_type:10} {c.tier.value:10} -> {node.results[0].type}")


def define() -> None:
    """Register the operator; the class statement does it."""

    @frozen
    class SparseMix(Op):
        """Matrix product that reads the ``keep`` largest elements of each row of X.

        Shapes:  X[m, k], W[k, n] -> Y[m, n].
        Work:    mac = m*n*t with t = ``keep``; finding them is alu = m*k comparisons.
        Traffic: each operand once, Y once.
        Source:  this example.
        """

        mnemonic = "sparse_mix"
        onnx = "my.company::SparseMix"
        operands = "X W"
        kind = Kind.MATMUL
        formulas: ClassVar[Mapping[str, str]] = {"mac": "m*n*t", "alu": "m*k"}

        keep: int = 64

        def infer(self, ins: Inputs) -> Types:
            x, w = tensor(ins, 0), tensor(ins, 1)
            if x.shape is None or w.shape is None:
                return (TensorType(x.dtype, None),)
            return (TensorType(x.dtype, (x.shape[0], w.shape[1])),)

        def work(self, ins: Inputs, outs: Types) -> Work | None:
            if not self.extents(ins, outs):
                return None
            return Work(mac=count(outs[0]) * self.keep, alu=count(tensor(ins, 0)))

        def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
            x, w = tensor(ins, 0).shape, tensor(ins, 1).shape
            if x is None or w is None:
                return {}
            return {"m": x[0], "k": x[1], "n": w[1], "t": self.keep}


def main() -> None:
    """Analyze without the operator and with it."""
    show("unknown operator, lower bounds")
    define()
    show("operator defined")


if __name__ == "__main__":
    main()
