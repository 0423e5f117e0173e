"""Parts of Vega-Lite charts, as the boards of scores draw them.

Functions return mappings that become JSON; `training.scoreboard` and the pages of papers use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 420
"""Pixels of the plot area of a chart."""
NAMES = {"type": "nominal", "title": None}
"""Keys of an axis or a color of names."""


def chart(
    title: str, values: Sequence[Mapping[str, object]], mark: object = None, **more: Any
) -> dict[str, object]:
    """Return a chart of values: its mark, its encoding, and other keys of Vega-Lite."""
    heads = {k: v for k, v in {"title": title, "mark": mark}.items() if v}
    return {"background": "white", "width": WIDTH, "data": {"values": values}, **heads, **more}


def axis(field: str, title: str = "", form: str = "", **scale: object) -> dict[str, object]:
    """Return an axis of numbers: its field, title, number format and scale."""
    # empty parts are left out: Vega-Lite's defaults hold
    parts = {"title": title, "axis": {"format": form} if form else {}, "scale": scale}
    return {"field": field, "type": "quantitative", **{k: v for k, v in parts.items() if v}}


def names(field: str, **more: object) -> dict[str, object]:
    """Return an axis of names, or colors by name, without a title."""
    return {"field": field, **NAMES, **more}


def colored(field: str) -> dict[str, object]:
    """Return colors by name; unlike in `names`, the legend has the field as its title."""
    return {"field": field, "type": "nominal"}


def labels(encoding: Mapping[str, object], field: str, form: str, **mark: object) -> dict[str, Any]:
    """Return a layer that writes a field's number at each mark."""
    text = {"field": field, "type": "quantitative", "format": form}
    return {"mark": {"type": "text", **mark}, "encoding": {**encoding, "text": text}}
