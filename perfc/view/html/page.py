"""Assembly of self-contained HTML pages from template, style, scripts and data."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from perfc.common.version import __version__
from perfc.ir import record
from perfc.view.html.blocks import VerdictBlock, verdict_block
from perfc.view.report import NAMES, Views, document
from perfc.view.report.formats.document import Document
from perfc.view.report.formats.json_form import strict
from perfc.view.report.views import headline

from .blocks import SectionBlock, section_block
from .payload import Json, payload, text
from .what_if import what_ifs

if TYPE_CHECKING:
    from jinja2 import Environment

    from perfc.api import Report

ECHARTS = "6.1.0"
"""Version of the library in ``echarts/``, which draws the charts."""
SCRIPTS = (
    "format",
    "theme",
    "canvas",
    "selection",
    "table",
    "roofline",
    "modules",
    "memory",
    "graph",
    "whatif",
    "details",
    "search",
    "export",
    "keyboard",
    "link",
)
"""Files of ``scripts/`` in the order in which they run."""
CHARTS = ("roofline", "modules", "kernels", "graph", "memory")
"""Sections with a separate layout."""
LINKED = ("bottlenecks", "assumptions", "changes")
"""Sections below the charts that have a link and a key."""
FOLDED = ("assumptions", "coverage")
"""Sections that are collapsed at first."""
PRINTED = 20
"""Number of kernels in print, slowest first."""


def page(
    report: Report, views: Views, targets: Sequence[str] = (), *, has_what_if: bool = True
) -> str:
    """Return one analysis as a self-contained HTML document.

    Args:
        report: result of ``perfc.analyze``.
        views: views of the report.
        targets: names or files of other machines to compare with.
        has_what_if: include the run at other batches, precisions and targets, analyzed now.

    Raises:
        TargetError: if there is no such target.
    """
    # no table of ceilings or modules: the page shows those of a kernel with its details
    names = [name for name in NAMES if name not in ("ceilings", "modules")]
    blocks = {s.name: section_block(s) for s in document(views, names, PRINTED).sections}
    assumptions = blocks.pop("assumptions")
    tables = Tables(blocks.pop("kernels"), blocks.pop("memory"))
    below = [*blocks.values(), assumptions]
    predict = views.prediction is not None
    others = what_ifs(report, targets, predict=predict) if has_what_if else None
    data: Json = {"reports": [payload(report, views)], "what_if": others}
    return rendered(headline(views), [], tables, below, data, verdict_block(views))


@record
class Tables:
    """Tables beneath charts."""

    kernels: SectionBlock
    memory: SectionBlock


def rendered(
    title: str,
    above: Sequence[SectionBlock],
    tables: Tables,
    below: Sequence[SectionBlock],
    data: Json,
    verdict: VerdictBlock | None = None,
) -> str:
    """Render the page, with the headline first.

    Args:
        title: title of the page.
        above: sections before the charts.
        tables: tables of the charts.
        below: sections after the charts.
        data: data for the scripts.
        verdict: headline; the first section of ``above`` takes its place by default.
    """
    linked = [b.name for b in below if b.name in LINKED]
    has_what_if = data.get("what_if") is not None
    first = ["verdict"] if verdict else [b.name for b in above[:1]]
    return filled(
        "report.html.j2",
        title,
        data,
        SCRIPTS,
        places=[*first, *CHARTS, *(["what-if"] if has_what_if else []), *linked],
        has_what_if=has_what_if,
        verdict=verdict,
        above=above,
        below=below,
        folded=FOLDED,
        tables=tables,
    )


@record
class ChartBlock:
    """A section that is one chart.

    Args:
        name: name of the section; a script fills ``NAME-chart`` and may fill ``NAME-note``.
        title: title of the section.
        hint: explanation of the chart and its controls.
        label: description of the chart for screen readers.
    """

    name: str
    title: str
    hint: str
    label: str


def chart_page(
    shown: Document,
    charts: Sequence[ChartBlock],
    data: Json,
    scripts: Sequence[str],
    lead: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML document of charts with tables below.

    Args:
        shown: title, tables and notes.
        charts: charts drawn by ``scripts``.
        data: data for the scripts.
        scripts: files of ``scripts/`` in the order in which they run.
        lead: summary lines above the charts.
    """
    return filled(
        "charts.html.j2",
        shown.title,
        data,
        scripts,
        charts=charts,
        sections=[section_block(s) for s in shown.sections],
        lead=[*map(text, lead)],
    )


def filled(name: str, title: str, data: Json, scripts: Sequence[str], **more: object) -> str:
    """Render a template of this package with its style, scripts and data."""
    from markupsafe import Markup

    # the policy has digests of exactly these texts
    every = (asset("echarts/echarts.min.js"), own_script(tuple(scripts)))
    return (
        environment()
        .get_template(name)
        .render(
            title=text(title),
            version=__version__,
            echarts=ECHARTS,
            policy=policy(every),
            # files of this package, and data without markup: the rest is escaped
            style=Markup(asset("style.css")),
            data=Markup(inert(data)),
            scripts=[Markup(s) for s in every],
            notices=[asset("echarts/NOTICE"), asset("echarts/LICENSE-d3")],
            **more,
        )
    )


@cache
def environment() -> Environment:
    """Return the template environment, shared by all pages."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Jinja chooses by suffix and would escape nothing in a file .j2; names of nodes are untrusted
    return Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(asset))


def inert(data: Json) -> str:
    """Serialize JSON so that no name can end the enclosing element."""
    json = strict(data)
    return json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(scripts: Sequence[str]) -> str:
    """Return a content security policy that allows only these scripts and no network."""
    digests = (hashlib.sha256(s.encode()).digest() for s in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def own_script(names: tuple[str, ...]) -> str:
    """Join scripts of ``scripts/`` in one scope."""
    parts = "\n".join(asset(f"scripts/{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def asset(name: str) -> str:
    """Read a file of this package."""
    return (files("perfc.view.html") / name).read_text(encoding="utf-8")
