"""Names of deployment fields in files and keyword arguments, with ``batch`` and ``seq``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from perfc.errors import ParseError
from perfc.machine import HOST, Reserve
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Layout, Serving, Tf32
from perfc.passes.training.implementation import OptimizerLaunch, RecomputePolicy

from .fields import READERS, Mode

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
    """Add the fields of `DeploymentKeywords` to a function's signature, for completion in editors.

    Defaults are ``...``, as in stubs: those of a ``Deployment`` apply.
    """
    signature = inspect.signature(function)
    # the fields replace the parameter with two asterisks
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    only = inspect.Parameter.KEYWORD_ONLY
    for name, annotation in DeploymentKeywords.__annotations__.items():
        # with postponed evaluation, a `TypedDict` has its annotations as `ForwardRef` of their text
        text = annotation.__forward_arg__
        named.append(inspect.Parameter(name, only, default=..., annotation=text))
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
