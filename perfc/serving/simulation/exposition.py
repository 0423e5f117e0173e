"""Read lengths and rate of a server's requests from its Prometheus metrics (``/metrics``)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import pairwise

from perfc.errors import ParseError
from perfc.ir import mutable, record

from .arrivals import LONGEST

METRIC = re.compile(
    r"(?:vllm[:_]request_(prompt|generation)_tokens"
    r"|sglang[:_](prompt|generation)_tokens_histogram)_(?P<part>bucket|sum)\b"
)
"""Histograms of tokens per request by vLLM and SGLang (Prometheus text format)."""
EDGE = re.compile(r"""[{,]\s*le="([^"]{1,32})\"""")
"""Upper edge of a bucket."""
MODEL = re.compile(r"""[{,]\s*model_name="([^"]{0,256})\"""")
"""Model of a series; the series of one model are added up."""
SCRAPE_TIME = re.compile(r"#\s*(\d{9,11}(?:\.\d{1,9})?)\s*$")
"""Comment with the Unix time of a scrape in seconds."""
MOST_SERIES = 20_000
"""Maximum number of series of one scrape."""


@record
class TokenHistogram:
    """Distribution of the tokens of prompts or answers.

    Args:
        edges: edges of the bins in tokens, increasing, one more than bins.
        counts: number of requests of each bin.
        mean: mean tokens of a request.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    mean: float

    @classmethod
    def of(cls, below: Mapping[float, float], tokens: float, where: str) -> TokenHistogram:
        """Return the distribution of a Prometheus histogram.

        Args:
            below: cumulative number of requests by upper edge in tokens.
            tokens: total tokens.
            where: the file, for errors.

        Raises:
            ParseError: no requests, or counts that disagree.
        """
        edges = [0.0, *sorted(below)]
        totals = [0.0, *(below[edge] for edge in edges[1:])]
        counts = [b - a for a, b in pairwise(totals)]
        count = totals[-1]
        if min(counts, default=0.0) < 0 or tokens < 0:
            hint = "the server was restarted between the scrapes, or the file is damaged"
            raise ParseError("counts decrease", where=where, hint=hint)
        if not count:
            raise ParseError("no request is finished", where=where, hint="scrape under load")
        if math.isinf(edges[-1]):
            # the last bin has no upper edge: the tokens above all lower edges bound its mean
            least = sum(n * low for n, low in zip(counts, edges, strict=False))
            edges[-1] = edges[-2] + max(1.0, (tokens - least) / counts[-1] if counts[-1] else 0.0)
        low, high = (
            sum(n * e for n, e in zip(counts, es, strict=False)) / count
            for es in (edges, edges[1:])
        )
        mean = tokens / count
        if not low <= mean <= high or mean > LONGEST:
            what = f"a mean of {mean:.4g} tokens is outside the buckets"
            raise ParseError(what, where=where, hint="buckets and sum of one server are needed")
        return cls(tuple(edges), tuple(counts), mean)

    @property
    def longest(self) -> int:
        """Return the upper edge of the highest bin that has requests."""
        return max(math.ceil(e) for e, n in zip(self.edges[1:], self.counts, strict=True) if n)

    def drawn(self, count: int, seed: int) -> list[int]:
        """Return random lengths whose expected mean is that of the server.

        Within a bin, u^k of a uniform u has the mean 1 / (k + 1): k makes the means agree.
        """
        dice = random.Random(seed)
        # mean = low + (high - low) / (k + 1), solved for k; 1e-9 where all are at the lower edges
        total = sum(self.counts)
        low = sum(n * e for n, e in zip(self.counts, self.edges, strict=False)) / total
        high = sum(n * e for n, e in zip(self.counts, self.edges[1:], strict=True)) / total
        power = (high - self.mean) / max(self.mean - low, 1e-9)
        bins = dice.choices(range(len(self.counts)), self.counts, k=count)
        widths = [b - a for a, b in pairwise(self.edges)]
        return [max(1, round(self.edges[i] + widths[i] * dice.random() ** power)) for i in bins]


@record
class RequestLengths:
    """Lengths of the requests of a server.

    Args:
        file: file of the metrics.
        prompts: tokens of prompts.
        answers: tokens of answers.
        rate: finished requests per second between two scrapes; 0 if unknown.
    """

    file: str
    prompts: TokenHistogram
    answers: TokenHistogram
    rate: float = 0.0

    def drawn(self, count: int, seed: int) -> list[tuple[int, int]]:
        """Return the lengths of prompts and answers, drawn independently."""
        # `drawn_workload` has generators for the seed and the next one
        answers = self.answers.drawn(count, seed + 3)
        return list(zip(self.prompts.drawn(count, seed + 2), answers, strict=True))


