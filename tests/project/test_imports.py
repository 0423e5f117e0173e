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
    shown = (*HEAVY, "perfc", "perfc_lab")
    return {m for m in done.stdout.split() if m.partition(".")[0] in shown}


def test_package_loads_nothing_but_itself() -> None:
    assert loaded("import perfc") == {
        "perfc",
        "perfc.common",
        "perfc.common.first_use",
        "perfc.common.version",
    }


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["dev", "completion", "zsh"]])
def test_help_loads_no_analysis(args: list[str]) -> None:
    found = loaded(f"from perfc import cli; cli.run({args})")
    allowed = {
        "perfc",
        "perfc.common",
        "perfc.common.first_use",
        "perfc.common.version",
        "perfc.cli",
        "perfc.errors",
        "perfc.common.plugins",
        "perfc.commands",
        "perfc.commands.cli",
        "perfc.commands.shared",
        "perfc.commands.shared.listing",
        *(f"perfc.commands.{section}" for section in listing.SECTIONS),
        "perfc.commands.dev",
        "perfc.commands.dev.completion",
        *("perfc_lab", "perfc_lab.commands"),  # packages of a plug-in, found for its summaries
    }
    assert found <= allowed


@pytest.mark.parametrize("form", ["text", "json", "markdown", "csv"])
def test_analysis_loads_neither_onnx_nor_numpy_nor_rich(form: str) -> None:
    args = ["analyze", "examples/models/resnet50.onnx.gz", "--output-format", form]
    found = loaded(f"from perfc import cli; assert cli.run({[*args, '--no-predict']}) == 0")
    assert "perfc.passes.roofline.roofline" in found
    assert {m for m in found if m.partition(".")[0] in HEAVY} == set()


FOLDERS = {
    "perfc",
    "perfc.common",
    *(f"perfc.{one}" for one in ("commands", "commands.analysis", "commands.shared", "deployment")),
    *(f"perfc.frontend{one}" for one in ("", ".formats", ".lowering", ".pytorch", ".reading")),
    "perfc.ir",
    *(f"perfc.ir.{one}" for one in ("gradients", "graphs", "ops", "symbolic", "syntax", "tensors")),
    *(
        f"perfc.ir.ops.{one}"
        for one in (
            "attention",
            "contraction",
            "control",
            "convolution",
            "elementwise",
            "movement",
            "normalization",
            "quantized",
            "resampling",
            "training",
        )
    ),
    "perfc.ir.problem",
    "perfc.machine",
    "perfc.passes",
    *(
        f"perfc.passes.{one}"
        for one in (
            "fusion",
            "inference",
            "layout",
            "memory",
            "memory.allocators",
            "precision",
            "rewriting",
            "roofline",
            "runtimes",
            "training",
        )
    ),
    *(
        f"perfc.analyzers{one}"
        for one in (
            "",
            ".artefacts",
            ".estimate",
            ".estimators",
            ".estimators.laws",
            ".features",
            ".features.classes",
            ".intervals",
            ".runs",
            ".steps",
            ".whole_runs",
        )
    ),
    "perfc.view",
    *(f"perfc.view.report{one}" for one in ("", ".formats", ".memory_sections", ".sections")),
}
"""Packages that an analysis of a convolutional network with predictions loads."""
MOST_LINES = 51_900
"""Lines of the modules that it loads."""


def test_prediction_loads_no_package_that_it_does_not_need() -> None:
    args = ["analyze", "examples/models/resnet50.onnx.gz"]
    found = loaded(f"from perfc import cli; assert cli.run({args}) == 0")
    assert "perfc.analyzers.runs.prediction" in found
    assert {m.partition(".")[0] for m in found} == {"numpy", "perfc"}
    modules = {m for m in found if m.partition(".")[0] == "perfc"}
    files = [ROOT.joinpath(*m.split(".")) for m in modules]
    packages = {".".join(f.relative_to(ROOT).parts) for f in files if f.is_dir()}
    assert packages == FOLDERS
    assert {m for m in modules if m.startswith("perfc.passes.training.")} == {
        "perfc.passes.training.implementation"
    }
    sources = [f / "__init__.py" if f.is_dir() else f.with_suffix(".py") for f in files]
    assert sum(f.read_text("utf-8").count("\n") for f in sources) <= MOST_LINES


def test_check_of_an_unchanged_model_loads_no_pass(tmp_path: Path) -> None:
    budget = '[[budget]]\nmodel = "*.onnx.gz"\ntarget = "a100"\nflop = { fail = "+5%" }\n'
    (tmp_path / "perfc.toml").write_text(budget, "utf-8")
    model = tmp_path / "resnet50.onnx.gz"
    model.write_bytes((ROOT / "examples" / "models" / "resnet50.onnx.gz").read_bytes())
    run = f"from perfc import cli; assert cli.run(['check', {str(model)!r}]) == 0"
    assert "perfc.passes.roofline.roofline" in loaded(run)
    found = loaded(run)
    assert "perfc.review.check.run" in found
    assert not {m for m in found if m.partition(".")[0] in HEAVY}
    passes = ("perfc.passes.roofline", "perfc.passes.fusion.fuse")
    assert not {m for m in found if m.startswith(passes)}


def test_api_and_report_can_be_imported_alone() -> None:
    for module in (
        "perfc.api",
        "perfc.view.report",
        "perfc.view.report.formats.json_schema",
        "perfc.cli",
    ):
        loaded(f"import {module}")
