"""``perfc comment``: render a check as a pull-request comment."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared.examples import examples
from ..shared.output import emit, output_option


@click.command(
    "comment",
    epilog=examples("comment check.json", "comment check.json --policy always -o comment.md"),
)
@click.argument("check", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    type=click.Choice(["always", "on-change", "on-fail"]),
    default="on-change",
    show_default=True,
    help="When to write a comment.",
)
@output_option("markdown")
def command(check: Path, policy: str, output: Path | None) -> None:
    """Render CHECK, the JSON of `perfc check --output-format json`, as a Markdown comment.

    Its first line is a marker, so that the next run can find and update it:
    `gh pr comment` posts a new one, `gh api` with the marker updates in place (see docs/check.md).
    """
    from perfc.review.check import comment

    result = comment.load(check)
    text = comment.render(result) if comment.is_due(result, comment.CommentPolicy(policy)) else ""
    emit(text, output)
