"""Prediction of a PyTorch module compared with its measured calls."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, Unpack

from perfc.api import analyze
from perfc.deployment import DeploymentKeywords
from perfc.errors import ModelError

from .training.monitor import synchronize

if TYPE_CHECKING:
    import torch


@contextmanager
def watch(
    model: torch.nn.Module, target: str = "host", **keywords: Unpack[DeploymentKeywords]
) -> Iterator[list[float]]:
    """Predict a module with the inputs of its first call; warn if its calls took another time.

    Yields the seconds of each call as they are measured. The first, in which libraries choose
    kernels, does not count if others follow.

    Args:
        model: module that is called within the context.
        target: machine that it runs on: a name, or ``host``.
        keywords: fields of a deployment, as in ``perfc.analyze``.

    Raises:
        ModelError: no module of PyTorch.
        PerfcError: as ``perfc.analyze``.
    """
    if not hasattr(model, "register_forward_hook"):
        hint = "perfc.analyze predicts other models"
        raise ModelError(f"{type(model).__name__} is no torch.nn.Module", hint=hint)
    inputs: list[Any] = []
    times: list[float] = []

    def begin(_: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not times:
            # by keywords only if there are no positional ones, as `analyze` takes either
            inputs.append(named if named and not args else args)
        synchronize()
        times.append(-time.perf_counter())  # `end` adds its time, so that the difference is left

    def end(*_: Any) -> None:
        synchronize()
        times[-1] += time.perf_counter()

    hooks = (
        model.register_forward_pre_hook(begin, with_kwargs=True),
        model.register_forward_hook(end),
    )
    try:
        yield times
    finally:
        for hook in hooks:
            hook.remove()
    if times:
        verdict = analyze(model, target, inputs=inputs[0], **keywords).verdict
        measured_s = median(times[1:] or times)
        if not verdict.expected.low <= measured_s <= verdict.expected.high:
            # 3: the place of the `with`, past this function and contextlib
            warnings.warn(verdict.place_of(measured_s), stacklevel=3)
