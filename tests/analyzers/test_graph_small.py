"""Graphs of one operator and of none have an answer too."""

from __future__ import annotations

import pytest

import perfc
from perfc.deployment import DeploymentKeywords

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'

EAGER: DeploymentKeywords = {"runtime": "eager", "dtype": "amp-f16"}


def test_one_operator_has_no_tensor_that_another_reads() -> None:
    model = f"{HEAD}g (float[batch, 64] x, float[64, 64] w) => (float[batch, 64] y) "
    found = perfc.predict(
        (model + "{ y = MatMul (x, w) }").encode(), target="rtx4090", dims={"batch": 64}
    )
    assert 0 < found.floor_s <= found.low <= found.value <= found.high


def test_nothing_to_run_takes_no_time() -> None:
    model = f"{HEAD}g (float[batch, 4] x) => (float[batch, 4] y) {{ y = Identity (x) }}"
    run = perfc.predict(model.encode(), target="rtx4090", dims={"batch": 8})
    assert (run.value, run.doubts) == (0, ("confidence high: no kernel is launched",))


@pytest.mark.parametrize(("operator", "is_known"), [("Gelu", True), ("Cos", True), ("Det", False)])
def test_an_activation_by_another_name_is_not_strange(operator: str, is_known: bool) -> None:
    model = (
        '<ir_version: 10, opset_import: ["" : 20]>\n'
        "g (float[batch, 64, 256, 256] x, float[256, 256] w) => (float y) "
        f"{{ a = MatMul (x, w) b = {operator} (a) y = Relu (b) }}"
    )
    found = perfc.predict(
        model.encode(), "rtx4090", batch=64, predictor="physics-residual", **EAGER
    )
    assert any(operator.lower() in reason for reason in found.outside) != is_known


def test_an_operator_nobody_knows_is_named() -> None:
    model = (
        '<ir_version: 10, opset_import: ["" : 18, "acme" : 1]>\n'
        "g (float[batch, 64] x, float[64, 64] w) => (float y) "
        "{ a = MatMul (x, w) y = acme.Mystery (a) }"
    )
    run = perfc.predict(model.encode(), target="rtx4090", dims={"batch": 64})
    assert "unknown cost of Mystery x1" in run.doubts[0]
    run = perfc.predict(model.encode(), "rtx4090", batch=64, predictor="physics-residual", **EAGER)
    assert any("opaque" in reason for reason in run.outside)
