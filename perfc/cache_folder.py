"""Where perfc keeps what it can make again: the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """A folder of the cache, which may not be there yet.

    Args:
        name: of what is kept.
    """
    stated = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(stated) if stated.startswith("/") else Path.home() / ".cache"
    return root / "perfc" / name
