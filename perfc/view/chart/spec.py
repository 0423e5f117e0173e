"""Vega-Lite specification of the chart, for SVG and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from perfc.common.plain_text import printable
from perfc.ir import Origin
from perfc.view.report.units import DASH, Unit, quantity, share, size_text, time_text

from .chart import Chart
from .lines import LineSegment, lines_of
from .marks import MarkPoint, TimeBasis
from .roofs import RoofLevel

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"

WIDTH, HEIGHT = 860, 520
"""Pixels of the drawing without axes."""
COLORS = {RoofLevel.L1: "#3b6fb6", RoofLevel.L2: "#c8553d", RoofLevel.DEVICE: "#3a8f5c"}
"""Blue, red and green for L1, L2 and device memory, as in Nsight Compute and in the thesis that
`docs/ncu.md` cites."""
ROOF_COLOR = "#4a4a4a"
SHAPES = {RoofLevel.L1: "circle", RoofLevel.L2: "square", RoofLevel.DEVICE: "triangle-up"}
LABEL_HEIGHT = 11
"""Pixels of a label, by which labels keep clear of lines and of each other."""
LONGEST_NAME = 90
"""Maximum characters of a kernel in the text of its point."""


def spec(chart: Chart) -> Json:
    """Return the specification.

    Names come from untrusted files: characters that XML does not allow would abort the compiler
    process, so they are removed.
    """
    return clean(_spec(chart))


def clean(value: Json) -> Json:
    """Return the tree with only printable characters in its texts."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {name: clean(v) for name, v in value.items()}
        case list() | tuple():
            return [clean(v) for v in value]
        case _:
            return value


def _spec(chart: Chart) -> Json:
    layers: list[Json] = [_lines(chart, sustained) for sustained in (False, True)]
    layers += [_roof_labels(chart), _slope_labels(chart)]
    if chart.points:
        layers.append(_points(chart))
    return {
        "title": {
            "text": chart.title,
            "subtitle": list(_subtitle(chart)),
            "anchor": "start",
            "subtitleColor": "#666",
        },
        "width": WIDTH,
        "height": HEIGHT,
        "background": "white",
        "layer": layers,
        # rows of lines name their colors, while points have a scale that maps levels to colors
        "resolve": {"scale": {"color": "independent"}},
        "config": {
            "view": {"stroke": "#ccc"},
            "axis": {"gridColor": "#eee", "labelFontSize": 11, "titleFontSize": 12},
            "legend": {"labelFontSize": 11, "titleFontSize": 12},
        },
    }


def _subtitle(chart: Chart) -> Iterator[str]:
    yield chart.roofs.description
    has_sustained = any(line.is_sustained for line in lines_of(chart))
    yield "dashed: peak" + ("; solid: measured" if has_sustained else "; no measured rates")
    if chart.points:
        bases = {p.mark.basis for p in chart.points}
        kinds = (
            (b, "filled" if b is TimeBasis.MEASURED else "open") for b in TimeBasis if b in bases
        )
        yield "marks " + "; ".join(f"{kind}: {b.value} times" for b, kind in kinds)
    yield from chart.notes


def _axis(field: str, title: str, limits: tuple[float, float], format_: str) -> Json:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        # all renderers show the same window, so Vega must not round its limits
        "scale": {"type": "log", "domain": list(limits), "nice": False, "clamp": True},
        "axis": {"format": format_, "tickCount": 8},
    }


def _axes(chart: Chart) -> dict[str, Json]:
    return {
        "x": _axis("x", "arithmetic intensity (flop/byte)", chart.window.x, "~g"),
        "y": _axis("y", "performance (flop/s)", chart.window.y, "~s"),
    }


def _nominal(field: str, **more: Json) -> Json:
    return {"field": field, "type": "nominal", **more}


def _by_level(values: Mapping[RoofLevel, str]) -> Json:
    """Return an encoding by memory level; equal titles merge the legends of color and shape."""
    scale = {"domain": [x.title for x in RoofLevel], "range": [values[x] for x in RoofLevel]}
    return _nominal("level", title="bytes at", scale=scale)


def _lines(chart: Chart, sustained: bool) -> Json:
    rows: list[Json] = []
    for i, line in enumerate(lines_of(chart)):
        if line.is_sustained is sustained:
            name = f"{line.text} {_kind(line)}"
            tip: dict[str, Json] = {"id": i, "ceiling": name, "source": _source(line)}
            tip["color"] = COLORS[line.level] if line.level else ROOF_COLOR
            rows += [{**tip, "x": x, "y": y} for x, y in (line.start, line.end)]
    mark: dict[str, Json] = {"type": "line", "strokeWidth": 2 if sustained else 1.2, "clip": True}
    if not sustained:
        mark["strokeDash"] = [5, 4]
    return {
        "data": {"values": rows},
        "mark": mark,
        "encoding": {
            **_axes(chart),
            "detail": _nominal("id"),
            "description": _nominal("ceiling"),  # for screen readers
            "color": _nominal("color", scale=None, legend=None),
            "tooltip": [_nominal("ceiling"), _nominal("source")],
        },
    }


def _kind(line: LineSegment) -> str:
    return "measured" if line.is_sustained else "peak"


def _source(line: LineSegment) -> str:
    origin = line.rate.origin
    name = "" if origin is Origin.ASSUMED else f" ({line.rate.source})"
    return f"{origin}{name}"


def labelled(chart: Chart) -> Iterator[LineSegment]:
    """Yield the line of each ceiling that carries the label: the measured one if it exists."""
    every = list(lines_of(chart))
    measured = {(line.name, line.level) for line in every if line.is_sustained}
    for line in every:
        if line.is_sustained or (line.name, line.level) not in measured:
            yield line


