"""Complex numbers and their Fourier transforms, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Mapping

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    TensorType,
    Types,
    count,
    element_count,
    frozen,
    normal_axis,
    single,
    tensor,
)
from ...complex_work import PARTS
from ...tensors.contents import elements, or_data
from ...traffic import first_once
from ..movement.view import View
from .signal import log2_floor

WHOLE: Mapping[DType, DType] = {real: whole for whole, real in PARTS.items()}
"""Complex types by the type of their parts."""


class ViewAsReal(View):
    """Complex numbers as pairs along a new last axis. Source: PyTorch, torch.view_as_real."""

    mnemonic = "view_as_real"
    onnx = "aten::view_as_real"
    operands = "X"

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = None if x.shape is None else (*x.shape, 2)
        return single(PARTS.get(x.dtype, x.dtype), shape)


class ViewAsComplex(View):
    """Pairs along the last axis as complex numbers. Source: PyTorch, torch.view_as_complex."""

    mnemonic = "view_as_complex"
    onnx = "aten::view_as_complex"
    operands = "X"

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = None if x.shape is None else x.shape[:-1]
        return single(WHOLE.get(x.dtype, x.dtype), shape)


@frozen
class Fourier(Op):
    """Discrete Fourier transform along several axes.

    Shapes:  X[..., n, ...] -> the same with ``sizes`` along ``axes``; one-sided transforms are of
             real signals, whose spectrum has n//2 + 1 elements along the last of the axes.
    Work:    {alu}: radix 2, with e elements of the signal and l the floor of log2 of
             those of one transform; one-sided ones do half of it, d = 2.
    Traffic: X and result once.
    Source:  PyTorch, torch.fft; Cooley and Tukey 1965.
    """

    mnemonic = "fourier"
    onnx = "aten::fourier"
    operands = "X sizes"
    kind = Kind.SIGNAL
    traffic = first_once
    # e/2 * l butterflies of 10 real operations each
    formulas = {"alu": "5*e*l//d"}
    axes: tuple[int, ...] = ()
    inverse: int = 0
    onesided: int = 0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        # one-sided transforms are of real signals: the inverse gives one, the forward a spectrum
        is_real = self.inverse and self.onesided
        dtype = PARTS.get(x.dtype, x.dtype) if is_real else WHOLE.get(x.dtype, x.dtype)
        if x.shape is None:
            return single(dtype, None)
        shape: list[Dim] = list(x.shape)
        sizes = elements(ins, 1) or (None,) * len(self.axes)
        for axis, size in zip(self.axes, sizes, strict=True):
            shape[normal_axis(axis, len(shape))] = or_data(size)
        return single(dtype, tuple(shape))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # e counts the elements of the signal, not those of a one-sided spectrum, which has half
        signal = outs[0] if self.inverse else tensor(ins, 0)
        if not isinstance(signal, TensorType) or signal.shape is None:
            return {}
        lengths = tuple(signal.shape[normal_axis(a, len(signal.shape))] for a in self.axes)
        # log2 of the product: the passes along all axes together
        levels = log2_floor(element_count(lengths))
        return {"e": count(signal), "l": levels, "d": 2 if self.onesided else 1}
