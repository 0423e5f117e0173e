"""Limits, globs and budgets as they are written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from perfc.review.check.globs import is_match
from perfc.view.report.units import Limit, Unit, parse_limit

from .projects import BUDGETS, said


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3 uJ", Unit.JOULE, 3e-6),
        ("3µJ", Unit.JOULE, 3e-6),
        ("3μJ", Unit.JOULE, 3e-6),
        ("2 Wh", Unit.JOULE, 7200.0),
        ("3 B", Unit.BYTE, 3.0),
        ("3KB", Unit.BYTE, 3e3),
        ("3MiB", Unit.BYTE, 3 * 2**20),
        ("8.2 Gflop", Unit.FLOP, 8.2e9),
        ("4.1G", Unit.MAC, 4.1e9),
        ("4 Pmac", Unit.MAC, 4e15),
        ("25K", Unit.COUNT, 25e3),
        ("1_000", Unit.COUNT, 1000.0),
        ("1.5e3", Unit.COUNT, 1500.0),
        ("300us", Unit.SECOND, 3e-4),
        ("1%", Unit.SHARE, 0.01),
    ],
)
def test_a_limit_is_a_number_and_its_unit(text: str, unit: Unit, value: float) -> None:
    assert parse_limit(text, unit) == Limit(pytest.approx(value), False, False, text)
    relative = parse_limit(f"+{text}", unit)
    assert relative == Limit(pytest.approx(value), True, False, f"+{text}")
    assert relative.highest(1e6) == pytest.approx(1e6 + value)
    assert parse_limit("+5%", Unit.FLOP).highest(200.0) == pytest.approx(210)
    assert parse_limit("+5%", Unit.FLOP).highest(None) is None


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("5%", Unit.FLOP, "has no +: a percentage is of the baseline"),
        ("fast", Unit.SECOND, "'fast' is not a number with a unit, as in '2.5 ms' or '+3%'"),
        ("3 MB", Unit.SECOND, "'3 MB' has no unit of this kind, as in '2.5 ms' or '+3%'"),
        ("3", Unit.BYTE, "'3' has no unit of this kind, as in '400 MiB' or '+5%'"),
        ("1e999", Unit.COUNT, "'1e999' is not a finite number"),
        ("-3", Unit.COUNT, "'-3' is not a number with a unit, as in '25 M' or '+0%'"),
        ("", Unit.BYTE, "'' is not a number"),
        ("1.2.3 s", Unit.SECOND, "1.2.3"),
    ],
)
def test_what_is_no_limit_is_refused(text: str, unit: Unit, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_limit(text, unit)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("models/*.onnx", "models/a.onnx", True),
        ("models/*.onnx", "models/x/a.onnx", False),
        ("models/**/*.onnx", "models/a.onnx", True),
        ("**/*.onnx", "models/x/a.onnx", True),
        ("**/*.onnx", "a.onnx", True),
        ("models/[ab].onnx", "models/c.onnx", False),
        ("models/?.onnx", "models/ab.onnx", False),
    ],
)
def test_globs_match_paths(glob: str, path: str, matches: bool) -> None:
    assert is_match(path, glob) is matches


@pytest.mark.parametrize(
    ("text_of", "line", "words"),
    [
        ('[[budget]]\nmodel = "*.onnx"\nflops = "1 G"\n', 3, "no key 'flops'"),
        ('[[budget]]\nmodel = "*.onnx"\n\n[[budget]]\ntime = { most = "1 s" }\n', 5, "'most'"),
        ('[[budget]]\ntime = "3 MB"\n', 2, "no unit of this kind"),
        ("[[budget]]\ntime = 3.5\n", 2, "not a limit"),
        ('[[budget]]\nmodel = "../x.onnx"\n', 2, "leads out"),
        ('[[budget]]\nmodel = "/etc/*.onnx"\n', 2, "leads out"),
        ('[[budget]]\ndims = { n = "x" }\n', 2, "is no extent"),
        ('[[budget]]\nflop = { max = "+5%" }\n', 2, "against the baseline"),
        ('[[budget]]\ntime = "1 s\n', 2, "not valid TOML"),
        ("budgets = 1\n", 1, "no key 'budgets'"),
    ],
)
def test_bad_budgets_are_one_line_with_key_and_line(
    project: Path, capsys: pytest.CaptureFixture[str], text_of: str, line: int, words: str
) -> None:
    (project / "perfc.toml").write_text(text_of)
    (project / "perfc.lock").write_text("as it was")
    for command in (["check"], ["check", "--write-baseline"]):
        code, _, err = said(capsys, *command)
        assert code == 2
        assert f"perfc.toml:{line}" in err
        assert words in err
        assert err.count("\n") == 1
    assert (project / "perfc.lock").read_text() == "as it was"


def test_an_unknown_target_names_the_budget(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "perfc.toml").write_text(BUDGETS.replace("a100", "a1000"))
    code, _, err = said(capsys, "check")
    assert code == 2
    assert "perfc.toml:1" in err
    assert "a1000" in err


def test_budgets_can_be_in_pyproject(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = BUDGETS.replace("[[budget]]", "[[tool.perfc.budget]]").replace("400 MiB", "1 B")
    (project / "perfc.toml").unlink()
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n" + body)
    code, out, _ = said(capsys, "check", "--output-format", "json")
    results = json.loads(out)["results"]
    assert (code, [r["model"] for r in results]) == (1, ["models/a.onnx", "models/b.onnx"])
    assert {f["metric"] for r in results for f in r["findings"]} == {"peak_memory"}
    wrong = "[project]\nname = 'x'\n[[tool.perfc.budget]]\nmodle = 'x'\n"
    (project / "pyproject.toml").write_text(wrong)
    assert "pyproject.toml:4: no key 'modle'" in said(capsys, "check")[2]
