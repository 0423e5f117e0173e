"""Exports whose attention ONNX Runtime leaves unfused, and the optimizer that merges it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.view.report import Verdict
from perfc.view.report.sections.plain_export import plain_export

MODELS = Path(__file__).parents[2] / "examples/models"
BERT = MODELS / "bert-base.onnx.gz"


def test_the_optimizer_of_a_plain_export_is_the_first_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["analyze", str(BERT), "-t", "a100", "--batch", "8"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert "ONNX Runtime, plain export" in title
    helping = next(i for i, line in enumerate(lines) if "what would help" in line)
    remedy = "export without SDPA, transformer optimizer (--runtime ort-optimized)"
    assert remedy in lines[helping + 1]


@pytest.mark.parametrize(
    ("frames", "how"),
    [
        (["timm/layers/attention.py:90"], "timm.layers.set_fused_attn(False)"),
        (["run.py:1", "transformers/models/bert.py:9"], "attn_implementation='eager'"),
        (["torch/nn/modules/transformer.py:3", "mytimm/net.py:3"], "export without SDPA"),
        ([], "export without SDPA"),
    ],
)
def test_the_remedy_is_an_argument_of_the_package(frames: list[str], how: str) -> None:
    assert plain_export(frames) == how


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("resnet50.onnx.gz", {"runtime": "ort"}),
        ("bert-base.onnx.gz", {"runtime": "tensorrt"}),
        ("bert-base.onnx.gz", {"runtime": "ort-optimized"}),
    ],
)
def test_others_are_no_plain_exports(model: str, more: dict[str, str]) -> None:
    report = perfc.analyze(MODELS / model, "a100", **more)  # type: ignore[arg-type]
    assert "plain export" not in Verdict.of(report).runtime


def test_the_optimized_graph_has_the_kernels_that_the_optimizer_writes() -> None:
    kernels = perfc.analyze(BERT, "t4", runtime="ort-optimized").kernels.kernels
    patterns = Counter(k.pattern for k in kernels)
    assert patterns["attention"] == patterns["joined_products"] == patterns["activation"] == 12
    assert patterns["skip_norm"] == 24
