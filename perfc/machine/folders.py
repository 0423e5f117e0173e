"""Folders of shipped target files and of the user's."""

from __future__ import annotations

import os
from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "targets"
"""Folder of the target files of machines in this package."""
CLUSTERS = SHIPPED / "clusters"
"""Folder of the target files of clusters in this package."""
_MAX_FILES = 1_000
"""Maximum target files of a folder that are listed, as a list opens all of them."""


def user_folder() -> Path:
    """Return the folder of the user's targets, by the XDG base directory specification."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(config) if config.startswith("/") else Path.home() / ".config"
    return root / "perfc" / "targets"


def files_in(folder: Path) -> list[Path]:
    """Return the TOML files of a folder by name; [] if it cannot be read."""
    try:
        names = sorted(n for n in os.listdir(folder) if n.endswith(".toml"))
    except OSError:
        return []
    return [folder / n for n in names[:_MAX_FILES]]
