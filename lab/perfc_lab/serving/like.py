"""Fit Gaussian processes to the errors of host models on benchmarks without a server.

A process predicts the logarithm of measured over predicted time from features of a run.
`perfc.serving.offline` applies it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.serving.host import BENCH, HostModel

from ..splitting import grouped, leave_out
from .learn import LEAST_ROWS, Fold, fitted, left_out, model_fold, predicted
from .replay import ReplayedNumber, engine_of_row

if TYPE_CHECKING:
    from perfc.analyzers.features.process import Process
    from perfc_lab.training.process_fit import ProcessRecipe

LEAST_MODELS = 2
"""Minimum number of models: rows of one model do not show how much models differ."""
RUNTIME = "trtllm"
"""Runtime whose benchmarks a process corrects. vLLM's have no process: its rows are of two dense
models and three with experts, and with a process the error of models left out fell by 2 points for
one group and rose by 0.4 for the other (chosen on these rows)."""


def benchmark_kind(law: str) -> str:
    """Return the name of the process that corrects a law; "" for a law without one."""
    from perfc.serving.offline import kind_of_benchmark

    return kind_of_benchmark(law) if law.startswith(f"{RUNTIME}{BENCH}") else ""


def recipe() -> ProcessRecipe:
    """Return the recipe of the processes of benchmarks."""
    from perfc_lab.training.process_fit import ProcessRecipe

    # amplitudes and reaches are fitted to at most 300 rows, and at most 80 of one model, in at most
    # 50 steps of the search
    return ProcessRecipe(rows=300, of_model=80, steps=50)


def placed(sample: ReplayedNumber, law: str) -> ReplayedNumber:
    """Return a sample of a benchmark with the features of its run as `place`; others unchanged.

    Args:
        sample: replayed sample.
        law: name of the law that predicts it.
    """
    from perfc.serving.offline import features_of, sequences

    if not benchmark_kind(law):
        return sample
    row, engine = sample.row, engine_of_row(sample.row)
    # features are those of one of the equal engines, with its share of the users
    users = math.ceil((row.concurrency or row.requests) / row.engines)
    batch = row.concurrency if row.is_static else sequences(engine, row.isl, row.osl, users)
    return replace(sample, place=features_of(engine, law, row.isl, row.osl, batch))


def fitted_processes(
    samples: Sequence[ReplayedNumber], law_name: Fold, laws: Mapping[str, HostModel]
) -> dict[str, Process]:
    """Return a process for each kind of benchmark with enough rows and models.

    Args:
        samples: samples to learn from.
        law_name: function that returns the name of the host model of a sample.
        laws: laws by name, whose errors the processes learn.
    """
    import numpy as np

    from perfc.serving.offline import FORM, rows_of
    from perfc_lab.training.process_fit import fitted_process

    processes: dict[str, Process] = {}
    for kind, group in by_kind(samples, lambda s: benchmark_kind(law_name(s))).items():
        models = sorted({model_fold(s) for s in group})
        if len(group) < LEAST_ROWS or len(models) < LEAST_MODELS:
            continue
        rows = rows_of(
            [s.place for s in group if s.place is not None],
            # the model of a row by number: errors of one model are correlated
            [models.index(model_fold(s)) for s in group],
        )
        # the process learns the log of measured over predicted time
        beyond = [math.log(s.value / predicted(laws[law_name(s)], s)) for s in group]
        processes[kind] = fitted_process(FORM, rows, np.array(beyond), recipe())
    return processes


def by_kind(samples: Sequence[ReplayedNumber], kind_of: Fold) -> dict[str, list[ReplayedNumber]]:
    """Return the samples that have features, grouped by the process that corrects them."""
    return grouped((s for s in samples if s.place is not None and kind_of(s)), kind_of)


def unseen_errors(samples: Sequence[ReplayedNumber], law_name: Fold, fold_of: Fold) -> list[float]:
    """Return the prediction of each sample by laws and processes fitted without its fold.

    Args:
        samples: samples to predict.
        law_name: function that returns the name of the host model of a sample.
        fold_of: function that returns the name of the fold of a sample.
    """
    from perfc.serving.offline import log_slowdown

    # predictions of host models alone; the process of each fold then multiplies its slowdown
    expected = left_out(samples, law_name, fold_of)
    with_place = [(i, s) for i, s in enumerate(samples) if s.place is not None]
    for _, train, tested in leave_out(with_place, [fold_of(s) for _, s in with_place]):
        in_train = [s for _, s in train]
        laws = {
            name: fitted([s for s in in_train if law_name(s) == name])
            for name in dict.fromkeys(map(law_name, in_train))
        }
        processes = fitted_processes(in_train, law_name, laws)
        for i, s in tested:
            process = processes.get(benchmark_kind(law_name(s)))
            if process is not None and s.place is not None:
                expected[i] *= math.exp(log_slowdown(process, [s.place])[0])
    return expected
