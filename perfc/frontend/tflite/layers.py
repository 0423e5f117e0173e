"""Convolutions, products, pooling, normalizations and recurrent layers of TensorFlow Lite.

Each function lowers calls of the operators that its decorator names. Of the call ``c``, ``value``
and ``bind`` take ``first`` for feature maps with channels before rows, as ONNX has them, and
``real=False`` for elements that are moved without a conversion from quantized to real numbers.
"""

from __future__ import annotations

from typing import Any

from ..lowering.builder import Meta
from ..lowering.elements import DataType
from .call import FlatCall, lowers


def _window(c: FlatCall, axes: str = "hw") -> dict[str, Any]:
    """Return the attributes of a window that moves along axes."""
    return {
        "strides": tuple(c.option(f"stride_{a}", 1) for a in axes),
        # the enum of the schema is 0 for SAME and 1 for VALID
        "auto_pad": "VALID" if c.option("padding") else "SAME_UPPER",
    }


@lowers("CONV_2D", "DEPTHWISE_CONV_2D")
def _conv(c: FlatCall) -> None:
    # filters are [1, h, w, channels] if depthwise, else [outputs, h, w, inputs]
    perm = (3, 0, 1, 2) if c.operator == "DEPTHWISE_CONV_2D" else (0, 3, 1, 2)
    channels, per_group = c.tensor(0).meta.sizes[3], c.tensor(1).meta.sizes[3]
    if not (isinstance(channels, int) and isinstance(per_group, int) and per_group > 0):
        raise ValueError("an unknown number of channels")
    groups = channels if c.operator == "DEPTHWISE_CONV_2D" else channels // per_group
    operands = c.value(0, first=True), c.stored(1, perm), c.value(2)
    dilations = c.option("dilation_h", 1), c.option("dilation_w", 1)
    c.bind(c.emit("Conv", *operands, group=groups, dilations=dilations, **_window(c)), first=True)


@lowers("CONV_3D")
def _conv_3d(c: FlatCall) -> None:
    # only maps of rank 4 are tracked channels-first: operand and result are transposed here
    x = c.emit("Transpose", c.value(0), perm=(0, 4, 1, 2, 3))
    # filters are [depth, h, w, inputs, outputs]
    weight = c.stored(1, (4, 3, 0, 1, 2))
    dilations = tuple(c.option(f"dilation_{a}", 1) for a in "dhw")
    result = c.emit("Conv", x, weight, c.value(2), dilations=dilations, **_window(c, "dhw"))
    c.bind(c.emit("Transpose", c.activated(result), perm=(0, 2, 3, 4, 1)))


@lowers("TRANSPOSE_CONV")
def _transpose_conv(c: FlatCall) -> None:
    # operand 0 is the shape of the result; filters are [outputs, h, w, inputs]
    x, bias = c.value(2, first=True), c.value(3)
    c.bind(c.emit("ConvTranspose", x, c.stored(1, (3, 0, 1, 2)), bias, **_window(c)), first=True)


@lowers("AVERAGE_POOL_2D", "MAX_POOL_2D")
def _pool(c: FlatCall) -> None:
    operator = "AveragePool" if c.operator == "AVERAGE_POOL_2D" else "MaxPool"
    kernel = c.option("filter_h", 1), c.option("filter_w", 1)
    c.bind(c.emit(operator, c.value(0, first=True), kernel_shape=kernel, **_window(c)), first=True)


@lowers("FULLY_CONNECTED")
def _fully_connected(c: FlatCall) -> None:
    x, value, inner = c.tensor(0), c.value(0), c.tensor(1).meta.sizes[1]
    # without the option to keep the axes, all but the last one are joined to rows of a matrix
    if x.rank != 2 and (not c.option("keep") or x.rank < 2):
        value, rank = c.emit("Reshape", value, c.shape((-1, inner))), 2
    else:
        rank = x.rank
    bias = c.value(2)
    if rank == 2 and bias:
        result = c.emit("Gemm", value, c.stored(1, (0, 1)), bias, transB=1)
    else:
        result = c.emit("MatMul", value, c.stored(1, (1, 0)))
        result = c.emit("Add", result, bias) if bias else result
    # rank 0 is that of a result without declared extents
    if c.result().rank not in (rank, 0):
        result = c.emit("Reshape", result, c.shape(c.result().meta.sizes))
    c.bind(result)


@lowers("BATCH_MATMUL")
def _batch_matmul(c: FlatCall) -> None:
    operands: list[str] = []
    for at, name in enumerate(("adj_x", "adj_y")):
        perm = [*range(c.tensor(at).rank)]
        if c.option(name):
            perm[-2:] = perm[-1], perm[-2]
        operands.append(c.stored(at, perm))
    c.bind(c.emit("MatMul", *operands))


@lowers("SOFTMAX", "LOG_SOFTMAX")
def _softmax(c: FlatCall) -> None:
    # the option beta, a factor before the exponential, is ignored
    first = c.can_be_first((0,))
    operator = "Softmax" if c.operator == "SOFTMAX" else "LogSoftmax"
    c.bind(c.emit(operator, c.value(0, first=first), axis=1 if first else -1), first=first)


