"""Exports whose attention ONNX Runtime leaves unfused, and the optimizer that merges it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.view.report import Verdict

MODELS = Path(__file__).parents[2] / "examples/models"
BERT = MODELS / "bert-base.onnx.gz"


def test_the_optimizer_of_a_plain_export_is_the_first_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["analyze", str(BERT), "-t", "a100", "--batch", "8"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert "ONNX Runtime, plain export" in title
    helping = next(i for i, line in enumerate(lines) if "what would help" in line)
    assert "transformers optimizer (--runtime ort-optimized)" in lines[helping + 1]


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
