"""``perfc check``: check models against their budgets, for hooks and CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    emit,
    examples,
    format_options,
    grouped_command,
    model_options,
    show_document,
)
from ._budgets import budgets_of, left_by

if TYPE_CHECKING:
    from perfc.review.check.views import CheckViews

FINDINGS = 1
UNREADABLE = 2
INCOMPLETE = 3
ACCENTS = {
    r"^ *FAIL\b": "bold red",
    r"^ *warn\b": "yellow",
    r"^ *.*\bover budget\b.*": "bold red",
    r"^ *intended\?": "bold",
}
"""Highlighted words, with their styles."""
DOCUMENT = ("check", "perfc.review.check.views:CheckViews")
"""JSON document of the command, and the type that defines its schema."""


@grouped_command(
    "check", epilog=examples("check", "check model.onnx --output-format json -o check.json")
)
@click.argument("files", nargs=-1, type=click.Path())
@model_options
@click.option(
    "--against",
    default="",
    metavar="REV",
    help="Compare with the baseline committed in git revision REV.",
)
@click.option("--why", is_flag=True, help="Show which operators explain the change since HEAD.")
@format_options("text", "json", "csv", "markdown", "sarif", "github", "gitlab", "junit")
@color_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if a budget is exceeded.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 3 if a figure is only a lower bound or a model has no baseline.",
)
@click.option("--no-cache", is_flag=True, help="Reanalyze unchanged models too.")
def command(
    options: DeploymentOptions,
    files: tuple[str, ...],
    against: str,
    why: bool,
    form: str,
    output: Path | None,
    exit_zero: bool,
    strict: bool,
    no_cache: bool,
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
    from perfc.review.check import run, views
    from perfc.review.check.lock.lineage import with_moved

    revision = against or "HEAD"
    groups = budgets_of(options, files)
    known = [(project, run.opened(project, against)) for project, _ in groups]
    known += [
        (project, run.opened(project, against))
        for project in left_by(options, files, revision)
        if all(project.root != other.root for other, _ in known)
    ]
    results = [
        run.check(
            project,
            models,
            against=with_moved(project, baseline, known),
            revision=revision,
            is_cached=not no_cache,
        )
        for (project, models), (_, baseline) in zip(groups, known, strict=False)
    ]
    if why:
        from perfc.review.check.why import explained

        results = [explained(result, revision) for result in results]
    shown = views.collect(*results)
    show(shown, form, output)
    if form == "text":
        for line in shown.errors:
            say(f"error: {line}", is_error=True)
    return code(shown, exit_zero=exit_zero, strict=strict)


def show(shown: CheckViews, form: str, output: Path | None) -> None:
    """Write a check in the given format."""
    from perfc.review.check import views

    match form:
        case "json":
            emit(views.to_json(shown), output)
        case "csv":
            emit(views.to_csv(shown), output)
        case "github" | "gitlab" | "junit":
            emit_for_ci(shown, form, output)
        case "sarif":
            from perfc.review.check.pipelines import sarif
            from perfc.view.report.formats import json_form

            emit(json_form.strict(sarif(shown), indent=2) + "\n", output)
        case _:
            whole = views.document(shown, with_errors=form != "text")
            show_document(whole, form, output, ACCENTS)


def emit_for_ci(shown: CheckViews, form: str, output: Path | None) -> None:
    """Write a check in a format of CI systems."""
    from perfc.review.check import pipelines
    from perfc.view.report import annotation

    match form:
        case "github":
            emit(annotation.github(pipelines.annotated(shown)), output, has_commands=True)
        case "gitlab":
            emit(annotation.code_quality(pipelines.annotated(shown)), output)
        case _:
            emit(pipelines.junit_xml(shown), output)


def code(result: CheckViews, *, exit_zero: bool, strict: bool) -> int:
    """Return the exit code: unreadable models first, then budgets, then incompleteness."""
    if result.errors:
        return UNREADABLE
    if result.outcome == "fail" and not exit_zero:
        return FINDINGS
    return INCOMPLETE if strict and not result.is_complete else 0
