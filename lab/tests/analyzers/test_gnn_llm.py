"""Graphs with language models: every stage on checkpoints that are made here, and its parts."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfc import cli
from perfc.analyzers.graph.dataset import GRAPHS, ROWS, card_digest
from perfc.analyzers.graph.store import rows_text, save_graph, write_file
from perfc_lab.papers.gnn_llm.counts import LAYOUT, SUMS, graph_vector
from perfc_lab.papers.gnn_llm.descriptions import TOTALS
from perfc_lab.tables.architectures import family
from perfc_lab.training.graphs.protocols import KIN, NEW, GraphProtocol, folds

from .gnn_llm_checkpoint import checkpoint
from .graph_rows import measurements

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")


POOL, DATASET = "graphs", "nb201"


def test_the_line_that_mends_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    pytest.importorskip("transformers")
    assert cli.run(["train", "gnn-llm", "--graphs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "need peft" in said
    assert "pip install 'peft" in said
    assert "Traceback" not in said


def test_sums_are_the_numbers_of_a_summary() -> None:
    graph = next(iter(measurements().graphs.values()))
    found = np.array(graph_vector(graph, 8.0))
    assert len(found) == len(SUMS)
    assert found[TOTALS.index("nodes")] == pytest.approx(np.log2(1 + len(graph.ops)))
    digits = found[LAYOUT.digits : LAYOUT.kinds].reshape(LAYOUT.numbers, -1)
    batch = digits[TOTALS.index("batch")]
    assert np.flatnonzero(batch).tolist() == [8, 10, 20, 30]
    # a sum that no layer has is no digit at all, which is not the digit 0
    assert set(digits.sum(1)) <= {0.0, 4.0}


def test_a_new_family_is_unlike_what_is_trained_on() -> None:
    data = measurements()
    names = ["vit_small", "vit_base", "vit_large", "vit_huge", "deit_small", "swin_tiny"]
    names += [f"resnet{i}" for i in range(18)]
    of = dict(zip(data.architectures, names, strict=True))
    data = data.of([replace(row, architecture=of[row.architecture]) for row in data.rows])
    (fold,) = folds(data, GraphProtocol.NEW_FAMILY, (0,), samples=3)
    known = {family(r.architecture) for r in (*fold.train.rows, *fold.validation.rows)}
    assert known == {"resnet"}
    assert {family(r.architecture) for r in fold.test.rows} == {NEW}
    assert len(fold.few) == 3
    assert not set(fold.few.architectures) & set(fold.test.architectures)
    assert "deit" in KIN


def test_what_is_restored_is_what_was_hidden() -> None:
    from perfc_lab.papers.gnn_llm.graph_mae import GraphMae, scaled_cosine_error

    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    assert scaled_cosine_error(3 * x, x).item() == pytest.approx(0.0, abs=1e-6)
    assert scaled_cosine_error(-x, x).item() == pytest.approx(4.0)
    assert scaled_cosine_error(x.flip(0), x).item() == pytest.approx(1.0)
    torch.manual_seed(0)
    network = GraphMae(2, 8)
    edges = torch.tensor([[0], [1]])
    first, second = (
        network.eval().loss(x, edges, torch.Generator().manual_seed(s)).item() for s in (0, 0)
    )
    assert first == second
    network.loss(x, edges, torch.Generator().manual_seed(0)).backward()
    assert network.mask.grad is not None
    assert network.decoder.second.weight.grad is not None


def test_an_interrupted_stage_ends_as_one_that_was_not(tmp_path: Path) -> None:
    from perfc_lab.papers.gnn_llm.loop import StageRecipe, learn

    def part(network: Any, epochs: int, folder: Path) -> None:
        x = torch.arange(12.0).reshape(4, 3) / 12
        learn(
            network,
            [(network.parameters(), 0.1)],
            lambda order: order.sample([0, 1, 2, 3], 4),
            lambda i: (network(x[i]) - i).square().sum(),
            StageRecipe(epochs, 1e9),
            seed=0,
            folder=folder,
            say=lambda _: None,
        )

    def trained(folder: Path, epochs: tuple[int, ...]) -> dict[str, Any]:
        torch.manual_seed(0)
        for count in epochs:
            # as a new process has it, but for the first
            network = torch.nn.Linear(3, 1)
            part(network, count, folder)
        return dict(network.state_dict())

    whole, parts = trained(tmp_path / "a", (6,)), trained(tmp_path / "b", (2, 6))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.parametrize("is_annealed", [True, False])
def test_stages_of_the_thesis_do_not_clip_gradients(
    monkeypatch: pytest.MonkeyPatch, is_annealed: bool
) -> None:
    torch = pytest.importorskip("torch")
    from perfc_lab.papers.gnn_llm.loop import StageRecipe, learn

    clipped: list[float] = []
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda _, most: clipped.append(most))
    network = torch.nn.Linear(3, 1)
    learn(
        network,
        [(network.parameters(), 0.1)],
        lambda _: [torch.ones(3)] * 2,
        lambda x: network(x).square().sum(),
        StageRecipe(1, 1e9, is_annealed),
        seed=0,
        folder=None,
        say=lambda _: None,
    )
    assert len(clipped) == (2 if is_annealed else 0)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool that nobody measured, and measured rows."""
    import hashlib
    import json

    from perfc.analyzers.graph.dataset import CARD
    from perfc.analyzers.graph.store import ENCODING

    folder, data = tmp_path_factory.mktemp("graphs"), measurements()
    for name, graph in data.graphs.items():
        save_graph(graph, folder / POOL / "processed" / GRAPHS / f"cell.{name}.npz")
        save_graph(graph, folder / DATASET / "processed" / GRAPHS / f"{name}.npz")
    text = rows_text(data.rows)
    card = {"encoding": ENCODING.digest, "rows_sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert card_digest(card)
    write_file(folder / DATASET / "processed" / ROWS, text.encode())
    write_file(folder / DATASET / "processed" / CARD, json.dumps(card).encode())
    return folder


@pytest.mark.parametrize("kind", ["llama", "mistral", ""])
def test_every_stage_runs_by_the_command(
    tmp_path: Path,
    graphs: Path,
    kind: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("peft")
    from perfc.analyzers.graph.weights import load
    from perfc_lab.papers.gnn_llm.checkpoints import Stages
    from perfc_lab.papers.gnn_llm.predictor import GnnLlm
    from perfc_lab.papers.gnn_llm.tuning import LatencyNetwork

    given = ["--language-model", str(checkpoint(tmp_path / "model", kind))] if kind else []
    place = tmp_path / "stages"
    call = ["train", "gnn-llm", "--graphs", str(graphs), "--preset", "smoke", "-o", str(place)]
    call += ["--dataset", DATASET, "--limit-s", "2", *given]
    readout = ["--readout", "mean"] if kind == "mistral" else []
    assert cli.run([*call, *readout]) == 0, capsys.readouterr().err
    assert (place / "encoder.safetensors").is_file()
    stages = Stages.open(place)
    assert stages.moves_every_weight is not bool(kind)
    (card,) = place.glob("gnn_llm*.json")
    model, _ = load(card)
    assert isinstance(model, GnnLlm)
    network = model.made
    assert isinstance(network, LatencyNetwork)
    learning = {n for n, p in network.named_parameters() if p.requires_grad and "language" in n}
    assert learning
    assert all("lora_" in name for name in learning)
    if kind:
        # by default those of queries and values alone, in the preset all
        assert any("down_proj" in name for name in learning)
    rows = measurements().of(measurements().rows[:3])
    predicted = model.predict(rows)
    assert np.isfinite(predicted).all()
    assert (predicted > 0).all()
    assert model.failure_rate is not None
    if not kind:
        page_of(tmp_path, graphs, place, monkeypatch, capsys)
    if kind == "llama":
        capsys.readouterr()
        other = [*call[:-2], "--language-model", str(tmp_path)]
        assert cli.run([*other, "--stage", "2"]) == 2
        assert "another preset, seed or language model" in capsys.readouterr().err


def page_of(
    tmp_path: Path,
    graphs: Path,
    stages: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The tables begin from the stages, say what was trained, and train nothing twice."""
    from perfc_lab.papers.reproduction import command, runs

    rows = replace(measurements(), digest="rows")
    monkeypatch.setattr(command, "chosen_rows", lambda job: rows)
    monkeypatch.setattr(runs, "chosen_rows", lambda job: rows)
    call = ["eval", "gnn-llm", "--graphs", str(graphs), "--stages", str(stages), "--seed", "0"]
    known = tmp_path / "known.jsonl"
    call += ["--known", str(known), "--no-plots"]
    call += ["--limit-s", "1", "--table", "pretraining", "-o", str(tmp_path / "page")]
    for there in (0, 4):
        capsys.readouterr()
        assert cli.run(call) == 0
        assert f"4 trainings, {there} there already" in capsys.readouterr().err
    text = (tmp_path / "page" / "gnn_llm_tables.md").read_text(encoding="utf-8")
    assert "4 of 4 trainings are there" in text
    (line,) = (x for x in text.splitlines() if x.startswith(r"| LLM\_PRE + GNN\_PRE |"))
    assert "12.5%" in line
    # answers that are all alike have no order
    assert [i for i, cell in enumerate(line.split("|")) if cell == " – "] in ([], [6])
    assert "Pre-training both parts gains 3 points of Acc(10), all platforms: **" in text
    assert "32 rows of new hardware: not trained yet" in text
    assert "| numbers | drawn graphs |" in text
    # what is known is laid there again, and not trained
    for path in (tmp_path / "page" / "results").glob("*.json"):
        path.unlink()
    assert cli.run(call) == 0
    assert "4 trainings, 4 there already" in capsys.readouterr().err
    assert (tmp_path / "page" / "gnn_llm_tables.md").read_text(encoding="utf-8") == text
    known.write_text('{"place": "results", "file": "../a.json", "content": {}}\n')
    assert cli.run(call) == 2
    assert "known.jsonl:1" in capsys.readouterr().err
    assert cli.run([*call[:-4], "--table", "none"]) == 2
    assert "there are representations" in capsys.readouterr().err


@pytest.mark.long
def test_one_step_of_each_stage_at_full_width(tmp_path: Path, graphs: Path) -> None:
    """Table 7.7's encoder, a language model of Llama-3-8B's width with one of its 32 layers."""
    pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    from perfc_lab.papers.gnn_llm.checkpoints import Stages
    from perfc_lab.papers.gnn_llm.corpus import corpus
    from perfc_lab.papers.gnn_llm.language_model import make_tokenizer
    from perfc_lab.papers.gnn_llm.presets import DecoderShape

    model, data = tmp_path / "model", measurements()
    texts = corpus(data.graphs, list(data.graphs), 0)
    make_tokenizer(texts, DecoderShape(600)).save_pretrained(model)
    config = transformers.LlamaConfig(
        vocab_size=600,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=1,
        num_attention_heads=32,
        num_key_value_heads=8,
        eos_token_id=1,
        pad_token_id=0,
        bos_token_id=None,
        rope_theta=500000.0,
        max_position_embeddings=8192,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(model)
    few = tmp_path / "graphs"
    pool = few / POOL / "processed" / GRAPHS
    for name in list(data.graphs)[:11]:
        save_graph(data.graphs[name], pool / f"cell.{name}.npz")
    stages = tmp_path / "stages"
    call = ["train", "gnn-llm", "--preset", "paper", "--limit-s", "0.1", "-o", str(stages)]
    call += ["--language-model", str(model)]
    assert cli.run([*call, "--graphs", str(few), "--stage", "1", "--stage", "2"]) == 0
    assert Stages.open(stages).width == 1024
    rows = ["--stage", "3", "--graphs", str(graphs), "--dataset", DATASET]
    assert cli.run([*call, *rows]) == 0
