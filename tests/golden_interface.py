"""What every command takes, for a golden file, and what commands say of wrong input."""

from __future__ import annotations

import contextlib
import enum
import inspect
import io
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePath

import click
import pytest

from perfc import cli
from perfc.commands.shared.deployment_option import DeploymentOption
from tests.commands.invocations import commands

TYPE = (
    "min",
    "max",
    "min_open",
    "max_open",
    "clamp",
    "choices",
    "case_sensitive",
    "exists",
    "file_okay",
    "dir_okay",
    "allow_dash",
)
"""What is told of the type of an option."""
STATED = ("multiple", "nargs", "required", "is_flag", "show_default", "hidden", "is_eager")
USUAL = {"nargs": 1}


def interface() -> Iterator[str]:
    """Options and arguments with who has them, then what each command says of itself."""
    result: dict[str, list[str]] = {}
    own: list[str] = []
    for name, command in commands():
        for parameter in command.params:
            result.setdefault(told(parameter), []).append(name)
        first, _, _ = inspect.cleandoc(command.help or "").partition("\n")
        own.append(f"{name}: {first}")
    for line, names in sorted(result.items()):
        yield line
        yield f"  of {', '.join(names)}"
    yield from own


def told(parameter: click.Parameter) -> str:
    """One option or argument."""
    names = " ".join((*parameter.opts, *parameter.secondary_opts))
    words = [f"{names} {parameter.make_metavar(click.Context(click.Command('any')))}"]
    words += [typed(parameter.type)]
    words += [f"default {plain(parameter.default)}"]
    for key in STATED:
        value = getattr(parameter, key, None)
        if value and value != USUAL.get(key):
            words.append(key if value is True else f"{key} {value}")
    said = parameter.help_text() if isinstance(parameter, DeploymentOption) else None
    return f"{', '.join(words)}: {said or getattr(parameter, 'help', None) or ''}"


def typed(kind: click.ParamType) -> str:
    """Its type, with what it bounds."""
    stated = [
        f"{key} {plain(value)}"
        for key in TYPE
        if (value := getattr(kind, key, None)) is not None and value is not False
    ]
    return f"{type(kind).__name__}({', '.join(stated)})"


def plain(value: object) -> str:
    """A value as it reads on any machine."""
    match value:
        # releases of click differ in how a flag that nobody gives stands
        case None | False:
            return "none"
        case enum.Enum():
            return "none" if value.name == "UNSET" else value.name
        case PurePath():
            return value.as_posix()
        case list() | tuple():
            return f"({', '.join(map(plain, value))})"
        case _ if callable(value):
            return "computed"
        case _:
            return repr(value)


def refused(command: str, folder: Path) -> Iterator[str]:
    """What a command says of wrong input, with its exit code; it prints nothing else."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "98")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(shlex.split(command))
    assert not out.getvalue(), command
    yield from (f"[{code}] {err.getvalue().rstrip()}").splitlines()
