"""Parse the fields of a deployment from text or typed values, one function per field."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from operator import index
from typing import Any, TypedDict, TypeVar

from perfc.common.choice import text_of
from perfc.common.durations import seconds_of
from perfc.deployment import step as step_fields
from perfc.deployment.step import one_of
from perfc.errors import ParseError, PassError
from perfc.ir.symbolic.sizes import sizes_of
from perfc.machine import HOST, Reserve
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.precision.retype import precision_name
from perfc.passes.runtimes import MAX_STREAMS, Layout, Serving, Tf32, canonical
from perfc.passes.training.implementation import OptimizerLaunch, RecomputePolicy

VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(\.\S*)?")
"""Major and minor number of a version, and the rest."""
KERNELS, RUNS, STEP_LAW, RUN_LAW = "kernels", "runs", "step-law", "run-law"
"""Names of the predictors that need no card."""
ANY_RUNTIME = ("", KERNELS, RUNS, STEP_LAW, RUN_LAW)
"""Values of the field ``predictor`` that are valid under any runtime; "" is the default predictor.
Any other value is the name of a card, which is fitted to runs of PyTorch: `Deployment.for_model`
then sets that runtime."""


class Mode(Enum):
    """Execution modes."""

    INFERENCE = "inference"
    """Forward pass."""
    TRAINING = "training"
    """Training step: forward, backward and optimizer."""


def _target(value: object, where: str) -> str:
    """Parse the name or file of a target, which `perfc.machine` reads later."""
    name = text_of(value, where).strip()
    if not name:
        raise ParseError("names no target", where=where, hint="`perfc targets` lists them")
    return name


def _runtime(value: object, where: str) -> dict[str, Any]:
    """Parse a runtime, with the number of its streams after a colon: ``tensorrt:4``."""
    name = text_of(value, where)
    base, colon, streams = name.partition(":")
    try:
        plain = canonical(base)
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None
    return {"runtime": plain, **({"streams": _streams(streams, where)} if colon else {})}


def _version(value: object, where: str) -> str:
    """Parse a version; "" means the newest one measured."""
    text = text_of(value, where)
    if text and VERSION.fullmatch(text) is None:
        raise ParseError(f"{text[:32]!r} is no version", where=where, hint="as in 2.9")
    return text


def _dtype(value: object, where: str) -> str:
    """Parse a precision by any of its names, such as ``fp16`` or ``amp-bf16``."""
    try:
        return precision_name(text_of(value, where))
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None


def _tf32(value: object, where: str) -> Tf32 | None:
    """Parse whether products use TF32; None leaves it to the runtime."""
    if value is None or isinstance(value, Tf32):
        return value
    # values of the members are True, False and the text of convolutions alone
    if isinstance(value, bool) or value == Tf32.CONVOLUTIONS.value:
        return Tf32(value)
    hint = f'or "{Tf32.CONVOLUTIONS.value}" alone'
    raise ParseError(f"{value!r} is neither true nor false", where=where, hint=hint)


def _streams(value: object, where: str) -> int:
    """Parse the number of streams."""
    text = str(value)
    is_number = not isinstance(value, bool) and text.isascii() and text.isdigit()
    # four digits show that a longer number is above the maximum, too
    if not is_number or not 1 <= int(text[:4]) <= MAX_STREAMS:
        raise ParseError(
            f"no number of streams: {text[:32]!r}", where=where, hint=f"1 to {MAX_STREAMS}"
        )
    return int(text)


def _parallel(value: object, where: str) -> Parallel:
    """Parse degrees of parallelism by name."""
    if isinstance(value, Parallel):
        return value
    if not isinstance(value, Mapping):
        raise ParseError(f"{value!r} is not a table", where=where, hint="as in { tp = 8, dp = 4 }")
    return ALONE.with_values(value, lambda key: f"{where}.{key}")


def _dims(value: object, where: str) -> dict[str, int]:
    """Parse sizes of symbols by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParseError(f"{value!r} is not a table", where=where, hint="as in { batch = 8 }")
    # only for its errors; `index` also converts integers of NumPy
    sizes_of(value, where)
    return {str(name): index(extent) for name, extent in value.items()}


def _seconds(value: object, where: str) -> float | None:
    """Parse a duration, such as ``5us``."""
    return None if value is None else seconds_of(value, where)


