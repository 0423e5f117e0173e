"""Questions that rules ask of nodes, shapes and bounds, answered by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.graph import Node, Value, Weight
from perfc.ir.ops import operator_for
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, SequenceType, TensorType
from perfc.passes.roofline.roofline import Ceiling
from perfc.review.rules import (
    cast_chain,
    constant_foldable,
    fp32_island,
    layout_round_trip,
    misaligned_channels,
    misaligned_extents,
    redundant_reshape,
    redundant_transpose,
    small_batch,
)

N = symbol("N")


def t(*shape: Dim, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, shape)


UNRANKED = TensorType(DType.F32, None)


def v(
    type_: Any = None, *, nbytes: int | None = None, ints: tuple[int, ...] | None = None
) -> Value:
    known = None if ints is None else Known((len(ints),), ints)
    weight = None if nbytes is None else Weight(nbytes)
    return Value("v", t(2, 3) if type_ is None else type_, known, weight)


def node(name: str, *ins: Value | None, out: Any = None, **attributes: Any) -> Node:
    cls = operator_for("", name)
    assert cls is not None
    return Node(cls(**attributes), ins, (v(out),))


@pytest.mark.parametrize(
    ("there", "back", "undoes"),
    [
        ((0, 2, 1), (0, 2, 1), True),
        ((0, 2, 3, 1), (0, 3, 1, 2), True),
        ((0, 2, 3, 1), (0, 2, 3, 1), False),
        ((0, 1), (0, 1, 2), False),
        ((), (), True),
    ],
)
def test_a_transposition_is_undone_by_its_inverse(
    there: tuple[int, ...], back: tuple[int, ...], undoes: bool
) -> None:
    assert layout_round_trip._undoes(there, back) is undoes


def test_the_operand_that_moves_is_the_one_that_is_no_scalar() -> None:
    a, scalar, ones = v(t(2, 3)), v(t()), v(t(1, 1))
    of = layout_round_trip.moving_operand
    assert of(node("Relu", a, out=t(2, 3))) is a
    assert of(node("Mul", scalar, a, out=t(2, 3))) is a
    assert of(node("Mul", ones, a, out=t(2, 3))) is a
    assert of(node("Mul", a, v(t(2, 3)), out=t(2, 3))) is None
    assert of(node("Mul", a, v(t(3)), out=t(2, 3))) is None
    assert of(node("Relu", v(t(3)), out=t(2, 3))) is None, "its result has another shape"
    assert of(node("Relu", v(UNRANKED), out=UNRANKED)) is None
    assert of(node("Softmax", a, out=t(2, 3))) is None
    assert of(node("Relu", a, out=SequenceType(t(2, 3)))) is None


def test_stored_tensors_in_another_type_have_other_bytes() -> None:
    wide, odd, half = (
        v(t(2, 3), nbytes=24),
        v(t(3), nbytes=None),
        v(t(2, dtype=DType.F16), nbytes=4),
    )
    unsized = Value("u", t(4), weight=Weight(None))
    given = v(t(2, 3))
    result = fp32_island.stored_as(
        [node("Add", wide, given), node("Mul", half, unsized), node("Neg", odd)],
        DType.F16,
        frozenset({DType.F32}),
    )
    assert set(result) == {wide, unsized}
    assert result[wide].type == t(2, 3, dtype=DType.F16)
    assert result[wide].weight == Weight(12)
    assert result[unsized].weight == Weight(None)
    assert result[wide].name == "v_f16"


def test_an_island_is_described_by_its_operators() -> None:
    nodes = [node("Relu", v()), node("Relu", v()), node("Exp", v())]
    assert fp32_island.described(nodes, "f32") == "3 f32 nodes (relu, exp)"
    assert fp32_island.described(nodes[:1], "f32") == "1 f32 node (relu)"


def test_a_cast_converts_one_type_to_another() -> None:
    down = node("Cast", v(), out=t(2, 3, dtype=DType.F16), to=DType.F16)
    f32, f16 = frozenset({DType.F32}), frozenset({DType.F16})
    assert fp32_island.converts(down, f32, f16)
    assert not fp32_island.converts(down, f16, f32)
    assert not fp32_island.converts(down, f32, f32)
    assert not fp32_island.converts(node("Relu", v()), f32, f32)
    assert cast_chain.operand(down) is down.inputs[0]
    assert cast_chain.operand(node("Relu", v())) is None
    assert cast_chain.dtype_of(v()) is DType.F32
    assert cast_chain.dtype_of(v(TensorType(DType.UNKNOWN, (2,)))) is None
    assert cast_chain.dtype_of(v(SequenceType(t(2)))) is None


def test_a_reshape_states_its_shape_where_the_file_stores_it() -> None:
    def states(target: Value | None) -> bool:
        return redundant_reshape.states_shape(node("Reshape", v(), target))

    assert states(v(t(2), nbytes=16, ints=(3, -1)))
    assert not states(v(t(2), nbytes=16, ints=(0, -1))), "0 copies an extent"
    assert not states(v(t(2), nbytes=16)), "nobody knows it"
    assert not states(v(t(2), ints=(3, 2))), "it is computed"
    assert not states(None)
    assert not redundant_reshape.states_shape(node("Relu", v()))


def test_shapes_are_the_same_where_they_provably_are() -> None:
    same = redundant_reshape.is_same_shape
    assert same(v(t(2, N)), v(t(2, N)))
    assert not same(v(t(2, N)), v(t(2, 3)))
    assert not same(v(t(2)), v(t(2, 1)))
    assert not same(v(UNRANKED), v(UNRANKED))
    assert not same(v(t(2)), v(SequenceType(t(2))))


def test_a_transposition_without_axes_turns_them_round() -> None:
    of = redundant_transpose.permutation
    assert of(node("Transpose", v(t(2, 3, 4)), perm=(1, 0, 2))) == (1, 0, 2)
    assert of(node("Transpose", v(t(2, 3, 4)))) == (2, 1, 0)
    assert of(node("Transpose", v(UNRANKED))) is None
    assert of(node("Transpose", None)) is None
    assert of(node("Relu", v())) is None


@pytest.mark.parametrize(
    ("channels", "window", "strides", "wanted"),
    [
        (3, (16, 16), (16, 16), 1),  # patches: 768 elements, whole granules
        (3, (16, 16), (8, 8), 4),
        (3, (3, 3), (1, 1), 4),
        (4, (3, 3), (1, 1), 4),
        (5, (3, 3), (1, 1), 8),
        (64, (1, 1), (1, 1), 1),
        (65, (1, 1), (1, 1), 8),
        (3, (), (), 4),
    ],
)
def test_channels_matter_but_for_patches(
    channels: int, window: tuple[int, ...], strides: tuple[int, ...], wanted: int
) -> None:
    problem: Any = SimpleNamespace(static_extents=window, strides=strides)
    assert misaligned_channels.wanted_in(problem, channels, 8) == wanted


def test_padding_is_what_whole_granules_execute_besides() -> None:
    padding = misaligned_extents.padding
    assert padding({"m": 8}, {"m": 8}) == 0
    assert padding({"m": 5}, {"m": 8}) == pytest.approx(3 / 8)
    assert padding({"m": 9, "n": 8}, {"m": 8, "n": 8}) == pytest.approx(1 - 9 / 16)
    assert padding({"m": 5, "n": 5}, {"m": 8, "n": 10}) == pytest.approx(1 - 25 / 80)


def test_time_without_padding_is_no_less_than_what_else_binds() -> None:
    def unpadded(share: float, *, gap_s: float = 0.0, **busy: float) -> float:
        sustained = {Ceiling[name.upper()]: s for name, s in busy.items()}
        bound: Any = SimpleNamespace(
            sustained=sustained,
            launch_gap_s=gap_s,
            time_s=max([*sustained.values(), gap_s and 5.0]),
        )
        return misaligned_extents.unpadded(bound, share)

    # padded the unit takes 4 s: what is asked for, 2 s, saves 2
    assert unpadded(0.5, matrix=2.0) == pytest.approx(0.0)
    assert unpadded(0.5, matrix=2.0, waves=3.0) == pytest.approx(3.0 - 3.0)
    assert unpadded(0.5, matrix=2.0, vector=3.0) == pytest.approx(3.0 - 1.0)
    assert unpadded(0.5, matrix=2.0, vector=9.0) == pytest.approx(9.0), "something else binds"
    assert unpadded(0.5, matrix=2.0, gap_s=1.0) == pytest.approx(5.0), "launches bind"


def test_a_batch_belongs_to_the_input_that_has_it() -> None:
    graph: Any = SimpleNamespace(inputs=(Value("a", t(2)), Value("b", t(N)), Value("c", t(N))))
    subject: Any = SimpleNamespace(graph=graph)
    assert small_batch._holder(subject, "N") == "b"


def test_a_node_is_constant_where_all_that_it_reads_is() -> None:
    stored, made, given = v(t(2, 3), nbytes=24), v(t(2, 3)), v(t(2, 3))

    def constant(n: Node, *, has_values: bool = False) -> bool:
        return constant_foldable.is_constant(n, {made}, has_values)

    assert constant(node("Add", stored, made))
    assert not constant(node("Add", stored, given))
    assert not constant(node("Add", stored, made, out=t(N, 3)))
    assert not constant(node("Add", stored, made, out=UNRANKED))
    assert not constant(node("RandomNormal", shape=(2, 3)))
    shape = Node(node("Shape", given).op, (given,), (v(t(2, dtype=DType.I64), ints=(2, 3)),))
    assert constant(shape)
    assert not constant(shape, has_values=True), "sizes that are driven by contents may change"
    unknown = Node(shape.op, (given,), (v(t(2, dtype=DType.I64)),))
    assert not constant(unknown)
    assert constant_foldable.is_alias([node("Identity", stored)])
    assert not constant_foldable.is_alias([node("Neg", stored)])
    assert not constant_foldable.is_alias([node("Identity", stored)] * 2)
