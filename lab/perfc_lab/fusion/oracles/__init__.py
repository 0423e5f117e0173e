"""Fusion oracles: each module of this folder reads the fused kernels of one compiler.

A compiler is one module in this folder with the members of `CompilerOracle`; nothing lists them.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Protocol, cast

from perfc.errors import ParseError
from perfc.passes.runtimes import Runtime

from .. import OracleAnswer, OracleRequest


class CompilerOracle(Protocol):
    """Members of the module of one compiler.

    Args:
        TABLE: fusion table that the compiler is compared with.
    """

    TABLE: Runtime

    def answer(self, request: OracleRequest) -> OracleAnswer:
        """Return the groups that the compiler fuses.

        Raises:
            PerfcError: it is not installed, or does not compile the model.
        """


def names() -> tuple[str, ...]:
    """Return the names of the compilers."""
    stems = (f[:-3] for f in sorted(os.listdir(__path__[0])) if f.endswith(".py"))
    return tuple(s for s in stems if not s.startswith("_"))


def oracle_of(name: str) -> CompilerOracle:
    """Return the module of a compiler.

    Raises:
        ParseError: there is none.
    """
    if name not in names():
        hint = f"there are {', '.join(names())}"
        raise ParseError(f"no compiler {name[:32]!r}", where="--oracle", hint=hint)
    return cast("CompilerOracle", import_module(f".{name}", __name__))
