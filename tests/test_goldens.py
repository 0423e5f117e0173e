"""Every pass and every lint rule has a golden file, and a golden file that is wrong fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfc.lint.catalogue import infos
from perfc.passes.pipeline import list_passes
from perfc.passes.runtimes import runtimes

GOLDEN = Path(__file__).parent / "golden"
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
    path = GOLDEN / "lint" / f"{rule.path.stem}.txt"
    assert path.exists(), path
    command, *printed = path.read_text(encoding="utf-8").splitlines()
    assert command.startswith(f"$ perfc lint {path.stem}.onnxtxt")
    assert any(f" {rule.code} " in line for line in printed)
    assert printed[-1] == "[1]"


def test_every_runtime_is_in_the_golden_files_of_fusion() -> None:
    for path in (GOLDEN / "fuse").glob("*.pir"):
        heads = re.findall(r"^## (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert sorted(name for head in heads for name in head.split(", ")) == list(runtimes()), path


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
    command.write_text("$ perfc rule PF101 --no-such-option\n", encoding="utf-8")
    run = ("-p", "tests.conftest", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*run, folder).assert_outcomes(failed=2)
    pytester.runpytest_subprocess(*run, "--update-goldens", folder).assert_outcomes(passed=2)
    assert ": f32[2]\n  return" in wrong.read_text(encoding="utf-8")
    assert command.read_text(encoding="utf-8").endswith("[2]\n")
    pytester.runpytest_subprocess(*run, folder).assert_outcomes(passed=2)
