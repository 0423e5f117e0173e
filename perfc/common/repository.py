"""Run git in the repository of a folder, find its root, and convert file names relative to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from perfc.errors import ModelError

OF_HOOKS = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE")
"""Environment variables that git sets for hooks."""
NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
"""Settings that keep git from starting programs that a repository's configuration names, as the
repository may be untrusted."""


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
    """Return a path relative to the folder of `base`; the absolute path if it lies outside."""
    folder, _ = base()
    whole = os.path.abspath(path)
    # as given, then with symbolic links of its folder resolved
    for place in (whole, os.path.join(os.path.realpath(os.path.dirname(whole)), Path(whole).name)):
        if Path(place).is_relative_to(folder):
            return Path(place).relative_to(folder).as_posix()
    return whole


def from_here(root: Path, name: str) -> str:
    """Make a file name relative to the current folder instead of ``root``, with slashes."""
    return Path(os.path.relpath(root.resolve() / name)).as_posix()


def is_revision(name: str, folder: str | None = None) -> bool:
    """Return True if a commit of that name exists in the repository of ``folder``."""
    arguments = ["rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"]
    return not name.startswith("-") and git(arguments, folder=folder).returncode == 0


def git(
    arguments: Sequence[str],
    *,
    folder: str | None = None,
    stdout: int = subprocess.PIPE,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run git without questions to the user.

    Args:
        arguments: subcommand and its arguments.
        folder: folder to run it in (default: the current one).
        stdout: file descriptor of the output (default: the result has it).
        given: standard input.

    Raises:
        ModelError: if git cannot be run.
    """
    # within a hook these point to the index of its commit, which a checkout must not write
    environment = {k: v for k, v in os.environ.items() if k not in OF_HOOKS}
    # no prompt for a password, and no lock of the index, which another git may hold
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            ["git", *NO_PROGRAMS, *arguments],
            cwd=folder,
            input=given,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    except OSError as error:
        what = f"git cannot be run: {error.strerror or error}"
        raise ModelError(what, hint="install git, or give two files") from None
