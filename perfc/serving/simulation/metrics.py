"""Compute latencies and throughput of a simulated load from the requests of its shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from perfc.ir import record

from .simulate import Served, Stride
from .steady_state import Share, Steady

MILLION = 1e6
"""Number of tokens that prices and emissions refer to."""
SHARES = 0.5, 0.9, 0.99
"""Quantiles that are reported: p50, p90 and p99."""


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
        numbers = [v for v in values if not math.isnan(v)]
        if not numbers:
            return None
        return cls(math.fsum(numbers) / len(numbers), *map(float, np.quantile(numbers, SHARES)))

    @classmethod
    def weighted(cls, pairs: Sequence[tuple[float, float]]) -> Quantiles | None:
        """Return the quantiles of ``(value, weight)`` pairs; None if there are none."""
        if not pairs:
            return None
        values, weights = np.array(sorted(pairs)).T
        total = math.fsum(weights)
        # the first value at which the weights reach the share; rounding may end past the last
        positions = np.searchsorted(weights.cumsum(), [q * total for q in SHARES])
        quantiles = [float(values[min(i, len(values) - 1)]) for i in positions]
        return cls(math.fsum(values * weights) / total, *quantiles)


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

    Args:
        shares: shares of the busy rank groups.
        before_s: time before the engine, by prompt tokens, that is added to each wait.
    """
    every = [(s, share.weight) for share in shares for s in share.served]
    # with equal weights quantiles are interpolated
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


def _gaps(shares: Sequence[Share]) -> Iterator[tuple[float, float]]:
    """Yield the times between two tokens, with the weight of each."""
    for share in shares:
        # per second of the run: runs of shares may differ in length
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
    answer_tokens = prompt_tokens = 0.0
    for share in result.shares:
        served = share.served
        answer_tokens += share.weight * math.fsum([s.request.output_tokens for s in served])
        prompt_tokens += share.weight * math.fsum([s.request.input_tokens for s in served])
    return LoadThroughput(answer_tokens, prompt_tokens, result.requests_per_s, gpus)


def written(stride: Stride) -> float:
    """Return the tokens that a stride generates, without the few first tokens of prompts."""
    return stride.steps * stride.decodes * stride.tokens_per_step
