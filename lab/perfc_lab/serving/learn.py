"""Fit the numbers of a host model to measured rows, by non-negative least squares.

The time of a row is a sum of amounts, each times one number of the host. Errors are relative, and
outliers count little: a few rounds of reweighting (IRLS) do this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scipy.optimize import nnls

from perfc.serving.host import FACTORS, LEARNED, HostModel

from . import ServedRow, ServingQuantity
from .replay import CONFIGS, ReplayedNumber
from .tables import TRTLLM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 12
"""Rounds of reweighting."""
FACTOR_TRUST = 100.0
"""Weight of the prior in rows: factors of kernels move from 1 only with evidence. Host numbers of
other engines, where known, are a prior of the same weight."""
HOST_TRUST = 0.5
"""Weight, in rows, of the prior of a host without overhead, where no other host is known. It is
less than one row, so that only numbers which no row determines stay at 0."""
FAR = 0.25
"""Error, as a logarithm of measured over predicted time, from which a row counts less, as an
outlier."""
LEAST_ROWS = 8
"""Minimum number of rows for the fit of a host."""
REQUESTS_S = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15)
"""Candidates for the host time of a request before its first step."""
USUAL_REQUEST_S = 0.04
"""Seconds of a request in server, tokenizer and connection: the value assumed without rows. The
fit adds it to both terms of a ratio of such times (`_request_s`)."""
TOKEN_S = 3e-6
"""Seconds per prompt token of a server that gets prompts as text: a tokenizer took 2.3 to 3.4 µs
per token on one core."""
IN_TIME = frozenset({ServingQuantity.TPOT_S, ServingQuantity.TOKENS_PER_S})
"""Quantities that follow from the times of steps alone."""


def fitted(samples: Sequence[ReplayedNumber], base: HostModel | None = None) -> HostModel:
    """Return the law that fits samples best, by relative errors, of which large ones count little.

    Args:
        samples: samples of one runtime. The times of steps determine all numbers but the time of a
            request, which is fitted last, to the times to the first token.
        base: prior of the fit, from which it starts; by default a host without overhead.
    """
    cold = [s for s in samples if not is_warm(s.row)]
    steps = [s for s in cold if s.quantity in IN_TIME]
    first = [s for s in cold if s.quantity is ServingQuantity.TTFT_S]
    law = base or HostModel()
    if len(steps) + len(first) < LEAST_ROWS:
        return law
    trust = HOST_TRUST if base is None else FACTOR_TRUST
    token_s = TOKEN_S if any(reads_text(s.row) for s in first) else 0.0
    law = replace(law, **_numbers(steps or first, law, trust), token_s=token_s)
    return replace(law, request_s=_request_s(law, first)) if first and steps else law


def reads_text(row: ServedRow) -> bool:
    """Return True if prompts are sent as text; benchmarks of TensorRT-LLM send tokens."""
    return row.source != TRTLLM


def is_warm(row: ServedRow) -> bool:
    """Return True for a row that no law is fitted to.

    Either a prefix cache served part of its prompts, or it is of SGLang without a version. Such
    rows of one setting took 0.5 and 7.1 s, as if kernels were compiled during the run.
    """
    return row.distinct_prompts > 0 or row.runtime + row.version == "sglang"


def of_other_hosts(
    samples: Sequence[ReplayedNumber], law_name: Callable[[ReplayedNumber], str], name: str
) -> HostModel | None:
    """Return the prior for the law of a server: the host numbers of a fit to all other servers.

    Without one model, the rows of a server may not show what a number costs. All of SGLang's rows
    with a hundred sequences and more, for example, are of one model, and without that model they do
    not show the host time of a sequence. Rows of other engines do.

    Args:
        samples: samples to learn from.
        law_name: function that returns the name of the host model of a sample.
        name: name of the law of the server.

    Returns:
        The law; None if ``name`` is not that of a server, or if other servers have too few rows.
    """
    if not is_server(name):
        return None
    named_samples = [(law_name(s), s) for s in samples if s.quantity in IN_TIME]
    rest = [s for other, s in named_samples if other != name and is_server(other)]
    if len(rest) < LEAST_ROWS:
        return None
    law = fitted(rest)
    host = {n: getattr(law, n) for n in LEARNED if n not in FACTORS}
    return HostModel(request_s=USUAL_REQUEST_S, token_s=TOKEN_S, **host)


def is_server(name: str) -> bool:
    """Return True if a law is of a plain server, by its name.

    Names of laws of benchmarks, disaggregated engines and AMD's platform have a suffix that begins
    with "-" (`perfc.serving.host`).
    """
    return "-" not in name


def _numbers(
    samples: Sequence[ReplayedNumber], start_law: HostModel, trust: float
) -> dict[str, Any]:
    """Return the fitted `LEARNED` numbers by name, near those of ``start_law``, which is the prior.

    ``trust`` is the weight of the prior, in rows, for host numbers; for factors it is
    `FACTOR_TRUST`.
    """
    import numpy as np

    a = np.array([s.amounts for s in samples])
    # in a closed loop prompts per step are proportional to sequences, so that rows do not separate
    # their times: without an amount, `prompt_s` stays at its start
    a[:, LEARNED.index("prompt_s")] = 0.0
    y = np.array([s.value for s in samples])
    start = np.array([getattr(start_law, name) for name in LEARNED])
    is_factor = np.arange(len(LEARNED)) < len(FACTORS)
    # ridge: extra rows pull each number to its start, scaled by its median share of a row's time
    typical = np.where(is_factor, 1.0, np.median(a / y[:, None], axis=0))
    pull = np.diag(np.where(is_factor, FACTOR_TRUST, trust) ** 0.5 * typical)
    x, predicted = start, a @ start
    for _ in range(ROUNDS):
        error = np.log(np.maximum(predicted, 1e-12) / y)
        # squared error over the product of measured and predicted time, which is nearly the squared
        # logarithm of their ratio. Large errors count less (Cauchy); y / 30 bounds the weight of a
        # row whose prediction is near 0
        weight = 1 / np.sqrt(y * np.maximum(predicted, y / 30)) / np.sqrt(1 + (error / FAR) ** 2)
        x, _ = nnls(
            np.vstack([a * weight[:, None], pull]), np.concatenate([y * weight, pull @ start])
        )
        predicted = a @ x
    return {name: float(v) for name, v in zip(LEARNED, x, strict=True)}


def _request_s(law: HostModel, first: Sequence[ReplayedNumber]) -> float:
    """Return the host time of a request before its first step: the candidate of least error.

    The error is the sum of absolute logarithms of predicted over measured TTFT, with a penalty for
    distance from the law's value.
    """
    import numpy as np

    bare = steps_s(law, first) + law.token_s * np.array([s.row.isl for s in first])
    logs = np.log([s.value for s in first])

    def error(request_s: float) -> float:
        # `USUAL_REQUEST_S` is added on both sides, so that the logarithm of 0 s is finite
        unusual = math.log((request_s + USUAL_REQUEST_S) / (law.request_s + USUAL_REQUEST_S))
        total = float(np.abs(np.log(request_s + bare) - logs).sum())
        return total + FACTOR_TRUST * abs(unusual)

    return min(REQUESTS_S, key=error)


def steps_s(law: HostModel, samples: Sequence[ReplayedNumber]) -> Array:
    """Return the seconds of the steps of each sample by a law."""
    import numpy as np

    numbers = np.array([getattr(law, name) for name in LEARNED])
    seconds: Array = np.array([s.amounts for s in samples]) @ numbers
    return seconds


def predicted(law: HostModel, sample: ReplayedNumber) -> float:
    """Return the value of a sample by a law: seconds, as `ReplayedNumber.value`."""
    step = math.fsum(
        getattr(law, name) * v for name, v in zip(LEARNED, sample.amounts, strict=True)
    )
    if sample.quantity is not ServingQuantity.TTFT_S:
        return step
    return law.before_s(sample.row.isl) + step


def of_kernels(law: HostModel, sample: ReplayedNumber) -> tuple[float, float]:
    """Return the energy and the time of a token in kernels, for a sample of energy under a law."""
    factors = [getattr(law, name) for name in FACTORS]
    # amounts of an energy sample: joules per kind of kernel, then seconds per kind
    halves = sample.amounts[: len(FACTORS)], sample.amounts[len(FACTORS) :]
    drawn_j, kernels_s = (
        math.fsum(f * a for f, a in zip(factors, half, strict=True)) for half in halves
    )
    return drawn_j, kernels_s


Fold = Callable[[ReplayedNumber], str]
"""Function that returns the name of a sample's group: of its law, or of its fold."""


