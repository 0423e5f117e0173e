"""What a model that does not fit would fit with: more ranks, smaller weights, smaller steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfc.errors import PerfcError
from perfc.frontend.config import WeightFormat

from .engine import Engine, run_in

RANKS = (2, 4, 8, 16, 32)
FORMATS = (WeightFormat.F8, WeightFormat.I4)
LEAST_BUDGET = 2048
"""Tokens of the smallest step that is offered."""


def would_fit(engine: Engine, isl: int, osl: int) -> tuple[str, ...]:
    """The least change of each kind that makes room, as it is typed.

    Args:
        engine: that has no room for one request.
        isl: tokens of the longest prompt.
        osl: of the longest answer.
    """
    kinds = (_more_ranks(engine), _smaller_weights(engine), _smaller_steps(engine))
    found = (next((words for words, one in kind if _fits(one, isl, osl)), "") for kind in kinds)
    return tuple(words for words in found if words)


def _fits(engine: Engine, isl: int, osl: int) -> bool:
    try:
        return engine.memory(isl, osl).fits(isl + osl)
    except PerfcError:
        # it, or its experts, do not divide so
        return False


def _more_ranks(engine: Engine) -> Iterator[tuple[str, Engine]]:
    parallel = engine.parallel
    for ranks in RANKS:
        if ranks > parallel.tensor:
            yield f"--tp {ranks}", replace(engine, parallel=replace(parallel, tensor=ranks))


def _smaller_weights(engine: Engine) -> Iterator[tuple[str, Engine]]:
    for form in FORMATS:
        if form.bits < engine.precision.weights.bits:
            asked = replace(engine.precision, weights=form)
            precision = run_in(asked, engine.machine, engine.kind)
            yield f"--dtype {form.value}", replace(engine, precision=precision)


def _smaller_steps(engine: Engine) -> Iterator[tuple[str, Engine]]:
    if engine.kind.token_budget > LEAST_BUDGET:
        kind = replace(engine.kind, token_budget=LEAST_BUDGET)
        yield f"--token-budget {LEAST_BUDGET}", replace(engine, kind=kind)
