"""Users whose prompts are computed by workers of their own: how long they wait, how many write."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

from perfc.ir.record import entity, frozen

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
class Wait:
    """Of a user for the first token, in the mean.

    Args:
        prompt_s: for the prompt, others before it and its own time.
        seat_s: from then on, for an answer of another to end.
    """

    prompt_s: float
    seat_s: float


@frozen
class SteadyUsers:
    """Where users are.

    Args:
        writing: whose answers are being written, in the long run.
        wait: of each.
    """

    writing: float
    wait: Wait


def steady(
    users: int, workers: int, seats: int, osl: int, prompt_s: float, at_once: int,
    token_s: Callable[[float], float],
) -> SteadyUsers:  # fmt: skip
    """The balance of prompts and answers, by Little's law of both.

    Args:
        users: each of whom asks again when its answer is there.
        workers: that write answers.
        seats: answers that each of them writes at once, at most.
        osl: tokens of an answer.
        prompt_s: time of a prompt.
        at_once: prompts that all workers of prompts compute in that time.
        token_s: time of a token by the users whose answers are being written.
    """
    most = BUSIEST * at_once / prompt_s
    writing, rate, answer_s = float(users), 0.0, 0.0
    for _ in range(ROUNDS):
        answer_s = osl * token_s(max(1.0, writing))
        rate = min(users / (prompt_s + answer_s), most, workers * seats / answer_s)
        now = rate * answer_s
        is_close = abs(now - writing) < CLOSE * now
        writing = (writing + now) / 2
        if is_close:
            break
    return SteadyUsers(
        max(1.0, writing), waited(users, workers, seats, prompt_s, at_once, answer_s)
    )


def waited(
    users: int, workers: int, seats: int, prompt_s: float, at_once: int, answer_s: float
) -> Wait:
    """Mean time to a first token of users who all begin at once and ask again after each answer.

    They begin in step, and answers of lengths that differ little leave them nearly so: a prompt
    waits for most others even where workers are idle between. A first token comes once the worker
    that writes the answer has a seat.

    Args:
        users: of them.
        workers: that write answers.
        seats: answers that each of them writes at once, at most.
        prompt_s: time of a prompt.
        at_once: prompts that all workers of prompts compute in that time.
        answer_s: of the mean answer, from its first token.
    """
    together = max(1.0, users / MOST_USERS)
    count, each_s = max(1, round(users / together)), prompt_s * together
    free = [0.0] * min(at_once, count)
    writers = Writers.idle(workers, min(count, max(1, round(seats / together))))
    asking = [(0.0, user) for user in range(count)]
    left = [REQUESTS] * count
    prompts_s, seats_s, at = 0.0, 0.0, 0.5
    while asking:
        asked_s, user = heapq.heappop(asking)
        prompt_end_s = max(asked_s, heapq.heappop(free)) + each_s
        heapq.heappush(free, prompt_end_s)
        at = (at + GOLDEN) % 1.0
        length = (SHORTEST + (1 - SHORTEST) * at) / ((1 + SHORTEST) / 2)
        first_s = writers.seated(prompt_end_s, length * answer_s)
        prompts_s += prompt_end_s - asked_s
        seats_s += first_s - prompt_end_s
        left[user] -= 1
        if left[user]:
            heapq.heappush(asking, (first_s + length * answer_s, user))
    # of users told as one, the middle one has its prompt computed half a group earlier
    requests = count * REQUESTS
    return Wait(prompts_s / requests - (each_s - prompt_s) / 2, seats_s / requests)


@entity
class Writers:
    """Workers that write answers.

    A request goes to the one of two drawn ones that has fewer answers, as if who hands it out knew
    little of how full each is (Mitzenmacher, The power of two choices in randomized load balancing,
    2001).

    Args:
        seats: when each seat of each worker is free.
        ends: of the answers that each has, those among them that wait for a seat.
        random: draws.
    """

    seats: list[list[float]]
    ends: list[list[float]]
    random: random.Random

    @classmethod
    def idle(cls, workers: int, seats: int) -> Writers:
        """With as many seats each, all of them free."""
        return cls([[0.0] * seats for _ in range(workers)], [[] for _ in range(workers)],
                   random.Random(0))  # fmt: skip

    def seated(self, asked_s: float, answer_s: float) -> float:
        """When an answer begins that is asked for, and takes so long."""
        drawn = self.random.sample(range(len(self.seats)), min(2, len(self.seats)))
        one = min(drawn, key=lambda worker: self._load(worker, asked_s))
        first_s = max(asked_s, heapq.heappop(self.seats[one]))
        for times in (self.seats[one], self.ends[one]):
            heapq.heappush(times, first_s + answer_s)
        return first_s

    def _load(self, worker: int, now_s: float) -> int:
        ends = self.ends[worker]
        while ends and ends[0] <= now_s:
            heapq.heappop(ends)
        return len(ends)
