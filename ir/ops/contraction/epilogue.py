"""Operations that a fused activation adds per element of a product or convolution.

Numbers per activation are in the TOML file next to this module.
"""

from __future__ import annotations

from typing import ClassVar

from perfc.common.fitted import data_next_to

from ... import Inputs, Op, frozen, has

PerElement = tuple[int, int]
"""Operations per element on the vector unit and on the special-function unit."""

ACTIVATIONS: dict[str, PerElement] = {
    name: (alu, sfu) for name, (alu, sfu) in data_next_to(__file__).items()
}
"""Operations counted from the definitions in ONNX RNN-22, HardSwish-22, Gelu-20 and ONNX Runtime's
contrib operators; an exponential, tanh, erf, logarithm or quotient is one special function.
"""


@frozen
class Epilogue(Op):
    """An operator with additional operations on each element of its result before it is written."""

    fused_alu = 0
    """Operations per element, for any operands."""
    added_at: ClassVar[tuple[int, ...]] = ()
    """Positions of optional operands that add an operation per element."""

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        """Return operations per element of the result, on the vector and special-function units."""
        alu, sfu = activation_cost(getattr(self, "activation", ""))
        return self.fused_alu + sum(has(ins, i) for i in self.added_at) + alu, sfu


def activation_cost(name: str) -> PerElement:
    """Return the operations of the activation ``name``; an unlisted one counts as a comparison."""
    return ACTIVATIONS.get(name.lower().replace("_", ""), (1, 0)) if name else (0, 0)
