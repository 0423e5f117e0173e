"""Structural comparison of two models: changes, their costs, and the edits that explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.common.first_use import first_use

if TYPE_CHECKING:
    from .difference import Difference, compare
    from .figures import Figure, Metric, figures
    from .sections import document
    from .sides import SideSetting, both
    from .views import DiffViews
    from .views import collect as views_of

__all__ = [
    "DiffViews",
    "Difference",
    "Figure",
    "Metric",
    "SideSetting",
    "both",
    "compare",
    "document",
    "figures",
    "views_of",
]

# modules load at first use: `perfc check` imports this package, but compares models only if their
# figures changed
__getattr__ = first_use(
    __name__,
    {
        **dict.fromkeys(("Difference", "compare"), ".difference"),
        **dict.fromkeys(("Figure", "Metric", "figures"), ".figures"),
        "document": ".sections",
        **dict.fromkeys(("SideSetting", "both"), ".sides"),
        "DiffViews": ".views",
        "views_of": ".views:collect",
    },
)
