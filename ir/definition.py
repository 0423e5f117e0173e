"""What a definition of an operator demands of its applications: operands, results, attributes.

An operator states it where it names its operands and annotates its attributes; every reader asks
here, before anything is inferred or counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from .record import record

if TYPE_CHECKING:
    from .op import Op

Attributes: TypeAlias = dict[str, object]
"""Attributes of a node by name, as a model gives them; ``adapt`` of an operator brings those of
every version to the fields of its class."""
Positive: TypeAlias = int
"""An attribute of at least 1: a group count, a width, a block size."""
Natural: TypeAlias = int
"""An attribute of at least 0."""
Positives: TypeAlias = tuple[int, ...]
"""A list of such attributes: strides, dilations, a window."""
Naturals: TypeAlias = tuple[int, ...]
"""A list of numbers of at least 0."""

LEAST = {"Positive": 1, "Positives": 1, "Natural": 0, "Naturals": 0}
"""By the annotation of the attribute, ``| None`` taken off."""
LONGEST_LIST = 1 << 16
"""Entries of an attribute; lists that say more are reduced before they become attributes."""


@record
class Operands:
    """Names of an operator's inputs, and which of them must be given.

    Args:
        names: by position.
        required: positions that must be given.
        repeats: whether the last one stands for any number of inputs.
    """

    names: tuple[str, ...] = ()
    required: tuple[int, ...] = ()
    repeats: bool = False

    @staticmethod
    def of(marked: Sequence[str]) -> Operands:
        """From names with marks: ``?`` may be left out, ``*`` any number, ``+`` at least one.

        >>> Operands.of(("X", "W", "B?")).required
        (0, 1)
        """
        required = tuple(i for i, name in enumerate(marked) if name[-1] not in "?*")
        names = tuple(name.rstrip("?*+") for name in marked)
        return Operands(names, required, bool(marked) and marked[-1][-1] in "*+")


def arity_problem(cls: type[Op], inputs: Sequence[object], n_outputs: int) -> str:
    """What is wrong with the number of operands and results of a node, "" when nothing is."""
    signature = cls.signature
    given = len(inputs)
    for position in signature.required:
        if position >= given or inputs[position] is None:
            return f"input {signature.names[position]} ({position}) is missing"
    most = len(signature.names)
    if given > most and not signature.repeats and cls.is_closed:
        surplus = sum(v is not None for v in inputs[most:])
        if surplus:
            return f"{given} inputs, at most {most} are defined"
    if n_outputs < cls.least_results:
        return "it has no outputs"
    return ""


def range_problem(op: Op) -> str:
    """What is wrong with the attributes of an operator, "" when nothing is."""
    for f, least in _limited(type(op)):
        value: object = getattr(op, f.name)
        match value:
            case tuple() if len(value) > LONGEST_LIST:
                return f"{f.name} has {len(value)} entries, more than {LONGEST_LIST}"
            case tuple() if least is not None:
                low = [v for v in value if isinstance(v, int) and v < least]
                if low:
                    return f"{f.name} holds {low[0]}, not at least {least}"
            case int() if least is not None and value < least:
                return f"{f.name} is {value}, not at least {least}"
            case _:
                pass
    return ""


_LIMITED: dict[type[Op], tuple[tuple[Field[Any], int | None], ...]] = {}


def _limited(cls: type[Op]) -> tuple[tuple[Field[Any], int | None], ...]:
    """Attributes that have a limit, and what they are at least; computed once."""
    limited = _LIMITED.get(cls)
    if limited is None:
        limited = _LIMITED[cls] = tuple(
            (f, least_of(f))
            for f in fields(cls)
            if least_of(f) is not None or str(f.type).startswith("tuple")
        )
    return limited


def least_of(attribute: Field[Any]) -> int | None:
    """The least an attribute, or each entry of it, may be; None where it has no limit."""
    return LEAST.get(str(attribute.type).removesuffix(" | None"))
