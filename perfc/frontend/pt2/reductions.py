"""ATen operators that reduce, sort and make tensors.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..lowering.builder import Meta, Size
from ..lowering.elements import DataType
from .call import LOWERINGS, AtenCall, Lowering, lowers
from .movement import expanded

REDUCTIONS: Mapping[str, str] = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "prod": "ReduceProd",
    "logsumexp": "ReduceLogSumExp",
}
"""Reductions over the axes ``dim``, each with the operator of ONNX."""


def reduced(c: AtenCall, operator: str, value: str, axes: list[int], *, keep: int) -> str:
    """Return a value reduced over axes."""
    # ONNX reduces all axes if none is given
    return c.emit(operator, value, c.ints(*axes) if axes else "", keepdims=keep)


def reduction(operator: str) -> Lowering:
    """Return the lowering of a reduction over the axes ``dim``."""

    def lowered(c: AtenCall) -> str:
        value = c.operand("self", c.result.dtype)
        return reduced(c, operator, value, axes_of(c), keep=c.flag("keepdim"))

    return lowered


def axes_of(c: AtenCall) -> list[int]:
    """Return the axes of a reduction; all of them if it names none."""
    dim, rank = c.value("dim"), c.given.rank
    listed = [dim] if isinstance(dim, int) else dim or []
    return [a % rank for a in listed] if listed and rank else [*range(rank)]


LOWERINGS.update({name: reduction(operator) for name, operator in REDUCTIONS.items()})


@lowers("any", "all")
def _any(c: AtenCall) -> str:
    # of truth values, any is the maximum and all the minimum
    operator = "ReduceMax" if "any" in c.operator else "ReduceMin"
    value = c.operand("self", DataType.BOOL)
    return reduced(c, operator, value, axes_of(c), keep=c.flag("keepdim"))


@lowers("max", "min", "max.dim", "min.dim")
def _max(c: AtenCall) -> list[str]:
    name = "Max" if "max" in c.operator else "Min"
    keep = c.flag("keepdim")
    value = reduced(c, f"Reduce{name}", c.x, axes_of(c), keep=keep)
    if len(c.outputs) == 1:
        return [value]
    index = c.emit(f"Arg{name}", c.x, axis=axes_of(c)[0], keepdims=keep)
    return [value, index]


@lowers("argmax", "argmin")
def _argmax(c: AtenCall) -> str:
    operator = "ArgMax" if "argmax" in c.operator else "ArgMin"
    value = c.x
    if c.value("dim") is None:
        return c.emit(operator, c.emit("Reshape", value, c.ints(-1)), axis=0, keepdims=0)
    return c.emit(operator, value, axis=c.axis("dim"), keepdims=c.flag("keepdim"))


@lowers("var", "std", "var_mean", "std_mean")
def _var(c: AtenCall) -> list[str]:
    axes, dtype = axes_of(c), c.result.dtype
    keep = c.flag("keepdim")
    mean = reduced(c, "ReduceMean", c.x, axes, keep=1)
    deviations = c.emit("Sub", c.x, mean)
    value = reduced(c, "ReduceMean", c.emit("Mul", deviations, deviations), axes, keep=keep)
    # Bessel's correction: the sum is divided by the count less 1, or less another number
    correction = c.value("correction", c.flag("unbiased", default=True))
    if correction:
        count = 1
        for axis in axes:
            # a symbolic extent counts as 1: only the value of the factor changes
            size = c.given.sizes[axis]
            count *= size if isinstance(size, int) else 1
        value = c.emit("Mul", value, c.scalar(count / max(count - correction, 1), dtype))
    if "std" in c.operator:
        value = c.emit("Sqrt", value)
    if len(c.outputs) == 1:
        return [value]
    return [value, mean if keep else c.emit("Squeeze", mean, c.ints(*axes))]


@lowers("norm", "linalg_vector_norm", "frobenius_norm", "linalg_norm", "linalg_matrix_norm.str_ord")
def _norm(c: AtenCall) -> str:
    is_matrix = "matrix" in c.operator and "dim" not in c.args
    rank, order = c.given.rank, c.value("ord", c.value("p", "fro" if is_matrix else 2))
    value, keep = c.operand("self", c.result.dtype), c.flag("keepdim")
    axes = [rank - 2, rank - 1] if is_matrix else axes_of(c)
    operator = {None: "ReduceL2", "fro": "ReduceL2", 1: "ReduceL1", 2: "ReduceL2"}.get(order)
    if operator is not None:
        return reduced(c, operator, value, axes, keep=keep)
    value, exponent = c.emit("Abs", value), float(order)
    if abs(exponent) == math.inf:
        return reduced(c, "ReduceMax" if exponent > 0 else "ReduceMin", value, axes, keep=keep)
    powers = c.emit("Pow", value, c.scalar(exponent, c.result.dtype))
    total = reduced(c, "ReduceSum", powers, axes, keep=keep)
    return c.emit("Pow", total, c.scalar(1 / exponent, c.result.dtype))


@lowers("pairwise_distance")
def _pairwise(c: AtenCall) -> str:
    if c.number("p", 2.0) != 2.0:
        raise ValueError("another distance than the euclidean one")
    differences = c.emit("Sub", c.tensor("x1"), c.tensor("x2"))
    # the last axis of the operands, which the result lacks unless it is kept
    return reduced(
        c, "ReduceL2", differences, [c.result.rank - c.flag("keepdim")], keep=c.flag("keepdim")
    )


@lowers("nansum", "nanmean", "count_nonzero")
def _counted(c: AtenCall) -> str:
    """Return sums or means without NaN, or the number of elements that are not 0."""
    given = c.given.dtype
    value, zero = c.x, c.scalar(0, given)
    axes, keep = axes_of(c), c.flag("keepdim")
    if c.operator.startswith("nan"):
        # zeros replace NaN; the mean divides by all elements, which costs the same
        value = c.emit("Where", c.emit("IsNaN", value), zero, value)
        name = "ReduceMean" if c.operator == "nanmean" else "ReduceSum"
        return reduced(c, name, value, axes, keep=keep)
    is_counted = c.cast(c.emit("Not", c.emit("Equal", value, zero)), DataType.BOOL, DataType.INT64)
    return reduced(c, "ReduceSum", is_counted, axes, keep=keep)


@lowers("linalg_vecdot")
def _vecdot(c: AtenCall) -> str:
    product = c.emit("Mul", c.tensor("x"), c.tensor("y"))
    return reduced(c, "ReduceSum", product, [c.integer("dim", -1) % (c.result.rank + 1)], keep=0)


@lowers("aminmax")
def _aminmax(c: AtenCall) -> list[str]:
    keep = c.flag("keepdim")
    return [reduced(c, f"Reduce{name}", c.x, axes_of(c), keep=keep) for name in ("Min", "Max")]


@lowers("kthvalue", "median.dim", "median")
def _ranked(c: AtenCall) -> list[str]:
    """Return the k-th smallest element; the median is the one in the middle."""
    axis, value = c.axis("dim", -1), c.x
    if is_whole := "dim" not in c.args and len(c.outputs) == 1:
        value, axis = c.emit("Reshape", value, c.ints(-1)), 0
    sizes = c.given.sizes
    count = math.prod(int(str(s)) for s in (sizes if is_whole else sizes[axis : axis + 1]))
    place = c.integer("k", (count + 1) // 2)
    # the k smallest elements, and of these the last one
    smallest = c.several("TopK", (value, c.ints(place)), 2, axis=axis, largest=0)
    ends = [c.ints(end) for end in (place - 1, place, axis)]
    selected = [c.emit("Slice", each, *ends) for each in smallest[: len(c.outputs)]]
    is_kept = c.flag("keepdim") and not is_whole
    return selected if is_kept else [c.emit("Squeeze", each, c.ints(axis)) for each in selected]


@lowers("softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax")
def _softmax(c: AtenCall) -> str:
    operator = "LogSoftmax" if "log_softmax" in c.operator else "Softmax"
    value = c.operand("self", c.result.dtype)
    if "safe" in c.operator:
        return safe_softmax(c, value, c.axis("dim", -1))
    return c.emit(operator, value, axis=c.axis("dim", -1))


def safe_softmax(c: AtenCall, value: str, axis: int) -> str:
    """Return a softmax with zeros for rows of minus infinity."""
    # such rows are fully masked, and their softmax would be NaN
    masked = c.emit("Equal", value, c.scalar(-math.inf, c.result.dtype))
    rows = reduced(c, "ReduceMin", masked, [axis], keep=1)
    probabilities = c.emit("Softmax", value, axis=axis)
    return c.emit("Where", rows, c.scalar(0, c.result.dtype), probabilities)


@lowers("cumsum", "cumprod")
def _cumsum(c: AtenCall) -> str:
    value = c.operand("self", c.result.dtype)
    operator = "CumProd" if "cumprod" in c.operator else "CumSum"
    return c.emit(operator, value, c.scalar(c.axis("dim"), DataType.INT64))


@lowers("topk", "sort", "argsort", "msort")
def _topk(c: AtenCall) -> list[str]:
    axis = c.axis("dim", -1)
    # a sort is a selection of all elements
    count = c.value("k", c.given.sizes[axis])
    largest = c.flag("largest", default=True) if "k" in c.args else c.flag("descending")
    values, places = c.several("TopK", (c.x, c.extents([count])), 2, axis=axis, largest=largest)
    return [places] if "argsort" in c.operator else [values, places]


@lowers("one_hot")
def _one_hot(c: AtenCall) -> str:
    depth = c.result.sizes[-1]
    ends = c.scope.builder.constant((0, 1), DataType.INT64)
    return c.emit("OneHot", c.x, c.extents([depth]), ends)


@lowers("nonzero")
def _nonzero(c: AtenCall) -> str:
    return c.emit("Transpose", c.emit("NonZero", c.x), perm=(1, 0))


FILLED = (
    "full ones zeros empty new_full new_ones new_zeros new_empty full_like ones_like zeros_like "
    "empty_like empty_permuted empty_strided new_empty_strided scalar_tensor zero fill "
    "tril_indices triu_indices logspace hann_window hamming_window blackman_window bartlett_window "
    "fft_fftfreq fft_rfftfreq"
)
"""Operators that make elements of no operand; any contents are written as one number."""


@lowers(*FILLED.split())
def _full(c: AtenCall) -> str:
    name, dtype = next((n for n in ("fill_value", "value", "s") if c.kind(n)), ""), c.result.dtype
    element = c.operand(name, dtype) if name else c.scalar(int("ones" in c.operator), dtype)
    return expanded(c, element, (), c.result.sizes)


@lowers("arange")
def _arange(c: AtenCall) -> str:
    dtype = c.result.dtype
    step = c.operand("step", dtype) if c.kind("step") else c.scalar(1, dtype)
    start = c.operand("start", dtype) if c.kind("start") else c.scalar(0, dtype)
    return c.emit("Range", start, c.operand("end", dtype), step)


@lowers("linspace")
def _linspace(c: AtenCall) -> str:
    dtype, count = c.result.dtype, c.integer("steps", 1)
    # ONNX has no such operator: whole numbers times the step, plus the start
    places = c.emit("Range", *(c.scalar(v, DataType.INT64) for v in (0, count, 1)))
    start, end = c.number("start", 0), c.number("end", 0)
    step = c.scalar((end - start) / max(count - 1, 1), dtype)
    scaled = c.emit("Mul", c.cast(places, DataType.INT64, dtype), step)
    return c.emit("Add", scaled, c.scalar(start, dtype))


@lowers("eye")
def _eye(c: AtenCall) -> str:
    # EyeLike reads only the shape of its operand
    zeros = expanded(c, c.scalar(0, c.result.dtype), (), c.result.sizes)
    return c.emit("EyeLike", zeros)


@lowers("rand", "randn", "randint")
def _rand(c: AtenCall) -> str:
    zeros = expanded(c, c.scalar(0, DataType.FLOAT), (), c.result.sizes)
    operator = "RandomNormalLike" if "randn" in c.operator else "RandomUniformLike"
    numbers = c.emit(operator, zeros)
    return c.cast(numbers, DataType.FLOAT, c.result.dtype)


@lowers("mse_loss", "l1_loss")
def _mse_loss(c: AtenCall) -> str:
    differences = c.emit("Sub", c.x, c.tensor("target"))
    losses = (
        c.emit("Abs", differences)
        if "l1" in c.operator
        else c.emit("Mul", differences, differences)
    )
    return over_batch(c, losses, c.given)


def over_batch(c: AtenCall, each: str, meta: Meta) -> str:
    """Return the losses of all elements, or their mean or sum."""
    # 0 is none, 1 the mean and 2 the sum. Source: at::Reduction of PyTorch
    reduction = c.integer("reduction", 1)
    operator = "ReduceMean" if reduction == 1 else "ReduceSum"
    return reduced(c, operator, each, [*range(meta.rank)], keep=0) if reduction else each


@lowers(
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "kl_div",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
    "poisson_nll_loss",
)
def _elementwise_loss(c: AtenCall) -> str:
    name = "self" if "self" in c.args else "input"
    losses = c.emit(c.operator, c.tensor(name), c.tensor("target"), domain="aten")
    if c.has("weight"):
        losses = c.emit("Mul", losses, c.tensor("weight"))
    return over_batch(c, losses, c.meta(name))


@lowers("cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss_forward", "nll_loss2d")
def _class_loss(c: AtenCall) -> str:
    if c.meta("target").is_float:
        # losses of ONNX have classes as targets, no probabilities
        likelihood = c.emit("LogSoftmax", c.x, axis=1)
        terms = c.emit("Neg", c.emit("Mul", likelihood, c.tensor("target")))
        total = reduced(c, "ReduceSum", terms, [1], keep=0)
        # only the number of axes counts: that of the operand, without its classes
        return over_batch(c, total, Meta(0, c.given.sizes[1:]))
    is_softmax = "cross_entropy" in c.operator
    return c.emit(
        "SoftmaxCrossEntropyLoss" if is_softmax else "NegativeLogLikelihoodLoss",
        c.x,
        c.tensor("target"),
        c.tensor("weight"),
        reduction=("none", "mean", "sum")[c.integer("reduction", 1)],
        ignore_index=c.integer("ignore_index", -100),
    )


@lowers("cosine_similarity")
def _cosine_similarity(c: AtenCall) -> str:
    axis = [c.integer("dim", 1) % c.meta("x1").rank]
    product = c.emit("Mul", c.tensor("x1"), c.tensor("x2"))
    norms = [reduced(c, "ReduceL2", c.tensor(x), axis, keep=0) for x in ("x1", "x2")]
    dot = reduced(c, "ReduceSum", product, axis, keep=0)
    return c.emit("Div", dot, c.emit("Mul", *norms))


@lowers("cdist", "_cdist_forward")
def _cdist(c: AtenCall) -> str:
    metric = {1: "cityblock", 2: "euclidean", math.inf: "chebyshev"}.get(c.number("p", 2))
    x1, x2 = c.tensor("x1"), c.tensor("x2")
    return c.emit("CDist", x1, x2, domain="com.microsoft", metric=metric or "minkowski")


@lowers("meshgrid")
def _meshgrid(c: AtenCall) -> list[str]:
    raws, results = c.raws("tensors"), []
    is_swapped = c.value("indexing", "ij") == "xy"
    for at, raw in enumerate(raws):
        # ``xy`` exchanges the first two axes
        place = {0: 1, 1: 0}.get(at, at) if is_swapped else at
        after = c.scope.meta(c.outputs[at]).sizes
        before = [1] * len(after)
        sizes: list[Size] = [*before[:place], c.scope.meta(raw).sizes[0], *before[place + 1 :]]
        value = c.reshaped(c.scope.values[raw], c.scope.meta(raw).sizes, sizes)
        results.append(expanded(c, value, sizes, after))
    return results


@lowers("channel_shuffle")
def _channel_shuffle(c: AtenCall) -> str:
    sizes, groups = list(c.given.sizes), c.integer("groups", 1)
    # -1 lets ONNX divide a symbolic number of channels
    split: list[Size] = [sizes[0], groups, -1, *sizes[2:]]
    if isinstance(sizes[1], int):
        split[2] = sizes[1] // groups
    value = c.reshaped(c.x, sizes, split)
    order = (0, 2, 1, *range(3, len(split)))
    return c.reshaped(c.emit("Transpose", value, perm=order), split, sizes)
