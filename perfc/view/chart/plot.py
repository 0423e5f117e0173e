"""Roofline charts in a terminal, drawn with plotext."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from perfc.common.extras import required
from perfc.common.plain_text import printable, shielded
from perfc.view.report.units import UP

from .chart import Chart
from .lines import lines_of
from .marks import TimeBasis
from .roofs import RoofLevel

COLORS = {RoofLevel.L1: "blue+", RoofLevel.L2: "red+", RoofLevel.DEVICE: "green+"}
MARKERS = {RoofLevel.L1: "o", RoofLevel.L2: "+", RoofLevel.DEVICE: "x"}
MEASURED = {RoofLevel.L1: "1", RoofLevel.L2: "2", RoofLevel.DEVICE: "D"}
"""Characters of measured points; MARKERS are those of computed ones."""
LEAST_WIDTH, LEAST_HEIGHT = 60, 16
"""Minimum terminal size for a chart; smaller ones get only the table."""


def plotted(chart: Chart, width: int, height: int, *, color: bool) -> str:
    """Return the chart as text of ``width`` columns and ``height`` lines.

    Raises:
        MissingExtraError: if plotext is not installed.
    """
    message = "charts in a terminal need the package plotext"
    plotext = required("plotext", message, "plot", "; piped output is a table and does not need it")
    figure: Any = plotext.figure
    figure.clear()  # one figure serves the process
    plotext.terminal.limit(False, False)  # the size is given, whatever the terminal has
    figure.theme("colorless")
    figure.canvas("default")
    figure.plot_size(width, height)
    for line in lines_of(chart):
        name = COLORS[line.level] if line.level else "white"
        # measured ceilings are fine lines of braille, peaks are dotted
        marker = plotext.marker("braille" if line.is_sustained else "dot", plotext.pixel(name))
        figure.draw(_signal(figure, (line.start, line.end), marker).lines())
    for basis in TimeBasis:
        for level in RoofLevel:
            points = [p for p in chart.points if p.level is level and p.mark.basis is basis]
            if points:
                character = (MEASURED if basis is TimeBasis.MEASURED else MARKERS)[level]
                marker = plotext.marker(character, plotext.pixel(COLORS[level]))
                places = [(p.intensity, p.flop_per_s) for p in points]
                figure.draw(_signal(figure, places, marker).label(f"{level.title} {basis.value}"))
    _axes(figure, chart)
    text: str = figure.build().string(colorless=not color)
    return text


def _signal(figure: Any, places: Sequence[tuple[float, float]], marker: Any) -> Any:
    # plotext's log scale does not accept custom ticks, so it gets logarithms on a linear scale
    x, y = ([math.log10(v) for v in values] for values in zip(*places, strict=True))
    return figure.signal(x, y, marker=marker)


def _axes(figure: Any, chart: Chart) -> None:
    for name, limits in (("x", chart.window.x), ("y", chart.window.y)):
        ruler = figure.ruler(name, "lower" if name == "x" else "left")
        low, high = (math.log10(v) for v in limits)
        powers = range(math.ceil(low), math.floor(high) + 1)
        ruler.lim(low, high).ticks(list(powers), [_power(p) for p in powers])
    figure.label("flop/byte", "x", "lower")
    figure.title(f"{shielded(printable(chart.title))}: flop/s")


def _power(power: int) -> str:
    # the prefix at or below the power; the rest is a factor of 1, 10 or 100
    step, rest = divmod(power, 3)
    if 0 <= step < len(UP):
        return f"{10**rest}{UP[step]}"
    return f"{10.0**power:g}"
