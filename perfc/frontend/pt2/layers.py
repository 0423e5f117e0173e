"""ATen operators of layers: convolutions, products, normalizations, pooling.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lowering.builder import Meta, Size, pooling_window
from .call import AtenCall, lowers
from .movement import places_of


@lowers(
    "conv1d",
    "conv2d",
    "conv3d",
    "convolution",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "_convolution",
    "cudnn_convolution",
    "mkldnn_convolution",
)
def _conv(c: AtenCall) -> str:
    rank = c.meta("weight").rank - 2
    strides = c.integers("stride", [1], rank)
    dilations = c.integers("dilation", [1], rank)
    groups, padding = c.integer("groups", 1), c.value("padding", [0])
    is_transposed = "transpose" in c.operator or c.flag("transposed")
    x = "input" if "input" in c.args else "self"
    value, is_single = c.tensor(x), c.meta(x).rank == rank + 1
    if is_single:
        value = c.emit("Unsqueeze", value, c.ints(0))
    operands, auto, pads = (value, c.tensor("weight"), c.tensor("bias")), None, None
    if isinstance(padding, str):
        auto = "SAME_UPPER" if padding == "same" else "VALID"
    else:
        # both ends are padded equally; ONNX lists all begins, then all ends
        pads = tuple(c.integers("padding", [0], rank)) * 2
    output_padding = c.integers("output_padding", [0], rank)
    result = c.emit(
        "ConvTranspose" if is_transposed else "Conv",
        *operands,
        strides=tuple(strides),
        pads=pads,
        dilations=tuple(dilations),
        group=groups,
        auto_pad=auto,
        output_padding=tuple(output_padding) if is_transposed and any(output_padding) else None,
    )
    return c.emit("Squeeze", result, c.ints(0)) if is_single else result


@lowers("conv_tbc")
def _conv_tbc(c: AtenCall) -> str:
    """Return a convolution of steps before examples before channels."""
    value = c.emit("Transpose", c.x, perm=(1, 2, 0))
    weight = c.emit("Transpose", c.tensor("weight"), perm=(2, 1, 0))
    pads = (c.integer("pad", 0),) * 2
    result = c.emit("Conv", value, weight, c.tensor("bias"), pads=pads)
    return c.emit("Transpose", result, perm=(2, 0, 1))


@lowers("linear")
def _linear(c: AtenCall) -> str:
    weight, bias = c.tensor("weight"), c.tensor("bias")
    # Gemm takes matrices only
    if c.meta("input").rank == 2 and bias:
        return c.emit("Gemm", c.tensor("input"), weight, bias, transB=1)
    if c.meta("weight").rank == 2:
        # PyTorch stores outputs by inputs
        weight = c.emit("Transpose", weight, perm=(1, 0))
    product = c.emit("MatMul", c.tensor("input"), weight)
    return c.emit("Add", product, bias) if bias else product


def per_channel(c: AtenCall, name: str, meta: Meta, axis: int = 1) -> str:
    """Return a vector of a normalization; ones or zeros where the layer has none."""
    if c.has(name):
        return c.tensor(name)
    count = meta.sizes[axis]
    if not isinstance(count, int):
        raise ValueError("a symbolic number of channels")
    return c.scope.builder.filled((count,), meta.dtype)


@lowers(
    "batch_norm",
    "native_batch_norm",
    "_native_batch_norm_legit_no_training",
    "_native_batch_norm_legit",
    "cudnn_batch_norm",
    "_batch_norm_impl_index",
    "_batch_norm_no_update",
    "_native_batch_norm_legit_functional",
)
def _batch_norm(c: AtenCall) -> list[str]:
    meta = c.meta("input")
    vectors = [
        per_channel(c, name, meta) for name in ("weight", "bias", "running_mean", "running_var")
    ]
    # without running statistics, a layer normalizes by those of its batch, as in training
    is_training = c.flag("training") or not c.has("running_mean")
    result = c.several(
        "BatchNormalization",
        (c.tensor("input"), *vectors),
        3 if is_training else 1,
        epsilon=float(c.number("eps", 1e-5)),
        training_mode=int(is_training),
        # ONNX has the share of the old statistics, PyTorch that of the new ones
        momentum=1 - float(c.number("momentum", 0.1)),
    )
    return results(c, result)


def results(c: AtenCall, values: Sequence[str]) -> list[str]:
    """Return a result followed by statistics, which only a training step reads."""
    rest = list(values[1 : len(c.outputs)])
    # statistics that no node computes are stored tensors, whose contents are not known
    for raw in c.outputs[1 + len(rest) :]:
        sizes = [s if isinstance(s, int) else 1 for s in c.scope.meta(raw).sizes]
        rest.append(c.scope.builder.filled(sizes, c.scope.meta(raw).dtype))
    return [values[0], *rest]


def trailing(c: AtenCall) -> tuple[str, int]:
    """Return the weight of a normalization, ones if omitted, and its first axis, negative."""
    count, meta = len(c.value("normalized_shape")), c.meta("input")
    sizes = [s for s in meta.sizes[meta.rank - count :] if isinstance(s, int)]
    return c.tensor("weight") or c.scope.builder.filled(sizes, meta.dtype), -count


@lowers("layer_norm", "native_layer_norm")
def _layer_norm(c: AtenCall) -> list[str]:
    weight, axis = trailing(c)
    result = c.emit(
        "LayerNormalization",
        c.tensor("input"),
        weight,
        c.tensor("bias"),
        axis=axis,
        epsilon=float(c.number("eps", 1e-5)),
    )
    return results(c, [result])


@lowers("rms_norm", "_fused_rms_norm")
def _rms_norm(c: AtenCall) -> list[str]:
    weight, axis = trailing(c)
    epsilon = c.value("eps")
    result = c.emit(
        "RMSNormalization",
        c.tensor("input"),
        weight,
        axis=axis,
        # without an epsilon, PyTorch takes the machine epsilon of f32
        epsilon=float(epsilon) if epsilon else 1.1920929e-07,
    )
    return results(c, [result])


@lowers("_weight_norm")
def _weight_norm(c: AtenCall) -> str:
    rank, axis = c.meta("v").rank, c.integer("dim", 0)
    others = [a for a in range(rank) if a != axis % rank]
    # g * v / |v|
    length = c.emit("ReduceL2", c.tensor("v"), c.ints(*others), keepdims=1)
    return c.emit("Mul", c.tensor("v"), c.emit("Div", c.tensor("g"), length))


@lowers("group_norm", "native_group_norm")
def _group_norm(c: AtenCall) -> list[str]:
    meta = c.meta("input")
    groups = c.integer("num_groups" if "num_groups" in c.args else "group", 1)
    vectors = [per_channel(c, name, meta) for name in ("weight", "bias")]
    result = c.emit(
        "GroupNormalization",
        c.tensor("input"),
        *vectors,
        num_groups=groups,
        epsilon=float(c.number("eps", 1e-5)),
    )
    return results(c, [result])


@lowers("instance_norm")
def _instance_norm(c: AtenCall) -> str:
    vectors = [per_channel(c, name, c.meta("input")) for name in ("weight", "bias")]
    return c.emit(
        "InstanceNormalization", c.tensor("input"), *vectors, epsilon=float(c.number("eps", 1e-5))
    )


@lowers(
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "max_pool1d_with_indices",
)
def _max_pool(c: AtenCall) -> list[str]:
    rank = spatial(c)
    result = c.several(
        "MaxPool",
        (batched(c, rank),),
        len(c.outputs),
        dilations=tuple(c.integers("dilation", [1], rank)),
        **_pooled(c, rank),
    )
    return unbatched(c, result, rank)


def _pooled(c: AtenCall, rank: int) -> dict[str, Any]:
    """Return the window of a pool."""
    kernel = c.integers("kernel_size", (), rank)
    return {
        "kernel_shape": tuple(kernel),
        "strides": tuple(c.integers("stride", kernel, rank)),
        "pads": tuple(c.integers("padding", [0], rank)) * 2,
        "ceil_mode": c.flag("ceil_mode"),
    }


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(c: AtenCall) -> list[str]:
    rank = spatial(c)
    result = c.emit(
        "AveragePool",
        batched(c, rank),
        **_pooled(c, rank),
        count_include_pad=c.flag("count_include_pad", default=True),
    )
    return unbatched(c, [result], rank)


@lowers(
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
)
def _adaptive_pool(c: AtenCall) -> list[str]:
    is_max = "max_pool" in c.operator
    rank = spatial(c)
    before, after = (m.sizes[-rank:] for m in (c.given, c.result))
    if tuple(before) == tuple(after):
        return [c.x] * len(c.outputs)
    # one result per map needs no window, which symbolic extents would not give
    value = batched(c, rank)
    if all(s == 1 for s in after) and len(c.outputs) == 1:
        operator = "GlobalMaxPool" if is_max else "GlobalAveragePool"
        return unbatched(c, [c.emit(operator, value)], rank)
    windows = [pooling_window(b, a) for b, a in zip(before, after, strict=True)]
    result = c.several(
        "MaxPool" if is_max else "AveragePool",
        (value,),
        len(c.outputs),
        kernel_shape=tuple(k for k, _ in windows),
        strides=tuple(s for _, s in windows),
    )
    return unbatched(c, result, rank)


def spatial(c: AtenCall) -> int:
    """Return the number of axes that a pooling moves along."""
    return next(int(d) for d in "123" if f"{d}d" in c.operator)


def batched(c: AtenCall, rank: int) -> str:
    """Return the operand of a pooling, with a batch."""
    is_single = c.given.rank == rank + 1
    return c.emit("Unsqueeze", c.x, c.ints(0)) if is_single else c.x


def unbatched(c: AtenCall, values: Sequence[str], rank: int) -> list[str]:
    """Return the results of a pooling, without a batch that the operand does not have."""
    is_single = c.given.rank == rank + 1
    return [c.emit("Squeeze", value, c.ints(0)) if is_single else value for value in values]


@lowers("max_unpool2d", "max_unpool3d")
def _max_unpool(c: AtenCall) -> str:
    rank = spatial(c)
    if c.given.rank != rank + 2:
        raise ValueError("a single feature map")
    return c.emit(
        "MaxUnpool",
        c.x,
        c.tensor("indices"),
        c.extents(c.result.sizes),
        kernel_shape=(1,) * rank,
    )


@lowers("affine_grid_generator")
def _affine_grid(c: AtenCall) -> str:
    sizes = c.extents(c.value("size"))
    return c.emit("AffineGrid", c.tensor("theta"), sizes, align_corners=c.flag("align_corners"))


@lowers(
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_nearest_exact2d",
    "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
    "_upsample_nearest_exact1d",
    "_upsample_nearest_exact3d",
)
def _upsample(c: AtenCall) -> str:
    x = "input" if "input" in c.args else "self"
    kind = next(m for m in ("nearest", "cubic", "linear") if m in c.operator)
    # how positions of the result map to the operand, which changes neither shapes nor costs
    coordinates = "asymmetric" if kind == "nearest" else "pytorch_half_pixel"
    if c.flag("align_corners"):
        coordinates = "align_corners"
    # equal extents need no node
    if c.meta(x).sizes == c.result.sizes:
        return c.tensor(x)
    return c.emit(
        "Resize",
        c.tensor(x),
        "",
        "",
        c.extents(c.result.sizes),
        mode=kind,
        coordinate_transformation_mode=coordinates,
        antialias=int("aa" in c.operator),
        nearest_mode="floor" if kind == "nearest" else None,
        cubic_coeff_a=-0.75 if kind == "cubic" else None,  # the value of PyTorch's kernels
    )


@lowers("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(c: AtenCall) -> str:
    mode = ("linear", "nearest", "cubic")[c.integer("interpolation_mode", 0)]
    padding = ("zeros", "border", "reflection")[c.integer("padding_mode", 0)]
    return c.emit(
        "GridSample",
        c.tensor("input"),
        c.tensor("grid"),
        mode=mode,
        padding_mode=padding,
        align_corners=c.flag("align_corners"),
    )


@lowers("col2im")
def _col2im(c: AtenCall) -> str:
    return c.emit(
        "Col2Im",
        c.x,
        c.extents(c.value("output_size")),
        c.ints(*c.integers("kernel_size", (), 2)),
        strides=tuple(c.integers("stride", [1], 2)),
        dilations=tuple(c.integers("dilation", [1], 2)),
        pads=tuple(c.integers("padding", [0], 2)) * 2,
    )


@lowers("im2col")
def _im2col(c: AtenCall) -> str:
    kernel, strides = c.integers("kernel_size", (), 2), c.integers("stride", [1], 2)
    pads, dilations = c.integers("padding", [0], 2), c.integers("dilation", [1], 2)
    batch, channels, *extents = c.given.sizes
    value = c.x
    # windows at the border read zeros
    if any(pads):
        value = c.emit("Pad", value, c.ints(0, 0, *pads, 0, 0, *pads), mode="constant")
    counts: list[Size] = []
    for axis, extent in enumerate(extents):
        added = 2 * pads[axis] - dilations[axis] * (kernel[axis] - 1) - 1
        if isinstance(extent, int):
            counts.append((extent + added) // strides[axis] + 1)
        else:
            counts.append(("+", ("//", ("+", extent, added), strides[axis]), 1))
        # windows are lookups, each of which replaces an axis by two: the elements of a window and
        # the windows
        value = c.emit(
            "Gather", value, places_of(c, (kernel[axis], counts[axis])), axis=2 + 2 * axis
        )
    value = c.emit("Transpose", value, perm=(0, 1, 2, 4, 3, 5))
    return c.reshaped(value, (batch, channels, *kernel, *counts), c.result.sizes)
