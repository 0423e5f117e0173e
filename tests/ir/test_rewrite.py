"""Rewriting keeps what nothing happens to."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from perfc.ir import DType, Graph, Module, Node, TensorType, Value, Weight, walk
from perfc.ir.graphs.rewrite import Rewriter, with_graph
from perfc.ir.graphs.verify import verify
from perfc.ir.ops import operator
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import all_values, print_module
from tests.strategies import modules

BRANCHES = """\
perfir 1
module @m

graph @main(%x: f32[2], %c: b1[]) {
  %w = weight : f32[2]
  %1 = relu(%x) : f32[2]
  %2 = if(%c) : f32[2] {
    graph @then() {
      %3 = add(%1, %w) : f32[2]
      return %3
    }
    graph @else() {
      return %x
    }
  }
  %4 = sqrt(%x) : f32[2]
  return %2, %4
}
"""
F16 = TensorType(DType.F16, (2,))


def named(graph: Graph, name: str) -> Value:
    return next(v for v in all_values(graph) if v.name == name)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_no_change_gives_the_same_object(module: Module) -> None:
    rewriter = Rewriter(module.graph)
    for value in module.graph.inputs:
        rewriter.replace_uses(value, value)
    assert rewriter.result() is module.graph
    assert with_graph(module, module.graph) is module


def test_replacing_uses_reaches_into_regions_and_keeps_other_nodes() -> None:
    module = parse_module(BRANCHES)
    graph = module.graph
    rewriter = Rewriter(graph)
    rewriter.replace_uses(named(graph, "1"), named(graph, "x"))
    rewriter.erase(graph.nodes[0])
    made = rewriter.result()
    verify(with_graph(module, made))
    assert "add(%x, %w)" in print_module(with_graph(module, made))
    assert made.nodes[1] is graph.nodes[2]
    assert made.nodes[0].regions[1] is graph.nodes[1].regions[1]


def test_redefining_changes_the_type_where_it_is_defined_and_read() -> None:
    module = parse_module(BRANCHES)
    rewriter = Rewriter(module.graph)
    for value in all_values(module.graph):
        if value.name != "c":
            rewriter.redefine(value, replace(value, type=F16))
    made = with_graph(module, rewriter.result())
    verify(made)
    assert print_module(made) == BRANCHES.replace("f32", "f16")


def test_several_nodes_may_stand_for_one() -> None:
    module = parse_module(BRANCHES)
    last = module.graph.nodes[-1]
    middle = Value("middle", F16)
    rewriter = Rewriter(module.graph)
    first = Node(operator("identity")(), last.inputs, (middle,))
    rewriter.replace_node(last, first, replace(last, inputs=(middle,)))
    rewriter.add_weight(Value("extra", F16, None, Weight()))
    rewriter.drop_weight(named(module.graph, "w"))
    made = rewriter.result()
    assert [n.op.mnemonic for n in made] == ["relu", "if", "identity", "sqrt"]
    assert [w.name for w in made.weights] == ["extra"]
    assert made.nodes[-1].outputs == last.outputs


def test_replacements_chain() -> None:
    x, y, z = (Value(n, F16) for n in "xyz")
    graph = Graph("g", (x, y, z), (x,))
    rewriter = Rewriter(graph)
    rewriter.replace_uses(x, y)
    rewriter.replace_uses(y, z)
    assert rewriter.result().outputs == (z,)
    assert list(walk(rewriter.result())) == []
