"""Elementwise operators, casts and the formulas of every operator of these families."""

from __future__ import annotations

import re
from itertools import product

import pytest

from perfc.errors import ShapeError
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import load_all
from perfc.ir.ops.elementwise.activation import FastGelu, Gelu, PRelu, Sigmoid, SwiGLU
from perfc.ir.ops.elementwise.cast import Cast, CastLike
from perfc.ir.ops.elementwise.elementwise import Add, Clip, Max, Pow
from perfc.ir.ops.elementwise.logic import Greater, Where
from perfc.ir.symbolic.dim import Dim, Poly, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

N = symbol("N")
FAMILIES = (
    *("activation", "cast", "elementwise", "logic", "random", "rounding"),
    *("arg_reduce", "contrib_normalization", "cumulative", "normalization", "reduce", "softmax"),
    *("classical", "classical_models", "contrib_math", "optimizer", "qlinear", "quantize"),
    *("signal", "string"),
)


def of(dtype: DType, *shape: Dim) -> Value:
    return Value("x", TensorType(dtype, shape))


def unranked(dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, None))


def operators() -> list[type[Op]]:
    return [c for c in load_all().values() if c.__module__.rpartition(".")[2] in FAMILIES]


SHAPES: tuple[tuple[Dim, ...], ...] = ((2, 4, 6), (N, 4, 6), (3, 5), (7,), (0, 4, 4))


@pytest.mark.parametrize("cls", operators(), ids=lambda c: c.mnemonic)
def test_extents_give_the_letters_of_the_formulas(cls: type[Op]) -> None:
    if not cls.formulas:
        pytest.skip("work is not counted")
    letters = set(re.findall(r"[a-z]", " ".join(cls.formulas.values())))
    for shape, dtype in product(SHAPES, (DType.F32, DType.I64)):
        ins = tuple(of(dtype, *shape) for _ in cls.signature.names)
        try:
            outs = cls().infer(ins)
        except ShapeError:
            continue
        assert letters <= set(cls().extents(ins, outs))
        assert cls().work(ins, outs) is not None


@pytest.mark.parametrize("cls", operators(), ids=lambda c: c.mnemonic)
def test_nothing_known_about_the_inputs_is_no_error(cls: type[Op]) -> None:
    for ins in (
        tuple(unranked(DType.UNKNOWN) for _ in cls.signature.names),
        tuple(None for _ in cls.signature.names),
        (),
    ):
        op = cls()
        outs = op.infer(ins)
        op.fold(ins, outs)
        op.work(ins, outs)
        op.traffic(ins, outs)
        op.extents(ins, outs)


@pytest.mark.parametrize("cls", operators(), ids=lambda c: c.mnemonic)
def test_documentation_names_its_source(cls: type[Op]) -> None:
    assert cls.__doc__ is not None
    assert "Source:" in cls.__doc__


def test_operands_broadcast_both_ways() -> None:
    assert Add().infer((of(DType.F16, N, 1, 4), of(DType.F16, 3, 1))) == (
        TensorType(DType.F16, (N, 3, 4)),
    )
    with pytest.raises(ShapeError, match="3"):
        Add().infer((of(DType.F16, 3), of(DType.F16, 4)))


def test_a_comparison_is_boolean_and_counts_where_it_is_done() -> None:
    ints = (of(DType.I64, 5), of(DType.I64, 5))
    outs = Greater().infer(ints)
    assert outs == (TensorType(DType.BOOL, (5,)),)
    assert Greater().work(ints, outs) == Work(integer=5)
    floats = (of(DType.F32, 5), of(DType.F32, 5))
    assert Greater().work(floats, outs) == Work(alu=5)


def test_a_variadic_operator_counts_an_operation_less_than_operands() -> None:
    ins = tuple(of(DType.F32, N) for _ in range(4))
    assert Max().work(ins, Max().infer(ins)) == Work(alu=N * 3)


def test_an_operand_of_unknown_type_takes_the_others() -> None:
    assert Add().infer((of(DType.UNKNOWN, 2), of(DType.F32, 2)))[0] == TensorType(DType.F32, (2,))
    assert Pow().infer((of(DType.F32, 2), of(DType.I64, 2)))[0] == TensorType(DType.F32, (2,))
    assert Where().infer((of(DType.BOOL, 3, 1), of(DType.F64, 4), unranked(DType.F64)))[0] == (
        TensorType(DType.F64, None)
    )


def test_an_operand_read_twice_is_read_once() -> None:
    x = of(DType.F32, 100)
    traffic = Add().traffic((x, x), Add().infer((x, x)))
    assert (traffic.read_bytes, traffic.write_bytes) == (400, 400)


def test_clip_counts_only_the_limits_it_has() -> None:
    x, low = of(DType.F32, 10), of(DType.F32)
    assert Clip().work((x, None, low), Clip().infer((x, None, low))) == Work(alu=10)
    assert Clip().work((x,), Clip().infer((x,))) == Work()


def test_activations_keep_the_shape_of_their_data() -> None:
    x = of(DType.F16, N, 8)
    assert PRelu().infer((x, of(DType.F16, 8)))[0] == TensorType(DType.F16, (N, 8))
    assert SwiGLU().infer((unranked(DType.F16), x))[0] == TensorType(DType.F16, (N, 8))
    assert Sigmoid().work((x,), (x.type,)) == Work(alu=N * 16, sfu=N * 16)


def test_gelu_by_tanh_costs_more_additions_than_by_erf() -> None:
    x = of(DType.F32, 10)
    assert Gelu().work((x,), (x.type,)) == Work(alu=40, sfu=10)
    assert Gelu(approximate="tanh").work((x,), (x.type,)) == Work(alu=80, sfu=10)
    assert FastGelu().work((x, of(DType.F32, 10)), (x.type,)) == Work(alu=90, sfu=10)


def test_cast_between_integers_is_integer_work() -> None:
    x = of(DType.I64, 6)
    assert Cast(to=DType.I32).work((x,), (x.type,)) == Work(integer=6)
    assert Cast(to=DType.F32).work((x,), (x.type,)) == Work(alu=6)


def test_cast_like_does_not_read_the_type_it_takes() -> None:
    x, like = of(DType.F32, 10), of(DType.F16, 1000)
    outs = CastLike().infer((x, like))
    assert outs == (TensorType(DType.F16, (10,)),)
    assert CastLike().traffic((x, like), outs).nbytes == 40 + 20


def test_a_float_out_of_range_casts_to_nothing_known() -> None:
    x = Value("x", TensorType(DType.F32, (2,)), Known((2,), (3e9, float("nan"))))
    assert Cast(to=DType.I32).fold((x,), Cast(to=DType.I32).infer((x,))) == (None,)


def test_a_symbol_is_nonzero_where_its_range_says_so() -> None:
    def as_bool(item: Poly) -> object:
        x = Value("x", TensorType(DType.I64, (1,)), Known((1,), (item,)))
        found = Cast(to=DType.BOOL).fold((x,), Cast(to=DType.BOOL).infer((x,)))[0]
        return found and found.items

    assert as_bool(N) == (True,)
    less = N - 1
    assert isinstance(less, Poly)
    assert as_bool(less) is None
