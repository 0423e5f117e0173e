"""Ask published predictors of language models for throughput, memory and energy.

Predictors are plug-ins: modules of the entry-point group `GROUP` with a function ``predict``.
"""

from __future__ import annotations

import importlib
from typing import ClassVar, Protocol

from perfc.common import plugins
from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel
from perfc.ir import record
from perfc.machine.parallel import Parallel
from perfc.view.result import Result

GROUP = "perfc.serving_predictors"


@record
class ModelRun:
    """A language model and how it is run.

    Args:
        model: the model; an encoder has no decoder.
        target: name of the machine.
        runtime: serving runtime; "" for the one that most rows of the predictor have.
        version: its version; "" for the newest known.
        weights: format of the linear layers; "" for the published one.
        cache: element type of the KV cache; "" for that of the activations.
        parallel: degrees of parallelism of one engine.
        engines: number of identical engines.
        isl: input tokens of a request, or tokens of a sequence of an encoder.
        osl: output tokens of a request; ignored for an encoder.
        batch: requests in flight, or sequences of a batch.
        is_offline: True for a batch without a server.
    """

    model: LanguageModel
    target: str
    runtime: str
    version: str
    weights: str
    cache: str
    parallel: Parallel
    engines: int
    isl: int
    osl: int
    batch: int
    is_offline: bool = False


@record
class QuantityPrediction:
    """Predicted value of one quantity.

    Args:
        value: predicted value, in the unit of the quantity.
        low: lower end of the 90 % prediction interval; None where no held-out rows give one.
        high: its upper end.
        basis: source of the prediction as text: training rows, or a simulation.
        outside: reasons why the predictor extrapolates.
    """

    value: float
    low: float | None
    high: float | None
    basis: str
    outside: tuple[str, ...] = ()


@record
class PublishedPrediction(Result):
    """Prediction of a published predictor for a language model.

    Args:
        model: name of its configuration.
        target: name of the machine.
        predictor: name of the predictor.
        title: its publication.
        batch: requests in flight, or sequences of a batch.
        isl: input tokens.
        osl: output tokens; 0 for an encoder.
        tokens_per_s: output tokens per second of all GPUs; of an encoder, the tokens that it reads.
        memory_bytes: memory of the process.
        energy_j_per_token: energy of the boards per token.
    """

    layout: ClassVar[str] = "perfc.serving.output.published_view:LAYOUT"
    model: str
    target: str
    predictor: str
    title: str
    batch: int
    isl: int
    osl: int
    tokens_per_s: QuantityPrediction | None
    memory_bytes: QuantityPrediction | None
    energy_j_per_token: QuantityPrediction | None


class ServingPredictor(Protocol):
    """Module of a published predictor."""

    def predict(self, run: ModelRun) -> PublishedPrediction:
        """Predict a run."""


def names() -> list[str]:
    """Return the names of the installed predictors."""
    return sorted(plugins.entries(GROUP))


def published(name: str, run: ModelRun) -> PublishedPrediction:
    """Predict a run by the predictor with this name.

    Raises:
        ParseError: no such predictor is installed.
    """
    module = plugins.entries(GROUP).get(name)
    if module is None:
        installed = ", ".join(names())
        hint = f"there are {installed}" if installed else plugins.LAB_HINT
        raise ParseError(f"no predictor {name!r}", where="--predictor", hint=hint)
    predictor: ServingPredictor = importlib.import_module(module)
    return predictor.predict(run)
