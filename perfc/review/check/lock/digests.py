"""Digests that distinguish changes of models, predictors and targets."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from perfc.machine import Machine

PREDICTING = (
    *("ir", "passes", "analyzers", "frontend", "machine", "deployment", "common"),
    *("view/report", "review/diff"),
)
"""Packages that compute figures, in addition to top-level modules."""
_SUFFIXES = (".py", ".npz", ".toml")
"""Files that change figures: code, weights and fitted constants."""


@cache
def predictor() -> str:
    """Return the SHA-256 of the code and weights that compute figures."""
    sha = hashlib.sha256()
    root = Path(__file__).resolve().parents[3]  # the folder of perfc
    for package in ("", *PREDICTING):
        for here, folders, names in os.walk(os.path.realpath(root / package)):
            # of the top folder ("") only its modules; sorted, as the digest depends on the order
            folders[:] = sorted(folders) if package else []
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    with open(os.path.join(here, name), "rb") as stream:
                        sha.update(f"{name}:".encode() + stream.read())
    return sha.hexdigest()


def of_target(machine: Machine) -> str:
    """Return the SHA-256 of a target's file and its MIG slice."""
    cut = "" if machine.slice is None else repr(machine.slice)
    return hashlib.sha256(machine.file.read_bytes() + cut.encode()).hexdigest()
