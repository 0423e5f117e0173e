"""Read requests from the text log of a vLLM or SGLang server; text of prompts is not read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from itertools import pairwise
from statistics import median_low

from perfc.errors import ParseError
from perfc.ir import mutable

from .arrivals import LONGEST, MOST_REQUESTS, Request

PREFIX_CHARS = 240
"""Characters of a line that can hold its time and its kind."""
MOST_RANKS = 1024
"""Maximum number of ranks that write one log."""
INTERVAL_S = 10.0
"""Usual seconds between two lines of throughput of vLLM, for a log that has only one line."""
TIME = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
"""Time of a line, with or without a year and a fraction."""
LINE = re.compile(
    r"(?P<arrival>Received request )|(?P<reply>\"POST /\S* HTTP/[\d.]+\" 200\b)"
    # the first two are of any server, rates of vLLM, prompts and answers of SGLang
    r"|(?P<rates>Avg prompt throughput: )|(?P<prompts>Prefill batch)|(?P<answers>Decode batch)"
)
GENERATION = re.compile(r"/(?:completions|generate|responses|messages) HTTP")
"""Routes of servers that generate tokens; others are health checks and metrics."""
RANK = re.compile(r"Engine \d{1,9}|(?:DP|TP|PP|EP)\d{1,9}(?: (?:DP|TP|PP|EP)\d{1,9})*")
"""Names of engines and ranks in lines, of which each reports its own rates."""
RATES = re.compile(
    r"Avg prompt throughput: (\d{1,9}(?:\.\d{1,9})?) tokens/s, "
    r"Avg generation throughput: (\d{1,9}(?:\.\d{1,9})?) tokens/s"
)
PROMPTS = re.compile(r"#new-seq: (\d{1,9}), #new-token: (\d{1,9}), #cached-token: (\d{1,9})")
ANSWERS = re.compile(r"gen throughput \(token/s\): (\d{1,9}(?:\.\d{1,9})?)")
TOKEN_IDS = "prompt_token_ids: ["
"""Start of the ids of a logged prompt, of which only the number is read."""


@mutable
class EngineLog:
    """Counts of a log that is read line by line.

    Args:
        now_s: time of the last line that has one; None before it.
        arrivals: time and prompt tokens of logged requests; 0 tokens if they are not logged.
        replies: times of replies that the HTTP server logged.
        sequences: times of the sequences of SGLang's prefill batches.
        rates: time, prompt and generated tokens per second of vLLM's lines, by rank.
        decoded: time of SGLang's last decode batch, by rank.
        prompt_tokens: prompt tokens of prefill batches.
        output_tokens: generated tokens of decode batches.
    """

    now_s: float | None = None
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    replies: list[float] = field(default_factory=list)
    sequences: list[float] = field(default_factory=list)
    rates: defaultdict[str, list[tuple[float, float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    decoded: dict[str, float] = field(default_factory=dict)
    prompt_tokens: float = 0.0
    output_tokens: float = 0.0

    def read(self, line: str) -> None:
        """Count one line."""
        # a line may have a whole prompt, in which nothing must match
        head = line[:PREFIX_CHARS]
        event = LINE.search(head)
        time = TIME.search(head, 0, event.start() if event else PREFIX_CHARS)
        if time:
            self.now_s = later_s(time, self.now_s)
        if not event or self.now_s is None:
            return
        at_s, rank = self.now_s, RANK.search(head)
        writer = rank[0] if rank else ""
        match event.lastgroup:
            case "arrival":
                self.arrivals.append((at_s, prompt_tokens(line)))
            case "reply" if GENERATION.search(event[0]):
                self.replies.append(at_s)
            case "rates" if rates := RATES.match(line, event.start()):
                self.rates[writer].append((at_s, float(rates[1]), float(rates[2])))
            case "prompts" if batch := PROMPTS.search(head):
                # one more than allowed is enough for `is_too_long`
                self.sequences += [at_s] * min(int(batch[1]), MOST_REQUESTS + 1)
                self.prompt_tokens += int(batch[2]) + int(batch[3])
            # in a decode line the rate stands far from the start
            case "answers" if batch := ANSWERS.search(line[: 4 * PREFIX_CHARS]):
                # the line states a rate: tokens follow from the time since that rank's last line
                gap_s = max(0.0, at_s - self.decoded.get(writer, at_s))
                self.output_tokens += float(batch[1]) * gap_s
                self.decoded[writer] = at_s

    def is_too_long(self) -> bool:
        """Return True if the log has more requests, lines of throughput or ranks than allowed."""
        lengths = [len(self.arrivals), len(self.replies), len(self.sequences)]
        lengths += [len(lines) for lines in self.rates.values()]
        ranks = len(self.rates) + len(self.decoded)
        return ranks > MOST_RANKS or max(lengths) > MOST_REQUESTS

    def requests(self, where: str) -> list[Request]:
        """Return the requests: arrivals from their lines, lengths as means of the log.

        Raises:
            ParseError: the log has no requests, or no throughput.
        """
        # without lines of arrivals, times of replies or of prefill batches stand for them
        arrivals = self.arrivals or [(at_s, 0) for at_s in self.replies or self.sequences]
        if not arrivals:
            hint = "start the server with --enable-log-requests, or use a scrape of /metrics"
            raise ParseError("the log has no requests", where=where, hint=hint)
        rank_tokens = [tokens_of(lines) for lines in self.rates.values()]
        prompts = self.prompt_tokens + sum(read for read, _ in rank_tokens)
        outputs = self.output_tokens + sum(generated for _, generated in rank_tokens)
        if not prompts or not outputs:
            what = f"the log has no {'output' if prompts else 'prompt'} tokens"
            raise ParseError(what, where=where, hint="it needs lines of throughput or of batches")
        # decode batches of SGLang do not count the first token of an answer
        first = 1 if self.decoded else 0
        mean_input, mean_output = (
            min(max(1, round(tokens / len(arrivals)) + more), LONGEST)
            for tokens, more in ((prompts, 0), (outputs, first))
        )
        return [Request(at_s, tokens or mean_input, mean_output) for at_s, tokens in arrivals]


def logged(lines: Iterable[str], where: str) -> list[Request]:
    """Return the requests of a log.

    Args:
        lines: lines of the log.
        where: the file, for errors.

    Raises:
        ParseError: no requests or no throughput, or too many of them.
    """
    log = EngineLog()
    for line in lines:
        log.read(line)
        if log.is_too_long():
            hint = f"{MOST_REQUESTS} requests at most: cut a part of the log"
            raise ParseError("too many requests", where=where, hint=hint)
    return log.requests(where)


def later_s(time: re.Match[str], last_s: float | None) -> float | None:
    """Return the time of a line in seconds; the last one if it is no date.

    vLLM's lines have no year: one that is months before the last one is of the next year.
    """
    year, *parts = time.groups("0")
    try:
        date = datetime(int(year) or 2000, *map(int, parts[:5]))  # type: ignore[arg-type]
    except ValueError:
        return last_s
    at_s = (date - datetime(1970, 1, 1)).total_seconds() + float(f"0.{parts[5]}")
    # 200 days: more than lines out of order, less than a year; the default year 2000 has 366 days
    is_next_year = year == "0" and last_s is not None and last_s - at_s > 200 * 86400
    return at_s + 366 * 86400 if is_next_year else at_s


def prompt_tokens(line: str) -> int:
    """Return the number of token ids of a logged request; 0 if there are none."""
    start = line.rfind(TOKEN_IDS)
    if start < 0:
        return 0
    ids = line[start + len(TOKEN_IDS) : line.find("]", start)]
    return ids.count(",") + 1 if ids else 0


def tokens_of(lines: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return prompt and generated tokens of one rank's lines of throughput.

    A line covers the interval before it; an idle server writes none, so that gaps may be longer.
    """
    gaps = [max(0.0, b[0] - a[0]) for a, b in pairwise(lines)]
    usual_s = median_low(gaps) if gaps else INTERVAL_S
    covered_s = [usual_s, *[min(gap, usual_s) for gap in gaps]]
    return (
        sum(s * prompts for s, (_, prompts, _) in zip(covered_s, lines, strict=True)),
        sum(s * outputs for s, (_, _, outputs) in zip(covered_s, lines, strict=True)),
    )
