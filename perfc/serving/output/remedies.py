"""Suggest changes with which a model would fit: more ranks, smaller weights, smaller steps.

Each generator yields option text and changed engine, the smallest change first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfc.errors import PerfcError
from perfc.frontend.config import WeightFormat

from ..engine import Engine, run_in

RANKS = (2, 4, 8, 16, 32)
"""Numbers of GPUs that are suggested: heads of most models divide by powers of two."""
FORMATS = (WeightFormat.F8, WeightFormat.I4)
"""Narrower formats, the widest first."""
LEAST_BUDGET = 2048
"""Token budget of a step that is suggested; engines with this or a smaller one get no suggestion.
It is vLLM's default on GPUs with less than 70 GiB, in ``get_batch_defaults``."""


def would_fit(engine: Engine, isl: int, osl: int) -> tuple[str, ...]:
    """Return the smallest sufficient change of each kind, as command-line options.

    Args:
        engine: engine without memory for a single request.
        isl: tokens of the longest prompt.
        osl: tokens of the longest answer.
    """
    kinds = (_more_ranks(engine), _smaller_weights(engine), _smaller_steps(engine))
    options = (
        next((words for words, changed in kind if _fits(changed, isl, osl)), "") for kind in kinds
    )
    return tuple(words for words in options if words)


def _fits(engine: Engine, isl: int, osl: int) -> bool:
    """Return True if one request of these lengths fits in memory."""
    try:
        return engine.memory(isl, osl).fits(isl + osl)
    except PerfcError:
        # the model, or its experts, cannot be divided by these degrees
        return False


def _more_ranks(engine: Engine) -> Iterator[tuple[str, Engine]]:
    """Yield more tensor-parallel ranks, each with a smaller share of the model."""
    parallel = engine.parallel
    for ranks in RANKS:
        if ranks > parallel.tensor:
            yield f"--tp {ranks}", replace(engine, parallel=replace(parallel, tensor=ranks))


def _smaller_weights(engine: Engine) -> Iterator[tuple[str, Engine]]:
    """Yield weight formats with fewer bits than the present one."""
    for form in FORMATS:
        if form.bits < engine.precision.weights.bits:
            # the stored sizes of a file do not apply to another format
            smaller = replace(engine.precision, weights=form, stored=None)
            precision = run_in(smaller, engine.machine, engine.kind)
            yield f"--dtype {form.value}", replace(engine, precision=precision)


def _smaller_steps(engine: Engine) -> Iterator[tuple[str, Engine]]:
    """Yield a smaller token budget: memory for activations grows with the tokens of a step."""
    if engine.kind.token_budget > LEAST_BUDGET:
        kind = replace(engine.kind, token_budget=LEAST_BUDGET)
        yield f"--token-budget {LEAST_BUDGET}", replace(engine, kind=kind)
