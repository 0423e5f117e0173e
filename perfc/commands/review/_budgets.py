"""Budgets of `perfc check`, and the models that they cover: from project files or built in.

A project is a folder with a perfc.toml. `budgets_of` groups the files of a command by project;
models without a project have built-in budgets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.choice import member
from perfc.errors import ParseError

if TYPE_CHECKING:
    from perfc.review.check.config import Config

    from ..shared.deployment import DeploymentOptions

Group = tuple["DeploymentOptions", tuple[str, ...]]
"""Options with one project file, and the models that it covers."""


def budgets_of(
    options: DeploymentOptions, files: Sequence[str]
) -> list[tuple[Config, tuple[str, ...]]]:
    """Return the budgets of each project with its ``files``; no files means all its models.

    A model is under the budgets of the nearest project file above it that has one for the model,
    else of the nearest project file, else under built-in ones. Without ``files``, and without a
    project file for the current folder, projects below the folder are searched.

    Raises:
        ParseError: the file of a project is not as it should be.
        ModelError: too many models.
    """
    from perfc.frontend.reading.folder import models_in

    if options.values:
        raise click.UsageError("budgets are for many models, and --value is for one")
    groups = by_project(options, [slashed(f) for f in files], about(options))
    # the current folder contains projects: () stands for all models of a project, and models
    # outside of projects are named
    if not files and options.file is None:
        nested = by_project(options, models_in(Path.cwd()), about(options))
        if any(project.file is not None for project, _ in nested):
            groups = [
                (project, () if project.file is not None else models) for project, models in nested
            ]
    return [(in_group(project, models), models) for project, models in groups]


def left_by(options: DeploymentOptions, files: Sequence[str], revision: str) -> list[Config]:
    """Return the budgets of projects out of which files were renamed since a revision."""
    from perfc.common.repository import root_of
    from perfc.review.diff.revision import renamed

    root = root_of(Path.cwd())
    if root is None or not files or options.config is not None or options.isolated:
        return []
    # git's paths are relative to the root of the repository
    names = {os.path.relpath(os.path.abspath(f), root): f for f in files}
    former = [str(root / old) for new, old in renamed(root, revision).items() if new in names]
    groups = by_project(options, former, about(options)) if former else []
    return [in_group(project, models) for project, models in groups if project.file is not None]


def by_project(
    options: DeploymentOptions, files: Sequence[str], is_about: Callable[[Path, str], bool]
) -> list[Group]:
    """Group ``files`` by their nearest project file.

    The project file of a model is the nearest one above it, up to the root of the repository, for
    which ``is_about`` is True; without such a file, it is that of the current folder. With
    `--config` or `--isolated`, all files are one group.
    """
    if not files or options.config is not None or options.isolated:
        return [(options, tuple(files))]
    groups: dict[Path | None, list[str]] = {}
    for file in files:
        nearest = next((p for p in upwards_of(file) if is_about(p, file)), options.file)
        groups.setdefault(nearest, []).append(file)
    return [
        (options if path == options.file else replace(options, config=path), tuple(models))
        for path, models in groups.items()
    ]


def upwards_of(file: str) -> Iterator[Path]:
    """Yield the project files above a model in its repository, nearest first."""
    from perfc.common.repository import root_of
    from perfc.deployment.project_file import upwards

    folder = Path(file).absolute().parent.resolve()
    return upwards(folder, root_of(folder))


def about(options: DeploymentOptions) -> Callable[[Path, str], bool]:
    """Return a function that returns True if a budget of a project file covers a model."""
    from perfc.review.check import config as configs
    from perfc.review.check.planning import models_of

    known: dict[Path, Config] = {}

    def is_about(path: Path, file: str) -> bool:
        if path not in known:
            known[path] = configs.load(path, options.typed())
        config = known[path]
        models = models_of(config, (file,))
        return any(b.covers(model) for b in config.budgets for model in models)

    return is_about


def slashed(file: str) -> str:
    """Replace backslashes by slashes in a Windows path if that file exists."""
    other = file.replace("\\", "/")
    return other if not os.path.exists(file) and os.path.exists(other) else file


def in_group(options: DeploymentOptions, files: Sequence[str]) -> Config:
    """Return the budgets of one project, or the built-in budgets if it has none.

    Modules in ``files`` that no budget names get one without a file.
    """
    from perfc.frontend.reading.folder import models_in
    from perfc.frontend.reading.module_name import NamedModule
    from perfc.review.check import built_in
    from perfc.review.check.config import Budget, default_rules, load

    config = load(options.file, options.typed()) if options.file is not None else None
    from_line = {f: m for f in files if isinstance(m := options.named(f), NamedModule)}
    if config is None or not config.budgets:
        root = config.root if config is not None else built_in.root_of(files, Path.cwd())
        models = () if files else models_in(root)
        fallback = built_in.budgets(root, models, options.deployment())
        config = (
            fallback if config is None else replace(fallback, path=config.path, lock=config.lock)
        )
    # a module of the command line replaces the one of that name in the file, inputs included; a
    # budget of a module has its name as the only model
    replaced = [
        replace(b, module=from_line.get(b.models[0], b.module)) if b.module else b
        for b in config.budgets
    ]
    added = [
        Budget((name,), options.deployment(), default_rules(), module=module)
        for name, module in from_line.items()
        if not config.modules_of(name)
    ]
    config = replace(config, budgets=(*replaced, *added))
    return priced(config, options)


def priced(config: Config, options: DeploymentOptions) -> Config:
    """Return budgets with the prices of their targets, if one limits the cost.

    Raises:
        ParseError: no price in USD is known.
    """
    from perfc.deployment.prices import Offer, RentalTerms
    from perfc.machine import load_machine
    from perfc.review.diff.figures import Metric

    limited = [b for b in config.budgets if any(r.metric is Metric.COST for r in b.rules)]
    if not limited:
        return config
    given = click.get_current_context().params
    terms = member(RentalTerms, given.get("terms") or "on-demand", "--terms")
    prices = replace(options.prices, terms=terms, cloud=given.get("cloud") or "")
    offers: dict[str, Offer] = {}
    for b in limited:
        offer = prices.of(load_machine(b.target))
        if offer is None or offer.currency != "USD":
            what, hint = f"no price of {b.target} in USD is known", "set it in [prices]"
            raise ParseError(what, where=config.place(b.line), hint=hint)
        offers[b.target] = offer
    budgets = tuple(replace(b, offer=offers.get(b.target)) for b in config.budgets)
    return replace(config, budgets=budgets)
