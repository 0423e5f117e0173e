"""Inference is total, agrees with itself at any extent, and lets declarations only fill gaps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.errors import ShapeError
from perfc.ir.graph import Graph, Loc, Module, Node, SymbolDecl, Value, walk
from perfc.ir.op import Op, Types
from perfc.ir.symbolic.dim import substitute, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import UNKNOWN, DType, SequenceType, TensorType, Type
from perfc.passes.inference.shapes import Inference, Shapes, checked, sharper
from perfc.passes.manager import Analyses
from tests.passes.random_graphs import Builder, modules, op

F = DType.F32


def bare(graph: Graph, extent: int | None = None) -> Graph:
    """The graph without any type but those of inputs and weights, the symbol set to ``extent``."""
    new: dict[Value, Value] = {}

    def at(type_: Type) -> Type:
        if extent is None or not isinstance(type_, TensorType) or type_.shape is None:
            return type_
        return TensorType(type_.dtype, tuple(substitute(d, {"N": extent}) for d in type_.shape))

    def value(v: Value, *, keeps: bool) -> Value:
        if v not in new:
            new[v] = Value(v.name, at(v.type) if keeps else UNKNOWN, v.known, v.weight)
        return new[v]

    def plain(g: Graph) -> Graph:
        inputs = tuple(value(v, keeps=True) for v in g.inputs)
        weights = tuple(value(v, keeps=True) for v in g.weights)
        nodes = []
        for n in g.nodes:
            ins = tuple(v and new[v] for v in n.inputs)
            regions = tuple(map(plain, n.regions))
            outs = tuple(v and Value(v.name, UNKNOWN) for v in n.outputs)
            new.update({a: b for a, b in zip(n.outputs, outs, strict=True) if a and b})
            nodes.append(Node(n.op, ins, outs, regions, n.loc))
        return Graph(g.name, inputs, tuple(new[v] for v in g.outputs), tuple(nodes), weights)

    return plain(graph)


def inferred(graph: Graph, *symbols: str) -> Graph:
    module = Module(graph, tuple(SymbolDecl(s, 3) for s in symbols))
    return Analyses().apply(Shapes(), module).graph


def every_type(graph: Graph) -> dict[str, Type]:
    return {v.name: v.type for n in walk(graph) for v in n.results}


@settings(max_examples=100, deadline=None)
@given(modules(max_steps=10), st.integers(1, 7))
def test_symbolic_types_at_a_number_are_the_types_at_that_number(module: Module, n: int) -> None:
    symbolic = every_type(inferred(bare(module.graph), "N"))
    concrete = every_type(inferred(bare(module.graph, n)))
    for name, type_ in symbolic.items():
        if isinstance(type_, TensorType) and type_.shape is not None:
            dims = tuple(substitute(d, {"N": n}) for d in type_.shape)
            assert TensorType(type_.dtype, dims) == concrete[name]


@settings(max_examples=60, deadline=None)
@given(modules())
def test_inferring_twice_changes_nothing(module: Module) -> None:
    once = inferred(module.graph, "N")
    assert every_type(inferred(once, "N")) == every_type(once)


def single(operator: Op, *ins: TensorType, declared: Type = UNKNOWN) -> Type:
    values = tuple(Value(f"x{i}", t) for i, t in enumerate(ins))
    y = Value("y", declared)
    node = Node(operator, values, (y,), (), Loc("n", "Op"))
    return inferred(Graph("g", values, (y,), (node,)), "N").outputs[0].type


def test_a_declaration_fills_only_what_inference_leaves_open() -> None:
    unranked, known = TensorType(F, None), TensorType(F, (2, 3))
    assert single(op("relu"), unranked, declared=known) == known
    assert single(op("relu"), known, declared=TensorType(DType.I64, (9, 9))) == known
    opaque = op("opaque", name="Foo", num_outputs=1)
    assert single(opaque, known, declared=TensorType(F, (7,))) == TensorType(F, (7,))
    assert single(opaque, known) == UNKNOWN


def test_a_declared_number_must_lie_within_what_is_known() -> None:
    u = symbol("u", 0, 4)
    inference = Inference(declared={"N"})
    open_ = TensorType(F, (u, 3))
    assert inference.filled(open_, TensorType(F, (2, 3))) == TensorType(F, (2, 3))
    assert inference.filled(open_, TensorType(F, (9, 3))) == open_
    assert inference.filled(open_, TensorType(F, (2,))) == open_


def test_the_sharper_of_two_types_wins() -> None:
    known = TensorType(F, (2,))
    assert sharper(UNKNOWN, known) == known
    assert sharper(TensorType(F, None), known) == known
    assert sharper(TensorType(DType.UNKNOWN, (4,)), known) == TensorType(F, (4,))
    assert sharper(known, TensorType(F, (3,))) == known


def test_contents_that_do_not_fit_their_type_are_dropped() -> None:
    right, wrong = Known.vector((1, 2)), Known.vector((1, 2, 3))
    types: Types = (TensorType(DType.I64, (2,)), TensorType(DType.I64, (2,)), SequenceType(UNKNOWN))
    assert checked(types, (right, wrong, right)) == (right, None, None)


def test_a_contradiction_names_node_operator_and_operands() -> None:
    with pytest.raises(ShapeError, match=r"node 'n': Op: .*operands f32\[2, 3\], f32\[4, 5\]"):
        single(op("matmul"), TensorType(F, (2, 3)), TensorType(F, (4, 5)))


def test_equal_applications_are_inferred_once() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    for _ in range(50):
        b.values.append(b.add(op("softmax"), b.values[-1]))
    inference = Inference()
    inference.graph(Graph("g", (b.values[0],), (b.values[-1],), tuple(b.nodes)), {})
    assert len(inference.memo) == 1
