"""Whole runs: both passes of the step's graph, layers by difference, launches by runtime."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfc.analyzers.features.lowering import lower
from perfc.analyzers.intervals.summing import ErrorSide
from perfc.ir.syntax.parse import parse_module
from perfc.passes.runtimes import Tf32
from perfc_lab.training.runs.end_to_end import Plan, Spent, TrainingStep, inference, training
from perfc_lab.training.runs.second_kernels import accumulated, second

ROOT = Path(__file__).resolve().parents[3]
GPT2 = ROOT / "examples" / "models" / "gpt2.onnx.gz"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(GPT2, "v100-pcie-32gb", {}, "eager-literal", tf32=Tf32.NONE)


@pytest.fixture(scope="module")
def step() -> Plan:
    return Plan.of(GPT2, "v100-pcie-32gb", {}, "eager-literal", tf32=Tf32.NONE, trains=True)


def test_a_step_multiplies_twice_as_much_behind_as_before(plan: Plan, step: Plan) -> None:
    def products(of: Plan, *, backward: bool) -> float:
        rows = [lower(b, of.bounds.env) for b in of.bounds.kernels if b.is_gradient is backward]
        known = [r.parameters for r in rows if r is not None and r.class_name == "matmul"]
        return math.fsum(math.prod(p[n] for n in ("batch", "m", "n", "k")) for p in known)

    forward = products(step, backward=False)
    assert forward == products(plan, backward=False)
    assert products(step, backward=True) == pytest.approx(2 * forward)
    assert products(plan, backward=True) == 0


def test_training_takes_about_three_times_what_inference_does(plan: Plan, step: Plan) -> None:
    forward, whole = inference(plan).whole, training(step).whole
    assert 2.2 < whole.time_s / forward.time_s < 4.0
    assert whole.low_s <= whole.time_s <= whole.high_s
    assert training(step).floor_s > inference(plan).floor_s


def test_gradients_are_added_to_those_that_are_there(step: Plan) -> None:
    rows = list(accumulated(step.gradients, step.bounds.env))
    assert len(rows) == len(step.gradients) > 100
    for row in rows:
        p = row.parameters
        assert (p["read_bytes"], p["write_bytes"]) == (8 * p["elements"], 4 * p["elements"])


@pytest.mark.parametrize(
    ("line", "traffic"),
    [
        ("softmax_grad(%x, %z) {axis=-1} : f32[100, 8]", [(2, 1)]),
        ("log_softmax_grad(%x, %z) {axis=-1} : f32[100, 8]", []),
        ("layer_norm_grad(%x, %z, %s, %m, %m) : f32[100, 8]", [(2, 0)]),
        ("mul(%x, %z) : f32[100, 8]", []),
    ],
)
def test_some_operators_are_two_kernels(line: str, traffic: list[tuple[int, int]]) -> None:
    text = f"""perfir 1
module @m
graph @main(%x: f32[100, 8], %z: f32[100, 8], %s: f32[8], %m: f32[100, 1]) {{
  %y = {line}
  return %y
}}
"""
    rows = list(second(parse_module(text).graph.nodes[0], {}))
    tensor = 4 * 800
    moved = [(r.parameters["read_bytes"], r.parameters["write_bytes"]) for r in rows]
    assert moved == [(tensor * read, tensor * written) for read, written in traffic]


def test_a_faster_machine_takes_less() -> None:
    # a batch that hosts do not limit: that of the P4 is as fast as that of the V100
    slow, fast = (
        Plan.of(GPT2, target, {"batch": 16}, "eager-literal", tf32=Tf32.NONE)
        for target in ("p4", "v100-pcie-32gb")
    )
    assert inference(slow).whole.time_s > 1.5 * inference(fast).whole.time_s


def test_layers_are_the_difference_of_two_cuts() -> None:
    layer, head = ErrorSide("pooling", True, 0.5), ErrorSide("pooling", True, 0.25)

    def run(time_s: float, layers: int) -> TrainingStep:
        sides = {layer: float(layers), head: 1.0}
        return TrainingStep(Spent(time_s, (sides,), (sides,)), Spent(0.0))

    whole = run(5.0, 2).layers(run(3.0, 1), 12).whole
    assert whole.time_s == 25.0
    assert whole.low_s == 25.0 - (12 * 0.5 + 0.25), "one class that nobody looked at: one error"
    assert whole.high_s == 25.0 + (12 * 0.5 + 0.25)


def test_errors_of_passes_add_up() -> None:
    sides = {ErrorSide("matmul_f32", True, 0.1): 2.0, ErrorSide("matmul_f32", True, 0.3): 1.0}
    one = Spent(2.0, (sides,), (sides,))
    both = one + one
    assert both.high_s - both.time_s == pytest.approx(2 * (one.high_s - one.time_s))
    assert one.high_s - one.time_s < 0.5, "different kernels are not one error"
