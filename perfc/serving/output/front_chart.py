"""Return the settings of a search as dots of the chart of cost against time per token."""

from __future__ import annotations

from perfc.ir import record
from perfc.view.report.units import plural

from ..search import GPU_TIME, SearchResult, cost_of

FAR = 3.0
"""Multiple of the front's slowest and most expensive setting beyond which none is drawn."""


@record
class Dot:
    """A setting in the chart.

    Args:
        time_s: time per token.
        cost: cost in the unit of the search.
        target: machine.
        is_best: True on the Pareto front.
        words: label of the setting.
    """

    time_s: float
    cost: float
    target: str
    is_best: bool
    words: str


def _words(weights: str, ranks: int, expert: int, users: int) -> str:
    """Return the label of a setting."""
    experts = f", ep {expert}" if expert > 1 else ""
    label = f"{weights or 'published'} weights, {plural(ranks, 'GPU')}"
    return f"{label}{experts}, {plural(users, 'user')}"


def dots_of(result: SearchResult) -> list[Dot]:
    """Return the dots of a search: other settings first, then the Pareto front over them."""
    others = [
        Dot(
            s.tpot_s,
            s.cost,
            s.target,
            is_best=False,
            words=_words(s.weights, s.tensor, s.expert, s.users),
        )
        for s in result.others
    ]
    is_priced = result.cost_unit != GPU_TIME
    best = [
        Dot(
            r.latencies.tpot.mean,
            cost_of(r, is_priced=is_priced),
            r.target,
            is_best=True,
            words=_words(r.weights, r.gpus, r.parallel.expert, r.load.concurrency),
        )
        for r in result.pareto
        # answers of one token have no time per token
        if r.latencies is not None and r.latencies.tpot is not None
    ]
    if not best:
        return best
    slowest, dearest = max(d.time_s for d in best), max(d.cost for d in best)
    # one slow or expensive setting would squeeze the front into a corner; the axis of cost is
    # logarithmic and has no place for 0
    shown = [d for d in others if d.time_s < FAR * slowest and 0 < d.cost < FAR * dearest]
    return [*shown, *best]
