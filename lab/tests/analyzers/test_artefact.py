"""Weights and cards: what is written is read back, and nothing else is believed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.artefact import Artefact, WeightsError
from perfc.analyzers.estimators.predictor import predict_with
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine
from perfc_lab.data import weights as weights_

ROWS = {"m": np.array([1.0, 4096.0]), "n": np.array([4096.0, 512.0]), "k": np.array([4096.0, 64.0])}


def predicted(found: Artefact) -> np.ndarray:
    sheet = Sheet(load_machine("h100"))
    return predict_with(found, ROWS, "bf16", sheet, Protocol.GRAPH, "one").time_s


def test_what_is_saved_predicts_the_same(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    loaded = artefact.load(path, cells=True)
    assert artefact.load(path).cells is None
    assert loaded.card.features == trained.card.features
    assert np.allclose(predicted(loaded), predicted(trained), rtol=1e-6)
    assert loaded.cells is not None
    assert loaded.cells.count.sum() == trained.card.rows


def test_no_file_but_card_and_arrays_is_left(trained: Artefact, tmp_path: Path) -> None:
    weights_.save(trained, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["matmul.json", "matmul.npz"]


def test_weights_of_another_schema_are_kept(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    before = path.read_bytes(), path.with_suffix(".npz").read_bytes()
    other = replace(trained, card=replace(trained.card, schema="0" * 16))
    with pytest.raises(WeightsError, match="schema") as caught:
        weights_.save(other, tmp_path)
    assert "\n" not in str(caught.value)
    assert (path.read_bytes(), path.with_suffix(".npz").read_bytes()) == before
    weights_.save(other, tmp_path, overwrite=True)
    assert path.read_bytes() != before[0]


def test_a_card_of_another_schema_is_not_read(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    path.write_text(path.read_text().replace(trained.card.schema, "0" * 16))
    with pytest.raises(WeightsError, match=r"schema 0+, this version reads .*perfc train op"):
        artefact.load(path)


def test_arrays_that_were_changed_are_not_read(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    arrays = path.with_suffix(".npz")
    content = bytearray(arrays.read_bytes())
    content[len(content) // 2] ^= 1
    arrays.write_bytes(content)
    with pytest.raises(WeightsError, match="not the arrays"):
        artefact.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"factor_feature": np.array([object()], dtype=object)},
        {"factor_feature": np.array([0, -1, -1], np.int8)},
        {},
    ],
    ids=["pickle", "no other arrays", "nothing"],
)
def test_arrays_are_checked_even_if_the_digest_agrees(
    trained: Artefact, tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    path = weights_.save(trained, tmp_path)
    npz = path.with_suffix(".npz")
    old = hashlib.sha256(npz.read_bytes()).hexdigest()
    np.savez(npz, **arrays)  # type: ignore[arg-type]
    new = hashlib.sha256(npz.read_bytes()).hexdigest()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(WeightsError, match="damaged"):
        artefact.load(path)


@pytest.mark.parametrize(
    "text", ["", '{"name": 1}', "not json", "[" * 100_000, '{"name": "x", "protocols": 3}']
)
def test_a_card_that_is_none_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "matmul.json"
    path.write_text(text)
    with pytest.raises(WeightsError, match="no model card") as caught:
        artefact.load(path)
    assert "\n" not in str(caught.value)
