"""Rules on traces: what they find, the most that it saves, and near misses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.machine import load_machine
from perfc.measuring.trace.analyses.rates import ProductShape
from perfc.measuring.trace.classes import TracedClass
from perfc.measuring.trace.facts import OperatorCall, TensorArgument
from perfc.measuring.trace.summary import KernelTime
from perfc.review.rules.slow_products import unaligned
from tests.measuring.trace.samples import (
    BF16,
    SECRET,
    Step,
    chrome,
    kernel,
    kineto,
    runtime,
    text_of,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "lint" / "traced.json"
BIG = [4096, 4096]
SCORES, QUERIES, KEYS = [32, 1024, 1024], [32, 1024, 64], [32, 64, 1024]
PAUSE, WAIT = "pause", "wait"
Short = tuple[str, str, list[Any], str, float]
"""Kernel, operator, extents, type and time in µs."""
WORK: Sequence[Short] = (
    ("Memcpy HtoD (Pinned -> Device)", "aten::copy_", [[64], [64]], "float", 3.0),
    ("vectorized_elementwise_kernel<mul>", "aten::mul", [BIG, BIG], BF16, 60.0),
    ("vectorized_elementwise_kernel<add>", "aten::add", [BIG, BIG], BF16, 60.0),
    ("vectorized_elementwise_kernel<relu>", "aten::relu", [BIG], BF16, 50.0),
    ("nvjet_bmm", "aten::bmm", [QUERIES, KEYS], BF16, 40.0),
    ("vectorized_elementwise_kernel<div>", "aten::div", [SCORES, []], BF16, 60.0),
    ("softmax_warp_forward", "aten::_softmax", [SCORES], BF16, 60.0),
    ("nvjet_bmm", "aten::bmm", [SCORES, QUERIES], BF16, 40.0),
    ("nchwToNhwcKernel", "aten::cudnn_convolution", [[8, 64, 56, 56]], BF16, 20.0),
    ("unrolled_elementwise_kernel<direct_copy>", "aten::copy_", [BIG, BIG], f"{BF16} float", 70.0),
    ("elementwise_kernel<direct_copy>", "aten::clone", [BIG], BF16, 45.0),
    ("Memset (Device)", "aten::zero_", [BIG], BF16, 20.0),
    ("nvjet_gemm", "aten::mm", [[512, 768], [768, 50257]], BF16, 150.0),
    ("ampere_sgemm_128x64_tn", "aten::mm", [[1024, 1024], [1024, 1024]], "float", 80.0),
    ("Memcpy DtoH (Device -> Pageable)", "aten::_local_scalar_dense", [[]], "float", 2.0),
    (PAUSE, "", [], "", 100.0),
    ("Memset (Device)", "aten::fill_", [[4]], "float", 1.0),
    (WAIT, "", [], "", 30.0),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "c10d::allreduce_", [[1024]], BF16, 90.0),
)


def traced(work: Sequence[Short] = WORK) -> dict[str, Any]:
    """Return the trace, in which the host synchronizes where the device waits."""
    made, at = kineto(steps(work)), 20.0
    for name, *_, time in work:
        if name == WAIT:
            event = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "tid": 1}
            event |= {"ts": at - 0.5, "dur": 5, "args": {"correlation": 9999}}
            made["traceEvents"].append(event)
        at += time
    return made


def steps(work: Sequence[Short] = WORK) -> list[Step]:
    """Return kernels one after the other."""
    made: list[Step] = []
    at = 20.0
    for name, operator, dims, types, time in work:
        words = types.split()
        given = [words[n % len(words)] for n in range(len(dims))] if words else []
        if name not in (PAUSE, WAIT):
            made.append((name, operator, dims, given, [""] * len(dims), at, time))
        at += time
    return made


def findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *work: Short, options: str = ""
) -> list[Any]:
    path = tmp_path / "trace.json"
    path.write_text(text_of(traced(work)), encoding="utf-8")
    words = f"--isolated --min-gain 0 --output-format json {options}".split()
    assert cli.run(["lint", str(path), *words, "--exit-zero"]) == 0
    text = capsys.readouterr().out
    assert SECRET not in text
    (file,) = json.loads(text)["files"]
    return list(file["findings"])


def codes(findings: list[Any]) -> list[tuple[str, str]]:
    return [(f["code"], f["nodes"][0]) for f in findings if f["nodes"]]


def test_the_golden_trace_is_that_of_this_file() -> None:
    assert GOLDEN.read_text(encoding="utf-8") == text_of(traced())


def test_a_gain_is_the_measured_time_less_the_lower_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = findings(tmp_path, capsys, *WORK)
    gains = {(f["code"], *f["nodes"]): f["gain"]["time_s"] for f in made}
    memory = load_machine("h100").level("device")
    assert memory is not None
    # the fused kernel reads two operands and writes one result, of which the L2 may hold most
    all_s = 3 * 2 * 4096**2 / memory.bandwidth.value
    assert 170e-6 - all_s <= gains["PF501", "mul → add → relu"] < 165e-6
    assert gains["PF503", "bmm → div → _softmax → bmm"] == pytest.approx(200e-6, rel=0.1)
    assert gains["PF503", "bmm → div → _softmax → bmm"] < 200e-6
    copies = {nodes[0]: s for (code, *nodes), s in gains.items() if code == "PF502"}
    assert copies["cudnn_convolution"] == pytest.approx(20e-6)
    assert copies["clone"] == pytest.approx(45e-6)
    assert copies["zero_"] == pytest.approx(20e-6)
    casts = [f for f in made if "conversions of the element type" in f["message"]]
    assert [f["gain"]["time_s"] for f in casts] == pytest.approx([70e-6])
    sent = [f for f in made if "small copies from the host" in f["message"]]
    assert [f["gain"]["time_s"] for f in sent] == pytest.approx([3e-6])
    assert gains["PF504", "_local_scalar_dense"] == pytest.approx(100e-6)
    assert gains["PF504", "cudaDeviceSynchronize"] == pytest.approx(30e-6)
    assert gains["PF506", "c10d::allreduce_"] == pytest.approx(90e-6)
    products = [f for f in made if f["code"] == "PF505"]
    odd, plain = sorted(products, key=lambda f: -f["gain"]["time_s"])
    assert "n = 50257 (of 8)" in odd["message"]
    assert "without TF32" in plain["message"]
    peak = 2 * 1024**3 / 494.7e12
    assert plain["gain"]["time_s"] == pytest.approx(80e-6 - peak, rel=0.02)
    for f in made:
        assert f["gain"]["basis"] == "measured time less its lower bound: at most"
        assert 0 <= f["gain"]["share"] <= 1


@pytest.mark.parametrize(
    "work",
    [
        # other numbers of elements, something between, one alone
        [("e<mul>", "aten::mul", [BIG, BIG], BF16, 9.0), ("e<add>", "aten::add", [[8]], BF16, 9.0)],
        [WORK[1], ("nvjet_bmm", "aten::bmm", [QUERIES, KEYS], BF16, 9.0), WORK[2]],
        # routing: a softmax after a layer with one operand of two axes
        [("nvjet", "aten::linear", [[2, 64, 64], [8, 64]], BF16, 9.0), WORK[6], WORK[7]],
        # a norm between
        [WORK[4], ("layer_norm", "aten::native_layer_norm", [SCORES], BF16, 9.0), *WORK[6:8]],
        # whole multiples, TF32, a vector
        [("nvjet_gemm", "aten::mm", [[511, 768], [768, 512]], BF16, 150.0)],
        [("cutlass_80_tensorop_s1688gemm", "aten::mm", [[64, 64], [64, 64]], "float", 80.0)],
        [("gemv", "aten::mm", [[1, 7], [7, 9]], BF16, 80.0)],
        # a long copy from the host, a copy to it before which the next kernel was launched
        [("Memcpy HtoD (Pageable -> Device)", "aten::copy_", [BIG, BIG], "float", 900.0)],
        [("e", "aten::mm", [BIG, BIG], BF16, 20.0), (PAUSE, "", [], "", 20.0), WORK[12]],
        [("Memcpy DtoH (Device -> Pinned)", "aten::copy_", [[8], [8]], "float", 2.0), WORK[12]],
    ],
)
def test_near_misses(work: list[Short], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the long product keeps other rules from the share of the run; it is not of the kinds
    made = findings(tmp_path, capsys, *work)
    allowed = {("PF505", "mm")} if WORK[12] in work else set()
    assert {c for c in codes(made) if c[0] != "PF501" or len(work) > 3} <= allowed


def test_rules_are_selected_and_the_text_names_operator_count_and_shapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = findings(tmp_path, capsys, *WORK[9:12], WORK[10], options="--select PF502")
    (copies,) = (f for f in made if f["nodes"] == ["clone"])
    assert copies["message"] == "copies on the device: 2 times, 90.0 µs with 4096×4096"
    assert {f["code"] for f in made} == {"PF502"}
    assert cli.run(["lint", str(tmp_path / "trace.json"), "--isolated", "--fix"]) == 2
    assert "trace.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "strides", "names"),
    [
        (([512, 767], [767, 512]), ([767, 1], [512, 1]), "k"),
        (([512, 767], [767, 512]), ([1, 512], [512, 1]), ""),
        (([512, 767], [767, 512]), ([1, 512], [1, 767]), "k"),
        (([511, 768], [768, 512]), ([1, 511], [512, 1]), "m"),
        (([511, 768], [768, 509]), ([768, 1], [1, 768]), "n"),
        (([511, 767], [767, 509]), (None, None), "kn"),
        (([767, 767], [767, 767]), ([767, 1], [1, 767]), "n"),
    ],
)
def test_rows_lie_along_the_axis_with_stride_one(sizes: Any, strides: Any, names: str) -> None:
    tensors = [
        TensorArgument(BF16, tuple(size), None, tuple(steps) if steps else None)
        for size, steps in zip(sizes, strides, strict=True)
    ]
    call = OperatorCall("aten::mm", tuple(tensors))
    k = KernelTime("gemm", TracedClass.MATMUL, call, 1, 1, 1, 1)
    (m, inner), (_, n) = sizes
    assert "".join(x for x, *_ in unaligned(k, ProductShape("bf16", 1, m, n, inner))) == names


@pytest.mark.parametrize(("launched", "count"), [(110.0, 1), (60.0, 0)])
def test_a_kernel_that_was_queued_did_not_wait_for_the_host(
    launched: float, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = chrome(
        runtime("cudaMemcpyAsync", 20, 2, 1),
        kernel("Memcpy DtoH (Device -> Pinned)", 100, 2, 1),
        runtime("cudaLaunchKernel", launched, 2, 2),
        kernel("gemm", 150, 9, 2),
    )
    path = tmp_path / "trace.json"
    path.write_text(text_of(trace), encoding="utf-8")
    assert cli.run(["lint", str(path), "--isolated", "--min-gain", "0", "--exit-zero"]) == 0
    assert capsys.readouterr().out.count("the host waits") == count


def test_two_kernels_are_a_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ("PF501", "mul → add") in codes(findings(tmp_path, capsys, *WORK[1:3]))
