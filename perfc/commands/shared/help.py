"""Help on one screen, with every option in sections for ``--help-all``; default subcommands.

`grouped_command` makes a command with it, `DefaultGroup` a group with a default subcommand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from textwrap import shorten
from typing import Any

import click

from .deployment_option import SIZES, DeploymentOption
from .listing import examples
from .table import TABLE

_SHOWN = "perfc.help_all"
"""Context key that is set when every option is shown."""
MOST_LINES = 25
"""Lines of ``--help``: a terminal of 24 lines and the prompt above it."""
WIDEST_TERM = 28
"""Maximum characters of an option in ``--help``, so that its text stays on the line."""
FIRST = (
    *("to", "isl", "osl", "concurrency", "rate", "gpus"),
    *("target", "batch", "dtype", "runtime", "train"),
)
"""Options that most calls of a command have, first on its screen: sizes, then the deployment."""
LAST = ("input", "kwargs", "jax", "color", "help", "help-all")
"""Options at the end of a section: rare options, and options that every command has."""
_SHARED = ("config", "isolated", "help-all", "help")
"""Options of every command, in the last section of ``--help-all``."""


class HelpSection(Enum):
    """Section of the help, by heading."""

    COMMAND = "Options"
    DEPLOYMENT = "Deployment options"
    STEP = "Training options"
    SHARED = "Common options"


def flag_of(option: click.Parameter) -> str:
    """Return the longest flag of an option, without dashes."""
    return max(option.opts, key=len).lstrip("-")


def section_of(option: click.Parameter) -> HelpSection:
    """Return the section of an option."""
    name = flag_of(option)
    if isinstance(option, DeploymentOption):
        return HelpSection.STEP if option.declared.is_of_step else HelpSection.DEPLOYMENT
    if option.name in SIZES:
        return HelpSection.DEPLOYMENT
    return HelpSection.SHARED if name in _SHARED else HelpSection.COMMAND


def show_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    """Print the help with every option and exit."""
    if value:
        ctx.meta[_SHOWN] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class HelpAll(click.Command):
    """Command whose ``--help`` is one screen, and whose ``--help-all`` has every option."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=show_all,
            help="Show all options, with their help in full.",
        )
        self.params.append(help_all)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one screen, or the whole help with ``--help-all``."""
        if ctx.meta.get(_SHOWN):
            super().format_help(ctx, formatter)
        else:
            formatter.write(screen(self, ctx, formatter.width))

    def options_of(self, ctx: click.Context) -> Iterator[tuple[click.Parameter, click.Context]]:
        """Yield the options of the screen, each with its context."""
        yield from ((option, ctx) for option in self.get_params(ctx))


def screen(command: HelpAll, ctx: click.Context, width: int) -> str:
    """Return the help on one screen: the first paragraph, and the options that fit in a line each.

    The deployment options that most calls have come first, the others in the order of the file.
    """
    before, after = click.HelpFormatter(width=width), click.HelpFormatter(width=width)
    command.format_usage(ctx, before)
    before.write_paragraph()
    with before.indentation():
        # click: text behind \f is not shown, and \b forbids to fill a paragraph
        first = (command.help or "").partition("\f")[0].replace("\b\n", "").partition("\n\n")[0]
        before.write_text(first)
    if isinstance(command, click.Group):
        # 60 characters of the summary fit on the line behind a name
        rows = [(name, command.commands[name].get_short_help_str(60)) for name in command.commands]
        with before.section("Commands"):
            before.write_dl(rows)
    command.format_epilog(ctx, after)
    options = sorted(command.options_of(ctx), key=lambda o: rank_of(o[0]))
    records = [r for o, inner in options for r in record_of(o, inner)]
    lines = (before.getvalue() + after.getvalue()).count("\n")
    # the last 2 rows, of --help and --help-all, are always shown; 3 lines are the heading of the
    # options with an empty line before and after them
    room = max(MOST_LINES - lines - 3, 2)
    shown = (*records[: room - 2], *records[-2:]) if len(records) > room else records
    widest = max(len(term) for term, _ in shown)
    # click indents a row by 2 characters, and separates option and text by 2
    with before.section("Options"):
        before.write_dl(
            [(t, shorten(text, width - widest - 4, placeholder=" …")) for t, text in shown]
        )
    return f"{before.getvalue()}\n{after.getvalue()}"


def rank_of(option: click.Parameter) -> int:
    """Return the place of an option on the screen.

    Required options come first, then `FIRST`, other options of the command, options of other
    sections, and `LAST`.
    """
    name = flag_of(option)
    if option.required:
        return 0
    if name in FIRST:
        return 1 + FIRST.index(name)
    if name in LAST:
        return len(FIRST) + 3 + LAST.index(name)
    return len(FIRST) + 1 + (section_of(option) is not HelpSection.COMMAND)


def record_of(option: click.Parameter, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the row of an option, without its choices, range and further sentences."""
    row = None if isinstance(option, click.Argument) else option.get_help_record(ctx)
    if row is not None:
        # ``--format [text|json]`` becomes ``--format CHOICE``; of two flags that are too long
        # together, the first stays
        term = re.sub(r" \[.*\|.*", " CHOICE", row[0].removesuffix(" RANGE"))
        if len(term) > WIDEST_TERM:
            term = term.split("/")[0].strip()
        # the first sentence, without click's range or default in brackets
        yield term, re.split(r"(?<!e\.g)\. |  \[", row[1])[0].rstrip(".")


class GroupedCommand(HelpAll):
    """Command whose options stand in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        rows: dict[HelpSection, list[tuple[str, str]]] = {section: [] for section in HelpSection}
        for option in self.get_params(ctx):
            row = None if isinstance(option, click.Argument) else option.get_help_record(ctx)
            if row is not None:
                rows[section_of(option)].append(row)
        for section, records in rows.items():
            if records:
                with formatter.section(section.value):
                    formatter.write_dl(records)


def grouped_command(name: str, epilog: str = "") -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Decorate a function as a `GroupedCommand`, with the examples of the table."""
    calls = epilog or examples(*TABLE["examples"][name])
    return click.command(name, cls=GroupedCommand, epilog=calls)


class DefaultGroup(HelpAll, click.Group):
    """Group with a default subcommand, named by a subclass."""

    command_class = GroupedCommand
    default = ""
    usage = ""
    """Call without the name of the default subcommand, for help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default subcommand if none is named."""
        known = (*self.commands, *self.get_help_option_names(ctx), "--help-all")
        if args and args[0] not in known:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Insert the default subcommand when resolving, for completion."""
        if args and args[0] not in self.commands:
            args = [self.default, *args]
        return super().resolve_command(ctx, args)

    def options_of(self, ctx: click.Context) -> Iterator[tuple[click.Parameter, click.Context]]:
        """Yield the options of the default subcommand, then the options of the group."""
        main = self.commands[self.default]
        inner = click.Context(main, info_name=self.default, parent=ctx)
        # the group has --help-all as well
        yield from ((o, inner) for o in main.params if o.name != "help_all")
        yield from super().options_of(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, then the options of the default subcommand."""
        super().format_options(ctx, formatter)
        main = self.commands[self.default]
        inner = click.Context(main, info_name=self.default, parent=ctx)
        records = (p.get_help_record(inner) for p in main.get_params(inner))
        title = f"Options of {self.default}, which may be left out: {self.usage}"
        with formatter.section(title):
            formatter.write_dl([r for r in records if r is not None])
