"""Elementwise operators and reductions of TensorFlow Lite.

Each function lowers calls of the operators that its decorator names. Of the call ``c``, ``value``
and ``bind`` take ``first`` for feature maps with channels before rows, as ONNX has them, and
``real=False`` where a conversion between quantized and real numbers would be wrong: whole numbers
stay as they are in casts, and the index of a maximum needs no scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from perfc.common.fitted import data_next_to

from ..lowering.builder import Meta
from ..lowering.elements import DataType
from ..lowering.emitter import FIRST
from .call import LOWERINGS, FlatCall, FlatTensor, lowers

_TABLE = data_next_to(__file__)
ELEMENTWISE: Mapping[str, str] = _TABLE["elementwise"]
REDUCTIONS: Mapping[str, str] = _TABLE["reductions"]
BOUNDS: Mapping[str, tuple[float, float]] = _TABLE["bounds"]
"""Operators that clip, with their bounds. The other two tables have the ONNX operator of each."""


def _operands(c: FlatCall) -> tuple[list[str], bool]:
    """Return the operands of an elementwise operator, and whether they are channels-first."""
    ats = range(len(c.inputs))
    first = c.can_be_first(ats)
    return [c.value(at, first=first) for at in ats], first


def _elementwise(operator: str, c: FlatCall) -> None:
    operands, first = _operands(c)
    c.bind(c.emit(operator, *operands), first=first)


LOWERINGS.update({k: partial(_elementwise, v) for k, v in ELEMENTWISE.items()})


@lowers(*BOUNDS)
def _clip(c: FlatCall) -> None:
    (value,), first = _operands(c)
    ends = [c.scalar(b, DataType.FLOAT) for b in BOUNDS[c.operator]]
    c.bind(c.emit("Clip", value, *ends), first=first)


@lowers("GELU", "LEAKY_RELU")
def _gelu(c: FlatCall) -> None:
    (value,), first = _operands(c)
    if c.operator == "GELU":
        mode = "tanh" if c.option("approximate") else "none"
        c.bind(c.emit("Gelu", value, approximate=mode), first=first)
    else:
        c.bind(c.emit("LeakyRelu", value, alpha=c.number("alpha")), first=first)


@lowers("RSQRT", "SQUARE", "SQUARED_DIFFERENCE", "FLOOR_DIV", "NOT_EQUAL")
def _composite(c: FlatCall) -> None:
    operands, first = _operands(c)
    match c.operator:
        case "RSQRT":
            result = c.emit("Reciprocal", c.emit("Sqrt", *operands))
        case "SQUARE":
            result = c.emit("Mul", *operands * 2)
        case "SQUARED_DIFFERENCE":
            difference = c.emit("Sub", *operands)
            result = c.emit("Mul", difference, difference)
        case "NOT_EQUAL":
            result = c.emit("Not", c.emit("Equal", *operands))
        case _:
            # FLOOR_DIV; ONNX rounds quotients of whole numbers toward 0, which costs the same
            result = c.emit("Div", *operands)
            result = c.emit("Floor", result) if c.result().meta.is_float else result
    c.bind(result, first=first)


@lowers("CAST")
def _cast(c: FlatCall) -> None:
    first = c.can_be_first((0,))
    value = c.value(0, first=first, real=False)
    c.bind(c.emit("Cast", value, to=int(c.result().meta.dtype)), first=first, real=False)


@lowers("QUANTIZE")
def _quantize(c: FlatCall) -> None:
    first = c.can_be_first((0,))
    # no operator of its own: `value` converts to real numbers, and `bind` to the result's scale
    c.bind(c.value(0, first=first), first=first)


@lowers("DEQUANTIZE", "DENSIFY")
def _dequantize(c: FlatCall) -> None:
    tensor = c.tensor(0)
    if tensor.is_stored:
        # no node: layers that read the result read the stored tensor, and convert it themselves
        # a sparse one in 16 bits is converted twice
        sources = c.scope.sources
        sources[c.outputs[0]] = sources.get(c.inputs[0], c.inputs[0])
        return
    first = c.can_be_first((0,))
    value = c.value(0, first=first)
    if tensor.meta.dtype == DataType.FLOAT16:
        value = c.emit("Cast", value, to=int(DataType.FLOAT))
    c.bind(value, first=first)


@lowers("FAKE_QUANT")
def _fake_quant(c: FlatCall) -> None:
    (value,), first = _operands(c)
    # 8 bits have 255 steps between both ends; the option for another width is not read
    step = (c.number("max") - c.number("min")) / 255
    scale = c.scale(FlatTensor("", Meta(DataType.UINT8, ()), scales=(step,)))
    result = c.emit("DequantizeLinear", c.emit("QuantizeLinear", value, *scale), *scale)
    c.bind(result, first=first)


@lowers(*REDUCTIONS)
def _reduce(c: FlatCall) -> None:
    axes, keep, first = c.axes(1), c.option("keep"), c.can_be_first((0,))
    # a reduction that drops axes keeps the order of the others. Only without rows and columns is
    # that order the same in both layouts; any other reduction begins in the order of the file
    if first and not keep and not {1, 2} <= set(axes):
        first = False
    listed = tuple(FIRST.index(a) for a in axes) if first else axes
    result = c.reduced(
        REDUCTIONS[c.operator],
        c.value(0, first=first),
        c.tensor(0).meta.dtype,
        sorted(listed),
        keepdims=keep,
    )
    c.bind(result, first=first and bool(keep))


@lowers("ARG_MAX", "ARG_MIN")
def _arg(c: FlatCall) -> None:
    operator = "ArgMax" if c.operator == "ARG_MAX" else "ArgMin"
    result = c.emit(operator, c.value(0, real=False), axis=c.axes(1)[0], keepdims=0)
    c.bind(c.cast(result, DataType.INT64, c.result().meta.dtype), real=False)


@lowers("CUMSUM")
def _cumsum(c: FlatCall) -> None:
    c.bind(
        c.emit(
            "CumSum",
            c.value(0),
            c.value(1),
            exclusive=c.option("exclusive"),
            reverse=c.option("reverse"),
        )
    )
