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
COMMANDS = re.findall(r"^\| [^|]+ \| `perfc ([^`]+)` \|$", SKILL, re.MULTILINE)


def test_skill_has_the_header_that_agents_read() -> None:
    header = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", SKILL)
    assert header is not None
    assert header[1] == "perfc"


def test_skill_has_the_ten_tools() -> None:
    assert [shlex.split(line)[0] for line in COMMANDS] == list(_tools.TOOLS)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_skill_run(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    args = shlex.split(line)
    assert cli.run(args) in ((0, 1) if args[0] == "lint" else (0,))
    assert len(capsys.readouterr().out) > 200
