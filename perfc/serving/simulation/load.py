"""What is asked of an engine: lengths, users or arrivals, and the requests that they make."""

from __future__ import annotations

import math
from pathlib import Path

from perfc.errors import ParseError
from perfc.ir.record import record

from .arrivals import MOST_REQUESTS, Workload, closed_loop, poisson, traced

SOME_REQUESTS = 24
"""Of a load that states no number of them."""


@record
class Load:
    """What is asked of an engine.

    Args:
        isl: tokens of a prompt.
        osl: tokens of an answer.
        concurrency: users who ask again as soon as they have their answer; 0 where ``rate`` or
            ``trace`` says when requests come.
        rate: requests a second that come independently of each other; 0 for none.
        trace: file of requests, "" for none.
        spread: lengths are drawn evenly from ``(1 − spread)`` to 1 times those asked for.
        cached_tokens: of a prompt that a prefix cache holds.
        cached_share: of the requests those whose prompts it holds; others are computed whole.
        requests: how many are simulated; 0 for as many as a steady state needs.
        seed: of what is drawn.
        is_batch: whether all requests come at once, and nothing is measured but the whole run.
    """

    isl: int = 2048
    osl: int = 256
    concurrency: int = 1
    rate: float = 0.0
    trace: str = ""
    spread: float = 0.0
    cached_tokens: int = 0
    cached_share: float = 1.0
    requests: int = 0
    seed: int = 0
    is_batch: bool = False

    def checked(self) -> Load:
        """Itself.

        Raises:
            ParseError: a number that is none.
        """
        sizes = (("isl", self.isl, 1), ("osl", self.osl, 1), ("concurrency", self.concurrency, 0))
        for name, value, least in sizes:
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not least <= value <= 1 << 24
            ):
                raise ParseError(
                    f"{name} = {value!r} is none", where=f"--{name}", hint=f"{least} or more"
                )
        if not math.isfinite(self.rate) or not 0 <= self.rate <= 1e6:
            raise ParseError(
                f"{self.rate} requests a second", where="--rate", hint="a positive number"
            )
        if not 0 <= self.spread < 1:
            raise ParseError(
                f"a spread of {self.spread}", where="--spread", hint="0 to 1, without 1"
            )
        if not 0 <= self.requests <= MOST_REQUESTS:
            raise ParseError(
                f"{self.requests} requests", where="--requests", hint=f"{MOST_REQUESTS} at most"
            )
        if not 0 <= self.cached_tokens < max(self.isl, 1):
            raise ParseError(
                f"{self.cached_tokens} cached tokens of {self.isl}", where="--cached-tokens",
                hint="fewer than the prompt has",
            )  # fmt: skip
        if not 0 <= self.cached_share <= 1:
            raise ParseError(
                f"a share of {self.cached_share}", where="--cached-share", hint="0 to 1"
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
    def longest(self) -> tuple[int, int]:
        """Tokens of the longest prompt, and of the longest answer.

        Raises:
            ParseError: a trace that cannot be read.
        """
        if not self.trace:
            return self.isl, self.osl
        requests = traced(Path(self.trace)).requests
        return max(r.input_tokens for r in requests), max(r.output_tokens for r in requests)

    @property
    def least_cached_tokens(self) -> int:
        """Of every prompt: none where some are computed whole."""
        return self.cached_tokens if self.cached_share == 1 else 0

    @property
    def mean_cached_tokens(self) -> int:
        """Of a prompt, over requests whose prompts a prefix cache holds and others."""
        return round(self.cached_tokens * self.cached_share)

    def workload(self, engines: int, *, is_staggered: bool = False) -> Workload:
        """The part of it that one of several engines gets.

        Args:
            engines: over which it is spread.
            is_staggered: whether users of a closed loop are in the middle of answers at first.

        Raises:
            ParseError: a trace that cannot be read.
        """
        if self.trace:
            whole = traced(Path(self.trace))
            return Workload(whole.requests[::engines])
        sizes = {
            "spread": self.spread,
            "cached": self.cached_tokens,
            "cached_share": self.cached_share,
            "seed": self.seed,
        }
        count = self.requests or SOME_REQUESTS
        if self.rate:
            return poisson(
                self.rate / engines,
                self.isl,
                self.osl,
                count=-(-count // engines),
                **sizes,  # type: ignore[arg-type]
            )
        users = -(-self.concurrency // engines)
        return closed_loop(
            users, self.isl, self.osl, count=count, is_staggered=is_staggered,
            **sizes,  # type: ignore[arg-type]
        )  # fmt: skip
