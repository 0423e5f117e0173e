"""Features of trees for language models: those of Table 6.3, of models and of machines."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("xgboost")

from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc_lab.trees.hardware import HARDWARE, hardware_of
from perfc_lab.trees.model_features import (
    METHODS,
    MODEL,
    QUANTISATIONS,
    model_features,
    onnx_counts,
)
from perfc_lab.trees.rows import version_number


def test_table_6_3_has_14_features_of_a_model_from_its_configuration() -> None:
    found = dict(zip(MODEL, model_features(read_config("bert-base"), 8, 128, ""), strict=True))
    assert len(MODEL) == 14
    stated = {"BS": 8, "SL": 128, "MPE": 512, "NHL": 12, "NAH": 12, "HS": 768, "VS": 30522}
    assert {name: found[name] for name in stated} == stated
    assert found["TVS"] == 2
    assert found["TP"] == parameters(read_config("bert-base")).resident
    twice = dict(zip(MODEL, model_features(read_config("bert-base"), 16, 128, ""), strict=True))
    assert twice["TM"] == pytest.approx(2 * found["TM"])
    assert found["TM_mem"] < twice["TM_mem"] < 2 * found["TM_mem"], "weights are stored once"
    assert twice["TN"] == found["TN"] > 0
    assert found["TE"] > found["TN"]


def test_edges_of_a_file_are_what_its_nodes_read_and_write(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
  c = Constant <value_float: float = 3.0> ()
  a = Mul (x, w)
  y = Clip (a, , c)
}"""
    (path := tmp_path / "g.onnxtxt").write_text(text, encoding="utf-8")
    # a constant writes one; a product reads two and writes one; an absent bound is no edge
    assert onnx_counts(path) == (3, 1 + 3 + 3)


def test_formats_of_weights_and_what_nobody_says_are_features_of_a_model() -> None:
    def said(name: str, batch: float = 8, weights: str = "") -> dict[str, float]:
        values = model_features(read_config(name), batch, 32, weights)
        return dict(zip(MODEL, values, strict=True))

    column = MODEL[2]
    for method in METHODS:
        assert said("opt-125m", weights=method)[column] == QUANTISATIONS.index(method)
    published = said("opt-125m")[column]
    assert published == QUANTISATIONS.index("half")
    assert said("opt-125m", weights="f8")[column] != published
    alone, unknown = said("opt-125m", 1), said("opt-125m", math.nan)
    assert math.isnan(unknown["BS"])
    assert unknown["TM"] == alone["TM"], "counts are those of one prompt"
    assert said("mamba-130m")["NAH"] == 0


def test_table_6_3_has_20_features_of_a_machine_and_no_zero_for_what_nobody_states() -> None:
    found = dict(zip(HARDWARE, hardware_of("v100"), strict=True))
    assert len(HARDWARE) == 20
    stated = {
        "CM": 7,
        "Cm": 0,
        "MTPB": 1024,
        "MTPM": 2048,
        "RPB": 65536,
        "RPM": 65536,
        "WS": 32,
        "SMPB": 49152,
        "SMMP": 98304,
        "SMS": 80,
        "SMPBO": 98304,
        "NC": 40,
        "RAM": 512,
    }
    assert {name: found[name] for name in stated} == stated
    assert dict(zip(HARDWARE, hardware_of("b200"), strict=True))["CM"] == 10
    other = dict(zip(HARDWARE, hardware_of("mi300x"), strict=True))
    assert math.isnan(other["CM"])
    assert math.isnan(other["RPB"])
    assert math.isnan(other["NC"])


@pytest.mark.parametrize(
    ("text", "number"), [("0.19.0", 19.0), ("1.2.0rc6.post1", 1002.0), ("v1.0", 1000.0)]
)
def test_versions_are_numbers_that_grow(text: str, number: float) -> None:
    assert version_number(text) == number
    assert math.isnan(version_number("nightly"))
