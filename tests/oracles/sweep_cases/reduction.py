"""Reductions, soft maxima and normalisations."""

from __future__ import annotations

import numpy as np

from . import sweep
from .build import Build

REDUCE = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)


@sweep(*REDUCE, repeats=6)
def reduce(b: Build, op: str) -> None:
    rank = b.rng.randint(0, 5)
    kind = b.dtype(op, 0, ("f32", "f64", "i32", "i64", "f16", "u8", "i8", "bool", "bf16"))
    dims = b.shape(rank)
    if (
        b.chance(0.9) or kind == "f16"
    ):  # onnxruntime's f16 kernels forget to make scalars of empties
        dims = tuple(max(1, d) for d in dims)
    axes = b.axes(rank)
    if b.opset < 11:
        axes = [a % rank for a in axes]
    attrs = {"keepdims": b.pick(0, 1)} if b.chance(0.8) else {}
    x = b.rand(dims, kind)
    if b.opset >= (13 if op == "ReduceSum" else 18):
        if b.chance(0.3):
            attrs["noop_with_empty_axes"] = b.pick(0, 1)
        given = b.drive(np.array(axes, np.int64)) if axes or b.chance(0.5) else ""
        b.op(op, x, given, **attrs)
    else:
        b.op(op, x, **attrs, **({"axes": axes} if axes else {}))


@sweep("ArgMax", "ArgMin", repeats=5)
def arg(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)
    attrs = {"axis": axis} if b.chance(0.8) else {}
    if b.chance(0.7):
        attrs["keepdims"] = b.pick(0, 1)
    if b.opset >= 12 and b.chance(0.3):
        attrs["select_last_index"] = 1
    dims = tuple(max(1, d) for d in b.shape(rank))
    b.op(op, b.rand(dims, b.dtype(op)), **attrs)


@sweep("Softmax", "LogSoftmax", "Hardmax", repeats=5)
def softmax(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), **({"axis": axis} if b.chance(0.8) else {}))


@sweep("BatchNormalization", repeats=6)
def batch_normalization(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(2, 5)))
    kind = b.dtype(op, 0, ("f32", "f64", "f16"))
    args = [b.const(b.array((dims[1],), kind)) for _ in range(4)]
    x = b.rand(dims, kind)
    if b.opset >= 14 and b.chance(0.3):
        b.op(op, x, *args, n=3, training_mode=1)
    else:
        b.op(op, x, *args, epsilon=1e-3)


@sweep("InstanceNormalization", repeats=8)
def instance_normalization(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(3, 5)))
    kind = b.dtype(op, 0, ("f32", "f16"))
    args = [b.const(b.array((dims[1],), kind)) for _ in range(2)]
    b.op(op, b.rand(dims, kind), *args)


@sweep("GroupNormalization", repeats=8)
def group_normalization(b: Build, op: str) -> None:
    groups = b.rng.randint(1, 3)
    dims = (2, groups * b.rng.randint(1, 2), *b.shape(b.rng.randint(1, 3), 2))
    kind = b.dtype(op, 0, ("f32", "f64", "f16"))
    n = groups if b.opset < 21 else dims[1]
    args = [b.const(b.array((n,), kind)) for _ in range(2)]
    b.op(op, b.rand(dims, kind), *args, num_groups=groups)


@sweep("LayerNormalization", "RMSNormalization", repeats=10)
def layer_normalization(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank)
    dims = tuple(max(1, d) for d in b.shape(rank))
    kind = b.dtype(op, 0, ("f32", "f64", "f16"))
    args = [b.const(b.array(dims[axis:], kind))]
    n = 1
    if op == "LayerNormalization":
        n = b.rng.randint(1, 3)
        if b.chance(0.5):
            args.append(b.const(b.array(dims[axis:], kind)))
    b.op(op, b.rand(dims, kind), *args, n=n, axis=axis)


@sweep("LpNormalization", repeats=6)
def lp_normalization(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = tuple(max(1, d) for d in b.shape(rank))
    kind = b.dtype(op, 0, ("f32", "f64"))
    b.op(op, b.rand(dims, kind), p=b.pick(1, 2), axis=b.axis(rank))


@sweep("MeanVarianceNormalization", repeats=8)
def mean_variance_normalization(b: Build, op: str) -> None:
    axes = [0, 2, 3] if b.chance(0.5) else [1, 2]
    b.op(op, b.rand((2, 3, 4, 2), "f32"), **({"axes": axes} if b.chance(0.7) else {}))


@sweep("LRN", repeats=6)
def lrn(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(4))
    b.op(op, b.rand(dims, b.dtype(op, 0, ("f32", "f64", "f16"))), size=b.pick(1, 3, 5))


@sweep("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", repeats=9)
def loss(b: Build, op: str) -> None:
    n, c = b.rng.randint(1, 3), b.rng.randint(2, 4)
    more = b.shape(b.rng.randint(0, 2), 2)
    kind = b.dtype(op, 0, ("f32", "f64", "f16"))
    weight = b.const(b.array((c,), kind)) if b.chance(0.4) else ""
    attrs: dict[str, object] = {"reduction": b.pick("none", "mean", "sum")}
    if b.chance(0.3):
        attrs["ignore_index"] = 1
    outputs = b.pick(1, 2) if op == "SoftmaxCrossEntropyLoss" else 1
    labels = b.data(b.array((n, *more), b.pick("i64", "i32"), 1))
    b.op(op, b.rand((n, c, *more), kind), labels, weight, n=outputs, **attrs)


@sweep("ReduceSum", "ReduceMax", "ReduceMean", repeats=4, opsets=(18, 21))
def axes_twice(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = [max(1, d) for d in b.shape(rank)]
    axes = [b.rng.randrange(rank) for _ in range(b.rng.randint(1, 4))]
    axes += [a - rank for a in axes if b.chance(0.5)]
    b.op(op, b.rand(dims), b.drive(np.array(axes)), keepdims=b.pick(0, 1))
