"""Conversions of element types."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    DType,
    Extents,
    Folded,
    Inputs,
    Item,
    Kind,
    Op,
    Traffic,
    Types,
    count,
    frozen,
    known,
    single,
    tensor,
)
from ...tensors.known import elementwise
from . import exact
from .elementwise import is_integral


@frozen
class Cast(Op):
    """Conversion of every element to another type.

    Shapes:  input -> same shape.
    Work:    one operation per element; an integer one (``i``) where neither type is a float.
    Traffic: input and result once.
    Source:  ONNX Cast-25.
    """

    mnemonic = "cast"
    onnx = "Cast"
    operands = "input"
    formulas = {"alu": "f", "integer": "i"}
    to: DType = DType.UNKNOWN
    saturate: int = 1
    round_mode: str = "up"

    def result_dtype(self, ins: Inputs) -> DType:
        return self.to

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content, source, target = known(ins, 0), tensor(ins, 0).dtype, self.result_dtype(ins)
        if content is None:
            return ()

        def converted(item: Item) -> Item:
            return exact.convert(item, source, target)

        return (elementwise(converted, content),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        e = count(outs[0])
        # a float on either side takes a floating-point unit
        integral = is_integral(tensor(ins, 0).dtype) and is_integral(self.result_dtype(ins))
        return {"f": 0 if integral else e, "i": e if integral else 0}


@frozen
class CastLike(Cast):
    """Conversion to the element type of another tensor, whose elements are not read.

    Shapes:  input, target_type -> shape of input.
    Work:    one operation per element.
    Traffic: input and result once.
    Source:  ONNX CastLike-25.
    """

    mnemonic = "cast_like"
    onnx = "CastLike"
    operands = "input target_type"

    def result_dtype(self, ins: Inputs) -> DType:
        return tensor(ins, 1).dtype

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return super().traffic(ins[:1], outs)


@frozen
class BitCast(Op):
    """Reinterpretation of bits as another type of the same width: nothing moves.

    Shapes:  input -> same shape.
    Work:    none.
    Traffic: none.
    Source:  ONNX BitCast-26.
    """

    mnemonic = "bit_cast"
    onnx = "BitCast"
    operands = "input"
    kind = Kind.VIEW
    to: DType = DType.UNKNOWN

    def infer(self, ins: Inputs) -> Types:
        source = tensor(ins, 0)
        if DType.UNKNOWN not in (source.dtype, self.to) and source.dtype.bits != self.to.bits:
            raise ShapeError(
                f"{source.dtype.bits} bits of {source.dtype.code} are not {self.to.bits} of "
                f"{self.to.code}"
            )
        return single(self.to, source.shape)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        content, source = known(ins, 0), tensor(ins, 0).dtype
        # a content of floats has numbers, not the bits that would be read as another type
        if content is None or not (source.is_integer and self.to.is_integer):
            return ()
        return (elementwise(lambda item: exact.fit(item, self.to), content),)
