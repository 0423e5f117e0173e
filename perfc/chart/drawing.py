"""SVG and HTML of a chart, through vl-convert: Vega-Lite compiled without a browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from perfc import vegalite
from perfc.plain_text import printable
from perfc.report.json_form import strict

from .chart import Chart
from .spec import spec
from .table import header, rows

_SYMBOL = re.compile(r'(<path aria-label="([^"]*)" role="graphics-symbol"[^>]*)/>')
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; color: #222; }
table { border-collapse: collapse; font-size: 12px; margin-top: 1.5rem; }
th, td { padding: 2px 10px; text-align: right; border-bottom: 1px solid #eee; }
th:first-child, td:first-child { text-align: left; max-width: 34rem; overflow-wrap: anywhere; }
td:not(:first-child) { white-space: nowrap; }
.above { color: #b00020; font-weight: 600; }
footer { color: #666; margin-top: 1.5rem; font-size: 12px; }
"""
_SCRIPT = """
const spec = JSON.parse(document.getElementById("spec").textContent);
const actions = {export: true, source: false, compiled: false, editor: false};
vegaEmbed("#chart", spec, {mode: "vega-lite", actions});
"""


def svg(chart: Chart) -> str:
    """The chart as an SVG document; what each mark is shows on hover."""
    return _SYMBOL.sub(_titled, vegalite.svg(spec(chart, interactive=False)))


def _titled(match: re.Match[str]) -> str:
    return f"{match.group(1)}><title>{match.group(2)}</title></path>"


def page(chart: Chart) -> str:
    """The chart as an HTML page that needs nothing else: scripts are inside."""
    bundle: str = vegalite.converter("HTML").javascript_bundle()
    return "\n".join(_page(chart, bundle)) + "\n"


def _page(chart: Chart, bundle: str) -> Iterator[str]:
    title = html.escape(printable(chart.title))
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>{title}</title>"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>"
    yield '<div id="chart"></div>'
    yield "<p>Drag to pan, scroll to zoom, click a memory level in the legend to see it alone.</p>"
    if chart.marks:
        yield "<table>\n<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in header()) + "</tr>"
        above = {id(p.mark) for p in chart.above}
        for mark, texts in rows(chart):
            cells = "".join(f"<td>{html.escape(t)}</td>" for t in texts)
            yield f'<tr class="above">{cells}</tr>' if id(mark) in above else f"<tr>{cells}</tr>"
        yield "</table>"
    # A name from a file cannot end the script: no "<" is left in its text.
    data = strict(spec(chart, interactive=True)).replace("<", "\\u003c")
    yield f'<script type="application/json" id="spec">{data}</script>'
    yield f'<script type="module">\n{bundle}\n{_SCRIPT}</script>'
    yield "</body>\n</html>"
