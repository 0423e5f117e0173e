"""``perfc rule``: what a rule of the linter does, and why."""

from __future__ import annotations

import click


@click.command("rule")
@click.argument("code", required=False)
@click.option("--all", "is_page", is_flag=True, help="The whole page docs/rules.md.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text")
def command(code: str | None, is_page: bool, output_format: str) -> None:
    """Explain the rule CODE, as in `perfc rule PF101`; without it, list all."""
    from perfc.lint.catalogue import find, infos
    from perfc.lint.rule_pages import as_json, described, listing, page

    if code is not None and is_page:
        raise click.UsageError("give a rule or --all, not both")
    if output_format == "json":
        click.echo(as_json((find(code),) if code is not None else infos()), nl=False)
    elif code is not None:
        click.echo(described(find(code)), nl=False)
    else:
        click.echo(page() if is_page else listing(), nl=False)
