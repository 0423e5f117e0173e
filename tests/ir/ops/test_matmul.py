"""Matrix products: shapes, work by formula, quantised and packed weights, equations."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.contraction.einsum import Einsum
from perfc.ir.ops.contraction.matmul import FusedMatMul, FusedMatMulActivation, Gemm, MatMul
from perfc.ir.ops.quantized.quantized_matmul import MatMulInteger, QGemm, QLinearMatMul
from perfc.ir.ops.quantized.weight_only_matmul import MatMulBnb4, MatMulNBits
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType, TensorType

B, S = symbol("B"), symbol("S")


def value(*shape: Dim, dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, shape))


def unranked(dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, None))


def shape(op: Op, *ins: Value | None) -> str:
    return str(op.infer(ins)[0])


def work(op: Op, *ins: Value | None) -> Work:
    found = op.work(ins, op.infer(ins))
    assert found is not None
    return found


def test_vectors_drop_their_axis_and_batches_broadcast() -> None:
    assert shape(MatMul(), value(3), value(3)) == "f32[]"
    assert shape(MatMul(), value(B, 1, 2, 3), value(5, 3, 4)) == "f32[B, 5, 2, 4]"
    assert shape(MatMul(), value(2, 3), unranked()) == "f32[*]"
    assert work(MatMul(), value(B, S, 8), value(8, 4)).mac == B * S * 4 * 8


def test_contracted_extents_must_agree() -> None:
    with pytest.raises(ShapeError, match="3 and 4"):
        MatMul().infer((value(2, 3), value(4, 2)))
    with pytest.raises(ShapeError, match="rank 3"):
        Gemm().infer((value(2, 3, 4), value(4, 2)))


def test_gemm_knows_rows_and_columns_from_either_operand() -> None:
    assert shape(Gemm(transA=1, transB=1), value(8, B), value(4, 8)) == "f32[B, 4]"
    assert shape(Gemm(), value(B, 8), unranked()).startswith("f32[B, ")
    assert Gemm().work((value(B, 8), unranked()), ()) is None


def test_gemm_counts_its_bias_and_its_factors_on_the_vector_unit() -> None:
    ins = (value(2, 8), value(8, 4), value(4))
    assert work(Gemm(), *ins) == Work(mac=2 * 4 * 8, alu=2 * 4)
    assert work(Gemm(alpha=0.5, beta=2.0), *ins).alu == 3 * 2 * 4
    assert work(Gemm(beta=0.0), *ins).alu == 0


def test_batch_transposes_move_the_first_axis() -> None:
    op = FusedMatMul(transBatchA=1, transA=1)
    assert shape(op, value(8, 3, 2), value(3, 8, 4)) == "f32[3, 2, 4]"


def test_a_fused_activation_is_vector_and_special_work() -> None:
    op = FusedMatMulActivation(activation="Sigmoid")
    assert work(op, value(2, 8), value(8, 4)) == Work(2 * 4 * 8, 2 * 4 * 2, 2 * 4 * 2)


def test_integer_products_are_done_in_int8_whatever_their_result() -> None:
    a, b = value(2, 8, dtype=DType.U8), value(8, 4, dtype=DType.I8)
    f, z = value(), value(dtype=DType.U8)
    assert shape(MatMulInteger(), a, b) == "i32[2, 4]"
    assert work(MatMulInteger(), a, b) == Work(mac=64, dtype=DType.I8)
    assert shape(QLinearMatMul(), a, f, z, b, f, z, f, z) == "u8[2, 4]"
    assert shape(QGemm(), a, f, z, b, f, z) == "f32[2, 4]"
    assert shape(QGemm(), a, f, z, b, f, z, None, f, z) == "u8[2, 4]"


def test_packed_weights_are_read_packed_and_unpacked_once() -> None:
    a, packed = value(S, 64, dtype=DType.F16), value(32, 2, 16, dtype=DType.U8)
    op, ins = MatMulNBits(K=64, N=32), (a, packed, value(64, dtype=DType.F16))
    assert shape(op, *ins) == "f16[S, 32]"
    assert work(op, *ins) == Work(mac=S * 32 * 64, alu=2 * 32 * 64)
    traffic = op.traffic(ins, op.infer(ins))
    assert traffic.read_bytes == S * 64 * 2 + 32 * 64 // 2 + 64 * 2
    assert work(MatMulNBits(K=64, N=32, accuracy_level=4), *ins).dtype is DType.I8
    assert shape(MatMulBnb4(K=64, N=32), a, value(1024, dtype=DType.U8), value(32)) == "f16[S, 32]"


@pytest.mark.parametrize(
    ("equation", "shapes", "result", "mac"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], "f32[2, 3, 5]", 2 * 3 * 4 * 5),
        ("...ij,jk->...ik", [(B, 7, 3, 4), (4, 5)], "f32[B, 7, 3, 5]", B * (7 * 3 * 4 * 5)),
        ("ii", [(3, 3)], "f32[]", 0),
        ("ji", [(3, 4)], "f32[4, 3]", 0),
        ("bA,Ac", [(3, 4), (4, 5)], "f32[3, 5]", 3 * 4 * 5),
        ("i,j,k->ijk", [(2,), (3,), (4,)], "f32[2, 3, 4]", 2 * 3 + 2 * 3 * 4),
        ("bti,ir,ro->bto", [(4, 64, 512), (512, 8), (8, 512)], "f32[4, 64, 512]", 2_097_152),
        ("bij,bjk,bkl->bil", [(3, 40, 5), (3, 5, 60), (3, 60, 7)], "f32[3, 40, 7]", 86_400),
        ("ij,kl->i", [(4, 5), (6, 7)], "f32[4]", 4),
        (" i j , j ", [(2, 3), (3,)], "f32[2]", 6),
        ("b...,b...->...", [(2, 1, 3), (2, 4, 3)], "f32[4, 3]", 2 * 4 * 3),
    ],
)
def test_equations(equation: str, shapes: list[tuple[Dim, ...]], result: str, mac: Dim) -> None:
    ins = tuple(value(*s) for s in shapes)
    op = Einsum(equation=equation)
    assert shape(op, *ins) == result
    assert work(op, *ins).mac == mac


def test_equations_that_do_not_fit_are_refused() -> None:
    for equation, message in (("ij,jk", "2 terms"), ("ij->k", "no operand"), ("i", "rank 2")):
        with pytest.raises(ShapeError, match=message):
            Einsum(equation=equation).infer((value(2, 3),))


def test_the_least_work_of_a_product_of_several_is_that_of_its_best_order() -> None:
    chain = Einsum(equation="bij,bjk,bkl->bil")
    assert work(chain, value(3, 40, 5), value(3, 5, 60), value(3, 60, 7)).floor_mac == 10_500
    several = Einsum(equation="ab,bc,cd,de->ae")
    shapes = [(2, 30), (30, 4), (4, 50), (50, 6)]
    orders = (
        2 * 30 * 4 + 2 * 4 * 50 + 2 * 50 * 6,
        30 * 4 * 50 + 2 * 30 * 50 + 2 * 50 * 6,
        30 * 4 * 50 + 30 * 50 * 6 + 2 * 30 * 6,
        4 * 50 * 6 + 30 * 4 * 6 + 2 * 30 * 6,
        2 * 30 * 4 + 4 * 50 * 6 + 2 * 4 * 6,
    )
    found = work(several, *(value(*s) for s in shapes))
    assert found.floor_mac == min(orders)
    assert found.mac == orders[0]


def test_a_broadcast_operand_is_multiplied_before_it_is_broadcast() -> None:
    once = Einsum(equation="...ij,...jk,...kl->...il")
    found = work(once, value(1, 4, 5), value(1, 5, 6), value(9, 6, 7))
    assert found.floor_mac == found.mac == 4 * 5 * 6 + 9 * 4 * 6 * 7


@pytest.mark.parametrize(
    ("equation", "shapes", "product"),
    [
        ("bij,bjk->bik", [(8, 4, 5), (8, 5, 6)], (8, 4, 6, 5)),
        ("bid,bjd->bij", [(8, 4, 5), (8, 6, 5)], (8, 4, 6, 5)),
        ("bihd,bjhd->bhij", [(2, 4, 3, 5), (2, 6, 3, 5)], (6, 4, 6, 5)),
        ("...ij,...jk->...ik", [(7, 8, 4, 5), (7, 8, 5, 6)], (56, 4, 6, 5)),
        ("bij,jk->bik", [(8, 4, 5), (5, 6)], (1, 32, 6, 5)),
        ("bij,bjk->bik", [(8, 4, 5), (1, 5, 6)], (1, 32, 6, 5)),
        ("i,i->", [(9,), (9,)], (1, 1, 1, 9)),
        ("bcij,bcij->bc", [(2, 3, 4, 5), (2, 3, 4, 5)], (6, 1, 1, 20)),
        ("bij,bjk->bik", [(B, S, 5), (B, 5, S)], (B, S, S, 5)),
        # no product of matrices: nothing is summed, or a sum before the product, or several
        ("i,j->ij", [(4,), (5,)], None),
        ("ijx,jk->ik", [(4, 5, 6), (5, 7)], None),
        ("ij->j", [(4, 5)], None),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], None),
    ],
)
def test_equations_of_products_of_matrices_are_predicted_as_those(
    equation: str, shapes: list[tuple[Dim, ...]], product: tuple[Dim, ...] | None
) -> None:
    op, ins = Einsum(equation=equation), tuple(value(*s) for s in shapes)
    found = op.problem(ins, op.infer(ins))
    assert (found and tuple(found[:4])) == product
    if found is not None:
        assert found.batch * found.m * found.n * found.k == work(op, *ins).mac