def _roof_labels(chart: Chart) -> Json:
    roofs = [line for line in labelled(chart) if line.level is None]
    peaks = {line.name: line.end[1] for line in lines_of(chart) if not line.is_sustained}
    # the label of a measured line would cross the line of its peak if the two lines are closer than
    # a label is high: it then stands above the peak
    overlap = 10 ** (LABEL_HEIGHT * decades(chart) / HEIGHT)
    over = [peaks[x.name] if peaks[x.name] < overlap * x.end[1] else x.end[1] for x in roofs]
    heights = spread(chart, over)
    rows: list[Json] = [
        {"x": line.end[0], "y": y, "text": f"{line.text} {_kind(line)}"}
        for line, y in zip(roofs, heights, strict=True)
    ]
    return _text(
        chart, rows, align="right", baseline="bottom", dy=-2, dx=-4, fontSize=10, color=ROOF_COLOR
    )


def decades(chart: Chart) -> float:
    """Return the height of the window in powers of ten."""
    low, high = chart.window.y
    return math.log10(high / low)


def spread(chart: Chart, values: Sequence[float]) -> list[float]:
    """Return heights of the labels of lines at ``values``: at the line, or above a lower label."""
    least = LABEL_HEIGHT * decades(chart) / HEIGHT
    placed = [0.0] * len(values)
    below = -math.inf
    for i in sorted(range(len(values)), key=lambda i: values[i]):
        below = max(math.log10(values[i]), below + least)
        placed[i] = 10**below
    return placed


def _slope_labels(chart: Chart) -> Json:
    rows: list[Json] = [
        {
            "x": line.start[0],
            "y": line.start[1],
            "text": f"{line.text} {_kind(line)}",
            "color": COLORS[line.level],
        }
        for line in labelled(chart)
        if line.level is not None
    ]
    return _text(
        chart, rows, align="left", baseline="top", dx=6, dy=3, fontSize=10, angle=angle(chart)
    )


def angle(chart: Chart) -> float:
    """Return the angle of diagonals on the page, clockwise in degrees of 0 to 360 (Vega-Lite)."""
    (x0, x1), (y0, y1) = chart.window.x, chart.window.y
    rise = HEIGHT / math.log10(y1 / y0)
    run = WIDTH / math.log10(x1 / x0)
    return round(-math.degrees(math.atan2(rise, run)), 2) % 360


def _text(chart: Chart, rows: list[Json], **more: Json) -> Json:
    """Return a layer of labels, which have the color of their row unless ``more`` has one."""
    encoding = {**_axes(chart), "text": _nominal("text")}
    if "color" not in more:
        encoding["color"] = _nominal("color", scale=None, legend=None)
    mark: Json = {"type": "text", **more}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


TIPS = ("kernel", "nodes", "phase", "bytes at", "intensity", "rate", "time", "of roofline", "bound")
"""Fields of `row` in the tooltip of a point."""


def _points(chart: Chart) -> Json:
    total = {b: sum(m.time_s * m.count for m in chart.marks if m.basis is b) for b in TimeBasis}
    rows: list[Json] = [row(p, total[p.mark.basis]) for p in chart.points]
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "strokeWidth": 1.5, "clip": True},
        "encoding": {
            **_axes(chart),
            "stroke": _by_level(COLORS),
            "fill": _by_level(COLORS),
            "fillOpacity": {
                "condition": {"test": "datum.basis == 'measured'", "value": 0.85},
                "value": 0.12,
            },
            "shape": _by_level(SHAPES),
            "size": {
                "field": "share",
                "type": "quantitative",
                "title": "share of time",
                "scale": {"type": "sqrt", "domain": [0, 1], "range": [40, 900]},  # square pixels
                "legend": {"format": ".0%", "values": [0.01, 0.1, 0.5]},
            },
            "description": _nominal("description"),
            "tooltip": [_nominal(name) for name in TIPS],
        },
    }


def row(p: MarkPoint, total_s: float) -> dict[str, Json]:
    """Return position, size and tooltip of one point.

    Args:
        p: point.
        total_s: time of all kernels with the same basis, of which the area shows a share.
    """
    m = p.mark
    time = time_text(m.time_s) + (f" × {m.count}" if m.count > 1 else "")
    data: dict[str, Json] = {
        "x": p.intensity,
        "y": p.flop_per_s,
        "level": p.level.title,
        "basis": m.basis.value,
        "share": m.time_s * m.count / total_s if total_s else 0.0,
        "kernel": shortened(m.label),
        "nodes": shortened(", ".join(m.nodes)) or DASH,
        "phase": m.phase or DASH,
        "bytes at": f"{p.level.title}, {size_text(m.nbytes[p.level])}",
        "intensity": quantity(p.intensity, Unit.FLOP_PER_BYTE),
        "rate": quantity(p.flop_per_s, Unit.FLOP_PER_S),
        "time": f"{time} {m.basis.value}",
        "of roofline": DASH if p.of_roof is None else share(p.of_roof),
        "bound": m.bound or DASH,
    }
    data["description"] = (
        f"{data['kernel']}: {p.level.title}, {data['intensity']}, {data['rate']}, "
        f"{data['time']}, {data['of roofline']} of the roofline"
    )
    return data


def shortened(text: str) -> str:
    """Shorten a long name in the middle."""
    if len(text) <= LONGEST_NAME:
        return text
    half = LONGEST_NAME // 2
    return f"{text[:half]}…{text[-half + 1 :]}"  # one character less for the ellipsis
