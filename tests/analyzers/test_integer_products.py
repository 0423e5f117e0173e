"""Products of integers under engines that store integers: as in 16 bits, half as deep."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.estimators.forest import HALVED
from perfc.analyzers.estimators.selection import is_narrow_product, of_half_depth
from perfc.analyzers.features.lowering import Lowered
from perfc.api import Report
from perfc.machine import load_machine

MODELS = Path(__file__).parents[2] / "examples" / "models"
SIZES = {"m": 128.0, "n": 768.0, "k": 768.0, "batch": 1.0}


def products(report: Report) -> list[Estimate]:
    return [k for k in report.prediction.kernels if k.class_name == "matmul"]


@pytest.mark.parametrize(("target", "depth"), [("a100", 384.0), ("t4", 384.0), ("v100", 768.0)])
def test_depth_follows_the_rates(target: str, depth: float) -> None:
    row = of_half_depth(Lowered("matmul", "i8", SIZES), load_machine(target))
    assert row == Lowered("matmul", "f16", {**SIZES, "k": depth})


def test_weights_that_are_widened_are_no_integer_products() -> None:
    assert is_narrow_product(Lowered("matmul", "i8", SIZES))
    assert is_narrow_product(Lowered("matmul", "f8e4m3", SIZES))
    assert not is_narrow_product(Lowered("matmul", "i8", {**SIZES, "weight_bits": 4.0}))
    assert not is_narrow_product(Lowered("matmul", "f16", SIZES))


def test_engines_take_no_longer_in_integers_than_in_halves() -> None:
    path = MODELS / "bert-base.onnx.gz"
    how = {"runtime": "tensorrt", "dims": {"batch": 8, "seq": 128}, "predictor": "kernels"}
    whole, half = (products(perfc.analyze(path, "a100", dtype=d, **how)) for d in ("i8", "f16"))
    pairs = list(zip(whole, half, strict=True))
    assert all(i.time_s <= f.time_s for i, f in pairs)
    assert all(i.high_s / i.low_s >= HALVED[1] / HALVED[0] for i, _ in pairs)
    assert all(i.low_s >= i.floor_s for i in whole)
    assert len({id(k) for k in whole}) == len({id(k) for k in half})


def test_others_are_told_by_products_that_quantise_their_operand() -> None:
    path = MODELS / "bert-base.onnx.gz"
    how = {"dtype": "i8", "dims": {"batch": 1, "seq": 128}, "predictor": "kernels"}
    short = products(perfc.analyze(path, "a100", runtime="ort", **how))
    assert min(k.time_s for k in short) > 10e-6
