"""Figures of models analysed before, by digest, so that unchanged models are not analysed again."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path

from perfc.diff.figures import BY_KEY, Figure
from perfc.ir.facts import Origin
from perfc.whole_file import write_whole

from . import digests
from .baseline import Case, Entry

FOLDER = ".perfc_cache"
FORMAT = 2
"""Of the entries: 1 said less of sizes."""
LARGEST_BYTES = 1 << 22
SETTLED_S = 2.0
"""A file changed this recently may change again within one tick of its time stamp."""


class Cache:
    """A folder of small JSON files beside the budgets; whatever is amiss with it is a miss."""

    def __init__(self, root: Path, *, is_used: bool = True) -> None:
        self.folder = root / FOLDER
        # a link in a checkout may lead anywhere
        self.is_used = is_used and not self.folder.is_symlink()
        self._files = self._load("files.json") if self.is_used else {}
        self._seen: dict[str, object] = {}

    def digest(self, path: Path) -> str:
        """SHA-256 of a file; of one whose size and time are as before without reading it."""
        stat = path.stat()
        stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ino]
        known = self._files.get(str(path))
        if isinstance(known, list) and len(known) == 2 and known[0] == stamp:
            return str(known[1])
        found = digests.of_file(path)
        if time.time() - stat.st_mtime > SETTLED_S:
            self._seen[str(path)] = [stamp, found]
        return found

    def get(self, case: Case, digest: str, target: str) -> Entry | None:
        """The figures of a case, None where it was not analysed in this state."""
        tree = self._load(f"{key(case, digest, target)}.json") if self.is_used else {}
        try:
            figures = {
                BY_KEY[name]: Figure(
                    number(f[0]), Origin(f[1]), bool(f[2]), *(end and number(end) for end in f[3:5])
                )
                for name, f in tree["figures"].items()  # type: ignore[attr-defined]
            }
            sizes = tuple((str(n), int(v)) for n, v in tree["sizes"])  # type: ignore[attr-defined]
            return Entry(str(tree["digest"]), figures, target, sizes)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return None

    def put(self, case: Case, digest: str, target: str, entry: Entry) -> None:
        """Remember the figures of a case."""
        figures = {
            m.key: [f.value, int(f.origin), f.is_bound, f.low, f.high]
            for m, f in entry.figures.items()
        }
        tree = {
            "model": case.model,
            "digest": entry.digest,
            "figures": figures,
            "sizes": entry.sizes,
        }
        self._store(f"{key(case, digest, target)}.json", tree)

    def close(self) -> None:
        """Write down the files that were looked at."""
        if self._seen:
            self._store("files.json", self._files | self._seen)

    def _load(self, name: str) -> dict[str, object]:
        try:
            with open(self.folder / name, "rb") as stream:
                tree = json.loads(stream.read(LARGEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return tree if isinstance(tree, dict) else {}

    def _store(self, name: str, tree: Mapping[str, object]) -> None:
        if not self.is_used:
            return
        try:
            if not self.folder.is_dir():
                self.folder.mkdir()
                (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
            write_whole(self.folder / name, json.dumps(tree).encode())
        except OSError:
            # a project that cannot be written to is analysed every time
            self.is_used = False


def number(value: object) -> float:
    """A figure as it was put.

    Raises:
        ValueError: it is none.
    """
    if type(value) not in (int, float) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{value!r} is no figure")
    return value  # type: ignore[return-value]


def key(case: Case, digest: str, target: str) -> str:
    """A name for a case, a model's content, a target's content and this predictor."""
    setting = (case.target, case.runtime, case.dtype, case.dims, *case.others)
    parts = (FORMAT, *setting, digest, target, digests.predictor())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]
