"""ATen operators that are products of matrices.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from functools import cache
from string import ascii_letters

from ..lowering.builder import Size
from .call import AtenCall, lowers

MOST_POWER = 64
"""Maximum exponent of a power of matrices, which becomes at most 12 products."""
MOST_FACTORS = 32
"""Maximum matrices of a product whose best order is searched: the search is cubic in them."""


@lowers("matmul", "bmm", "mm", "dot", "vdot", "mv", "linalg_matmul", "_int_mm")
def _matmul(c: AtenCall) -> str:
    second = next(n for n in ("other", "mat2", "tensor", "vec") if n in c.args)
    # the sums of a product of bytes have 32 bits
    operator = "MatMulInteger" if c.operator == "_int_mm" else "MatMul"
    return c.emit(operator, c.x, c.tensor(second))


@lowers("_grouped_mm", "transformers::grouped_mm_fallback")
def _grouped(c: AtenCall) -> str:
    """Return products of rows with the matrix of their group; the third operand has their ends."""
    first, second = ("self", "mat2") if "mat2" in c.args else ("input", "weight")
    ends, ranks = c.tensor("offs"), (c.meta(first).rank, c.meta(second).rank)
    if not ends and ranks == (3, 3):
        product = c.emit("MatMul", c.tensor(first), c.tensor(second))
    elif ends and ranks == (2, 3):
        operands = (*map(c.tensor, (first, second)), ends)
        product = c.emit("grouped_mm", *operands, domain="aten", is_transposed=1)
    else:
        raise ValueError("groups of columns, or of what is summed")
    return c.emit("Add", product, c.tensor("bias")) if c.has("bias") else product


@lowers("tensordot", "inner")
def _tensordot(c: AtenCall) -> str:
    """Return the sum of products over pairs of axes, one of each operand."""
    ranks = [c.meta(name).rank for name in ("self", "other")]
    given = [c.integers(name, [-1]) for name in ("dims_self", "dims_other")]
    pairs = [[a % rank for a in axes] for axes, rank in zip(given, ranks, strict=True)]
    # a letter for each axis; axes that are summed share theirs
    letters = iter(ascii_letters)
    terms = [[next(letters) for _ in range(rank)] for rank in ranks]
    for axis, other_axis in zip(*pairs, strict=True):
        terms[1][other_axis] = terms[0][axis]
    result = [
        x for t, axes in zip(terms, pairs, strict=True) for a, x in enumerate(t) if a not in axes
    ]
    equation = f"{','.join(map(''.join, terms))}->{''.join(result)}"
    return c.emit("Einsum", c.x, c.tensor("other"), equation=equation)


@lowers("chain_matmul", "linalg_multi_dot")
def _chain(c: AtenCall) -> str:
    """Return the product of matrices in the order of the fewest operations, as PyTorch does."""
    name = "matrices" if "matrices" in c.args else "tensors"
    values, metas = c.tensors(name), [c.scope.meta(raw) for raw in c.raws(name)]
    is_fixed = all(isinstance(s, int) for m in metas for s in m.sizes)
    if not is_fixed or len(metas) > MOST_FACTORS:
        raise ValueError("symbolic extents, or too many matrices")
    # matrix i has sizes[i] rows and sizes[i + 1] columns; a vector first is one row, a vector last
    # one column
    sizes = [int(str(metas[0].sizes[0])) if metas[0].rank == 2 else 1]
    sizes += [int(str(m.sizes[-1])) if m.rank == 2 or not at else 1 for at, m in enumerate(metas)]

    @cache
    def best(first: int, last: int) -> tuple[int, int]:
        """Return the fewest operations of a part, and the last matrix left of its last product."""
        if first == last:
            return 0, first
        ends = sizes[first] * sizes[last + 1]
        return min(
            (best(first, at)[0] + best(at + 1, last)[0] + ends * sizes[at + 1], at)
            for at in range(first, last)
        )

    def product(first: int, last: int) -> str:
        if first == last:
            return values[first]
        at = best(first, last)[1]
        return c.emit("MatMul", product(first, at), product(at + 1, last))

    return product(0, len(values) - 1)


@lowers("linalg_matrix_power", "matrix_power")
def _power(c: AtenCall) -> str:
    """Return a power of square matrices by repeated squares."""
    exponent = c.integer("n", 1)
    if not 0 < exponent <= MOST_POWER:
        raise ValueError("an inverse, or a large power")
    square, result = c.x, ""
    # a square for each binary digit, a product for each that is 1
    while exponent:
        if exponent % 2:
            result = c.emit("MatMul", result, square) if result else square
        exponent //= 2
        square = c.emit("MatMul", square, square) if exponent else square
    return result


@lowers("addmm", "addmv")
def _addmm(c: AtenCall) -> str:
    if "mat1" not in c.args:
        return c.emit("Add", c.emit("MatMul", c.tensor("mat"), c.tensor("vec")), c.x)
    alpha, beta = float(c.number("alpha", 1)), float(c.number("beta", 1))
    return c.emit("Gemm", c.tensor("mat1"), c.tensor("mat2"), c.x, alpha=alpha, beta=beta)


@lowers("baddbmm", "addbmm")
def _baddbmm(c: AtenCall) -> str:
    dtype = c.result.dtype
    product = c.emit("MatMul", c.tensor("batch1"), c.tensor("batch2"))
    # addbmm sums over the batch, baddbmm does not
    if c.operator == "addbmm":
        product = c.emit("ReduceSum", product, c.ints(0), keepdims=0)
    if (alpha := c.number("alpha", 1)) != 1:
        product = c.emit("Mul", product, c.scalar(alpha, dtype))
    if (beta := c.number("beta", 1)) == 0:
        return product
    added = c.x
    if beta != 1:
        added = c.emit("Mul", added, c.scalar(beta, dtype))
    return c.emit("Add", product, added)


@lowers("einsum")
def _einsum(c: AtenCall) -> str:
    return c.emit("Einsum", *c.tensors("tensors"), equation=c.value("equation"))


@lowers("outer", "ger")
def _outer(c: AtenCall) -> str:
    second = "vec2" if "vec2" in c.args else "other"
    return c.emit("Mul", c.emit("Unsqueeze", c.x, c.ints(1)), c.tensor(second))


@lowers("addr")
def _addr(c: AtenCall) -> str:
    dtype = c.result.dtype
    product = c.emit("Mul", c.emit("Unsqueeze", c.tensor("vec1"), c.ints(1)), c.tensor("vec2"))
    terms = [(product, c.number("alpha", 1)), (c.x, c.number("beta", 1))]
    return c.emit("Add", *(v if n == 1 else c.emit("Mul", v, c.scalar(n, dtype)) for v, n in terms))


@lowers("bilinear")
def _bilinear(c: AtenCall) -> str:
    product = c.emit(
        "Einsum",
        c.tensor("input1"),
        c.tensor("weight"),
        c.tensor("input2"),
        equation="...i,kij,...j->...k",
    )
    return c.emit("Add", product, c.tensor("bias")) if c.has("bias") else product


@lowers("linalg_inv", "inverse", "linalg_det", "det", "logdet", "slogdet", "linalg_slogdet")
def _determinant(c: AtenCall) -> list[str]:
    value = c.tensor("A" if "A" in c.args else "self")
    if "inv" in c.operator:
        return [c.emit("Inverse", value, domain="com.microsoft")]
    determinant = c.emit("Det", value)
    if "log" not in c.operator:
        return [determinant]
    # slogdet returns the sign too
    logarithm = c.emit("Log", c.emit("Abs", determinant) if "slog" in c.operator else determinant)
    return [c.emit("Sign", determinant), logarithm] if "slog" in c.operator else [logarithm]


@lowers("kron")
def _kron(c: AtenCall) -> str:
    """Return products of all pairs of elements."""
    sizes = [list(c.meta(name).sizes) for name in ("self", "other")]
    rank = max(map(len, sizes))
    first, second = ([*[1] * (rank - len(s)), *s] for s in sizes)
    # extents alternate with 1, so that the product broadcasts to all pairs
    left: list[Size] = [s for size in first for s in (size, 1)]
    right: list[Size] = [s for size in second for s in (1, size)]
    values = (
        c.reshaped(c.tensor(n), s, t)
        for n, s, t in zip(("self", "other"), sizes, (left, right), strict=True)
    )
    return c.reshaped(c.emit("Mul", *values), [None], c.result.sizes)
