"""Help in sections, training options only with ``--help-all``; default subcommands."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import click

from .deployment_option import SIZES, TRAINING, DeploymentOption

_SHOWN = "perfc.help_all"
"""Context key that is set when every option is shown."""
_SHARED = ("config", "isolated", "help_all", "help")


class HelpSection(Enum):
    """Section of the help, by heading."""

    COMMAND = "Options"
    DEPLOYMENT = "Deployment options"
    STEP = "Training options"
    SHARED = "Common options"


def section_of(option: click.Parameter) -> HelpSection:
    """Return the section of an option."""
    name = option.name
    if isinstance(option, DeploymentOption):
        return HelpSection.STEP if option.field in TRAINING else HelpSection.DEPLOYMENT
    if name in SIZES:
        return HelpSection.DEPLOYMENT
    return HelpSection.SHARED if name in _SHARED else HelpSection.COMMAND


def show_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    """Print the help with every option and exit."""
    if value:
        ctx.meta[_SHOWN] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class GroupedCommand(click.Command):
    """Command with grouped help; of the training options only ``--train`` is shown."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=show_all,
            help="Show this help with all options, including those of training steps.",
        )
        self.params.append(help_all)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section; training options only with ``--help-all``."""
        is_whole = bool(ctx.meta.get(_SHOWN))
        rows: dict[HelpSection, list[tuple[str, str]]] = {section: [] for section in HelpSection}
        for option in self.get_params(ctx):
            section = section_of(option)
            if isinstance(option, click.Argument):
                continue
            if section is HelpSection.STEP and option.name != "train" and not is_whole:
                continue
            if (row := option.get_help_record(ctx)) is not None:
                rows[section].append(row)
        for section, records in rows.items():
            if records:
                with formatter.section(section.value):
                    formatter.write_dl(records)


def grouped_command(*args: Any, **more: Any) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Decorate a function as a `GroupedCommand`, like `click.command`."""
    return click.command(*args, cls=GroupedCommand, **more)


class DefaultGroup(click.Group):
    """Group with a default subcommand, named by a subclass."""

    default = ""
    usage = ""
    """Call without the name of the default subcommand, for help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default subcommand if none is named."""
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Insert the default subcommand when resolving, for completion."""
        if args and args[0] not in self.commands:
            args = [self.default, *args]
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, then the options of the default subcommand."""
        super().format_options(ctx, formatter)
        main = self.commands[self.default]
        inner = click.Context(main, info_name=self.default, parent=ctx)
        records = (p.get_help_record(inner) for p in main.get_params(inner))
        title = f"Options of {self.default}, which may be left out: {self.usage}"
        with formatter.section(title):
            formatter.write_dl([r for r in records if r is not None])
