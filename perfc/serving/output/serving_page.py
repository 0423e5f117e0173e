"""HTML pages of LLM serving: step times by part, latencies, memory, and a search's Pareto front."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.view.html.page import ChartBlock, chart_page
from perfc.view.html.payload import Json, number, text

if TYPE_CHECKING:
    from perfc.serving.output.report import IntervalFactors, ServingMemory, ServingReport
    from perfc.serving.parts import EngineStep
    from perfc.serving.search import SearchResult

SCRIPTS = ("format", "theme", "canvas", "serving", "ready")
STEPS = ChartBlock(
    "steps",
    "step time by part",
    "One bar per step: the share of each part. Mark: lower bound.",
    "Time of single steps by their parts",
)
LATENCIES = ChartBlock(
    "latencies",
    "latencies",
    "Marks: median, 90th and 99th percentile. Below: the mean with its 90 % prediction interval.",
    "Percentiles of time to first token and of inter-token latency",
)
MEMORY = ChartBlock(
    "room",
    "memory in parts",
    "The pool holds the KV cache and states of all users.",
    "Parts of a GPU's memory",
)
FRONT = ChartBlock(
    "front",
    "front",
    "Large dots: the Pareto front. Small dots: other settings of each machine, format and number "
    "of GPUs. Dashed: the requested time per token.",
    "Cost of tokens against time per token",
)


def serving_page(report: ServingReport) -> str:
    """Return one serving report as a self-contained HTML document."""
    from perfc.serving.output.views import document

    shown = document(report)
    charts = [MEMORY] if report.latencies is None else [STEPS, LATENCIES, MEMORY]
    return chart_page(shown, charts, payload(report), SCRIPTS)


def search_page(search: SearchResult) -> str:
    """Return a search as a self-contained HTML document."""
    from perfc.serving.output.views import search_document

    shown = search_document(search)
    charts = [FRONT] if search.pareto else []
    return chart_page(shown, charts, search_payload(search), SCRIPTS)


def step(view: EngineStep) -> Json:
    """Return the bar of one step, as long as the sum of its rounded parts."""
    parts = [(text(p.what), number(p.time_s) or 0.0) for p in view.parts]
    # the bar must end where its parts end; 12 digits are picoseconds
    whole = round(math.fsum(time_s for _, time_s in parts), 12) if parts else number(view.time_s)
    return {
        "what": text(view.what),
        "time_s": whole,
        "floor_s": number(view.floor_s),
        "parts": [list(part) for part in parts],
    }


def payload(report: ServingReport) -> Json:
    """Return the data of one serving report."""
    return {
        "reports": [],  # script ``format`` reads its first analysis; pages of serving have none
        "steps": [step(s) for s in report.steps],
        "latencies": list(latencies(report)),
        "memory": memory(report.memory),
    }


def latencies(report: ServingReport) -> list[Json]:
    """Return means, percentiles and intervals, in the order of the table."""
    latency = report.latencies
    if latency is None:
        return []
    rows = (
        ("time to first token (TTFT)", latency.ttft, report.ttft_band),
        ("time per output token (TPOT)", latency.tpot, report.tpot_band),
        ("inter-token latency (ITL)", latency.itl, None),
    )
    return [
        {
            "what": what,
            "mean_s": number(q.mean),
            "range_s": _range(q.mean, band),
            "percentiles_s": [number(v) for v in (q.p50, q.p90, q.p99)],
        }
        for what, q, band in rows
        if q is not None
    ]


def _range(mean_s: float, band: IntervalFactors | None) -> list[float | None]:
    if band is None or band.is_unknown:
        return []
    return [number(mean_s * band.low), number(mean_s * band.high)]


def memory(m: ServingMemory) -> list[list[object]]:
    """Return the parts of a GPU's memory in bytes."""
    parts = [
        ("weights", m.weight_bytes),
        ("activations", m.activation_bytes),
        ("contexts and graphs", m.overhead_bytes),
        (m.pool_name, max(m.pool_bytes, 0.0)),
    ]
    # an engine takes a share of the memory; a model that does not fit leaves no rest
    rest = m.capacity_bytes - sum(size for _, size in parts)
    return [[name, number(size)] for name, size in (*parts, ("unused", max(rest, 0.0)))]


def search_payload(search: SearchResult) -> Json:
    """Return the data of a search."""
    from perfc.serving.output.front_chart import dots_of

    return {
        "reports": [],  # no analysis, as in `payload`
        "across": {"name": "time per token", "unit": "s"},
        "up": {"name": search.cost_unit, "unit": ""},
        "limit": search.slo.tpot_s,
        "kinds": ["on the front", "not on the front"],
        # times, costs, machine, whether on the front (the first of `kinds`), and words
        "dots": [
            [number(d.time_s), number(d.cost), text(d.target), d.is_best, text(d.words)]
            for d in dots_of(search)
        ],
    }
