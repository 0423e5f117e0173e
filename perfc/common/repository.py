"""Git repository of a folder, and file names relative to its root."""

from __future__ import annotations

import os
from pathlib import Path


def root_of(folder: Path) -> Path | None:
    """Return the root of the repository, worktree or submodule of ``folder``, or None."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)


def base() -> tuple[Path, bool]:
    """Return the folder to which CI file names are relative, and True if it is a repository root.

    It is the root of the current folder's repository, or the current folder itself.
    """
    here = Path.cwd()
    root = root_of(here)
    return root or here, root is not None


def from_base(path: str) -> str:
    """Make ``path`` relative to `base` instead of the current folder; absolute if outside."""
    folder = base()[0]
    whole = os.path.abspath(path)
    for place in (whole, os.path.join(os.path.realpath(os.path.dirname(whole)), Path(whole).name)):
        if Path(place).is_relative_to(folder):
            return Path(place).relative_to(folder).as_posix()
    return whole


def from_here(root: Path, name: str) -> str:
    """Make a file name relative to the current folder instead of ``root``, with slashes."""
    return Path(os.path.relpath(root.resolve() / name)).as_posix()
