"""Results of a long comparison in files, so that a stopped comparison goes on where it ended.

A run of `perfc eval trees` reads the numbers that an earlier run has written.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from perfc.analyzers.graph.store import write_file
from perfc.ir.record import frozen

from .rows import TreeRow

Numbers = list[float]


@frozen
class NumberCache:
    """Lists of numbers by the names of everything that they were computed from.

    The code that computes them is not part of the key: after a change of it, use another folder.

    Args:
        folder: folder of the files; None to store nothing.
    """

    folder: Path | None = None

    def numbers(self, of: Sequence[object], computed: Callable[[], Iterable[float]]) -> Numbers:
        """Return cached numbers of the same objects; else compute and write them.

        Args:
            of: key with everything that the numbers depend on.
            computed: computes the numbers; NaN stands for no answer.
        """
        if self.folder is None:
            return list(computed())
        words = [str(part) for part in of]
        digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:20]
        path = self.folder / f"{digest}.json"
        numbers = _read(path, words)
        if numbers is None:
            numbers = [float(v) for v in computed()]
            # JSON has no NaN
            content = {"of": words, "numbers": [v if math.isfinite(v) else None for v in numbers]}
            write_file(path, (json.dumps(content) + "\n").encode())
        return numbers


def _read(path: Path, words: Sequence[str]) -> Numbers | None:
    """Return the numbers in a file if its ``of`` lists these words; None for any other file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["of"] != list(words):
            return None
        return [math.nan if v is None else float(v) for v in content["numbers"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def digest_of(rows: Sequence[TreeRow]) -> str:
    """Return a digest of everything in rows that a predictor learns from or reads."""
    digest = hashlib.sha256()
    for row in rows:
        amounts = [(w, s.quantity.name, s.amounts, s.value) for w, s in row.parts]
        content = (
            row.source,
            row.served.name,
            row.model,
            row.machine,
            row.target.name,
            row.value,
            row.features,
            row.tokens,
            row.expected,
            amounts,
        )
        digest.update(repr(content).encode())
    return digest.hexdigest()[:20]


# a cache that stores nothing
NOTHING = NumberCache()
