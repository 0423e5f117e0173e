"""Simulate disaggregated prefill: some engines compute prompts, others decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import ParseError

from ..engine import Engine
from .arrivals import Workload
from .prompts import PromptQueue
from .scheduler import Chunk, Limits
from .simulate import Clock, SimulatedRun, simulate

MOST_TOKENS = 1 << 40
"""Token budget of a step of decode engines: no limit, as they compute no prompts."""


class _Decoding:
    """Clock of engines that receive prompts already computed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step; prompts take no time here."""
        # a step that only takes over prompts needs some time, or the simulation would not advance
        return self.clock.step_s((), decodes, context) if decodes else 1e-6


def simulate_disaggregated(
    workload: Workload, limits: Limits, clock: Clock, engine: Engine, at_once: float
) -> SimulatedRun:
    """Return a run whose prompts wait for prefill engines; arguments as for `PromptQueue`.

    Raises:
        ParseError: there is no prefill engine; else as `simulate`.
    """
    if not at_once:
        raise ParseError(
            "too few GPUs for one prefill worker",
            where="--prefill-gpus",
            hint=f"{engine.ranks} or more",
        )
    requests = workload.requests
    mean_prompt = sum(r.input_tokens for r in requests) // len(requests)
    mean_cached = sum(r.cached_tokens for r in requests) // len(requests)
    # a decode engine cannot compute a prompt again after preemption: it takes over a request only
    # if its pool has room for the whole answer
    limits = replace(limits, token_budget=MOST_TOKENS, reserves_output=True)
    return simulate(
        workload, limits, _Decoding(clock), PromptQueue(engine, at_once, mean_prompt, mean_cached)
    )
