"""Reports: views of an analysis as text, JSON, Markdown, CSV or trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rendering import Format, render, written
    from .sections.confidence import Confidence, Grade
    from .sections.limits import LimitShare
    from .sections.verdict import Item, MemoryNeed, Throughput, Verdict
    from .views import DEFAULT, NAMES, TOP, Views, collect, document

__all__ = [
    "DEFAULT", "NAMES", "TOP", "Confidence", "Format", "Grade", "Item", "LimitShare", "MemoryNeed",
    "Throughput", "Verdict", "Views", "collect", "document", "render", "written",
]  # fmt: skip

_MODULES = {
    **dict.fromkeys(("Format", "render", "written"), "rendering"),
    **dict.fromkeys(("Confidence", "Grade"), "sections.confidence"),
    **dict.fromkeys(("Item", "MemoryNeed", "Throughput", "Verdict"), "sections.verdict"),
    **dict.fromkeys(("DEFAULT", "NAMES", "TOP", "Views", "collect", "document"), "views"),
    "LimitShare": "sections.limits",
}
"""Module of each public name."""


def __getattr__(name: str) -> object:
    """Import a public name on first use: its module imports much more than units and rows."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
