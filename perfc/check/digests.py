"""Digests that tell a changed model from a changed predictor or a changed target."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from perfc.machine import Machine

PREDICTING = ("ir", "passes", "analyzers", "frontend", "machine", "report", "diff")
"""Packages that figures come from, besides the modules above them."""
_SUFFIXES = (".py", ".npz", ".toml")


@cache
def predictor() -> str:
    """SHA-256 of the code and the trained weights that figures come from."""
    found = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for package in ("", *PREDICTING):
        for here, folders, names in os.walk(os.path.realpath(root / package)):
            folders[:] = sorted(folders) if package else []
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    with open(os.path.join(here, name), "rb") as stream:
                        found.update(f"{name}:".encode() + stream.read())
    return found.hexdigest()


def of_target(machine: Machine) -> str:
    """SHA-256 of a target's file, and of how a slice of it is cut."""
    cut = "" if machine.slice is None else repr(machine.slice)
    return hashlib.sha256(machine.file.read_bytes() + cut.encode()).hexdigest()


def of_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
