"""Products of rows with the matrix of their group."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.contraction.grouped_matmul import GroupedGemm
from perfc.ir.problem import Product
from perfc.ir.symbolic.dim import symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType
from tests.ir.ops.test_ragged_attention import value


def operands(rows: int, groups: int, slices: int = 1, *, is_added: bool = False) -> list[Value]:
    a = value("a", rows, 16 * slices)
    b = value("b", groups, 48, 16)
    found = [a, b, value("group", rows, dtype=DType.I64)]
    return [*found, value("c", rows, 48)] if is_added else found


def test_every_row_is_multiplied_once_and_one_matrix_is_read_at_least() -> None:
    op, ins = GroupedGemm(slices=3), operands(20, 8, 3, is_added=True)
    outs = op.infer(ins)
    assert outs == (TensorType(DType.BF16, (20, 48)),)
    work, traffic = op.work(ins, outs), op.traffic(ins, outs)
    assert work is not None
    assert (work.mac, work.alu) == (20 * 48 * 16, 20 * 48)
    assert traffic.read_bytes == 20 * 48 * 2 + 48 * 16 * 2 + 20 * 8 + 20 * 48 * 2
    assert traffic.write_bytes == 20 * 48 * 2


@pytest.mark.parametrize(("rows", "groups", "touched", "each"), [(20, 8, 8, 3), (3, 8, 3, 1)])
def test_rows_are_spread_over_groups(rows: int, groups: int, touched: int, each: int) -> None:
    ins = operands(rows, groups)
    problem = GroupedGemm().problem(ins, GroupedGemm().infer(ins))
    assert problem == Product(touched, rows, 48, 16, is_grouped=True)
    assert (problem.products, problem.rows) == (touched, each)


def test_groups_of_a_symbol_are_told_when_it_is() -> None:
    m = symbol("m", 1)
    ins = [value("a", m, 16), value("b", 8, 48, 16), value("group", m, dtype=DType.I64)]
    problem = GroupedGemm().problem(ins, GroupedGemm().infer(ins))
    assert problem is not None
    assert [evaluate(problem.products, {"m": m}) for m in (1, 5, 64)] == [1, 5, 8]
    assert [evaluate(problem.rows, {"m": m}) for m in (1, 5, 60)] == [1, 1, 8]


@pytest.mark.parametrize("columns", [15, 32])
def test_columns_must_be_those_of_the_groups(columns: int) -> None:
    ins = [value("a", 4, columns), value("b", 8, 48, 16), value("group", 4, dtype=DType.I64)]
    with pytest.raises(ShapeError, match="contracted extents differ"):
        GroupedGemm().infer(ins)
