"""A trace against the prediction of its model: aligned launches, exact sums, other models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.api import Report, analyze
from perfc.errors import ParseError
from perfc.measuring.trace.analyses.prediction import KernelGap, PredictionGap, prediction_gap
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.steps import selected
from perfc.measuring.trace.summary import summarized
from tests.measuring.trace.samples import chrome, kernel, operator, runtime, text_of

ROOT = Path(__file__).parents[3]
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
small (float16[batch, 16, 32, 32] x, float16[32, 16, 3, 3] first, float16[32, 32, 1, 1] second,
       float16[32768, 10] head) => (float16[batch, 10] y) {
   [conv_a] a = Conv <pads: ints = [1, 1, 1, 1]> (x, first)
   [relu_a] b = Relu (a)
   [gate] g = Neg (b)
   [gated] h = Mul (b, g)
   [conv_b] c = Conv (h, second)
   [sum] d = Add (c, b)
   [flat] e = Flatten (d)
   [fc] y = MatMul (e, head)
}
"""
LOOP = """<ir_version: 9, opset_import: ["" : 17]>
turns (float16[4, 32, 32, 32] x, float16[32, 32, 3, 3] w) => (float16[4, 32, 32, 32] y)
<int64 trips = {3}, bool go = {1}>
{
   y = Loop (trips, go, x) <body = turn (int64 i, bool on, float16[4, 32, 32, 32] h)
      => (bool still, float16[4, 32, 32, 32] next) {
         still = Identity (on)
         a = Conv <pads: ints = [1, 1, 1, 1]> (h, w)
         next = Relu (a)
      }>
}
"""
MAP = [4, 32, 32, 32]
Launch = tuple[str, float]
STEPS: tuple[tuple[str, list[list[int]], tuple[Launch, ...]], ...] = (
    # layouts are changed before and after the convolution
    (
        "aten::cudnn_convolution",
        [[4, 16, 32, 32], [32, 16, 3, 3]],
        (
            ("nchwToNhwcKernel", 30.0),
            ("nchwToNhwcKernel", 2.0),
            ("sm90_xmma_fprop", 20.25),
            ("nhwcToNchwKernel", 4.0),
        ),
    ),
    ("aten::clamp_min_", [MAP], (("vectorized", 5.0),)),
    # in the other order than that of the model, with a cast that it lacks
    ("aten::mul", [MAP, MAP], (("elementwise_mul", 6.0),)),
    ("aten::neg", [MAP], (("elementwise_neg", 7.0),)),
    ("aten::copy_", [MAP, MAP], (("elementwise_cast", 2.5),)),
    ("aten::cudnn_convolution", [MAP, [32, 32, 1, 1]], (("sm90_xmma_fprop", 9.0),)),
    ("aten::arange", [[7]], (("range", 1.5),)),
    ("aten::add_", [MAP, MAP], (("elementwise_add", 8.0),)),
)
PREDICTED, OTHERS = 30 + 2 + 20.25 + 4 + 5 + 6 + 7 + 9 + 8, 2.5 + 1.5
GAP = 2.0
"""Microseconds for which the device is idle after each operator."""


def events(steps: Any = STEPS, *, has_shapes: bool = True) -> Iterator[dict[str, Any]]:
    """Yield operators, their launches and kernels, in microseconds."""
    ts, number = 100.0, 0
    for name, shapes, launches in steps:
        host = ts - 50
        yield operator(name, host, 10, *(shapes if has_shapes else []))
        for kernel_name, length in launches:
            number += 1
            yield runtime("cudaLaunchKernel", host + 2, 0.1, number)
            yield kernel(kernel_name, ts, length, number)
            ts += length
        ts += GAP + 50


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.onnxtxt"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def report(model: str) -> Report:
    return analyze(model, "h100", runtime="eager", dims={"batch": 4})


def written(tmp_path: Path, steps: Any = STEPS, *, has_shapes: bool = True) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(text_of(chrome(*events(steps, has_shapes=has_shapes))))
    return path


def gap_of(path: Path, report: Report) -> PredictionGap:
    return prediction_gap(summarized(read_trace(str(path))), report, str(path))


def ns(time_s: float | None) -> int:
    return round((time_s or 0.0) * 1e9)


def row(gap: PredictionGap, name: str) -> KernelGap:
    (only,) = (k for k in gap.kernels if name in (k.node, k.kernel))
    return only


def test_the_three_causes_are_the_gap_exactly(tmp_path: Path, report: Report) -> None:
    gap = gap_of(written(tmp_path), report)
    assert ns(gap.launches_s) + ns(gap.speed_s) + ns(gap.host_s) == ns(gap.gap_s)
    assert ns(gap.measured_s) - ns(gap.predicted_s) == ns(gap.gap_s)
    assert ns(gap.predicted_s) == ns(report.prediction.total.time_s)
    assert ns(gap.measured_s) - ns(gap.kernel_s) == 7 * (GAP + 50) * 1000
    for rows in (gap.kernels, gap.classes):
        assert sum(ns(r.measured_s) for r in rows) == ns(gap.kernel_s)
        assert sum(ns(r.launches_s) for r in rows) == ns(gap.launches_s)
        assert sum(ns(r.speed_s) for r in rows) == ns(gap.speed_s)
        assert sum(r.launches for r in rows) == gap.launches == 11
    # of an operator every launch was predicted; the product never ran
    (missing,) = (k for k in gap.kernels if k.kernels > k.matched)
    assert (missing.node, gap.missing, ns(missing.predicted_s)) == ("fc", 1, ns(gap.missing_s))
    assert ns(gap.extra_s) == OTHERS * 1000
    kernels = report.prediction.kernels
    assert ns(gap.predicted_kernel_s) == sum(ns(k.device_s) for k in kernels)
    assert any(k.wait_s for k in kernels)
    assert ns(gap.kernel_s) == (PREDICTED + OTHERS) * 1000


