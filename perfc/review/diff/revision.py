"""Model files, optionally at a git revision (``HEAD~1:model.onnx``)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from perfc.common.repository import from_here, git, is_revision, root_of
from perfc.errors import AbsentError, ModelError

LFS_POINTER = b"version https://git-lfs"
"""First line of a file that Git LFS stores elsewhere (specification, version 1)."""
LARGEST_POINTER_BYTES = 1024
"""Maximum bytes of a pointer. Source: git-lfs, docs/spec.md."""
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
"""Hash by which the local store of Git LFS has a file."""


@contextmanager
def opened(spec: str) -> Iterator[str]:
    """Open ``spec`` as a path that is valid within the context.

    An existing file takes precedence. Git LFS files are read from the local store.

    Raises:
        ModelError: if the revision, the file or git does not exist.
    """
    if not revision_of(spec):
        yield spec
        return
    path = spec.partition(":")[2]
    with TemporaryDirectory(prefix="perfc-") as folder:
        target = Path(folder) / (os.path.basename(path) or "model.onnx")
        blob(spec, target)
        yield str(stored(target) or target)


def revision_of(spec: str) -> str:
    """Return the revision of ``REVISION:FILE``; "" for a file, which takes precedence."""
    revision, colon, path = spec.partition(":")
    # one letter before a colon is a drive of Windows, unless git has a revision of that name
    is_drive = len(revision) == 1 < len(path) and not is_revision(revision)
    return "" if os.path.exists(spec) or not colon or is_drive else revision


def last_commit(path: Path) -> str:
    """Return the last commit that changed a file; empty without one or without git."""
    arguments = ["log", "-1", "--format=%H", "--", path.name]
    try:
        result = git(arguments, folder=str(path.parent))
    except ModelError:
        return ""
    return result.stdout.decode("ascii", "replace").strip() if result.returncode == 0 else ""


def renamed(folder: Path, revision: str) -> dict[str, str]:
    """Return the old name by the new one of files that git takes for renamed since a revision.

    Names are relative to ``folder``; files that git does not track yet have none.
    """
    root = root_of(folder)
    if revision.startswith("-") or root is None:
        return {}
    arguments = [
        "diff",
        "--cached",
        "--name-status",
        "--find-renames",
        "--diff-filter=R",
        "--no-relative",
        "-z",
        revision,
        "--",
    ]
    try:
        result = git(arguments, folder=str(folder))
    except ModelError:
        return {}
    # for each file its status, old name and new name
    names = [
        Path(os.path.relpath(root / name, folder)).as_posix()
        for name in result.stdout.decode("utf-8", "surrogateescape").split("\0")
    ]
    return dict(zip(names[2::3], names[1::3], strict=False)) if result.returncode == 0 else {}


def blob(spec: str, target: Path) -> None:
    """Write the content of ``REVISION:PATH`` to a file.

    Raises:
        ModelError: if it does not exist.
    """
    revision, _, path = spec.partition(":")
    name, folder = placed(spec)
    if revision.startswith("-") or "\0" in spec or "\n" in spec:
        raise ModelError("not a revision of git", where=spec)
    with target.open("wb") as stream:
        result = git(["cat-file", "blob", name], folder=folder, stdout=stream.fileno())
    if result.returncode == 0:
        return
    if not is_revision(revision, folder):
        hint = "no such file either" if "/" in spec or "." in spec else "give a file"
        raise ModelError(f"git has no revision {revision!r} here", hint=hint, where=spec)
    shown = from_here(Path(folder), os.path.basename(path)) if folder else path
    place = f"{revision}:./{shown}" if folder else spec
    if listed_at(revision, name.partition(":")[2], folder):
        # clones without all contents get them when they are first read, but no connection is made
        raise ModelError(
            f"this clone lacks the content of {shown} in {revision}",
            hint=f"fetch it: git cat-file -e {shlex.quote(place)}",
        )
    raise AbsentError(
        f"no file {shown!r} in {revision}",
        hint="paths are from the top of the repository; ./ begins at this folder",
        where=f"{revision}:{shown}",
    )


def listed_at(revision: str, path: str, folder: str | None) -> bool:
    """Return True unless a revision certainly has no file of that path."""
    arguments = ["ls-tree", "--name-only", "-z", revision, "--", path]
    if not path.startswith("./"):
        arguments.insert(1, "--full-tree")
    result = git(arguments, folder=folder)
    # a folder that a clone lacks cannot be listed
    return result.returncode != 0 or bool(result.stdout)


def placed(spec: str) -> tuple[str, str | None]:
    """Return the git object name and the folder to run in, as git has no absolute paths."""
    revision, _, path = spec.partition(":")
    if not os.path.isabs(path):
        return spec, None
    folder, name = os.path.split(path)
    return f"{revision}:./{name}", folder


def content(spec: str) -> str | None:
    """Return the text of a small file at a revision; None if it does not exist there.

    Raises:
        ModelError: if the revision or git does not exist.
    """
    revision = spec.partition(":")[0]
    name, folder = placed(spec)
    if not is_revision(revision, folder):
        raise ModelError(f"git has no revision {revision!r} here", where=spec)
    result = git(["cat-file", "blob", name], folder=folder)
    if result.returncode == 0:
        return result.stdout.decode("utf-8", "replace")
    if listed_at(revision, name.partition(":")[2], folder):
        raise ModelError("this clone lacks its content", hint="git fetch --refetch", where=spec)
    return None


def stored(pointer: Path) -> Path | None:
    """Return the file of an LFS pointer; None if git has not fetched it."""
    if pointer.stat().st_size > LARGEST_POINTER_BYTES:
        return None
    text = pointer.read_bytes()
    match = _OID.search(text)
    if not text.startswith(LFS_POINTER) or match is None:
        return None
    oid = match[1].decode()
    result = git(["rev-parse", "--git-common-dir"])
    # layout of the store of Git LFS: folders by the first two pairs of digits
    path = Path(result.stdout.decode().strip()) / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    return path if path.is_file() else None
