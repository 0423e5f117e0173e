"""User cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, which may not exist yet.

    Args:
        name: name of the cached data.
    """
    configured = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    return root / "perfc" / name
