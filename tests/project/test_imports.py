"""What each way of using perfc loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perfc.commands.shared import listing

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("onnx", "numpy", "rich", "google", "torch", "onnx_graphsurgeon", "onnxruntime", "xgboost")


def loaded(code: str) -> set[str]:
    """Modules of ``HEAVY`` and ``perfc`` that ``code`` loads."""
    probe = (
        "import contextlib, io, sys\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    {code}\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return {m for m in done.stdout.split() if m.partition(".")[0] in (*HEAVY, "perfc")}


def test_package_loads_nothing_but_itself() -> None:
    assert loaded("import perfc") == {"perfc", "perfc.common", "perfc.common.version"}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["completion", "zsh"]])
def test_help_loads_no_analysis(args: list[str]) -> None:
    found = loaded(f"from perfc import cli; cli.run({args})")
    allowed = {
        "perfc",
        "perfc.common",
        "perfc.common.version",
        "perfc.cli",
        "perfc.errors",
        "perfc.common.plugins",
        "perfc.commands",
        "perfc.commands.shared",
        "perfc.commands.shared.examples",
        "perfc.commands.shared.listing",
        *(f"perfc.commands.{section}" for section in listing.SECTIONS),
        "perfc.commands.help.completion",
    }
    assert found <= allowed


@pytest.mark.parametrize("form", ["text", "json", "markdown", "csv"])
def test_analysis_loads_neither_onnx_nor_numpy_nor_rich(form: str) -> None:
    args = ["analyze", "examples/models/resnet50.onnx.gz", "--output-format", form]
    found = loaded(f"from perfc import cli; assert cli.run({[*args, '--no-predict']}) == 0")
    assert "perfc.passes.roofline.roofline" in found
    assert {m for m in found if m.partition(".")[0] in HEAVY} == set()


def test_prediction_loads_nothing_heavy_but_numpy() -> None:
    args = ["analyze", "examples/models/resnet50.onnx.gz"]
    found = loaded(f"from perfc import cli; assert cli.run({args}) == 0")
    assert "perfc.analyzers.runs.prediction" in found
    assert {m.partition(".")[0] for m in found if m.partition(".")[0] in HEAVY} <= {"numpy"}


def test_api_and_report_can_be_imported_alone() -> None:
    for module in (
        "perfc.api",
        "perfc.view.report",
        "perfc.view.report.formats.json_schema",
        "perfc.cli",
    ):
        loaded(f"import {module}")
