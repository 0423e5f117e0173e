"""Operators that move elements: reshaping, joining, cutting, padding, repeating."""

from __future__ import annotations

import numpy as np

from . import sweep
from .build import Build, NoCaseError


@sweep("Shape", repeats=6)
def shape(b: Build, op: str) -> None:
    rank = b.rng.randint(0, 5)
    attrs = {}
    if b.opset >= 15 and b.chance(0.6):
        attrs = {"start": b.rng.randint(-6, 6)}
        if b.chance(0.5):
            attrs["end"] = b.rng.randint(-6, 6)
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), **attrs)


@sweep("Size", repeats=5)
def size(b: Build, op: str) -> None:
    b.op(op, b.rand(b.shape(), b.dtype(op)))


@sweep("Flatten", repeats=5)
def flatten(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 5) if b.opset < 11 else b.rng.randint(0, 5)
    low = 0 if b.opset < 11 else -rank
    attrs = {"axis": b.rng.randint(low, rank)} if b.chance(0.8) or rank == 0 else {}
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), **attrs)


def factors(b: Build, total: int) -> list[int]:
    """A random factorisation of a number."""
    dims, rest = [], total
    for _ in range(b.rng.randint(0, 3)):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        dims.append(b.rng.choice(divisors))
        rest //= dims[-1]
    return [*dims, rest] if rest != 1 or not dims else dims


@sweep("Reshape", repeats=7)
def reshape(b: Build, op: str) -> None:
    source = b.shape(low=1 if b.chance(0.2) else 2, high=4)
    total = int(np.prod(source))
    attrs = {}
    if total == 0:
        target = list(source)
        b.rng.shuffle(target)
        if b.opset < 14:
            target = list(source)
        else:
            attrs["allowzero"] = 1
    else:
        target = factors(b, total)
        if target and b.chance(0.6):
            target[b.rng.randrange(len(target))] = -1
        for i, d in enumerate(target):
            if i < len(source) and d == source[i] and b.chance(0.5):
                target[i] = 0
    b.op(op, b.rand(source, b.dtype(op)), b.drive(np.array(target, np.int64)), **attrs)


@sweep("Transpose", repeats=5)
def transpose(b: Build, op: str) -> None:
    rank = b.rng.randint(0, 5)
    perm = list(range(rank))
    b.rng.shuffle(perm)
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), **({"perm": perm} if b.chance(0.8) else {}))


@sweep("Squeeze", repeats=6)
def squeeze(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 5)
    dims = list(b.shape(rank, 2, 4))
    ones = b.rng.sample(range(rank), b.rng.randint(1, rank))
    for i in ones:
        dims[i] = 1
    some = b.rng.sample(ones, b.rng.randint(1, len(ones)))
    axes = [a - (rank if b.opset >= 11 and b.chance(0.4) else 0) for a in some]
    x = b.rand(dims, b.dtype(op))
    if b.chance(0.2):
        b.op(op, x)
    elif b.opset < 13:
        b.op(op, x, axes=axes)
    else:
        b.op(op, x, b.drive(np.array(axes)))


@sweep("Unsqueeze", repeats=6)
def unsqueeze(b: Build, op: str) -> None:
    rank, more = b.rng.randint(0, 3), b.rng.randint(1, 2)
    some = b.rng.sample(range(rank + more), more)
    axes = [a - (rank + more if b.opset >= 11 and b.chance(0.4) else 0) for a in some]
    x = b.rand(b.shape(rank), b.dtype(op))
    if b.opset < 13:
        b.op(op, x, axes=axes)
    elif more == 1 and b.chance(0.2):
        b.op(op, x, b.drive(np.array(axes[0])))
    else:
        b.op(op, x, b.drive(np.array(axes)))


@sweep("Concat", repeats=8)
def concat(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 5)
    axis = b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)
    base, kind = list(b.shape(rank)), b.dtype(op)
    args = []
    for _ in range(b.rng.randint(1, 4)):
        base[axis] = b.rng.randint(0 if b.chance(0.1) else 1, 4)
        args.append(b.rand(base, kind))
    b.op(op, *args, axis=axis)


