"""The network of a graph and a language model: weights, tokens, and what an answer depends on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from perfc_lab.papers.gnn_llm.counts import LAYOUT, SUMS, graph_vector

from .gnn_llm_checkpoint import checkpoint
from .graph_rows import measurements

torch = pytest.importorskip("torch")


def tiny_network(tmp_path: Path, readout: Any) -> Any:
    from perfc_lab.papers.gnn_llm.features import NODES
    from perfc_lab.papers.gnn_llm.language_model import load_language_model
    from perfc_lab.papers.gnn_llm.network import GraphLanguageNetwork

    model = load_language_model(checkpoint(tmp_path, "llama"))
    return GraphLanguageNetwork(len(NODES), 16, readout, model)


def test_an_answer_does_not_depend_on_what_is_asked_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.projection import Readout

    network = tiny_network(tmp_path, Readout.NUMBERS).eval()
    torch.manual_seed(1)
    sums = torch.zeros(2, len(SUMS))
    data = measurements()
    for i, graph in enumerate(list(data.graphs.values())[:2]):
        sums[i] = torch.tensor(graph_vector(graph, 4.0 ** (i + 1)))
    # the second has fewer numbers than the first
    sums[1, LAYOUT.digits + 20 * 49 : LAYOUT.kinds] = 0.0
    tokens, is_there = network.projection(torch.randn(2, 16), sums)
    assert is_there[0].sum() > is_there[1].sum()
    questions = [network.model.ids("The graph"), network.model.ids("contains 12 nodes, nodes")]
    both = network.answers(tokens, is_there, questions, 6)
    each = [
        network.answers(tokens[i : i + 1], is_there[i : i + 1], questions[i : i + 1], 6)[0]
        for i in range(2)
    ]
    assert both == each


def test_rows_that_share_their_graph_learn_as_rows_that_do_not(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.projection import Readout

    network = tiny_network(tmp_path, Readout.NUMBERS).eval()
    network.with_lora(4, has_every_layer=True)
    torch.manual_seed(1)
    sums = torch.zeros(2, len(SUMS))
    for i, graph in enumerate(list(measurements().graphs.values())[:2]):
        sums[i] = torch.tensor(graph_vector(graph, 4.0 ** (i + 1)))
    sums[1, LAYOUT.digits + 20 * 49 : LAYOUT.kinds] = 0.0
    of_row = torch.tensor([0, 0, 1, 0])
    ids = network.model.ids
    questions = [ids(f"The graph contains {text}") for text in ("12", "nodes", "1", "120 nodes")]
    answers = [ids(text) for text in ("0012 ms", "1", "13.5 ms", "7")]
    readouts, gradients, losses = torch.randn(2, 16), [], []
    for is_shared in (False, True):
        network.zero_grad()
        tokens, is_there = network.projection(readouts, sums)
        given = (tokens, is_there) if is_shared else (tokens[of_row], is_there[of_row])
        loss = network.answer_loss(*given, questions, answers, of_row if is_shared else None)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(float(loss.detach()))
        learned = [p.grad for p in network.parameters() if p.grad is not None]
        gradients.append(torch.cat([g.flatten() for g in learned]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert float(gradients[0].norm()) > 0
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-6)


def test_slopes_are_those_of_prelu() -> None:
    from perfc_lab.papers.gnn_llm.graph_mae import leaky

    torch.manual_seed(0)
    x, layer = torch.randn(64, 3), torch.nn.PReLU()
    torch.testing.assert_close(leaky(x, layer.weight), layer(x))


def test_a_rate_rises_and_falls_within_an_epoch() -> None:
    """Trainings of less than an epoch are annealed too."""
    from perfc.analyzers.graph.predictor import TrainingBudget
    from perfc_lab.papers.networks.train import TrainRecipe, clock_s, paced

    layer = torch.nn.Linear(1, 1)
    optimizer = torch.optim.Adam([{"params": list(layer.parameters()), "share": 0.5}])
    recipe = TrainRecipe(learning_rate=1.0, is_annealed=True, rising_steps=4)
    rates = []
    nothing: list[Any] = [None] * 6
    for _ in paced(nothing, optimizer, recipe, TrainingBudget(0, 1e9), clock_s()):
        rates.append(optimizer.param_groups[0]["lr"])
        layer(torch.ones(1, 1)).sum().backward()
        optimizer.step()
    assert rates == pytest.approx([0.505 * min(i, 4) / 4 for i in range(1, 7)], rel=1e-3)
    over = paced(nothing, optimizer, recipe, TrainingBudget(0, 1.0), clock_s() - 2.0)
    assert len(list(over)) == 1


def test_stage_2_leaves_the_encoder_and_lora_the_language_model(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.projection import Readout

    network = tiny_network(tmp_path, Readout.SUMS)
    base = sum(p.numel() for p in network.language.parameters())
    network.with_lora(8, has_every_layer=False)
    network.freeze_encoder()
    network.train()
    assert not network.encoder.training
    groups = network.groups(1e-3, 1e-4)
    assert [rate for _, rate in groups] == [1e-3, 1e-4]
    learned = sum(p.numel() for p in groups[1][0])
    # queries and values of two layers: 8 × (32 + 32) and 8 × (32 + 16) each
    assert learned == 2 * 8 * ((32 + 32) + (32 + 16)) < base
    state = network.state_dict()
    assert not any(n.startswith("language.") and "lora_" not in n for n in state)
    other = tiny_network(tmp_path / "other", Readout.SUMS)
    other.with_lora(8, has_every_layer=False)
    other.load_state_dict(state)
    with pytest.raises(Exception, match="weights of another network"):
        tiny_network(tmp_path / "third", Readout.SUMS).load_state_dict(state)


def test_a_part_of_the_rows_is_an_epoch() -> None:
    from perfc.analyzers.graph.rows import Quantity
    from perfc_lab.papers.gnn_llm.rows import DrawnRows
    from perfc_lab.papers.networks.batches import GraphTensors, LogScale

    encoded: list[str] = []

    def encode(graph: Any, batch: float) -> GraphTensors:
        encoded.append(graph.name)
        return GraphTensors(torch.zeros(1, 1), torch.zeros(2, 0, dtype=torch.long))

    def question(data: Any, row: Any) -> list[float]:
        return [1.0] * (1 if row.batch == 1 else 3)

    rows = DrawnRows(
        measurements(),
        Quantity.TIME,
        encode,
        question,
        LogScale(0.0, 1.0),
        rows=8,
        filler=-1.0,
    )
    rows.rows_per_epoch = 16
    assert not encoded
    first = [i for batch in rows.epoch(random.Random(0)) for i in batch.index.tolist()]
    assert 16 <= len(first) < 32
    other = [i for batch in rows.epoch(random.Random(1)) for i in batch.index.tolist()]
    assert set(first) != set(other)
    assert sorted(i for b in rows.epoch() for i in b.index.tolist()) == list(range(len(rows)))
    assert set(rows.row.unique().tolist()) == {-1.0, 1.0}


def test_tokens_stand_in_the_order_in_which_a_summary_names_their_numbers(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.counts import KINDS, OF_KIND, OF_TOTALS
    from perfc_lab.papers.gnn_llm.projection import GraphProjection, Readout

    network = GraphProjection(16, 8, Readout.NUMBERS)
    graph = next(iter(measurements().graphs.values()))
    sums = torch.tensor(graph_vector(graph, 8.0))[None]
    tokens, is_there = network(torch.zeros(1, 16), sums)
    assert tokens.shape == (1, 1 + OF_TOTALS + KINDS * (1 + OF_KIND), 8)
    kinds = len(set(graph.ops.ops))
    assert is_there.sum() == 1 + OF_TOTALS + min(kinds, KINDS) * (1 + OF_KIND)
    # a digit of the third kind's second number changes that token alone
    third = LAYOUT.digits + 49 * (OF_TOTALS + 2 * OF_KIND + 1)
    sums[0, third : third + 10] = torch.eye(10)[9] - sums[0, third : third + 10]
    differs = (network(torch.zeros(1, 16), sums)[0] != tokens).any(2)
    assert differs.nonzero()[:, 1].tolist() == [1 + OF_TOTALS + 2 * (1 + OF_KIND) + 2]


def test_drawn_summaries_name_every_kind_of_layer() -> None:
    from perfc_lab.papers.gnn_llm.descriptions import exact_fields
    from perfc_lab.papers.gnn_llm.lessons import drawn_summary

    told = [drawn_summary(random.Random(seed), 8) for seed in range(20)]
    assert all(all(exact_fields(t.fields(), t.text()).values()) for t in told)
    assert len({layer.kind for t in told for layer in t.layers}) > 30


def test_names_of_operators_are_a_token_each(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from perfc_lab.papers.gnn_llm.language_model import CausalLanguageModel, make_tokenizer
    from perfc_lab.papers.gnn_llm.lessons import NAMES
    from perfc_lab.papers.gnn_llm.presets import DecoderShape

    text = "Layer: max_pool, Implemented: 12 times, FLOPs: 4.1 million and more of rtx-max-q"
    tokenizer = make_tokenizer([text], DecoderShape(400, 32, 64, 2, 2, 1024), NAMES)
    model = CausalLanguageModel(torch.nn.Linear(1, 1), tokenizer, tmp_path)
    assert len(tokenizer) <= 400
    assert model.text(model.ids(text)) == text
    assert len({len(model.ids(name)) for name in NAMES}) == 1


def test_a_chart_of_few_rows_has_the_mean_of_the_seeds() -> None:
    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.tables import TABLES
    from perfc_lab.papers.reproduction.charts import curve_chart
    from perfc_lab.papers.reproduction.page import Done

    table = next(t for t in TABLES if t.key == "gnn-llm-hardware-mape")
    results = [{"slices": {"32 rows": {"mape": mape}}} for mape in (0.1, 0.3)]
    done = [Done(table.lines[0], tuple(results)), Done(table.lines[1], ())]
    chart: Any = curve_chart(table, done)
    (point,) = chart["data"]["values"]
    assert (point["rows"], point["percent"]) == (32, pytest.approx(20.0))
    assert curve_chart(table, [Done(table.lines[0], ())]) is None


def test_a_settled_projection_says_how_graphs_differ() -> None:
    from perfc_lab.papers.gnn_llm.projection import GraphProjection, Readout

    torch.manual_seed(0)
    network = GraphProjection(16, 8, Readout.MEAN)
    g, sums = 10.0 + 0.1 * torch.randn(32, 16), torch.zeros(32, len(SUMS))

    def differing() -> float:
        tokens = network(g, sums)[0][:, 0].detach()
        return float(tokens.std(0).mean() / tokens.abs().mean())

    before = differing()
    network.settle(g, sums)
    assert before < 0.2 < differing()
    # one that is far from usual stays in bounds
    assert torch.isfinite(network(g + 1e9, sums)[0]).all()
    assert set(network.state_dict()) >= {"graph_centre", "sums_spread"}


@pytest.mark.parametrize(("rank", "million"), [(8, 24), (16, 26), (32, 33), (64, 47), (128, 74)])
def test_as_many_weights_learn_with_llama_as_table_7_3_says(rank: int, million: int) -> None:
    pytest.importorskip("torch_geometric")
    from torch import nn

    from perfc_lab.papers.gnn_llm.features import HIDDEN, NODES
    from perfc_lab.papers.gnn_llm.graph_mae import GinEncoder
    from perfc_lab.papers.gnn_llm.projection import GraphProjection, Readout

    def weights(network: nn.Module) -> int:
        return sum(p.numel() for p in network.parameters())

    # queries of 4,096 and values of 1,024 in 32 layers of Llama-3-8B
    width, narrow, layers = 4096, 1024, 32
    lora = layers * rank * (width + width + width + narrow)
    graph = weights(GinEncoder(len(NODES), HIDDEN))
    learned = graph + weights(GraphProjection(HIDDEN, width, Readout.MEAN)) + lora
    assert learned == pytest.approx(1e6 * million, abs=1e6)


def test_a_copy_that_adapts_shares_what_never_changes(tmp_path: Path) -> None:
    import copy

    pytest.importorskip("peft")
    from perfc_lab.papers.gnn_llm.predictor import GnnLlm
    from perfc_lab.papers.gnn_llm.projection import Readout

    model = GnnLlm()
    model.made = tiny_network(tmp_path, Readout.SUMS)
    model.made.with_lora(8, has_every_layer=True)
    model.made.freeze_encoder()
    other = copy.deepcopy(model)
    assert other.made is not None
    assert other._cache is model._cache
    pairs = zip(model.made.parameters(), other.made.parameters(), strict=True)
    assert {p.requires_grad is (p is not q) for p, q in pairs} == {True}
