"""Describe the request load of an engine: lengths, users or arrivals, and the resulting requests.

`llm` builds a `Load` from its options; the steady state asks it for the workload of one engine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from perfc.errors import ParseError
from perfc.ir import record

from .arrivals import MOST_REQUESTS, Workload, drawn_workload
from .exposition import RequestLengths
from .traces import lengths_of, traced

SOME_REQUESTS = 24
"""Number of requests if neither the load nor a steady state gives one."""
USUAL_SPREAD = 0.05
"""Default spread of lengths: equal lengths would keep users in lockstep."""


@record
class Load:
    """Request load of an engine.

    Args:
        isl: tokens of a prompt.
        osl: tokens of an answer.
        concurrency: users who send the next request as soon as they have their answer; 0 if
            ``rate`` or ``trace`` gives the arrivals.
        rate: requests per second of a Poisson process; 0 for none.
        trace: file of requests, "" for none.
        spread: lengths are drawn uniformly from ``(1 − spread)`` to 1 times the given ones; None
            for `USUAL_SPREAD` in a closed loop of several users, else 0.
        cached_tokens: prompt tokens that the prefix cache holds.
        cached_share: share of the requests that hit the prefix cache; others are computed whole.
        requests: requests to simulate; 0 for as many as a steady state needs.
        opening_burst: fraction of the measured requests that all users of a closed loop send at
            once at its start.
        seed: random seed.
        is_batch: True without a server: given ``requests`` arrive at once and the whole run is
            measured, else they never end.
        lengths: distribution of lengths, of which ``isl`` and ``osl`` are the means; None for none.
    """

    isl: int = 2048
    osl: int = 256
    concurrency: int = 1
    rate: float = 0.0
    trace: str = ""
    spread: float | None = 0.0
    cached_tokens: int = 0
    cached_share: float = 1.0
    requests: int = 0
    seed: int = 0
    is_batch: bool = False
    opening_burst: float = 0.1
    lengths: RequestLengths | None = None

    def resolved(self) -> Load:
        """Return the load with lengths and rate in place of a trace that has only these.

        Raises:
            ParseError: the trace cannot be read.
        """
        if not self.trace:
            return self
        lengths = lengths_of(Path(self.trace))
        if lengths is None:
            # a trace with arrival times: users of a closed loop would be a second load
            return replace(self, concurrency=0)
        rate = self.rate or (0.0 if self.is_batch else lengths.rate)
        isl, osl = (max(1, round(h.mean)) for h in (lengths.prompts, lengths.answers))
        users = 0 if rate else self.concurrency
        return replace(
            self, isl=isl, osl=osl, rate=rate, concurrency=users, trace="", lengths=lengths
        )

    def checked(self) -> Load:
        """Return the load if it is valid.

        Raises:
            ParseError: a value is out of range.
        """
        sizes = (("isl", self.isl, 1), ("osl", self.osl, 1), ("concurrency", self.concurrency, 0))
        for name, value, least in sizes:
            # not isinstance: True is an int. More than 1 << 24 is taken for a mistake, as `LONGEST`
            # of requests.
            if type(value) is not int or not least <= value <= 1 << 24:
                raise ParseError(
                    f"{name} = {value!r} is none", where=f"--{name}", hint=f"{least} or more"
                )
        if not math.isfinite(self.rate) or not 0 <= self.rate <= 1e6:
            raise ParseError(
                f"{self.rate} requests a second", where="--rate", hint="a positive number"
            )
        if self.spread is not None and not 0 <= self.spread < 1:
            raise ParseError(
                f"a spread of {self.spread}", where="--spread", hint="0 to 1, without 1"
            )
        shares = ("--opening-burst", self.opening_burst), ("--cached-share", self.cached_share)
        for option, share in shares:
            if not 0 <= share <= 1:
                raise ParseError(f"a share of {share}", where=option, hint="0 to 1")
        if not 0 <= self.requests <= MOST_REQUESTS:
            raise ParseError(
                f"{self.requests} requests", where="--requests", hint=f"{MOST_REQUESTS} at most"
            )
        if not 0 <= self.cached_tokens < max(self.isl, 1):
            raise ParseError(
                f"{self.cached_tokens} cached tokens of {self.isl}",
                where="--cached-tokens",
                hint="fewer than the prompt has",
            )

        if self.is_batch and (self.rate or self.trace):
            given = "--rate" if self.rate else "--trace"
            raise ParseError("a batch comes at once", where="--offline", hint=f"leave {given} out")
        if self.rate and self.trace:
            raise ParseError("a rate and a trace", where="--trace", hint="give one of them")
        if not (self.concurrency or self.rate or self.trace):
            raise ParseError("no load", where="--concurrency", hint="or --rate, or --trace")
        return self

    @property
    def is_whole(self) -> bool:
        """Return True for a batch of given requests, from the first step to the last token."""
        return self.is_batch and self.requests > 0

    @property
    def length_spread(self) -> float:
        """Return the spread of lengths, the default resolved."""
        if self.spread is not None or self.lengths:
            return self.spread or 0.0
        return USUAL_SPREAD if self.concurrency > 1 and not self.is_whole else 0.0

    @property
    def longest(self) -> tuple[int, int]:
        """Return the tokens of the longest prompt and of the longest answer.

        Raises:
            ParseError: the trace cannot be read.
        """
        if self.lengths:
            return self.lengths.prompts.longest, self.lengths.answers.longest
        if not self.trace:
            return self.isl, self.osl
        requests = traced(Path(self.trace)).requests
        return max(r.input_tokens for r in requests), max(r.output_tokens for r in requests)

    @property
    def least_cached_tokens(self) -> int:
        """Return the cached tokens that every prompt has: 0 if some requests miss the cache."""
        return self.cached_tokens if self.cached_share == 1 else 0

    @property
    def mean_cached_tokens(self) -> int:
        """Return the mean cached tokens of a prompt, over cache hits and misses."""
        return round(self.cached_tokens * self.cached_share)

    def workload(self, engines: int, *, is_staggered: bool = False) -> Workload:
        """Return the part of the load that one of several engines serves.

        Args:
            engines: engines that the load is spread over.
            is_staggered: True to start users of a closed loop in the middle of answers.

        Raises:
            ParseError: the trace cannot be read.
        """
        if self.trace:
            whole = traced(Path(self.trace))
            # engines take requests in turn: these are the requests of the first engine
            return Workload(whole.requests[::engines])
        count = self.requests or SOME_REQUESTS
        return drawn_workload(
            0 if self.rate else -(-self.concurrency // engines),
            self.isl,
            self.osl,
            count=-(-count // engines) if self.rate else count,
            rate=self.rate / engines,
            spread=self.length_spread,
            cached=self.cached_tokens,
            cached_share=self.cached_share,
            seed=self.seed,
            lengths=self.lengths,
            is_staggered=is_staggered,
        )
