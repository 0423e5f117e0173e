"""Estimate candidates of a search; equal candidates are analyzed once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from perfc.api import analyze
from perfc.deployment import Deployment
from perfc.frontend import serialized
from perfc.ir import Module, mutable

from .quantity import Objective, Quantities
from .space import BuiltModel


@mutable
class ModelEvaluator:
    """Estimates candidates on one target.

    Args:
        deployment: how candidates are run.
        wanted: quantities to estimate.
        values: contents of inputs that determine shapes.
        predictor: predictor of the whole run, as in ``perfc.analyze``.
        known: estimates so far, by content of the model, or by parameters.
        analyzed: number of models that were analyzed.
    """

    deployment: Deployment
    wanted: frozenset[Objective]
    values: Mapping[str, Any] = field(default_factory=dict)
    predictor: str = ""
    known: dict[object, Quantities] = field(default_factory=dict)
    analyzed: int = 0

    def of(self, candidate: BuiltModel, params: Mapping[str, Any]) -> Quantities:
        """Return the estimate of a candidate, as ``perfc.analyze`` returns it.

        Raises:
            PerfcError: the model cannot be analyzed.
        """
        model = candidate.model
        # different parameters may build the same model: the key is its content where there is one
        key: object = tuple(sorted(params.items()))
        if hasattr(model, "SerializeToString"):
            model = serialized(model)
        if isinstance(model, bytes):
            key = sha256(model).digest()
        elif isinstance(model, str | os.PathLike) and os.path.isfile(model):
            status = os.stat(model)  # a candidate may overwrite the file of an earlier one
            key = os.fspath(model), status.st_mtime_ns, status.st_size
        elif isinstance(model, Module):
            key = model
        if key not in self.known:
            report = analyze(
                model,
                inputs=candidate.inputs,
                values=self.values,
                predictor=self.predictor,
                deployment=self.deployment,
            )
            self.known[key] = Quantities.of(report, self.wanted)
            self.analyzed += 1
        return self.known[key]
