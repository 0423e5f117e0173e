"""Closed-loop users of disaggregated prefill: their mean wait and how many are in decode."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

from perfc.ir.record import entity, frozen

BUSIEST = 0.95
"""Maximum utilization of a prefill worker: prompts do not arrive evenly."""
ROUNDS = 30
"""Maximum iterations; they end at `CLOSE`."""
CLOSE = 1e-3
"""Relative change of the number of users in decode at which the iteration ends."""
REQUESTS = 10
"""Requests per user, as in InferenceX: ``--num-prompts $((CONC * 10))``."""
MOST_USERS = 500
"""Maximum number of simulated users; above it, one simulated user represents several."""
SHORTEST = 0.8
"""Shortest output length over the longest, ``--random-range-ratio``; the mean lies halfway."""
GOLDEN = 0.6180339887498949
"""Fractional parts of its multiples are evenly spread over 0 to 1 at any count."""


@frozen
class Wait:
    """Mean wait of a user for the first token, in seconds.

    Args:
        prompt_s: time in the prefill queue and in the prefill itself.
        seat_s: time after prefill until another request ends and frees a decode slot.
    """

    prompt_s: float
    seat_s: float


@frozen
class SteadyUsers:
    """Steady state of the users.

    Args:
        writing: mean number of users in decode.
        wait: mean wait of a user.
    """

    writing: float
    wait: Wait


def steady(
    users: int,
    workers: int,
    seats: int,
    osl: int,
    prompt_s: float,
    at_once: int,
    token_s: Callable[[float], float],
) -> SteadyUsers:
    """Return the steady state of prefill and decode, by Little's law for each.

    Args:
        users: number of users; each sends its next request when the last one ends.
        workers: number of decode workers.
        seats: maximum sequences of one decode worker.
        osl: output tokens per request.
        prompt_s: prefill time of one prompt.
        at_once: prompts that all prefill workers together compute in ``prompt_s``.
        token_s: function from the number of users in decode to the time per output token.
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
    """Return the mean wait for the first token of closed-loop users that all start at once.

    They start in step, and output lengths that differ little leave them nearly in step: a prompt
    waits for most others even if workers are idle in between. The first token comes once the
    decode worker has a free slot.

    Args:
        users: number of users.
        workers: number of decode workers.
        seats: maximum sequences of one decode worker.
        prompt_s: prefill time of one prompt.
        at_once: prompts that all prefill workers together compute in ``prompt_s``.
        answer_s: mean decode time of a request, from its first token.
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
    # of the users that one simulated user represents, the middle one is half a group earlier
    requests = count * REQUESTS
    return Wait(prompts_s / requests - (each_s - prompt_s) / 2, seats_s / requests)


@entity
class Writers:
    """Decode workers.

    A request goes to the less loaded of two random workers, as if the router knew little of the
    load (Mitzenmacher, The power of two choices in randomized load balancing, 2001).

    Args:
        seats: times at which the slots of each worker become free, in seconds.
        ends: end times of the requests of each worker, including those that wait for a slot.
        random: random number generator.
    """

    seats: list[list[float]]
    ends: list[list[float]]
    random: random.Random

    @classmethod
    def idle(cls, workers: int, seats: int) -> Writers:
        """Return workers with that many slots each, all free."""
        return cls(
            [[0.0] * seats for _ in range(workers)], [[] for _ in range(workers)], random.Random(0)
        )

    def seated(self, asked_s: float, answer_s: float) -> float:
        """Return the time at which a request gets its slot, for ``answer_s`` seconds."""
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
