"""Find the cheapest fleets of engines that serve a rate of requests within limits of latency.

``perfc llm search --rate`` calls `fleets` with the settings that hold in a steady state; each
candidate is simulated. `Slo` has the limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from perfc.common.durations import seconds_of
from perfc.errors import ParseError
from perfc.ir import record

from .output.report import ServingReport

if TYPE_CHECKING:
    from .search import ServingSetting, _Query
    from .simulation.load import Load

FLEETS = 5
"""Number of fleets that are listed."""
FIRST_SHARE, GROWTH = 0.8, 1.1
"""The simulation of a fleet starts with this share of the engines that the rate takes in a steady
state, so that it starts below the answer, and grows by this factor where they are not enough. The
share is also the utilization for which disaggregated prefill is sized."""
LIMITS = ("ttft", "tpot", "e2e")
"""Latencies that `Slo.parse` limits."""


@record
class Slo:
    """Limits of latencies, in seconds, and of a fleet; None where there is no limit.

    Args:
        ttft_s: mean time to first token.
        tpot_s: mean time per output token after the first.
        e2e_s: mean end-to-end time of a request.
        ttft_p99_s: 99 % quantile of the time to first token.
        tpot_p99_s: 99 % quantile of the time per output token.
        gpus: number of GPUs.
        price_per_h: price of an hour, in the currency of the machines.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_p99_s: float | None = None
    gpus: int | None = None
    price_per_h: float | None = None

    @classmethod
    def parse(cls, text: str, where: str = "--slo") -> Slo:
        """Parse limits such as ``ttft=500ms,tpot=30ms``.

        Raises:
            ParseError: an unknown limit, or a value that is not a duration.
        """
        limits: dict[str, Any] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals or name not in LIMITS:
                hint = f"as in ttft=500ms,tpot=30ms; there are {', '.join(LIMITS)}"
                raise ParseError(f"{part[:32]!r} is not a limit", where=where, hint=hint)
            limits[f"{name}_s"] = seconds_of(value, where)
        return cls(**limits)

    def holds(self, ttft_s: float, tpot_s: float, e2e_s: float) -> bool:
        """Return True if the times are within the limits."""
        limits = (ttft_s, self.ttft_s), (tpot_s, self.tpot_s), (e2e_s, self.e2e_s)
        return all(most is None or time_s <= most for time_s, most in limits)


def holds(report: ServingReport, slo: Slo) -> bool:
    """Return True if the latencies of a report are within the limits."""
    latencies = report.latencies
    if latencies is None:
        return False
    tpot = latencies.tpot
    tails = (latencies.ttft.p99, slo.ttft_p99_s), (tpot.p99 if tpot else 0.0, slo.tpot_p99_s)
    return slo.holds(
        latencies.ttft.mean, tpot.mean if tpot else 0.0, latencies.end_to_end.mean
    ) and all(most is None or time_s <= most for time_s, most in tails)


def fleet_cost(s: ServingSetting, load: Load) -> float:
    """Return the cost of the whole engines that the rate of a load takes in a steady state.

    The unit is that of ``s.cost``, which counts full engines: the idle part of the last one is
    added.
    """
    demanded = load.rate * load.osl / (s.tokens_per_s_per_gpu * s.tensor)
    return s.cost * math.ceil(demanded) / demanded


def fleets(
    settings: Sequence[ServingSetting], query: _Query, slo: Slo, most: int
) -> list[ServingReport]:
    """Return the cheapest fleets that serve the rate of the load within limits, cheapest first.

    For each engine, the batch with the highest throughput within the limits is chosen, once with
    its own prefill and once with disaggregated prefill. A fleet starts with fewer engines than that
    throughput requires, and grows until the simulated percentiles are within the limits. ``most``
    is the maximum number of simulations.
    """
    rate = query.load.rate
    batches_of: dict[tuple[object, ...], list[ServingSetting]] = {}
    for s in settings:
        if slo.tpot_p99_s is None or s.tpot_s <= slo.tpot_p99_s:
            # settings with this key differ in the batch only
            key = s.target, s.weights, s.tensor, s.expert, s.token_budget
            batches_of.setdefault(key, []).append(s)
    # setting, requests per second of an engine, and GPUs of disaggregated prefill
    chosen: list[tuple[ServingSetting, float, int]] = []
    for batches in batches_of.values():
        s = max(batches, key=lambda s: s.tokens_per_s_per_gpu)
        requests_per_s = s.tokens_per_s_per_gpu * s.tensor / query.load.osl
        # the engines that compute the prompts of the rate at this utilization
        prompt_s = min([s.ttft_s for s in batches])
        prefill = s.tensor * math.ceil(rate * prompt_s / FIRST_SHARE)
        chosen += (s, requests_per_s, 0), (s, requests_per_s, prefill)
    # cheapest first: price or GPUs, engines, index in `chosen`
    heap: list[tuple[float, int, int]] = []

    def push(index: int, engines: int) -> None:
        s, _, prefill = chosen[index]
        gpus = engines * s.tensor + prefill
        # price per million tokens times tokens per second is the price of 1e6 s; an hour has 3600 s
        per_hour = (s.price_per_million or 0.0) * s.tokens_per_s_per_gpu * 3.6e-3 * gpus
        if gpus <= (slo.gpus or math.inf) and per_hour <= (slo.price_per_h or math.inf):
            heappush(heap, (per_hour if query.is_priced else gpus, engines, index))

    for index, (_, requests_per_s, _) in enumerate(chosen):
        push(index, max(1, math.ceil(FIRST_SHARE * rate / requests_per_s)))
    reports: list[ServingReport] = []
    # by choice: with fewer engines than this it has failed, or was not tried
    fewest = [1] * len(chosen)
    for _ in range(most):
        if not heap or len(reports) == FLEETS:
            break
        _, engines, index = heappop(heap)
        s, _, prefill = chosen[index]
        report = query(s, engines, prefill)
        run = report.simulated
        if run is None or run.is_late or not holds(report, slo):
            fewest[index] = engines + 1
            push(index, max(engines + 1, math.ceil(engines * GROWTH)))
            continue
        # the run shows the rate that an engine can serve: fewer engines may be enough
        enough = math.ceil(engines * rate / (run.capacity_requests_per_s or rate))
        if max(enough, fewest[index]) < engines:
            push(index, max(enough, fewest[index]))
        else:
            reports.append(report)
    return reports
