"""Commands whose speed is watched run, and the script that fails above a budget does fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.speed import budgets, commits
from benchmarks.speed.processes import CASES, ROOT, measured, run_apart


@pytest.mark.parametrize(("factor", "code", "verdict"), [("1e-9", 1, "over"), ("1e9", 0, "within")])
def test_a_command_over_its_budget_fails(
    factor: str, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "import", "--repeats", "1", "--factor", factor]
    assert budgets.main(arguments) == code
    assert f"s, {verdict} its budget" in capsys.readouterr().out


@pytest.mark.parametrize("name", [n for n in CASES if not CASES[n].graph])
def test_each_case_is_a_command_that_runs(name: str, tmp_path: Path) -> None:
    sample = measured(CASES[name].command(tmp_path))
    assert sample.cpu_s > 0
    assert sample.peak_mib > 1


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="exit 3: gone"):
        measured(["-c", "print('gone'); raise SystemExit(3)"], tmp_path)


def test_peak_memory_is_that_of_the_command_and_not_of_who_measures(tmp_path: Path) -> None:
    ballast = bytearray(200 << 20)
    assert run_apart(["-c", "pass"], tmp_path).peak_mib < 100 < len(ballast) >> 20
    with pytest.raises(RuntimeError, match="exit 3: gone"):
        run_apart(["-c", "print('gone'); raise SystemExit(3)"], tmp_path)


def test_the_graph_of_a_case_is_written_where_it_runs(tmp_path: Path) -> None:
    *_, written = [a for a in CASES["weights"].command(tmp_path) if a.endswith(".onnx")]
    assert Path(written).parent == tmp_path
    assert Path(written).stat().st_size > 1e8


def test_commits_are_compared_by_the_same_cases() -> None:
    assert commits.WholeProcess.params == (list(CASES),)
    stated = json.loads((ROOT / "benchmarks" / "asv.conf.json").read_text(encoding="utf-8"))
    assert (ROOT / "benchmarks" / stated["benchmark_dir"] / "commits.py").is_file()
    assert (ROOT / "benchmarks" / stated["repo"] / ".git").exists() or not (ROOT / ".git").exists()
