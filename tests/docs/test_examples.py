"""The examples run from a fresh clone and print what their headers say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perfc
from perfc import cli

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MODELS = sorted((EXAMPLES / "models").glob("*.onnx.gz"))
EXPECTED = {
    "analyze_resnet": [
        r"a100: [\d.]+ ms, floor [\d.]+ ms",
        r"multiply-accumulates: 4089184256\*batch",
        r"peak activations: [\d.]+ MiB at /",
    ],
    "search": [r"1\d\d\.\d us +\d+ thousand parameters  \[\d, \d, \d\]"],
    "sweep_batch": [r"a100\S* +batch  64 ", r"compute-bound from batch \d+", r"does not fit in"],
    "write_an_op": [r"lower bounds: mac 0", r"operator defined: mac 65536\*batch"],
    "write_a_pass": [r"/conv1/Conv: contracts 147", r"as it is +175 nodes", r"folded +122 nodes"],
}


def test_every_example_is_run_here() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.py")} == {*EXPECTED}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_what_it_says(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    assert f"python examples/{name}.py" in path.read_text(encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for pattern in EXPECTED[name]:
        assert re.search(pattern, result.stdout), result.stdout


def test_the_models_are_small_and_described() -> None:
    readme = (EXAMPLES / "models" / "README.md").read_text(encoding="utf-8")
    assert len(MODELS) == 5
    assert sum(p.stat().st_size for p in MODELS) < 1_000_000
    assert all(f"`{p.name}`" in readme for p in MODELS)


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_a_model_is_analyzed_completely(path: Path) -> None:
    report = perfc.analyze(path, "a100", dims={"batch": 2})
    assert not report.cost.is_bound
    assert 0 < report.roofline.floor_s <= report.roofline.time_s


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("perfc ")]


def printed(
    arguments: list[str], capsys: pytest.CaptureFixture[str], columns: int = 98
) -> set[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        assert cli.run(arguments) == 0
    return set(capsys.readouterr().out.splitlines())


def test_what_the_page_of_predictions_shows_is_what_perfc_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "predict.md"
    shown = page.read_text(encoding="utf-8").partition("```\nprediction")[2].partition("```")[0]
    lines = [line for line in shown.splitlines() if line]
    assert len(lines) > 5
    result = printed(commands(page)[0].split()[1:], capsys)
    assert not [line for line in lines if line not in result]
    part = page.read_text(encoding="utf-8").partition("## A prediction in one line\n")[2]
    command, lines = (block.strip().splitlines() for block in part.split("```")[1:4:2])
    assert set(lines) == printed(command[1].split()[1:], capsys)
