"""Users of a closed loop whose prompts are computed by workers of their own, in the long run."""

from __future__ import annotations

import math
from collections.abc import Callable

from perfc.ir.record import frozen

BUSIEST = 0.95
"""Share of its time that a worker of prompts computes at most: prompts do not come evenly."""
ROUNDS = 30
CLOSE = 1e-3
"""Of the users that write, by which two rounds may differ at the end."""


@frozen
class Steady:
    """Where users are.

    Args:
        writing: whose answers are being written.
        first_s: that each waits for the first token, its own prompt's time among it.
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
    queue_s = prompt_s * queued(rate * prompt_s / at_once, at_once)
    return Steady(max(1.0, writing), max(prompt_s + queue_s, users / rate - answer_s))


def queued(busy: float, workers: int) -> float:
    """Mean wait over the time of a job, of jobs that take alike and come at random.

    Half of Sakasegawa's for jobs of random times ("An approximation formula L_q = alpha rho^beta /
    (1 - rho)", 1977).
    """
    return math.pow(busy, math.sqrt(2 * (workers + 1)) - 1) / (2 * workers * (1 - busy))
