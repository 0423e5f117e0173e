"""The skill for agents: its commands run, and they are those that ``perfc mcp`` serves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from perfc import cli
from perfc.commands.help import _tools

ROOT = Path(__file__).resolve().parents[2]
SKILL = (ROOT / "skills" / "perfc" / "SKILL.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\| [^|]+ \| `perfc ([^`]+)` \| ([^|]+) \|$", SKILL, re.MULTILINE)


def test_skill_has_the_header_that_agents_read() -> None:
    header = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", SKILL)
    assert header is not None
    assert header[1] == "perfc"


def test_skill_answers_thirty_questions_with_all_tools() -> None:
    assert len(COMMANDS) >= 30
    assert {shlex.split(line)[0] for line, _ in COMMANDS} >= set(_tools.TOOLS)


@pytest.mark.parametrize(("line", "answer"), COMMANDS)
def test_commands_of_the_skill_answer(
    line: str, answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    args = shlex.split(line)
    assert cli.run(args) in ((0, 1) if args[0] in ("lint", "llm") else (0,))
    assert answer in capsys.readouterr().out
