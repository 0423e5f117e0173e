"""ONNX operators of image and language models in PyTorch, by name, for `torch_runtime`.

A function takes torch, the attributes of a node and its operands, and returns its result. Next to
the attributes of the file are ``_op``, ``_outputs`` and ``_device`` of the node. Operators that are
one function of PyTorch without attributes are in the table next to this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from importlib import import_module
from typing import Any

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from perfc.common.fitted import data_next_to

Attributes = dict[str, Any]
"""Attributes of a node by name."""
OPERATORS: dict[str, Callable[..., Any]] = {
    "BatchNormalization": lambda torch, attrs, x, scale, bias, mean, variance: (
        torch.nn.functional.batch_norm(
            x, mean, variance, scale, bias, training=False, eps=attrs.get("epsilon", 1e-5)
        )
    ),
    "GroupNormalization": lambda torch, attrs, x, scale, bias: torch.nn.functional.group_norm(
        x, attrs["num_groups"], scale, bias, attrs.get("epsilon", 1e-5)
    ),
    "Softmax": lambda torch, attrs, x: torch.softmax(x, attrs.get("axis", -1)),
    "LogSoftmax": lambda torch, attrs, x: torch.log_softmax(x, attrs.get("axis", -1)),
    "Gelu": lambda torch, attrs, x: torch.nn.functional.gelu(
        x, approximate=str(attrs.get("approximate", "none"))
    ),
    "LeakyRelu": lambda torch, attrs, x: torch.nn.functional.leaky_relu(
        x, attrs.get("alpha", 0.01)
    ),
    "Elu": lambda torch, attrs, x: torch.nn.functional.elu(x, attrs.get("alpha", 1.0)),
    "PRelu": lambda torch, _, x, slope: torch.where(x >= 0, x, x * slope),
    "HardSigmoid": lambda torch, attrs, x: torch.clamp(
        x * attrs.get("alpha", 0.2) + attrs.get("beta", 0.5), 0, 1
    ),
    "GlobalAveragePool": lambda torch, _, x: x.mean(dim=tuple(range(2, x.dim())), keepdim=True),
    "GlobalMaxPool": lambda torch, _, x: x.amax(dim=tuple(range(2, x.dim())), keepdim=True),
    "Cast": lambda torch, attrs, x: x.to(
        getattr(torch, tensor_dtype_to_np_dtype(attrs["to"]).name)
    ),
    "Shape": lambda torch, attrs, x: torch.tensor(
        list(x.shape)[attrs.get("start", 0) : attrs.get("end")]
    ),
    "Size": lambda torch, _, x: torch.tensor(x.numel()),
    "Range": lambda torch, _, start, end, step: torch.arange(
        start.item(), end.item(), step.item(), dtype=start.dtype, device=start.device
    ),
    "CumSum": lambda torch, _, x, axis: torch.cumsum(x, int(axis)),
    "Dropout": lambda torch, _, x, *rest: x,
    "Identity": lambda torch, _, x: x,
    "Einsum": lambda torch, attrs, *inputs: torch.einsum(str(attrs["equation"]), *inputs),
    "Flatten": lambda torch, attrs, x: x.reshape(math.prod(x.shape[: attrs.get("axis", 1)]), -1),
    "Transpose": lambda torch, attrs, x: x.permute(
        attrs.get("perm", list(reversed(range(x.dim()))))
    ),
    "Expand": lambda torch, _, x, shape: x.broadcast_to(
        np.broadcast_shapes(tuple(x.shape), tuple(ints(shape)))
    ),
    "Tile": lambda torch, _, x, repeats: x.tile(ints(repeats)),
}
"""By operator, a function of torch, the attributes and the operands that returns the result."""


def operator(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for ONNX operators."""

    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        OPERATORS.update(dict.fromkeys(names, call))
        return call

    return register


def ints(t: Any) -> list[int]:
    """Return the content of an integer tensor, or a list unchanged."""
    return [int(x) for x in (t.reshape(-1).tolist() if hasattr(t, "tolist") else t)]


