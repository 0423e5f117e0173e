"""Lookups in block-quantized tables."""

from __future__ import annotations

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Parts,
    Positive,
    TensorType,
    Traffic,
    Types,
    count,
    dim_sum,
    each_once,
    element_count,
    frozen,
    has,
    normal_axis,
    single,
    tensor,
)
from ...traffic import rows_read


@frozen
class GatherBlockQuantized(Op):
    """Rows of a table that is quantized in blocks, dequantized.

    Shapes:  data[..., v, ...], indices[i...] -> [..., i..., ...], of the type of scales; in 8-bit
             data several elements of ``bits`` may be packed along the last axis. If data has its
             scales inside its blocks, as GGML stores them, rows have ``columns`` elements, and
             ``scales`` gives only the type of the result.
    Work:    {alu}: a product, and a difference where there are zero points.
    Traffic: the indices; of data, scales and zero points the rows taken, at most one for each
             index and at most all; the result.
    Source:  ONNX Runtime contrib GatherBlockQuantized-1.
    """

    mnemonic = "gather_block_quantized"
    onnx = "com.microsoft::GatherBlockQuantized"
    operands = "data indices scales zero_points?"
    kind = Kind.GATHER
    formulas = {"alu": "a*e"}
    bits: Positive = 4
    block_size: Positive = 128
    gather_axis: int = 0
    quantize_axis: int = 1
    columns: Natural = 0

    def infer(self, ins: Inputs) -> Types:
        data, indices, dtype = tensor(ins, 0), tensor(ins, 1).shape, tensor(ins, 2).dtype
        if data.shape is None or indices is None:
            return single(dtype, None)
        axis = normal_axis(self.gather_axis, len(data.shape), "gather_axis")
        trailing = data.shape[axis + 1 :]
        if trailing:
            # packed elements lie along the last axis
            trailing = (*trailing[:-1], self.columns or trailing[-1] * self._packed(data))
        return single(dtype, (*data.shape[:axis], *indices, *trailing))

    def _packed(self, data: TensorType) -> int:
        """Return the logical elements per stored element."""
        return 8 // self.bits if data.dtype is DType.U8 and 0 < self.bits < 8 else 1

    def logical_elements(self, ins: Inputs) -> Parts:
        data = tensor(ins, 0)
        if self.columns and data.shape:
            return {0: element_count((*data.shape[:-1], self.columns))}
        return {} if data.numel is None else {0: data.numel * self._packed(data)}

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "a": 1 + has(ins, 3)}

    def read_parts(self, ins: Inputs) -> Parts:
        tables = {i: self._rows(ins, i) or 0 for i in (0, 2, 3) if has(ins, i)}
        return {**tables, 1: tensor(ins, 1).nbytes or 0}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # the indices whole, of the tables only the rows taken
        whole = each_once(ins[1:2], outs)
        tables = [self._rows(ins, i) for i in (0, 2, 3) if has(ins, i)]
        read = dim_sum([whole.read_bytes, *(t for t in tables if t is not None)])
        return Traffic(read, whole.write_bytes, whole.is_bound or None in tables)

    def _rows(self, ins: Inputs, index: int) -> Dim | None:
        """Return bytes of the rows read of a table, None if its shape is unknown."""
        table, indices = tensor(ins, index), tensor(ins, 1).shape
        if not table.shape or indices is None:
            return None
        axis = normal_axis(self.gather_axis, len(table.shape), "gather_axis")
        return rows_read(table, element_count(indices), axis)
