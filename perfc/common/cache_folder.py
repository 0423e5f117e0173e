"""Cache of computed data in the user's cache folder, by the XDG base directory specification."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from perfc.errors import PerfcError

from .whole_file import write_whole

T = TypeVar("T")


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, which may not exist yet.

    Args:
        name: name of the cached data.
    """
    configured = os.environ.get("XDG_CACHE_HOME", "")
    # the specification ignores relative paths
    root = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    return root / "perfc" / name


def cached(name: str, key: str, read: Callable[[bytes], T], make: Callable[[], bytes]) -> T:
    """Return a value from the cache, which is computed and stored on first use.

    A damaged entry is computed again. Without a writable cache folder, nothing is stored.

    Args:
        name: name of the cached data.
        key: text of all that the entry depends on.
        read: function that decodes an entry; a ``ValueError`` or `PerfcError` means damage.
        make: function that computes the bytes of the entry.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()
    # RuntimeError: `Path.home` finds no home folder
    with suppress(OSError, RuntimeError, ValueError, PerfcError):
        return read((cache_folder(name) / digest).read_bytes())
    content = make()
    with suppress(OSError, RuntimeError):
        path = cache_folder(name) / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    return read(content)
