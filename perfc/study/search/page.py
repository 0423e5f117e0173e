"""Write the HTML page of a search of architectures: its candidates, and their Pareto front."""

from __future__ import annotations

from itertools import islice

from perfc.view.html.page import ChartBlock, chart_page
from perfc.view.html.payload import Json, number, text

from . import SpaceSearch
from .views import document, words_of

FRONT = ChartBlock(
    "front",
    "front",
    "Large dots: the Pareto front. Small dots: other candidates. Dashed: the longest time.",
    "The first objective against the second",
)
SCRIPTS = ("format", "theme", "canvas", "serving", "ready")
MOST_DOTS = 2_000
"""Maximum number of candidates that are drawn besides the front."""


def front_page(search: SpaceSearch) -> str:
    """Return a search as a self-contained HTML document; one objective has no chart."""
    shown = document(search)
    charts = [FRONT] if search.front and len(search.plan.objectives) > 1 else []
    return chart_page(shown, charts, payload(search) if charts else {}, SCRIPTS)


def payload(search: SpaceSearch) -> Json:
    """Return the data of the chart of the first two objectives."""
    across, up = search.plan.objectives[:2]
    best = {trial.number for trial in search.front}
    others = (trial for trial in search.trials if trial.number not in best)
    # the front is drawn last, over the others
    dots = [*islice(others, MOST_DOTS), *search.front]
    return {
        "reports": [],
        "across": {"name": across.value, "unit": across.symbol},
        "up": {"name": up.value, "unit": up.symbol},
        "limit": search.plan.limits.get(across),
        "kinds": ["on the front", "not on the front"],
        # values, machine, whether on the front (the first of `kinds`), and words of a candidate
        "dots": [
            [
                number(t.value(across)),
                number(t.value(up)),
                text(search.deployment.target),
                t.number in best,
                text(words_of(t)),
            ]
            for t in dots
        ],
    }
