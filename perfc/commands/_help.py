"""Help of commands that run a model: options in groups, those of training steps on request."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import click

from ._deployment_option import SIZES, DeploymentOption
from ._step_options import STEP

HELP_ALL = "--help-all"
_SHOWN = f"perfc.{HELP_ALL}"
"""Key of a context in which every option is shown."""
_SHARED = ("config", "isolated", "help")


class Section(Enum):
    """A group of options, under its heading."""

    COMMAND = "Options"
    DEPLOYMENT = "How the model runs"
    STEP = "Training step"
    SHARED = "Of every command"


def section_of(option: click.Parameter) -> Section:
    """Returns the group that an option is shown in."""
    name = (option.name or "").removeprefix("to_")
    if isinstance(option, DeploymentOption):
        return Section.STEP if option.field in STEP else Section.DEPLOYMENT
    if name in SIZES:
        return Section.DEPLOYMENT
    return Section.SHARED if name in _SHARED else Section.COMMAND


class GroupedCommand(click.Command):
    """A command whose help shows options in groups, and of training steps ``--train`` alone."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups; what a training step is only under ``--help-all``."""
        is_whole = bool(ctx.meta.get(_SHOWN))
        rows: dict[Section, list[tuple[str, str]]] = {section: [] for section in Section}
        for option in self.get_params(ctx):
            section = section_of(option)
            if isinstance(option, click.Argument):
                continue
            if section is Section.STEP and option.name != "train" and not is_whole:
                continue
            if (row := option.get_help_record(ctx)) is not None:
                rows[section].append(row)
        if rows[Section.STEP] and not is_whole:
            rows[Section.SHARED].append((HELP_ALL, "Show the options of a training step too."))
        for section, records in rows.items():
            if records:
                with formatter.section(section.value):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the whole help where it is requested."""
        if HELP_ALL in args[: args.index("--")] if "--" in args else HELP_ALL in args:
            ctx.meta[_SHOWN] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)


def grouped_command(*args: Any, **more: Any) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Decorate a function as a command whose help is in groups, as `click.command` does."""
    return click.command(*args, cls=GroupedCommand, **more)
