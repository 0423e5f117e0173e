"""Shells complete what the tables of perfc and the model on the line have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from perfc import cli

from .invocations import prepare


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path: Path = tmp_path_factory.mktemp("completion")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        prepare(path)
        (path / "broken.onnx").write_bytes(b"no model")
        yield


def completions(line: str) -> list[str]:
    """What the shell offers for the last word of a line, which may be empty."""
    *words, last = line.split(" ")
    result = ShellComplete(cli.cli, {}, "perfc", "_PERFC_COMPLETE").get_completions(words, last)
    return [item.value for item in result]


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("analyze model.onnx -t h100-s", ["h100-sxm5-80gb", "h100-sxm5-96gb-500w"]),
        ("analyze model.onnx -t a100,h100-s", ["a100,h100-sxm5-80gb", "a100,h100-sxm5-96gb-500w"]),
        ("analyze model.onnx --runtime eager-", ["eager-literal", "eager-unfused"]),
        (
            "compare model.onnx --runtime ort,tens",
            ["ort,tensorflow", "ort,tensorrt", "ort,tensorrt-unfused"],
        ),
        ("compare model.onnx --sort thr", ["throughput"]),
        ("analyze model.onnx --dtype amp-", ["amp-f16", "amp-bf16"]),
        ("diff model.onnx --to dtype=amp-b", ["dtype=amp-bf16"]),
        ("diff model.onnx --to b", ["batch="]),
        ("analyze model.onnx --layout channels-l", ["channels-last"]),
        ("analyze model.onnx --mode t", ["training"]),
        ("analyze model.onnx --view mem", ["memory"]),
        ("analyze model.onnx --view memory,cri", ["memory,critical"]),
        ("analyze model.onnx --output-format js", ["json"]),
        ("rule PF101", ["PF101"]),
        ("lint model.onnx --select PF101,PF407", ["PF101,PF407"]),
        ("explain model.onnx re", ["relu"]),
        ("explain model.onnx ", ["product", "relu", "there", "back"]),
        ("reduce model.onnx --node ba", ["back"]),
        ("explain broken.onnx ", []),
        ("explain missing.onnx ", []),
        ("opt model.onnx --passes shapes,liv", ["shapes,liveness"]),
        ("ops SoftmaxC", ["SoftmaxCrossEntropyLoss"]),
        ("roofline titan-r", ["titan-rtx"]),
        ("targets show a100 titan-r", ["titan-rtx"]),
        ("adapt -t titan-r", ["titan-rtx"]),
        ("data fetch neu", ["neusight"]),
        ("analyze model.onnx --runtime nothing", []),
    ],
)
def test_values_are_completed(line: str, expected: list[str]) -> None:
    assert completions(line) == expected
