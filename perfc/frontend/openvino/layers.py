"""Convolutions, products, pooling, normalizations, attention and recurrent layers of OpenVINO.

Each function lowers layers of the kinds that its decorator names: ``c`` is the layer with its
operands, the result the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..lowering.builder import Meta, pooling_window
from ..lowering.elements import DataType
from .call import LayerCall, lowers

_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "hardsigmoid": "HardSigmoid"}
"""Functions of recurrent cells, with ONNX's names."""
PADS = {"same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER", "valid": "VALID"}
"""Values of ``auto_pad``, with ONNX's."""


def _window(c: LayerCall) -> dict[str, Any]:
    """Return the attributes of a window that moves over a feature map."""
    auto = PADS.get(c.text("auto_pad", "explicit"))
    pads = c.listed("pads_begin") + c.listed("pads_end")
    return {
        "strides": c.listed("strides"),
        "dilations": c.listed("dilations") or None,
        "pads": None if auto else pads,
        "auto_pad": auto,
    }


@lowers("Convolution", "GroupConvolution", "BinaryConvolution")
def _convolution(c: LayerCall) -> str:
    groups, weight = _groups(c)
    return c.emit("Conv", c.x, weight, group=groups, **_window(c))


@lowers("ConvolutionBackpropData", "GroupConvolutionBackpropData")
def _deconvolution(c: LayerCall) -> str:
    groups, weight = _groups(c)
    extra = c.listed("output_padding")
    return c.emit(
        "ConvTranspose",
        c.x,
        weight,
        group=groups,
        output_padding=extra if any(extra) else None,
        **_window(c),
    )


def _groups(c: LayerCall) -> tuple[int, str]:
    """Return the number of groups, and the filters with the axes of groups and channels joined."""
    sizes = c.meta(1).sizes
    if not c.layer.kind.startswith("Group"):
        return 1, c.ordered(1, range(len(sizes)))
    groups, channels = sizes[0], sizes[1]
    if not (isinstance(groups, int) and isinstance(channels, int)):
        raise ValueError("an unknown number of groups")
    merged = (groups * channels, *sizes[2:])
    stored = c.stored(1)
    if stored is None:
        return groups, c.emit("Reshape", c.value(1), c.shape(merged))
    if stored.scale is not None:
        # scales of channels lose the axis of groups too; missing last axes have an extent of 1
        given = stored.scale.meta
        extents = tuple(s for s in (*given.sizes, 1, 1) if isinstance(s, int))
        merged_scale = Meta(given.dtype, (extents[0] * extents[1], *extents[2 : len(sizes)]))
        stored = replace(stored, scale=replace(stored.scale, meta=merged_scale))
    return groups, c.weight(stored, range(len(merged)), merged)


@lowers("MatMul")
def _matmul(c: LayerCall) -> str:
    operands: list[str] = []
    for at, name in enumerate(("transpose_a", "transpose_b")):
        perm = [*range(c.meta(at).rank)]
        if c.flag(name) and len(perm) > 1:
            perm[-2:] = perm[-1], perm[-2]
        operands.append(c.ordered(at, perm))
    return c.emit("MatMul", *operands)


@lowers("Einsum")
def _einsum(c: LayerCall) -> str:
    return c.emit("Einsum", *c.values(), equation=c.text("equation"))


@lowers("MaxPool", "AvgPool")
def _pool(c: LayerCall) -> list[str]:
    attributes = _window(c) | {
        "kernel_shape": c.listed("kernel"),
        "ceil_mode": int(c.text("rounding_type").startswith("ceil")),
    }
    if c.layer.kind == "AvgPool":
        inside = 1 - c.flag("exclude-pad")
        return [c.emit("AveragePool", c.x, count_include_pad=inside, **attributes)]
    # the last result of a newer MaxPool has indices, which are computed only if a layer reads them;
    # else the first result takes their position
    readers = c.scope.network.readers.get((c.layer.index, c.layer.outputs[-1].port), [])
    count = len(c.layer.outputs) if readers else 1
    results = c.several("MaxPool", (c.x,), count, **attributes)
    return results if count > 1 else results * len(c.layer.outputs)


@lowers("AdaptiveAvgPool")
def _adaptive_pool(c: LayerCall) -> str:
    extents = zip(c.given.sizes[2:], c.result().sizes[2:], strict=True)
    windows = [pooling_window(before, after) for before, after in extents]
    return c.emit(
        "AveragePool",
        c.x,
        kernel_shape=tuple(k for k, _ in windows),
        strides=tuple(s for _, s in windows),
    )


@lowers("BatchNormInference")
def _batch_norm(c: LayerCall) -> str:
    # the first version has the feature map as its third operand
    order = (2, 0, 1, 3, 4) if c.layer.element.attrib.get("version") == "opset1" else range(5)
    return c.emit(
        "BatchNormalization", *(c.value(at) for at in order), epsilon=c.number("epsilon", 1e-5)
    )


