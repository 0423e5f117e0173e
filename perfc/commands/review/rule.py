"""``perfc rule``: explain a lint rule."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared import names as _names
from ..shared.examples import examples
from ..shared.names import Names
from ..shared.output import emit, format_options

DOCUMENT = ("rule", "perfc.review.lint.formats.rule_pages:RulesView")
"""JSON document of the command, and the type that defines its schema."""


@click.command("rule", epilog=examples("rule", "rule PF101"))
@click.argument("code", type=Names(_names.rules), required=False)
@click.option("--all", "is_page", is_flag=True, help="Print the whole page docs/rules.md.")
@format_options("text", "json", "markdown")
def command(code: str | None, is_page: bool, form: str, output: Path | None) -> None:
    """Explain rule CODE, e.g. `perfc rule PF101`; without CODE, list all rules."""
    from perfc.review.lint.catalogue import find, infos
    from perfc.review.lint.formats.rule_pages import as_json, described, listing, page

    if code is not None and is_page:
        raise click.UsageError("give a rule or --all, not both")
    if form == "json":
        emit(as_json((find(code),) if code is not None else infos()), output)
    elif code is not None:
        emit(described(find(code)), output)
    else:
        emit(page() if is_page or form == "markdown" else listing(), output)
