"""Gradients of operators as operators: one file per family, named as the family in ``ir/ops``.

A rule is a function with the name of the operator's mnemonic. It takes an ``Adjoint`` and returns
the gradients of the operands by position. An operator may also define ``Op.gradient`` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..op import Op
    from .adjoint import Adjoint, Gradients

    Rule = Callable[[Adjoint], "Gradients | None"]


# the package of the operators: a family's rules are in a module of the same name in this package
_OPERATORS = __name__.replace("gradients", "ops.")


def rule_of(cls: type[Op]) -> Rule | None:
    """Return the rule of an operator or of its nearest base class that has one, else None.

    An operator that declares derivatives as text has the rule in `pointwise`.
    """
    derivative: tuple[str, ...] = getattr(cls, "derivative", ())
    if derivative:
        pointwise = import_module(f"{__name__}.pointwise").pointwise
        return lambda at: pointwise(at, derivative)
    for parent in cls.__mro__:
        mnemonic = parent.__dict__.get("mnemonic")
        family = parent.__module__.removeprefix(_OPERATORS)
        rules = _rules(family) if mnemonic else None
        # a mnemonic that is a keyword of Python, such as "not", has an underscore behind it
        name = f"{mnemonic}_" if mnemonic and iskeyword(mnemonic) else mnemonic
        rule: Rule | None = getattr(rules, name, None) if rules and name else None
        if rule is not None:
            return rule
    return None


@cache
def _rules(family: str) -> ModuleType | None:
    """Return the module of a family's rules, None if there is none."""
    folder, _, _ = family.rpartition(".")
    # `find_spec` raises an error for a module in a missing package
    if folder and _rules(folder) is None:
        return None
    name = f"{__name__}.{family}"
    return import_module(name) if find_spec(name) is not None else None
