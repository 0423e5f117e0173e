"""The budgets that `perfc check` and `perfc baseline` work under, stated or built in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from perfc.check.config import Config

    from ._deployment import DeploymentOptions


def budgets_of(options: DeploymentOptions, files: Sequence[str]) -> Config:
    """The budgets of the project, else built-in ones of ``files``, or of all its models.

    Raises:
        ParseError: the file of the project is not as it should be.
        ModelError: too many models.
    """
    from perfc.check import built_in

    if options.values:
        raise click.UsageError("budgets are for many models, and --value is for one")
    stated = options.budgets() if options.file is not None else None
    if stated is not None and stated.budgets:
        return stated
    root = stated.root if stated is not None else built_in.root_of(files, Path.cwd())
    models = () if files else built_in.models_in(root)
    found = built_in.budgets(root, models, options.deployment())
    return found if stated is None else replace(found, path=stated.path, lock=stated.lock)
