"""Networks after their papers: what they read, that they learn, that weights come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from perfc.analyzers.graph.predictor import TrainingBudget, predictor
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.weights import load, save
from perfc.errors import PerfcError
from perfc.machine.mig import mig_profile
from perfc_lab.papers import nnlqp, onnx_profile, perf_graph, pmgns, relay, trappm
from perfc_lab.papers.gnn_nf import GnnNf
from perfc_lab.papers.networks.batches import UnitScale
from perfc_lab.papers.networks.network_predictor import NetworkPredictor
from perfc_lab.papers.networks.several import SeveralQuantities
from perfc_lab.papers.pmgns import Pmgns
from perfc_lab.papers.seernet import SeerNet
from perfc_lab.papers.static_features import STATIC, static_features
from perfc_lab.training.graphs.cards import card_of
from perfc_lab.training.graphs.protocols import Fold, GraphProtocol, folds

from .graph_rows import measurements

NETWORKS = (
    "seernet",
    "seernet:plain",
    "seernet:no-edge-features",
    "seernet:no-graph-features",
    "seernet-multi",
    "pmgns",
    "pmgns:gcn",
    "pmgns:gat",
    "pmgns:gin",
    "pmgns:mlp",
    "trappm",
    "trappm:random",
    "trappm:without-embedding",
    "trappm:supervised",
    "pmgns:single",
    "nnlqp",
    "gnn-nf",
    "brp-nas",
    "brp-nas:one-hot",
    "mlp-node",
    "llm-sage",
    "static-mlp",
    "seernet:one-hot",
    "seernet:frequency",
    "seernet:table-1-1",
    "seernet:table-1-6",
    "seernet:table-1-8",
)
TABLES = (
    (pmgns.NODES, pmgns.node_table, 32),
    (trappm.NODES, trappm.node_table, 113),
    (nnlqp.NODES, nnlqp.node_table, 44),
    (perf_graph.NODES, perf_graph.node_table, 19),
)
QUICK = TrainingBudget(0, 0.6, None, 1 / 16)


def fold() -> Fold:
    return next(folds(measurements(), GraphProtocol.RANDOM, (0,)))


def silent(line: str) -> None:
    del line


def trained(name: str, budget: TrainingBudget = QUICK) -> NetworkPredictor:
    made = predictor(name)
    assert isinstance(made, NetworkPredictor)
    made.fit(fold().train, fold().validation, budget, silent)
    return made


@pytest.mark.parametrize("is_faithful", [False, True])
def test_the_paper_s_width_is_trained_by_either_recipe(is_faithful: bool) -> None:
    made = trained("pmgns", TrainingBudget(0, 1.0, is_faithful=is_faithful))
    assert made.width == Pmgns.hidden
    assert made.trained is not None
    rates = [line[4] for line in made.trained.history]
    if is_faithful:
        assert rates == [2.754e-5] * len(rates)
    else:
        assert rates[0] == pytest.approx(1e-3, rel=0.5)


def test_a_faithful_seernet_halves_its_rate_after_five_epochs_and_never_stops_early() -> None:
    recipe = SeerNet.recipe
    assert (recipe.rows, recipe.halve_after, recipe.least_rate) == (128, 5, 1e-6)
    assert (recipe.patience, recipe.clip, recipe.is_annealed) == (0, 0.0, False)


def test_pmgns_has_the_parameters_that_perfseer_counted() -> None:
    made = Pmgns()
    made.tasks = ("energy_j", "memory_bytes", "time_s")
    count = sum(p.numel() for p in made.network().parameters())
    assert count == pytest.approx(3.45e6, rel=0.01)


@pytest.mark.parametrize(("schema", "table", "length"), TABLES)
def test_node_vectors_have_the_length_of_their_papers(schema, table, length) -> None:  # type: ignore[no-untyped-def]
    graph = next(iter(measurements().graphs.values()))
    found = table(graph, 8)
    assert len(schema) == length
    assert found.shape == (len(graph.ops), length)
    assert np.isfinite(found).all()


def test_one_hot_parts_name_one_operator_a_node() -> None:
    graph = next(iter(measurements().graphs.values()))
    assert (trappm.node_table(graph, 1)[:, : len(trappm.VOCABULARY)].sum(1) == 1).all()
    assert (pmgns.node_table(graph, 1)[:, : len(pmgns.VOCABULARY)].sum(1) <= 1).all()


def test_static_features_have_the_length_of_their_papers() -> None:
    graph = next(iter(measurements().graphs.values()))
    assert len(pmgns.static_features(graph, 8)) == len(pmgns.STATIC) == 5
    assert len(static_features(graph, 8)) == len(STATIC) == 6
    assert len(perf_graph.graph_vector(graph, 8)) == len(perf_graph.GRAPH) == 18
    assert len(GnnNf.encoding.nodes) == len(nnlqp.NODES) + 3


def test_shares_of_a_perf_graph_sum_to_one() -> None:
    graph = next(iter(measurements().graphs.values()))
    parts = 2 ** perf_graph.node_table(graph, 8)[:, -3:] - 1
    np.testing.assert_allclose(parts.sum(0), perf_graph.PARTS)


def test_seernet_has_about_the_parameters_of_the_paper() -> None:
    made = SeerNet()
    count = sum(p.numel() for p in made.network().parameters())
    assert 0.9 * 1.02e6 < count < 1.1 * 1.02e6


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_come_back(name: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    made = trained(name)
    path = save(made, card_of(made, fold().train, "random", {}), tmp_path)
    again, _ = load(path)
    np.testing.assert_allclose(again.predict(fold().test), made.predict(fold().test), rtol=1e-5)


FAITHFUL = replace(QUICK, is_faithful=True)


@pytest.mark.parametrize(
    ("name", "read", "unit_s"), [("pmgns", relay, 1e-6), ("trappm:supervised", onnx_profile, 1e-3)]
)
def test_a_faithful_network_reads_and_learns_plain_numbers(
    name: str, read: ModuleType, unit_s: float, tmp_path: Path
) -> None:
    made = trained(name, FAITHFUL)
    assert isinstance(made, SeveralQuantities)
    assert made.encoding is read.ENCODING
    assert made.scale == UnitScale(unit_s)
    row = next(iter(fold().train.rows))
    graph = fold().train.graph(row)
    plain = made.raw(graph, row.batch)
    np.testing.assert_array_equal(made.tensors(graph, row.batch).x, plain.x)
    np.testing.assert_array_equal(plain.edge_index, read.ENCODING.edge_index(graph))
    assert (made.predict(fold().test) >= 0).all()
    one, *_ = made.batches(fold().train, {}, made.chosen_recipe(FAITHFUL).rows).epoch()
    assert one.graphs == 1
    again, _ = load(save(made, card_of(made, fold().train, "random", {}), tmp_path))
    np.testing.assert_allclose(again.predict(fold().test), made.predict(fold().test), rtol=1e-5)


@pytest.mark.parametrize("name", ["pmgns", "trappm:without-embedding"])
def test_a_faithful_network_comes_nearer_to_measured_numbers(name: str) -> None:
    made = trained(name, replace(FAITHFUL, limit_s=3.0, epochs=12))
    assert made.trained is not None
    losses = [line[2] for line in made.trained.history]
    assert losses[-1] < losses[0]


def test_model_files_of_a_pool_are_not_seen() -> None:
    row = fold().train.rows[0]
    graph = fold().train.graph(row)
    pool = trappm.GraphPool({"a": graph}, {"file.b": graph, "vit.1": graph}, trappm.Trappm().raw)
    assert [name for _, name in pool.sources] == ["a", "vit.1"]


def test_dropout_follows_a_faithful_block() -> None:
    dropped = []
    for is_faithful in (False, True):
        made = Pmgns()
        made.tasks = ("time_s",)
        made.choose(is_faithful)
        network = made.network()
        assert isinstance(network, pmgns.PmgnsNetwork)
        dropped.append(network.summed.dropped)
    assert dropped == [1, 2]


@pytest.mark.parametrize("name", ["seernet", "pmgns", "trappm", "brp-nas", "mlp-node"])
def test_a_row_is_predicted_alike_alone_and_in_company(name: str) -> None:
    made, test = trained(name), fold().test
    alone = [float(made.predict(test.of([row]))[0]) for row in test.rows]
    np.testing.assert_allclose(made.predict(test), alone, rtol=1e-4)


@pytest.mark.parametrize("name", ["seernet", "nnlqp"])
def test_made_up_times_are_learned(name: str) -> None:
    data = fold()
    made = trained(name, TrainingBudget(0, 120.0, None, 1 / 8))
    measured = data.test.values(Quantity.TIME)
    guess = np.exp(np.log(data.train.values(Quantity.TIME)).mean())
    error = np.abs(made.predict(data.test) / measured - 1).mean()
    assert error < 0.75 * np.abs(guess / measured - 1).mean()


def test_weights_of_other_features_are_refused() -> None:
    made = trained("nnlqp")
    meta = {**made.meta(), "schemas": ["", "", "", ""]}
    with pytest.raises(PerfcError, match="other features"):
        predictor("nnlqp").restore(made.arrays(), meta)


def test_an_interrupted_training_keeps_its_encoder(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    budget = replace(QUICK, folder=tmp_path)
    first, second = (trained("trappm", budget).arrays() for _ in range(2))
    names = [n for n in first if n.startswith("encoder.")]
    assert names
    assert all((first[n] == second[n]).all() for n in names)


def test_a_slice_follows_from_predicted_memory() -> None:
    data = fold()
    train, validation = (
        part.of([replace(r, memory_bytes=1e9 * (1 + 5 * (r.batch > 1))) for r in part.rows])
        for part in (data.train, data.validation)
    )
    made = Pmgns("mlp", Quantity.MEMORY)
    made.fit(train, validation, TrainingBudget(0, 120.0, None, 1 / 8), silent)
    found = [mig_profile(b) for b in made.every(data.test)[Quantity.MEMORY].tolist()]
    wanted = ["1g.5gb" if r.batch == 1 else "2g.10gb" for r in data.test.rows]
    assert [p.name if p else "" for p in found] == wanted


def test_fine_tuning_takes_a_machine_that_is_twice_as_slow() -> None:
    made, data = trained("trappm:random", TrainingBudget(0, 120.0, None, 1 / 8)), fold()
    slow = data.train.of([replace(r, time_s=2 * r.time_s) for r in data.train.rows[:32]])
    before = np.abs(made.predict(slow) / slow.values(Quantity.TIME) - 1).mean()
    made.adapt(slow)
    after = np.abs(made.predict(slow) / slow.values(Quantity.TIME) - 1).mean()
    assert after < 0.7 * before


def test_a_task_that_a_row_does_not_have_spoils_no_gradient() -> None:
    data = fold().train
    half = data.of([r if i % 2 else replace(r, energy_j=1 + i) for i, r in enumerate(data.rows)])
    made = predictor("seernet-multi")
    assert isinstance(made, NetworkPredictor)
    made.fit(half, fold().validation, QUICK, silent)
    assert made.trained is not None
    assert np.isfinite([line[2] for line in made.trained.history]).all()


def test_no_rows_are_no_batches() -> None:
    made = trained("nnlqp")
    assert len(made.predict(fold().train.of(()))) == 0
    assert list(made.batches(fold().train.of(()), {}).epoch()) == []


def test_a_training_tells_how_much_of_it_is_over() -> None:
    shares: list[float] = []
    trained("nnlqp", replace(QUICK, progress=lambda share, what: shares.append(share)))
    assert shares
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


def test_the_lines_of_table_1_add_features_until_all_are_read() -> None:
    lines = [perf_graph.first_groups(count) for count in range(1, 13)]
    widths = [(len(e.nodes), len(e.edges), len(e.whole)) for e in lines]
    assert widths == [
        (12, 0, 0),
        (13, 0, 0),
        (15, 0, 0),
        (16, 0, 0),
        (19, 0, 0),
        (19, 1, 0),
        (19, 5, 0),
        (19, 5, 3),
        (19, 5, 7),
        (19, 5, 16),
        (19, 5, 17),
        (19, 5, 18),
    ]
    graph = next(iter(measurements().graphs.values()))
    last = lines[-1]
    assert last.edge_table is not None
    assert last.graph_vector is not None
    np.testing.assert_array_equal(last.node_table(graph, 8), perf_graph.node_table(graph, 8))
    np.testing.assert_array_equal(last.edge_table(graph, 8), perf_graph.edge_table(graph, 8))
    assert list(last.graph_vector(graph, 8)) == list(perf_graph.graph_vector(graph, 8))


def test_all_quantities_come_from_one_call() -> None:
    data = fold()
    rows = [replace(r, memory_bytes=1e9, power_w=100.0 + r.batch) for r in data.train.rows]
    for name, learned in (("trappm", ("power_w",)), ("pmgns", ())):
        made = predictor(name)
        assert isinstance(made, SeveralQuantities)
        made.fit(data.train.of(rows), data.validation, QUICK, silent)
        every = made.every(data.test)
        assert {q.value for q in every} == {"time_s", "memory_bytes", *learned}
        assert all(np.isfinite(values).all() for values in every.values())
        np.testing.assert_allclose(every[Quantity.TIME], made.predict(data.test), rtol=1e-6)
