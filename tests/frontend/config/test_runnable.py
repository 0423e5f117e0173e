"""In what a machine runs a model whose types it does not multiply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from perfc.analyzers.features.sheet import Sheet
from perfc.frontend.config import (
    ForwardStep,
    ServingPrecision,
    WeightFormat,
    in_half,
    lower,
    precision_of,
    read_config,
    runnable,
    weight_format,
)
from perfc.ir.op import Op
from perfc.ir.ops.quantized.quantized_matmul import GemmFloat8
from perfc.ir.ops.quantized.weight_only_matmul import MatMulNBits
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.serving import llm
from perfc.serving.cost.program import Program


@pytest.mark.parametrize(
    ("asked", "lacking", "runs"),
    [
        ("f8", "f8e4m3", "w8"),
        ("f8-block", "f8e4m3", "w8"),
        ("i8", "i8", "w8"),
        ("nvfp4", "f4e2m1", "mxfp4"),
        ("mxfp4-f8", "f8e4m3", "mxfp4"),
        ("f8", "f4e2m1", "f8"),
        ("nvfp4", "f8e4m3", "nvfp4"),
        ("i4", "f8e4m3", "i4"),
        ("half", "f8e4m3", "half"),
    ],
)
def test_weights_are_widened_where_nothing_multiplies_them(
    asked: str, lacking: str, runs: str
) -> None:
    stated = precision_of("bfloat16", None, asked)
    found = runnable(stated, lambda dtype: dtype != lacking)
    assert (found.weights.value, found.half) == (runs, DType.BF16)
    assert found.weights.bits == weight_format(asked).bits
    experts = runnable(
        replace(stated, weights=WeightFormat.HALF, experts=stated.weights),
        lambda dtype: dtype != lacking,
    )
    assert (experts.weights, experts.of_experts.value) == (WeightFormat.HALF, runs)


def test_f16_stands_for_bf16_in_caches_too() -> None:
    stated = precision_of("bfloat16", read_config("kimi-k2").quantization, "", "bf16")
    found = runnable(stated, lambda dtype: dtype != "bf16")
    assert (found.weights, found.half) == (WeightFormat.F8_BLOCK, DType.F16)
    assert found.cached is DType.F16
    narrow = replace(stated, cache=DType.F8E4M3FN)
    assert runnable(narrow, lambda _: False).cached is DType.F8E4M3FN
    # a trained model keeps its format, which a gradient needs
    trained = in_half(stated, lambda _: False)
    assert (trained.weights, trained.half) == (WeightFormat.F8_BLOCK, DType.F16)


def test_machines_say_what_they_multiply() -> None:
    known = {
        name: [t for t in ("f16", "bf16", "i8", "f8e4m3", "f4e2m1") if load_machine(name).takes(t)]
        for name in ("v100", "t4", "a100", "h100", "b200", "mi300x", "generic-x86-64")
    }
    assert known["v100"] == ["f16"]
    assert known["t4"] == ["f16", "i8"]
    assert known["a100"] == ["f16", "bf16", "i8"]
    assert known["h100"] == known["mi300x"] == ["f16", "bf16", "i8", "f8e4m3"]
    assert known["b200"] == known["generic-x86-64"] == ["f16", "bf16", "i8", "f8e4m3", "f4e2m1"]


def ops(form: WeightFormat) -> Iterator[Op]:
    module = lower(read_config("llama-3.2-1b"), ForwardStep.DECODE, ServingPrecision(weights=form))
    return (node.op for node in module.graph.nodes)


def test_widened_weights_of_eight_bits_multiply_in_sixteen() -> None:
    assert not [op for op in ops(WeightFormat.W8) if isinstance(op, GemmFloat8)]
    assert {op.bits for op in ops(WeightFormat.W8) if isinstance(op, MatMulNBits)} == {8}
    assert [op for op in ops(WeightFormat.F8) if isinstance(op, GemmFloat8)]


@pytest.mark.parametrize("name", ["llama-3.2-1b", "qwen3-30b-a3b"])
def test_widened_weights_take_a_scale_and_a_zero_more(name: str) -> None:
    model = read_config(name)
    programs = (
        Program.of(lower(model, ForwardStep.DECODE, ServingPrecision(weights=form)), "vllm")
        for form in (WeightFormat.W8, WeightFormat.F8, WeightFormat.I4)
    )
    wide, narrow, packed = (evaluate(p.liveness.weight_bytes, {}) for p in programs)
    assert packed < narrow < wide < 1.03 * narrow


def test_a_server_says_that_it_widens() -> None:
    """vLLM runs fp8 on Ampere by Marlin's kernels, which multiply in 16 bits."""
    told = llm("llama-3.2-1b", "a100", dtype="fp8", isl=1024, osl=16)
    assert told.weights == "w8"
    assert "a100-sxm4-80gb has no f8e4m3: w8 weights are widened" in told.notes
    half = llm("llama-3.2-1b", "a100", isl=1024, osl=16)
    assert told.steps[0].floor_s >= 0.9 * half.steps[0].floor_s
    assert told.memory.weight_bytes < 0.8 * half.memory.weight_bytes
    hopper = llm("llama-3.2-1b", "h100", dtype="fp8", isl=1024, osl=16)
    assert hopper.weights == "f8"
    assert not [n for n in hopper.notes if "widened" in n]


def test_kernels_of_bf16_are_told_at_the_rate_of_f16_that_stands_for_it() -> None:
    """Rows of latent attention are of bf16: a V100 was told by its rate of f32, ten times slow."""
    volta, ampere = load_machine("v100"), load_machine("a100")
    told = Sheet.of_class("latent_attention", volta)
    assert told.matrix_flop_per_s("bf16") == Sheet(volta).matrix_flop_per_s("f16") == 125e12
    assert told.name == "v100-sxm2-32gb"
    # whole runs on a V100 were learned with the sheet as it is
    assert Sheet.of_class("matmul", volta) == Sheet(volta)
    assert Sheet.of_class("latent_attention", ampere) == Sheet(ampere)
    times = [
        told.latencies.tpot.mean
        for told in (
            llm("deepseek-v2-lite", target, parallel={"tp": 8}, isl=4096, osl=16)
            for target in ("v100", "a100")
        )
        if told.latencies is not None
    ]
    assert 0.5 * times[1] < times[0] < 3 * times[1]