def left_out(samples: Sequence[ReplayedNumber], law_name: Fold, fold_of: Fold) -> list[float]:
    """Return the prediction of each sample by a law that was fitted without its fold.

    Args:
        samples: samples to predict.
        law_name: function that returns the name of the host model of a sample.
        fold_of: function that returns the name of the fold of a sample.
    """
    predictions = [0.0] * len(samples)
    every = [(fold_of(s), s) for s in samples]
    for name in dict.fromkeys(map(law_name, samples)):
        group = [(i, s) for i, s in enumerate(samples) if law_name(s) == name]
        for fold in dict.fromkeys(fold_of(s) for _, s in group):
            out = {id(s) for s in samples if fold_of(s) == fold}
            others = of_other_hosts([s for f, s in every if f != fold], law_name, name)
            # with too few rows of other models this is the law of a host without overhead
            law = fitted([s for _, s in group if id(s) not in out], others)
            for i, s in group:
                if id(s) in out:
                    predictions[i] = predicted(law, s)
    return predictions


TWINS = {"llama-7b": "llama-2-7b", "llama-3-8b": "llama-3.1-8b"}
"""Configuration with equal layers, by a configuration that is in one fold with it."""


def config_of(model: str) -> str:
    """Return the shipped configuration of a model by its name in a source."""
    return CONFIGS.get(model, model)


def fold_of_model(model: str) -> str:
    """Return the fold of a model: models with the same configuration or layers share one."""
    return TWINS.get(config_of(model), config_of(model))


def model_fold(sample: ReplayedNumber) -> str:
    """Return the fold of a sample's model."""
    return fold_of_model(sample.row.model)
