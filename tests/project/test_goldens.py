"""Every pass and every lint rule has a golden file, and a golden file that is wrong fails."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from perfc.analyzers.features.classes import classes
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.passes.pipeline import list_passes
from perfc.passes.runtimes import runtimes
from perfc.review.lint.catalogue import infos
from tests.golden_estimates import differences, is_same

GOLDEN = Path(__file__).parents[1] / "golden"
PIPELINES = {p: p.read_text(encoding="utf-8").partition("\n")[0] for p in GOLDEN.rglob("*.pir")}


@pytest.mark.parametrize("name", [p.name for p in list_passes() if p.kind != "plug-in"])
def test_every_pass_has_a_golden_file(name: str) -> None:
    whole = re.compile(rf"(?<![\w-]){name}(?![\w-])")
    files = [p for p, run in PIPELINES.items() if whole.search(run)]
    kernels = [p for p, run in PIPELINES.items() if name == "fuse" and run.endswith("| kernels")]
    assert files or kernels, f"tests/golden/{name}/*.pir"


@pytest.mark.parametrize("info", infos(), ids=lambda i: i.code)
def test_every_rule_has_a_fixture_with_a_finding(info: object) -> None:
    (rule,) = (i for i in infos() if i == info)
    is_traced = rule.code.startswith("PF5")
    path = GOLDEN / "lint" / f"{'traced' if is_traced else rule.path.stem}.txt"
    assert path.exists(), path
    command, *printed = path.read_text(encoding="utf-8").splitlines()
    assert command.startswith(f"$ perfc lint {path.stem}.{'json' if is_traced else 'onnxtxt'}")
    assert any(f" {rule.code} " in line for line in printed)
    assert printed[-1] == "[1]"


def test_every_runtime_is_in_the_golden_files_of_fusion() -> None:
    for path in (GOLDEN / "fuse").glob("*.pir"):
        heads = re.findall(r"^## (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert sorted(name for head in heads for name in head.split(", ")) == list(runtimes()), path


TABLE = (GOLDEN / "estimates" / "kernels.table").read_text(encoding="utf-8")
TIMED = re.compile(r"floor (\S+) s, (\S+) s in (\S+) s to (\S+) s\b")


def test_every_class_of_kernels_and_every_kind_of_launch_is_in_the_table_of_estimates() -> None:
    asked = Counter(re.findall(r"^> row (\w+) ", TABLE, re.MULTILINE))
    assert asked.keys() == classes().keys()
    assert min(asked.values()) >= 12
    shown = set(re.findall(r"^  ([^ ].*), \S+ times: ", TABLE, re.MULTILINE))
    rare = {LaunchKind.GROUP_NORM, LaunchKind.WEIGHT_CAST, LaunchKind.OTHER}
    assert {kind.value for kind in {*LaunchKind} - rare} <= shown


def test_the_table_of_estimates_has_no_time_below_its_floor() -> None:
    result = [tuple(map(float, times)) for times in TIMED.findall(TABLE)]
    assert len(result) > 400
    for floor_s, time_s, low_s, high_s in result:
        assert 0 < floor_s <= low_s <= time_s <= high_s


def test_the_comparison_of_tables_forgives_rounding_and_nothing_else() -> None:
    line = "  half: floor 1.7406998e-07 s, extrapolating"
    assert is_same(line, "  half: floor 1.7406999e-07 s, extrapolating")
    assert not is_same(line, "  half: floor 1.7407018e-07 s, extrapolating")
    assert not is_same(line, "  half: floor 1.7406998e-07 s")
    assert not is_same(line, "  eight bits: floor 1.7406998e-07 s, extrapolating")
    assert not is_same("wait 0", "wait 1e-30")
    assert differences("a 1\nb 2\n", "a 1\nb 3\n") == ["line 2\n  expected b 2\n  actual   b 3"]
    assert len(differences("a 1\n", "a 1\nb 3\n")) == 1


WRONG_TABLE = """\
> row softmax f32 t4 eager rows=4096 cols=1000
  launch: floor 1 s, scale 1 s
"""
WRONG = """\
# RUN: shapes | print
perfir 1
module @m

graph @main(%x: f32[2]) {
  %1 = relu(%x) : ?
  return %1
}
# ---- expect
perfir 1
module @m

graph @main(%x: f32[2]) {
  %1 = relu(%x) : f32[3]
  return %1
}
"""


def test_a_golden_file_that_is_wrong_fails_and_is_mended(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(GOLDEN.parents[1]))
    folder = pytester.mkdir("golden")
    wrong = folder / "wrong.pir"
    wrong.write_text(WRONG, encoding="utf-8")
    command = folder / "version.txt"
    command.write_text("$ perfc lint --explain PF101 --no-such-option\n", encoding="utf-8")
    estimates = folder / "wrong.table"
    estimates.write_text(WRONG_TABLE, encoding="utf-8")
    run = ("-p", "tests.conftest", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*run, folder).assert_outcomes(failed=3)
    pytester.runpytest_subprocess(*run, "--update-goldens", folder).assert_outcomes(passed=3)
    assert ": f32[2]\n  return" in wrong.read_text(encoding="utf-8")
    assert command.read_text(encoding="utf-8").endswith("[2]\n")
    assert "scale 1 s" not in estimates.read_text(encoding="utf-8")
    pytester.runpytest_subprocess(*run, folder).assert_outcomes(passed=3)
