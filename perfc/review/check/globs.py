"""Globs of models in budgets."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath


def is_match(path: str, glob: str) -> bool:
    """Return True if a path with slashes matches a glob; ``**`` matches any folders."""
    names, parts = path.split("/"), PurePosixPath(glob).parts
    if ".." in names:
        return False
    # places in the glob that a beginning of the path can have reached: no backtracking
    reached = opened_by({0}, parts)
    for name in names:
        reached = opened_by(
            {
                i if parts[i] == "**" else i + 1
                for i in reached
                if i < len(parts) and (parts[i] == "**" or fnmatchcase(name, parts[i]))
            },
            parts,
        )
    return len(parts) in reached


def opened_by(reached: set[int], parts: Sequence[str]) -> set[int]:
    """Return ``reached`` and the positions that follow if ``**`` matches no folder."""
    positions = set(reached)
    for i, part in enumerate(parts):
        if i in positions and part == "**":
            positions.add(i + 1)
    return positions
