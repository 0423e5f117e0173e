"""What runs without the libraries that only training needs, and what says that it needs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perfc.common import extras

from ..commands.invocations import CALLS, prepare

ROOT = Path(__file__).resolve().parents[2]
RUNNING = (
    *("adapt", "analyze", "check", "compare", "diff"),
    *("explain", "lint", "op matmul", "roofline", "sweep", "targets show"),
)
BLOCKED = """
import contextlib, io, json, sys
blocked = ("xgboost", "scipy")
class Blocking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ImportError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Blocking())
from perfc import cli
found = {}
for line in json.loads(sys.argv[1]):
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = cli.run(line.split())
    found[line] = code, out.getvalue(), error.getvalue()
assert not set(blocked) & set(sys.modules)
print(json.dumps(found))
"""


def without_training(folder: Path, lines: list[str]) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and errors of command lines where XGBoost and SciPy are not installed."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, json.dumps(lines)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder / "config")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line: tuple(result) for line, result in json.loads(done.stdout).items()}


def test_commands_that_do_not_train_run_without_what_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    to = {"adapt": "-o my.toml"}
    lines = [f"{name} {CALLS[name]} {to.get(name, '')}" for name in RUNNING]
    lines.append("analyze model.onnx --runtime eager --dtype f16 -o report.html")
    found = without_training(tmp_path, lines)
    assert len(found) == len(RUNNING) + 1
    for line, (code, out, error) in found.items():
        # lint and check have findings to tell of
        assert code in ((0, 1) if line.split()[0] in ("lint", "check") else (0,)), (line, error)
        assert out or "-o" in line, line


def test_training_names_the_package_that_it_needs() -> None:
    code = """
import sys
sys.modules.update({"xgboost": None, "scipy": None, "scipy.optimize": None})
from perfc_lab.training.libraries import optimizer, xgboost
from perfc.errors import MissingExtraError
for needs in (xgboost, optimizer):
    try:
        needs()
    except MissingExtraError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert "training needs xgboost" in lines[0]
    assert "'xgboost" in lines[0]
    assert "'scipy>=" in lines[1]


def test_nothing_that_only_training_needs_is_in_the_base() -> None:
    base = " ".join(extras.requirements()[extras.BASE])
    for name in ("xgboost", "scipy", "pandas", "torch"):
        assert name not in base
    assert any(r.startswith("xgboost") for r in extras.requirements()["train"])
