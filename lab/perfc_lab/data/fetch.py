"""Clone a public source at its commits and write its tables as Parquet files.

`perfc data fetch` calls it. Git runs without hooks, prompts and the system's settings; those of the
user apply, since git-lfs is set up in them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.extras import absent, install
from perfc.errors import MissingExtraError

from .source import FetchError, PublicSource, pandas

if TYPE_CHECKING:
    import pandas as pd

LIMIT_S = 3600
"""Time limit of git in seconds."""
# addresses that git may clone: https, or a folder of this machine; no other protocol
_URL = re.compile(r"(?:https://|file:///|/)[^\s\0]+")


def fetch(source: PublicSource, output: Path, url: str = "", commit: str = "") -> list[Path]:
    """Write the tables of a source as Parquet files, all of them or none.

    Args:
        source: what to fetch.
        output: folder of the tables.
        url: a mirror of the repository, or a clone of one's own; the public one by default.
        commit: a commit that replaces the pinned one; its files may differ.

    Raises:
        FetchError: the source cannot be cloned, or its files are not what was published.
        MissingExtraError: a package that the tables of some source need is not installed.
    """
    missing = absent("train")
    if missing:
        raise MissingExtraError(f"tables need {', '.join(missing)}", hint=install("train"))
    try:
        output.mkdir(parents=True, exist_ok=True)
        # in the folder of the tables, so that a file is moved and not copied
        scratch = Path(tempfile.mkdtemp(dir=output, prefix=".fetch."))
    except OSError as error:
        raise FetchError(error.strerror or "cannot be written", where=str(output)) from None
    try:
        clone = scratch / "clone"
        editions: list[Mapping[str, pd.DataFrame]] = []
        for edition in (commit,) if commit else (source.commit, *source.earlier):
            checkout(url or source.url, edition, source.folders, clone)
            editions.append(source.convert(clone))
        ready: list[tuple[Path, Path]] = []
        for name in source.tables:
            frames = [tables[name] for tables in editions if name in tables]
            # a single edition is not copied
            frame = pandas().concat(frames, ignore_index=True) if frames[1:] else frames[0]
            path = scratch / f"{name}.parquet"
            frame.to_parquet(path, index=False, compression="zstd")
            ready.append((path, output / path.name))
        # only when every table is written
        for path, final in ready:
            os.replace(path, final)
        return [final for _, final in ready]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def checkout(url: str, commit: str, folders: tuple[str, ...], clone: Path) -> None:
    """Check out some folders of a commit, without hooks, prompts or files of other folders.

    An existing clone is used again.

    Raises:
        FetchError: no git, no such repository or no such commit.
    """
    if not _URL.fullmatch(url):
        raise FetchError(f"{url!r} is no https address and no path", where="--url")
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        raise FetchError(f"{commit!r} is no commit", where="--commit")
    with blank_home() as home:
        if not clone.exists():
            # files are fetched when they are checked out: those of `folders` alone
            where = ("--filter=blob:none", "--no-checkout", "--", url, str(clone))
            run(home, "clone", "--quiet", *where)
            run(home, "-C", str(clone), "sparse-checkout", "set", "--", *folders)
        run(home, "-C", str(clone), "checkout", "--quiet", "--detach", commit, "--")


@contextmanager
def blank_home() -> Iterator[dict[str, str]]:
    """Yield an environment in which git prompts for nothing and runs no hooks."""
    with tempfile.TemporaryDirectory(prefix="perfc-git-") as folder:
        # variables such as GIT_SSH_COMMAND, and settings of the system, may name programs to run
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        yield {
            **environment,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TEMPLATE_DIR": folder,
            "GIT_ALLOW_PROTOCOL": "https:file",
            "LC_ALL": "C",
        }


def run(env: dict[str, str], *arguments: str) -> None:
    """Run git.

    Raises:
        FetchError: git is not installed, fails, or takes longer than ``LIMIT_S``.
    """
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        done = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except FileNotFoundError:
        raise FetchError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise FetchError(f"git took longer than {LIMIT_S} s") from None
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if x.startswith(("fatal", "error"))]
        raise FetchError(lines[-1] if lines else f"git exits with {done.returncode}")
