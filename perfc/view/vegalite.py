"""Vega-Lite charts, rendered by vl-convert without a browser."""

from __future__ import annotations

import json
from types import ModuleType

from perfc.common.extras import install
from perfc.errors import MissingExtraError


def converter(form: str) -> ModuleType:
    """Import vl-convert, which renders ``form``.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError(
            f"drawing {form} needs the package vl-convert-python",
            hint=f"{install('plot', only='vl-convert')}; -o FILE.html needs nothing",
        ) from None
    return vl_convert


def svg(chart: object) -> str:
    """Render a JSON chart specification as SVG.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    drawn: str = converter("SVG").vegalite_to_svg(json.dumps(chart))
    return drawn
