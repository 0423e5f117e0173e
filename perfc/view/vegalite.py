"""Vega-Lite charts, rendered by vl-convert without a browser."""

from __future__ import annotations

import json
from typing import Any

from perfc.common.extras import required


def converter(form: str) -> Any:
    """Import vl-convert, which renders ``form``.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    message = f"drawing {form} needs the package vl-convert-python"
    return required("vl_convert", message, "plot", "; -o FILE.html needs nothing")


def svg(chart: object) -> str:
    """Render a JSON chart specification as SVG.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    drawn: str = converter("SVG").vegalite_to_svg(json.dumps(chart))
    return drawn
