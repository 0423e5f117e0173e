"""What pipelines show beside the files of a change: GitHub's commands, GitLab's code quality.

Sources: GitHub, workflow commands for GitHub Actions; GitLab, code quality report format, a subset
of Code Climate's. A model has no lines, so everything is at its first. Files are named from the
root of the repository.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import Enum

from perfc.ir.record import record
from perfc.plain_text import printable
from perfc.repository import from_base


class Level(Enum):
    """How much something matters: GitHub's word, and GitLab's."""

    UNREADABLE = ("error", "blocker")
    FAILURE = ("error", "major")
    WARNING = ("warning", "minor")
    NOTE = ("notice", "info")

    github: str
    gitlab: str

    def __init__(self, github: str, gitlab: str) -> None:
        self.github, self.gitlab = github, gitlab


@record
class Annotation:
    """One thing to show.

    Args:
        level: how much it matters.
        path: of the file, from the current folder.
        rule: name of what found it.
        title: a few words for its head.
        context: what stands before the message where there is no head.
        message: one line.
        identity: what stays the same while the thing does, whatever the numbers.
    """

    level: Level
    path: str
    rule: str
    title: str
    context: str
    message: str
    identity: str


def unreadable(line: str) -> Annotation:
    """A file that could not be analysed, of which ``line`` begins with its name."""
    path = line.partition(":")[0]
    return Annotation(Level.UNREADABLE, path, "not-analysed", "perfc", "", line, path)


def github(annotations: Iterable[Annotation]) -> str:
    """Workflow commands, one line each."""
    return "".join(f"{command(a)}\n" for a in annotations)


def command(a: Annotation) -> str:
    """One workflow command; the model's names cannot end it."""
    title = in_property(a.title)
    where = f"file={in_property(from_base(a.path))},line=1,title={title}"
    return f"::{a.level.github} {where}::{in_data(printable(a.message))}"


def in_data(text: str) -> str:
    """Text as the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_property(text: str) -> str:
    """Text as a property of a command."""
    return in_data(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(annotations: Iterable[Annotation]) -> str:
    """GitLab's report; a fingerprint is the same as long as the thing is there."""
    return json.dumps([issue(a) for a in annotations], indent=2) + "\n"


def issue(a: Annotation) -> dict[str, object]:
    """One entry of the report."""
    path = from_base(a.path)
    key = f"{path}\0{a.identity}".encode("utf-8", "replace")
    return {
        "description": printable(f"{a.context}: {a.message}" if a.context else a.message),
        "check_name": a.rule,
        "fingerprint": hashlib.sha256(key).hexdigest(),
        "severity": a.level.gitlab,
        "location": {"path": path, "lines": {"begin": 1}},
    }
