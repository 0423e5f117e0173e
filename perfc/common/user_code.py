"""Permission to run code of users: modules of models by name."""

from __future__ import annotations

import os

NO_CODE = "PERFC_NO_CODE"
"""Environment variable that forbids it, as ``--no-code`` does."""


def may_run() -> bool:
    """Return True unless ``--no-code`` or the variable is given."""
    return os.environ.get(NO_CODE, "") in ("", "0")
