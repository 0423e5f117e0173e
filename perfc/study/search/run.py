"""Run a search: Optuna proposes candidates, perfc estimates them, the Pareto front remains.

``perfc search`` calls `search_space` with the function of a user's file.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from perfc.common.extras import install
from perfc.deployment import Deployment
from perfc.errors import MissingExtraError, ModelError, PerfcError
from perfc.ir import record

from .evaluate import ModelEvaluator
from .quantity import Objective, Quantities
from .samplers import Sampler, sampler_of
from .space import BuiltModel, Space

Limits = Mapping[Objective, float]
"""Largest values by quantity, in SI units."""


@record
class SearchPlan:
    """Objectives, limits and size of a search.

    Args:
        objectives: quantities of the Pareto front.
        limits: largest values of a candidate.
        trials: number of candidates.
        sampler: how Optuna proposes them.
        seed: seed of the sampler.
    """

    objectives: tuple[Objective, ...]
    limits: Limits = field(default_factory=dict)
    trials: int = 200
    sampler: Sampler = Sampler.NSGA2
    seed: int = 0


@record
class Trial:
    """One candidate with its quantities.

    Args:
        number: its position in the search, from 0.
        params: its parameters.
        estimate: its quantities.
        score: score that the user's function returned; None without one.
        is_within: True if it is within the limits.
    """

    number: int
    params: Mapping[str, Any]
    estimate: Quantities
    score: float | None
    is_within: bool

    def value(self, one: Objective) -> float:
        """Return a quantity in SI units."""
        if one is Objective.SCORE:
            assert self.score is not None
            return self.score
        return self.estimate.values[one]


@record
class SpaceSearch:
    """Result of a search.

    Args:
        space: file and function.
        deployment: how candidates are run.
        plan: objectives, limits and number of trials.
        trials: candidates that could be analyzed, in order.
        front: Pareto front: candidates within the limits that no other beats in every objective,
            sorted by the first objective.
        analyzed: number of different models among them.
        failures: number of other candidates by reason.
        time_s: time that the search took.
    """

    space: str
    deployment: Deployment
    plan: SearchPlan
    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    analyzed: int
    failures: Mapping[str, int]
    time_s: float

    @property
    def holds(self) -> bool:
        """Return True if a candidate is within the limits."""
        return bool(self.front)


def search_space(
    space: Space,
    evaluator: ModelEvaluator,
    plan: SearchPlan,
    on_trial: Callable[[int, int], None] = lambda *_: None,
) -> SpaceSearch:
    """Search a space for its Pareto front.

    Args:
        space: function that builds the models.
        evaluator: estimates them.
        plan: objectives, limits and number of candidates.
        on_trial: function called with the finished and the total number of candidates.

    Raises:
        PerfcError: the function fails, no candidate can be analyzed, or Optuna is not installed.
    """
    optuna = optuna_module()
    began_s = time.perf_counter()
    study = optuna.create_study(
        directions=["maximize" if one.is_maximized else "minimize" for one in plan.objectives],
        sampler=sampler_of(plan.sampler, plan.seed),
    )
    trials: list[Trial] = []
    failures = Counter[str]()

    def objective(proposal: Any) -> list[float]:
        try:
            candidate = space.candidate(proposal, optuna.TrialPruned)
        except optuna.TrialPruned as error:
            failures[str(error) or "left out by the space"] += 1
            raise
        try:
            trial = answered(space, evaluator, plan, proposal, candidate)
        except PerfcError as error:
            # pruned, not failed: the search goes on without it
            failures[str(error)] += 1
            raise optuna.TrialPruned from None
        trials.append(trial)
        return [trial.value(one) for one in plan.objectives]

    # Optuna calls a callback with the study and the trial after each trial, pruned ones included
    counted = [lambda _, proposal: on_trial(proposal.number + 1, plan.trials)]
    study.optimize(objective, n_trials=plan.trials, callbacks=counted)
    if not trials:
        (reason, _), *_ = failures.most_common(1)
        raise ModelError(f"no candidate of {plan.trials} has an answer: {reason}", where=space.name)
    within = [trial for trial in trials if trial.is_within]
    return SpaceSearch(
        space.name,
        evaluator.deployment,
        plan,
        tuple(trials),
        tuple(pareto(within, plan.objectives)),
        evaluator.analyzed,
        failures,
        time.perf_counter() - began_s,
    )


def answered(
    space: Space, evaluator: ModelEvaluator, plan: SearchPlan, proposal: Any, candidate: BuiltModel
) -> Trial:
    """Return a trial with its quantities; the sampler learns by how much it exceeds the limits.

    Raises:
        PerfcError: the model cannot be analyzed, or has no score.
    """
    if Objective.SCORE in plan.objectives and candidate.score is None:
        raise ModelError("it returned no score", hint="return model, score", where=space.name)
    estimate = evaluator.of(candidate, proposal.params)
    excess = {one: estimate.values[one] / most - 1 for one, most in plan.limits.items()}
    for one, value in excess.items():
        # Optuna prefers smaller violations; values up to 0 are within the limit
        proposal.set_constraint(one.value, value)
    is_within = all(value <= 0 for value in excess.values())
    return Trial(proposal.number, dict(proposal.params), estimate, candidate.score, is_within)


def pareto(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the Pareto front, sorted by the objectives; of trials with equal models the first.

    Different models with equal objectives all remain.
    """
    by_costs: dict[tuple[float, ...], dict[int, Trial]] = {}
    for trial in trials:
        costs = tuple(-trial.value(o) if o.is_maximized else trial.value(o) for o in objectives)
        # the evaluator returns the same object for equal models
        by_costs.setdefault(costs, {}).setdefault(id(trial.estimate), trial)
    front: list[tuple[float, ...]] = []
    for costs in sorted(by_costs):  # costs that beat others in every objective come before them
        if not any(all(a <= b for a, b in zip(other, costs, strict=True)) for other in front):
            front.append(costs)
    return [trial for costs in front for trial in by_costs[costs].values()]


def optuna_module() -> Any:
    """Return Optuna, which prints errors only.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("a search needs Optuna", hint=install("search")) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
