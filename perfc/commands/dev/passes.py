"""``perfc dev passes``: list the passes."""

from __future__ import annotations

import click

from perfc.common.plain_text import say

from ..shared.listing import examples


@click.command("passes", epilog=examples("dev passes", "dev passes --help"))
def command() -> None:
    """List the passes and their options."""
    from perfc.passes.pipeline import list_passes

    passes = list_passes()
    # 9: the longest kind is "transform"
    width = max((len(p.name) for p in passes), default=0)
    for p in passes:
        say(f"{p.name:{width}}  {p.kind:9}  {p.summary}")
        for option in p.options:
            say(f"{'':{width}}  {'':9}  {{{option}}}")