@lowers("MVN")
def _mvn(c: LayerCall) -> str:
    """Return a normalization that includes the scale and bias of the next layers."""
    meta, axes = c.given, sorted(c.axes(1))
    epsilon = c.number("eps", 1e-5)
    # LayerNormalization is over the last axes
    is_trailing = axes == [*range(axes[0], meta.rank)]
    if not is_trailing or not c.flag("normalize_variance", default=True):
        return c.emit("MeanVarianceNormalization", c.x, axes=tuple(axes))
    # statistics of each channel over its image
    is_map = axes == [*range(2, meta.rank)] and meta.rank > 3
    sizes = meta.sizes[1:2] if is_map else meta.sizes[axes[0] :]
    known = [s for s in sizes if isinstance(s, int)]
    if len(known) != len(sizes):
        raise ValueError("unknown extents")
    # scale and bias: ones and none, unless the next layers have them
    vectors, port, last = [c.builder.filled(known, meta.dtype), ""], c.layer.outputs[0].port, c
    # a product and a sum that follow become its operands, if no other layer reads between them
    for at, kind in enumerate(("Multiply", "Add")):
        follower = _follower(last, port, kind)
        if follower is None:
            break
        factor = next((s for a in (0, 1) if (s := follower.stored(a)) is not None), None)
        # the scale of a map is [1, channels, 1, 1]: extents of 1 do not matter
        if factor is None or [s for s in factor.meta.sizes if s != 1] != [
            s for s in known if s != 1
        ]:
            break
        vectors[at] = follower.weight(factor, range(len(known)), known)
        last, port = follower, follower.layer.outputs[0].port
        c.followers.append((follower.layer.index, port))
    if is_map:
        vectors[1] = vectors[1] or c.builder.filled(known, meta.dtype)
        result = c.emit("InstanceNormalization", c.x, *vectors, epsilon=epsilon)
    else:
        result = c.emit(
            "LayerNormalization", c.x, *vectors, axis=axes[0] - meta.rank, epsilon=epsilon
        )
    return result


def _follower(c: LayerCall, port: int, kind: str) -> LayerCall | None:
    """Return the only layer that reads a value, if it is of a kind and has a stored operand.

    None for several readers, another kind, or computed operands.
    """
    readers = c.scope.network.readers.get((c.layer.index, port), [])
    layer = c.scope.network.layers[readers[0]] if len(readers) == 1 else None
    if layer is None or layer.kind != kind:
        return None
    call = LayerCall(c.scope, c.name, c.path, layer)
    return call if any(call.stored(at) is not None for at in (0, 1)) else None


@lowers("RMS")
def _rms(c: LayerCall) -> str:
    return c.emit("RMSNormalization", c.x, c.value(1), axis=-1, epsilon=c.number("epsilon", 1e-6))


@lowers("GroupNormalization")
def _group_norm(c: LayerCall) -> str:
    return c.emit(
        "GroupNormalization",
        *c.values(),
        num_groups=c.integer("num_groups", 1),
        epsilon=c.number("epsilon", 1e-5),
    )


@lowers("LRN", "NormalizeL2")
def _lrn(c: LayerCall) -> str:
    if c.layer.kind == "NormalizeL2":
        (axis,) = c.axes(1)
        return c.emit("LpNormalization", c.x, axis=axis, p=2)
    return c.emit(
        "LRN",
        c.x,
        size=c.integer("size", 1),
        alpha=c.number("alpha", 1e-4),
        beta=c.number("beta", 0.75),
        bias=c.number("bias", 1.0),
    )


@lowers("SoftMax", "Softmax", "LogSoftmax")
def _softmax(c: LayerCall) -> str:
    operator = "LogSoftmax" if c.layer.kind == "LogSoftmax" else "Softmax"
    return c.emit(operator, c.x, axis=c.integer("axis", 1))


@lowers("ScaledDotProductAttention")
def _attention(c: LayerCall) -> str:
    if any(c.meta(at).rank != 4 for at in range(3)):
        raise ValueError("attention without heads")
    scale = c.numbers(4)[0] if c.has(4) else None
    # a scalar is no mask: it only fills the position, so that a scale can follow
    mask = c.value(3) if c.has(3) and c.meta(3).rank else ""
    return c.emit(
        "Attention",
        *(c.value(at) for at in range(3)),
        mask,
        is_causal=c.flag("causal"),
        scale=scale,
    )


@lowers("LSTMSequence", "GRUSequence", "RNNSequence")
def _sequence(c: LayerCall) -> list[str]:
    """Return the results of a recurrent layer; its weights have the directions first."""
    # operands: sequence, a state, of an LSTM a second one, lengths, then weights W, R and biases;
    # `at` is the position of W
    at = 3 + c.layer.kind.startswith("LSTM")
    lengths = c.stored(at - 1)
    # lengths are an operand only where a sequence is shorter than the axis of time
    is_short = (
        lengths is not None
        and lengths.data is not None
        and min(lengths.values(), default=0) < (s if isinstance(s := c.given.sizes[1], int) else 0)
    )
    results_by_time = _recurrent(
        c,
        _batch_second(c, 0),
        [c.value(at + w) for w in range(3)],
        c.value(at - 1) if is_short else "",
        [_batch_second(c, s) for s in range(1, at - 1)],
        c.text("direction", "forward").lower(),
    )
    # [time, directions, batch, hidden] to [batch, directions, time, hidden]
    results = [c.emit("Transpose", results_by_time[0], perm=(2, 1, 0, 3))]
    return results + [c.emit("Transpose", state, perm=(1, 0, 2)) for state in results_by_time[1:]]


