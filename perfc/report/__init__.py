"""Reports: views collected once from an analysis, shown as text, JSON, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import TYPE_CHECKING

from .confidence import Confidence, Grade
from .limits import LimitShare
from .verdict import Item, MemoryNeed, Throughput, Verdict
from .views import DEFAULT, NAMES, TOP, Views, collect, document

if TYPE_CHECKING:
    from perfc.api import Report

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


class Format(Enum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    TRACE = "trace"


def render(
    report: Report,
    form: Format = Format.TEXT,
    *,
    views: Collection[str] = DEFAULT,
    top: int | None = TOP,
    width: int = 120,
    predict: bool = True,
) -> str:
    """A report as text of the given format.

    Args:
        report: what ``perfc.analyze`` returned.
        form: JSON holds every view, CSV and TRACE every kernel, whatever ``views`` and ``top`` say.
        views: names of the views shown.
        top: kernels shown, slowest first; None for all, in execution order.
        width: columns of the text.
        predict: also what the run will take, not only what it cannot beat.

    >>> import perfc
    >>> found = perfc.analyze("examples/models/resnet50.onnx.gz", dims={"batch": 8})
    >>> render(found).splitlines()[0]
    'perfc: examples/models/resnet50.onnx.gz on a100-sxm4-80gb, batch = 8, ort'
    """
    return written(collect(report, predict=predict), form, views, top, width)


def written(found: Views, form: Format, shown: Collection[str], top: int | None, width: int) -> str:
    """Views as text of the given format."""
    match form:
        case Format.JSON:
            from . import json_form

            return json_form.render(found)
        case Format.CSV:
            from . import comma

            return comma.render(found.kernels)
        case Format.TRACE:
            from . import trace

            return trace.render(found)
        case Format.MARKDOWN:
            from . import markdown

            return markdown.render(document(found, shown, top))
        case Format.TEXT:
            from . import text

            return text.render(document(found, shown, top), width)
