"""Every command is in a group, and its help ends in two examples that work."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from perfc import cli
from perfc.passes.training.implementation import RecomputePolicy
from perfc.serving.search import search

from .invocations import prepare

LINK = "perfc "
PARSED = ("adapt", "calibrate", "data", "dev web", "eval", "mcp", "measure", "train", "ui")
"""Commands whose examples run for long, or need a device, a network, a client or tables."""


def helped() -> Iterator[str]:
    """Every command and every group, by the words that call it."""

    def inside(group: click.Group, words: tuple[str, ...]) -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            yield " ".join((*words, name))
            result = group.get_command(context, name)
            if isinstance(result, click.Group):
                yield from inside(result, (*words, name))

    return inside(cli.cli, ())


def calls_of(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The examples at the end of a command's help."""
    assert cli.run([*name.split(), "--help"]) == 0
    page = capsys.readouterr().out
    _, _, end = page.rpartition("\n  Examples:\n")
    return [line.strip() for line in end.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("XDG_DATA_HOME", str(path / "home"))
        patch.setenv("XDG_CONFIG_HOME", str(path / "home"))
        # searches look at few settings: what they find is of their own tests
        patch.setattr("perfc.serving.search.USERS", (8, 64))
        patch.setattr("perfc.serving.search.MOST_CHECKED", 1)
        patch.setitem(search.__kwdefaults__, "ranks", (1,))
        patch.setattr("perfc.distributed.service.MICRO_BATCHES", (1,))
        patch.setattr("perfc.distributed.service.CHECKPOINTINGS", (RecomputePolicy.NONE,))
        prepare(path)
        shutil.copy("model.onnx", "new.onnx")
        for name in ("data", "graphs", "models"):
            (path / name).mkdir()
        shutil.copy("model.onnx", "models/model.onnx")
        assert cli.run(["calibrate", "--device", "fake", "--quick", "-o", "mine.toml"]) == 0
        shutil.copy("mine.toml", "other.toml")
        assert cli.run(["dev", "ir", "model.onnx", "-o", "model.pir"]) == 0
        yield path


CALLED: set[str] = set()
"""Examples that stand in the help of a group, too."""


def parse(words: list[str]) -> None:
    """Parse a call as click does, to the command at its end."""
    context = cli.cli.make_context("perfc", words)
    while isinstance(context.command, click.Group):
        arguments = [*context._protected_args, *context.args]
        _, command, rest = context.command.resolve_command(context, arguments)
        assert command is not None
        context = command.make_context(command.name, rest, parent=context)


@pytest.mark.parametrize(
    ("before", "now", "note"),
    [
        ("passes", "dev passes", "passes is now perfc dev passes"),
        ("help dev ir", "dev ir --help", "help is now perfc --help"),
        ("rule", "lint --explain", "rule is now perfc lint --explain"),
        ("rule PF101", "lint --explain PF101", "rule is now perfc lint --explain"),
        ("bulk run --help", "bulk --help", "bulk run is now perfc bulk"),
        ("ncu --command train.py", "trace --command train.py", "ncu is now perfc trace"),
        (
            "scale gpt2 --seq 64 --gpus 1,2",
            "plan --curve gpt2 --seq 64 --gpus 1,2",
            "scale is now perfc plan --curve",
        ),
    ],
)
def test_a_former_name_works_with_a_note(
    before: str, now: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(before.split()) == 0
    former = capsys.readouterr()
    assert former.err == f"note: perfc {note}\n"
    assert cli.run(now.split()) == 0
    assert capsys.readouterr() == (former.out, "")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", sorted(helped()))
def test_help_ends_in_two_examples_that_work(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = calls_of(name, capsys)
    assert len(calls) == 2
    for call in calls:
        assert call.startswith(f"{LINK}{name}")
        if call in CALLED:
            continue
        CALLED.add(call)
        words = shlex.split(call.removeprefix(LINK))
        if "--help" in words or not name.startswith(PARSED):
            if words[0] == "init":
                words.append("--force")
            assert cli.run(words) in (0, 1), (call, capsys.readouterr().err)
        else:
            parse(words)
