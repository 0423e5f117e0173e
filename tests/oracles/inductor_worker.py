"""Process that compiles a PyTorch module with TorchInductor up to its fusion.

Usage: ``python -m tests.oracles.inductor_worker ARCHIVE GROUPS``, with the request on
standard input. It writes the exported program and the groups of the scheduler; no code is made.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfc.errors import ModelError
from perfc.frontend.pytorch.torch_module import as_run, lookups, silenced, why
from perfc.frontend.pytorch.torch_program import archived
from perfc.frontend.pytorch.worker import answer_to, default_call, given_call, made


class FusedError(Exception):
    """Ends the compilation after fusion."""


def main() -> None:
    """Write the answer to the request on standard input."""
    archive, reply = (Path(p) for p in sys.argv[1:3])
    request = json.load(sys.stdin)
    answer = answer_to(lambda: {"groups": compiled_groups(request, archive)})
    reply.write_text(json.dumps(answer), encoding="utf-8")


def compiled_groups(request: Mapping[str, Any], archive: Path) -> list[dict[str, Any]]:
    """Write the program of the requested module, and return its groups."""
    import torch

    where, _, name = str(request["name"]).rpartition(":")
    model: Any = made(where, name, request["kwargs"])
    call = given_call(request["inputs"]) or default_call(model, where, request["dims"])
    with as_run(model), silenced(), torch.no_grad():
        program, data, args = exported(model, call, int(request["dims"].get("batch", 1)))
        groups = groups_of(program, args)
        archive.write_bytes(data)
    return groups


def positional(model: Any, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return arguments by name in the order of the parameters; None for omitted ones."""
    names = list(inspect.signature(model.forward).parameters)
    last = max((names.index(name) for name in given if name in names), default=-1)
    return tuple(given.get(name) for name in names[: last + 1])


def exported(model: Any, call: Any, batch: int) -> tuple[Any, bytes, tuple[Any, ...]]:
    """Return the exported program of a module, its archive, and its inputs.

    Strict tracing is the second try.

    Raises:
        ModelError: PyTorch cannot export it.
    """
    import torch

    floats = next((t.dtype for t in model.parameters() if t.is_floating_point()), torch.float32)
    has_embedding = any(isinstance(part, lookups()) for part in model.modules())
    failed: Exception | None = None
    for typed in call.typed(floats, has_embedding=has_embedding):
        given = typed.tensors(batch, torch.device("cpu"), doubled=False)
        for strict in (False, True):
            try:
                args = positional(model, given.bound(model))
                program = torch.export.export(model, args, strict=strict)
                archive = archived(program)
            except Exception as error:
                failed = failed or error
            else:
                return program, archive, tuple(a for a in args if a is not None)
    raise ModelError(f"PyTorch cannot export it: {why(failed)}")


def groups_of(program: Any, args: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return the kernels of the scheduler with the operators of the program they come from.

    Raises:
        RuntimeError: nothing was scheduled.
    """
    from torch._inductor import config, scheduler
    from torch._inductor.compile_fx import compile_fx

    groups: list[dict[str, Any]] = []

    def recorded(self: Any) -> None:
        extern = {n for s in self.nodes if s.is_extern() for n in source_operators(s)}
        for node in self.nodes:
            names = source_operators(node) - (set() if node.is_extern() else extern)
            kind = "library" if node.is_extern() else "fused"
            groups.append({"name": node.get_name(), "kind": kind, "operators": sorted(names)})
        raise FusedError

    setattr(scheduler.Scheduler, "codegen", recorded)  # noqa: B010 - it is replaced
    config.force_disable_caches = True
    try:
        compiled: Any = compile_fx(program.module(), list(args))
        compiled(*args)
    except Exception as error:
        if "FusedError" not in f"{type(error).__name__} {error}":
            raise
    if not groups:
        raise RuntimeError("nothing was scheduled")
    return groups


def source_operators(scheduled: Any) -> set[str]:
    """Return the operators of the exported program that a kernel computes.

    A call of a library computes one operator; those that read its result are origins too.
    """
    names: set[str] = set()
    for part in scheduled.get_nodes():
        if part.node is None:
            continue
        origin = part.node.get_origin_node() if scheduled.is_extern() else None
        for node in [origin] if origin is not None else part.node.get_origins():
            sources = node.meta.get("from_node") or []
            names.add(first_name(sources[0]) if sources else node.name)
    return names


def first_name(source: Any) -> str:
    """Return the name of the node that a chain of sources begins with."""
    while source.from_node:
        source = source.from_node[0]
    return str(source.name)


if __name__ == "__main__":
    main()
