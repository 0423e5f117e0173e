"""Limits, globs and budgets as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.errors import ParseError
from perfc.review.check.config import METRICS, load
from perfc.review.check.globs import is_match
from perfc.review.diff.figures import Metric
from perfc.view.report.units import Unit, parse_limit

from .projects import BUDGETS, said


@pytest.mark.parametrize(
    ("written", "unit", "value"),
    [
        ("2.5 ms", Unit.SECOND, 2.5e-3),
        ("300us", Unit.SECOND, 3e-4),
        ("400 MiB", Unit.BYTE, 400 * 2**20),
        ("1 GB", Unit.BYTE, 1e9),
        ("8.2 Gflop", Unit.FLOP, 8.2e9),
        ("4.1G", Unit.MAC, 4.1e9),
        ("25 M", Unit.COUNT, 25e6),
        ("1%", Unit.SHARE, 0.01),
    ],
)
def test_a_limit_is_a_number_and_its_unit(written: str, unit: Unit, value: float) -> None:
    result = parse_limit(written, unit)
    assert result.value == pytest.approx(value)
    assert result.highest(None) == result.value


def test_a_limit_with_plus_is_against_the_baseline() -> None:
    assert parse_limit("+5%", Unit.FLOP).highest(200.0) == pytest.approx(210)
    assert parse_limit("+1 KiB", Unit.BYTE).highest(1024) == 2048
    assert parse_limit("+5%", Unit.FLOP).highest(None) is None


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("5%", Unit.FLOP),
        ("3 MB", Unit.SECOND),
        ("fast", Unit.SECOND),
        ("-1 ms", Unit.SECOND),
        ("1e999 s", Unit.SECOND),
        ("", Unit.BYTE),
        ("1.2.3 s", Unit.SECOND),
    ],
)
def test_what_is_no_limit_is_refused(written: str, unit: Unit) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_limit(written, unit)


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


def test_budgets_can_be_in_pyproject(project: Path) -> None:
    body = BUDGETS.replace("[[budget]]", "[[tool.perfc.budget]]")
    (project / "perfc.toml").unlink()
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n" + body)
    result = load(project / "pyproject.toml")
    assert result.models() == ["models/a.onnx", "models/b.onnx"]
    assert {r.metric for r in result.budgets[0].rules} == {Metric.FLOP, Metric.PEAK_MEMORY}
    wrong = "[project]\nname = 'x'\n[[tool.perfc.budget]]\nmodle = 'x'\n"
    (project / "pyproject.toml").write_text(wrong)
    with pytest.raises(ParseError, match=r"pyproject.toml:4: no key 'modle'"):
        load(project / "pyproject.toml")


def test_a_budget_without_limits_has_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "perfc.toml"
    path.write_text('[[budget]]\ntarget = "l4"\n[[budget]]\nflop = "+1%"\n')
    unlimited, limited = load(path).budgets
    assert {rule.metric for rule in unlimited.rules} == {*METRICS}
    assert {rule.metric for rule in limited.rules} == {Metric.FLOP}
