"""Estimate times of a closed loop in its steady state from mean steps, without simulation.

The search calls `steady_times` for hundreds of settings, too many to simulate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from perfc.passes.runtimes import Batching, EngineKind

from ..cost.program import rooflines_of
from ..engine import Engine
from .load import Load
from .scheduler import Chunk

StepSeconds: TypeAlias = Callable[[Sequence[Chunk], int, float], float]
"""Seconds of a step by its chunks, decodes and their mean context."""


def by_rooflines(engine: Engine) -> StepSeconds:
    """Return a function for the seconds of an engine's steps whose kernels take their rooflines."""
    # `stages` has pairs of a pipeline stage's cost and its count; the first stage stands for the
    # step, as the search divides no model into several
    passes, machine, law = engine.cost.stages[0][0].passes, engine.machine, engine.cost.law

    def step_s(chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        program, sizes = passes.decode, {"decodes": decodes, "context": int(context)}
        # chunks of a step are equal here; decodes in the same step are left out, which lowers the
        # time and so leaves it a bound
        if chunks:
            program, chunk = passes.prefill, chunks[0]
            sizes = {"batch": len(chunks), "seq": int(chunk.tokens), "past": int(chunk.context)}
        return law.step(*rooflines_of(program, sizes, machine), len(chunks), decodes)

    return step_s


def steady_times(
    kind: EngineKind, step_s: StepSeconds, load: Load, users: int, budget: int
) -> tuple[float, float]:
    """Return mean TTFT and TPOT of users who send the next request at once.

    Prompts arrive evenly; each is split into chunks that fill the budget left by the decodes. If
    more than one chunk arrives for each token of an answer, several chunks share a step.
    """
    # sequences are at all positions of their answers, in the middle on average
    context = load.isl + load.osl / 2
    decode_s = step_s((), users, context)
    cached_tokens = load.mean_cached_tokens
    prompt = load.isl - cached_tokens
    is_prompts_first = kind.batching is Batching.PROMPTS_FIRST
    free_tokens = budget if is_prompts_first else max(budget - users, 1)
    chunk = min(prompt, free_tokens)
    chunks = prompt / chunk
    # while one request generates its answer, each of the other users sends one request
    steps = max(users - 1, 0) * chunks
    together = max(1, min(math.ceil(steps / load.osl), int(free_tokens // chunk)))
    steps /= together
    # the mean chunk has half of the prompt's other chunks before it
    mean_chunk = Chunk(chunk, cached_tokens + (prompt - chunk) // 2)
    mixed_s = step_s((mean_chunk,) * together, 0 if is_prompts_first else users, context)
    # decodes pause in steps with prompts if these come first; otherwise such a step decodes as well
    decode_steps = load.osl if is_prompts_first else max(load.osl - steps, 0)
    # time in which each user receives one answer
    cycle_s = decode_steps * decode_s + steps * mixed_s
    tpot_s = cycle_s / load.osl
    # A prompt waits as in an M/D/1 queue, share / (2 (1 - share)) of its service time; 0.95 bounds
    # the wait near saturation. Prompts that share steps wait for each other once, so that the
    # service time of one is the time of these steps over the number of prompts together.
    load_share = min(steps * mixed_s / cycle_s, 0.95) if cycle_s else 0.0
    return chunks * mixed_s * (1 + load_share / (2 * (1 - load_share)) / together), tpot_s
