"""``perfc baseline``: write the current figures of models as the baseline of later checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.common.whole_file import write_output

from ..shared.prelude import (
    DeploymentOptions,
    GroupedCommand,
    color_option,
    config_option,
    emit,
    examples,
    format_options,
    model_options,
    show_document,
)
from ._budgets import budgets_of

if TYPE_CHECKING:
    from perfc.review.check.config import Config

UNREADABLE = 2

DOCUMENT = ("baseline", "perfc.review.check.lock.lock_view:BaselineView")
"""JSON document of ``show``, and the type that defines its schema."""


@click.group("baseline", epilog=examples("baseline write", "baseline show"))
def command() -> None:
    """Write, show and update the baseline that `perfc check` compares with (perfc.lock)."""


@command.command(
    "write", cls=GroupedCommand, epilog=examples("baseline write", "baseline write model.onnx")
)
@model_options
@click.argument("files", nargs=-1, type=click.Path())
def write(options: DeploymentOptions, files: tuple[str, ...]) -> int:
    """Analyze FILES (default: every model with a budget) and write a new baseline."""
    return store(options, files, is_anew=True)


@command.command(
    "update", cls=GroupedCommand, epilog=examples("baseline update", "baseline update model.onnx")
)
@model_options
@click.argument("files", nargs=-1, type=click.Path())
def update(options: DeploymentOptions, files: tuple[str, ...]) -> int:
    """Analyze FILES (default: every model) and update their entries in the baseline."""
    return store(options, files, is_anew=not files)


@command.command("show", epilog=examples("baseline show", "baseline show --output-format json"))
@config_option
@format_options("text", "json", "markdown")
@color_option
def show(config: Path | None, form: str, output: Path | None) -> None:
    """Print the baseline as a table."""
    from perfc.deployment import Deployment, project_file
    from perfc.errors import ParseError
    from perfc.review.check import built_in, run
    from perfc.review.check import config as configs
    from perfc.review.check.lock import lock_view

    file = config or project_file.find(Path.cwd())
    here = built_in.root_of((), Path.cwd())
    budgets = configs.load(file) if file else built_in.budgets(here, (), Deployment())
    known = run.opened(budgets)
    if known.path is None:
        hint = "write one: perfc baseline write"
        raise ParseError("no baseline", where=str(budgets.lock), hint=hint)
    if form == "json":
        emit(lock_view.to_json(known), output)
    else:
        show_document(lock_view.document(known, budgets.named(known.path)), form, output)


def store(options: DeploymentOptions, files: Sequence[str], *, is_anew: bool) -> int:
    """Analyze and write; writes nothing if a model cannot be analyzed."""
    done = [
        renew(project, models, is_anew=is_anew) for project, models in budgets_of(options, files)
    ]
    return UNREADABLE if None in done else 0


def renew(config: Config, files: Sequence[str], *, is_anew: bool) -> Path | None:
    """Analyze the models of one project and write its baseline; None if one is unreadable."""
    from perfc.review.check import built_in, run
    from perfc.review.check.lock import digests, lock_file
    from perfc.review.check.lock.baseline import Baseline
    from perfc.view.report.units import plural

    is_anew = is_anew or not files
    old = lock_file.replaced(config.lock) if is_anew else run.opened(config)
    entries, errors = run.renewed(config, Baseline() if is_anew else old, files)
    for line in errors:
        say(f"error: {line}", is_error=True)
    name = config.shown(config.lock.relative_to(config.root).as_posix())
    if errors:
        say(f"{name} is as it was", is_error=True)
        return None
    text = lock_file.to_text(digests.predictor(), entries)
    same = config.lock.is_file() and config.lock.read_bytes() == text.encode()
    if not same:
        write_output(config.lock, text)
    changed = sum(old.entries.get(c) is None for c in entries)
    gone = sum(c not in entries for c in old.entries)
    count = plural(len(entries), "entry", "entries")
    state = "unchanged" if same else f"{count}, {changed} new, {gone} gone"
    say(f"{name}: {state}")
    if config.built_in_of is not None:
        say(built_in.said(config))
    return config.lock
