"""A training step has one element type: graphs and configurations agree in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.distributed.plan import TrainingPlan
from perfc.distributed.service import plan
from perfc.distributed.step import DividedStepCost
from perfc.distributed.views import plan_document
from perfc.errors import ParseError
from perfc.frontend.config.precision import usual_type
from perfc.machine import load_machine
from perfc.view.report.formats.text import render

GRAPH = str(Path(__file__).parents[2] / "examples" / "models" / "gpt2.onnx.gz")


def planned(model: str, target: str, dtype: str, seq: int = 256) -> TrainingPlan:
    return plan(
        model, 1, target, batch=8, micro_batch=8, seq=seq, dtype=dtype, checkpointing="none"
    )


def step(view: TrainingPlan) -> DividedStepCost:
    cost = view.best or view.smallest
    assert cost is not None
    return cost


@pytest.mark.parametrize(
    ("target", "dtype", "most"),
    # in 16 bits the graph's attention reads its mask, where a configuration's is causal
    [("a100", "", 0.05), ("a100", "f32", 0.03), ("a100", "tf32", 0.05), ("h100", "", 0.08)],
)
def test_a_graph_and_a_configuration_of_one_network_agree(
    target: str, dtype: str, most: float
) -> None:
    graph, config = (step(planned(model, target, dtype)) for model in (GRAPH, "gpt2"))
    assert graph.training.recipe == config.training.recipe
    assert graph.time_s == pytest.approx(config.time_s, rel=most)
    assert graph.memory.parameters == pytest.approx(config.memory.parameters, rel=1e-3)
    # an exporter writes GELU as operators that keep their operands
    assert graph.memory.total == pytest.approx(config.memory.total, rel=0.18)


def test_a_type_counts_as_many_bytes_as_it_computes_in() -> None:
    half, exact = (step(planned("gpt2", "a100", name)) for name in ("bf16", "f32"))
    assert exact.time_s > 4 * half.time_s
    assert exact.memory.parameters == 2 * half.memory.parameters
    assert exact.memory.gradients == half.memory.gradients
    assert exact.memory.optimizer * 3 == half.memory.optimizer * 2
    assert exact.memory.activations > 1.5 * half.memory.activations


def test_a_fully_sharded_rank_has_its_share_as_the_master_copy() -> None:
    mixed, exact = (
        step(plan("gpt2", 8, "a100", parallel={"dp": 8, "zero": 3}, dtype=name))
        for name in ("bf16", "f32")
    )
    assert mixed.memory.parameters == 0
    assert exact.memory.parameters > 0
    held = [c.memory.parameters + c.memory.optimizer for c in (mixed, exact)]
    assert held[0] == pytest.approx(held[1])


def test_the_loss_saves_logits_in_the_type_of_products() -> None:
    """Gradients are written over them, as fused losses do."""
    cost = step(planned("gpt2", "a100", "bf16"))
    layers = step(
        plan("gpt2", 1, "a100", batch=8, micro_batch=8, seq=256, checkpointing="block")
    ).memory
    logits = 8 * 256 * 50257 * 2
    boundaries = 12 * 8 * 256 * 768 * 2
    assert logits < layers.activations - boundaries < 1.1 * logits
    assert cost.memory.working < logits


@pytest.mark.parametrize(("target", "dtype"), [("a100", "bf16"), ("v100", "f16"), ("m40", "f32")])
def test_the_usual_type_is_one_that_the_machine_multiplies(target: str, dtype: str) -> None:
    assert usual_type(load_machine(target).takes) == dtype


def test_the_screen_says_what_is_computed_in_and_what_one_gpu_leaves_out() -> None:
    shown = " ".join(render(plan_document(planned(GRAPH, "v100", "")), 300).split())
    assert "f16 products (--dtype), kernels of inductor-cudagraph" in shown
    assert "12 for the f32 master copy and adamw" in shown
    assert "perfc analyze --train" in shown
    assert "8 for adamw" in render(plan_document(planned("gpt2", "v100", "f32")), 300)


def test_autocast_is_for_graphs() -> None:
    assert step(planned(GRAPH, "a100", "amp")).training.recipe.master_bytes == 0
    with pytest.raises(ParseError, match="autocast is for graphs"):
        planned("gpt2", "a100", "amp-bf16")
