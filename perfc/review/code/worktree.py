"""Checkouts of a git revision, and copies with a patch, in temporary folders."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from perfc.common.repository import git, is_revision
from perfc.errors import AbsentError, ModelError


def commit_of(folder: Path, revision: str) -> str:
    """Return the hash of a revision in the repository of a folder.

    Raises:
        ModelError: the revision or the repository does not exist.
    """
    if not is_revision(revision, str(folder)):
        raise ModelError(f"git has no revision {revision!r} here")
    result = git(["rev-parse", "--verify", f"{revision}^{{commit}}"], folder=str(folder))
    return result.stdout.decode().strip()


def last_line(output: bytes) -> str:
    """Return the last line that a command printed, at most 200 characters."""
    return "".join(output.decode("utf-8", "replace").strip().splitlines()[-1:])[:200]


@contextmanager
def checked_out(folder: Path, commit: str) -> Iterator[Path]:
    """Check out a commit and yield ``folder`` in it; the checkout is removed at the end.

    Raises:
        ModelError: git cannot check it out, or has no such folder there.
    """
    top = Path(git(["rev-parse", "--show-toplevel"], folder=str(folder)).stdout.decode().strip())
    with TemporaryDirectory(prefix="perfc-") as place:
        tree = Path(place, "tree")
        command = ["worktree", "add", "--quiet", "--detach", str(tree), commit]
        try:
            result = git(command, folder=str(top))
            if result.returncode != 0:
                raise ModelError(f"git cannot check out {commit[:12]}: {last_line(result.stderr)}")
            inside = tree / os.path.relpath(os.path.realpath(folder), os.path.realpath(top))
            if not inside.is_dir():
                raise AbsentError(f"no folder {folder.name} in {commit[:12]}")
            yield inside
        finally:
            # the second --force removes a locked worktree too
            git(["worktree", "remove", "--force", "--force", str(tree)], folder=str(top))


@contextmanager
def patched(folder: Path, patch: str) -> Iterator[Path]:
    """Apply a patch to a copy of a folder and yield the copy, in which other files are links.

    Raises:
        ModelError: it does not apply, or changes files elsewhere.
    """
    names = re.findall(r"(?m)^(?:---|\+\+\+) [ab]/(.*?)\s*$", patch)
    # git refuses to write outside
    files = {Path(name) for name in names if ".." not in name}
    real = {parent for f in files for parent in f.parents}
    with TemporaryDirectory(prefix="perfc-") as place:
        for part in sorted(real):
            Path(place, part).mkdir(exist_ok=True)
            for entry in (folder / part).iterdir() if (folder / part).is_dir() else ():
                name = part / entry.name
                if name in files:
                    shutil.copyfile(entry, Path(place, name))
                # folders on the way to a patched file are real, all else is a link
                elif name not in real and entry.name != ".git":
                    Path(place, name).symlink_to(entry)
        result = git(["apply", "-"], folder=place, given=patch.encode())
        if result.returncode != 0:
            raise ModelError(f"the patch does not apply: {last_line(result.stderr)}")
        yield Path(place)