def test_launches_belong_to_kernels_by_shapes_and_order(tmp_path: Path, report: Report) -> None:
    gap = gap_of(written(tmp_path), report)
    measured = {k.node or k.kernel: ns(k.measured_s) / 1000 for k in gap.kernels}
    of_operator = {k.kernel: ns(k.measured_s) / 1000 for k in gap.kernels if k.node == "conv_a"}
    assert of_operator == {
        "Conv": 20.25,
        "layout nchw→nhwc": 30,
        "weight layout nchw→nhwc": 2,
        "layout nhwc→nchw": 4,
    }
    assert (measured["relu_a"], measured["conv_b"], measured["sum"]) == (5, 9, 8)
    assert row(gap, "gate").matched == row(gap, "gated").matched == 1
    assert ns(row(gap, "gate").speed_s) == 7000 - ns(row(gap, "gate").predicted_s)
    # only the range has no kernel
    assert (gap.aligned, measured["aten::arange"]) == (10, 1.5)
    assert ns(gap.aligned_s) == ns(gap.kernel_s) - 1500


def test_every_turn_of_a_loop_has_its_launches(tmp_path: Path) -> None:
    path = tmp_path / "loop.onnxtxt"
    path.write_text(LOOP)
    launches = (("in", 2.0), ("weights", 1.0), ("fprop", 9.0), ("out", 2.0))
    convolution = ("aten::cudnn_convolution", [MAP, [32, 32, 3, 3]], launches)
    steps = (convolution, ("aten::relu", [MAP], (("relu", 5.0),))) * 3
    gap = gap_of(written(tmp_path, steps), analyze(str(path), "h100", runtime="eager"))
    assert [(k.kernels, k.matched, k.launches) for k in gap.kernels] == [(3, 3, 3)] * 5
    assert (gap.missing, ns(gap.launches_s), gap.aligned) == (0, 0, 15)


def test_traces_without_shapes_are_aligned_by_class(tmp_path: Path, report: Report) -> None:
    steps = [s for s in STEPS if s[0] not in ("aten::copy_", "aten::arange")]
    gap = gap_of(written(tmp_path, steps, has_shapes=False), report)
    assert gap.aligned == gap.launches == 9
    assert ns(row(gap, "conv_b").measured_s) == 9000


@pytest.mark.parametrize(
    ("name", "model"), [("resnet50-b32-f16", "resnet50"), ("vit_b16-b32-f16", "vit-b16")]
)
def test_traces_of_the_h200_are_aligned(name: str, model: str) -> None:
    path = ROOT / "datasets" / "h200" / "traces" / f"{name}.json.gz"
    graph = ROOT / "examples" / "models" / f"{model}.onnx.gz"
    how = {"runtime": "eager", "dtype": "fp16", "predictor": "kernels", "dims": {"batch": 32}}
    summary = summarized(selected(read_trace(str(path))), is_bounded=False)
    gap = prediction_gap(summary, analyze(graph, "h200", **how))  # type: ignore[arg-type]
    assert gap.aligned >= 0.97 * gap.launches
    assert gap.aligned_s >= 0.95 * gap.kernel_s
    assert sum(k.matched for k in gap.kernels) >= 0.97 * sum(k.kernels for k in gap.kernels)
    assert gap.dtype == gap.traced_dtype == "f16"


def test_a_trace_of_several_devices_is_refused(tmp_path: Path, report: Report) -> None:
    other = kernel("k", 900, 5, 99)
    other["args"]["device"] = 1
    path = tmp_path / "trace.json"
    path.write_text(text_of(chrome(*events(), other)))
    with pytest.raises(ParseError, match="a trace of 2 devices: a prediction is of one"):
        gap_of(path, report)


def test_a_trace_of_another_model_is_one_line(tmp_path: Path, model: str, report: Report) -> None:
    products = [("aten::mm", [[512, 512], [512, 512]], (("gemm", 10.0),))] * 3
    message = "a trace of another model: of 3 costly operators 0 are found in the model, which has"
    with pytest.raises(ParseError, match=message):
        gap_of(written(tmp_path, products), report)
    with pytest.raises(ParseError) as raised:
        gap_of(written(tmp_path), report.at(batch=8))
    assert "--batch" in raised.value.hint
    with pytest.raises(ParseError) as raised:
        gap_of(written(tmp_path, STEPS * 3), report)
    assert raised.value.hint.startswith("several runs?")


def test_the_command_prints_every_form(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(written(tmp_path)), "--model", model, "--batch", "4"]
    assert cli.run(["trace", *given]) == 0
    text = capsys.readouterr().out
    assert "10 of 11 launches" in text
    assert "products are bf16 in the trace and f16 in the prediction: --dtype" in text
    assert "h100-sxm5-80gb, eager" in text
    assert cli.run(["trace", *given, "--output-format", "json"]) == 0
    gap = json.loads(capsys.readouterr().out)["prediction"]
    assert ns(gap["launches_s"]) + ns(gap["speed_s"]) + ns(gap["host_s"]) == ns(gap["gap_s"])
    assert cli.run(["trace", *given, "--output-format", "csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("kernel,node,class,kernels,matched,launches,predicted_s,measured_s")
    assert len(rows) == len(gap["kernels"])
    assert cli.run(["trace", given[0], "--batch", "4"]) == 2
    assert "need --model" in capsys.readouterr().err
