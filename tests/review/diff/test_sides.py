"""Sizes given for two models, by the names that each has for its extents."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.ir.graph import Graph, Module, SymbolDecl, Value
from perfc.ir.symbolic.dim import symbol
from perfc.ir.tensors.types import UNKNOWN, DType, TensorType
from perfc.review.diff.sides import name_of, same_symbols, wanted


def module(*inputs: tuple[str, tuple[object, ...] | None]) -> Module:
    """A module with these inputs and no nodes; texts are symbols."""
    values, names = [], dict[str, None]()
    for name, extents in inputs:
        if extents is None:
            values.append(Value(name, UNKNOWN))
            continue
        names |= dict.fromkeys(e for e in extents if isinstance(e, str))
        shape: Any = tuple(symbol(e) if isinstance(e, str) else e for e in extents)
        values.append(Value(name, TensorType(DType.F32, shape)))
    declared = tuple(SymbolDecl(name, 4) for name in names)
    return Module(Graph("main", tuple(values), tuple(values), ()), declared)


@pytest.mark.parametrize(
    ("dims", "twins", "found"),
    [
        ({"n": 3}, {}, {"n": 3}),
        ({"m": 3}, {}, {}),
        ({"m": 3}, {"m": "n"}, {"n": 3}),
        ({"m": 3, "n": 5}, {"m": "n"}, {"n": 5}),
        ({"n": 5, "m": 3}, {"n": "s", "m": "n"}, {"n": 5}),
        ({"m": 3}, {"m": "other"}, {}),
        ({"m": 3, "s": 2}, {"m": "n"}, {"n": 3, "s": 2}),
    ],
)
def test_a_size_goes_to_the_symbol_of_its_name_else_to_its_twin(
    dims: dict[str, int], twins: dict[str, str], found: dict[str, int]
) -> None:
    assert wanted(dims, module(("x", ("n", "s"))), twins) == found


def test_a_batch_stands_for_the_first_extent_of_every_input() -> None:
    two = module(("x", ("n", 8)), ("y", ("k", 8)))
    found = wanted({"batch": 6}, two, {})
    assert found == {"n": 6, "k": 6}


@pytest.mark.parametrize(
    ("old", "new", "twins"),
    [
        ([("x", ("n", 4))], [("x", ("m", 4))], {"n": "m"}),
        ([("x", ("n", 4))], [("y", ("m", 4))], {"n": "m"}),
        ([("x", ("n",)), ("y", ("k",))], [("y", ("b",)), ("x", ("a",))], {"n": "a", "k": "b"}),
        ([("x", ("n",)), ("z", ("k",))], [("x", ("a",)), ("y", ("b",)), ("w", ("c",))], {"n": "a"}),
        ([("x", ("n", "k"))], [("x", ("m",))], {}),
        ([("x", ("n", "k"))], [("x", ("m", "m"))], {"n": "m"}),
        ([("x", ("n", "n"))], [("x", ("m", "k"))], {"n": "m"}),
        ([("x", None)], [("x", ("m",))], {}),
        ([("x", (4,))], [("x", ("m",))], {}),
    ],
)
def test_symbols_at_the_same_place_of_an_input_are_twins(
    old: Any, new: Any, twins: dict[str, str]
) -> None:
    assert same_symbols(module(*old), module(*new)) == twins


def test_an_extent_that_is_no_symbol_has_no_name() -> None:
    assert (name_of(symbol("n")), name_of(symbol("n") + 1), name_of(4)) == ("n", "", "")
