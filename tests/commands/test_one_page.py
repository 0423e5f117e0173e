"""Which names of targets, runtimes and precisions make one page, and which a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfc import cli

from .invocations import prepare

FEW = "a100,h100,t4,l4,a10,v100,rtx4090,l40s"


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (f"-t {FEW} --runtime ort --dtype f16", True),
        (f"-t {FEW},a40", False),
        ("-t a100,h100 --runtime ort,eager", False),
        ("-t a100,h100 --dtype f16,bf16", False),
    ],
)
def test_a_few_targets_run_in_one_way_are_one_page(
    line: str, is_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    words = ["analyze", "model.onnx", *line.split(), "--no-predict", "-o", "page.html"]
    assert cli.run(words) == 0
    titles = re.findall("<title>perfc: (.*?), batch", Path("page.html").read_text())
    assert (titles == ["model.onnx on a100-sxm4-80gb"]) is is_one
