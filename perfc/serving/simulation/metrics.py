"""Latencies and throughput of a simulated load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from perfc.ir import record

from .simulate import Served, Stride
from .steady_state import Share, Steady

MILLION = 1e6


@record
class Quantiles:
    """Mean and quantiles of a latency, in seconds.

    Args:
        mean: mean.
        p50: median.
        p90: 90 % quantile.
        p99: 99 % quantile.
    """

    mean: float
    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles | None:
        """Return the quantiles of values, interpolated, NaN ignored; None if there are none."""
        known = sorted(v for v in values if not math.isnan(v))
        if not known:
            return None
        mean = math.fsum(known) / len(known)
        return cls(mean, *(_at(known, q) for q in (0.5, 0.9, 0.99)))

    @classmethod
    def weighted(cls, pairs: Sequence[tuple[float, float]]) -> Quantiles | None:
        """Return the quantiles of ``(value, weight)`` pairs; None if there are none."""
        if not pairs:
            return None
        ordered = sorted(pairs)
        count = sum(n for _, n in ordered)
        mean = math.fsum(v * n for v, n in ordered) / count
        quantiles: list[float] = []
        for share in (0.5, 0.9, 0.99):
            seen, value = 0.0, ordered[-1][0]
            for at, n in ordered:
                seen += n
                if seen >= share * count:
                    value = at
                    break
            quantiles.append(value)
        return cls(mean, *quantiles)


def _at(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between neighbouring values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@record
class Latencies:
    """Latencies of the requests of a run.

    Args:
        ttft: time to first token.
        tpot: for each request, its time after the first token divided by the tokens after it.
        tpot_inclusive: for each request, its end-to-end time divided by all of its tokens.
        itl: time between two tokens of a sequence, every gap counted.
        end_to_end: end-to-end time of a request.
    """

    ttft: Quantiles
    tpot: Quantiles | None
    tpot_inclusive: Quantiles
    itl: Quantiles | None
    end_to_end: Quantiles


def latencies(shares: Sequence[Share], before_s: Callable[[float], float]) -> Latencies:
    """Return the latencies of measured requests, weighted by the throughput of each share.

    Benchmarks start all users at once, so that the first prompts wait for one another: these
    requests have the weight of ``Load.opening_burst``.

    Args:
        shares: shares of the busy rank groups.
        before_s: time before the engine, by prompt tokens, that is added to each wait.
    """
    every = [*_weighted(shares)]
    is_even = len({weight for _, weight in every}) == 1

    def quantiles(value: Callable[[Served], float]) -> Quantiles | None:
        pairs = [(v, weight) for s, weight in every if not math.isnan(v := value(s))]
        return Quantiles.of([v for v, _ in pairs]) if is_even else Quantiles.weighted(pairs)

    def whole_s(s: Served) -> float:
        return s.answer_s + before_s(s.request.input_tokens)

    ttft = quantiles(lambda s: s.ttft_s + before_s(s.request.input_tokens))
    whole = quantiles(whole_s)
    inclusive = quantiles(lambda s: whole_s(s) / s.request.output_tokens)
    assert ttft is not None
    assert whole is not None
    assert inclusive is not None
    tpot = quantiles(lambda s: s.tpot_s)
    return Latencies(ttft, tpot, inclusive, Quantiles.weighted(list(_gaps(shares))), whole)


def _weighted(shares: Sequence[Share]) -> Iterator[tuple[Served, float]]:
    """Yield the measured requests with their weights, those of the opening burst first."""
    for share in shares:
        opening = share.run.served[: share.opening]
        burst = share.opening_burst if opening else 0.0
        if burst:
            whole = share.weight * (share.last - share.first)
            yield from [(s, burst * whole / len(opening)) for s in opening]
        if burst < 1:
            yield from [(s, (1 - burst) * share.weight) for s in share.served]


def _gaps(shares: Sequence[Share]) -> Iterator[tuple[float, float]]:
    """Yield the times between two tokens, with the weight of each."""
    for share in shares:
        strides, weight = share.run.strides, share.groups / share.run.time_s
        yield from [(s.step_s, weight * s.steps * s.decodes) for s in strides if s.decodes]
        # accepted draft tokens arrive together with the token before them
        accepted = math.fsum([written(s) - s.steps * s.decodes for s in strides])
        if accepted > 0:
            yield 0.0, weight * accepted


@record
class LoadThroughput:
    """Throughput of a load.

    Args:
        output_tokens_per_s: output tokens per second.
        input_tokens_per_s: prompt tokens per second.
        requests_per_s: finished requests per second.
        gpus: number of GPUs.
    """

    output_tokens_per_s: float
    input_tokens_per_s: float
    requests_per_s: float
    gpus: int

    @property
    def output_tokens_per_s_per_gpu(self) -> float:
        """Return the output tokens per second and GPU."""
        return self.output_tokens_per_s / self.gpus


def throughput(result: Steady, gpus: int) -> LoadThroughput:
    """Return the throughput of all rank groups.

    Args:
        result: steady state of a load.
        gpus: GPUs of all groups, busy or idle.
    """
    output = read = 0.0
    for share in result.shares:
        served = share.served
        output += share.weight * math.fsum([s.request.output_tokens for s in served])
        read += share.weight * math.fsum([s.request.input_tokens for s in served])
    return LoadThroughput(output, read, result.requests_per_s, gpus)


def written(stride: Stride) -> float:
    """Return the tokens that a stride generates, without the few first tokens of prompts."""
    return stride.steps * stride.decodes * stride.tokens_per_step
