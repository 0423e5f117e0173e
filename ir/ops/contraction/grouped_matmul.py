"""Products of rows with the matrix of each row's group."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Op,
    Parts,
    Positive,
    Shape,
    Traffic,
    Types,
    dim_min,
    dim_sum,
    each_once,
    frozen,
    has,
    same,
    shape_at,
    single,
    tensor,
)
from ...problem import Product
from ...symbolic.fresh import data_extent
from .matmul import transposed


@frozen
class GroupedGemm(Op):
    """Each row of A times the matrix of B that ``group`` selects, plus C.

    Shapes:  A[m, s*k], B[g, n, k], group[m], C[m, n] -> Y[m, n]. With ``slices`` s, columns of Y
             lie in s parts, and each part reads its own k columns of A. B[g, k, n] if
             ``is_transposed``.
    Work:    {mac}; {alu}, x = 1 where C is given.
    Traffic: A, C, ``group`` and Y once; of B one matrix of g: the compulsory floor, since all rows
             may be of one group. Resident are all g. Rows that are spread evenly touch min(g, m).
    Source:  arXiv:2310.18547 section 4 (SGMV); ``lora_shrink`` and ``lora_expand`` of vLLM;
             ``torch._grouped_mm``, whose ``group`` holds the ends of the groups' rows.
    """

    mnemonic = "grouped_gemm"
    onnx = "aten::grouped_mm"
    operands = "A B group C?"
    kind = Kind.MATMUL
    formulas = {"mac": "m*n*k", "alu": "m*n*x"}

    slices: Positive = 1
    is_transposed: int = 0

    def _matrices(self, ins: Inputs) -> Shape | None:
        """Return the shape of B as [g, n, k]."""
        return transposed(shape_at(ins, 1), self.is_transposed)

    def infer(self, ins: Inputs) -> Types:
        a, b = tensor(ins, 0), self._matrices(ins)
        if a.shape is not None and len(a.shape) != 2:
            raise ShapeError(f"grouped_gemm needs rows, got rank {len(a.shape)}")
        if b is not None and len(b) != 3:
            raise ShapeError(f"grouped_gemm needs a matrix for each group, got rank {len(b)}")
        if a.shape and b and same(a.shape[1], b[2] * self.slices) is False:
            raise ShapeError(f"contracted extents differ: {a.shape[1]} and {b[2] * self.slices}")
        rows = a.shape[0] if a.shape else data_extent()
        return single(a.dtype, (rows, b[1] if b else data_extent()))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        a, b = shape_at(ins, 0), self._matrices(ins)
        if not a or not b:
            return {}
        return {"m": a[0], "n": b[1], "k": b[2], "g": b[0], "x": int(has(ins, 3))}

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        e = self.extents(ins, outs)
        if not e:
            return None
        # no more matrices are read than there are rows
        matrices = dim_min(e["g"], e["m"])
        return Product(batch=matrices, m=e["m"], n=e["n"], k=e["k"], is_grouped=True)

    def read_parts(self, ins: Inputs) -> Parts:
        parts: dict[int, Dim] = {}
        for index, value in enumerate(ins):
            if value is None:
                continue
            operand = tensor(ins, index)
            nbytes = operand.nbytes or 0
            # of B, one matrix of all groups
            if index == 1 and operand.shape and operand.shape[0] != 0:
                nbytes = nbytes // operand.shape[0]
            parts[index] = nbytes
        return parts

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        return Traffic(dim_sum(self.read_parts(ins).values()), whole.write_bytes, whole.is_bound)
