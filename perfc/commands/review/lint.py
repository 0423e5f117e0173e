"""``perfc lint``: find what slows a model down, and what fixing it gains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say

from ..shared import names as _names
from ..shared.prelude import (
    DeploymentOptions,
    Names,
    emit,
    format_options,
    grouped_command,
    model_options,
    names_in,
    output_format,
)
from ..shared.table import table_options
from ._budgets import by_project, slashed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.review.lint.engine import LintOutcome
    from perfc.review.lint.settings import Settings

FORMATS = ("text", "json", "csv", "markdown", "sarif", "github", "gitlab", "junit")
"""Output formats of findings; corrected models are ONNX."""
EXPLAINED = ("text", "json", "markdown")
"""Formats of `--explain`."""
UNREADABLE = 2
"""Exit code if a model cannot be read."""
DOCUMENTS = {
    "lint": "perfc.review.lint.formats.data_form:LintView",
    "rule": "perfc.review.lint.formats.rule_pages:RulesView",
}
"""JSON documents of the command, and the types that define their schemas."""
EVERY = "all"
"""Code that stands for every rule."""


@grouped_command("lint")
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILES...")
@model_options
@table_options("lint")
@click.option(
    "--explain",
    type=Names(_names.rules),
    is_flag=False,
    flag_value=EVERY,
    metavar="CODE",
    help="Explain a rule instead, or list 'all'; the page docs/rules.md is 'all' as markdown.",
)
@format_options(*FORMATS, also=("onnx",), words="With --fix the output is a model.")
def command(
    options: DeploymentOptions,
    files: tuple[str, ...],
    select: str,
    ignore: str,
    extend_select: str,
    min_gain: str,
    only_new: bool,
    against: str,
    statistics: bool,
    fix: bool,
    patch: bool,
    in_place: bool,
    explain: str | None,
    exit_zero: bool,
    form: str,
    output: Path | None,
) -> int:
    """Lint FILES (models, folders or traces), each with the nearest perfc.toml upwards.

    Each finding says how much time its fix saves on the target, or at most of a trace.
    """
    from perfc.review.lint.engine import Linter, joined, selected
    from perfc.review.lint.fixes.fix import fix_files
    from perfc.review.lint.formats.output import statistics as counted
    from perfc.review.lint.formats.rendered import rendered
    from perfc.review.lint.settings import parse_share, read_settings
    from perfc.review.lint.work import LintWork

    if explain is not None:
        return explained(explain, files, form, output)
    require(files)
    if patch:
        return show_patches(options, files, output)
    if in_place and not fix:
        raise click.UsageError("--in-place needs --fix")
    if output is not None:  # the error for a suffix of another format
        output_format(None, output, ("onnx",) if fix else FORMATS)
    check_together(form, against, only_new=only_new, statistics=statistics, fix=fix)

    def work_of(near: DeploymentOptions) -> LintWork:
        settings = read_settings(near.file)
        chosen = selected(settings, names_in(select), names_in(ignore), names_in(extend_select))
        return LintWork(
            Linter(settings, chosen, parse_share(min_gain) if min_gain else None),
            near.deployment(also=deployment_of(settings, near), also_at=f"{settings.path}: lint"),
            near.contents,
            revision=(against or "HEAD") if only_new else "",
            given=near.named,
            target=near.deployment().target if near.is_stated("target") else "",  # as traces name
        )

    projects = by_project(options, models_of(files, is_fix=fix), is_nearest)
    groups = [(work_of(near), paths) for near, paths in projects]
    if fix:
        return max(fix_files(work, paths, output, in_place=in_place) for work, paths in groups)
    outcome = joined(work.lint_all(paths) for work, paths in groups)
    text = counted(outcome) if statistics else rendered(outcome, form)
    emit(text, output, has_commands=form == "github")
    return verdict(outcome, exit_zero=exit_zero)


def show_patches(options: DeploymentOptions, files: Sequence[str], output: Path | None) -> int:
    """Write the edits that save time in the code of each module, as patches with their price."""
    from perfc.review.diff.priced import priced
    from perfc.review.diff.sides import SideSetting

    from .diff import model_of

    how = options.deployment()
    sides = (SideSetting(model_of(options, file), how, options.contents) for file in files)
    emit("\n".join(map(priced, sides)), output)
    return 0


def check_together(form: str, against: str, *, only_new: bool, statistics: bool, fix: bool) -> None:
    """Check that the options go together.

    Raises:
        UsageError: they do not.
    """
    if form not in ("text", "onnx") and (fix or statistics):
        raise click.UsageError(f"{'--fix' if fix else '--statistics'} prints text, not {form}")
    if against and not only_new:
        raise click.UsageError("--against needs --new")
    if only_new and fix:
        raise click.UsageError("--fix also changes what --new leaves out")


def explained(code: str, files: Sequence[str], form: str, output: Path | None) -> int:
    """Print the explanation of a rule, or of all rules, and return the exit code 0.

    Raises:
        click.UsageError: files next to the code, or a format of findings.
    """
    from perfc.review.lint.catalogue import find, infos
    from perfc.review.lint.formats.rule_pages import as_json, described, listing, page

    if files:
        raise click.UsageError("--explain takes one rule and no files")
    if form not in EXPLAINED:
        raise click.UsageError(f"--explain prints {', '.join(EXPLAINED)}, not {form}")
    rules = infos() if code.lower() == EVERY else (find(code),)
    if form == "json":
        text = as_json(rules)
    elif code.lower() != EVERY:
        text = described(*rules)
    else:
        text = page() if form == "markdown" else listing()
    emit(text, output)
    return 0


def require(files: Sequence[str]) -> None:
    """Refuse a call without FILES, as click does for a required argument."""
    if not files:
        ctx = click.get_current_context()
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])


def models_of(files: Sequence[str], *, is_fix: bool) -> list[str]:
    """Return files and the models of folders, of which fixes are for ONNX files only."""
    from perfc.frontend.reading.folder import ONNX, SUFFIXES, expanded

    return expanded(map(slashed, files), ONNX if is_fix else SUFFIXES)


def is_nearest(_path: Path, _file: str) -> bool:
    """Return True: the nearest project file configures linting, whatever it contains."""
    return True


def deployment_of(settings: Settings, options: DeploymentOptions) -> dict[str, object]:
    """Return the deployment fields of ``[lint]`` that the command line does not set."""
    # options of the command line take precedence over the file
    of_lint = {"target": settings.target, "runtime": settings.runtime}
    return {k: v for k, v in of_lint.items() if v and options.fields[k] is None}


def verdict(outcome: LintOutcome, *, exit_zero: bool) -> int:
    """Print an error for each model that cannot be read; return the exit code, 1 for findings."""
    for line in outcome.errors:
        say(f"error: {line}", is_error=True)
    if outcome.errors:
        return UNREADABLE
    return 1 if outcome.count and not exit_zero else 0
