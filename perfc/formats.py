"""Which format the name of a file says: one rule for the command line and for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

TEXT = (".txt", ".text", ".log")
SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "text": TEXT,
    "json": (".json",),
    "markdown": (".md", ".markdown"),
    "csv": (".csv",),
    "html": (".html", ".htm"),
    "svg": (".svg",),
    "sarif": (".sarif", ".json"),
    "junit": (".xml",),
    "github": TEXT,
    "gitlab": (".json",),
    "trace": (".json",),
    "ir": (".pir", *TEXT),
    "onnx": (".onnx", ".onnx.gz"),
    "target": (".toml",),
}
"""Endings of names by format, the usual one first."""
NAMED = frozenset({"target"})
"""Formats whose files are found by their suffix; names without one may hold any other format."""


def fitting(path: Path, forms: Sequence[str]) -> list[str]:
    """The formats that the name of a file allows."""
    name = path.name.lower()
    bare = not path.suffix
    return [f for f in forms if name.endswith(SUFFIXES[f]) or (bare and f not in NAMED)]


def misnamed(path: Path, forms: Sequence[str], asked: str = "any format it writes") -> str:
    """What is wrong with a name, and which suffixes are right, in one line."""
    right = ", ".join(f"{SUFFIXES[form][0]} {form}" for form in forms)
    return f"{path.name!r} is not named as {asked}: {right}"