def _batch_second(c: LayerCall, at: int) -> str:
    """Return a sequence or a state with the batch as its second axis."""
    stored = c.stored(at)
    return (
        c.emit("Transpose", c.value(at), perm=(1, 0, 2))
        if stored is None
        else c.weight(stored, (1, 0, 2), is_state=True)
    )


@lowers("LSTMCell", "GRUCell", "RNNCell")
def _cell(c: LayerCall) -> list[str]:
    """Return the states after one step: those of a sequence of one step."""
    # operands: input, a state, of an LSTM a second one, then weights W, R and biases; `at` is the
    # position of W
    at = 2 + c.layer.kind.startswith("LSTM")
    operands = [c.unsqueezed(w) for w in range(at + 2)]
    bias = c.unsqueezed(at + 2) if c.has(at + 2) else ""
    results = _recurrent(c, operands[0], [*operands[at:], bias], "", operands[1:at], "forward")
    return [c.emit("Squeeze", state, c.ints(0)) for state in results[1:]]


def _recurrent(
    c: LayerCall,
    x: str,
    weights: Sequence[str],
    lengths: str,
    states: Sequence[str],
    direction: str,
) -> list[str]:
    """Return the states of all steps, then the last ones.

    OpenVINO has one bias for each gate, the sum of the two that ONNX has.
    """
    operator = c.layer.kind.removesuffix("Sequence").removesuffix("Cell")
    count = 2 if direction == "bidirectional" else 1
    names = [f for f in c.text("activations").split(",") if f.strip()]
    functions = tuple(_ACTIVATIONS[f.strip().lower()] for f in names) * count
    return c.several(
        operator,
        (x, *weights, lengths, *states),
        1 + len(states),
        hidden_size=c.integer("hidden_size", 1),
        direction=direction,
        activations=functions or None,
        clip=c.number("clip") or None,
        linear_before_reset=c.flag("linear_before_reset") if operator == "GRU" else None,
    )


@lowers("FakeQuantize")
def _fake_quantize(c: LayerCall) -> str:
    """Return a quantization and the conversion back to real numbers.

    Plugins run the layers between two such layers on quantized elements.
    """
    levels, low = c.integer("levels", 256), c.stored(1)
    if low is None or levels < 2:
        raise ValueError("computed bounds")
    # bounds that were not read may be below 0
    is_signed = low.data is None or min(low.values()) < 0
    narrow = DataType.INT4 if is_signed else DataType.UINT4
    byte = DataType.INT8 if is_signed else DataType.UINT8
    # 16 levels are 4 bits, 256 are 8 bits
    dtype = narrow if levels <= 16 else byte if levels <= 256 else DataType.INT16
    counts = [s for s in low.meta.sizes if isinstance(s, int) and s != 1]
    # bounds of each channel, along the second axis
    axis = None if not counts else 1
    scale = c.builder.filled(counts[:1], c.given.dtype)
    zero = c.builder.filled(counts[:1], dtype)
    quantized = c.emit("QuantizeLinear", c.x, scale, zero, axis=axis)
    return c.emit("DequantizeLinear", quantized, scale, zero, axis=axis)


@lowers("Interpolate")
def _interpolate(c: LayerCall) -> str:
    kind = next((m for m in ("nearest", "cubic", "linear") if m in c.text("mode")), "linear")
    coordinates = c.text("coordinate_transformation_mode", "half_pixel")
    pairs = zip(c.given.sizes, c.result().sizes, strict=True)
    changed = [(a, s) for a, (b, s) in enumerate(pairs) if b != s or s is None]
    sizes = [s for _, s in changed if isinstance(s, int)]
    # known extents decide; else the operand of scales or sizes
    if len(sizes) == len(changed):
        if not changed:
            return c.x
        given, axes = ("", c.ints(*sizes)), tuple(a for a, _ in changed)
    else:
        # version 11 has one operand for sizes or scales, version 4 has both, in this order; the
        # operand of axes follows
        at = 2 if c.layer.element.attrib.get("version") == "opset11" else 3
        axes = tuple(c.axes(at)) if c.has(at) else ()
        is_scaled = c.text("shape_calculation_mode") == "scales"
        given = (c.value(at - 1), "") if is_scaled else ("", c.as_integers(1))
    return c.emit(
        "Resize",
        c.x,
        "",
        *given,
        axes=axes or None,
        mode=kind,
        coordinate_transformation_mode=coordinates,
    )


@lowers("GridSample")
def _grid_sample(c: LayerCall) -> str:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(c.text("mode"), "nearest")
    return c.emit(
        "GridSample",
        c.x,
        c.value(1),
        mode=mode,
        padding_mode=c.text("padding_mode", "zeros"),
        align_corners=c.flag("align_corners"),
    )
