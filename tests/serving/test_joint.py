"""Prompts and decodes that attend in one kernel."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.estimators.predictor import predict
from perfc.analyzers.features.rows import Protocol
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving.cost.grid import points
from perfc.serving.cost.joint import AXES, NEAR
from perfc.serving.cost.stage import StageCost, stage_cost
from perfc.serving.simulation.scheduler import Chunk


def stage(config: str, target: str, runtime: str = "vllm", cache: str = "") -> StageCost:
    """The one stage of a model."""
    model = read_config(config)
    precision = precision_of(model.dtype, model.quantization, "", cache)
    path = str(load_machine(target).path)
    return stage_cost(model, precision, Parallel(), runtime, 0, path, runtime)


def test_a_mixed_step_takes_what_the_joint_kernel_of_every_layer_takes() -> None:
    cost = stage("llama-3.1-8b", "rtx4090")
    shape = {
        "query_len": 512,
        "kv_len": 512,
        "decodes": 64,
        "cached_len": 2048,
        "heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "value_dim": 128,
        "cache_bits": 16,
    }
    rows = {name: np.array([float(value)]) for name, value in shape.items()}
    machine = load_machine("rtx4090")
    one = predict("mixed_attention", rows, "bf16", machine, Protocol.KERNELS, "vllm")
    found = cost.mixed_context("time_s", 1, 512, NEAR, 64, 2048)
    assert found == pytest.approx(32 * one.time_s[0])
    apart = cost.prompt_context.at("time_s", 1, 512, NEAR) + cost.decode_context.at(
        "time_s", 64, 2048
    )
    assert found > apart, "tiles of single tokens idle in a kernel for chunks"
    step = cost.parts("time_s", [Chunk(512, 0)], 64, 2048).kernels
    rest = cost.prompt_tokens.at("time_s", 576) + cost.heads.at("time_s", 65)
    assert step == pytest.approx(rest + found)


@pytest.mark.parametrize(
    ("config", "target", "runtime", "cache"),
    [
        ("llama-3.1-8b", "h100", "vllm", ""),
        ("llama-3.1-8b", "rtx4090", "sglang", ""),
        ("deepseek-v2-lite", "rtx4090", "vllm", ""),
        ("qwen3-next-80b-a3b", "rtx4090", "vllm", ""),
    ],
)
def test_kernels_stay_apart_where_no_joint_one_was_measured(
    config: str, target: str, runtime: str, cache: str
) -> None:
    cost = stage(config, target, runtime, cache)
    sizes = (1.0, 512.0, float(NEAR)), (64.0, 2048.0)
    apart = cost.prompt_context.at("time_s", *sizes[0]) + cost.decode_context.at(
        "time_s", *sizes[1]
    )
    assert cost.joint is None
    assert cost.mixed_context("time_s", *sizes[0], *sizes[1]) == apart


def test_a_joint_kernel_is_no_faster_than_its_floor_and_keeps_floor_and_energy() -> None:
    cost = stage("llama-3.1-8b", "rtx-pro-6000-server")
    for at in points(AXES)[::37]:
        floor_s = cost.mixed_context("floor_s", *at)
        low, time, high = (cost.mixed_context(f"{n}_s", *at) for n in ("low", "time", "high"))
        assert floor_s <= low <= time <= high
        energy = cost.prompt_context.at("energy_j", *at[:3]) + cost.decode_context.at(
            "energy_j", *at[3:]
        )
        assert cost.mixed_context("energy_j", *at) == energy
