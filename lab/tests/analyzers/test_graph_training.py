"""The training loop of networks; needs PyTorch and safetensors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.errors import PerfcError
from perfc_lab.papers.networks.batches import Batch, GraphTensors, LogScale, RowBatches, Standard
from perfc_lab.papers.networks.tensors import read_tensors, write_tensors
from perfc_lab.papers.networks.train import TrainRecipe, fit_network, huber, predicted, seeded
from perfc_lab.training.graphs.protocols import GraphProtocol, folds

from .graph_rows import TARGETS, measurements


def graph_features(graph: ModelGraph, batch: float) -> GraphTensors:
    at = graph.ops.at(batch)
    x = torch.stack([torch.from_numpy(at[n]).float() for n in ("mac", "read_bytes")], dim=1)
    return GraphTensors(torch.log1p(x), torch.from_numpy(graph.ops.edges))


def row_features(data: Measurements, row: GraphRow) -> list[float]:
    return [float(row.batch > 1), *(float(row.target == t) for t in TARGETS)]


def batches(data: Measurements, nodes: int = 1000) -> RowBatches:
    scale = LogScale.of([r.time_s for r in measurements().rows])
    return RowBatches(data, Quantity.TIME, graph_features, row_features, scale, nodes=nodes)


class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.node = torch.nn.Linear(2, 8)
        self.head = torch.nn.Linear(12, 1)

    def forward(self, batch: Batch) -> torch.Tensor:
        x = torch.relu(self.node(batch.x))
        pooled = torch.zeros(batch.graphs, 8).index_add(0, batch.graph_of_node, x) / 200
        joined = torch.cat([pooled[batch.graph_of_row], batch.row], dim=1)
        return self.head(joined).squeeze(1)


def test_an_epoch_has_every_row_once() -> None:
    found = batches(measurements())
    index = [i for b in found.epoch(random.Random(0)) for i in b.index.tolist()]
    assert sorted(index) == list(range(len(measurements())))
    assert set(found.members) == {(r.graph, r.batch) for r in measurements().rows}


def test_mini_batches_have_as_many_rows_as_are_asked_for() -> None:
    data, scale = measurements(), LogScale.of([r.time_s for r in measurements().rows])
    found = RowBatches(data, Quantity.TIME, graph_features, row_features, scale, rows=12)
    sizes = [len(b.index) for b in found.epoch(random.Random(0))]
    assert sum(sizes) == len(data)
    assert max(sizes) == 12


def test_each_row_s_graph_is_encoded_at_its_own_batch() -> None:
    found = batches(measurements())
    for batch in found.epoch():
        for row, graph in zip(batch.index.tolist(), batch.graph_of_row.tolist(), strict=True):
            one = found.data.rows[row]
            wanted = graph_features(found.data.graph(one), float(one.batch)).x
            assert (batch.x[batch.graph_of_node == graph] == wanted).all()


def test_a_batch_keeps_graphs_apart() -> None:
    data = measurements()
    for batch in batches(data).epoch():
        ends = batch.graph_of_node[batch.edge_index]
        assert (ends[0] == ends[1]).all()
        assert len(batch.row) == len(batch.y) == len(batch.index)
        sizes = torch.bincount(batch.graph_of_node)
        for i, g in zip(batch.index.tolist(), batch.graph_of_row.tolist(), strict=True):
            assert sizes[g] == len(data.graph(data.rows[i]).ops)


def test_a_scale_goes_back_to_seconds() -> None:
    scale = LogScale.of([0.001, 0.1])
    assert scale.value(scale.scaled(0.02)) == pytest.approx(0.02)


def test_constant_columns_become_nought() -> None:
    table = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    assert Standard.of([table])(table).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_training_lowers_the_error_and_is_the_same_every_time() -> None:
    fold = next(folds(measurements(), GraphProtocol.RANDOM, (0,)))
    train, validation = batches(fold.train), batches(fold.validation)
    found = []
    for _ in range(2):
        seeded(0)
        network = Network()
        done = fit_network(
            network,
            train,
            validation,
            TrainRecipe(12, 0.02),
            TrainingBudget(0, 60.0),
            lambda _: None,
        )
        assert done.best < done.history[0][3]
        found.append(predicted(network, validation))
    assert (found[0] == found[1]).all()


def test_an_interrupted_training_ends_where_the_other_does(tmp_path: Path) -> None:
    fold = next(folds(measurements(), GraphProtocol.RANDOM, (0,)))
    train, validation = batches(fold.train), batches(fold.validation)

    calls = [0]

    def go(folder: Path, last_call: int) -> list[float]:
        seeded(0)
        network, calls[0] = Network(), 0

        def loss(network: torch.nn.Module, batch: Batch) -> torch.Tensor:
            calls[0] += 1
            if calls[0] > last_call:
                raise KeyboardInterrupt
            return huber(network, batch)

        recipe = TrainRecipe(6, 0.01, halve_after=100, patience=100, checkpoint_every_s=0.0)
        budget = TrainingBudget(0, 600.0, folder)
        done = fit_network(network, train, validation, recipe, budget, lambda _: None, loss=loss)
        return [round(line[3], 5) for line in done.history]

    whole = go(tmp_path / "whole", 10_000)
    steps = calls[0]
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "parts", steps // 2)
    assert go(tmp_path / "parts", 10_000) == whole
    assert steps // 2 <= calls[0] < steps
    assert len((tmp_path / "parts" / "log.csv").read_text().splitlines()) == 7


def test_a_checkpoint_of_another_training_is_not_gone_on_from(tmp_path: Path) -> None:
    fold = next(folds(measurements(), GraphProtocol.RANDOM, (0,)))
    train, validation = batches(fold.train), batches(fold.validation)
    for epochs, seed in ((2, 0), (2, 1)):
        seeded(seed)
        budget = TrainingBudget(seed, 60.0, tmp_path)
        recipe = TrainRecipe(epochs, 0.01)
        done = fit_network(Network(), train, validation, recipe, budget, lambda _: None)
        assert len(done.history) == 2


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.arange(3.0)})
    assert read_tensors(path)["a"].tolist() == [0.0, 1.0, 2.0]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(PerfcError, match="no tensors"):
        read_tensors(path)
    with pytest.raises(PerfcError):
        read_tensors(tmp_path / "none")


def test_pyg_reads_the_data_set() -> None:
    pytest.importorskip("torch_geometric")
    from perfc_lab.papers.networks.pyg import MeasuredModels

    data = measurements(3)
    item = MeasuredModels(data)[1]
    assert item.x.shape == (len(data.graph(data.rows[1]).ops), 41)
    assert item.y.item() == pytest.approx(data.rows[1].time_s)
