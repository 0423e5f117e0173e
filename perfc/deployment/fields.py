"""Parse the fields of a deployment from text or typed values, and list the valid names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from operator import index
from typing import Any

from perfc.common.choice import text_of
from perfc.common.durations import seconds_of
from perfc.deployment.step import number
from perfc.errors import ParseError, PassError
from perfc.ir.symbolic.sizes import sizes_of
from perfc.machine import HOST
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.precision.retype import AUTOCAST, NARROW, WIDE, precision_name
from perfc.passes.runtimes import MAX_STREAMS, Tf32, canonical

stream_count = partial(number, least=1, most=MAX_STREAMS)
"""Parse the number of streams."""
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


def target_name(value: object, where: str) -> str:
    """Parse the name or file of a target, which `perfc.machine` reads later."""
    name = text_of(os.fspath(value) if isinstance(value, os.PathLike) else value, where).strip()
    if not name:
        raise ParseError("names no target", where=where, hint="`perfc targets` lists them")
    return name


def runtime_name(value: object, where: str) -> dict[str, Any]:
    """Parse a runtime, with the number of its streams after a colon: ``tensorrt:4``."""
    name = text_of(value, where)
    base, colon, streams = name.partition(":")
    try:
        plain = canonical(base)
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None
    return {"runtime": plain, **({"streams": stream_count(streams, where)} if colon else {})}


def version_of(value: object, where: str) -> str:
    """Parse a version; "" means the newest one measured."""
    text = text_of(value, where)
    if text and VERSION.fullmatch(text) is None:
        raise ParseError(f"{text[:32]!r} is no version", where=where, hint="as in 2.9")
    return text


def element_type(value: object, where: str) -> str:
    """Parse a precision by any of its names, such as ``fp16`` or ``amp-bf16``."""
    try:
        return precision_name(text_of(value, where))
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None


def tf32_products(value: object, where: str) -> Tf32 | None:
    """Parse whether products use TF32; None leaves it to the runtime."""
    if value is None or isinstance(value, Tf32):
        return value
    # values of the members are True, False and the text of convolutions alone
    if isinstance(value, bool) or value == Tf32.CONVOLUTIONS.value:
        return Tf32(value)
    hint = f'or "{Tf32.CONVOLUTIONS.value}" alone'
    raise ParseError(f"{value!r} is neither true nor false", where=where, hint=hint)


def degrees(value: object, where: str) -> Parallel:
    """Parse degrees of parallelism by name."""
    if isinstance(value, Parallel):
        return value
    if not isinstance(value, Mapping):
        raise ParseError(f"{value!r} is not a table", where=where, hint="as in { tp = 8, dp = 4 }")
    return ALONE.with_values(value, lambda key: f"{where}.{key}")


def sizes_by_name(value: object, where: str) -> dict[str, int]:
    """Parse sizes of symbols by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParseError(f"{value!r} is not a table", where=where, hint="as in { batch = 8 }")
    # only for its errors; `index` also converts integers of NumPy
    sizes_of(value, where)
    return {str(name): index(extent) for name, extent in value.items()}


def duration(value: object, where: str) -> float | None:
    """Parse a duration, such as ``5us``."""
    return None if value is None else seconds_of(value, where)


def targets() -> Iterator[str]:
    """Yield the names of this machine, then machines, then clusters."""
    from perfc.machine import list_clusters, list_machines

    yield HOST
    yield from (listing.name for listing in (*list_machines(), *list_clusters()))


def precisions() -> Iterator[str]:
    """Yield element types and autocast modes."""
    yield from (*WIDE, *NARROW, *AUTOCAST)


AXES: Mapping[str, str] = {
    "batch": "Batch size: first dimension of the inputs.",
    "seq": "Sequence length: second dimension of token inputs.",
}
"""Help of the options for extents that every model has, whatever its symbols are called."""


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
        values: values by field name, and of ``AXES``; None means not given, also for ``target``.
            ``threads`` are cores of the target, by default of this machine.
        where: function from a key to its place in the input, for messages.

    Raises:
        ParseError: two sizes for one extent, or no number of threads.
    """
    fields = {name: value for name, value in values.items() if name not in AXES}
    if fields.get("target", "") is None:
        del fields["target"]
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
