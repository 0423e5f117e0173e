"""Help of commands that run a model shows options in groups."""

from __future__ import annotations

import pytest

from perfc.cli import run

COMMANDS = ("analyze", "compare", "init", "check", "explain", "fit", "op matmul")


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_a_training_step_are_shown_on_request(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*name.split(), "--help"]) == 0
    short = capsys.readouterr().out
    assert run([*name.split(), "--help-all"]) == 0
    whole = capsys.readouterr().out
    for heading in ("Options:", "Deployment options:", "Training options:", "Common options:"):
        assert f"\n{heading}\n" in whole
    assert "--train " in short
    assert "--lora-rank" not in short
    assert "--lora-rank" in whole
    assert "--help-all" in short


def test_behind_two_dashes_the_word_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "--", "--help-all"]) == 2
    assert "Training options" not in capsys.readouterr().out
