"""Check an operator against its definition: number of operands and results, attribute ranges.

An operator declares them by its operand names and attribute annotations; all readers of models
check them here before they infer or count anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from .record import record

if TYPE_CHECKING:
    from .op import Op

Attributes: TypeAlias = dict[str, object]
"""Attributes of a node by name, as in a model file; ``Op.adapt`` converts those of every version
to the fields of the class.
"""
Positive: TypeAlias = int
"""An attribute that is a number of at least 1: a group count, a width, a block size."""
Natural: TypeAlias = int
"""An attribute that is a number of at least 0."""
Positives: TypeAlias = tuple[int, ...]
"""An attribute that is a list of numbers of at least 1: strides, dilations, a window."""
Naturals: TypeAlias = tuple[int, ...]
"""An attribute that is a list of numbers of at least 0: pads."""

LEAST = {"Positive": 1, "Positives": 1, "Natural": 0, "Naturals": 0}
"""Minimum value by the text of an annotation without ``| None``: the four names are aliases, which
differ from ``int`` in their text alone."""
LONGEST_LIST = 1 << 16
"""Maximum entries of an attribute. It limits the memory that a damaged or hostile model file can
take; lists of axes, strides and sizes are far shorter."""


@record
class Operands:
    """Names of an operator's inputs, and which of them are required.

    Args:
        names: names by position.
        required: positions that must be given.
        repeats: True if the last name stands for any number of inputs.
    """

    names: tuple[str, ...] = ()
    required: tuple[int, ...] = ()
    repeats: bool = False

    @staticmethod
    def of(text: str) -> Operands:
        """Parse names with marks: ``?`` is optional, ``*`` any number, ``+`` at least one.

        >>> Operands.of("X W B?").required
        (0, 1)
        """
        marked = text.split()
        # an input marked ``+`` counts as required, since at least one must be given
        required = tuple(i for i, name in enumerate(marked) if name[-1] not in "?*")
        names = tuple(name.rstrip("?*+") for name in marked)
        return Operands(names, required, bool(marked) and marked[-1][-1] in "*+")


def arity_problem(cls: type[Op], inputs: Sequence[object], n_outputs: int) -> str:
    """Return the error in the number of operands or results of a node; "" if there is none."""
    signature = cls.signature
    given = len(inputs)
    # an operand is left out by a shorter list of inputs or by None in its place
    for position in signature.required:
        if position >= given or inputs[position] is None:
            return f"input {signature.names[position]} ({position}) is missing"
    most = len(signature.names)
    if given > most and not signature.repeats and cls.is_closed:
        surplus = sum(v is not None for v in inputs[most:])  # absent trailing inputs are allowed
        if surplus:
            return f"{given} inputs, at most {most} are defined"
    if n_outputs < cls.least_results:
        return "it has no outputs"
    return ""


def range_problem(op: Op) -> str:
    """Return the error in the attributes of an operator; "" if there is none."""
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
    """Return the attributes that `range_problem` checks, with their minimum; None for no minimum.

    Lists without a minimum are included, as their length is limited. Computed once per class.
    """
    limited = _LIMITED.get(cls)
    if limited is None:
        limited = _LIMITED[cls] = tuple(
            (f, least_of(f))
            for f in fields(cls)
            if least_of(f) is not None or str(f.type).startswith("tuple")
        )
    return limited


def least_of(attribute: Field[Any]) -> int | None:
    """Return the minimum of an attribute or of each of its entries; None if it has none."""
    return LEAST.get(str(attribute.type).removesuffix(" | None"))
