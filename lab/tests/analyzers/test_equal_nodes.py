"""Operators that a network cannot tell apart are passed once; needs PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from perfc.analyzers.graph.predictor import predictor
from perfc_lab.papers.networks.batches import Batch, GraphTensors
from perfc_lab.papers.networks.equal_nodes import classes, merged
from perfc_lab.papers.networks.network_predictor import NetworkPredictor
from perfc_lab.papers.networks.row_features import ROW
from perfc_lab.papers.networks.several import SeveralQuantities

WIDTH = 16
BLOCKS = 8
NAMES = (
    "seernet",
    "seernet:plain",
    "seernet:mean",
    "seernet:no-edge-features",
    "nnlqp",
    "gnn-nf",
    "trappm:without-embedding",
    "pmgns",
    "pmgns:gcn",
    "pmgns:gat",
    "pmgns:gin",
)


def chain_of_blocks(made: NetworkPredictor) -> GraphTensors:
    """Equal blocks of three nodes with a shortcut, one after another."""
    generator = torch.Generator().manual_seed(0)
    kinds = torch.randn(3, len(made.encoding.nodes), generator=generator)
    wires = torch.randn(4, max(len(made.encoding.edges), 1), generator=generator)
    edges, which = [], []
    for block in range(BLOCKS):
        start = 3 * block
        edges += [(start, start + 1), (start + 1, start + 2), (start, start + 2)]
        which += [0, 1, 2]
        if block:
            edges.append((start - 1, start))
            which.append(3)
    return GraphTensors(
        kinds.repeat(BLOCKS, 1),
        torch.tensor(edges).T.contiguous(),
        wires[which] if len(made.encoding.edges) and made.variant != "no-edge-features" else None,
        torch.randn(len(made.encoding.whole), generator=generator),
    )


def alone(graph: GraphTensors) -> Batch:
    of = torch.zeros(len(graph.x), dtype=torch.int64)
    assert graph.u is not None
    return Batch(
        graph.x,
        graph.edge_index,
        graph.edge_attr,
        graph.u[None],
        of,
        torch.zeros(2).long(),
        torch.linspace(-1, 1, 2 * len(ROW)).reshape(2, -1),
        torch.zeros(2),
        torch.arange(2),
        1,
        graph.count,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_network_gives_the_same_with_equal_operators_passed_once(name: str) -> None:
    torch.manual_seed(1)
    made = predictor(name)
    assert isinstance(made, NetworkPredictor)
    made.width = WIDTH
    if isinstance(made, SeveralQuantities):
        made.tasks = (made.quantity.value,)
    network = made.network().eval()
    whole = chain_of_blocks(made)
    fewer = merged(whole, made.layers)
    assert len(fewer.x) < len(whole.x)
    assert fewer.operators == whole.operators == len(whole.x)
    given = [alone(whole), alone(fewer)]
    torch.testing.assert_close(network(given[1]), network(given[0]), rtol=1e-5, atol=1e-5)
    network.zero_grad()
    gradients = []
    for batch in given:
        network.zero_grad()
        network(batch).sum().backward()
        gradients.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_blocks_are_equal_once_what_lies_before_them_is_far_enough() -> None:
    made = predictor("nnlqp")
    assert isinstance(made, NetworkPredictor)
    graph = chain_of_blocks(made)
    assert len(set(classes(graph, 0))) == 3
    # the first block has none before it: its first node differs, then what hears of that
    assert len(set(classes(graph, 1))) == 4
    assert len(set(classes(graph, 2))) == 6


def test_one_edge_that_carries_another_tensor_tells_nodes_apart() -> None:
    graph = GraphTensors(
        torch.ones(4, 1), torch.tensor([[0, 1], [2, 3]]), torch.tensor([[1.0], [2.0]])
    )
    assert len(set(classes(graph, 1))) == 3
    assert len(set(classes(replace(graph, edge_attr=None), 1))) == 2


def test_a_graph_without_edges_is_merged() -> None:
    graph = GraphTensors(torch.ones(3, 1), torch.zeros(2, 0, dtype=torch.int64))
    found = merged(graph, 2)
    assert found.x.shape == (1, 1)
    assert found.count is not None
    assert found.count.tolist() == [3.0]
