"""ATen operators that read and write elements at indices.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering.builder import Size
from ..lowering.elements import DataType
from .call import AtenCall, lowers
from .layers import results
from .movement import expanded


@lowers("index_select")
def _index_select(c: AtenCall) -> str:
    return c.emit("Gather", c.x, c.tensor("index"), axis=c.axis("dim"))


@lowers("embedding")
def _embedding(c: AtenCall) -> str:
    return c.emit("Gather", c.tensor("weight"), c.tensor("indices"), axis=0)


@lowers("gather", "take_along_dim")
def _gather(c: AtenCall) -> str:
    index = "indices" if "indices" in c.args else "index"
    return c.emit("GatherElements", c.x, c.tensor(index), axis=c.axis("dim"))


@lowers("take")
def _take(c: AtenCall) -> str:
    flat = c.emit("Reshape", c.x, c.ints(-1))
    return c.emit("Gather", flat, c.tensor("index"), axis=0)


@lowers("scatter", "scatter_add", "scatter_reduce")
def _scatter(c: AtenCall) -> str:
    # by words of scatter_reduce and of the older argument of scatter; ONNX has no mean
    mode = {
        "sum": "add",
        "amax": "max",
        "amin": "min",
        "prod": "mul",
        "add": "add",
        "multiply": "mul",
    }
    reduction = "add" if "scatter_add" in c.operator else mode.get(c.value("reduce", ""), "none")
    index, source = c.tensor("index"), c.tensor("src")
    # without a tensor the source is a number
    if not source:
        dtype = c.result.dtype
        source = expanded(c, c.operand("value", dtype), (), c.meta("index").sizes)
    return c.emit("ScatterElements", c.x, index, source, axis=c.axis("dim"), reduction=reduction)


@lowers("index", "_unsafe_index")
def _index(c: AtenCall) -> str:
    raws = c.raws("indices")
    given = [(axis, raw) for axis, raw in enumerate(raws) if raw]
    if len(given) == 1:
        axis, raw = given[0]
        if c.scope.meta(raw).dtype == DataType.BOOL:
            return selected(c, axis, raw)
        return c.emit("Gather", c.x, c.scope.values[raw], axis=axis)
    axes, rank = [axis for axis, _ in given], c.given.rank
    # NumPy: the result axes of indices at axes that are not adjacent come first
    are_neighbors = axes == list(range(axes[0], axes[-1] + 1))
    value = c.x
    # GatherND looks up leading axes
    order = [*axes, *(a for a in range(rank) if a not in axes)]
    if order != sorted(order):
        value = c.emit("Transpose", value, perm=tuple(order))
    value = c.emit("GatherND", value, index_tuples(c, [raw for _, raw in given]))
    if axes[0] and are_neighbors:
        # the axes of the broadcast indices now come first, then the axes before the indexed ones
        depth = max(c.scope.meta(raw).rank for _, raw in given)
        first = depth + axes[0]
        # indices at neighbouring axes leave their result in place of these
        restored = [*range(depth, first), *range(depth), *range(first, c.result.rank)]
        value = c.emit("Transpose", value, perm=tuple(restored))
    return value


def selected(c: AtenCall, axis: int, raw: str) -> str:
    """Return the elements where a mask is true; the mask begins at an axis."""
    mask = c.scope.meta(raw)
    if axis == 0 and mask.rank > 1:
        return c.emit("GatherND", c.x, places(c, raw))
    return c.emit("Compress", c.x, c.scope.values[raw], axis=axis)


def places(c: AtenCall, raw: str) -> str:
    """Return the positions of the true elements of a mask, one row for each element."""
    rows = c.emit("NonZero", c.scope.values[raw])
    return c.emit("Transpose", rows, perm=(1, 0))


def index_tuples(c: AtenCall, raws: Sequence[str]) -> str:
    """Return tensors of indices joined along a new last axis."""
    metas = [c.scope.meta(raw) for raw in raws]
    rank = max(m.rank for m in metas)
    sizes: list[Size] = []
    # indices broadcast to a common shape, from the last axis on
    for at in range(rank):
        extents = [m.sizes[at - rank + m.rank] for m in metas if at - rank + m.rank >= 0]
        sizes.append(next((s for s in extents if s != 1), 1))
    parts = [
        expanded(c, c.scope.values[raw], m.sizes, sizes) for raw, m in zip(raws, metas, strict=True)
    ]
    columns = [c.emit("Unsqueeze", part, c.ints(rank)) for part in parts]
    return c.emit("Concat", *columns, axis=rank)


@lowers("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(c: AtenCall) -> str:
    raws = [raw for raw in c.raws("indices") if raw]
    if len(raws) == 1 and c.scope.meta(raws[0]).dtype == DataType.BOOL:
        # a single number needs no positions, only a selection between it and the tensor
        if c.meta("values").rank == 0:
            mask = c.scope.values[raws[0]]
            for axis in range(c.scope.meta(raws[0]).rank, c.result.rank):
                mask = c.emit("Unsqueeze", mask, c.ints(axis))
            return c.emit("Where", mask, c.tensor("values"), c.x)
        at = places(c, raws[0])
    else:
        at = index_tuples(c, raws)
    reduction = "add" if c.value("accumulate") else "none"
    return c.emit("ScatterND", c.x, at, c.tensor("values"), reduction=reduction)


@lowers("masked_select")
def _masked_select(c: AtenCall) -> str:
    # Compress selects from vectors
    flat = [c.emit("Reshape", c.tensor(name), c.ints(-1)) for name in ("self", "mask")]
    return c.emit("Compress", *flat, axis=0)


@lowers("masked_scatter")
def _masked_scatter(c: AtenCall) -> str:
    at = places(c, c.raw("mask"))
    flat = c.emit("Reshape", c.tensor("source"), c.ints(-1))
    return c.emit("ScatterND", c.x, at, flat)


@lowers("index_add", "index_copy", "index_reduce", "index_fill", "put")
def _at_index(c: AtenCall) -> str:
    """Return a tensor with the elements at indices of an axis changed."""
    # of index_reduce, the argument names the change; of any other operator, its name does
    change = c.value("reduce", c.operator)
    value, sizes, positions = c.x, c.given.sizes, c.meta("index")
    axis = c.axis("dim") if c.operator != "put" else 0
    shape = list(sizes)
    # ``put`` counts elements in the flattened tensor
    if c.operator == "put":
        value, shape = c.emit("Reshape", value, c.ints(-1)), [positions.sizes[0]]
    count = positions.sizes[0] if positions.rank else 1
    # ScatterElements takes an index for each element: the vector of indices, broadcast
    shape[axis] = count
    column = [1] * axis + [count] + [1] * (len(shape) - axis - 1)
    index = c.reshaped(c.tensor("index"), positions.sizes, column)
    index = expanded(c, index, column, shape)
    if c.operator == "index_fill":
        source = expanded(c, c.operand("value", c.result.dtype), (), shape)
    else:
        source = c.operand("source", c.result.dtype)
    if c.value("alpha", 1) != 1:
        source = c.emit("Mul", source, c.operand("alpha", c.result.dtype))
    # ScatterElements has no mean: a sum stands for it, without the division
    reduction = {"index_add": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}
    scattered = c.emit(
        "ScatterElements",
        value,
        index,
        source,
        axis=axis,
        reduction="add" if c.value("accumulate") else reduction.get(change, "none"),
    )
    return scattered if c.operator != "put" else c.reshaped(scattered, (None,), sizes)


@lowers("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(c: AtenCall) -> list[str]:
    """Return sums, means or maxima of the rows of bags."""
    names = ("weight", "indices", "offsets", "per_sample_weights")
    last = c.flag("include_last_offset")
    return results(c, [c.emit("embedding_bag", *map(c.tensor, names), domain="aten", last=last)])


@lowers("bucketize", "searchsorted")
def _places(c: AtenCall) -> str:
    is_sorted = c.operator == "searchsorted"
    boundaries = "sorted_sequence" if is_sorted else "boundaries"
    count = c.meta(boundaries).sizes[-1]
    if not isinstance(count, int):
        raise ValueError("a symbolic number of boundaries")
    return c.emit(
        "searchsorted",
        c.x,
        c.tensor(boundaries),
        domain="aten",
        steps=count.bit_length(),
        output_dtype=int(c.result.dtype),
    )


@lowers("histc", "bincount")
def _histogram(c: AtenCall) -> str:
    (bins,) = c.result.sizes
    return c.emit(
        "histc",
        c.x,
        c.tensor("weights"),
        domain="aten",
        bins=bins if isinstance(bins, int) else None,
        output_dtype=int(c.result.dtype),
    )


@lowers("cummax", "cummin")
def _cummax(c: AtenCall) -> list[str]:
    return c.several("cummax", (c.x,), 2, domain="aten")
