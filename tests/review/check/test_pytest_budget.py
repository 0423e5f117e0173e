"""Budgets in tests: the fixture of the plug-in, in pytest of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = f"""
import pytest

MODEL = {str(ROOT / "examples/models/resnet50.onnx.gz")!r}

def test_over(perfc_budget):
    perfc_budget(MODEL, "l4", time_ms=1)

def test_within_the_interval(perfc_budget):
    with pytest.warns(UserWarning, match=r"time_ms 2\\.\\d+ exceeds the budget of 2, which is"):
        perfc_budget(MODEL, "l4", time_ms=2, energy_mj=1e6)

def test_memory(perfc_budget):
    assert perfc_budget(MODEL, "l4", time_ms=1e3, batch=2).env == {{"batch": 2}}
    perfc_budget(MODEL, "l4", memory_mib=100)

def test_misspelled(perfc_budget):
    perfc_budget(MODEL, "l4", memory_gb=1)
"""


def test_a_model_over_its_budget_fails_with_its_first_screen(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = project["entry-points"]["pytest11"]["perfc"]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", plugin)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "time_ms 2.* exceeds the budget of 1",
            "resnet50.onnx.gz on NVIDIA L4*",
            "*predicted *",
            "*lower bound *",
            "*where time goes *",
            "memory_mib * exceeds the budget of 100",
            "no 'memory_gb' (*); limits are time_ms, memory_mib, energy_mj",
        ]
    )
