"""Annotations in CI: GitHub workflow commands and GitLab code quality reports.

Sources: GitHub, workflow commands for GitHub Actions; GitLab, code quality report format, a subset
of Code Climate's. An annotation is on the line of the code, or on line 1 of a model's file. Paths
are relative to the root of the repository.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from perfc.common.plain_text import printable
from perfc.common.repository import from_base
from perfc.frontend.reading.module_name import SOURCE_FOLDERS, is_named
from perfc.ir import record


class AnnotationLevel(Enum):
    """Severity of an annotation, in GitHub's and in GitLab's terms."""

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
    """One annotation of a file.

    Args:
        level: severity.
        path: path of the file, relative to the current folder.
        rule: name of the rule.
        title: short heading.
        context: prefix of the message in formats without a heading.
        message: one line.
        identity: key of the finding that does not depend on its numbers.
        line: line of the file.
        related: other lines of code that it concerns.
    """

    level: AnnotationLevel
    path: str
    rule: str
    title: str
    context: str
    message: str
    identity: str
    line: int = 1
    related: tuple[str, ...] = ()


def place_of(source: str, model: str) -> tuple[str, int]:
    """Return the file and line of a finding about a model.

    Args:
        source: line of code, as in ``pkg/model.py:42``; "" if unknown. Code of installed packages
            is not in the repository: the finding is at the file of the model then.
        model: path of a model, or the name of a PyTorch module.

    >>> place_of("timm/layers/act.py:42", "model.onnx"), place_of("", "net.py:Net")
    (('model.onnx', 1), ('net.py', 1))
    """
    file, _, line = source.rpartition(":")
    if line.isdecimal() and os.path.isfile(file):
        return file, int(line)
    if not is_named(model):
        return model, 1
    where = model.rpartition(":")[0]
    if where.endswith(".py"):
        return where, 1
    path = where.replace(".", "/")
    candidates = (
        Path(folder, path + end).as_posix()
        for folder in SOURCE_FOLDERS
        for end in (".py", "/__init__.py")
    )
    return next((t for t in candidates if os.path.isfile(t)), model), 1


def unreadable(line: str) -> Annotation:
    """Return the annotation of a file that could not be analyzed; ``line`` begins with its path."""
    path = line.partition(":")[0]
    return Annotation(
        AnnotationLevel.UNREADABLE,
        path,
        rule="not-analyzed",
        title="perfc",
        context="",
        message=line,
        identity=path,
    )


def github(annotations: Iterable[Annotation]) -> str:
    """Return GitHub workflow commands, one per line."""
    return "".join(f"{command(a)}\n" for a in annotations)


def command(a: Annotation) -> str:
    """Return one workflow command, with names from the model escaped."""
    title = in_property(a.title)
    where = f"file={in_property(from_base(a.path))},line={a.line},title={title}"
    return f"::{a.level.github} {where}::{in_data(printable(a.message))}"


def in_data(text: str) -> str:
    """Escape text for the message of a workflow command."""
    # only a percent sign before these digits is decoded, the last two in properties; others stay,
    # for programs that decode none
    text = re.sub("%(?=25|0[AD]|3A|2C)", "%25", text, flags=re.IGNORECASE)
    return text.replace("\r", "%0D").replace("\n", "%0A")


def in_property(text: str) -> str:
    """Escape text for a property of a workflow command."""
    return in_data(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(annotations: Iterable[Annotation]) -> str:
    """Return a GitLab code quality report; fingerprints are stable across runs."""
    return json.dumps([issue(a) for a in annotations], indent=2) + "\n"


def issue(a: Annotation) -> dict[str, object]:
    """Return one entry of the code quality report."""
    path = from_base(a.path)
    key = f"{path}\0{a.identity}".encode("utf-8", "replace")
    return {
        "description": printable(f"{a.context}: {a.message}" if a.context else a.message),
        "check_name": a.rule,
        "fingerprint": hashlib.sha256(key).hexdigest(),
        "severity": a.level.gitlab,
        "location": {"path": path, "lines": {"begin": a.line}},
    }
