"""Groups of commands: each file of a folder is one, imported when it is called.

`sections` names all modules for help, `command_of` imports the module of a called command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import click

from perfc.common import plugins

ROOT = Path(__file__).parents[1]
PACKAGE = "perfc.commands"
"""Package in the folder ``ROOT``."""
SECTIONS = ("analysis", "workloads", "measurement", "review", "help")
"""Folders of the commands that follow ``perfc``, in the order of its help."""
DEV = "dev"
"""Folder of the commands that follow ``perfc dev``."""
LAB = "laboratory"
"""Section of the commands of plug-ins."""


@cache
def modules_of(folder: str) -> Mapping[str, str]:
    """Return the module of each command of a folder by name."""
    files = os.listdir(ROOT / folder)
    stems = sorted(f.removesuffix(".py") for f in files if f.endswith(".py"))
    # files with an underscore are parts of commands
    names = (stem for stem in stems if not stem.startswith("_"))
    return {name.replace("_", "-"): f"{PACKAGE}.{folder}.{name}" for name in names}


def sections() -> Mapping[str, Mapping[str, str]]:
    """Return the modules of all commands by section and name."""
    built_in = {section: modules_of(section) for section in SECTIONS}
    extra = plugins.entries(plugins.COMMANDS)
    return {**built_in, DEV: {DEV: f"{PACKAGE}.{DEV}"}, **({LAB: extra} if extra else {})}


def module_of(name: str) -> str | None:
    """Return the module of a command; plug-ins are read only for a name that perfc lacks."""
    if name == DEV:
        return f"{PACKAGE}.{DEV}"
    built_in = (modules_of(section).get(name) for section in SECTIONS)
    return next(filter(None, built_in), None) or plugins.entries(plugins.COMMANDS).get(name)


def command_of(module: str) -> click.Command:
    """Return the ``command`` of a module."""
    command = import_module(module).command
    assert isinstance(command, click.Command)
    return command


def flags_of(command: click.Command) -> frozenset[str]:
    """Return the flags of a command's options, without those that its help hides."""
    options = (p for p in command.params if isinstance(p, click.Option) and not p.hidden)
    return frozenset(flag for p in options for flag in (*p.opts, *p.secondary_opts))


def takes(command: click.Command, spelled: str) -> bool:
    """Return True if a command has an option, with the value behind it: ``--runtime eager``."""
    from .names import Names

    flag, _, value = spelled.partition(" ")
    if flag not in flags_of(command):
        return False
    option = next(p for p in command.params if flag in (*p.opts, *p.secondary_opts))
    # in capitals stands the kind of value
    if isinstance(option.type, Names) and value[:1].islower():
        return value in option.type.known()
    return True


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of perfc itself, without plug-ins, by their words; imports them all."""
    for section in SECTIONS:
        for name, module in modules_of(section).items():
            yield from _inner(name, command_of(module))


def _inner(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path)
    for name in command.list_commands(context):
        if inner := command.get_command(context, name):
            yield from _inner(f"{path} {name}", inner)


def summary(module: str) -> str:
    """Return the first line of a command's file, which is not imported, without its name."""
    built_in = module.removeprefix(f"{PACKAGE}.").replace(".", "/")
    path = ROOT / built_in / "__init__.py" if built_in == DEV else ROOT / f"{built_in}.py"
    if not module.startswith(PACKAGE):
        path = plugins.file_of(module)
    with path.open(encoding="utf-8") as stream:
        line = stream.readline().strip().strip('"')
    # the line has ``perfc NAME``, a colon and the summary
    text = line.partition(": ")[2] or line
    return text[:1].upper() + text[1:]


def write_section(formatter: click.HelpFormatter, title: str, modules: Mapping[str, str]) -> None:
    """Write commands with their summaries as a section of a help page."""
    widest = max(map(len, modules))
    with formatter.section(title):
        formatter.write_dl([(f"{name:{widest}}", summary(m)) for name, m in modules.items()])


def examples(*calls: str) -> str:
    """Format example calls for the end of a command's help, one per line.

    Args:
        calls: arguments after ``perfc``; file names are those of ``tests/commands``.
    """
    return "\n".join(["\b", "Examples:", *(f"  perfc {call}" for call in calls)])


class Folder(click.Group):
    """A group whose commands are the files of one folder."""

    folder = DEV

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the files."""
        return list(modules_of(self.folder))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the ``command`` of the file of that name, None if there is none."""
        module = modules_of(self.folder).get(cmd_name)
        return None if module is None else command_of(module)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their summaries."""
        write_section(formatter, "Commands", modules_of(self.folder))
