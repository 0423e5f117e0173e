"""Charts in Vega-Lite, drawn by vl-convert, which ships Vega and needs no browser."""

from __future__ import annotations

import json
from types import ModuleType

from perfc.errors import MissingExtraError
from perfc.extras import install


def converter(form: str) -> ModuleType:
    """vl-convert, which draws ``form``.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError(
            f"drawing {form} needs the package vl-convert-python",
            hint=f"{install('plot')}; text and json need nothing",
        ) from None
    return vl_convert


def svg(chart: object) -> str:
    """A specification, as JSON has it, as an SVG document.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    drawn: str = converter("SVG").vegalite_to_svg(json.dumps(chart))
    return drawn
