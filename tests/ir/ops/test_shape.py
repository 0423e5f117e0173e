"""Shape, Size, Constant, ConstantOfShape, Range."""

from __future__ import annotations

import random

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.movement.shape import Constant, ConstantOfShape, Range, Shape, Size
from perfc.ir.symbolic.dim import Poly, interval, substitute, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, TensorType

N, S = symbol("N"), symbol("S")
X = Value("x", TensorType(DType.F32, (N, 3, S, 5)))


def number(item: Item, dtype: DType = DType.I64) -> Value:
    return Value("n", TensorType(dtype, ()), None if item is None else Known.scalar(item))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, None, (N, 3, S, 5)),
        (-2, None, (S, 5)),
        (1, -1, (3, S)),
        (3, 1, ()),
        (-9, 99, (N, 3, S, 5)),
    ],
)
def test_shape_slices_its_axes(start: int, end: int | None, expected: tuple[Item, ...]) -> None:
    op = Shape(start=start, end=end)
    outs = op.infer((X,))
    assert outs == (TensorType(DType.I64, (len(expected),)),)
    assert op.fold((X,), outs) == (Known.vector(expected),)
    assert op.traffic((X,), outs).nbytes == 0


def test_shape_of_an_unranked_tensor_has_unknown_length() -> None:
    out = Shape().infer((Value("u", TensorType(DType.F32, None)),))[0]
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert isinstance(out.shape[0], Poly)


def test_size_is_the_product() -> None:
    assert Size().fold((X,), Size().infer((X,))) == (Known.scalar(N * S * 15),)


def test_constants_state_type_and_content() -> None:
    op = Constant(value_ints=(1, 2))
    outs = op.infer(())
    assert outs == (TensorType(DType.I64, (2,)),)
    assert op.fold((), outs) == (Known.vector((1, 2)),)
    assert Constant(value_float=1.0).infer(()) == (TensorType(DType.F32, ()),)


def test_constant_of_shape_fills_and_only_writes() -> None:
    shape = Value("s", TensorType(DType.I64, (2,)), Known.vector((2, 2)))
    op = ConstantOfShape(value=Known.vector((7,)), value_dtype=DType.I64)
    outs = op.infer((shape,))
    assert op.fold((shape,), outs) == (Known((2, 2), (7,) * 4),)
    traffic = op.traffic((shape,), outs)
    assert (traffic.read_bytes, traffic.write_bytes) == (0, 32)


def test_constant_of_unknown_shape_knows_its_rank() -> None:
    shape = Value("s", TensorType(DType.I64, (2,)), Known.vector((N, None)))
    out = ConstantOfShape().infer((shape,))[0]
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert out.dtype is DType.F32
    assert out.shape[0] == N
    assert isinstance(out.shape[1], Poly)


def test_integer_ranges_are_pythons() -> None:
    rng = random.Random(0)
    for _ in range(500):
        a, b, step = rng.randint(-9, 9), rng.randint(-9, 9), rng.choice([-3, -1, 1, 2])
        ins = (number(a), number(b), number(step))
        outs = Range().infer(ins)
        expected = range(a, b, step)
        assert outs == (TensorType(DType.I64, (len(expected),)),)
        assert Range().fold(ins, outs) == (Known.vector(tuple(expected)),)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "expected"),
    # the second is 4 and not 3: 0.3 and 0.1 are rounded to single precision
    [(0.0, 1.0, 0.1, 10), (0.0, 0.3, 0.1, 4), (5.0, 0.0, -0.7, 8), (1.0, 2.0, 0.2, 5)],
)
def test_float_ranges_are_those_of_runtimes(
    start: float, limit: float, delta: float, expected: int
) -> None:
    import struct

    single = [struct.unpack("f", struct.pack("f", v))[0] for v in (start, limit, delta)]
    out = Range().infer(tuple(number(v, DType.F32) for v in single))[0]
    assert out == TensorType(DType.F32, (expected,))


def test_symbolic_ranges_have_symbolic_lengths() -> None:
    def extent(*items: Item) -> int | Poly:
        out = Range().infer(tuple(number(i) for i in items))[0]
        assert isinstance(out, TensorType)
        assert out.shape is not None
        return out.shape[0]

    assert extent(0, N, 1) == N
    assert extent(S, S + N, 1) == N
    assert extent(N, 0, -1) == N
    assert substitute(extent(0, N, 3), {"N": 7}) == 3
    assert substitute(extent(5, N, 1), {"N": 3}) == 0
    assert interval(extent(0, None, 1)) == (0, None)


def test_a_delta_of_zero_is_refused() -> None:
    with pytest.raises(ShapeError):
        Range().infer((number(0), number(3), number(0)))
