"""Folded contents equal what ONNX's reference evaluator computes, for every operator that folds."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from perfc.frontend.lowering.attributes import build
from perfc.ir.graph import Value
from perfc.ir.ops import operator_for
from perfc.ir.symbolic.dim import substitute, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import BY_ONNX, DType, TensorType

OPSET = 24
N = symbol("N")
A = np.array([[7, -7, 3], [0, 5, -128]])
B = np.array([2, -2, 5])
X = np.array([[0.1, -2.5, 3.5], [1e-3, 2.5, -0.7]])
Y = np.array([0.3, 2.0, -1.5])
T = np.array([[True, False, True], [False, False, True]])


def value(array: np.ndarray) -> Value:
    dtype = BY_ONNX[helper.np_dtype_to_tensor_dtype(array.dtype)]
    return Value("x", TensorType(dtype, array.shape), Known.of(array.shape, array.ravel().tolist()))


def folded(op_type: str, arrays: list[np.ndarray], attrs: dict[str, Any]) -> Known | None:
    cls = operator_for("", op_type)
    assert cls is not None
    raw = {k: tuple(v) if isinstance(v, list) else v for k, v in attrs.items()}
    op = build(cls, raw, OPSET, 1).op
    ins = tuple(value(a) for a in arrays)
    found = op.fold(ins, op.infer(ins))
    return found[0] if found else None


def truth(op_type: str, arrays: list[np.ndarray], attrs: dict[str, Any]) -> np.ndarray:
    names = [f"x{i}" for i in range(len(arrays))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]


INTEGERS = [
    (op, [A, B], {})
    for op in ("Add", "Sub", "Mul", "Mod", "Equal", "Greater", "Less", "GreaterOrEqual")
] + [
    ("LessOrEqual", [A, B], {}),
    ("Mod", [A, B], {"fmod": 1}),
    ("Max", [A, B, A + 1], {}),
    ("Min", [A, B, A - 1], {}),
    ("Neg", [A], {}),
    ("Abs", [A], {}),
    ("Sign", [A], {}),
    ("BitwiseAnd", [A, B], {}),
    ("BitwiseOr", [A, B], {}),
    ("BitwiseXor", [A, B], {}),
    ("BitwiseNot", [A], {}),
    ("Clip", [A, np.array(-3), np.array(4)], {}),
    ("CumSum", [A, np.array(1)], {"exclusive": 1}),
    ("CumSum", [A, np.array(-2)], {"reverse": 1}),
    ("ReduceSum", [A, np.array([1])], {"keepdims": 0}),
    ("ReduceMax", [A, np.array([0])], {}),
    ("ReduceMin", [A], {"keepdims": 0}),
    ("ReduceProd", [A[:1], np.array([-1])], {}),
    ("ReduceSumSquare", [A // 9, np.array([0, 1])], {}),
    ("ReduceL1", [A // 9, np.array([1])], {}),
    ("ArgMax", [A], {"axis": 1, "keepdims": 0}),
    ("ArgMin", [np.array([[1, 0, 0]])], {"axis": -1, "select_last_index": 1}),
    ("Cast", [A], {"to": onnx.TensorProto.UINT8}),
    ("Cast", [A], {"to": onnx.TensorProto.FLOAT16}),
    ("Cast", [A], {"to": onnx.TensorProto.BOOL}),
]

FLOATS = [(op, [X, Y], {}) for op in ("Add", "Sub", "Mul", "Div", "Equal", "Greater", "Less")] + [
    ("Mod", [X, Y], {"fmod": 1}),
    ("Pow", [np.abs(X), Y], {}),
    ("Max", [X, Y], {}),
    ("Min", [X, Y], {}),
    ("Sum", [X, Y, X], {}),
    ("Mean", [X, Y], {}),
    ("Neg", [X], {}),
    ("Abs", [X], {}),
    ("Sign", [X], {}),
    ("Floor", [X], {}),
    ("Ceil", [X], {}),
    ("Round", [X], {}),
    ("Sqrt", [np.abs(X)], {}),
    ("Reciprocal", [X], {}),
    ("Relu", [X], {}),
    ("Clip", [X, np.array(-1.0), np.array(1.0)], {}),
    ("IsNaN", [np.array([math.nan, 1.0])], {}),
    ("IsInf", [np.array([math.inf, -math.inf, 1.0])], {"detect_negative": 0}),
    ("ReduceSum", [X, np.array([1])], {}),
    ("ReduceMax", [X], {"keepdims": 0}),
    ("ArgMax", [X], {"axis": 0}),
    ("Cast", [X], {"to": onnx.TensorProto.INT32}),
    ("Cast", [X], {"to": onnx.TensorProto.FLOAT16}),
    ("Cast", [X], {"to": onnx.TensorProto.BFLOAT16}),
]

LOGIC = [(op, [T, T[0]], {}) for op in ("And", "Or", "Xor", "Equal")] + [
    ("Not", [T], {}),
    ("Where", [T, A, B], {}),
    ("Cast", [T], {"to": onnx.TensorProto.INT64}),
]


def check(op_type: str, arrays: list[np.ndarray], attrs: dict[str, Any], exact: bool) -> None:
    found, want = folded(op_type, arrays, attrs), truth(op_type, arrays, attrs)
    assert found is not None
    assert found.is_complete
    got = np.array(found.items, dtype=np.float64).reshape(found.shape)
    assert got.shape == np.shape(want)
    tolerance = 0.0 if exact else 1e-6
    np.testing.assert_allclose(got, np.asarray(want, dtype=np.float64), rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
@pytest.mark.parametrize(("op_type", "arrays", "attrs"), INTEGERS)
def test_integers(op_type: str, arrays: list[np.ndarray], attrs: Any, dtype: Any) -> None:
    axes = {"ReduceSum", "ReduceMax", "ReduceProd", "ReduceSumSquare", "ReduceL1", "CumSum"}
    cast = [a if i and op_type in axes else a.astype(dtype) for i, a in enumerate(arrays)]
    check(op_type, cast, attrs, exact=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(("op_type", "arrays", "attrs"), FLOATS)
def test_floats(op_type: str, arrays: list[np.ndarray], attrs: Any, dtype: Any) -> None:
    cast = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]
    inexact = op_type in ("Pow", "ReduceSum", "Sum", "Mean")
    if not (inexact and dtype is np.float16):
        check(op_type, cast, attrs, exact=not inexact)


@pytest.mark.parametrize(("op_type", "arrays", "attrs"), LOGIC)
def test_logic(op_type: str, arrays: list[np.ndarray], attrs: Any) -> None:
    check(op_type, arrays, attrs, exact=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("scale", [np.float32(0.25), np.float32(256 / 127), np.float32(1e-3)])
def test_quantized_contents(dtype: Any, scale: np.float32) -> None:
    x = np.array([0.0, 0.375, 0.625, 7.9, 130.0, 256.0, -3.1, 1e6, -1e6], np.float32)
    parameters = [np.array(scale), np.array(3, dtype)]
    check("QuantizeLinear", [x, *parameters], {}, exact=True)
    levels = truth("QuantizeLinear", [x, *parameters], {})
    check("DequantizeLinear", [levels, *parameters], {}, exact=True)
    # by axis no content is given
    assert folded("QuantizeLinear", [x[:2], np.array([scale, scale])], {"axis": 0}) is None


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integer_division_truncates_toward_zero(dtype: Any) -> None:
    found = folded("Div", [np.array([7, -7, 7, -7], dtype), np.array([2, 2, -2, -2], dtype)], {})
    assert found is not None
    assert found.items == (3, -3, -3, 3)


def test_integer_arithmetic_wraps_at_the_width() -> None:
    found = folded("Mul", [np.array([100], np.int8), np.array([3], np.int8)], {})
    assert found == Known((1,), (44,))
    shifted = folded(
        "BitShift", [np.array([200], np.uint8), np.array([1], np.uint8)], {"direction": "LEFT"}
    )
    assert shifted == Known((1,), (144,))


def test_float_rounding_decides_an_extent() -> None:
    product = folded("Mul", [np.float32(100)[None], np.float32(0.29)[None]], {})
    assert product is not None
    # in double precision 100 * 0.29 is 28.999999999999996; single precision rounds to 29
    assert folded("Cast", [np.array(product.items, np.float32)], {"to": 7}) == Known((1,), (29,))


def symbolic(dtype: DType, *items: Any) -> Value:
    return Value("s", TensorType(dtype, (len(items),)), Known((len(items),), items))


def fold_of(op_type: str, *ins: Value, **attrs: Any) -> tuple[Any, ...] | None:
    cls = operator_for("", op_type)
    assert cls is not None
    op = build(cls, attrs, OPSET, 1).op
    found = op.fold(ins, op.infer(ins))
    return found[0].items if found and found[0] is not None else None


def test_symbols_go_through_shape_arithmetic() -> None:
    n = symbolic(DType.I64, N, N * 4, 6)
    two = symbolic(DType.I64, 2)
    assert fold_of("Mul", n, two) == (N * 2, N * 8, 12)
    assert fold_of("Div", n, two) == (N // 2, N * 2, 3)
    assert fold_of("Mod", n, two) == (N % 2, 0, 0)
    assert fold_of("Pow", n, two) == (N * N, N * N * 16, 36)
    assert fold_of("Greater", n, symbolic(DType.I64, 0)) == (True, True, True)
    assert fold_of("Equal", n, symbolic(DType.I64, 1)) == (None, False, False)
    assert fold_of("ReduceProd", n, keepdims=0) == (N * N * 24,)
    assert fold_of("CumSum", n, symbolic(DType.I64, 0)) == (N, N * 5, N * 5 + 6)
    assert fold_of("Sign", n) == (1, 1, 1)


def test_symbols_survive_a_cast_to_float_and_back() -> None:
    n = symbolic(DType.I64, N)
    as_float = fold_of("Cast", n, to=1)
    assert as_float == (N,)
    scaled = fold_of("Mul", symbolic(DType.F32, *as_float), symbolic(DType.F32, 2.0))
    assert scaled == (N * 2,)
    assert fold_of("Cast", symbolic(DType.F32, *scaled), to=7) == (N * 2,)


def test_what_depends_on_a_symbol_is_not_guessed() -> None:
    n = symbolic(DType.I64, N, N - 5)
    assert fold_of("Equal", n, symbolic(DType.I64, 3)) is None
    assert fold_of("Div", symbolic(DType.I64, N - 5), symbolic(DType.I64, 2)) is None
    assert fold_of("Not", symbolic(DType.BOOL, None, True)) == (None, False)
    assert fold_of("Sub", symbolic(DType.U64, N), symbolic(DType.U64, 2)) is None


def test_where_needs_only_the_branch_it_takes() -> None:
    condition = symbolic(DType.BOOL, True, False, None)
    unknown = Value("y", TensorType(DType.I64, (3,)))
    assert fold_of("Where", condition, symbolic(DType.I64, N, 2, 3), unknown) == (N, None, None)
    same = symbolic(DType.I64, 5, 6, N)
    assert fold_of("Where", condition, same, same) == (5, 6, N)


def test_a_power_that_would_not_end_stays_unknown() -> None:
    assert fold_of("Pow", symbolic(DType.I64, 3), symbolic(DType.I64, 10**12)) is None


def float_chain(*steps: tuple[Any, ...]) -> Any:
    """Cast N to float, apply the steps, cast back to an integer."""
    item = N
    for op_type, *others in steps:
        ins = [symbolic(DType.F32, o) for o in others]
        found = fold_of(op_type, symbolic(DType.F32, item), *ins)
        if found is None:
            return None
        item = found[0]
    found = fold_of("Cast", symbolic(DType.F32, item), to=7)
    return found[0] if found else None


def test_symbols_are_scaled_in_floats_and_rounded_back() -> None:
    assert float_chain(("Mul", 0.5), ("Floor",)) == N // 2
    assert float_chain(("Div", 32.0), ("Ceil",), ("Mul", 32.0)) == (N + 31) // 32 * 32
    assert float_chain(("Div", 3.0)) == N // 3
    assert float_chain(("Mul", 0.5), ("Add", 0.5), ("Floor",)) == (N + 1) // 2
    assert float_chain(("Mul", 1.5), ("Mul", 2.0)) == N * 3
    assert float_chain(("Sub", 0.5), ("Floor",)) == N - 1
    assert float_chain(("Neg",), ("Mul", 0.5)) == -(N // 2)


def test_a_product_that_rounding_could_bring_to_a_whole_is_not_guessed() -> None:
    assert float_chain(("Mul", 0.7), ("Floor",)) is None
    assert float_chain(("Div", 3.0), ("Mul", 3.0)) is None
    assert fold_of("Mul", symbolic(DType.F16, N), symbolic(DType.F16, 0.5)) is None


@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 63, 64, 1000, 4095])
@pytest.mark.parametrize(
    "steps",
    [
        (("Mul", 0.25), ("Floor",)),
        (("Div", 7.0), ("Ceil",)),
        (("Mul", 1.5), ("Sub", 0.25), ("Ceil",)),
        (("Div", 48.0), ("Floor",), ("Mul", 48.0)),
    ],
)
def test_the_scaled_symbol_is_what_single_precision_computes(n: int, steps: Any) -> None:
    x = np.float32(n)
    functions = {"Mul": np.multiply, "Div": np.divide, "Sub": np.subtract}
    for op_type, *others in steps:
        if others:
            x = functions[op_type](x, np.float32(others[0]))
        else:
            x = (np.floor if op_type == "Floor" else np.ceil)(x)
    assert substitute(float_chain(*steps), {"N": n}) == int(x)


def test_comparisons_of_fractions_of_symbols() -> None:
    half = symbolic(
        DType.F32, *(fold_of("Mul", symbolic(DType.F32, N), symbolic(DType.F32, 0.5)) or ())
    )
    assert fold_of("Greater", half, symbolic(DType.F32, 0.25)) == (True,)
    assert fold_of("Less", half, symbolic(DType.F32, 0.5)) == (False,)
    assert fold_of("Less", half, symbolic(DType.F32, 7.0)) is None
