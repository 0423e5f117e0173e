"""``perfc dev web``: build the page that runs perfc in a browser, for any file server."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.plain_text import say

from ..shared.listing import examples
from ..shared.table import table_options


@click.command("web", epilog=examples("dev web public", "dev web public --no-numpy"))
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@table_options("web")
def command(out: Path, numpy: Path | None, no_numpy: bool) -> None:
    """Build the page that runs perfc in a browser into folder OUT.

    Downloads Pyodide from npm and wheels from PyPI, as those clients are configured, and checks
    each against a pinned hash; needs Node.js. The page itself requests only files of OUT.
    """
    from perfc.commands.web.build import build

    build(out, numpy=numpy, has_numpy=not no_numpy, report=lambda step: say(step, is_error=True))
    size = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    say(f"{out}: {size / 1e6:.1f} MB; serve it with `python -m http.server -d {out}`")
