"""The help of every command reads as it was written."""

from __future__ import annotations

import inspect
import re

import click
import pytest

from perfc import cli

from .invocations import commands

EVERY = dict(commands())


def helped(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    has_more = any("--help-all" in p.opts for p in EVERY[name].params)
    assert cli.run([*name.split(), "--help-all" if has_more else "--help"]) == 0
    return capsys.readouterr().out


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if re.match(" +--?[a-z]", line)]


@pytest.mark.parametrize("name", [n for n in EVERY if not n.startswith(("data", "eval", "train"))])
def test_help_is_one_screen(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*name.split(), "--help"]) == 0
    page = capsys.readouterr().out
    assert len(page.splitlines()) <= 25
    assert len(rows_of(page)) <= 20
    assert all(len(row) <= 80 for row in rows_of(page))
    flags = {f for p in EVERY[name].params if not getattr(p, "hidden", False) for f in p.opts}
    named = {
        flag for row in rows_of(helped(name, capsys)) for flag in re.findall(r"--?\w[\w-]*", row)
    }
    assert {f for f in flags if f.startswith("-")} <= named | {"--help"}


@pytest.mark.parametrize("name", EVERY)
def test_no_mark_of_the_source_is_left_and_no_example_is_run_together(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = helped(name, capsys)
    assert "\\b" not in page
    assert "\b" not in page
    assert "``" not in page
    before_options = page.partition("\nOptions:")[0]
    assert not re.search(r"\S {3,}\S", before_options), before_options


@pytest.mark.parametrize("name", EVERY)
def test_indented_lines_of_a_docstring_stay_lines(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = EVERY[name]
    assert isinstance(command, click.Command)
    assert command.callback is not None
    text = inspect.cleandoc(inspect.getdoc(command.callback) or "")
    examples = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    shown = [line.strip() for line in helped(name, capsys).splitlines()]
    assert set(examples) <= set(shown)


def test_the_example_of_a_budget_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    import tomllib

    lines = helped("check", capsys).splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "[[budget]]")
    end = next(i for i, line in enumerate(lines[start:], start) if not line.strip())
    budget = tomllib.loads("\n".join(lines[start:end]))["budget"][0]
    assert budget["flop"] == {"warn": "+0%", "fail": "+5%"}


@pytest.mark.parametrize(
    "line", ["dev passes", "dev ops", "lint --explain all", "data list", "data sets"]
)
def test_what_is_listed_has_no_marks_of_docstrings(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(line.split()) == 0
    assert not re.search(r"(?<!`)``[^`\s]", capsys.readouterr().out)
