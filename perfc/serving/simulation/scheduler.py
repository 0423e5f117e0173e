"""Choose the requests that take part in each step of an engine: continuous batching.

`simulate` alternates between `Scheduler.next_chunks`, the time of the step, and `advance`. Sums
over sequences are stored, so that a step costs the same for any number of them.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heappop, heappush

from perfc.ir import mutable, record
from perfc.passes.runtimes import Batching

from .arrivals import Request

MOST_AHEAD = 4096
"""Tokens of an answer for which SGLang wants room before a request starts: CLIP_MAX_NEW_TOKENS."""


@record
class Limits:
    """Scheduling limits of an engine.

    `simulate` reads ``tokens_per_step`` and ``write_s``, the scheduler reads the others.

    Args:
        max_num_seqs: maximum concurrent sequences.
        token_budget: tokens of one step.
        kv_tokens: capacity of the KV cache.
        batching: which tokens a step may mix.
        reserves_output: True if a request starts only when its whole answer fits, so that none is
            ever preempted.
        keeps_prefixes: True if pages of a preempted sequence are reused unless overwritten.
        starts_whole: True if a request starts only when its whole prompt fits beside one token of
            each running sequence, whatever the chunk size.
        block_tokens: tokens per page.
        tokens_per_step: mean tokens that a sequence generates per decode step: more than one if
            drafted tokens are accepted.
        drafted: draft tokens of a sequence per step.
        is_ahead: True if a step is scheduled while the one before it runs, so that a request that
            arrives at a busy engine misses the next step.
        looks_every: decode steps after which a busy engine polls for new requests.
        write_s: seconds of the server for each token that it sends, one after another.
    """

    max_num_seqs: int = 256
    token_budget: int = 8192
    kv_tokens: int = 1 << 40
    batching: Batching = Batching.MIXED
    reserves_output: bool = False
    keeps_prefixes: bool = True
    starts_whole: bool = False
    block_tokens: int = 16
    tokens_per_step: float = 1.0
    drafted: int = 0
    is_ahead: bool = False
    looks_every: int = 1
    write_s: float = 0.0


@mutable
class Sequence:
    """A request in progress.

    Args:
        index: index of its request.
        request: the request.
        todo: tokens still to prefill: of the prompt, and of output that was lost by preemption.
        done: tokens in the pool before the first decode.
        left: output tokens left.
        since: count of decode steps when its decoding began; −1 during prefill.
        retained: tokens that were in the pool when it was preempted.
        lost_from: count of tokens allocated from the pool after which its pages are overwritten.
    """

    index: int
    request: Request
    todo: int
    done: int
    left: int
    since: int = -1
    retained: int = 0
    lost_from: int = 0


@record
class Chunk:
    """Part of a prompt in a step.

    Args:
        tokens: tokens computed in the step.
        context: tokens of the sequence that are already in the pool.
    """

    tokens: int
    context: int


class Scheduler:
    """Waiting and running sequences. Each is assumed to waste half a page of the pool."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # a request is `coming` until the running step ends, `unseen` until the engine polls, and
        # `waiting` until there is room
        self.waiting: deque[Sequence] = deque()
        self.unseen: list[Sequence] = []
        self.coming: list[Sequence] = []
        self.since_look = 0  # decode steps since the last poll
        self.prefilling: list[Sequence] = []
        self.decoding: dict[int, Sequence] = {}
        self.ends: list[tuple[int, int]] = []  # heap of last decode step and index
        self.decode_steps = 0
        self.context_sum = 0  # tokens in the pool of decoding sequences
        self.prefill_tokens = 0  # tokens in the pool of prefilling sequences
        self.reserved = 0  # tokens of whole prompts and answers, if the engine reserves these
        self.running_of: Counter[int] = Counter()  # running sequences by their prompt
        self.shared_tokens = 0  # tokens that are counted twice in the sums
        self.preempted = 0
        self.taken_tokens = 0  # all tokens ever allocated, by which `lost_from` counts

    @property
    def running(self) -> int:
        """Return the number of sequences in progress."""
        return len(self.prefilling) + len(self.decoding)

    @property
    def free_tokens(self) -> int:
        """Return the free tokens of the pool."""
        rounding = self.running * (self.limits.block_tokens // 2)
        used = (self.reserved or self.context_sum + self.prefill_tokens) - self.shared_tokens
        return self.limits.kv_tokens - used - rounding

    def add(self, index: int, request: Request, *, is_answer: bool = False) -> None:
        """Add a request that arrives.

        ``is_answer`` is True if the user sends it after an answer, which ends with a step: the next
        step has begun by then.
        """
        todo = request.input_tokens - request.cached_tokens
        sequence = Sequence(index, request, todo, request.cached_tokens, request.output_tokens)
        is_late = self.limits.is_ahead or self.limits.looks_every > 1
        # an idle engine sees a request at once; late polling and a preceding answer delay the
        # request by one queue each
        delay = is_late + is_answer if self.running else 0
        (self.waiting, self.unseen, self.coming)[delay].append(sequence)

    @property
    def steps_until_look(self) -> int:
        """Return the decode steps until the engine polls for new requests."""
        return max(1, self.limits.looks_every - self.since_look)

    def look(self, steps: int, *, has_prompts: bool) -> None:
        """Poll for requests after steps were scheduled.

        Args:
            steps: number of steps.
            has_prompts: True if they had prompts: an engine polls after each of these.
        """
        self.since_look += steps
        if has_prompts or self.since_look >= self.limits.looks_every or not self.running:
            self.waiting.extend(self.unseen)
            self.unseen.clear()
            self.since_look = 0
        (self.unseen if self.running else self.waiting).extend(self.coming)
        self.coming.clear()

    def admits(self) -> bool:
        """Return True if the first waiting request could start now."""
        if not self.waiting or self.running >= self.limits.max_num_seqs:
            return False
        # an empty engine starts the first request in any case, as no more room can become free
        return self._fits(self.waiting[0]) or not self.running

    def _fits(self, first: Sequence) -> bool:
        """Return True if the pool has enough free tokens for a sequence to start."""
        limits, request = self.limits, first.request
        if limits.reserves_output:
            need = request.input_tokens + request.output_tokens
            if request.prompt is not None and self.running_of[request.prompt]:
                need -= self._shared_pages(request)
        elif limits.starts_whole:
            need = first.todo + self._wanted
        elif limits.batching is Batching.MIXED:
            need = min(first.todo, limits.token_budget)
        else:
            need = first.todo + min(first.left, MOST_AHEAD)
        return need <= self.free_tokens

    def next_chunks(self) -> list[tuple[Sequence, Chunk]]:
        """Return the prompt chunks of the next step; empty for a decode-only step."""
        limits = self.limits
        is_prompts_first = limits.batching is Batching.PROMPTS_FIRST
        decode_tokens = len(self.decoding) * (1 + limits.drafted)
        budget = limits.token_budget - (0 if is_prompts_first else decode_tokens)
        chunks: list[tuple[Sequence, Chunk]] = []
        # prompts of which a part is computed come before waiting ones
        for sequence in self.prefilling:
            if budget <= 0:
                break
            budget -= self._take(sequence, budget, chunks)
        while budget > 0 and self.admits():
            first = self.waiting[0]
            is_whole = limits.batching is Batching.WHOLE_PROMPTS
            # a prompt above the budget runs whole, alone in its step
            if is_whole and first.todo > budget and chunks:
                break
            self.waiting.popleft()
            self._resume(first)
            self._share(first, 1)
            self.prefilling.append(first)
            self.prefill_tokens += first.done
            if limits.reserves_output:
                self.reserved += first.request.input_tokens + first.request.output_tokens
            budget -= self._take(first, first.todo if is_whole else budget, chunks)
        return chunks

    def _resume(self, sequence: Sequence) -> None:
        """Skip the tokens of a preempted sequence that are still in the pool."""
        if sequence.retained and self.limits.keeps_prefixes:
            # the last token is computed in any case: its logits give the next one
            lost = max(0, self.taken_tokens - sequence.lost_from)
            hit = max(0, min(sequence.retained - lost, sequence.todo - 1))
            sequence.todo -= hit
            sequence.done += hit
            self.taken_tokens += hit

    def _share(self, sequence: Sequence, more: int) -> None:
        """Count a running sequence in or out of those that share its prompt's pages."""
        request = sequence.request
        if request.prompt is None:
            return
        # the first of equal prompts brings the pages in, the others share them
        before = self.running_of[request.prompt]
        self.running_of[request.prompt] = after = before + more
        if min(before, after):
            self.shared_tokens += more * self._shared_pages(request)

    def _shared_pages(self, request: Request) -> int:
        """Return the tokens of pages that requests with the same prompt share."""
        return request.shared_tokens // self.limits.block_tokens * self.limits.block_tokens

    def _take(self, sequence: Sequence, budget: int, chunks: list[tuple[Sequence, Chunk]]) -> int:
        """Add a chunk of one prompt to the step and return its tokens."""
        free = self.free_tokens if not self.limits.reserves_output else budget
        # one token at least, so that a step of a full pool makes progress
        tokens = min(sequence.todo, budget, max(free, 1))
        chunks.append((sequence, Chunk(tokens, sequence.done)))
        sequence.todo -= tokens
        sequence.done += tokens
        self.prefill_tokens += tokens
        self.taken_tokens += tokens
        return tokens

    def preempt(self) -> None:
        """Preempt the latest sequences until the next decode step has enough free tokens."""
        while self.free_tokens < self._wanted and self.running > 1:
            if self.prefilling:
                last = self.prefilling.pop()
                self.prefill_tokens -= last.done
                written = 0
            else:
                # dicts are in the order of insertion: the latest to start decoding
                index = next(reversed(self.decoding))
                last = self.decoding.pop(index)
                written = self.decode_steps - last.since
                self.context_sum -= last.done + written
                last.left -= written
            self._share(last, -1)
            total = last.todo + last.done + written
            last.retained = last.done + written
            last.todo, last.done, last.since = total, 0, -1
            # pages are reused in the order in which they were freed
            last.lost_from = self.taken_tokens + max(self.free_tokens - last.retained, 0)
            self.preempted += 1
            self.waiting.appendleft(last)

    @property
    def _wanted(self) -> int:
        """Return the tokens that the next decode step needs."""
        return len(self.decoding) * (1 + self.limits.drafted)

    def decodes_until(self) -> int:
        """Return the decode steps until a sequence ends or the pool is full; at least 1."""
        count = len(self.decoding)
        index = self._next_end()
        # `since` counts from the start of decoding, so that no step has to touch all sequences
        steps = self.decoding[index].since + self.decoding[index].left - self.decode_steps
        if not self.limits.reserves_output:
            # each step takes one token of the pool per sequence; the last also needs room for
            # draft tokens
            steps = min(steps, max(1, self.free_tokens // count - self.limits.drafted))
        return max(1, steps)

    def _next_end(self) -> int:
        """Return the index of the decoding sequence that ends first; there must be one."""
        while True:
            # entries of preempted sequences stay behind; they have other ends now
            end, index = self.ends[0]
            sequence = self.decoding.get(index)
            if sequence is not None and sequence.since + sequence.left == end:
                return index
            heappop(self.ends)

    def advance(self, decode_steps: int) -> list[Sequence]:
        """Let each decode generate ``decode_steps`` tokens; return the sequences that end.

        Tokens beyond the end of a sequence are dropped.
        """
        self.decode_steps += decode_steps
        self.context_sum += decode_steps * len(self.decoding)
        self.taken_tokens += decode_steps * len(self.decoding)
        ended: list[Sequence] = []
        while self.decoding:
            sequence = self.decoding[self._next_end()]
            if sequence.since + sequence.left > self.decode_steps:
                break
            ended.append(sequence)
            self._leave(sequence)
        return ended

    def finish_prompts(self) -> tuple[list[Sequence], list[Sequence]]:
        """Start decoding finished prompts; return these sequences and those that end at once."""
        ready = [s for s in self.prefilling if s.todo == 0]
        ended: list[Sequence] = []
        if not ready:
            return ready, ended
        self.prefilling = [s for s in self.prefilling if s.todo]
        for sequence in ready:
            self.prefill_tokens -= sequence.done
            # the step that ends a prompt generates the first token
            sequence.left -= 1
            sequence.since = self.decode_steps
            self.decoding[sequence.index] = sequence
            self.context_sum += sequence.done
            heappush(self.ends, (sequence.since + sequence.left, sequence.index))
            if sequence.left <= 0:
                ended.append(sequence)
                self._leave(sequence)
        return ready, ended

    def _leave(self, sequence: Sequence) -> None:
        """End a sequence, which frees its pages."""
        del self.decoding[sequence.index]
        self.context_sum -= sequence.done + self.decode_steps - sequence.since
        self._share(sequence, -1)
        if self.limits.reserves_output:
            self.reserved -= sequence.request.input_tokens + sequence.request.output_tokens
