"""Sentence encoders: what is said where there is none, and a tiny one made here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.graph import predictor as contract
from perfc.analyzers.graph.predictor import TrainingBudget, predictor
from perfc.errors import MissingExtraError, PerfcError
from perfc_lab.papers.gnn_llm import sentences
from perfc_lab.training.graphs import cards

from .graph_rows import measurements

pytest.importorskip("torch_geometric")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoder but those that a test makes."""
    monkeypatch.delenv(sentences.FOLDER, raising=False)
    monkeypatch.setattr(sentences, "PACKAGES", {})
    sentences.encoder.cache_clear()


def test_a_missing_encoder_is_one_line_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtraError, match="no sentence encoder all-mpnet-base-v2"):
        sentences.folder_of("all-mpnet-base-v2")
    assert "sentence_encoder" in contract.predictors()
    monkeypatch.setattr(cards, "predictors", lambda: ("roofline", "sentence_encoder"))
    said: list[str] = []
    assert cards.usable(said.append) == ("roofline",)
    (line,) = said
    assert "\n" not in line
    assert sentences.FOLDER in line


def tiny(folder: Path) -> Path:
    """A random BERT of two layers, as sentence-transformers writes its folders."""
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "graph", "nodes", *"0123456789.:,;/"]
    place = folder / "all-MiniLM-L6-v2"
    place.mkdir()
    (place / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(vocab=str(place / "vocab.txt")).save_pretrained(place)
    shape = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertModel(shape).save_pretrained(place, safe_serialization=True)
    return place


def test_a_folder_is_read_and_learned_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path)
    monkeypatch.setenv(sentences.FOLDER, os.fspath(tmp_path))
    read = sentences.encoder("all-MiniLM-L6-v2")
    vectors = read(["12 nodes", "graph", "12 nodes"])
    assert vectors.shape == (3, 16)
    assert np.allclose((vectors**2).sum(1), 1)
    assert np.array_equal(vectors[0], vectors[2])
    # padding of a batch changes nothing
    alone = sentences.SentenceEncoder(tmp_path / "all-MiniLM-L6-v2")(["graph"])
    assert np.allclose(alone[0], vectors[1], atol=1e-5)
    data = measurements()
    for name in ("sentence-encoder", "sentence-encoder:text"):
        model = predictor(name)
        model.fit(data, data, TrainingBudget(limit_s=2, scale=0.05, epochs=2), lambda _: None)
        assert (model.predict(data) > 0).all()


def test_other_poolings_and_damaged_folders_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "1_Pooling").mkdir()
    with pytest.raises(PerfcError, match="no sentence encoder"):
        sentences.SentenceEncoder(tmp_path)
    pooling = {"pooling_mode_mean_tokens": False}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    with pytest.raises(PerfcError, match="mean"):
        sentences.SentenceEncoder(tmp_path)
