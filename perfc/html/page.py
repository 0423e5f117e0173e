"""The page itself: template, style, scripts and data put into one file that needs no other."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from perfc.report import NAMES, Views, document
from perfc.report.views import headline
from perfc.version import __version__

from .blocks import SectionBlock, section_block
from .payload import payload, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.api import Report

ECHARTS = "6.1.0"
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
    "details",
    "keyboard",
)
"""Files of ``scripts/`` in the order in which they run."""
PLACES = (
    ("summary", "summary"),
    ("roofline", "roofline"),
    ("modules", "modules"),
    ("kernels", "kernels"),
    ("graph", "graph"),
    ("memory", "memory"),
    ("bottlenecks", "bottlenecks"),
    ("assumptions", "assumptions"),
)
"""Sections that have a link and a key."""
PRINTED = 40
"""Kernels on paper, slowest first."""


def page(report: Report, views: Views) -> str:
    """One analysis as an HTML document without any reference to the outside.

    Args:
        report: what ``perfc.analyze`` returned.
        views: the views collected from it, which every other format shows too.
    """
    blocks = {s.name: section_block(s) for s in document(views, NAMES, PRINTED).sections}
    return rendered(headline(views), blocks, {"reports": [payload(report, views)]})


def rendered(title: str, blocks: dict[str, SectionBlock], data: dict[str, object]) -> str:
    """The template filled in."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    scripts = (asset("echarts/echarts.min.js"), own_script())
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(asset("report.html.j2"))
    above = [n for n in ("summary", "prediction") if n in blocks]
    apart = (*above, "kernels", "memory", "ceilings", "assumptions")
    return template.render(
        title=text(title),
        version=__version__,
        echarts=ECHARTS,
        policy=policy(scripts),
        style=Markup(asset("style.css")),
        places=PLACES,
        above=[blocks[n] for n in above],
        below=[*(b for n, b in blocks.items() if n not in apart), blocks["assumptions"]],
        kernels=blocks["kernels"],
        memory=blocks["memory"],
        data=Markup(inert(data)),
        scripts=[Markup(s) for s in scripts],
    )


def inert(data: dict[str, object]) -> str:
    """JSON that cannot end the element it stands in, whatever names it holds."""
    found = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return found.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(scripts: Sequence[str]) -> str:
    """A content security policy: these scripts and no other, and no network at all."""
    digests = (hashlib.sha256(s.encode()).digest() for s in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def own_script() -> str:
    """The scripts of ``scripts/`` in one scope."""
    parts = "\n".join(asset(f"scripts/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return (files("perfc.html") / name).read_text(encoding="utf-8")
