"""Modules of a model, whatever its exporter called things."""

from __future__ import annotations

import perfc
from perfc.ir.graphs.blocks import split
from perfc.view.html.modules import MOST_CHILDREN, ModuleTree, tree
from perfc.view.html.wiring import wiring

from .conftest import chain


def names(module: ModuleTree) -> list[object]:
    return [c if isinstance(c, int) else (c.name, names(c)) for c in module.children]


def test_paths_become_a_tree_in_execution_order() -> None:
    found = tree([("a", "b"), ("a", "b"), ("a", "c"), ("a", "c"), ("d",), ("d",)], "m")
    assert names(found) == [("a", [("b", [0, 1]), ("c", [2, 3])]), ("d", [4, 5])]
    assert [m.first for m in found.children if isinstance(m, ModuleTree)] == [0, 4]


def test_a_module_of_one_is_that_one() -> None:
    assert names(tree([("a", "b"), ("c", "d"), ("c", "d")], "m")) == [0, ("c/d", [1, 2])]


def test_a_wrapper_of_nearly_all_nodes_is_opened() -> None:
    paths = [("m", "h", str(i // 2)) for i in range(8)]
    found = tree([(), *paths], "model")
    assert names(found) == [
        0,
        ("h/0", [1, 2]),
        ("h/1", [3, 4]),
        ("h/2", [5, 6]),
        ("h/3", [7, 8]),
    ]


def test_many_nodes_without_a_path_are_put_together() -> None:
    report = perfc.analyze(chain(400))
    nodes = wiring(report).nodes
    root = tree([split(n.name)[:-1] for n in nodes], "m")
    waiting, seen = [root], 0
    while waiting:
        module = waiting.pop()
        assert len(module.children) <= MOST_CHILDREN
        waiting += [c for c in module.children if isinstance(c, ModuleTree)]
        seen += sum(isinstance(c, int) for c in module.children)
    assert seen == len(nodes)


def test_every_edge_joins_a_writer_to_a_reader(resnet: perfc.Report) -> None:
    wires = wiring(resnet)
    for a, b in wires.edges:
        assert set(wires.nodes[a].results) & set(wires.nodes[b].inputs)
    assert len(wires.edges) >= len(wires.nodes) - 1