def _named(path: str, is_binary: bool) -> Callable[..., Any]:
    """Return a call of a function of PyTorch by its path, ``nn.functional.mish``."""

    def call(torch: Any, _: Attributes, *inputs: Any) -> Any:
        function = torch
        for part in path.split("."):
            function = getattr(function, part)
        if is_binary:
            a, b = together(inputs[0], inputs[1])
            return function(a, b)
        return function(inputs[0])

    return call


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Move two operands to one device; small integers are on the host."""
    if a.device == b.device:
        return a, b
    return (a.to(b.device), b) if a.device.type == "cpu" else (a, b.to(a.device))


for _arity, _table in data_next_to(__file__).items():
    OPERATORS.update({name: _named(path, _arity == "binary") for name, path in _table.items()})


@operator("Max", "Min")
def _extremum(torch: Any, attrs: Attributes, *inputs: Any) -> Any:
    call = torch.maximum if attrs["_op"] == "Max" else torch.minimum
    return reduce(lambda a, b: call(*together(a, b)), inputs)


@operator("Div")
def _div(torch: Any, _: Attributes, a: Any, b: Any) -> Any:
    a, b = together(a, b)
    # integers of ONNX divide to integers, those of PyTorch to floats by default
    return torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")


@operator("Conv")
def _conv(torch: Any, attrs: Attributes, x: Any, w: Any, b: Any = None) -> Any:
    f = torch.nn.functional
    x, strides, dilations, pads = padded(torch, attrs, x, w.shape[2:])
    call = (f.conv1d, f.conv2d, f.conv3d)[len(pads) - 1]
    return call(x, w, b, strides, pads, dilations, attrs.get("group", 1))


def padded(
    torch: Any, attrs: Attributes, x: Any, kernel: Sequence[int], fill: float | None = None
) -> tuple[Any, list[int], list[int], list[int]]:
    """Return an input with strides, dilations, and the pads of each axis that PyTorch adds.

    PyTorch pads both ends equally, and in a pool by half of the window at most. Any other padding
    is added to the input here, with the number ``fill`` in a pool and with zeros otherwise.
    """
    rank = len(kernel)
    strides, dilations = attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
    pads = attrs.get("pads", [0] * 2 * rank)
    if str(attrs.get("auto_pad", "NOTSET")).startswith("SAME"):
        pads = _same(x.shape[2:], kernel, strides, dilations, str(attrs["auto_pad"]))
    is_wide = fill is not None and any(2 * p > k for p, k in zip(pads, kernel, strict=False))
    if pads[:rank] != pads[rank:] or is_wide:
        pad = [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])]
        x, pads = torch.nn.functional.pad(x, pad, value=fill or 0), [0] * rank
    return x, strides, dilations, list(pads[:rank])


def _same(x: Any, w: Any, strides: Any, dilations: Any, mode: str) -> list[int]:
    """Return the pads of ``auto_pad``, begins then ends, with which ceil(n / stride) results fit.

    SAME_UPPER puts the odd one at the end, SAME_LOWER at the begin. Source: ONNX, operator Conv.
    """
    begins, ends = [], []
    for n, k, s, d in zip(x, w, strides, dilations, strict=True):
        total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
        small, large = total // 2, total - total // 2
        begins.append(large if mode == "SAME_LOWER" else small)
        ends.append(small if mode == "SAME_LOWER" else large)
    return begins + ends


@operator("ConvTranspose")
def _conv_transpose(torch: Any, attrs: Attributes, x: Any, w: Any, b: Any = None) -> Any:
    f = torch.nn.functional
    rank = w.dim() - 2
    pads = attrs.get("pads", [0] * 2 * rank)
    call = (f.conv_transpose1d, f.conv_transpose2d, f.conv_transpose3d)[rank - 1]
    output_padding = attrs.get("output_padding", [0] * rank)
    strides, dilations = attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
    # only the begins: PyTorch cuts both ends off equally
    begins, groups = list(pads[:rank]), attrs.get("group", 1)
    return call(x, w, b, strides, begins, output_padding, groups, dilations)


@operator("Gemm")
def _gemm(torch: Any, attrs: Attributes, a: Any, b: Any, c: Any = None) -> Any:
    # alpha · a · b + beta · c
    a = a.t() if attrs.get("transA") else a
    b = b.t() if attrs.get("transB") else b
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
    if c is None:
        return torch.mm(a, b) * alpha if alpha != 1 else torch.mm(a, b)
    return torch.addmm(c, a, b, beta=beta, alpha=alpha)


@operator("LayerNormalization")
def _layer_norm(torch: Any, attrs: Attributes, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = attrs.get("axis", -1) % x.dim()
    epsilon = attrs.get("epsilon", 1e-5)
    return torch.nn.functional.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


@operator("InstanceNormalization")
def _instance_norm(torch: Any, attrs: Attributes, x: Any, scale: Any, bias: Any) -> Any:
    f = torch.nn.functional
    return f.instance_norm(x, weight=scale, bias=bias, eps=attrs.get("epsilon", 1e-5))


@operator("Clip")
def _clip(torch: Any, attrs: Attributes, x: Any, low: Any = None, high: Any = None) -> Any:
    least = attrs.get("min") if low is None else low.item()
    most = attrs.get("max") if high is None else high.item()
    return torch.clamp(x, least, most)


@operator("MaxPool", "AveragePool")
def _pool(torch: Any, attrs: Attributes, x: Any) -> Any:
    f = torch.nn.functional
    kernel, is_ceil = list(attrs["kernel_shape"]), bool(attrs.get("ceil_mode", 0))
    is_maximum = attrs["_op"] == "MaxPool"
    # padding never is the maximum; it counts as zeros in a mean
    fill = -math.inf if is_maximum and x.is_floating_point() else 0
    x, strides, dilations, pads = padded(torch, attrs, x, kernel, fill)
    if is_maximum:
        call = (f.max_pool1d, f.max_pool2d, f.max_pool3d)[len(kernel) - 1]
        return call(x, kernel, strides, pads, dilations, is_ceil)
    call = (f.avg_pool1d, f.avg_pool2d, f.avg_pool3d)[len(kernel) - 1]
    return call(x, kernel, strides, pads, is_ceil, bool(attrs.get("count_include_pad", 0)))


@operator("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd")
def _reduce(torch: Any, attrs: Attributes, x: Any, axes: Any = None) -> Any:
    given = attrs.get("axes") if axes is None else ints(axes)
    # no axes: all of them
    dims = tuple(given) if given else tuple(range(x.dim()))
    keeps_dims, norm = bool(attrs.get("keepdims", 1)), partial(torch.linalg.vector_norm, x)
    calls = {"Mean": x.mean, "Sum": x.sum, "Max": x.amax, "Min": x.amin, "L2": norm}
    call = calls.get(attrs["_op"].removeprefix("Reduce"))
    if call is not None:
        return call(dim=dims, keepdim=keeps_dims)
    # prod takes one axis at a time: the last first, so that the others keep their numbers
    for axis in sorted((d % x.dim() for d in dims), reverse=True):
        x = x.prod(dim=axis, keepdim=keeps_dims)
    return x


@operator("Constant")
def _constant(torch: Any, attrs: Attributes) -> Any:
    if "value" in attrs:
        return attrs["value"]
    for key in ("value_ints", "value_int", "value_floats", "value_float"):
        if key in attrs:
            return torch.tensor(attrs[key])
    raise RuntimeError("a constant without a value of numbers")


@operator("ConstantOfShape")
def _constant_of_shape(torch: Any, attrs: Attributes, shape: Any) -> Any:
    value = attrs.get("value")
    if value is None:
        return torch.zeros(ints(shape), device=attrs["_device"])
    return torch.full(ints(shape), value.item(), dtype=value.dtype, device=attrs["_device"])


@operator("Trilu")
def _trilu(torch: Any, attrs: Attributes, x: Any, k: Any = None) -> Any:
    shift = 0 if k is None else int(k)
    return torch.triu(x, shift) if attrs.get("upper", 1) else torch.tril(x, shift)


@operator("ScatterND")
def _scatter_nd(torch: Any, _: Attributes, x: Any, index: Any, updates: Any) -> Any:
    result = x.clone()
    result[tuple(index.to(x.device).unbind(-1))] = updates
    return result


@operator("ArgMax", "ArgMin")
def _arg(torch: Any, attrs: Attributes, x: Any) -> Any:
    call = torch.argmax if attrs["_op"] == "ArgMax" else torch.argmin
    return call(x, attrs.get("axis", 0), bool(attrs.get("keepdims", 1)))


# registers further operators; at the end, as that module needs names of this one
import_module(".torch_movement", __package__)
