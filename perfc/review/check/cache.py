"""Cache of figures by digest, so that unchanged models are not analyzed again."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from perfc.common.cache_folder import cache_folder
from perfc.common.whole_file import file_digest, write_whole
from perfc.ir import Origin
from perfc.review.diff.figures import BY_KEY, Figure

from .lock import digests
from .lock.baseline import BaselineCase, Entry

FOLDER = ".perfc_cache"
"""Folder of the cache, next to the budgets."""
FORMAT = 3
"""Format version of the entries."""
LARGEST_BYTES = 1 << 22
"""Bytes read of an entry. The start of a longer one is no valid JSON, which counts as a miss."""
SECRET_LENGTH = 32
"""Hexadecimal digits, of 128 bits."""
SETTLED_S = 2.0
"""Age below which a file may change again without a new time stamp."""


class FigureCache:
    """Cache folder of small JSON files next to the budgets; any damage counts as a miss."""

    def __init__(self, root: Path, *, is_used: bool = True) -> None:
        self.folder = root / FOLDER
        # a link in a checkout may lead anywhere
        self._secret = secret() if is_used and not self.folder.is_symlink() else ""
        self.is_used = bool(self._secret)
        self._files = self._load(self._named("files")) if self.is_used else {}
        self._seen: dict[str, object] = {}

    def digest(self, path: Path) -> str:
        """Return the SHA-256 of a file, without reading it if size and time are unchanged."""
        stat = path.stat()
        stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ino]
        stored = self._files.get(str(path))
        if isinstance(stored, list) and len(stored) == 2 and stored[0] == stamp:
            return str(stored[1])
        digest = file_digest(path)
        if time.time() - stat.st_mtime > SETTLED_S:
            self._seen[str(path)] = [stamp, digest]
        return digest

    def get(self, case: BaselineCase, digest: str, target: str) -> Entry | None:
        """Return the cached figures of a case, or None."""
        tree = self._load(self._named(key(case, digest, target))) if self.is_used else {}
        try:
            figures = {
                BY_KEY[name]: Figure(
                    number(value),
                    Origin(origin),
                    bool(is_bound),
                    # both ends of the interval are null without one
                    *(end and number(end) for end in (low, high)),
                )
                for name, (value, origin, is_bound, low, high) in tree["figures"].items()  # type: ignore[attr-defined]
            }
            sizes = tuple((str(n), int(v)) for n, v in tree["sizes"])  # type: ignore[attr-defined]
            return Entry(str(tree["digest"]), figures, target, sizes)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return None

    def put(self, case: BaselineCase, digest: str, target: str, entry: Entry) -> None:
        """Store the figures of a case."""
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
        self._store(self._named(key(case, digest, target)), tree)

    def close(self) -> None:
        """Write the digests of files to the cache."""
        if self._seen:
            self._store(self._named("files"), self._files | self._seen)

    def _named(self, name: str) -> str:
        """Return the file name of an entry, which nobody can find without the secret."""
        digest = hashlib.sha256(f"{self._secret} {name}".encode()).hexdigest()
        return f"{digest[:40]}.json"

    def _load(self, name: str) -> dict[str, object]:
        """Return the content of an entry; empty if it is missing or damaged."""
        try:
            with open(self.folder / name, "rb") as stream:
                tree = json.loads(stream.read(LARGEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return tree if isinstance(tree, dict) else {}

    def _store(self, name: str, tree: Mapping[str, object]) -> None:
        """Write an entry, and the folder at first use."""
        if not self.is_used:
            return
        try:
            if not self.folder.is_dir():
                self.folder.mkdir()
                (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
            write_whole(self.folder / name, json.dumps(tree).encode())
        except OSError:
            # a project that cannot be written to is analyzed every time
            self.is_used = False


def secret() -> str:
    """Return the user's secret in the names of entries, made at first use; "" if it cannot be kept.

    A repository that brings entries would otherwise decide its own figures.
    """
    path = cache_folder("figures") / "secret"
    try:
        if path.is_file() and len(text := path.read_text("ascii", "replace")) == SECRET_LENGTH:
            return text
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = secrets.token_hex(SECRET_LENGTH // 2)
        write_whole(path, text.encode())
    except (OSError, RuntimeError):
        return ""
    return text


def number(value: object) -> float:
    """Decode a stored figure.

    Raises:
        ValueError: not a number.
    """
    if type(value) not in (int, float) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{value!r} is no figure")
    return value  # type: ignore[return-value]


def key(case: BaselineCase, digest: str, target: str) -> str:
    """Return a key for a case, the model's and target's contents, and this predictor."""
    setting = (case.target, case.runtime, case.dtype, case.dims, *case.others)
    parts = (FORMAT, *setting, digest, target, digests.predictor())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]
