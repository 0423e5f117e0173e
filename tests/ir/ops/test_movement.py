"""Movement operators against NumPy and ONNX's reference evaluator: shapes and contents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from perfc.errors import ShapeError
from perfc.ir.graph import Inputs, Value
from perfc.ir.op import Op
from perfc.ir.ops.movement.gather import Gather, GatherElements, GatherND, OneHot
from perfc.ir.ops.movement.movement import (
    Col2Im,
    DepthToSpace,
    Expand,
    ReverseSequence,
    SpaceToDepth,
    Tile,
    Transpose,
    Trilu,
)
from perfc.ir.ops.movement.pad import CenterCropPad, Pad
from perfc.ir.ops.movement.scatter import ScatterElements, ScatterND
from perfc.ir.ops.movement.select import Compress, NonZero, TopK, Unique
from perfc.ir.ops.movement.slice import Concat, Slice, Split
from perfc.ir.symbolic.dim import Poly, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import BY_ONNX, DType, TensorType

N, H = symbol("N"), symbol("H")


def executed(op: Op, arrays: Sequence[Any], outputs: int) -> list[Any]:
    """Return the results of ONNX's reference evaluator."""
    from dataclasses import fields

    attrs = {
        f.name: getattr(op, f.name)
        for f in fields(op)
        if (getattr(op, f.name) != f.default or isinstance(op, Concat)) and f.name != "num_outputs"
    }
    if isinstance(op, Split) and arrays[1] is None:
        attrs["num_outputs"] = op.num_outputs
    names = ["" if a is None else f"i{k}" for k, a in enumerate(arrays)]
    node = helper.make_node(op.onnx.split()[0], names, [f"o{k}" for k in range(outputs)], **attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
        if n
    ]
    outs = [onnx.ValueInfoProto(name=f"o{k}") for k in range(outputs)]
    model = helper.make_model(
        helper.make_graph([node], "g", infos, outs), opset_imports=[helper.make_opsetid("", 20)]
    )
    feeds = {n: a for n, a in zip(names, arrays, strict=True) if n}
    return list(ReferenceEvaluator(model).run(None, feeds))


def as_value(name: str, array: Any) -> Value | None:
    if array is None:
        return None
    dtype = BY_ONNX[helper.np_dtype_to_tensor_dtype(array.dtype)]
    known = Known.of(array.shape, array.reshape(-1).tolist())
    return Value(name, TensorType(dtype, array.shape), known)


def assert_agrees(op: Op, *arrays: Any, outputs: int = 1) -> None:
    """Types and contents are those of the reference."""
    truths = executed(op, arrays, outputs)
    ins: Inputs = tuple(as_value(f"i{k}", a) for k, a in enumerate(arrays))
    types = op.infer(ins)
    folded = op.fold(ins, types)
    for k, truth in enumerate(truths):
        dtype = BY_ONNX[helper.np_dtype_to_tensor_dtype(np.asarray(truth).dtype)]
        assert types[k] == TensorType(dtype, np.shape(truth)), (op, k)
        if folded:
            content = folded[k]
            assert content is not None, (op, k)
            assert content.shape == np.shape(truth), (op, k)
            assert content.items == tuple(np.asarray(truth).reshape(-1).tolist()), (op, k)


def ints(rng: random.Random, shape: Sequence[int], low: int = 0, high: int = 9) -> Any:
    items = [rng.randint(low, high) for _ in range(prod(shape))]
    return np.array(items, np.int64).reshape(shape)


def extents(rng: random.Random, rank: int, low: int = 1) -> tuple[int, ...]:
    return tuple(rng.randint(low, 4) for _ in range(rank))


