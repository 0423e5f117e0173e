"""Operations a fused activation adds to each element of a product or convolution."""

from __future__ import annotations

from typing import ClassVar

from ..graph import Inputs
from ..op import Op, has
from ..record import frozen

PerElement = tuple[int, int]
"""Operations an element on the vector and on the special-function unit."""

ACTIVATIONS: dict[str, PerElement] = {
    "none": (0, 0),
    "identity": (0, 0),
    "relu": (1, 0),
    "affine": (2, 0),
    "clip": (2, 0),
    "leakyrelu": (2, 0),
    "thresholdedrelu": (1, 0),
    "hardsigmoid": (4, 0),
    "hardswish": (5, 0),
    "sigmoid": (2, 2),
    "silu": (3, 2),
    "swish": (3, 2),
    "tanh": (0, 1),
    "scaledtanh": (2, 1),
    "softsign": (2, 1),
    "softplus": (1, 2),
    "elu": (3, 1),
    "gelu": (4, 1),
    "fastgelu": (7, 1),
    "quickgelu": (4, 2),
    "swiglu": (4, 2),
}
"""Counted from the definitions in ONNX RNN-22, HardSwish-22, Gelu-20 and ONNX Runtime's contrib
operators; an exponential, tanh, erf, logarithm or quotient is one special function."""


@frozen
class Epilogue(Op):
    """An operator that may do more with each element of its result, as it writes it."""

    fused_alu: ClassVar[int] = 0
    """Operations on each element, whichever operands are given."""
    added_at: ClassVar[tuple[int, ...]] = ()
    """Positions of operands that each cost an operation an element where they are given."""

    def epilogue(self, ins: Inputs) -> tuple[int, int]:
        """Operations on each element of the result, on the vector and special unit."""
        return self.fused_alu + sum(has(ins, i) for i in self.added_at), 0


def activation_cost(name: str) -> PerElement:
    """Operations of the activation ``name``; one that is not listed counts as a comparison."""
    return ACTIVATIONS.get(name.lower().replace("_", ""), (1, 0)) if name else (0, 0)
