"""Compilers that answer what they fuse: each module of this folder asks one.

A module has a function ``answer`` from `OracleRequest` to `OracleAnswer`; nothing lists them. The
fusion table that it is compared with names it as its ``oracle``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

from perfc.errors import ParseError
from perfc.passes.runtimes import Runtime, tables

from .. import OracleAnswer, OracleRequest


def names() -> tuple[str, ...]:
    """Return the names of the compilers."""
    stems = (f[:-3] for f in sorted(os.listdir(__path__[0])) if f.endswith(".py"))
    return tuple(s for s in stems if not s.startswith("_"))


def answer_of(name: str, request: OracleRequest) -> OracleAnswer:
    """Return what a compiler fuses.

    Raises:
        PerfcError: unknown, not installed, or it does not compile the model.
    """
    if name not in names():
        hint = f"there are {', '.join(names())}"
        raise ParseError(f"no compiler {name[:32]!r}", where="--oracle", hint=hint)
    answer: Callable[[OracleRequest], OracleAnswer] = import_module(f".{name}", __name__).answer
    return answer(request)


def table_of(name: str) -> Runtime:
    """Return the fusion table that a compiler is compared with."""
    return next(t for t in tables() if t.oracle == name)
