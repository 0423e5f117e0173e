"""Baseline that `perfc check` compares with (perfc.lock): it is written, and shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.plain_text import say
from perfc.common.whole_file import write_output

from ..shared.prelude import DeploymentOptions, emit, show_document
from ._budgets import budgets_of

if TYPE_CHECKING:
    from perfc.review.check.config import Config

UNREADABLE = 2
"""Exit code if a model cannot be read, so that the baseline lacks it."""


def show(config: Path | None, form: str, output: Path | None) -> int:
    """Print the baseline as a table or JSON; return the exit code."""
    from perfc.deployment import Deployment, project_file
    from perfc.errors import ParseError
    from perfc.review.check import built_in, run
    from perfc.review.check import config as configs
    from perfc.review.check.lock import lock_view

    file = config or project_file.find(Path.cwd())
    here = built_in.root_of((), Path.cwd())
    budgets = configs.load(file) if file else built_in.budgets(here, (), Deployment())
    baseline = run.opened(budgets)
    if baseline.path is None:
        hint = "write one: perfc check --write-baseline"
        raise ParseError("no baseline", where=str(budgets.lock), hint=hint)
    if form == "json":
        emit(lock_view.to_json(baseline), output)
    else:
        show_document(lock_view.document(baseline, budgets.named(baseline.path)), form, output)
    return 0


def store(options: DeploymentOptions, files: Sequence[str]) -> int:
    """Analyze models and write the baseline of each project; return the exit code.

    A baseline stays as it was if a model of its project cannot be analyzed.
    """
    written = [renew(project, models) for project, models in budgets_of(options, files)]
    return UNREADABLE if None in written else 0


def renew(config: Config, files: Sequence[str]) -> Path | None:
    """Analyze the models of one project and write its baseline; None if one is unreadable."""
    from perfc.review.check import built_in, run
    from perfc.review.check.lock import digests, lock_file
    from perfc.review.check.lock.baseline import Baseline
    from perfc.view.report.units import plural

    # given some models, the entries of the others stay; for all models, the baseline is written
    # from nothing, and the old one is only counted
    old = run.opened(config) if files else lock_file.replaced(config.lock)
    entries, errors = run.renewed(config, old if files else Baseline(), files)
    for line in errors:
        say(f"error: {line}", is_error=True)
    name = config.shown(config.lock.relative_to(config.root).as_posix())
    if errors:
        say(f"{name} is as it was", is_error=True)
        return None
    text = lock_file.to_text(digests.predictor(), entries)
    # an equal file is not written again, so that its modification time stays
    is_same = config.lock.is_file() and config.lock.read_bytes() == text.encode()
    if not is_same:
        write_output(config.lock, text)
    changed = sum(old.entries.get(c) is None for c in entries)
    gone = sum(c not in entries for c in old.entries)
    count = plural(len(entries), "entry", "entries")
    state = "unchanged" if is_same else f"{count}, {changed} new, {gone} gone"
    say(f"{name}: {state}")
    # without a file of budgets, the message names the built-in budgets
    if config.built_in_of is not None:
        say(built_in.said(config))
    return config.lock