def vector(*items: int) -> Any:
    return np.array(items, np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_transpose_expand_tile_and_concat_agree(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 4)
    shape = extents(rng, rank)
    x = ints(rng, shape)
    assert_agrees(Transpose(perm=tuple(rng.sample(range(rank), rank))), x)
    assert_agrees(Transpose(), x)
    wanted = [rng.choice([1, d]) if d > 1 else rng.randint(1, 3) for d in shape]
    assert_agrees(Expand(), x, vector(2, *wanted))
    assert_agrees(Tile(), x, vector(*(rng.randint(0, 3) for _ in shape)))
    axis = rng.randrange(-rank, rank)
    other = list(shape)
    other[axis] = rng.randint(0, 3)
    assert_agrees(Concat(axis=axis), x, ints(rng, other), x)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_agrees(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    x = ints(rng, [rng.randint(3, 5) for _ in range(rank)])
    axes = rng.sample(range(rank), rng.randint(1, rank))
    # the reference evaluator does not cut
    pads = [rng.randint(0, 2) for _ in range(2 * len(axes))]
    fill = np.array(7, np.int64) if mode == "constant" else None
    assert_agrees(Pad(mode=mode), x, vector(*pads), fill, vector(*axes))


@pytest.mark.parametrize("seed", range(20))
def test_slice_and_split_agree(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    shape = extents(rng, rank)
    x = ints(rng, shape)
    axes = rng.sample(range(rank), rng.randint(1, rank))
    starts = [rng.randint(-d, d) for d in (shape[a] for a in axes)]
    ends = [rng.randint(-6, 6) for _ in axes]
    steps = [rng.choice([1, 2, -1, -2]) for _ in axes]
    assert_agrees(Slice(), x, vector(*starts), vector(*ends), vector(*axes), vector(*steps))
    first = rng.randint(0, shape[0])
    assert_agrees(Split(num_outputs=2), x, vector(first, shape[0] - first), outputs=2)


@pytest.mark.parametrize("seed", range(20))
def test_gather_and_scatter_agree(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    shape = extents(rng, rank, 2)
    x = ints(rng, shape)
    axis = rng.randrange(-rank, rank)
    d = shape[axis]
    assert_agrees(Gather(axis=axis), x, ints(rng, extents(rng, rng.randint(0, 2)), -d, d - 1))
    # the reference evaluator wants the other extents equal, and no negative axis then
    axis %= rank
    taken = [rng.randint(1, s) if a == axis else s for a, s in enumerate(shape)]
    at = ints(rng, taken, -d, d - 1)
    assert_agrees(GatherElements(axis=axis), x, at)
    vectors = ints(rng, (3, rng.randint(1, rank)), 0, 1)
    assert_agrees(GatherND(), x, vectors)
    rows = (3, *shape[vectors.shape[1] :])
    for reduction in ("none", "add", "mul", "max", "min"):
        assert_agrees(ScatterND(reduction=reduction), x, vectors, ints(rng, rows))
    for reduction in ("add", "max"):
        op = ScatterElements(axis=axis, reduction=reduction)
        assert_agrees(op, x, at, ints(rng, at.shape))


@pytest.mark.parametrize("seed", range(20))
def test_selection_agrees(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    shape = extents(rng, rank)
    x = ints(rng, shape, 0, 3)
    assert_agrees(NonZero(), x)
    axis = rng.randrange(rank)
    flags = np.array([rng.random() < 0.5 for _ in range(shape[axis])])
    assert_agrees(Compress(axis=axis), x, flags)
    for op in (Unique(), Unique(axis=axis)):
        assert_agrees(op, x, outputs=4)
    # the reference evaluator takes no order of appearance from more than a vector
    assert_agrees(Unique(sorted=0), x.reshape(-1), outputs=4)
    depth = np.array(rng.randint(1, 5), np.int64)
    assert_agrees(OneHot(axis=rng.randrange(-rank - 1, rank + 1)), x, depth, vector(2, 5))
    distinct = np.array(rng.sample(range(prod(shape)), prod(shape)), np.int64).reshape(shape)
    k = vector(rng.randint(1, shape[axis]))
    assert_agrees(TopK(axis=axis, largest=seed % 2), distinct, k, outputs=2)


@pytest.mark.parametrize("seed", range(10))
def test_triangles_crops_and_blocks_agree(seed: int) -> None:
    rng = random.Random(seed)
    x = ints(rng, (2, *extents(rng, 2)), 1, 9)
    k = np.array(rng.randint(-3, 3), np.int64)
    assert_agrees(Trilu(upper=seed % 2), x, k)
    assert_agrees(CenterCropPad(axes=(1, 2)), x, vector(*extents(rng, 2)))
    pixels = ints(rng, (1, 8, 2, 3)).astype(np.float32)
    assert_agrees(DepthToSpace(blocksize=2), pixels)
    assert_agrees(SpaceToDepth(blocksize=2), pixels[:, :, :2, :2])
    assert_agrees(ReverseSequence(), pixels[0, 0], vector(1, 2, 1))


def test_symbols_pass_through_movement() -> None:
    x = Value("x", TensorType(DType.F32, (N, 8, H, 4)))
    assert Transpose(perm=(0, 2, 3, 1)).infer((x,)) == (TensorType(DType.F32, (N, H, 4, 8)),)
    assert DepthToSpace(blocksize=2).infer((x,)) == (TensorType(DType.F32, (N, 2, H * 2, 8)),)
    assert SpaceToDepth(blocksize=2).infer((x,)) == (TensorType(DType.F32, (N, 32, H // 2, 2)),)


def test_computed_pads_of_window_attention_stay_symbolic() -> None:
    pads = Known.vector((0, 0, 0, 0, 0, 0, 7 - H, 0))
    x = Value("x", TensorType(DType.F32, (N, 8, H, 4)))
    ins = (x, Value("p", TensorType(DType.I64, (8,)), pads))
    assert Pad().infer(ins) == (TensorType(DType.F32, (N, 8, 7, 4)),)


def test_an_expanded_axis_of_unknown_target_keeps_an_extent_above_one() -> None:
    x = Value("x", TensorType(DType.F32, (4, 1)))
    target = Value("t", TensorType(DType.I64, (2,)))
    out = Expand().infer((x, target))[0]
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert out.shape[0] == 4
    assert isinstance(out.shape[1], Poly)


def test_expansion_reads_its_source_once() -> None:
    x = Value("x", TensorType(DType.F32, (1, 8)))
    ins = (x, Value("t", TensorType(DType.I64, (2,)), Known.vector((100, 8))))
    traffic = Expand().traffic(ins, Expand().infer(ins))
    assert (traffic.read_bytes, traffic.write_bytes) == (32, 3200)


def test_columns_add_into_an_image() -> None:
    x = Value("x", TensorType(DType.F32, (N, 5 * 4, 12)))
    ins = (
        x,
        Value("i", TensorType(DType.I64, (2,)), Known.vector((5, 5))),
        Value("b", TensorType(DType.I64, (2,)), Known.vector((2, 2))),
    )
    outs = Col2Im().infer(ins)
    assert outs == (TensorType(DType.F32, (N, 5, 5, 5)),)
    work = Col2Im().work(ins, outs)
    assert work is not None
    assert work.alu == N * 240


def test_pads_that_leave_less_than_nothing_are_refused() -> None:
    x = Value("x", TensorType(DType.F32, (2,)))
    with pytest.raises(ShapeError):
        Pad().infer((x, Value("p", TensorType(DType.I64, (2,)), Known.vector((-2, -1)))))