READERS: Mapping[str, Callable[[object, str], Any]] = {
    "target": _target,
    "runtime": _runtime,
    "framework": partial(one_of, Serving),
    "runtime_version": _version,
    "dtype": _dtype,
    "tf32": _tf32,
    "layout": partial(one_of, Layout),
    "streams": _streams,
    "mode": partial(one_of, Mode),
    **step_fields.READERS,
    "host_launch": _seconds,
    "reserve": Reserve.parse,
    "parallel": _parallel,
    "dims": _dims,
}
"""Parser of each field. That of the runtime returns several fields, as its name may include the
number of streams; ``streams`` comes later, so that a separate value replaces it.
"""


F = TypeVar("F", bound=Callable[..., Any])


class DeploymentKeywords(TypedDict, total=False):
    """Fields of a deployment as keyword arguments; see ``Deployment``."""

    runtime: str
    framework: str | Serving
    runtime_version: str
    dtype: str
    tf32: bool | str | Tf32 | None
    layout: str | Layout
    streams: int
    mode: str | Mode
    train: str
    loss: str
    update: str | OptimizerLaunch
    freeze: str | Sequence[str]
    lora_rank: int
    lora: str | Sequence[str]
    accumulate: int
    master_weights: bool
    checkpointing: str | RecomputePolicy
    keep: float
    dropout: float
    host_launch: str | float | None
    reserve: str | int | Reserve
    parallel: Parallel | Mapping[str, object]
    threads: int | str | None
    dims: Mapping[str, int] | None
    batch: int | None
    seq: int | None


def with_signature(function: F) -> F:
    """Add the fields of `DeploymentKeywords` that it lacks to a function's signature, for editors.

    Defaults are ``...``, as in stubs: those of a ``Deployment`` apply.
    """
    signature = inspect.signature(function)
    # the fields replace the parameter with two asterisks
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    # with postponed evaluation, a `TypedDict` has its annotations as `ForwardRef` of their text
    named += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=text.__forward_arg__
        )
        for name, text in DeploymentKeywords.__annotations__.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return function


AXES = ("batch", "seq")
"""Extents that apply to every model, whatever its symbols are called."""
KEYS = (*READERS, "threads", *AXES)
"""Keys of files and keyword arguments."""


def thread_count(text: object, where: str = "--threads") -> int | None:
    """Return a number of threads; None for ``all``.

    Raises:
        ParseError: neither.
    """
    number = str(text)
    if number == "all":
        return None
    # no machine has more threads; six digits show that a longer number is above this, too
    if not number.isdecimal() or not 1 <= int(number[:6]) <= 4096:
        raise ParseError(f"{number!r} is neither a number of threads nor 'all'", where=where)
    return int(number)


def with_axes(values: Mapping[str, object], where: Callable[[str], str] = str) -> dict[str, object]:
    """Move ``AXES`` into the extents, and the number of threads into the target.

    Args:
        values: values by field name, and of ``AXES``; None means not given. ``threads`` are cores
            of the target, by default of this machine.
        where: function from a key to its place in the input, for messages.

    Raises:
        ParseError: two sizes for one extent, or no number of threads.
    """
    fields = {name: value for name, value in values.items() if name not in AXES}
    given = fields.pop("threads", None)
    if given is not None and (threads := thread_count(given, where("threads"))):
        # ``host/4t`` is the slice of four threads of this machine
        fields["target"] = f"{fields.get('target', HOST)}/{threads}t"
    sizes = {name: values[name] for name in AXES if values.get(name) is not None}
    if not sizes:
        return fields
    dims = fields.get("dims") or {}
    # anything but a table is an error of the parser of `dims`
    if not isinstance(dims, Mapping):
        return fields
    for name, value in sizes.items():
        if dims.get(name, value) != value:
            message = f"{name} is given as {value} and as {dims[name]}"
            raise ParseError(message, where=where(name), hint="give one of them")
    return {**fields, "dims": {**dims, **sizes}}


def target_field(target: object) -> dict[str, object]:
    """Return the target as a deployment field; empty if it is None."""
    if target is None:
        return {}
    return {"target": os.fspath(target) if isinstance(target, os.PathLike) else target}
