"""Reports: views of an analysis as text, JSON, Markdown, CSV or trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.common.first_use import first_use

if TYPE_CHECKING:
    from .rendering import Format, render, written
    from .sections.confidence import Confidence, Grade
    from .sections.limits import LimitShare
    from .sections.verdict import Item, MemoryNeed, Throughput, Verdict
    from .views import DEFAULT, NAMES, TOP, Views, collect, document

__all__ = [
    "DEFAULT",
    "NAMES",
    "TOP",
    "Confidence",
    "Format",
    "Grade",
    "Item",
    "LimitShare",
    "MemoryNeed",
    "Throughput",
    "Verdict",
    "Views",
    "collect",
    "document",
    "render",
    "written",
]

# loaded on first use, as their modules import much more than users of units and rows need
__getattr__ = first_use(
    __name__,
    {
        **dict.fromkeys(("Format", "render", "written"), ".rendering"),
        **dict.fromkeys(("Confidence", "Grade"), ".sections.confidence"),
        **dict.fromkeys(("Item", "MemoryNeed", "Throughput", "Verdict"), ".sections.verdict"),
        **dict.fromkeys(("DEFAULT", "NAMES", "TOP", "Views", "collect", "document"), ".views"),
        "LimitShare": ".sections.limits",
    },
)
