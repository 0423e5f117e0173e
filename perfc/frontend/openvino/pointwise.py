"""Elementwise layers and reductions of OpenVINO.

Each function lowers layers of the kinds that its decorator names: ``c`` is the layer with its
operands, the result the names of the values that it becomes.
"""

from __future__ import annotations

from functools import partial

from perfc.common.fitted import data_next_to

from .call import LOWERINGS, LayerCall, lowers

_TABLE = data_next_to(__file__)
OPERATORS, REDUCTIONS = _TABLE["operators"], _TABLE["reductions"]
"""Operators of ONNX by kind of layer: of layers without attributes, and of reductions over axes."""


def _elementwise(operator: str, c: LayerCall) -> str:
    return c.emit(operator, *c.values())


LOWERINGS.update({k: partial(_elementwise, v) for k, v in OPERATORS.items()})


@lowers("Clamp")
def _clamp(c: LayerCall) -> str:
    dtype = c.given.dtype
    ends = [c.scalar(c.number(name), dtype) for name in ("min", "max")]
    return c.emit("Clip", c.x, *ends)


@lowers("Gelu", "Swish", "HardSigmoid", "HSigmoid", "Selu")
def _activation(c: LayerCall) -> str:
    value = c.x
    match c.layer.kind:
        case "Gelu":
            mode = "tanh" if c.text("approximation_mode").lower() == "tanh" else "none"
            return c.emit("Gelu", value, approximate=mode)
        case "Swish":
            scaled = c.emit("Mul", value, c.value(1)) if c.has(1) else value
            return c.emit("Mul", value, c.emit("Sigmoid", scaled))
        case "Selu":
            return c.emit("Selu", value)
        case _:
            # slope and offset, which are operands in OpenVINO, change no cost
            return c.emit("HardSigmoid", value)


@lowers("NotEqual", "SquaredDifference", "ConvertLike")
def _composite(c: LayerCall) -> str:
    if c.layer.kind == "NotEqual":
        return c.emit("Not", c.emit("Equal", *c.values()))
    if c.layer.kind == "ConvertLike":
        return c.emit("Cast", c.x, to=c.result().dtype)
    difference = c.emit("Sub", *c.values())
    return c.emit("Mul", difference, difference)


@lowers("Convert")
def _convert(c: LayerCall) -> str:
    return c.cast(c.x, c.given.dtype, c.result().dtype)


@lowers(*REDUCTIONS)
def _reduce(c: LayerCall) -> str:
    return c.reduced(
        REDUCTIONS[c.layer.kind], c.x, c.given.dtype, c.axes(1), keepdims=c.flag("keep_dims")
    )


@lowers("CumSum")
def _cumsum(c: LayerCall) -> str:
    return c.emit(
        "CumSum", c.x, c.as_integers(1), exclusive=c.flag("exclusive"), reverse=c.flag("reverse")
    )
