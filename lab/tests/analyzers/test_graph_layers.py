"""Message passing against dense matrices; needs PyTorch."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from perfc_lab.papers.brp_nas import with_global_nodes
from perfc_lab.papers.graph_autoencoder import GraphEncoder, negatives, reconstruction_loss
from perfc_lab.papers.mlp_node import in_a_row
from perfc_lab.papers.networks.batches import Batch
from perfc_lab.papers.networks.gradient_surgery import assign, surgery, task_gradients
from perfc_lab.papers.networks.message_passing import (
    GATConv,
    GCNConv,
    gin,
    pooled,
    sage,
    softmax_pooled,
)
from perfc_lab.papers.networks.network_predictor import head
from perfc_lab.papers.seer_block import SeerBlock

Array = NDArray[np.float64]
EDGES = torch.tensor([[0, 0, 1, 2, 4, 5], [1, 2, 3, 3, 5, 6]])
GRAPH_OF_NODE = torch.tensor([0, 0, 0, 0, 1, 1, 1])
NODES, GRAPHS, WIDTH = 7, 2, 5


def adjacency() -> Array:
    """``[target, source]``."""
    dense = np.zeros((NODES, NODES))
    dense[EDGES[1], EDGES[0]] = 1
    return dense


def weight(module: torch.nn.Module, name: str) -> Array:
    """A parameter as f64."""
    found: Array = dict(module.named_parameters())[name].detach().double().numpy()
    return found


def features(columns: int = 3, rows: int = NODES) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(3))


def close(found: torch.Tensor, wanted: Array) -> None:
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("is_normalised", [False, True])
def test_sage_is_the_dense_mean_of_neighbours(is_normalised: bool) -> None:
    layer, x = sage(3, WIDTH, is_normalised=is_normalised), features()
    dense = adjacency()
    mean = dense @ x.double().numpy() / np.maximum(dense.sum(1, keepdims=True), 1)
    wanted = x.double().numpy() @ weight(layer, "lin_r.weight").T + weight(layer, "lin_l.bias")
    wanted = wanted + mean @ weight(layer, "lin_l.weight").T
    if is_normalised:
        wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    close(layer(x, EDGES), wanted)


def test_gcn_is_the_dense_scaled_product() -> None:
    layer, x = GCNConv(3, WIDTH), features()
    dense = adjacency() + np.eye(NODES)
    root = 1 / np.sqrt(dense.sum(1))
    wanted = root[:, None] * dense * root[None] @ x.double().numpy()
    close(layer(x, EDGES), wanted @ weight(layer, "lin.weight").T)


def test_gat_weighs_neighbours_by_a_softmax() -> None:
    layer, x = GATConv(3, WIDTH), features()
    h = x.double().numpy() @ weight(layer, "lin.weight").T
    target, source = (weight(layer, f"att_{end}")[0].T for end in ("dst", "src"))
    score = h @ target + (h @ source).T
    score = np.where(score > 0, score, 0.2 * score)
    share = np.exp(score) * (adjacency() + np.eye(NODES))
    close(layer(x, EDGES), share / share.sum(1, keepdims=True) @ h)


def test_gin_sums_neighbours() -> None:
    layer, x = gin(3, WIDTH), features()
    with torch.no_grad():
        layer.eps.fill_(0.5)
    total = torch.from_numpy(1.5 * x.double().numpy() + adjacency() @ x.double().numpy()).float()
    close(layer(x, EDGES), layer.nn(total).detach().double().numpy())


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_read_outs_are_those_of_each_graph_alone(how: str) -> None:
    x = features()
    alone = [getattr(np, how)(x.numpy()[GRAPH_OF_NODE.numpy() == g], axis=0) for g in range(GRAPHS)]
    close(pooled(x, GRAPH_OF_NODE, GRAPHS, how), np.stack(alone))


@pytest.mark.parametrize("how", ["sum", "mean", "amax"])
def test_gradients_of_read_outs_are_right_where_nodes_are_equal(how: str) -> None:
    x = torch.relu(features().round())
    first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
    outward = features(3, GRAPHS)
    (pooled(first, GRAPH_OF_NODE, GRAPHS, how.removeprefix("a")) * outward).sum().backward()
    alone = torch.stack([getattr(part, how)(0) for part in second.split([4, 3])])
    (alone * outward).sum().backward()
    torch.testing.assert_close(first.grad, second.grad)


def softmax_mean(x: Array) -> Array:
    share = np.exp(x) / np.exp(x).sum(0)
    found: Array = (share * x).sum(0)
    return found


def test_softmax_read_out_survives_large_numbers() -> None:
    x = features()
    parts = [x.double().numpy()[:4], x.double().numpy()[4:]]
    close(softmax_pooled(x, GRAPH_OF_NODE, GRAPHS), np.stack([softmax_mean(p) for p in parts]))
    assert torch.isfinite(softmax_pooled(x * 1e4, GRAPH_OF_NODE, GRAPHS)).all()


def batch() -> Batch:
    return Batch(
        features(3),
        EDGES,
        features(2, EDGES.shape[1]),
        features(4, GRAPHS),
        GRAPH_OF_NODE,
        torch.tensor([0, 1]),
        torch.zeros(2, 1),
        torch.zeros(2),
        torch.arange(2),
        GRAPHS,
    )


def dense_layer(block: SeerBlock, name: str, *parts: Array) -> Array:
    out: Array = np.concatenate(parts, axis=-1) @ weight(block, f"{name}.weight").T
    out = out + weight(block, f"{name}.bias")
    return out if name.endswith("_in") or "syn" in name else np.maximum(out, 0)


def test_seer_block_is_equations_1_to_8() -> None:
    block, given = SeerBlock(3, 2, 4, WIDTH), batch()
    assert given.edge_attr is not None
    assert given.u is not None
    v = dense_layer(block, "node_in", given.x.double().numpy())
    e = dense_layer(block, "edge_in", given.edge_attr.double().numpy())
    u = dense_layer(block, "whole_in", given.u.double().numpy())
    found = block(given)
    for graph in range(GRAPHS):
        mine = np.flatnonzero(GRAPH_OF_NODE.numpy() == graph)
        z = softmax_mean(v[mine])
        updated = []
        for i in mine:
            into = [j for j in range(EDGES.shape[1]) if EDGES[1, j] == i]
            received = [
                dense_layer(block, "phi_e.0", e[j], v[int(EDGES[0, j])], v[i]) for j in into
            ]
            mean = np.mean(received, axis=0) if received else np.zeros(WIDTH)
            updated.append(dense_layer(block, "phi_v.0", mean, v[i] + z, u[graph]))
        nodes = np.stack(updated)
        global_node = dense_layer(
            block, "phi_z.2", dense_layer(block, "phi_z.0", softmax_mean(nodes) + z)
        )
        whole = dense_layer(block, "syn_mm.linear", nodes.max(0), nodes.mean(0))
        close(found[graph], dense_layer(block, "phi_u.0", whole, global_node, u[graph]))


def test_global_nodes_hear_from_every_node_of_their_graph() -> None:
    edges = with_global_nodes(EDGES, GRAPH_OF_NODE)[:, EDGES.shape[1] :]
    assert edges[0].tolist() == list(range(NODES))
    assert edges[1].tolist() == [NODES + g for g in GRAPH_OF_NODE.tolist()]


def test_nodes_in_a_row_are_padded_and_cut_off() -> None:
    x = torch.arange(NODES).float()[:, None]
    assert in_a_row(x, GRAPH_OF_NODE, GRAPHS, 3).tolist() == [[0, 1, 2], [4, 5, 6]]
    assert in_a_row(x, GRAPH_OF_NODE, GRAPHS, 5).tolist() == [[0, 1, 2, 3, 0], [4, 5, 6, 0, 0]]


def test_negative_pairs_are_no_edges_and_stay_in_their_graph() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = {tuple(pair) for pair in EDGES.T.tolist()}
    seen = set()
    for _ in range(200):
        pairs = negatives(EDGES, [4, 3], generator)
        assert (GRAPH_OF_NODE[pairs[0]] == GRAPH_OF_NODE[pairs[1]]).all()
        seen |= {tuple(pair) for pair in pairs.T.tolist()}
    assert not seen & edges
    assert all(a != b for a, b in seen)
    assert (0, 3) in seen
    assert (5, 4) in seen


def test_reconstruction_loss_is_that_of_the_dense_matrix() -> None:
    z = features(WIDTH)
    dense = 1 / (1 + np.exp(-z.double().numpy() @ z.double().numpy().T))
    negative = torch.tensor([[0, 5], [3, 4]])
    wanted = -np.log(dense[EDGES[0], EDGES[1]] + 1e-15).mean()
    wanted -= np.log(1 - dense[negative[0], negative[1]] + 1e-15).mean()
    close(reconstruction_loss(z, EDGES, negative), wanted)


def test_reconstruction_loss_keeps_its_gradient_where_pairs_are_alike() -> None:
    z = torch.full((2, 4), 2.5, requires_grad=True)
    pair = torch.tensor([[0], [1]])
    reconstruction_loss(z, pair, pair).backward()
    assert z.grad is not None
    assert float(z.grad.abs().min()) > 0.1


def test_encoder_doubles_then_keeps_its_width() -> None:
    encoder = GraphEncoder(3, WIDTH).eval()
    assert [layer.out_channels for layer in encoder.layers] == [10, 5, 5, 5]
    assert encoder(features(), EDGES).shape == (NODES, WIDTH)


def test_gradients_that_agree_are_only_added() -> None:
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 2.0])
    assert surgery([a, b], random.Random(0)).tolist() == [2.0, 2.0]


def test_gradients_that_conflict_lose_what_conflicts() -> None:
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0])
    assert surgery([a, b], random.Random(0)).tolist() == pytest.approx([0.5, 1.5])


def test_two_tasks_never_descend_against_either() -> None:
    generator = torch.Generator().manual_seed(1)
    for seed in range(50):
        a, b = torch.randn(2, 6, generator=generator)
        total = surgery([a, b], random.Random(seed))
        assert float(total @ a) >= -1e-5
        assert float(total @ b) >= -1e-5


def test_task_gradients_are_zero_in_the_heads_of_others() -> None:
    shared, *heads = (torch.nn.Parameter(torch.tensor([float(i + 1)])) for i in range(3))
    parameters = [shared, *heads]
    first, second = task_gradients([shared * h for h in heads], parameters)
    assert first.tolist() == [2.0, 1.0, 0.0]
    assert second.tolist() == [3.0, 0.0, 1.0]
    assign(first + second, parameters)
    assert [float(p.grad) for p in parameters if p.grad is not None] == [5.0, 1.0, 1.0]


def test_heads_keep_32_bits_where_layers_before_them_are_short() -> None:
    layers, last = torch.nn.Linear(WIDTH, WIDTH), head(WIDTH, WIDTH)
    x = features(WIDTH)
    with torch.autocast("cpu", torch.bfloat16):
        short = layers(x)
        found = last(short)
    assert short.dtype is torch.bfloat16
    assert found.dtype is torch.float32
    torch.testing.assert_close(found, last(short.float()))
