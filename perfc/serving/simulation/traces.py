"""Read files of requests for ``--trace``: JSON lines, logs of engines, and metrics of servers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import Any

from perfc.common.whole_file import MOST_BLANK_LINES
from perfc.errors import ParseError

from .arrivals import LONGEST, MOST_REQUESTS, Request, Workload
from .engine_log import LINE, PREFIX_CHARS, logged
from .exposition import RequestLengths, scraped

CLOCK_S = 1e8
"""Arrivals later than this are Unix times, counted from the first."""
LONGEST_LINE = 1 << 24
"""Bytes of a line; the rest of a longer one is left out."""
MOST_LINES = 4_000_000
"""Maximum lines of a file of requests, all of which are in memory."""
METRICS = re.compile(r"# (?:HELP|TYPE) |(?:vllm|sglang)[:_]")
"""Start of a line of a Prometheus scrape."""


class TraceForm(Enum):
    """Form of a file of requests."""

    JSON_LINES = auto()
    METRICS = auto()
    ENGINE_LOG = auto()


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file, each cut to `LONGEST_LINE`.

    Raises:
        ParseError: the file cannot be read, or has too many lines.
    """
    if path.exists() and not path.is_file():  # a device would never end
        raise ParseError("not a regular file", where=str(path))
    try:
        with path.open("rb") as file:
            count = blank = 0
            while line := file.readline(LONGEST_LINE):
                count, blank = count + 1, blank + line.isspace()
                if count > MOST_LINES or blank > MOST_BLANK_LINES:
                    hint = "cut a part of it"
                    raise ParseError(
                        f"{count:,} lines, {blank:,} of them blank", where=str(path), hint=hint
                    )
                # read on to the end of a long line, of which only the start is returned
                rest = line
                while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                    rest = file.readline(LONGEST_LINE)
                yield line.decode("utf-8", "replace")
    except OSError as error:
        raise ParseError(f"cannot be read: {error}", where=str(path)) from None


def form_of(path: Path) -> TraceForm:
    """Return the form of a file of requests, by the first line that shows it.

    Raises:
        ParseError: the file cannot be read.
    """
    for line in lines_of(path):
        if line.lstrip().startswith("{"):
            return TraceForm.JSON_LINES
        if METRICS.match(line):
            return TraceForm.METRICS
        if LINE.search(line[:PREFIX_CHARS]):
            return TraceForm.ENGINE_LOG
    # nothing recognized: the reader of JSON names the first line that is wrong
    return TraceForm.JSON_LINES


def lengths_of(path: Path) -> RequestLengths | None:
    """Return the lengths that metrics of a server have; None for a file of requests.

    Raises:
        ParseError: the file cannot be read, or metrics without lengths.
    """
    is_metrics = form_of(path) is TraceForm.METRICS
    return scraped(lines_of(path), str(path)) if is_metrics else None


def traced(path: Path) -> Workload:
    """Return the requests of a file of JSON lines, or of the log of an engine.

    A JSON line has ``input_tokens`` and ``output_tokens``, and may have ``arrival_s`` and
    ``cached_tokens``; other keys are ignored. Lines of Mooncake's traces (``input_length``,
    ``output_length``, ``timestamp`` in milliseconds) and logged responses of OpenAI's API
    (``usage``, ``created``) are requests, too. The first request of a log arrives at 0.

    Raises:
        ParseError: it cannot be read, or a line is not a request; names the line.
    """
    if form_of(path) is TraceForm.ENGINE_LOG:
        requests = logged(lines_of(path), str(path))
    else:
        requests = _json_requests(path)
    if not requests:
        raise ParseError("has no request", where=str(path), hint="one JSON object a line")
    requests.sort(key=lambda r: r.arrival_s)
    first_s = requests[0].arrival_s if requests[0].arrival_s > CLOCK_S else 0.0
    return Workload(tuple([replace(r, arrival_s=r.arrival_s - first_s) for r in requests]))


def _json_requests(path: Path) -> list[Request]:
    """Return the requests of JSON lines."""
    requests: list[Request] = []
    for number, line in enumerate(lines_of(path), 1):
        if number > MOST_REQUESTS:
            hint = f"{MOST_REQUESTS} requests at most"
            raise ParseError("too many requests", where=str(path), hint=hint)
        if line.strip():
            requests.append(_request(line, f"{path}:{number}"))
    return requests


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
    # name, default and least value of each size; a size without a default is required
    sizes = (("input_tokens", None, 1), ("output_tokens", None, 1), ("cached_tokens", 0, 0))
    prompt_tokens, answer_tokens, cached_tokens = (
        _size(tree.get(name, default), name, least, where, hint) for name, default, least in sizes
    )
    at_s = tree.get("arrival_s", 0.0)
    is_number = isinstance(at_s, int | float) and not isinstance(at_s, bool)
    if not is_number or not math.isfinite(at_s) or at_s < 0:
        raise ParseError(f"arrival_s = {at_s!r} is no time", where=where, hint=hint)
    # the last token of a prompt is computed in any case, even if a trace says that all are cached
    return Request(float(at_s), prompt_tokens, answer_tokens, min(cached_tokens, prompt_tokens - 1))


def _renamed(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a line with the keys of perfc."""
    usage = tree.get("usage")
    if isinstance(usage, dict):
        names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        details = usage.get("prompt_tokens_details")
        cached = (
            {"cached_tokens": details.get("cached_tokens", 0)} if isinstance(details, dict) else {}
        )
        sizes = {name: usage.get(key) for key, name in names}
        return {**sizes, **cached, "arrival_s": tree.get("created", 0.0)}
    if "input_length" in tree:
        at_ms = tree.get("timestamp", 0.0)
        is_number = isinstance(at_ms, int | float) and not isinstance(at_ms, bool)
        return {
            "input_tokens": tree["input_length"],
            "output_tokens": tree.get("output_length"),
            "arrival_s": at_ms / 1e3 if is_number else at_ms,
        }
    return tree


def _size(value: object, name: str, least: int, where: str, hint: str) -> int:
    """Return a number of tokens.

    Raises:
        ParseError: the value is not a size.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LONGEST:
        raise ParseError(f"{name} = {value!r} is no size", where=where, hint=hint)
    return value
