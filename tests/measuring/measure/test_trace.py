"""Nodes of an optimized graph are traced to those they stand for."""

from __future__ import annotations

from perfc.ir.graph import Graph, Node
from perfc.ir.graphs.groups import root
from perfc.ir.syntax.parse import parse_module
from perfc.measuring.measure.matching.attribute import join
from perfc.measuring.measure.profile import Profile, ProfilerKind, RuntimeKernel
from perfc.measuring.measure.session import inlined
from perfc.measuring.measure.trace import How, OptimizedNode, SourceNodes, trace

TEXT = """\
perfir 1
module @m

graph @main(%x: f32[1, 16, 8, 8], %w: f32[16, 16, 3, 3]) {
  %a = conv(%x, %w) : f32[1, 16, 6, 6]
  %b = relu(%a) : f32[1, 16, 6, 6]
  %c = sigmoid(%b) : f32[1, 16, 6, 6]
  %d = add(%c, %b) : f32[1, 16, 6, 6]
  %e = softmax(%d) : f32[1, 16, 6, 6]
  return %e
}
"""


def graph() -> Graph:
    return parse_module(TEXT).graph


def found(g: Graph, *nodes: OptimizedNode) -> dict[str, tuple[str, How]]:
    """Mnemonics behind each optimized node, in order, and how they were found."""
    order = {n: i for i, n in enumerate(g.nodes)}

    def text(origin: SourceNodes) -> str:
        return " ".join(n.op.mnemonic for n in sorted(origin.nodes, key=order.__getitem__))

    return {k: (text(o), o.how) for k, o in trace(nodes, frozenset({"w"}), g).items()}


def test_nodes_between_values_that_survive_are_what_is_executed() -> None:
    assert found(
        graph(),
        OptimizedNode("fused_1", "FusedConv", ("x", "w"), ("b",)),
        OptimizedNode("fused_2", "Odd", ("b",), ("e",)),
    ) == {
        "fused_1": ("conv relu", How.TRACED),
        "fused_2": ("sigmoid add softmax", How.TRACED),
    }


def test_blocked_layouts_are_seen_through() -> None:
    g = graph()
    assert found(
        g,
        OptimizedNode("in", "ReorderInput", ("x",), ("r0",)),
        OptimizedNode("b_nchwc", "Conv", ("r0", "w2"), ("r1",)),
        OptimizedNode("out", "ReorderOutput", ("r1",), ("b",)),
        OptimizedNode("c", "Sigmoid", ("b",), ("c",)),
        OptimizedNode("d", "Add", ("c", "b"), ("d",)),
        OptimizedNode("e", "Softmax", ("d",), ("e",)),
    ) == {
        "in": ("conv relu", How.INSERTED),
        "b_nchwc": ("conv relu", How.TRACED),
        "out": ("conv relu", How.INSERTED),
        "c": ("sigmoid", How.TRACED),
        "d": ("add", How.TRACED),
        "e": ("softmax", How.TRACED),
    }


def test_a_node_belongs_to_one_kernel_only() -> None:
    g = graph()
    origins = trace(
        (
            OptimizedNode("one", "A", ("x", "w"), ("b",)),
            OptimizedNode("two", "B", ("x", "w"), ("e",)),
        ),
        frozenset({"w"}),
        g,
    )
    seen: list[Node] = [n for o in origins.values() for n in o.nodes]
    assert len(seen) == len(set(seen)) == len(g.nodes)


def test_what_stands_for_nothing_goes_with_its_neighbour() -> None:
    assert found(
        graph(),
        OptimizedNode("fused", "Odd", ("x", "w"), ("d",)),
        OptimizedNode("strange", "Copy", ("d",), ("q",)),
        OptimizedNode("last", "Softmax", ("q",), ("e",)),
    ) == {
        "fused": ("conv relu sigmoid add", How.TRACED),
        "strange": ("conv relu sigmoid add", How.INSERTED),
        "last": ("softmax", How.TRACED),
    }


def test_functions_expanded_late_are_charged_to_their_calls() -> None:
    g = graph()
    nodes = (
        OptimizedNode("fused", "Odd", ("x", "w"), ("b",)),
        OptimizedNode("call", "Function", ("b",), ("d",)),
        OptimizedNode("last", "Softmax", ("d",), ("e",)),
    )
    times = [RuntimeKernel(n, "", 1.0) for n in ("fused", "Sigmoid_9", "Add_10", "last")]
    origins = trace(nodes, frozenset({"w"}), g)
    found = inlined(Profile(ProfilerKind.ORT, tuple(times), 1), nodes, origins)
    assert found["Sigmoid_9"].nodes == found["Add_10"].nodes == origins["call"].nodes
    assert {n.op.mnemonic for n in origins["call"].nodes} == {"sigmoid", "add"}


def test_union_joins_sets() -> None:
    union = list(range(5))
    join(union, 3, 1)
    join(union, 4, 3)
    assert [root(union, i) for i in range(5)] == [0, 1, 2, 1, 1]


def test_copies_before_the_first_match_go_with_it() -> None:
    copies = [OptimizedNode(f"copy_{i}", "Copy", (f"q{i}",), (f"q{i + 1}",)) for i in range(3)]
    first = OptimizedNode("fused", "Odd", ("q3", "x", "w"), ("e",))
    origins = found(graph(), *copies, first)
    assert {origins[c.name] for c in copies} == {(origins["fused"][0], How.INSERTED)}
