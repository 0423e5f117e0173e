"""Nodes come in an order in which every value is made before it is read."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.errors import ModelError
from perfc.frontend.lowering.order import needs, topological
from perfc.frontend.reading.proto import Attribute, AttributeType, ProtoGraph, ProtoNode, ValueInfo


def chain(count: int) -> list[ProtoNode]:
    return [ProtoNode(f"n{i}", "Relu", input=[f"v{i}"], output=[f"v{i + 1}"]) for i in range(count)]


def ordered(nodes: list[ProtoNode]) -> list[str]:
    made = {"v0"}
    names = []
    for n in topological(nodes, lambda name: name if name in made else None):
        assert all(i in made for i in n.input), n.name
        made.update(n.output)
        names.append(n.name)
    return names


def test_an_order_that_works_is_kept() -> None:
    assert ordered(chain(5)) == [f"n{i}" for i in range(5)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_shuffled_nodes_are_sorted(count: int, rng: random.Random) -> None:
    nodes = chain(count)
    nodes += [
        ProtoNode(f"m{i}", "Add", input=[f"v{rng.randrange(count)}", f"v{count}"], output=[f"w{i}"])
        for i in range(count)
    ]
    rng.shuffle(nodes)
    assert sorted(ordered(nodes)) == sorted(n.name for n in nodes)


def test_a_reversed_chain_of_many_nodes_takes_linear_time() -> None:
    assert ordered(chain(50_000)[::-1])[-1] == "n49999"


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_cycle_names_a_node_on_it(length: int) -> None:
    nodes = chain(length)
    nodes[0].input = [f"v{length}"]
    with pytest.raises(ModelError, match="node 'n0': the graph has a cycle"):
        list(topological(nodes, lambda name: None))


def subgraph(*nodes: ProtoNode, inputs: tuple[str, ...] = (), out: str = "o") -> Attribute:
    graph = ProtoGraph(
        node=list(nodes), input=[ValueInfo(i) for i in inputs], output=[ValueInfo(out)]
    )
    return Attribute("body", AttributeType.GRAPH, g=graph)


def test_a_subgraph_needs_the_outer_names_it_reads() -> None:
    inner = ProtoNode("i", "Add", input=["a", "hidden"], output=["o"])
    outer = ProtoNode(
        "l", "Loop", input=["m"], output=["y"], attribute=[subgraph(inner, inputs=("hidden",))]
    )
    assert needs(outer) == {"m", "a"}


def test_nodes_wait_for_what_their_subgraphs_read() -> None:
    inner = ProtoNode("i", "Relu", input=["v1"], output=["o"])
    loop = ProtoNode("l", "Loop", input=[], output=["y"], attribute=[subgraph(inner)])
    assert ordered([loop, *chain(1)]) == ["n0", "l"]
