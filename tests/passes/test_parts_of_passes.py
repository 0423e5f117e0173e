"""Sums that grow and shrink, windows of filters, operands of products, and passes in words."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.ir.cost import dim_sum
from perfc.ir.graph import Node, Value, Weight
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.control.control import Loop, Scan, SequenceMap
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.elementwise.activation import Relu
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
)
from perfc.passes import pipeline
from perfc.passes.memory.liveness import Sum, stacked_results
from perfc.passes.precision import retype
from perfc.passes.rewriting import reparameterize

N, M = symbol("N"), symbol("M")


def t(*shape: Dim, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, shape)


def v(name: str, type_: Type, *, stored: bool = False) -> Value:
    return Value(name, type_, weight=Weight(4) if stored else None)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.sampled_from([1, N, M, N * M, N + 3])), max_size=9)
)
def test_a_sum_is_what_its_parts_make(parts: list[tuple[int, Dim]]) -> None:
    found = Sum()
    for factor, d in parts:
        found.add(factor * d, 1)
        found.add(d, -1)
        assert found.value() == found.value()
    assert found.value() == dim_sum([(factor - 1) * d for factor, d in parts])
    for factor, d in parts:
        found.add((factor - 1) * d, -1)
    assert found.value() == 0
    assert found.terms == {}


def test_results_that_grow_are_those_behind_what_is_carried() -> None:
    ins = tuple(v(n, t(2)) for n in "abcd")
    outs = tuple(v(n, t(2)) for n in "xyz")
    names = [
        [r.name for r in stacked_results(Node(op, ins, outs))]
        for op in (Loop(), Scan(num_scan_inputs=1), Scan(num_scan_inputs=3), SequenceMap(), Relu())
    ]
    # of a loop over four operands two are carried; of a scan those that are not scanned
    assert names == [["z"], [], ["y", "z"], ["x", "y", "z"], []]
    bare = Node(Loop(), (None, None), (outs[0], None))
    assert stacked_results(bare) == (outs[0],)


def conv(filters: Type, *, stored: bool = True, **attributes: Any) -> Node:
    w = v("w", filters, stored=stored)
    return Node(Conv(**attributes), (v("x", t(1, 8, 9, 9)), w), (v("y", t(1, 8, 9, 9)),))


@pytest.mark.parametrize(
    ("node", "window"),
    [
        (conv(t(8, 8, 3, 3), pads=(1, 1, 1, 1)), ((3, 3), (1, 1), 1)),
        (conv(t(8, 8, 1, 1)), ((1, 1), (1, 1), 1)),
        (conv(t(8, 4, 5, 3), pads=(2, 1, 2, 1), strides=(2, 1), group=2), ((5, 3), (2, 1), 2)),
        (conv(t(8, 8, 3, 3)), None),
        (conv(t(8, 8, 3, 3), pads=(1, 1, 1, 0)), None),
        (conv(t(8, 8, 2, 2), pads=(1, 1, 1, 1)), None),
        (conv(t(8, 8, 3, 3), pads=(1, 1, 1, 1), dilations=(1, 2)), None),
        (conv(t(8, 8, 1, 1), auto_pad="SAME_UPPER"), None),
        (conv(t(8, 8, 1, 1), auto_pad="NOTSET"), ((1, 1), (1, 1), 1)),
        (conv(t(8, 8, N, 1)), None),
        (conv(t(8, 8, 1, 1), stored=False), None),
        (conv(TensorType(DType.F32, None)), None),
        (Node(MatMul(), (v("x", t(2, 2)), v("w", t(2, 2), stored=True)), ()), None),
    ],
)
def test_a_filter_is_centred_dense_and_stored_or_has_no_window(
    node: Node, window: tuple[object, ...] | None
) -> None:
    found = reparameterize._window(node)
    assert (None if found is None else tuple(found)) == window


def test_a_window_has_as_many_taps_as_elements() -> None:
    assert reparameterize.FilterExtents((3, 5), (1, 1), 1).taps == 15
    assert reparameterize.FilterExtents((), (), 1).taps == 1


def op(name: str, **attributes: Any) -> Op:
    cls = operator_for("", name)
    assert cls is not None
    return cls(**attributes)


def test_products_read_matrices_of_wide_floats() -> None:
    a, b, row = v("a", t(2, 3)), v("b", t(3, 4)), v("r", t(4))
    whole = v("h", t(3, 4, dtype=DType.I8))
    three = tuple(v(n, t(2, 3)) for n in "qkv")

    def positions(o: Op, *ins: Value | None) -> tuple[int, ...]:
        return retype.operand_positions(Node(o, ins, (v("y", t(2)),)))

    assert positions(op("MatMul"), a, b) == (0, 1)
    assert positions(op("MatMul"), a, whole) == (0,)
    assert positions(op("Gemm"), a, b, a) == (0, 1), "the third is added"
    assert positions(op("MatMul"), a, row) == (0,)
    assert positions(op("MatMul"), None, b) == (1,)
    assert positions(op("Einsum", equation="ij,jk,kl->il"), *three) == (0, 1, 2)
    assert positions(op("Attention"), *three, a) == (0, 1, 2)
    assert positions(op("Relu"), a) == ()
    assert positions(op("MatMul"), v("u", TensorType(DType.F32, None)), b) == (1,)


def test_elements_of_what_holds_tensors_have_a_type() -> None:
    half = t(2, dtype=DType.F16)
    assert retype.dtype_of(half) is DType.F16
    assert retype.dtype_of(SequenceType(OptionalType(half))) is DType.F16
    assert retype.dtype_of(MapType(DType.I64, half)) is DType.UNKNOWN
    assert retype.dtype_of(None) is retype.element_type(None) is DType.UNKNOWN
    assert retype.element_type(v("x", half)) is DType.F16
    assert retype.of_elements(SequenceType(half), DType.F32) == SequenceType(t(2))
    assert retype.of_elements(half, DType.UNKNOWN) == half
    assert retype.of_elements(UnknownType(), DType.F32) == UnknownType()


class Color(Enum):
    RED = "red"
    ONE = 1


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (True, "true"),
        (False, "false"),
        (None, "none"),
        (3, "3"),
        (2.5, "2.5"),
        (N, "N"),
        (DType.F16, "f16"),
        (Color.RED, "red"),
        (Color.ONE, "ONE"),
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("true", '"true"'),
        ("none", '"none"'),
        (("a", 1, True), "[a,1,true]"),
        ((), "[]"),
    ],
)
def test_values_are_spelled_as_a_pipeline_reads_them(value: object, spelled: str) -> None:
    assert pipeline._spell_value(value) == spelled


def test_what_has_no_spelling_is_an_error() -> None:
    with pytest.raises(TypeError, match="no pipeline form for bytes"):
        pipeline._spell_value(b"x")


SOURCE = '''
class Helper:
    """No pass."""


class TwoWords(Analysis[int]):
    """Counts things.

    More of it.
    """

    requires: ClassVar = (Shapes,)
    most_nodes: int = 3
    is_deep: bool = False

    def run(self) -> None: ...
'''


def test_a_pass_is_described_from_its_text(tmp_path: Path) -> None:
    path = tmp_path / "two_words.py"
    path.write_text(SOURCE)
    found = pipeline.describe("two-words", path)
    assert found is not None
    assert (found.name, found.kind, found.summary) == ("two-words", "analysis", "Counts things.")
    assert found.options == ("most-nodes: int = 3", "is-deep: bool = False")
    assert pipeline.describe("helper", path) is None, "it is neither kind"
    assert pipeline.describe("absent", path) is None
