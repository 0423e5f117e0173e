"""``perfc targets``: list, show, add and validate target files."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.plain_text import say

from ..shared import names as _names
from ..shared.listing import examples
from ..shared.names import Names
from ..shared.options import names_in
from ..shared.output import emit, format_options

formats = format_options("text", "json", "markdown")
DOCUMENTS = {
    "target": "perfc.view.pages.target_views:TargetView",
    "targets": "perfc.view.pages.target_views:TargetsView",
    "target-list": "perfc.view.pages.target_views:TargetListView",
}
"""JSON documents of ``show`` (one and several targets) and ``list``, and their types."""


@click.group("targets", epilog=examples("targets list", "targets show a100"))
def command() -> None:
    """List, show, add and validate targets; every number of one names its source."""


@command.command("list", epilog=examples("targets list", "targets list --output-format json"))
@formats
def list_(form: str, output: Path | None) -> None:
    """List targets with their rates, and clusters; your own come first.

    Rates are the maker's. Markdown gives the page docs/targets.md.
    """
    from perfc.machine import list_clusters, list_machines, render_markdown
    from perfc.view.pages.target_views import list_json
    from perfc.view.pages.targets import clusters_text, list_text

    match form:
        case "markdown":
            emit(render_markdown(), output)
        case "json":
            emit(list_json(list_machines(), list_clusters()), output)
        case _:
            lists = f"{list_text(list_machines())}\n{clusters_text(list_clusters())}"
            emit(lists, output)


@command.command(
    "show", epilog=examples("targets show a100", "targets show a100 h100 --output-format json")
)
@click.argument("names", type=Names(_names.targets), metavar="NAME...", nargs=-1, required=True)
@formats
def show(names: tuple[str, ...], form: str, output: Path | None) -> None:
    """Show targets NAME (names or files): vendor rates and measured rates."""
    from perfc.machine import load_machine
    from perfc.view.pages.target_views import show_json
    from perfc.view.pages.targets import show_text

    # names are separated by blanks or commas
    machines = [load_machine(n) for name in names for n in names_in(name)]
    if not machines:
        raise click.UsageError("give the name of a target")
    if form == "json":
        emit(show_json(machines), output)
    else:
        emit("\n".join(show_text(m, markdown=form == "markdown") for m in machines), output)


@command.command("add", epilog=examples("targets add mine.toml", "targets add mine.toml --force"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite an existing target of that name.")
def add_(file: Path, force: bool) -> None:
    """Validate target FILE and copy it to your targets."""
    from perfc.machine import add

    say(str(add(file, overwrite=force)))


@command.command(
    "validate",
    epilog=examples("targets validate mine.toml", "targets validate mine.toml other.toml"),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.pass_context
def validate_(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Report every error in target FILEs; exit with 1 if there is one."""
    from perfc.machine import validate

    problems = [p for file in files for p in validate(file)]
    for problem in problems:
        say(problem)
    if problems:
        ctx.exit(1)
    say("nothing wrong")