@lowers("L2_NORMALIZATION")
def _l2_normalization(c: FlatCall) -> None:
    first = c.can_be_first((0,))
    result = c.emit("LpNormalization", c.value(0, first=first), axis=1 if first else -1, p=2)
    c.bind(result, first=first)


@lowers("LOCAL_RESPONSE_NORMALIZATION")
def _lrn(c: FlatCall) -> None:
    result = c.emit(
        "LRN",
        c.value(0, first=True),
        size=2 * c.option("radius", 5) + 1,
        alpha=c.number("alpha", 1.0),
        beta=c.number("beta", 0.5),
        bias=c.number("bias", 1.0),
    )
    c.bind(result, first=True)


@lowers("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(c: FlatCall) -> None:
    rows, columns = c.integers(1)
    mode = "linear" if c.operator == "RESIZE_BILINEAR" else "nearest"
    coordinates = "half_pixel" if c.option("half") else "asymmetric"
    if c.option("aligned"):
        coordinates = "align_corners"
    result = c.emit(
        "Resize",
        c.value(0, first=True),
        "",
        "",
        c.ints(rows, columns),
        axes=(2, 3),
        mode=mode,
        coordinate_transformation_mode=coordinates,
    )
    c.bind(result, first=True)


@lowers("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def _blocks(c: FlatCall) -> None:
    operator = "DepthToSpace" if c.operator == "DEPTH_TO_SPACE" else "SpaceToDepth"
    result = c.emit(operator, c.value(0, first=True, real=False), blocksize=c.option("block", 1))
    c.bind(result, first=True, real=False)


@lowers("UNIDIRECTIONAL_SEQUENCE_LSTM")
def _lstm(c: FlatCall) -> None:
    """Lower an LSTM: ONNX has one matrix each for the four gates of the input and of the state.

    Operands: 1 to 4 are weights of the input and 5 to 8 of the state, for input, forget, cell and
    output gate, of which 1 is missing if input and forget gate are coupled; 12 to 15 are biases, 16
    is a projection, 20 a layer normalization.
    """
    if not c.has(1) or c.has(16) or c.has(20):
        raise ValueError("coupled gates, a projection or a normalization")
    hidden, width = c.tensor(2).meta.sizes
    if not (isinstance(hidden, int) and isinstance(width, int)):
        raise ValueError("unknown extents")
    packed: list[str] = []
    # elements are not read: one weight gives name and type of the joined four
    for at, sizes in ((2, (1, 4 * hidden, width)), (6, (1, 4 * hidden, hidden))):
        tensor = c.tensor(at)
        name = c.builder.fresh(tensor.name or "weight")
        c.builder.stored(name, Meta(tensor.meta.dtype, sizes), is_parameter=tensor.is_stored)
        # one scale serves the joined weights; a scale for each row would have to be joined too
        packed.append(c.dequantized(name, tensor, 0) if len(tensor.scales) == 1 else name)
    # ONNX has a bias for the product of the input and one for that of the state
    bias = c.builder.fresh(c.tensor(12).name or "bias")
    c.builder.stored(bias, Meta(DataType.FLOAT, (1, 8 * hidden)), is_parameter=True)
    layout = 0 if c.option("time_major") else 1
    result = c.emit("LSTM", c.value(0), *packed, bias, hidden_size=hidden, layout=layout)
    # the axis of directions: [steps, directions, batch, hidden], or [batch, steps, directions, ...]
    c.bind(c.emit("Squeeze", result, c.ints(1 + layout)))


@lowers("SVDF")
def _svdf(c: FlatCall) -> None:
    """Lower a product with each new input, and a filter over the last results of that product.

    Operands: 0 input, 1 weights of the product, 2 weights of the filter over time, 3 bias, 4 the
    memory of earlier results.
    """
    filters, memory = c.tensor(2).meta.sizes
    rank = c.option("rank", 1)
    if not (isinstance(filters, int) and isinstance(memory, int)) or rank < 1:
        raise ValueError("unknown extents")
    new = c.emit("MatMul", c.value(0), c.stored(1, (1, 0)))
    states = c.emit("Reshape", c.value(4), c.ints(-1, filters, memory))
    # the oldest result leaves the memory, the new one is appended
    states = c.emit("Slice", states, c.ints(1), c.ints(memory), c.ints(2))
    states = c.emit("Concat", states, c.emit("Unsqueeze", new, c.ints(2)), axis=2)
    result = c.emit("ReduceSum", c.emit("Mul", states, c.value(2)), c.ints(2), keepdims=0)
    # each unit is the sum of ``rank`` filters
    result = c.emit("Reshape", result, c.ints(-1, filters // rank, rank))
    result = c.emit("ReduceSum", result, c.ints(2), keepdims=0)
    c.bind(c.emit("Add", result, c.value(3)) if c.has(3) else result)
