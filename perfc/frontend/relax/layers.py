"""Operators of Relax that are layers: convolutions, products, pooling, normalizations.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from typing import Any

from ..lowering.builder import pooling_window
from .call import RelaxCall, lowers


def _pads(c: RelaxCall, rank: int) -> tuple[int, ...]:
    """Return the padding before all axes, and then after them; one or ``rank`` numbers repeat."""
    padding = [int(p) for p in c.attribute("padding", [0])]
    if len(padding) == 1:
        padding *= 2 * rank
    return tuple(padding * 2 if len(padding) == rank else padding)


def _window(c: RelaxCall, name: str, rank: int) -> tuple[int, ...]:
    """Return an attribute with a number for every axis of a window."""
    numbers = [int(v) for v in c.attribute(name, [1])]
    return tuple(numbers * rank if len(numbers) == 1 else numbers)


def _layouts(c: RelaxCall, name: str, rank: int) -> tuple[str, str, str]:
    """Return the layouts of the operand and of the result, and that of ONNX."""
    # a single spatial axis is W
    onnx_layout = "NC" + "DHW"[-rank:]
    layout = str(c.attribute(name) or onnx_layout)
    return layout, str(c.attribute("out_layout") or layout), onnx_layout


@lowers(*(f"nn.conv{d}d{suffix}" for d in "123" for suffix in ("", "_transpose")))
def _conv(c: RelaxCall) -> str:
    # the digit of nn.conv2d
    rank, is_transposed = int(c.operator[7]), c.operator.endswith("transpose")
    layout, result_layout, onnx_layout = _layouts(c, "data_layout", rank)
    space = onnx_layout[2:]
    kernel = ("IO" if is_transposed else "OI") + space
    extra = _window(c, "output_padding", rank) if is_transposed else ()
    result = c.emit(
        "ConvTranspose" if is_transposed else "Conv",
        c.reordered(c.x, layout, onnx_layout),
        c.reordered(c.value(1), str(c.attribute("kernel_layout") or kernel), kernel),
        strides=_window(c, "strides", rank),
        pads=_pads(c, rank),
        dilations=_window(c, "dilation", rank),
        group=int(c.attribute("groups", 1)),
        output_padding=extra if any(extra) else None,
    )
    return c.reordered(result, onnx_layout, result_layout)


@lowers("outer")
def _outer(c: RelaxCall) -> str:
    return c.emit("Mul", c.emit("Unsqueeze", c.x, c.ints(1)), c.value(1))


@lowers("einsum")
def _einsum(c: RelaxCall) -> str:
    return c.emit("Einsum", *c.values(0), equation=str(c.attribute("subscripts")))


@lowers(*(f"nn.{kind}_pool{d}d" for d in "123" for kind in ("max", "avg")))
def _pool(c: RelaxCall) -> str:
    rank, is_max = int(c.operator[-2]), ".max" in c.operator
    layout, result_layout, onnx_layout = _layouts(c, "layout", rank)
    options: dict[str, Any] = (
        {} if is_max else {"count_include_pad": c.flag("count_include_pad", default=True)}
    )
    result = c.emit(
        "MaxPool" if is_max else "AveragePool",
        c.reordered(c.x, layout, onnx_layout),
        kernel_shape=_window(c, "pool_size", rank),
        strides=_window(c, "strides", rank),
        pads=_pads(c, rank),
        dilations=_window(c, "dilation", rank),
        ceil_mode=c.flag("ceil_mode"),
        **options,
    )
    return c.reordered(result, onnx_layout, result_layout)


@lowers(*(f"nn.adaptive_avg_pool{d}d" for d in "123"))
def _adaptive_pool(c: RelaxCall) -> str:
    rank = int(c.operator[-2])
    layout, result_layout, onnx_layout = _layouts(c, "layout", rank)
    value = c.reordered(c.x, layout, onnx_layout)
    space = onnx_layout[2:]
    before = [c.given.sizes[layout.index(a)] for a in space]
    after = [c.result.sizes[result_layout.index(a)] for a in space]
    # one result per map is the mean of the map, whose extents may be symbolic
    if all(s == 1 for s in after):
        result = c.emit("ReduceMean", value, c.ints(*range(2, 2 + rank)), keepdims=1)
        return c.reordered(result, onnx_layout, result_layout)
    windows = [pooling_window(b, a) for b, a in zip(before, after, strict=True)]
    result = c.emit(
        "AveragePool",
        value,
        kernel_shape=tuple(k for k, _ in windows),
        strides=tuple(s for _, s in windows),
    )
    return c.reordered(result, onnx_layout, result_layout)


@lowers("nn.batch_norm")
def _batch_norm(c: RelaxCall) -> list[str]:
    if c.axis(default=1) != 1 or c.flag("training"):
        raise ValueError("channels that are not the second axis, or training")
    operands = [c.value(at) for at in range(5)]
    result = c.emit("BatchNormalization", *operands, epsilon=float(c.attribute("epsilon", 1e-5)))
    # mean and variance are results too, unchanged in inference
    return [result, operands[3], operands[4]]


@lowers("nn.layer_norm", "nn.rms_norm")
def _layer_norm(c: RelaxCall) -> str:
    rank = c.given.rank
    axes = sorted(c.axes("axes", rank))
    if axes != [*range(axes[0], rank)]:
        raise ValueError("axes that are not the last ones")
    operator = "RMSNormalization" if "rms" in c.operator else "LayerNormalization"
    return c.emit(
        operator,
        *(c.value(at) for at in range(len(c.args))),
        axis=axes[0] - rank,
        epsilon=float(c.attribute("epsilon", 1e-5)),
    )


@lowers("nn.group_norm", "nn.instance_norm")
def _group_norm(c: RelaxCall) -> str:
    if int(c.attribute("channel_axis", 1)) % c.given.rank != 1:
        raise ValueError("channels that are not the second axis")
    operands = [c.value(at) for at in range(3)]
    epsilon = float(c.attribute("epsilon", 1e-5))
    if "instance" in c.operator:
        return c.emit("InstanceNormalization", *operands, epsilon=epsilon)
    return c.emit(
        "GroupNormalization",
        *operands,
        epsilon=epsilon,
        num_groups=int(c.attribute("num_groups", 1)),
    )


@lowers("nn.softmax", "nn.log_softmax")
def _softmax(c: RelaxCall) -> str:
    operator = "LogSoftmax" if "log" in c.operator else "Softmax"
    return c.emit(operator, c.x, axis=c.axis(default=-1))


@lowers("nn.attention", "nn.attention_bias")
def _attention(c: RelaxCall) -> str:
    # Relax has [batch, tokens, heads, width], ONNX the heads before the tokens
    operands = [c.emit("Transpose", c.value(at), perm=(0, 2, 1, 3)) for at in range(3)]
    scale, causal = c.attribute("scale"), c.attribute("causal_mask")
    if c.attribute("window_size") is not None:
        raise ValueError("a window of attention")
    bias = [c.value(3)] if c.has(3) else []
    result = c.emit(
        "Attention",
        *operands,
        *bias,
        # the attribute names the corner at which a causal mask begins
        is_causal=int(causal is not None),
        scale=None if scale is None else float(scale),
    )
    return c.emit("Transpose", result, perm=(0, 2, 1, 3))


@lowers("image.resize2d")
def _resize(c: RelaxCall) -> str:
    layout, result_layout, onnx_layout = _layouts(c, "layout", 2)
    sizes = [c.result.sizes[result_layout.index(a)] for a in onnx_layout]
    method = str(c.attribute("method", "linear"))
    mode = "nearest" if "nearest" in method else method
    result = c.emit(
        "Resize",
        c.reordered(c.x, layout, onnx_layout),
        "",
        "",
        c.extents(sizes),
        mode=mode,
        coordinate_transformation_mode=str(
            c.attribute("coordinate_transformation_mode", "half_pixel")
        ),
        nearest_mode="floor" if mode == "nearest" else None,
    )
    return c.reordered(result, onnx_layout, result_layout)


@lowers("nn.pixel_shuffle")
def _pixel_shuffle(c: RelaxCall) -> str:
    return c.emit("DepthToSpace", c.x, blocksize=int(c.attribute("upscale_factor")), mode="CRD")


@lowers("quantize", "dequantize")
def _quantize(c: RelaxCall) -> str:
    operator = "QuantizeLinear" if c.operator == "quantize" else "DequantizeLinear"
    return c.emit(operator, *(c.value(at) for at in range(3)), axis=c.axis(default=-1))
