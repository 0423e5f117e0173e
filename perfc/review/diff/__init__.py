"""Structural comparison of two models: changes, their costs, and the edits that explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .difference import Difference, compare
    from .figures import Figure, Metric, figures
    from .sections import document, to_csv, to_json
    from .sides import SideSetting, both
    from .views import DiffViews
    from .views import collect as views_of

__all__ = [
    "DiffViews", "Difference", "Figure", "Metric", "SideSetting", "both", "compare", "document",
    "figures", "to_csv", "to_json", "views_of",
]  # fmt: skip

_MODULES = {
    **dict.fromkeys(("Difference", "compare"), "difference"),
    **dict.fromkeys(("Figure", "Metric", "figures"), "figures"),
    **dict.fromkeys(("document", "to_csv", "to_json"), "sections"),
    **dict.fromkeys(("SideSetting", "both"), "sides"),
    **dict.fromkeys(("DiffViews", "collect"), "views"),
}
"""Module of each public name."""


def __getattr__(name: str) -> object:
    """Import a public name on first use: a check that finds no change compares nothing."""
    wanted = "collect" if name == "views_of" else name
    if wanted not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[wanted]}"), wanted)
