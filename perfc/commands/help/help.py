"""``perfc help``: show the help of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say

from ..shared.examples import examples
from ..shared.former import words_of
from ..shared.names import completed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def subcommands(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return commands, or subcommands of the commands typed so far."""
    context = named(ctx.find_root(), ctx.params.get("names") or ())
    if context is None or not isinstance(context.command, click.Group):
        return []
    return completed(context.command.list_commands(context), incomplete)


def named(context: click.Context, names: tuple[str, ...]) -> click.Context | None:
    """Return the context of a command by its words, or None."""
    for name in names:
        group = context.command
        inner = group.get_command(context, name) if isinstance(group, click.Group) else None
        if inner is None:
            return None
        context = click.Context(inner, info_name=name, parent=context)
    return context


@click.command("help", epilog=examples("help analyze", "help targets list"))
@click.argument("names", nargs=-1, metavar="[COMMAND]...", shell_complete=subcommands)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Print the help of perfc or of COMMAND: `perfc help targets list`."""
    if words := words_of(names[0]) if names else ():
        now = tuple(word for word in words if not word.startswith("-"))
        say(f"note: perfc {names[0]} is now perfc {' '.join(words)}", is_error=True)
        names = (*now, *names[1:])
    context = named(ctx.find_root(), names)
    if context is None:
        raise click.UsageError(f"no command {' '.join(names)!r}", ctx.find_root())
    click.echo(context.get_help())
