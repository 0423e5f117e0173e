"""Requests and their arrival times: a closed loop, a rate, or a trace."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfc.errors import ParseError
from perfc.ir.record import record

MOST_REQUESTS = 200_000
"""Maximum number of requests of a trace or a simulation."""
PREFIX = 0
"""Number of the prefix that a cache holds for all prompts."""
CLOCK_S = 1e8
"""Arrivals later than this are Unix times, counted from the first."""
LONGEST = 1 << 24
"""Maximum tokens of one request; more is taken for a mistake."""


@record
class Request:
    """One request.

    Args:
        arrival_s: arrival time since the first request.
        input_tokens: prompt tokens.
        output_tokens: tokens to generate, the first one included.
        cached_tokens: prompt tokens that the prefix cache holds at arrival.
        prompt: number of the prompt; concurrent requests with the same number share its pages.
            None if no other request has it.
        shared_tokens: length of the shared prefix, of which whole pages are shared.
    """

    arrival_s: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    prompt: int | None = None
    shared_tokens: int = 0


@record
class Workload:
    """Requests and their maximum concurrency.

    Args:
        requests: requests in the order of arrival.
        concurrency: users of a closed loop: a request arrives when another ends, and at most this
            many run at once; 0 for an open loop.
    """

    requests: tuple[Request, ...]
    concurrency: int = 0


def closed_loop(
    concurrency: int,
    isl: int,
    osl: int,
    *,
    count: int,
    spread: float = 0.0,
    cached: int = 0,
    cached_share: float = 1.0,
    seed: int = 0,
    is_staggered: bool = False,
) -> Workload:
    """Return the requests of users who send the next one as soon as they have their answer.

    Args:
        concurrency: number of users.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        count: total number of requests.
        spread: lengths are drawn uniformly from ``(1 − spread)`` to 1 times the given ones.
        cached: prompt tokens that the prefix cache holds.
        cached_share: share of the requests that hit the prefix cache.
        seed: random seed.
        is_staggered: True to start users in the middle of their first answers, so that the loop
            is steady from the start; else all start at once, as in benchmarks.
    """
    drawn = _drawn(0.0, isl, osl, count, spread, (cached, cached_share), seed)
    if is_staggered:
        for i, r in enumerate(drawn[:concurrency]):
            left = max(1, round(r.output_tokens * (i + 0.5) / concurrency))
            drawn[i] = replace(r, arrival_s=0.0, output_tokens=left)
    return Workload(tuple(drawn), concurrency)


def poisson(
    rate: float,
    isl: int,
    osl: int,
    *,
    count: int,
    spread: float = 0.0,
    cached: int = 0,
    cached_share: float = 1.0,
    seed: int = 0,
) -> Workload:
    """Return requests of a Poisson process, ``rate`` per second; else as ``closed_loop``."""
    drawn = _drawn(rate, isl, osl, count, spread, (cached, cached_share), seed)
    return Workload(tuple(drawn))


def _drawn(
    rate: float, isl: int, osl: int, count: int, spread: float, held: tuple[int, float], seed: int
) -> list[Request]:
    """Return requests of drawn lengths; with rate 0 all arrive at once."""
    draw, hits = random.Random(seed), random.Random(seed + 1)
    cached, share = held
    requests: list[Request] = []
    at_s = 0.0
    for _ in range(count):
        read, wrote = (
            max(1, round(length * (1 - spread * draw.random()))) if spread else length
            for length in (isl, osl)
        )
        held_tokens = min(cached, read - 1) if hits.random() < share else 0
        prefix = PREFIX if held_tokens else None
        requests.append(Request(at_s, read, wrote, held_tokens, prefix, held_tokens))
        at_s += draw.expovariate(rate) if rate else 0.0
    return requests


def traced(path: Path) -> Workload:
    """Return the requests of a file of JSON lines.

    A line has ``input_tokens`` and ``output_tokens``, and may have ``arrival_s`` and
    ``cached_tokens``; other keys are ignored. Lines of Mooncake's traces (``input_length``,
    ``output_length``, ``timestamp`` in milliseconds) and logged responses of OpenAI's API
    (``usage``, ``created``) are requests, too. The first request of a log arrives at 0.

    Raises:
        ParseError: it cannot be read, or a line is not a request; names the line.
    """
    requests: list[Request] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if number > MOST_REQUESTS:
                    hint = f"{MOST_REQUESTS} requests at most"
                    raise ParseError("too many requests", where=str(path), hint=hint)
                if line.strip():
                    requests.append(_request(line, f"{path}:{number}"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(f"cannot be read: {error}", where=str(path)) from None
    if not requests:
        raise ParseError("has no request", where=str(path), hint="one JSON object a line")
    requests.sort(key=lambda r: r.arrival_s)
    first_s = requests[0].arrival_s if requests[0].arrival_s > CLOCK_S else 0.0
    return Workload(tuple([replace(r, arrival_s=r.arrival_s - first_s) for r in requests]))


def _request(line: str, where: str) -> Request:
    """Return the request of one line of a trace."""
    hint = 'as in {"arrival_s": 0.5, "input_tokens": 900, "output_tokens": 200}'
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError):
        raise ParseError("is no JSON object", where=where, hint=hint) from None
    if not isinstance(tree, dict):
        raise ParseError("is no JSON object", where=where, hint=hint)
    tree = _renamed(tree)
    sizes = (("input_tokens", None, 1), ("output_tokens", None, 1), ("cached_tokens", 0, 0))
    read, wrote, cached = (
        _size(tree.get(name, usual), name, least, where, hint) for name, usual, least in sizes
    )
    at_s = tree.get("arrival_s", 0.0)
    is_number = isinstance(at_s, int | float) and not isinstance(at_s, bool)
    if not is_number or not math.isfinite(at_s) or at_s < 0:
        raise ParseError(f"arrival_s = {at_s!r} is no time", where=where, hint=hint)
    return Request(float(at_s), read, wrote, min(cached, read - 1))


def _renamed(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a line with the keys of perfc."""
    usage = tree.get("usage")
    if isinstance(usage, dict):
        names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        more = usage.get("prompt_tokens_details")
        cached = {"cached_tokens": more.get("cached_tokens", 0)} if isinstance(more, dict) else {}
        sizes = {name: usage.get(key) for key, name in names}
        return {**sizes, **cached, "arrival_s": tree.get("created", 0.0)}
    if "input_length" in tree:
        at_ms = tree.get("timestamp", 0.0)
        is_number = isinstance(at_ms, int | float) and not isinstance(at_ms, bool)
        return {
            "input_tokens": tree["input_length"], "output_tokens": tree.get("output_length"),
            "arrival_s": at_ms / 1e3 if is_number else at_ms,
        }  # fmt: skip
    return tree


def _size(value: object, name: str, least: int, where: str, hint: str) -> int:
    """Return a number of tokens.

    Raises:
        ParseError: the value is not a size.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LONGEST:
        raise ParseError(f"{name} = {value!r} is no size", where=where, hint=hint)
    return value