@sweep("Split", repeats=9)
def split(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)
    n = b.rng.randint(2, 3)
    sizes = [b.rng.randint(1, 4) for _ in range(n)]
    if equal := b.chance(0.4):
        sizes = [sizes[0]] * n
    dims = list(b.shape(rank))
    dims[axis] = sum(sizes)
    attrs = {"axis": axis} if b.chance(0.8) or axis != 0 else {}
    if equal and b.opset >= 18:
        if b.chance(0.5):
            dims[axis] = max(n, dims[axis] - b.rng.randint(0, n - 1))
        last = -(-dims[axis] // n)
        if last * (n - 1) >= dims[axis]:
            dims[axis] = last * n
        b.op(op, b.rand(dims, b.dtype(op)), n=n, num_outputs=n, **attrs)
    elif equal:
        b.op(op, b.rand(dims, b.dtype(op)), n=n, **attrs)
    elif b.opset < 13:
        b.op(op, b.rand(dims, b.dtype(op)), n=n, split=sizes, **attrs)
    else:
        b.op(op, b.rand(dims, b.dtype(op)), b.drive(np.array(sizes)), n=n, **attrs)


@sweep("Slice", repeats=14)
def slice_(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 5)
    dims = b.shape(rank, 1, 6)
    axes = b.rng.sample(range(rank), b.rng.randint(1, rank))
    signed = [a - (rank if b.opset >= 10 and b.chance(0.3) else 0) for a in axes]
    big = 2**63 - 1
    steps = [b.pick(1, 1, 2, 3, -1, -2) for _ in axes]
    if b.opset < 10 or b.chance(0.4):
        steps = [1] * len(axes)
    starts = [b.rng.randint(-7, 7) if b.chance(0.7) else b.pick(0, -1, big) for _ in axes]
    ends = [b.rng.randint(-7, 7) if b.chance(0.5) else b.pick(big, -big, 2**31 - 1) for _ in axes]
    x = b.rand(dims, b.dtype(op))
    if b.opset < 10:
        named = {"axes": signed} if axes != list(range(len(axes))) or b.chance(0.5) else {}
        b.op(op, x, starts=starts, ends=ends, **named)
        return
    kind = b.pick("i64", "i64", "i32")
    if kind == "i32":
        starts = [max(-(2**31), min(2**31 - 1, v)) for v in starts]
        ends = [max(-(2**31), min(2**31 - 1, v)) for v in ends]
    if axes == list(range(len(axes))) and b.chance(0.5):
        given = ""
    else:
        given = b.drive(np.array(signed), kind)
    step = b.drive(np.array(steps), kind) if set(steps) != {1} or b.chance(0.3) else ""
    b.op(op, x, b.drive(np.array(starts), kind), b.drive(np.array(ends), kind), given, step)


@sweep("Gather", repeats=9)
def gather(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank)
    dims = tuple(max(d, 1) for d in b.shape(rank))
    if b.opset < 11:
        axis %= rank
    low = -dims[axis] if b.opset >= 11 else 0
    where = b.shape(b.rng.randint(0, 3), 1, 3)
    index = np.array([b.rng.randint(low, dims[axis] - 1) for _ in range(int(np.prod(where)))])
    index = index.reshape(where).astype(b.pick(np.int64, np.int32))
    x = b.rand(dims, b.dtype(op))
    b.op(op, x, b.data(index), **({"axis": axis} if axis or b.chance(0.5) else {}))


@sweep("GatherElements", repeats=8)
def gather_elements(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank)
    dims = tuple(max(d, 2) for d in b.shape(rank))
    where = [b.rng.randint(1, d) for d in dims]
    where[axis] = b.rng.randint(1, 5)
    index = b.array(where, "i64", 1)
    b.op(op, b.rand(dims, b.dtype(op)), b.data(index), axis=axis)


@sweep("GatherND", repeats=8)
def gather_nd(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = tuple(max(d, 2) for d in b.shape(rank))
    batch = b.rng.randint(0, rank - 1) if b.opset >= 12 and b.chance(0.5) else 0
    depth = b.rng.randint(1, rank - batch)
    where = [*dims[:batch], *b.shape(b.rng.randint(0, 2), 1, 3), depth]
    attrs = {"batch_dims": batch} if batch else {}
    b.op(op, b.rand(dims, b.dtype(op)), b.rand(where, "i64", 1), **attrs)


@sweep("Scatter", "ScatterElements", repeats=7)
def scatter_elements(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = tuple(max(d, 2) for d in b.shape(rank))
    where = [b.rng.randint(1, d) for d in dims]
    kind = b.dtype(op)
    attrs = {"axis": b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)}
    if b.opset >= 16 and kind in ("f32", "i64"):
        attrs["reduction"] = b.pick("none", "add", "mul")
    index = np.zeros(where, np.int64)
    b.op(op, b.rand(dims, kind), b.data(index), b.rand(where, kind), **attrs)


@sweep("ScatterND", repeats=7)
def scatter_nd(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = tuple(max(d, 2) for d in b.shape(rank))
    depth = b.rng.randint(1, rank)
    outer = b.shape(b.rng.randint(1, 2), 1, 3)
    kind = b.dtype(op)
    index = b.array((*outer, depth), "i64", 1)
    b.op(op, b.rand(dims, kind), b.data(index), b.rand((*outer, *dims[depth:]), kind))


@sweep("Pad", repeats=9)
def pad(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = tuple(max(3, d) for d in b.shape(rank))
    kind = b.dtype(op, 0, ("f32", "f64", "i64", "i32", "u8", "i8", "f16", "bool"))
    mode = b.pick("constant", "constant", "reflect", "edge", *(["wrap"] * (b.opset >= 19)))
    low = -1 if b.chance(0.3) and mode == "constant" else 0
    if b.opset < 11:
        b.op(
            op, b.rand(dims, kind), pads=[b.rng.randint(low, 2) for _ in range(2 * rank)], mode=mode
        )
        return
    axes, n = "", rank
    if b.opset >= 18 and b.chance(0.5):
        some = b.rng.sample(range(rank), b.rng.randint(1, rank))
        signed = [a - (rank if b.chance(0.4) else 0) for a in some]
        n, axes = len(some), b.drive(np.array(signed))
    pads = b.drive(np.array([b.rng.randint(low, 2) for _ in range(2 * n)]))
    value = b.const(b.array((), kind)) if b.chance(0.4) else ""
    b.op(op, b.rand(dims, kind), pads, value, axes, mode=mode)


@sweep("Tile", repeats=9)
def tile(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    repeats = [b.rng.randint(0 if b.chance(0.1) else 1, 3) for _ in range(rank)]
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), b.drive(np.array(repeats)))


@sweep("Expand", repeats=12)
def expand(b: Build, op: str) -> None:
    full = b.shape()
    start = b.rng.randint(0, len(full))
    source = [1 if b.chance(0.5) else d for d in full[start:]]
    target = [
        1 if i >= start and b.chance(0.3) and d == source[i - start] else d
        for i, d in enumerate(full)
    ]
    if b.chance(0.2):
        # The input's rank may also be the larger one.
        source, target = [*full[:start], *source], target[start:]
    b.op(op, b.rand(source, b.dtype(op)), b.drive(np.array(target, np.int64)))


@sweep("DepthToSpace", "SpaceToDepth", repeats=6)
def space(b: Build, op: str) -> None:
    k = b.rng.randint(1, 3)
    n, c, h, w = (b.rng.randint(1, 3) for _ in range(4))
    dims = (n, c * k * k, h, w) if op == "DepthToSpace" else (n, c, h * k, w * k)
    attrs: dict[str, object] = {"blocksize": k}
    if op == "DepthToSpace" and b.opset >= 11 and b.chance(0.5):
        attrs["mode"] = b.pick("CRD", "DCR")
    b.op(op, b.rand(dims, b.dtype(op)), **attrs)


@sweep("ReverseSequence", repeats=10)
def reverse_sequence(b: Build, op: str) -> None:
    dims = (3, 3, *b.shape(b.rng.randint(0, 2)))
    axis = b.pick(0, 1)
    x = b.rand(dims, b.dtype(op))
    b.op(op, x, b.data(np.array([1, 2, 3])), batch_axis=axis, time_axis=1 - axis)


@sweep("Trilu", repeats=16)
def trilu(b: Build, op: str) -> None:
    k = b.data(np.array(b.rng.randint(-2, 2))) if b.chance(0.5) else ""
    rank = b.rng.randint(2, 4)
    b.op(op, b.rand(b.shape(rank), b.dtype(op)), k, **({"upper": 0} if b.chance(0.5) else {}))


@sweep("CenterCropPad", repeats=14)
def center_crop_pad(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axes = b.rng.sample(range(rank), b.rng.randint(1, rank)) if b.chance(0.6) else None
    n = rank if axes is None else len(axes)
    signed = None if axes is None else [a - (rank if b.chance(0.4) else 0) for a in axes]
    target = np.array([b.rng.randint(1, 6) for _ in range(n)])
    b.op(op, b.rand(b.shape(rank, 2), b.dtype(op)), b.drive(target), axes=signed)


@sweep("Compress", repeats=5)
def compress(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    dims = b.shape(rank, 2)
    axis = b.axis(rank) if b.chance(0.7) else None
    if b.opset < 11 and axis is not None:
        axis %= rank
    length = int(np.prod(dims)) if axis is None else dims[axis]
    cond = b.array((max(1, b.rng.randint(length // 2, length)),), "bool")
    b.op(op, b.rand(dims, b.dtype(op)), b.drive(cond, "bool"), axis=axis)


@sweep("OneHot", repeats=8)
def one_hot(b: Build, op: str) -> None:
    rank = b.rng.randint(0, 3)
    kind = b.dtype(op, 2, ("f32", "i64", "i32", "f64", "u8"))
    depth = b.drive(np.array(b.pick([4], 4)), b.pick("i64", "i32", "f32"))
    attrs = {"axis": b.rng.randint(-rank - 1, rank)} if b.chance(0.7) else {}
    b.op(op, b.rand(b.shape(rank), b.pick("i64", "i32")), depth, b.rand((2,), kind), **attrs)


@sweep("TopK", repeats=8)
def top_k(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank) if b.opset >= 11 else b.rng.randrange(rank)
    dims = tuple(max(d, 3) for d in b.shape(rank))
    k = b.rng.randint(0 if b.opset >= 11 and b.chance(0.1) else 1, 3)
    x = b.rand(dims, b.dtype(op))
    attrs = {} if axis in (-1, rank - 1) and b.chance(0.5) else {"axis": axis}
    if b.opset < 10:
        b.op(op, x, n=2, k=k, **attrs)
        return
    if b.opset >= 11 and b.chance(0.5):
        attrs |= {"largest": b.pick(0, 1), "sorted": b.pick(0, 1)}
    b.op(op, x, b.drive(np.array([k])), n=2, **attrs)


@sweep("Unique", repeats=4)
def unique(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 3)
    axis = b.axis(rank) if b.chance(0.5) else None
    x = b.array(b.shape(rank), b.dtype(op))
    source = b.const(x) if b.chance(0.3) else b.data(x)
    b.op(op, source, n=b.rng.randint(1, 4), axis=axis, sorted=b.pick(0, 1))


@sweep("NonZero", repeats=4)
def non_zero(b: Build, op: str) -> None:
    # No scalars: the specification says (0, N) for them, onnxruntime computes (1, N).
    x = b.array(b.shape(b.rng.randint(1, 4)), b.dtype(op))
    b.op(op, b.const(x) if b.chance(0.4) else b.data(x))


@sweep("TensorScatter", repeats=10)
def tensor_scatter(b: Build, op: str) -> None:
    n, h, s, d = (b.rng.randint(1, 3) for _ in range(4))
    kind = b.dtype(op, 0, ("f32", "f16", "i64"))
    cache, update = b.rand((n, h, s + 3, d), kind), b.rand((n, h, s, d), kind)
    index = b.data(np.zeros(n, np.int64)) if b.chance(0.7) else ""
    b.op(op, cache, update, index, **({"mode": "circular"} if b.chance(0.3) else {}))


@sweep("Upsample", repeats=6)
def upsample(b: Build, op: str) -> None:
    if b.opset > 9:
        raise NoCaseError(op)
    scales = [1.0, 1.0, b.pick(2.0, 1.5, 3.0), b.pick(2.0, 1.3)]
    x = b.rand((1, 2, 3, 4), "f32")
    mode = b.pick("nearest", "linear")
    if b.opset < 9:
        b.op(op, x, scales=scales, mode=mode)
    else:
        b.op(op, x, b.drive(np.array(scales), "f32"), mode=mode)


@sweep("Squeeze", repeats=6, opsets=(13, 21))
def squeeze_twice(b: Build, op: str) -> None:
    x = b.rand((1, b.rng.randint(2, 3), 1, 1))
    some = [b.pick(0, 2, 3, -1, -2, -4) for _ in range(b.rng.randint(1, 4))]
    b.op(op, x, b.drive(np.array(some)))


@sweep("Slice", repeats=20, opsets=(11, 13, 21))
def slice_from_before(b: Build, op: str) -> None:
    """Steps back that begin before the axis, and ends behind it."""
    x = b.rand((b.rng.randint(0, 4),))
    at = [b.rng.randint(-8, -1), b.rng.randint(-8, 8), 0, b.pick(-1, -2, -3)]
    start, end, axis, step = (np.array([v]) for v in at)
    b.op(op, x, b.drive(start), b.drive(end), b.const(axis), b.const(step))
