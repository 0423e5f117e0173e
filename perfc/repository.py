"""The repository of git around a folder, and names of files from its root."""

from __future__ import annotations

import os
from pathlib import Path


def root_of(folder: Path) -> Path | None:
    """The top of the repository around ``folder``, a worktree or submodule too; None without."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)


def base() -> tuple[Path, bool]:
    """The folder that pipelines name files from, and whether it is the root of a repository.

    That is the root of the repository around the current folder, or the current folder itself.
    """
    here = Path.cwd()
    root = root_of(here)
    return root or here, root is not None


def from_base(path: str) -> str:
    """``path``, which is from the current folder, from `base`; absolute where it lies elsewhere."""
    folder = base()[0]
    whole = os.path.abspath(path)
    for place in (whole, os.path.join(os.path.realpath(os.path.dirname(whole)), Path(whole).name)):
        if Path(place).is_relative_to(folder):
            return Path(place).relative_to(folder).as_posix()
    return whole


def from_here(root: Path, name: str) -> str:
    """A file, named from ``root``, from the current folder, with slashes."""
    return Path(os.path.relpath(root.resolve() / name)).as_posix()
