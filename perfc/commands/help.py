"""``perfc help``: what a command does and takes.

Group: help.
"""

from __future__ import annotations

import click

from ._examples import examples


@click.command("help", epilog=examples("help analyze", "help targets list"))
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Print the help of perfc, or of COMMAND and its parts: `perfc help targets list`."""
    context = ctx.find_root()
    for name in names:
        group = context.command
        found = group.get_command(context, name) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(f"no command {' '.join(names)!r}", context)
        context = click.Context(found, info_name=name, parent=context)
    click.echo(context.get_help())
