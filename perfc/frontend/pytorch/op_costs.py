"""Work of custom operators of PyTorch by formulas that users register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from perfc.errors import ModelError

from ..pt2.program import FLOP

F = TypeVar("F", bound=Callable[..., Any])
FORMULAS: dict[str, Callable[..., Any]] = {}
"""Functions of an operator's arguments that return its floating-point operations, by name."""


def op_cost(name: str) -> Callable[[F], F]:
    """Return a decorator that registers the work of a custom operator, as of a Triton kernel.

    The function takes the arguments of the operator, as that of ``torch.library.register_fake``,
    and returns floating-point operations; sizes may be symbols. Bytes are those of all operands
    and results.

    >>> @op_cost("mine::scale")
    ... def scale(x, factor):
    ...     return x.numel()

    Raises:
        ModelError: a name without a namespace.
    """
    if "::" not in name:
        raise ModelError(f"{name!r} has no namespace", hint="as in op_cost('mine::scale')")

    def registered(formula: F) -> F:
        FORMULAS[name] = formula
        return formula

    return registered


def with_costs(program: Any) -> None:
    """Write the work of custom operators into the nodes of a program.

    Args:
        program: a ``torch.export.ExportedProgram``, which is changed.
    """
    from torch.fx.node import map_arg

    def value_of(node: Any) -> Any:
        return node.meta["val"]

    for node in program.graph.nodes if FORMULAS else ():
        schema = getattr(node.target, "_schema", None)
        formula = FORMULAS.get(schema.name) if schema is not None else None
        if formula is not None:
            args, kwargs = map_arg((node.args, node.kwargs), value_of)
            flop = str(formula(*args, **kwargs))
            node.meta["custom"] = {**node.meta.get("custom", {}), FLOP: flop}
