"""Whole runs: backward kernels by rule, layers by difference, launches by runtime."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfc.analyzers.features.lowering import Lowered, lower
from perfc.analyzers.intervals.summing import Side
from perfc.analyzers.runs.backward import backward
from perfc.analyzers.runs.end_to_end import Plan, Run, Spent, inference, training

ROOT = Path(__file__).resolve().parents[2]
GPT2 = ROOT / "examples" / "models" / "gpt2.onnx.gz"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(GPT2, "v100-pcie-32gb", {}, "eager-literal", tf32=False)


def mac(row: Lowered) -> float:
    return math.prod(float(row.parameters[n]) for n in ("batch", "m", "n", "k"))


def test_a_product_has_two_of_the_same_size_behind_it(plan: Plan) -> None:
    env = plan.bounds.env
    products = 0
    for bound in plan.bounds.kernels:
        row = lower(bound, env)
        if row is None or row.class_name != "matmul":
            continue
        behind = [r for r in backward(bound, row, env) if r.class_name == "matmul"]
        assert [mac(r) for r in behind] == [mac(row)] * 2
        products += 1
    assert products > 20


def test_every_row_of_a_backward_pass_has_elements_to_work_on(plan: Plan) -> None:
    env = plan.bounds.env
    for bound in plan.bounds.kernels:
        for row in backward(bound, lower(bound, env), env):
            assert all(v >= 0 for v in row.parameters.values())
            assert row.parameters.get("elements", 1) > 0


def test_training_takes_about_three_times_what_inference_does(plan: Plan) -> None:
    forward, whole = inference(plan).whole, training(plan).whole
    assert 2.2 < whole.time_s / forward.time_s < 4.0
    assert whole.low_s <= whole.time_s <= whole.high_s


def test_a_faster_machine_takes_less(plan: Plan) -> None:
    slow = Plan.of(GPT2, "p4", {}, "eager-literal", tf32=False)
    assert inference(slow).whole.time_s > 1.5 * inference(plan).whole.time_s


def test_layers_are_the_difference_of_two_cuts() -> None:
    layer, head = Side("pooling", True, 0.5), Side("pooling", True, 0.25)

    def run(time_s: float, layers: int) -> Run:
        sides = {layer: float(layers), head: 1.0}
        return Run(Spent(time_s, (sides,), (sides,)), Spent(0.0))

    whole = run(5.0, 2).layers(run(3.0, 1), 12).whole
    assert whole.time_s == 25.0
    assert whole.low_s == 25.0 - (12 * 0.5 + 0.25), "one class that nobody looked at: one error"
    assert whole.high_s == 25.0 + (12 * 0.5 + 0.25)


def test_errors_of_passes_add_up() -> None:
    sides = {Side("matmul_f32", True, 0.1): 2.0, Side("matmul_f32", True, 0.3): 1.0}
    one = Spent(2.0, (sides,), (sides,))
    both = one + one
    assert both.high_s - both.time_s == pytest.approx(2 * (one.high_s - one.time_s))
    assert one.high_s - one.time_s < 0.5, "different kernels are not one error"
