"""Channels that decide about blocks."""

from __future__ import annotations

from perfc.ir.graph import Value
from perfc.ir.symbolic.dim import symbol
from perfc.ir.tensors.types import UNKNOWN, DType, TensorType
from perfc.passes.layout.blocks import channels


def test_channels_are_known_of_four_axes_with_a_fixed_second() -> None:
    n = symbol("n")
    assert channels(Value("a", TensorType(DType.F32, (n, 24, 5, 5)))) == 24
    assert channels(Value("a", TensorType(DType.F32, (1, n, 5, 5)))) == 1
    assert channels(Value("a", TensorType(DType.F32, (1, 24, 5)))) == 1
    assert channels(Value("a", UNKNOWN)) == 1
