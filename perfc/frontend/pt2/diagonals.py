"""ATen operators that select or fill diagonals and triangles of matrices.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from ..lowering.elements import DataType
from .call import AtenCall, lowers
from .movement import transposed


@lowers("tril", "triu")
def _tril(c: AtenCall) -> str:
    diagonal = c.integer("diagonal", 0)
    return c.emit(
        "Trilu",
        c.x,
        c.scalar(diagonal, DataType.INT64) if diagonal else "",
        upper=int("triu" in c.operator),
    )


@lowers("diagonal", "trace", "diagonal_copy")
def _diagonal(c: AtenCall) -> str:
    """Return a diagonal of two axes, or its sum.

    In a flattened matrix, its elements are one row and one element away from each other.
    """
    rank = c.given.rank
    axes = [c.integer(name, at) % rank for at, name in enumerate(("dim1", "dim2"))]
    order = [*(a for a in range(rank) if a not in axes), *axes]
    sizes = [c.given.sizes[a] for a in order]
    rows, columns = sizes[-2:]
    offset = c.integer("offset", 0)
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise ValueError("a diagonal of symbolic extents")
    # a diagonal above the main one begins some columns later, one below it some rows later
    start = offset if offset > 0 else -offset * columns
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    flat = c.reshaped(transposed(c, order), sizes, [*sizes[:-2], rows * columns])
    ends = (c.ints(n) for n in (start, start + count * (columns + 1), rank - 2, columns + 1))
    diagonal = c.emit("Slice", flat, *ends)
    return (
        c.emit("ReduceSum", diagonal, c.ints(0), keepdims=0) if c.operator == "trace" else diagonal
    )


@lowers("diag_embed")
def _diag_embed(c: AtenCall) -> str:
    rank, (rows, columns) = c.result.rank, c.result.sizes[-2:]
    axes = [c.integer(name, at) % rank for name, at in (("dim1", -2), ("dim2", -1))]
    if c.integer("offset", 0) or axes != [rank - 2, rank - 1] or rows != columns:
        raise ValueError("another diagonal than that of the last axes")
    # the contents of the identity matrix do not change shapes or costs
    eye = c.scope.builder.filled((int(str(rows)), int(str(columns))), c.result.dtype)
    return c.emit("Mul", c.emit("Unsqueeze", c.x, c.ints(rank - 2)), eye)


@lowers("block_diag")
def _block_diag(c: AtenCall) -> str:
    metas, columns, rows = [c.scope.meta(raw) for raw in c.raws("tensors")], c.result.sizes[1], []
    # each block is padded with zeros to the width of all
    before = 0
    for value, meta in zip(c.tensors("tensors"), metas, strict=True):
        width = meta.sizes[1] if meta.rank == 2 else 0
        if not (isinstance(width, int) and isinstance(columns, int) and width):
            raise ValueError("blocks that are no matrices, or of symbolic extents")
        after = columns - before - width
        rows.append(c.emit("Pad", value, c.ints(0, before, 0, after), mode="constant"))
        before += width
    return c.emit("Concat", *rows, axis=0)
