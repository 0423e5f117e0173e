"""Fit processes to what benchmarks without a server take beyond their host models.

`perfc.serving.offline` applies them.
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
"""Minimum number of models: the rows of one do not show how much models differ."""


RUNTIME = "trtllm"
"""Runtime whose benchmarks a process corrects. Those of vLLM are of two dense models and three
with experts: with a process, models left out were 2 points nearer and 0.4 further off (chosen on
these rows)."""


def benchmark_kind(law: str) -> str:
    """Return the name of the process that corrects a law, by the name of the law; "" for none."""
    from perfc.serving.offline import kind_of_benchmark

    return kind_of_benchmark(law) if law.startswith(f"{RUNTIME}{BENCH}") else ""


def recipe() -> ProcessRecipe:
    """Return the recipe of the processes of benchmarks."""
    from perfc_lab.training.process_fit import ProcessRecipe

    return ProcessRecipe(rows=300, of_model=80, steps=50)


def placed(sample: ReplayedNumber, law: str) -> ReplayedNumber:
    """Return a benchmark's sample with its features as `place`; other samples unchanged.

    Args:
        sample: replayed sample.
        law: name of the law that predicts it.
    """
    from perfc.serving.offline import features_of, sequences

    if not benchmark_kind(law):
        return sample
    row, engine = sample.row, engine_of_row(sample.row)
    # engines are equal: features are those of one, with its share of the users
    users = math.ceil((row.concurrency or row.requests) / row.engines)
    batch = row.concurrency if row.is_static else sequences(engine, row.isl, row.osl, users)
    return replace(sample, place=features_of(engine, law, row.isl, row.osl, batch))


def fitted_processes(
    samples: Sequence[ReplayedNumber], law_name: Fold, laws: Mapping[str, HostModel]
) -> dict[str, Process]:
    """Return a process for each kind of benchmark of which there are enough rows.

    Args:
        samples: samples to learn from.
        law_name: function that returns the name of the host model of a sample.
        laws: laws by name; the process predicts the ratio of measured values to those of the law.
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
            [models.index(model_fold(s)) for s in group],
        )
        # the process learns the log of measured over predicted time
        beyond = [math.log(s.value / predicted(laws[law_name(s)], s)) for s in group]
        processes[kind] = fitted_process(FORM, rows, np.array(beyond), recipe())
    return processes


def by_kind(samples: Sequence[ReplayedNumber], kind_of: Fold) -> dict[str, list[ReplayedNumber]]:
    """Return the samples with features, grouped by the process that corrects them."""
    return grouped((s for s in samples if s.place is not None and kind_of(s)), kind_of)


def unseen_errors(samples: Sequence[ReplayedNumber], law_name: Fold, fold_of: Fold) -> list[float]:
    """Return the prediction of each sample by laws and processes that have none of its fold.

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
