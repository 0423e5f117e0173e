"""Keyword arguments of ``llm`` and their defaults; `split` checks and completes those of a call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypedDict, cast

from perfc.deployment.prices import Prices, Region
from perfc.errors import ParseError, suggestion
from perfc.frontend.config import LanguageModel
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.runtimes import SERVING_DEFAULT

from .additions import Additions


class ServingSettings(TypedDict, total=False):
    """Load, engine and output of a serving prediction; all have a default.

    Args:
        isl: tokens of a prompt.
        osl: tokens of an answer.
        concurrency: users of a closed loop.
        rate: requests per second of an open loop, in place of ``concurrency``.
        trace: file of requests in place of both: a log of a server, or its metrics with lengths.
        spread: lengths are uniform from ``1 - spread`` to 1 times the given ones. None is 0.05 in a
            closed loop of several users, else 0; 0 also under SGLang after an opening burst, whose
            users finish and send their next requests together.
        cached_tokens: prompt tokens that the prefix cache holds.
        cached_share: share of the requests that hit the prefix cache.
        requests: requests to simulate; 0 for as many as a steady state needs.
        opening_burst: fraction of the measured requests of a closed loop that all users send at
            once at its start; 0.1 as in benchmarks of ten requests per user, 0 for a steady state.
        seed: random seed.
        dtype: format of the weights; "" for the published one.
        kv_dtype: element type of the KV cache; "" for that of activations.
        parallel: degrees of parallelism, as ``{"tp": 4, "dp": 2}``; ``dp`` engines, each over
            ``nodes`` nodes.
        runtime: vllm, sglang, trtllm, transformers or llamacpp.
        runtime_version: version of the runtime; "" for the newest that was measured.
        max_num_seqs: maximum concurrent sequences; by default the runtime's, as the next two.
        token_budget: tokens of a step.
        utilization: share of memory that the engine takes, as its runtime defines it.
        prefill_gpus: GPUs of disaggregated prefill; 0 for none.
        prefill_parallel: degrees of a prefill engine, also as ``tp=4,attention-dp=2``; "" for those
            of ``parallel``, or all of the GPUs where they are fewer.
        draft_tokens: tokens drafted per sequence before a step verifies them; 0 for none.
        acceptance: probability that a drafted token is accepted if those before it were.
        draft: configuration of the drafting model; "" for the model's own prediction layer.
        prices: prices by machine; by default those of target files and the dated table.
        grid: electricity grid; the world average by default.
        has_parts: True to break the time of steps down, which takes a little longer.
    """

    isl: int
    osl: int
    concurrency: int
    rate: float
    trace: str | os.PathLike[str]
    spread: float | None
    cached_tokens: int
    cached_share: float
    requests: int
    opening_burst: float
    seed: int
    dtype: str
    kv_dtype: str
    parallel: Parallel | Mapping[str, object]
    runtime: str
    runtime_version: str
    max_num_seqs: int | None
    token_budget: int | None
    utilization: float | None
    prefill_gpus: int
    prefill_parallel: Parallel | Mapping[str, object] | str
    draft_tokens: int
    acceptance: float
    draft: str | os.PathLike[str] | LanguageModel
    prices: Prices | None
    grid: Region | None
    has_parts: bool


class ServingOptions(ServingSettings, Additions, total=False):
    """Keyword arguments of ``llm``: `ServingSettings`, and optional features as in `Additions`."""


DEFAULTS = ServingSettings(
    isl=2048,
    osl=256,
    concurrency=1,
    rate=0.0,
    trace="",
    spread=None,
    cached_tokens=0,
    cached_share=1.0,
    requests=0,
    opening_burst=0.1,
    seed=0,
    dtype="",
    kv_dtype="",
    parallel=ALONE,
    runtime=SERVING_DEFAULT,
    runtime_version="",
    max_num_seqs=None,
    token_budget=None,
    utilization=None,
    prefill_gpus=0,
    prefill_parallel="",
    draft_tokens=0,
    acceptance=0.0,
    draft="",
    prices=None,
    grid=None,
    has_parts=False,
)


def split(options: Mapping[str, object]) -> tuple[ServingSettings, Additions]:
    """Return settings with their defaults, and the optional features.

    Raises:
        ParseError: an unknown name.
    """
    # the annotations of a TypedDict include those of its bases: all options
    known_options = ServingOptions.__annotations__
    for name in options.keys() - known_options:
        raise ParseError(f"no {name!r}", where="llm", hint=suggestion(name, known_options))
    given = {name: value for name, value in options.items() if name in DEFAULTS}
    added = {name: value for name, value in options.items() if name not in DEFAULTS}
    return cast("ServingSettings", {**DEFAULTS, **given}), cast("Additions", added)
