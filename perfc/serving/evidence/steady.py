"""Users whose prompts are computed by workers of their own: how long they wait, how many write."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from perfc.ir.record import frozen

BUSIEST = 0.95
"""Share of its time that a worker of prompts computes at most: prompts do not come evenly."""
ROUNDS = 30
CLOSE = 1e-3
"""Of the users that write, by which two rounds may differ at the end."""
REQUESTS = 10
"""Of each user, as InferenceX has them: ``--num-prompts $((CONC * 10))``."""
MOST_USERS = 500
"""That are told one by one; of more, as many are one as leaves no more."""
SHORTEST = 0.8
"""Of the longest answer, ``--random-range-ratio``; their mean lies halfway."""
GOLDEN = 0.6180339887498949
"""Multiples of it, their whole parts taken off, are evenly spread over 0 to 1 at any count."""


@frozen
class Steady:
    """Where users are.

    Args:
        writing: whose answers are being written, in the long run.
        first_s: that each waits for the first token in the mean, its own prompt's time among it.
    """

    writing: float
    first_s: float


def steady(
    users: int, seats: int, osl: int, prompt_s: float, at_once: int,
    token_s: Callable[[float], float],
) -> Steady:  # fmt: skip
    """The balance of prompts and answers, by Little's law of both.

    Args:
        users: each of whom asks again when its answer is there.
        seats: answers that are written at once, at most.
        osl: tokens of an answer.
        prompt_s: time of a prompt.
        at_once: prompts that all workers compute in that time.
        token_s: time of a token by the users whose answers are being written.
    """
    most = BUSIEST * at_once / prompt_s
    writing, rate, answer_s = float(users), 0.0, 0.0
    for _ in range(ROUNDS):
        answer_s = osl * token_s(max(1.0, writing))
        rate = min(users / (prompt_s + answer_s), most, seats / answer_s)
        now = rate * answer_s
        is_close = abs(now - writing) < CLOSE * now
        writing = (writing + now) / 2
        if is_close:
            break
    return Steady(max(1.0, writing), waited_s(users, seats, prompt_s, at_once, answer_s))


def waited_s(users: int, seats: int, prompt_s: float, at_once: int, answer_s: float) -> float:
    """Mean time to a first token of users who all begin at once and ask again after each answer.

    They begin in step, and answers of lengths that differ little leave them nearly so: a prompt
    waits for most others even where workers are idle between. A first token comes once there is a
    seat: where seats are fewer than users, some wait for others' answers.

    Args:
        users: of them.
        seats: answers that are written at once, at most.
        prompt_s: time of a prompt.
        at_once: prompts that all workers compute in that time.
        answer_s: of the mean answer, from its first token.
    """
    together = max(1.0, users / MOST_USERS)
    count, each_s = max(1, round(users / together)), prompt_s * together
    free = [0.0] * min(at_once, count)
    seated = [0.0] * min(count, max(1, round(seats / together)))
    asking = [(0.0, user) for user in range(count)]
    left = [REQUESTS] * count
    total_s, at = 0.0, 0.5
    while asking:
        asked_s, user = heapq.heappop(asking)
        prompt_end_s = max(asked_s, heapq.heappop(free)) + each_s
        heapq.heappush(free, prompt_end_s)
        first_s = max(prompt_end_s, heapq.heappop(seated))
        total_s += first_s - asked_s
        left[user] -= 1
        at = (at + GOLDEN) % 1.0
        length = (SHORTEST + (1 - SHORTEST) * at) / ((1 + SHORTEST) / 2)
        heapq.heappush(seated, first_s + length * answer_s)
        if left[user]:
            heapq.heappush(asking, (first_s + length * answer_s, user))
    # of users told as one, the middle one has its first token half a group earlier
    return total_s / (count * REQUESTS) - (each_s - prompt_s) / 2
