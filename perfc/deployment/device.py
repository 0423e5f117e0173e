"""Choose the usual runtime of a model on a machine, and reject runtimes that do not run there."""

from __future__ import annotations

import os

from perfc.errors import ModelError, ParseError
from perfc.machine import Machine
from perfc.passes.runtimes import (
    DEFAULT,
    LOCAL_DEFAULT,
    SERVING_DEFAULT,
    TRAINING_DEFAULT,
    Runtime,
    on_device,
    runtime,
    tables,
)


def check_machine(table: Runtime, machine: Machine) -> Machine:
    """Return a machine; reject a runtime that does not run on it.

    Raises:
        ParseError: names the runtimes that serve or run models there.
    """
    if not table.is_excluded(machine.kind, machine.vendor):
        return machine
    # the hint names runtimes of the same purpose: serving engines, or runtimes of graphs
    like = (t for t in tables() if t.serves is table.serves)
    device = "cpu" if machine.kind == "cpu" else "cuda"
    runnable = [t.name for t in like if t.runs_on(device, machine.vendor)]
    message = f"{table.name.partition(':')[0]} does not run on {machine.name}"
    raise ParseError(message, where="--runtime", hint=f"{', '.join(runnable)} do")


def usual_runtime(model: object, machine: Machine) -> Runtime:
    """Return the runtime of a model's format on a machine, else the runtime of ONNX models."""
    device = "cpu" if machine.kind == "cpu" else "cuda"
    runnable = (t for t in runtimes_for(model) if t.runs_on(device, machine.vendor))
    return next(runnable, on_device(runtime(DEFAULT), machine))


def runtimes_for(model: object) -> tuple[Runtime, ...]:
    """Return the runtimes that have a model's format as their own; none for ONNX."""
    from perfc.frontend import format_name

    name = format_name(model)
    return tuple(t for t in tables() if name in t.formats)


def usual_engine(model: object) -> str:
    """Return the usual runtime of a configuration.

    llama.cpp for a GGUF file, PyTorch for a model that generates no tokens, else a serving engine.
    """
    from perfc.frontend.formats import by_name, configurations, head_of

    if not isinstance(model, str | os.PathLike):
        return SERVING_DEFAULT
    path = os.fspath(model)
    if by_name("gguf").reads(path, head_of(path)):
        return LOCAL_DEFAULT
    try:
        return SERVING_DEFAULT if configurations().generates(path) else TRAINING_DEFAULT
    except ModelError:
        # the command that reads the model next reports the error
        return SERVING_DEFAULT
