"""Return the samplers of Optuna by name."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any


class Sampler(Enum):
    """Method that proposes the next candidate."""

    NSGA2 = "nsga2"
    TPE = "tpe"
    RANDOM = "random"
    GRID = "grid"


def sampler_of(sampler: Sampler, seed: int) -> Any:
    """Return a sampler of Optuna; it must be installed."""
    from optuna import samplers

    match sampler:
        case Sampler.NSGA2:
            return generations(seed)
        case Sampler.TPE:
            return samplers.TPESampler(seed=seed, multivariate=False)
        case Sampler.RANDOM:
            return samplers.RandomSampler(seed=seed)
        case Sampler.GRID:
            with warnings.catch_warnings(action="ignore"):  # Optuna warns that it is experimental
                return samplers.BruteForceSampler(seed=seed)


def generations(seed: int) -> Any:
    """Return NSGA-II that finds the trials of a generation by their numbers.

    Optuna's implementation scans all trials for each new one: 4 ms at 2,000 trials. The
    trials of a search come one after the other, so that a generation is a range of them.
    """
    from optuna.samplers import NSGAIISampler

    class Generations(NSGAIISampler):
        """NSGA-II for trials in order."""

        def __init__(self) -> None:
            super().__init__(seed=seed)
            # the first generation has none: it is drawn at random
            self.parents: dict[int, list[Any]] = {0: []}

        def get_trial_generation(self, study: Any, trial: Any) -> int:
            """Return the number of a trial's generation."""
            # NSGA-II always has a size: Optuna's base class alone allows None
            return int(trial.number // (self.population_size or 1))

        def get_population(self, study: Any, generation: int) -> list[Any]:
            """Return the complete trials of a generation."""
            size = self.population_size or 1
            trials = study.get_trials(deepcopy=False)[generation * size : (generation + 1) * size]
            return [trial for trial in trials if trial.values is not None]

        def get_parent_population(self, study: Any, generation: int) -> list[Any]:
            """Return the parents of a generation, which are selected once.

            As in Optuna, the first call returns them as selected, and later calls by number, so
            that the search is the same.
            """
            if generation in self.parents:
                return self.parents[generation]
            parents = list(self.select_parent(study, generation))
            self.parents[generation] = sorted(parents, key=lambda trial: int(trial.number))
            return parents

    return Generations()
