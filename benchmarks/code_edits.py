"""Count edits of model code whose changed line `perfc diff` names first, and false alarms.

    python -m benchmarks.code_edits

Ten small repositories of ``code_edits.toml`` have four edits each. A commit has noise too:
comments, a helper and names that change nothing. As many commits of noise alone must not differ.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from benchmarks.check_edits import git

DATA = Path(__file__).with_suffix(".toml")


def commented(text: str) -> str:
    """Return code with comments above it and above its functions."""
    return "# Sizes follow the paper.\n\n" + re.sub(
        r"(?m)^( *)def ", r"\1# see the paper\n\1def ", text
    )


def renamed(text: str) -> str:
    """Return code with another name of a local variable."""
    return re.sub(r"\by\b", "hidden", text)


def documented(text: str) -> str:
    """Return code with docstrings of its classes."""
    return re.sub(r"(?m)^(class .*:)$", r'\1\n    """A part of the network."""\n', text)


def helped(text: str) -> str:
    """Return code with a function that nothing calls."""
    return text + "\n\ndef count(module):\n    return sum(p.numel() for p in module.parameters())\n"


NOISE: tuple[Callable[[str], str], ...] = (commented, renamed, documented, helped)


def write(files: dict[str, str], noise: Callable[[str], str] = lambda text: text) -> None:
    """Write the files of a repository, code with noise."""
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((noise(text) if name.endswith(".py") and text else text).lstrip("\n"))


def difference(repository: dict[str, Any]) -> tuple[int, list[str]]:
    """Return whether `perfc diff` says that the model differs, and lines of its causes in order."""
    command = ["perfc", "diff", repository["module"], "--input", repository["input"]]
    command += ["--exit-code", "--output-format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode > 1:
        raise SystemExit(f"{repository['module']}: {result.stderr}")
    return result.returncode, [cause["source"] for cause in json.loads(result.stdout)["blame"]]


def place(file: str, text: str) -> str:
    """Return the first line of a text of a file, as ``file:line``."""
    before, _, _ = Path(file).read_text().partition(text)
    return f"{file}:{before.count(chr(10)) + 1}"


def main() -> int:
    """Print edits with the named line, and figures."""
    parser = parser_of(__doc__, seed=0)
    parser.add_argument("--only", default="", help="module of one repository")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    right = edits = alarms = neutral = 0
    for repository in tomllib.loads(DATA.read_text())["repository"]:
        if options.only not in repository["module"]:
            continue
        files: dict[str, str] = repository["files"]
        with tempfile.TemporaryDirectory(prefix="perfc-edit-") as folder, chdir(folder):
            git(Path(), "init", "-q", ".")
            write(files)
            git(Path(), "add", "-A")
            git(Path(), "commit", "-qm", "one")
            for kind, file, old, new in repository["edits"]:
                write(files | {file: files[file].replace(old, new)}, rng.choice(NOISE))
                answer = place(file, as_written(new, old, Path(file).read_text()))
                differs, lines = difference(repository)
                first = lines[0] if differs and lines else ""
                right, edits = right + (first == answer), edits + 1
                print(f"{first == answer!s:5} {kind:12} {answer:24} {first}", flush=True)
            for noise in NOISE:
                write(files, noise)
                differs, lines = difference(repository)
                alarms, neutral = alarms + differs, neutral + 1
                if differs:
                    print(f"alarm {repository['module']} {noise.__name__} {lines}", flush=True)
    print(f"{right} of {edits} edits, {alarms} false alarms in {neutral} neutral commits")
    return int(right < 0.9 * edits or alarms > 0)


def as_written(new: str, old: str, text: str) -> str:
    """Return the first line that an edit changes, as noise left it."""
    line = next(line for line in new.split("\n") if line not in old)
    return next(t for t in (line, renamed(line)) if t in text)


if __name__ == "__main__":
    sys.exit(main())
