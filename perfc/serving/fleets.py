"""Fleets that serve a rate of requests within limits of their tails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from .service import ServingReport

if TYPE_CHECKING:
    from .search import ServingSetting, Slo, _Query

FLEETS = 5
"""Fleets of a rate that are listed."""
FIRST_SHARE, GROWTH = 0.8, 1.1
"""Engines that are simulated first, of those that a rate takes in a steady state, and growth."""


def fleets(
    settings: Sequence[ServingSetting], query: _Query, slo: Slo, most: int
) -> list[ServingReport]:
    """Return the cheapest fleets that serve the rate of the load within limits, cheapest first.

    Of each engine the batch counts that delivers most within the limits. A fleet begins below the
    engines that this takes and grows until its simulated tails hold. ``most`` limits simulations.
    """
    from .search import holds

    rate = query.load.rate
    best: dict[tuple[object, ...], tuple[float, ServingSetting]] = {}
    for s in settings:
        if slo.tpot_p99_s is None or s.tpot_s <= slo.tpot_p99_s:
            key = s.target, s.weights, s.tensor, s.expert, s.token_budget
            each = s.tokens_per_s_per_gpu * s.tensor / query.load.osl
            best[key] = max(best.get(key, (0.0, s)), (each, s), key=lambda pair: pair[0])
    heap: list[tuple[float, int, int]] = []
    chosen = list(best.values())

    def push(index: int, engines: int) -> None:
        s = chosen[index][1]
        gpus, per_million = engines * s.tensor, s.price_per_million
        hour = (per_million or 0.0) * s.tokens_per_s_per_gpu * 3.6e-3 * gpus
        if gpus <= (slo.gpus or math.inf) and hour <= (slo.price_per_h or math.inf):
            heappush(heap, (hour if query.is_priced else gpus, engines, index))

    for index, (each, _) in enumerate(chosen):
        push(index, max(1, math.ceil(FIRST_SHARE * rate / each)))
    held: list[ServingReport] = []
    for _ in range(most):
        if not heap or len(held) == FLEETS:
            break
        _, engines, index = heappop(heap)
        report = query(chosen[index][1], engines)
        is_late = report.simulated is None or report.simulated.is_late
        if not is_late and holds(report, slo):
            held.append(report)
        else:
            push(index, max(engines + 1, math.ceil(engines * GROWTH)))
    return held
