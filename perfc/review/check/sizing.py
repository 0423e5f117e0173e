"""Sizes of a budget and symbols of models.

Budgets cover many models, whose symbols differ. A size that a model lacks is ignored if the budget
gives all of the model's sizes; if one of them is missing, the budget is ambiguous. A size that no
model of a budget has is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfc.deployment.extents import AXES, stood_for
from perfc.errors import ModelError, suggestion
from perfc.ir import Module, OptionalType, SequenceType, TensorType, Type, evaluate, symbols
from perfc.ir.syntax.names import symbol_key
from perfc.view.report.units import plural

from .config import Budget, Config
from .lock.baseline import BaselineCase, Entry

if TYPE_CHECKING:
    from perfc.api import Report

SHOWN = 3
"""Maximum models or inputs in a line."""


def fitting(module: Module, dims: Mapping[str, int], where: str, path: str) -> dict[str, int]:
    """Return the ``dims`` that the model at ``path`` has; ``where`` is their place for messages.

    Raises:
        ModelError: the model lacks one, and another one of its sizes is not given.
    """
    declared = {s.name for s in module.symbols}
    # `batch` and `seq` stand for symbols of other names
    axes = stood_for(module, dims)
    given = {n: v for n, v in dims.items() if symbol_key(n) in declared or n in axes}
    unknown = [name for name in dims if name not in given]
    keys = {symbol_key(name) for name in given}.union(*(axis.keys for axis in axes.values()))
    missing = [key for key in input_symbols(module) if key not in keys]
    if unknown and missing:
        shapes = [f"{v.name}{v.type}" for v in module.graph.inputs if symbols_in(v.type)]
        hint = f"its inputs: {', '.join(shapes[:SHOWN])}{guess(unknown[0], missing)}"
        name = f"dims.{unknown[0]} of {where}"
        message = f"{name} is not a symbol of the model, whose {missing[0]} is not given"
        raise ModelError(message, where=path, hint=f"{hint}; give it, or add a budget for it")
    return given


def guess(name: str, known: Sequence[str]) -> str:
    """Return a suggestion for an unknown ``name``."""
    hint = suggestion(name, known, "")
    return hint and f"; {hint}"


def sizes_of(report: Report) -> tuple[tuple[str, int], ...]:
    """Return the symbols of the inputs, and other given or bound ones, with their values.

    A symbol that stands for ``batch`` or ``seq`` has that name, unless it was given by the name
    that it has in the model.
    """
    given = set(report.given)
    given |= {s.name for s in report.source.symbols if s.is_bound}
    names = {*input_symbols(report.source), *given} & report.env.keys()
    of_deployment = {symbol_key(name): value for name, value in report.deployment.dims.items()}
    sizes = {**of_deployment, **{name: report.env[name] for name in names}}
    # only the names of the axes count here, not their sizes
    for name, axis in stood_for(report.source, dict.fromkeys(AXES, 0)).items():
        values = {evaluate(d, sizes) for key, d in axis.extents.items() if key in sizes}
        # all symbols of the axis agree, and none was given by its name: one entry for the axis
        if len(values) == 1 and of_deployment.keys().isdisjoint(axis.keys):
            sizes = {n: v for n, v in sizes.items() if n not in axis.keys} | {name: values.pop()}
    return tuple(sorted(sizes.items()))


def input_symbols(module: Module) -> list[str]:
    """Return the keys of the symbols in input extents, in order."""
    keys = (key for v in module.graph.inputs for key in symbols_in(v.type))
    return list(dict.fromkeys(keys))


def symbols_in(type_: Type) -> list[str]:
    """Return the keys of the symbols in a type."""
    match type_:
        case TensorType(_, shape):
            return [a.key for d in shape or () for a in sorted(symbols(d), key=lambda a: a.key)]
        case SequenceType(elem) | OptionalType(elem):
            return symbols_in(elem)
        case _:
            return []


def unused(
    config: Config, entries: Mapping[BaselineCase, Entry], *, is_everything: bool
) -> Iterator[tuple[str, bool]]:
    """Yield a line for each size that models lack, with True if it is an error.

    Args:
        config: the budgets.
        entries: every analyzed case.
        is_everything: True if these are all models that the budgets cover.
    """
    for budget in config.budgets:
        dims = tuple(sorted(budget.dims.items()))
        sizes = {
            case.model: {key for key, _ in entry.sizes}
            for case, entry in entries.items()
            if case.dims == dims and budget.covers(case.model)
        }
        for name in budget.dims:
            lacking = sorted(m for m, keys in sizes.items() if symbol_key(name) not in keys)
            if lacking:
                is_error = is_everything and len(lacking) == len(sizes)
                yield size_line(config, budget, name, sizes, lacking, is_error=is_error), is_error


def size_line(
    config: Config,
    budget: Budget,
    name: str,
    sizes: Mapping[str, set[str]],
    lacking: Sequence[str],
    *,
    is_error: bool,
) -> str:
    """Format the line about one size."""
    where = f"{config.place(budget.dims_line)}: dims.{name}"
    if is_error:
        declared = sorted(set().union(*sizes.values()))
        listing = f"their symbols: {', '.join(declared) or 'none'}"
        return (
            f"{where} is not a symbol of any model of the budget ({listing}{guess(name, declared)})"
        )
    models = ", ".join(lacking[:SHOWN])
    more = f" and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else ""
    count = f"{len(lacking)} of {plural(len(sizes), 'model')}"
    return f"{where} is not a symbol of {count}, whose sizes are all given: {models}{more}"