@mutable
class Scrape:
    """Histograms of one scrape, summed over label sets.

    Args:
        time_s: Unix time of the scrape; None if unknown.
        below: cumulative requests by upper edge, by kind of length.
        tokens: total tokens by kind of length.
        series: series of the scrape.
    """

    time_s: float | None = None
    below: dict[str, dict[float, float]] = field(
        default_factory=lambda: {"prompt": {}, "generation": {}}
    )
    tokens: dict[str, float] = field(default_factory=lambda: {"prompt": 0.0, "generation": 0.0})
    series: set[str] = field(default_factory=set)

    def add(self, metric: re.Match[str], series: str, value: float) -> None:
        """Add a sample.

        Raises:
            ValueError: a bucket without an edge.
        """
        kind = metric[1] or metric[2]  # of vLLM, or of SGLang
        self.series.add(series)
        if metric["part"] == "sum":
            self.tokens[kind] += value
            return
        edge = EDGE.search(series)
        upper = float(edge[1]) if edge else math.nan
        # also true for NaN, of a missing edge
        if not upper >= 0:
            raise ValueError("a bucket has no edge")
        self.below[kind][upper] = self.below[kind].get(upper, 0.0) + value

    def since(self, first: Scrape, kind: str, where: str) -> TokenHistogram:
        """Return the distribution of one kind of length since an earlier scrape."""
        below, before = self.below[kind], first.below[kind]
        if not below:
            hint = "those of vLLM and SGLang (--enable-metrics) are read"
            raise ParseError(f"no histogram of {kind} tokens", where=where, hint=hint)
        counts = {edge: n - before.get(edge, 0.0) for edge, n in below.items()}
        return TokenHistogram.of(counts, self.tokens[kind] - first.tokens[kind], where)


def scraped(lines: Iterable[str], where: str) -> RequestLengths:
    """Return lengths and rate of one scrape since the start, or of the time between two.

    A scrape begins with a comment of its Unix time (``# 1764260000``), or where series repeat.

    Args:
        lines: text exposition of one or more scrapes; the first and the last count.
        where: the file, for errors.

    Raises:
        ParseError: a damaged line, several models, or no requests.
    """
    scrapes, models = [Scrape()], set[str]()
    for number, line in enumerate(lines, 1):
        time, metric = SCRAPE_TIME.match(line), METRIC.match(line)
        if time:
            # only the first and the last scrape are stored
            scrapes = [*scrapes[:1], Scrape()] if scrapes[-1].series else scrapes
            scrapes[-1].time_s = float(time[1])
        if not metric:
            continue
        series, brace, rest = line.rpartition("}")
        # labels may contain spaces: what follows the last brace is value and time
        name, *values = (series, *rest.split()) if brace else line.split()
        try:
            value = float(values[0])
            if not 0 <= value < math.inf or len(values) > 2:
                raise ValueError(f"{value} is no count")
            if name in scrapes[-1].series:
                scrapes = [*scrapes[:1], Scrape()]
            scrapes[-1].add(metric, name, value)
            if len(values) == 2 and scrapes[-1].time_s is None:
                # times of samples are in milliseconds
                scrapes[-1].time_s = int(values[1]) / 1e3
        except (ValueError, IndexError, OverflowError):
            hint = 'as in vllm:request_prompt_tokens_bucket{le="100.0"} 12.0'
            raise ParseError("is no sample", where=f"{where}:{number}", hint=hint) from None
        models |= set(MODEL.findall(name))
        if len(models) > 1 or len(scrapes[-1].series) > MOST_SERIES:
            what = "metrics of several models" if len(models) > 1 else "too many series"
            raise ParseError(what, where=where, hint="leave the lines of one server")
    return _between(scrapes, where)


def _between(scrapes: list[Scrape], where: str) -> RequestLengths:
    """Return lengths and rate of the time between the first and the last scrape."""
    last = scrapes[-1]
    first = scrapes[0] if len(scrapes) > 1 else Scrape()
    prompts, answers = (last.since(first, kind, where) for kind in ("prompt", "generation"))
    if first.time_s is None or last.time_s is None or not first.series:
        return RequestLengths(where, prompts, answers)
    elapsed_s = last.time_s - first.time_s
    if elapsed_s <= 0:
        raise ParseError("scrapes in wrong order", where=where, hint="the earlier one first")
    return RequestLengths(where, prompts, answers, sum(answers.counts) / elapsed_s)
