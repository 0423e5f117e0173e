"""The chart as JSON: schema ``perfc-roofline/1``."""

from __future__ import annotations

import json

from perfc.machine import Rate
from perfc.version import __version__

from .chart import Chart
from .marks import Mark
from .roofs import Level

SCHEMA = "perfc-roofline/1"


def render(chart: Chart) -> str:
    """The text of the JSON document."""
    tree = {
        "schema": SCHEMA,
        "perfc": __version__,
        "title": chart.title,
        "target": chart.roofs.target,
        "roofs": [
            {
                "unit": r.unit.value,
                "dtypes": list(r.dtypes),
                "peak_flop_per_s": _rate(r.peak),
                "sustained_flop_per_s": _rate(r.sustained),
            }
            for r in chart.roofs.roofs
        ],
        "slopes": [
            {
                "level": s.level.value,
                "peak_bytes_per_s": _rate(s.peak),
                "sustained_bytes_per_s": _rate(s.sustained),
            }
            for s in chart.roofs.slopes
        ],
        "kernels": [_kernel(chart, m) for m in chart.marks],
        "notes": list(chart.notes),
    }
    return json.dumps(tree, indent=2, allow_nan=False) + "\n"


def _rate(rate: Rate | None) -> dict[str, object] | None:
    if rate is None:
        return None
    return {"value": rate.value, "origin": str(rate.origin), "source": rate.source}


def _kernel(chart: Chart, mark: Mark) -> dict[str, object]:
    points = {p.level: p for p in chart.points if p.mark is mark}
    return {
        "label": mark.label,
        "phase": mark.phase,
        "basis": mark.basis.value,
        "count": mark.count,
        "nodes": list(mark.nodes),
        "flop": mark.flop,
        "is_bound": mark.is_bound,
        "time_s": mark.time_s,
        "flop_per_s": mark.flop_per_s,
        "unit": mark.unit.value,
        "dtype": mark.dtype,
        "bound": mark.bound,
        "levels": {
            x.value: {
                "bytes": mark.nbytes[x],
                "flop_per_byte": mark.intensity(x),
                "of_roofline": points[x].of_roof if x in points else None,
                "is_above_peak": points[x].above_peak if x in points else False,
            }
            for x in Level
            if x in mark.nbytes
        },
    }
