"""Run git in the repository of a folder, find its root, and convert file names relative to it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfc.errors import ModelError

OF_HOOKS = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE")
"""Environment variables that git sets for hooks."""
PROGRAM_VARIABLES = re.compile(
    r"(GIT_(SSH|SSH_COMMAND|SSH_VARIANT|PROXY_COMMAND|EXTERNAL_DIFF|ASKPASS|EDITOR"
    r"|SEQUENCE_EDITOR|PAGER|TEMPLATE_DIR)|SSH_ASKPASS|PAGER|EDITOR|VISUAL)"
)
"""Environment variables that name a program for git."""
NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "diff.ignoreSubmodules": "all",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
"""Settings under which git starts no program and no connection that a configuration names, as the
repository may be untrusted. Submodules have configurations of their own: they are not entered."""
PROGRAM_KEYS = re.compile(
    r"filter\..*\.(clean|smudge|process|required)|diff\.external"
    r"|(diff|merge|trailer|difftool|mergetool|browser|man)\..*\.(cmd|command|driver|path|textconv)"
    r"|gpg\.(.*\.)?(program|defaultkeycommand)|credential\.(.*\.)?helper"
    r"|core\.(sshcommand|gitproxy|askpass|editor|alternaterefscommand)|sequence\.editor"
    r"|remote\..*\.(vcs|uploadpack|receivepack)|uploadpack\.packobjectshook",
    re.DOTALL,
)
"""Keys of git's configuration that name a program, as `git config` prints them. An empty value is
no program; an empty ``required`` is false: a filter without programs leaves files as they are."""
SHOWING = ("diff", "log", "show")
"""Subcommands that may convert files or compare them by programs, and show signatures."""


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


def remedy(where: str) -> str:
    """Return what to do about a name that is no file."""
    revision, _, path = where.partition(":")
    if path.startswith("//"):
        return "download it first"
    try:
        # one letter before a colon is a drive of Windows
        is_stored = bool(path) and len(revision) > 1 and is_revision(revision)
    except ModelError:
        is_stored = False  # without git
    if is_stored:
        given = f"git show {shlex.quote(where)} > FILE"
        return f"only perfc diff reads a file of a git revision; {given} writes it"
    # a plain word may be the name of a model
    is_word = not set(where) & set("./\\:")
    return f"give a file, or the model timm:{where}" if is_word else "check the path"


def git(
    arguments: Sequence[str],
    *,
    folder: str | None = None,
    stdout: int = subprocess.PIPE,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run git without questions to the user, other programs and connections.

    Args:
        arguments: subcommand and its arguments.
        folder: folder to run it in (default: the current one).
        stdout: file descriptor of the output (default: the result has it).
        given: standard input.

    Raises:
        ModelError: if git cannot be run.
    """
    command, *others = arguments
    if command in SHOWING:
        others = ["--no-ext-diff", "--no-textconv", *others]
    settings = NO_PROGRAMS | dict.fromkeys(_programs(folder), "")
    return _run([command, *others], folder, settings, stdout=stdout, given=given)


def _programs(folder: str | None) -> list[str]:
    """Return the keys of `PROGRAM_KEYS` that a configuration sets, whichever file has them."""
    listed = _run(["config", "--list", "--name-only", "-z"], folder, NO_PROGRAMS).stdout
    names = listed.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in names if PROGRAM_KEYS.fullmatch(name)]


def _run(
    arguments: Sequence[str],
    folder: str | None,
    settings: Mapping[str, str],
    *,
    stdout: int = subprocess.PIPE,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run git with settings that take precedence over every file of its configuration."""
    # within a hook some variables point to the index of its commit, which a checkout must not write
    environment = {
        k: v
        for k, v in os.environ.items()
        if k not in OF_HOOKS and not PROGRAM_VARIABLES.fullmatch(k)
    }
    # no connection, no prompt for a password, and no lock of the index, which another git may hold
    environment |= {
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    # in variables, as a name on the command line ends at its first "="
    first = int(environment.get("GIT_CONFIG_COUNT") or 0)
    environment["GIT_CONFIG_COUNT"] = str(first + len(settings))
    for number, (key, value) in enumerate(settings.items(), first):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        return subprocess.run(
            ["git", *arguments],
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
