"""``perfc check``: check models against their budgets, for hooks and CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.common.plugins import may_run

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    emit,
    format_options,
    grouped_command,
    model_options,
    show_document,
)
from ..shared.table import table_options
from ._budgets import budgets_of, left_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.review.check.run import CheckResult
    from perfc.review.check.views import CheckViews

FINDINGS = 1
"""Exit code if a model exceeds its budget."""
UNREADABLE = 2
"""Exit code if a model cannot be read; it outweighs findings, as the check is not whole."""
FORMS = {"text", "json", "markdown"}
"""Formats of a baseline."""
INCOMPLETE = 3
"""Exit code under ``--strict`` of an incomplete check."""
ACCENTS = {
    r"^ *FAIL\b": "bold red",
    r"^ *warn\b": "yellow",
    r"^ *.*\bover budget\b.*": "bold red",
    r"^ *intended\?": "bold",
}
"""Highlighted words, with their styles."""
DOCUMENTS = {
    "check": "perfc.review.check.views:CheckViews",
    "baseline": "perfc.review.check.lock.lock_view:BaselineView",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("check")
@click.argument("files", nargs=-1, type=click.Path())
@model_options
@table_options("check")
@format_options("text", "json", "csv", "markdown", "sarif", "github", "gitlab", "junit")
@color_option
def command(
    options: DeploymentOptions,
    files: tuple[str, ...],
    against: str,
    base: str,
    why: bool,
    form: str,
    output: Path | None,
    exit_zero: bool,
    strict: bool,
    no_cache: bool,
    write_baseline: bool,
    show_baseline: bool,
    comment: bool,
    policy: str,
    terms: str,
    cloud: str,
) -> int:
    """Check FILES (default: every model with a budget) against budgets and baseline.

    Each file is under the budgets of the nearest perfc.toml upwards of it that is about it, up to
    the root of the repository. Options that say how models are run win over the file. Budgets are
    [[budget]] tables of perfc.toml, or of pyproject.toml as [[tool.perfc.budget]]; `perfc init`
    writes some, and without any built-in ones hold. [[models]] tables run the modules that they
    name, unless --no-code or PERFC_NO_CODE=1 refuses them. A budget:

    \b
        [[budget]]
        model = "models/**/*.onnx"
        target = "a100"
        dims = { batch = 8 }
        flop = { warn = "+0%", fail = "+5%" }
        peak_memory = { max = "400 MiB" }
        time = { max = "2.5 ms", fail = "+10%" }
        unknown = "1%"
    """  # noqa: D301
    from perfc.review.check import views

    from . import _baseline

    # a comment is markdown or text, as it is for readers
    if (show_baseline or comment) and form not in (FORMS - {"json"} if comment else FORMS):
        raise click.UsageError(f"no {form} of a baseline or comment")
    if write_baseline:
        return _baseline.store(options, files)
    if show_baseline:
        return _baseline.show(options.config, form, output)
    if comment:
        return show_comment(files, policy, output)
    if against and base:
        raise click.UsageError("--base makes the baseline that --against reads")
    results = checked(options, files, against, base, why=why, is_cached=not no_cache)
    shown = views.collect(*results)
    show(shown, form, output)
    if form == "text":
        for line in shown.errors:
            say(f"error: {line}", is_error=True)
    return code(shown, exit_zero=exit_zero, strict=strict)


def checked(
    options: DeploymentOptions,
    files: Sequence[str],
    against: str,
    base: str,
    *,
    why: bool,
    is_cached: bool,
) -> Sequence[CheckResult]:
    """Return the result of each project; ``why`` adds the operators behind its changes."""
    from perfc.review.check import run
    from perfc.review.check.lock.lineage import with_moved

    revision = base or against or "HEAD"
    groups = budgets_of(options, files)
    # without permission to run code, the module at the base revision is an error, which a cached
    # figure would hide
    is_cached = is_cached and (not base or may_run())
    opened = [
        (
            project,
            run.at_base(project, models, base, is_cached=is_cached)
            if base
            else run.opened(project, against),
        )
        for project, models in groups
    ]
    # a model that was renamed keeps its baseline, which may be in another project: behind the
    # projects of ``groups`` come projects that renamed models left
    opened += [
        (project, run.opened(project, against))
        for project in left_by(options, files, revision)
        if all(project.root != other.root for other, _ in opened)
    ]
    results = [
        run.check(
            project,
            models,
            against=with_moved(project, baseline, opened),
            revision=revision,
            is_cached=is_cached,
        )
        # `opened` also has the projects that renamed models left
        for (project, models), (_, baseline) in zip(groups, opened, strict=False)
    ]
    if not why:
        return results
    from perfc.review.check.why import explained

    return [explained(result, revision) for result in results]


def show(shown: CheckViews, form: str, output: Path | None) -> None:
    """Write a check in the given format."""
    from perfc.review.check import pipelines, views
    from perfc.review.pipelines import annotation

    match form:
        case "json":
            emit(views.to_json(shown), output)
        case "csv":
            emit(views.to_csv(shown), output)
        case "github":
            emit(annotation.github(pipelines.annotated(shown)), output, has_commands=True)
        case "gitlab":
            emit(annotation.code_quality(pipelines.annotated(shown)), output)
        case "junit":
            emit(pipelines.junit_xml(shown), output)
        case "sarif":
            from perfc.view.report.formats import json_form

            emit(json_form.strict(pipelines.sarif(shown), indent=2) + "\n", output)
        case _:
            whole = views.document(shown, with_errors=form != "text")
            show_document(whole, form, output, ACCENTS)


def show_comment(files: Sequence[str], policy: str, output: Path | None) -> int:
    """Write the JSON of a check as a pull-request comment, if the policy requires one.

    Raises:
        UsageError: not one file.
    """
    from perfc.review.check import comment

    if len(files) != 1:
        raise click.UsageError("--comment is of one FILE, which perfc check -o check.json writes")
    result = comment.load(Path(files[0]))
    emit(comment.render(result, comment.CommentPolicy(policy)), output)
    return 0


def code(result: CheckViews, *, exit_zero: bool, strict: bool) -> int:
    """Return the exit code: unreadable models first, then budgets, then incompleteness."""
    if result.errors:
        return UNREADABLE
    if result.outcome == "fail" and not exit_zero:
        return FINDINGS
    return INCOMPLETE if strict and not result.is_complete else 0
