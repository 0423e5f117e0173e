"""Reports rendered in the output formats."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import TYPE_CHECKING

from .formats import comma, json_form, markdown, text, trace
from .views import DEFAULT, TOP, Views, collect, document

if TYPE_CHECKING:
    from perfc.api import Report


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
    """Render a report in the given format.

    Args:
        report: result of ``perfc.analyze``.
        form: output format; JSON has every view, CSV and TRACE have every kernel, whatever
            ``views`` and ``top`` are.
        views: names of the views shown.
        top: kernels shown, slowest first; None for all, in execution order.
        width: columns of the text.
        predict: include predictions.

    >>> import perfc
    >>> report = perfc.analyze("examples/models/resnet50.onnx.gz", dims={"batch": 8})
    >>> render(report).splitlines()[0]
    'perfc: examples/models/resnet50.onnx.gz on a100-sxm4-80gb, batch = 8, ort'
    """
    return written(collect(report, predict=predict), form, views, top, width)


def written(views: Views, form: Format, shown: Collection[str], top: int | None, width: int) -> str:
    """Render views in the given format."""
    match form:
        case Format.JSON:
            return json_form.render(views)
        case Format.CSV:
            return comma.render(views.kernels)
        case Format.TRACE:
            return trace.render(views)
        case Format.MARKDOWN:
            return markdown.render(document(views, shown, top))
        case Format.TEXT:
            return text.render(document(views, shown, top), width)
