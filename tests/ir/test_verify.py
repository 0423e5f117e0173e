"""The verifier refuses every broken invariant and names the node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfc.errors import ShapeError, VerifyError
from perfc.ir import (
    UNKNOWN,
    DType,
    Graph,
    Known,
    Loc,
    Module,
    Node,
    OptionalType,
    SequenceType,
    SymbolDecl,
    TensorType,
    Type,
    Value,
    Weight,
    symbol,
)
from perfc.ir.graphs.verify import compatible, verify
from perfc.ir.ops import operator
from perfc.ir.syntax.parse import parse

F32 = TensorType(DType.F32, (2, 3))
X = Value("x", F32)
Y = Value("y", F32)


def relu(source: Value | None, result: Value | None, name: str = "") -> Node:
    return Node(operator("relu")(), (source,), (result,), loc=Loc(name))


def module(*nodes: Node, inputs: tuple[Value, ...] = (X,), **fields: object) -> Module:
    graph = Graph("g", inputs, (), nodes)
    return Module(replace(graph, **fields))  # type: ignore[arg-type]


def test_a_well_formed_module_passes() -> None:
    verify(module(relu(X, Y), outputs=(Y,)))


BROKEN: dict[str, tuple[Module, str]] = {
    "used before defined": (
        module(relu(Y, Value("z", F32), "late"), relu(X, Y)),
        "relu late: %y is used before it is defined",
    ),
    "cycle": (
        module(relu(Y, Value("z", F32)), inputs=()),
        "relu z: %y is used before it is defined",
    ),
    "own result": (module(relu(Y, Y, "self")), "relu self: %y is used before it is defined"),
    "defined twice": (module(relu(X, Y), relu(X, Y, "again")), "relu again: %y is defined twice"),
    "name twice": (
        module(relu(X, Y), relu(X, Value("y", F32), "again")),
        "relu again: %y is defined twice",
    ),
    "input redefined": (module(relu(X, X, "n")), "relu n: %x is defined twice"),
    "output": (module(outputs=(Y,)), "@g: %y is never defined"),
    "not a weight": (module(weights=(Y,)), "@g: %y is not a weight"),
    "negative extent": (
        module(inputs=(Value("v", TensorType(DType.F32, (-1,))),)),
        "input of @g: %v: extent -1 is negative",
    ),
    "extent": (
        module(inputs=(Value("v", SequenceType(TensorType(DType.F32, ("N",)))),)),  # type: ignore[arg-type]
        "input of @g: %v: extent 'N' is not one",
    ),
    "element type": (
        module(inputs=(Value("v", TensorType("f32", ())),)),  # type: ignore[arg-type]
        "input of @g: %v: element type 'f32' is not one",
    ),
    "type": (module(inputs=(Value("v", None),)), "input of @g: %v: None is not a type"),  # type: ignore[arg-type]
    "content of a sequence": (
        module(inputs=(Value("v", SequenceType(F32), Known.scalar(1)),)),
        "input of @g: %v: 1 is no list of the contents of elements",
    ),
    "content of an optional": (
        module(inputs=(Value("v", OptionalType(F32), Known.scalar(1)),)),
        "input of @g: %v: only tensors and sequences have known contents",
    ),
    "content in a content": (
        module(inputs=(Value("v", TensorType(DType.I64, (1,)), Known.vector([Known.scalar(1)])),)),
        "input of @g: %v: the content of another value in i64[1]",
    ),
    "content shape": (
        module(inputs=(Value("v", TensorType(DType.I64, (2,)), Known.vector([1])),)),
        "input of @g: %v: content of shape [1] in i64[2]",
    ),
    "content count": (
        module(inputs=(Value("v", TensorType(DType.I64, (2,)), Known((2,), (1,))),)),
        "input of @g: %v: 1 known elements do not fill [2]",
    ),
    "content element": (
        module(inputs=(Value("v", TensorType(DType.I64, ()), Known.scalar(0.5)),)),
        "input of @g: %v: float 0.5 in i64[]",
    ),
    "too many results": (
        module(Node(operator("relu")(), (X,), (None, Y))),
        "relu y: has 1 results, 2 are named",
    ),
    "declared type": (
        module(relu(X, Value("y", TensorType(DType.F16, (2, 3))))),
        "relu y: %y is declared f16[2, 3], but is f32[2, 3]",
    ),
    "symbol declared twice": (
        Module(Graph("g", (), ()), (SymbolDecl("N", 1), SymbolDecl("N", 2))),
        "module g: a symbol is declared twice",
    ),
    "symbol range": (
        Module(
            Graph("g", (Value("v", TensorType(DType.F32, (symbol("N", 0, 4),))),), ()),
            (SymbolDecl("N", 1),),
        ),
        "module g: symbol N is declared in 1.. and used in 0..4",
    ),
    "two ranges": (
        module(
            inputs=(
                Value("a", TensorType(DType.F32, (symbol("u1", 0, 4),))),
                Value("b", TensorType(DType.F32, (symbol("u1", 0, 5),))),
            )
        ),
        "module g: symbol u1 has two ranges",
    ),
    "default": (
        Module(Graph("g", (), ()), (SymbolDecl("N", 9, 1, 8),)),
        "default 9 of N is outside 1..8",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_invariants_are_named(what: str) -> None:
    broken, message = BROKEN[what]
    with pytest.raises(VerifyError) as error:
        verify(broken)
    assert str(error.value) == message


def test_a_region_may_read_outer_values_but_not_those_of_its_sibling() -> None:
    c = Value("c", TensorType(DType.BOOL, ()))
    inner = Value("inner", F32)
    first = Graph("then", (), (inner,), (relu(X, inner),))
    for outputs, is_broken in (((X,), False), ((inner,), True)):
        second = Graph("else", (), outputs)
        choice = Node(operator("if")(), (c,), (Y,), (first, second))
        m = module(choice, inputs=(X, c))
        if is_broken:
            with pytest.raises(VerifyError, match=r"@else: %inner is never defined"):
                verify(m)
        else:
            verify(m)


def test_what_a_region_defines_is_not_visible_after_it() -> None:
    c = Value("c", TensorType(DType.BOOL, ()))
    inner = Value("inner", F32)
    region = Graph("then", (), (inner,), (relu(X, inner),))
    choice = Node(operator("if")(), (c,), (Y,), (region,))
    with pytest.raises(VerifyError, match="%inner is used before"):
        verify(module(choice, relu(inner, Value("z", F32)), inputs=(X, c)))


def test_regions_nested_too_deep_are_refused() -> None:
    graph = Graph("g0", (), ())
    for i in range(40):
        graph = Graph(f"g{i + 1}", (), (), (Node(operator("loop")(), (), (), (graph,)),))
    with pytest.raises(VerifyError, match="nested deeper than 32"):
        verify(Module(graph))


def test_operands_that_do_not_go_together_are_refused_at_their_position() -> None:
    text = """perfir 1
module @m
graph @main(%x: f32[8, 3], %w: f32[4, 5]) {
  %1 = matmul(%x, %w) : ?
  return %1
}
"""
    parsed = parse(text, "model.pir")
    with pytest.raises(ShapeError) as error:
        verify(parsed.module, where=parsed.where)
    assert str(error.value) == "model.pir:4:8: matmul: contracted extents differ: 3 and 4"


def test_a_weight_needs_no_users_and_may_be_an_output() -> None:
    w = Value("w", F32, None, Weight(24))
    verify(module(weights=(w,), outputs=(w,)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (F32, UNKNOWN, True),
        (F32, TensorType(DType.UNKNOWN, None), True),
        (F32, TensorType(DType.F32, (symbol("N"), 3)), True),
        (F32, TensorType(DType.F32, (symbol("N", 3), 3)), False),
        (F32, TensorType(DType.F32, (2,)), False),
        (F32, TensorType(DType.F16, None), False),
        (F32, SequenceType(F32), False),
        (SequenceType(F32), SequenceType(UNKNOWN, 3), True),
    ],
)
def test_types_are_compatible_when_a_value_can_have_both(a: Type, b: Type, expected: bool) -> None:
    assert compatible(a, b) is expected
    assert compatible(b, a) is expected
