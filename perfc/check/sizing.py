"""Sizes of a budget against the symbols of models: none is dropped in silence.

Budgets are for many models, whose symbols differ. A size that a model does not have means nothing
to it where the budget says all of its own; where one of those is open, nobody can tell which was
meant. A size that no model of a budget has is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.extents import AXES, stood_for
from perfc.ir.dim import symbols
from perfc.ir.names import symbol_key
from perfc.ir.types import OptionalType, SequenceType, TensorType, Type
from perfc.report.units import plural

from .baseline import Case, Entry
from .config import Budget, Config

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.ir.graph import Module

SHOWN = 3
"""Models or inputs named in a line."""


def fitting(path: Path, dims: Mapping[str, int], where: str) -> dict[str, int]:
    """Those of ``dims`` that the model at ``path`` has; ``where`` they stand is for the message.

    Raises:
        ModelError: it lacks one, and has another that nobody gave.
    """
    from perfc.frontend import load

    module = load(path)
    declared = {s.name for s in module.symbols}
    axes = stood_for(module, dims)
    given = {n: v for n, v in dims.items() if symbol_key(n) in declared or n in axes}
    strange = [name for name in dims if name not in given]
    keys = {symbol_key(name) for name in given}.union(*axes.values())
    left = [key for key in input_symbols(module) if key not in keys]
    if strange and left:
        shapes = [f"{v.name}{v.type}" for v in module.graph.inputs if symbols_in(v.type)]
        hint = f"its inputs: {', '.join(shapes[:SHOWN])}{guess(strange[0], left)}"
        what = f"dims.{strange[0]} of {where} is no symbol of the model, whose {left[0]} is open"
        raise ModelError(what, where=str(path), hint=f"{hint}; say it, or write a budget for it")
    return given


def guess(name: str, known: Sequence[str]) -> str:
    """What could have been meant by ``name``."""
    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def sizes_of(report: Report) -> tuple[tuple[str, int], ...]:
    """The symbols of the inputs, others that were given or put in, with the numbers used.

    Symbols that ``batch`` or ``seq`` stands for go by that name, unless they were given by theirs.
    """
    given = set(report.given)
    given |= {s.name for s in report.source.symbols if s.is_bound}
    names = {*input_symbols(report.source), *given} & report.env.keys()
    stated = {symbol_key(name): value for name, value in report.deployment.dims.items()}
    found = {**stated, **{name: report.env[name] for name in names}}
    for name, keys in stood_for(report.source, dict.fromkeys(AXES, 0)).items():
        values = {found[key] for key in keys if key in found}
        if len(values) == 1 and stated.keys().isdisjoint(keys):
            found = {n: v for n, v in found.items() if n not in keys} | {name: values.pop()}
    return tuple(sorted(found.items()))


def input_symbols(module: Module) -> list[str]:
    """Keys of the symbols that extents of inputs are made of, in order."""
    found = (key for v in module.graph.inputs for key in symbols_in(v.type))
    return list(dict.fromkeys(found))


def symbols_in(type_: Type) -> list[str]:
    """Keys of the symbols in a type."""
    match type_:
        case TensorType(_, shape):
            return [a.key for d in shape or () for a in sorted(symbols(d), key=lambda a: a.key)]
        case SequenceType(elem) | OptionalType(elem):
            return symbols_in(elem)
        case _:
            return []


def unused(
    config: Config, found: Mapping[Case, Entry], *, is_everything: bool
) -> Iterator[tuple[str, bool]]:
    """Sizes that models do not have, a line each, and whether that is an error.

    Args:
        config: the budgets.
        found: every case that was analysed.
        is_everything: whether those are all the models that the budgets are about.
    """
    for budget in config.budgets:
        dims = tuple(sorted(budget.dims.items()))
        sizes = {
            case.model: {key for key, _ in entry.sizes}
            for case, entry in found.items()
            if case.dims == dims and budget.covers(case.model)
        }
        for name in budget.dims:
            lacking = sorted(m for m, keys in sizes.items() if symbol_key(name) not in keys)
            if lacking:
                is_error = is_everything and len(lacking) == len(sizes)
                yield said(config, budget, name, sizes, lacking, is_error=is_error), is_error


def said(
    config: Config,
    budget: Budget,
    name: str,
    sizes: Mapping[str, set[str]],
    lacking: Sequence[str],
    *,
    is_error: bool,
) -> str:
    """The line about one size."""
    where = f"{config.place(budget.dims_line)}: dims.{name}"
    if is_error:
        known = sorted(set().union(*sizes.values()))
        theirs = f"their symbols: {', '.join(known) or 'none'}"
        return f"{where} is no symbol of any model of the budget ({theirs}{guess(name, known)})"
    models = ", ".join(lacking[:SHOWN])
    more = f" and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else ""
    of = f"{len(lacking)} of {plural(len(sizes), 'model')}"
    return f"{where} is no symbol of {of}, whose own sizes are all given: {models}{more}"
