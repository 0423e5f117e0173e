"""Differences of models whose runs a predictor of whole runs answers for."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

import perfc

from .models import between, total

MODEL = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
SETTING = {"runtime": "ort", "batch": 32}


def net(**edit: Any) -> onnx.ModelProto:
    """The model, its first convolution at every pixel or with another activation behind it."""
    model = onnx.load_model_from_string(gzip.decompress(MODEL.read_bytes()))
    if "strides" in edit:
        stem = next(n for n in model.graph.node if n.op_type == "Conv")
        next(a for a in stem.attribute if a.name == "strides").ints[:] = edit["strides"]
    if "activation" in edit:
        next(n for n in model.graph.node if n.op_type == "Relu").op_type = edit["activation"]
    del model.graph.value_info[:]
    return model


@cache
def difference(*options: str, is_back: bool = False) -> Any:
    """What `perfc diff` says of a wider stem, or of one model."""
    pair = [net(), net() if "--to" in options else net(strides=[1, 1])]
    asked = ("-t", "a100", "--runtime", "ort", "--batch", "32", *options)
    return between(*(pair[::-1] if is_back else pair), *asked)


def kernels_s(found: Any, side: str) -> float:
    return sum(k[f"time_s_{side}"] for k in found["kernels"])


def test_the_time_of_either_side_is_what_analyze_prints() -> None:
    found = difference()
    for side, model in (("old", net()), ("new", net(strides=[1, 1]))):
        run = perfc.analyze(model, "a100", **SETTING).prediction
        assert run.total.predictor == "runs"
        assert total(found, "time")[side] == run.total.time_s
        assert total(found, "energy")[side] == run.energy.energy_j
    row = total(found, "time")
    fixed_s = found["fixed_s_new"] - found["fixed_s_old"] + found["factor_s"]
    moved_s = kernels_s(found, "new") - kernels_s(found, "old")
    assert moved_s + fixed_s == pytest.approx(row["delta"])
    assert row["delta_low"] <= min(row["delta"], moved_s) <= row["delta_high"]
    same = [k for k in found["kernels"] if k["status"] == "same"]
    assert [k["time_s_new"] for k in same] == pytest.approx([k["time_s_old"] for k in same])


def test_a_run_factor_changes_no_kernel_that_is_the_same() -> None:
    """Another activation is a change of one kernel; measured runs see all of it."""
    options = ("-t", "a100", "--runtime", "ort", "--batch", "32")
    found = between(net(), net(activation="Tanh"), *options)
    assert 0 < sum(k["status"] != "same" for k in found["kernels"]) <= 2
    assert found["factor_s"] != 0


def test_there_and_back_is_the_opposite_difference() -> None:
    there, back = difference(), difference(is_back=True)
    assert back["factor_s"] == pytest.approx(-there["factor_s"])
    for row in there["totals"]:
        other = total(back, row["metric"])
        assert other["delta"] == pytest.approx(-row["delta"], rel=1e-9)
        if row["delta_low"] is not None:
            ends = (-other["delta_high"], -other["delta_low"])
            assert (row["delta_low"], row["delta_high"]) == pytest.approx(ends, rel=1e-9)


def test_machines_are_compared_by_what_is_printed_of_each() -> None:
    found = difference("--to", "target=t4")
    for side, target in (("old", "a100"), ("new", "t4")):
        run = perfc.analyze(net(), target, **SETTING).prediction
        assert total(found, "time")[side] == run.total.time_s
        assert kernels_s(found, side) == pytest.approx(run.kernels_s)
