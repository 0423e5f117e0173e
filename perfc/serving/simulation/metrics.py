"""What users and owners of an engine ask about: latencies, throughput, energy, carbon, money."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from perfc.ir.record import record

from .simulate import Stride
from .steady_state import Share, Steady

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


def latencies(shares: Sequence[Share], before_s: Callable[[float], float]) -> Latencies:
    """Returns the latencies of measured requests, each share's weighted by what it finishes.

    Args:
        shares: of the groups of ranks that have something to do.
        before_s: what the server in front of the engine takes of each wait, by tokens of a prompt.
    """
    measured = [
        (s, before_s(s.request.input_tokens), share.weight)
        for share in shares for s in share.served
    ]  # fmt: skip
    is_even = len(shares) == 1

    def quantiles(values: Sequence[float]) -> Quantiles | None:
        if is_even:
            return Quantiles.of(values)
        weighed = [(v, m[2]) for v, m in zip(values, measured, strict=True) if not math.isnan(v)]
        return Quantiles.weighted(weighed)

    whole_s = [s.answer_s + own_s for s, own_s, _ in measured]
    ttft = quantiles([s.ttft_s + own_s for s, own_s, _ in measured])
    whole = quantiles(whole_s)
    inclusive = quantiles(
        [w / s.request.output_tokens for w, (s, _, _) in zip(whole_s, measured, strict=True)]
    )
    assert ttft is not None
    assert whole is not None
    assert inclusive is not None
    tpot = quantiles([s.tpot_s for s, _, _ in measured])
    return Latencies(ttft, tpot, inclusive, Quantiles.weighted(list(_gaps(shares))), whole)


def _gaps(shares: Sequence[Share]) -> Iterator[tuple[float, float]]:
    """Times between two tokens, and how often each occurs."""
    for share in shares:
        strides, weight = share.run.strides, share.groups / share.run.time_s
        yield from [(s.step_s, weight * s.steps * s.decodes) for s in strides if s.decodes]
        # tokens that were drafted and kept come with the one before them
        kept = math.fsum([written(s) - s.steps * s.decodes for s in strides])
        if kept > 0:
            yield 0.0, weight * kept


@record
class Throughput:
    """What a load was delivered.

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


def throughput(found: Steady, gpus: int) -> Throughput:
    """Returns what all groups of ranks deliver.

    Args:
        found: a load as it was served.
        gpus: of all groups, whether they have something to do or not.
    """
    output = read = 0.0
    for share in found.shares:
        served = share.served
        output += share.weight * math.fsum([s.request.output_tokens for s in served])
        read += share.weight * math.fsum([s.request.input_tokens for s in served])
    return Throughput(output, read, found.requests_per_s, gpus)


def written(stride: Stride) -> float:
    """Tokens that a stride writes; the first ones of prompts are too few to count."""
    return stride.steps * stride.decodes * stride.tokens_per_step
