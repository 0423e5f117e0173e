"""SVG of a chart, through vl-convert: Vega-Lite compiled without a browser."""

from __future__ import annotations

import re

from perfc.view import vegalite

from .chart import Chart
from .spec import spec

_SYMBOL = re.compile(r'(<path aria-label="([^"]*)" role="graphics-symbol"[^>]*)/>')
"""Points of Vega's drawing, which get a title for tooltips."""


def svg(chart: Chart) -> str:
    """Return the chart as an SVG document; a point shows its description on hover."""
    return _SYMBOL.sub(r"\1><title>\2</title></path>", vegalite.svg(spec(chart)))
