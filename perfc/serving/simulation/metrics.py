"""What users and owners of an engine ask about: latencies, throughput, energy, carbon, money."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.ir.record import record

from .simulate import Run, Stride

MILLION = 1e6


@record
class Quantiles:
    """Of a latency, in seconds.

    Args:
        mean: of all.
        p50: half are shorter.
        p90: nine in ten are.
        p99: 99 in 100 are.
    """

    mean: float
    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles | None:
        """Of values that are numbers; None where there is none."""
        known = sorted(v for v in values if not math.isnan(v))
        if not known:
            return None
        mean = math.fsum(known) / len(known)
        return cls(mean, *(_at(known, q) for q in (0.5, 0.9, 0.99)))

    @classmethod
    def weighted(cls, pairs: Sequence[tuple[float, float]]) -> Quantiles | None:
        """Of values that each occur some number of times."""
        if not pairs:
            return None
        ordered = sorted(pairs)
        count = sum(n for _, n in ordered)
        mean = math.fsum(v * n for v, n in ordered) / count
        found: list[float] = []
        for share in (0.5, 0.9, 0.99):
            seen, value = 0.0, ordered[-1][0]
            for at, n in ordered:
                seen += n
                if seen >= share * count:
                    value = at
                    break
            found.append(value)
        return cls(mean, *found)

    def scaled(self, factor: float) -> Quantiles:
        """All times a factor."""
        each = (self.mean, self.p50, self.p90, self.p99)
        return Quantiles(*(v * factor for v in each))


def _at(ordered: Sequence[float], share: float) -> float:
    """A quantile, between the two values next to it."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@record
class Latencies:
    """What the users of a run met.

    Args:
        ttft: time to the first token.
        tpot: of each request, its time after the first token over the tokens after it.
        tpot_inclusive: of each request, its whole time over all of its tokens.
        itl: time between two tokens of a sequence, every gap counted.
        end_to_end: whole time of a request.
    """

    ttft: Quantiles
    tpot: Quantiles | None
    tpot_inclusive: Quantiles
    itl: Quantiles | None
    end_to_end: Quantiles


def latencies(run: Run, skip: int = 0) -> Latencies:
    """Latencies of a run.

    Args:
        run: as simulated.
        skip: requests in front that are left out, as benchmarks do to warm up.
    """
    served = run.served[skip:] or run.served
    ttft = Quantiles.of([s.ttft_s for s in served])
    whole = Quantiles.of([s.last_s - s.arrival_s for s in served])
    inclusive = Quantiles.of([(s.last_s - s.arrival_s) / s.request.output_tokens for s in served])
    assert ttft is not None
    assert whole is not None
    assert inclusive is not None
    tpot = Quantiles.of([s.tpot_s for s in served])
    gaps = [(s.step_s, float(s.steps * s.decodes)) for s in run.strides if s.decodes]
    # tokens that were drafted and kept come with the one before them
    kept = math.fsum([written(s) - s.steps * s.decodes for s in run.strides])
    gaps += [(0.0, kept)] if kept > 0 else []
    return Latencies(ttft, tpot, inclusive, Quantiles.weighted(gaps), whole)


@record
class Throughput:
    """What a run delivered.

    Args:
        output_tokens_per_s: written.
        input_tokens_per_s: of prompts.
        requests_per_s: finished.
        gpus: that it took.
    """

    output_tokens_per_s: float
    input_tokens_per_s: float
    requests_per_s: float
    gpus: int

    @property
    def output_tokens_per_s_per_gpu(self) -> float:
        """Written by each GPU."""
        return self.output_tokens_per_s / self.gpus


def throughput(run: Run, gpus: int, engines: int = 1) -> Throughput:
    """Throughput of the middle half of a run's time.

    Args:
        run: of one engine.
        gpus: of all engines together.
        engines: alike, side by side.
    """
    first, last = middle(run)
    strides = run.strides[first:last]
    time_s = math.fsum([s.step_s * s.steps for s in strides])
    output = sum(written(s) for s in strides)
    if len(run.served) < FEW_REQUESTS or time_s <= 0 or not output:
        time_s, output = run.time_s, sum(s.request.output_tokens for s in run.served)
    rate = engines * output / time_s
    asked = math.fsum([s.request.output_tokens for s in run.served])
    read = math.fsum([s.request.input_tokens for s in run.served])
    return Throughput(rate, rate * read / asked, rate * len(run.served) / asked, gpus)


FEW_REQUESTS = 8
"""Fewer have no steady middle."""


def middle(run: Run) -> tuple[int, int]:
    """The strides of the middle half of a run's time."""
    ends: list[float] = []
    total_s = 0.0
    for stride in run.strides:
        total_s += stride.step_s * stride.steps
        ends.append(total_s)
    first = next((i for i, end in enumerate(ends) if end >= total_s / 4), 0)
    last = next((i for i, end in enumerate(ends) if end >= total_s * 3 / 4), len(ends) - 1)
    return (first, last) if last > first else (0, len(ends))


def written(stride: Stride) -> float:
    """Tokens that a stride writes; the first ones of prompts are too few to count."""
    return stride.steps * stride.decodes * stride.tokens_per_step
