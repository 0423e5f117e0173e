"""The budgets that `perfc check` and `perfc baseline` work under, stated or built in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from perfc.check.config import Config

    from ._deployment import DeploymentOptions

Group = tuple["DeploymentOptions", tuple[str, ...]]
"""Options under one file of a project, and the models that it is about."""


def budgets_of(
    options: DeploymentOptions, files: Sequence[str]
) -> list[tuple[Config, tuple[str, ...]]]:
    """The budgets of each project, and its ``files``; none of them stand for all its models.

    Budgets are those of the nearest file upwards of a model that are about it, else the nearest,
    else built-in ones. Without ``files`` and a file of a project here, projects below are looked
    for.

    Raises:
        ParseError: the file of a project is not as it should be.
        ModelError: too many models.
    """
    from perfc.check import built_in

    if options.values:
        raise click.UsageError("budgets are for many models, and --value is for one")
    groups = by_project(options, [slashed(f) for f in files], about(options))
    if not files and options.file is None:
        nested = by_project(options, built_in.models_in(Path.cwd()), about(options))
        if any(own.file is not None for own, _ in nested):
            groups = [(own, () if own.file is not None else models) for own, models in nested]
    return [(in_group(own, models), models) for own, models in groups]


def by_project(
    options: DeploymentOptions, files: Sequence[str], is_about: Callable[[Path, str], bool]
) -> list[Group]:
    """Options under the file of the project nearest to each of ``files``, one group a project.

    It is the nearest upwards, up to the root of the repository, for which ``is_about`` holds; where
    it holds for none, or the command line names a file, that of the current folder.
    """
    if not files or options.config is not None or options.isolated:
        return [(options, tuple(files))]
    groups: dict[Path | None, list[str]] = {}
    for file in files:
        found = next((p for p in upwards_of(file) if is_about(p, file)), options.file)
        groups.setdefault(found, []).append(file)
    return [
        (options if path == options.file else replace(options, config=path), tuple(models))
        for path, models in groups.items()
    ]


def upwards_of(file: str) -> Iterator[Path]:
    """Files of projects upwards of a model in its repository, the nearest first."""
    from perfc.project_file import upwards
    from perfc.repository import root_of

    folder = Path(file).absolute().parent.resolve()
    return upwards(folder, root_of(folder))


def about(options: DeploymentOptions) -> Callable[[Path, str], bool]:
    """Whether the budgets of a file are about a model."""
    from perfc.check import config as configs
    from perfc.check.run import relative

    known: dict[Path, Config] = {}

    def is_about(path: Path, file: str) -> bool:
        if path not in known:
            known[path] = configs.load(path, options.typed())
        found = known[path]
        return any(b.covers(relative(found, file)) for b in found.budgets)

    return is_about


def slashed(file: str) -> str:
    """A path as Windows writes it with slashes, where that is the file that is there."""
    other = file.replace("\\", "/")
    return other if not os.path.exists(file) and os.path.exists(other) else file


def in_group(options: DeploymentOptions, files: Sequence[str]) -> Config:
    """The budgets of one project, built-in ones where it has none."""
    from perfc.check import built_in

    stated = options.budgets() if options.file is not None else None
    if stated is not None and stated.budgets:
        return stated
    root = stated.root if stated is not None else built_in.root_of(files, Path.cwd())
    models = () if files else built_in.models_in(root)
    found = built_in.budgets(root, models, options.deployment())
    return found if stated is None else replace(found, path=stated.path, lock=stated.lock)
