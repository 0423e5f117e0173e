"""The numbers of a host's law from measured rows, by least squares without negative numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.measure.nnls import nnls

from ..host import LEARNED, HostLaw
from . import Quantity
from .replay import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 12
"""Of reweighting."""
FACTOR_TRUST = 4.0
"""Rows that the kernels' own predictions count for: factors move from 1 only with evidence."""
LEAST_ROWS = 8
QUANTILES = (0.05, 0.95)


def fitted(samples: Sequence[Sample], base: HostLaw | None = None) -> HostLaw:
    """The law that fits samples best, errors counted as ratios and far ones little.

    Args:
        samples: of one runtime.
        base: what factors and the rest start from and are drawn to; kernels alone by default.
    """
    import numpy as np

    known = base or HostLaw()
    if len(samples) < LEAST_ROWS:
        return known
    a = np.array([s.amounts for s in samples])
    y = np.array([s.value for s in samples])
    start = np.array([getattr(known, name) for name in LEARNED])
    predicted = a @ start
    scale = np.maximum(np.median(a / y[:, None], axis=0), 1e-9)
    # factors are drawn to 1; times are drawn to where they start, a little
    trust = np.where(np.arange(len(LEARNED)) < 2, FACTOR_TRUST, FACTOR_TRUST / 40) ** 0.5
    x = start
    for _ in range(ROUNDS):
        error = np.log(np.maximum(predicted, 1e-12) / y)
        weight = 1 / np.sqrt(y * np.maximum(predicted, y / 30)) / np.sqrt(1 + (error / 0.25) ** 2)
        pull = np.diag(trust * np.where(np.arange(len(LEARNED)) < 2, 1.0, scale))
        x = nnls(
            np.vstack([a * weight[:, None], pull]), np.concatenate([y * weight, pull @ start])
        )
        predicted = a @ x
    return replace(known, **{name: float(v) for name, v in zip(LEARNED, x, strict=True)})


def predicted_s(law: HostLaw, samples: Sequence[Sample]) -> Array:
    """What a law says of samples, in seconds."""
    import numpy as np

    numbers = np.array([getattr(law, name) for name in LEARNED])
    found: Array = np.array([s.amounts for s in samples]) @ numbers
    return found


Group = Callable[[Sample], str]


def left_out(
    samples: Sequence[Sample], fold_of: Group, fit: Callable[[Sequence[Sample]], Callable[[Sample], float]]
) -> list[float]:
    """What each sample is predicted to be by a fit that has none of its fold.

    Args:
        samples: to predict.
        fold_of: name of the fold of a sample.
        fit: from samples to a prediction.
    """
    found = [0.0] * len(samples)
    for fold in dict.fromkeys(map(fold_of, samples)):
        predict = fit([s for s in samples if fold_of(s) != fold])
        for i, s in enumerate(samples):
            if fold_of(s) == fold:
                found[i] = predict(s)
    return found


def random_fold(samples: Iterable[Sample], folds: int = 5, seed: int = 0) -> Group:
    """Folds that know nothing of models; all samples of a row are in one."""
    import random

    names = sorted({s.row.name for s in samples})
    random.Random(seed).shuffle(names)
    at = {name: str(i % folds) for i, name in enumerate(names)}
    return lambda s: at[s.row.name]


def model_fold(sample: Sample) -> str:
    """One fold a model; models of the same configuration are one."""
    from .replay import CONFIGS

    return CONFIGS.get(sample.row.model, sample.row.model)


__all__ = ["Quantity", "fitted", "left_out", "model_fold", "predicted_s", "random_fold"]
