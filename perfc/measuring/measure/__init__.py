"""Measurement: run a model or read a profile, and compare it with predictions per kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Measurement", "measure", "read_profile"]

if TYPE_CHECKING:
    from .fitting.compare import Measurement
    from .session import measure, read_profile


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    from importlib import import_module

    if name == "Measurement":
        return import_module(".fitting.compare", __name__).Measurement
    if name in __all__:
        return getattr(import_module(".session", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
