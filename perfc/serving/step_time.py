"""Predict the time of one step of a serving engine, for schedulers and their simulators."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Unpack

from perfc.frontend.config import LanguageModel
from perfc.ir import frozen
from perfc.serving.cost.step import StepCost
from perfc.serving.host import HostModel
from perfc.serving.options import ServingOptions
from perfc.serving.service import engine_of
from perfc.serving.simulation.scheduler import Chunk, Limits

WARM_UP = ((), ((64, 0),), ((64, 64), (1, 64)), ((1, 64),))
"""Batches whose predictions compute all tables: nothing, a prompt, a prompt and a decode, a decode.

Tables are computed when first needed; a scheduler must not wait for that in its first step.
"""


@frozen
class StepPredictor:
    """Predicts the time of engine steps from tables that are computed once.

    Args:
        cost: cost of the engine's steps.
        limits: scheduling limits of the engine, for requests of the ``isl`` and ``osl`` given.
        law: host overhead of the engine.
        decode_tokens: new tokens of a decode: one, and the draft tokens that a step verifies.
    """

    cost: StepCost
    limits: Limits
    law: HostModel
    decode_tokens: int = 1

    def step_time(self, batch: Iterable[tuple[int, int]]) -> float:
        """Return the time of one step in seconds; 0 for an empty batch.

        Args:
            batch: new tokens and cached tokens of each request. A request with cached tokens and
                at most ``decode_tokens`` new ones decodes; any other is a part of a prompt.

        >>> steps = step_predictor("llama-3.2-1b", "h100")
        >>> decode_s = steps.step_time([(1, 900), (1, 1100)])
        >>> decode_s < steps.step_time([(1, 900), (1, 1100), (2048, 0)])
        True
        """
        most_new = self.decode_tokens
        chunks: list[Chunk] = []
        decodes = cached_sum = 0
        for new, cached in batch:
            # few new tokens of a request without cached tokens are a short prompt
            if cached and new <= most_new:
                decodes += 1
                cached_sum += cached
            elif new > 0:
                chunks.append(Chunk(new, cached))
        if not decodes and not chunks:
            return 0.0
        return self.cost.step_s(chunks, decodes, cached_sum / decodes if decodes else 0.0)

    def admission_time(self, prompt_tokens: int) -> float:
        """Return the seconds that a request takes before its first step."""
        return self.law.before_s(prompt_tokens)


def step_predictor(
    config: str | os.PathLike[str] | LanguageModel,
    target: str = "h100",
    **options: Unpack[ServingOptions],
) -> StepPredictor:
    """Return a predictor of the steps of an engine, the same as ``perfc.llm`` simulates.

    Args:
        config: model as in ``perfc.llm``.
        target: name or file of the machine.
        options: options of ``perfc.llm``; those of the load only bound the memory.

    Raises:
        PerfcError: as ``perfc.llm``.
    """
    engine = engine_of(config, target, options)
    # defaults of `perfc.llm`
    isl, osl = int(options.get("isl", 2048)), int(options.get("osl", 256))
    drafted = engine.speculation.tokens
    steps = StepPredictor(engine.cost, engine.limits(isl, osl), engine.law, 1 + drafted)
    for batch in WARM_UP:
        steps.step_time(batch)
    return steps


class SglangTimePredictor:
    """Latency predictor of SGLang's simulator: its ``InferTimePredictor``.

    Args:
        steps: predictor of the engine's steps.
    """

    name = "perfc"

    def __init__(self, steps: StepPredictor) -> None:
        self.steps = steps

    def predict_infer_time(self, batch: Any) -> float:
        """Return the seconds of a batch; ``batch.reqs`` have the lengths."""
        return self.steps.step_time([(r.extend_length, r.past_kv_length) for r in batch.reqs])

    def get_metrics(self) -> dict[str, float]:
        """Return no metrics."""
        return {}

    def reset_metrics(self) -> None:
        """Do nothing, as there are no metrics."""


def vllm_step_time(steps: StepPredictor, output: Any) -> float:
    """Return the seconds of a step that a scheduler of vLLM V1 scheduled.

    Args:
        steps: predictor of the engine's steps.
        output: ``SchedulerOutput`` of the step.
    """
    new, cached = output.scheduled_new_reqs, output.scheduled_cached_reqs
    # new requests are a list of objects, cached ones an object of lists
    computed_tokens = {r.req_id: r.num_computed_tokens for r in new}
    computed_tokens.update(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    scheduled = output.num_scheduled_tokens
    return steps.step_time(
        [(tokens, computed_tokens[request]) for request, tokens in scheduled.items()]
    )
