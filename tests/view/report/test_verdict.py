"""The headline value: shares of one base, throughput by what the input is, grades that differ."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ParseError

MODELS = "examples/models/{}.onnx.gz"


def verdict(
    name: str,
    target: str,
    dims: Mapping[str, int] | None = None,
    **how: str,
) -> Any:
    return perfc.analyze(MODELS.format(name), target, dims=dims or {}, **how).verdict


@pytest.mark.parametrize("runtime", ["ort", "eager", "cudagraph"])
def test_limits_are_shares_of_one_whole(runtime: str) -> None:
    found = verdict("gpt2", "a100", runtime=runtime)
    assert math.fsum(one.share for one in found.limits) == pytest.approx(1)
    assert len({one.key for one in found.limits}) == len(found.limits)
    shares = [one.share for one in found.limits]
    assert shares == sorted(shares, reverse=True)


def test_what_a_run_waits_is_its_launches_and_its_host() -> None:
    report = perfc.analyze(MODELS.format("gpt2"), "a100", runtime="eager", predictor="kernels")
    table, found = report.prediction, report.verdict
    waiting = {one.key: one.share for one in found.limits}
    assert table.is_host_bound
    assert waiting["host"] == pytest.approx(table.wait_s / table.total.time_s)
    assert waiting["launch"] == pytest.approx(table.gap_s / table.total.time_s)


@pytest.mark.parametrize(
    ("name", "dims", "item", "per_run"),
    [
        ("resnet50", {"batch": 8}, "images", 8),
        ("gpt2", {"batch": 2, "seq": 64}, "tokens", 128),
    ],
)
def test_throughput_counts_what_the_input_is(
    name: str, dims: Mapping[str, int], item: str, per_run: int
) -> None:
    found = verdict(name, "a100", dims)
    assert (found.throughput.item.value, found.throughput.per_run) == (item, per_run)
    assert found.throughput.per_s * found.time_s == pytest.approx(per_run)


@pytest.mark.parametrize("name", ["qwen2.5-7b", "llama-3.1-8b"])
def test_models_of_configurations_count_tokens_and_no_cached_keys(name: str) -> None:
    """The cache of Qwen2.5 7B has four axes and four heads, as an image has channels."""
    report = perfc.analyze(name, "a100", dims={"batch": 4, "seq": 64})
    found = report.verdict.throughput
    assert (found.item.value, found.per_run) == ("tokens", 256)


def test_without_a_prediction_nobody_is_confident(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyze", MODELS.format("resnet50"), "-t", "a100", "--no-predict"]
    assert cli.run([*words, "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["verdict"]
    assert (found["confidence"], found["energy"]) == (None, None)
    times = found["expected"]
    assert times["low"] == times["high"] == times["mid"] >= found["floor_s"]
    assert math.fsum(one["share"] for one in found["limits"]) == pytest.approx(1)


def test_grades_tell_settings_apart() -> None:
    """A grade that is always the same says nothing; neither does a reason."""
    asked = [
        ("resnet50", "rtx4090", {"batch": 256}, {"runtime": "eager", "dtype": "amp-f16"}),
        ("vit-b16", "rtx4090", {"batch": 256}, {"runtime": "eager", "dtype": "amp-f16"}),
        ("vit-b16", "rtx3090", {"batch": 256}, {"runtime": "eager", "dtype": "amp-f16"}),
        ("resnet50", "a100", {"batch": 256}, {"runtime": "eager", "dtype": "amp-f16"}),
        ("bert-base", "t4", {"batch": 32}, {"runtime": "tensorrt", "dtype": "f16"}),
        ("gpt2", "t4", {}, {}),
        ("resnet50", "h100", {}, {}),
        ("resnet50", "generic-x86-64", {}, {}),
        ("vit-b16", "l4", {}, {"dtype": "f16"}),
    ]
    found = [
        perfc.analyze(MODELS.format(name), target, dims=dims, **how).verdict
        for name, target, dims, how in asked
    ]
    told = [v.confidence for v in found if v.confidence is not None]
    assert len(told) == len(found)
    counts = Counter(one.grade.value for one in told)
    assert counts.keys() == {"high", "medium", "low"}
    assert max(counts.values()) <= len(told) * 2 // 3, counts
    assert len({one.reason for one in told}) >= 5


def test_a_grade_keeps_its_promise() -> None:
    for target in ("a100", "t4", "h100"):
        found = verdict("vit-b16", target)
        assert found.confidence is not None
        ratio = found.expected.high / found.expected.low
        match found.confidence.grade.value:
            case "high":
                assert ratio <= 1.60
            case "medium":
                assert ratio <= 2.98
            case "low":
                assert ratio > 2.96


def test_predictions_below_their_bounds_lower_the_grade() -> None:
    from perfc.view.report.sections.confidence import confidence

    setting = {"runtime": "cudagraph", "predictor": "kernels"}
    report = perfc.analyze(MODELS.format("vit-b16"), "a100", dims={"batch": 8}, **setting)  # type: ignore[arg-type]
    table = report.prediction

    def raised(count: int) -> Any:
        kernels = [replace(k, is_clipped=i < count) for i, k in enumerate(table.kernels)]
        return confidence(report, replace(table, kernels=tuple(kernels)))

    found = [raised(int(share * len(table.kernels))) for share in (0, 0.01, 0.25, 1)]
    assert [f.grade.value for f in found] == ["high", "high", "medium", "low"]
    assert all("predicted below their lower bound" in f.reason for f in found[2:])


def test_memory_is_weighed_against_the_machine() -> None:
    small = verdict("resnet50", "t4", {"batch": 8}).memory
    assert small.fits is True
    parts = small.weight_bytes + small.activation_bytes + small.context_bytes
    assert small.total_bytes == parts
    large = verdict("resnet50", "t4", {"batch": 65536}).memory
    assert large.fits is False


@pytest.mark.parametrize(
    ("target", "dtype", "reason"),
    [
        (
            "a100",
            "",
            "no pointwise convolution kernel was measured on NVIDIA A100 SXM4 80 GB: its law is of",
        ),
        # eight images take less time on the device than their launches
        ("h100", "f16", "host-bound, and the launch overhead of the host is assumed"),
        (
            "generic-x86-64",
            "",
            "the rate of matrix units is assumed on hypothetical 8-core x86-64 desktop",
        ),
    ],
)
def test_the_reason_is_what_the_rows_say(target: str, dtype: str, reason: str) -> None:
    path = MODELS.format("resnet50")
    report = perfc.analyze(path, target, dims={"batch": 8}, dtype=dtype, predictor="kernels")
    found = report.verdict.confidence
    assert found is not None
    assert found.reason.startswith(reason)


def test_a_run_that_nobody_measured_so_says_so() -> None:
    found = verdict("resnet50", "h100", {"batch": 8}).confidence
    assert found is not None
    assert found.reason == "no ort measurement on h100-sxm5-80gb in the training data"


@pytest.mark.parametrize(
    ("target", "runtime", "there"),
    [
        ("mi300x", "tensorrt", "ort"),
        ("mi300x", "paddle-trt", "eager"),
        ("epyc-7763", "tensorrt", "openvino"),
        ("a100", "openvino", "tensorrt"),
        ("m1", "tensorrt", "eager"),
    ],
)
def test_a_runtime_that_does_not_run_on_the_machine_is_refused(
    target: str, runtime: str, there: str
) -> None:
    path = MODELS.format("resnet50")
    with pytest.raises(ParseError, match=f"{runtime} does not run on") as refused:
        perfc.analyze(path, target, runtime=runtime)
    assert there in str(refused.value)
    with pytest.raises(ParseError, match="does not run on"):
        perfc.analyze(path, "b200", runtime="ort").with_(target, runtime=runtime)


def test_an_engine_that_does_not_serve_on_the_machine_is_refused() -> None:
    with pytest.raises(ParseError, match=r"trtllm does not run on mi300x.*vllm"):
        perfc.llm("llama-3.2-1b", "mi300x", runtime="trtllm")


@pytest.mark.parametrize(
    ("target", "runtime"),
    [
        ("a100", "tensorrt"),
        ("mi300x", "cudagraph"),
        ("epyc-7763", "openvino"),
        ("arc-b60", "openvino"),
    ],
)
def test_a_runtime_of_the_machine_answers(target: str, runtime: str) -> None:
    assert perfc.analyze(MODELS.format("resnet50"), target, runtime=runtime).prediction.total


@pytest.mark.parametrize(
    ("target", "runtime", "title"),
    [
        ("gaudi3", "ort", "Intel Gaudi 3 128 GB"),
        ("epyc-7763", "cudagraph", "AMD EPYC 7763"),
        ("a100", "ort-cpu", "NVIDIA A100 SXM4 80 GB"),
    ],
)
def test_a_runtime_of_other_kinds_of_devices_is_a_what_if(
    target: str, runtime: str, title: str
) -> None:
    report = perfc.analyze(MODELS.format("resnet50"), target, runtime=runtime)
    found = report.verdict.confidence
    assert found is not None
    assert found.reason == f"{runtime} does not run on {title}: what-if only"
    assert found.grade.value == "low"


def test_rates_that_did_not_repeat_are_a_reason_against_confidence(tmp_path: Path) -> None:
    a10 = Path("perfc/targets/a10.toml").read_text(encoding="utf-8")
    level = "[memory.device]\n"
    assert level in a10
    spread = (
        f'{level}sustained_bandwidth_bytes_per_s = {{ value = 3e11, from = "probe", rounds = 5, '
        "best = 5e11, worst = 1e11 }\n"
    )
    source = '[source.probe]\norigin = "measured"\ntitle = "perfc calibrate"\ndate = "2026-11-20"\n'
    text = a10.replace(level, spread).replace("[device]", f"{source}\n[device]", 1)
    text = re.sub(r"(?m)^name = .*|^aliases = .*", "", text, count=2)
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n' + text.lstrip(), encoding="utf-8")
    # without a host, which so few tokens wait for
    setting = {"runtime": "cudagraph", "predictor": "kernels"}
    report = perfc.analyze(MODELS.format("gpt2"), path, batch=1, seq=16, **setting)  # type: ignore[arg-type]
    found = report.verdict.confidence
    assert found is not None
    assert found.grade.value == "low"
    assert "the rate of device memory is measured but not reproducible" in found.reason
