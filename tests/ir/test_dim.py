"""Symbolic extents against integer arithmetic."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.errors import ParseError
from perfc.ir.symbolic.dim import (
    Dim,
    at_most,
    ceil_div,
    dim_max,
    dim_min,
    interval,
    same,
    substitute,
    symbol,
    symbols,
)
from perfc.ir.syntax.lexer import parse_dim

SYMBOLS: dict[str, Dim] = {
    "N": symbol("N", 1, 9),
    "S": symbol("S"),
    "u": symbol("u", 0, symbol("N", 1, 9) * 2),
    "`a b`": symbol("a b", 2, 5),
}
Env = dict[str, int]


@dataclass(frozen=True, repr=False)
class Expression:
    """A symbolic extent with the integer function it must equal."""

    dim: Dim
    at: Callable[[Env], int]

    def __repr__(self) -> str:
        return str(self.dim)


def _leaf(name: str) -> Expression:
    return Expression(SYMBOLS[name], lambda env: env[name])


def _constant(value: int) -> Expression:
    return Expression(value, lambda env: value)


def _binary(op: Callable[..., Dim], a: Expression, b: Expression) -> Expression:
    return Expression(op(a.dim, b.dim), lambda env: int(op(a.at(env), b.at(env))))


def _quotient(op: Callable[..., Dim], a: Expression, b: int) -> Expression:
    return Expression(op(a.dim, b), lambda env: int(op(a.at(env), b)))


def _extremum(of: Callable[..., Dim], over: Callable[..., int], *e: Expression) -> Expression:
    return Expression(of(*(x.dim for x in e)), lambda env: over(*(x.at(env) for x in e)))


def _symbolic_quotient(a: Expression, b: Expression) -> Expression:
    divisor = dim_max(b.dim, 1)
    return Expression(a.dim // divisor, lambda env: a.at(env) // max(b.at(env), 1))


leaves = st.one_of(st.sampled_from(sorted(SYMBOLS)).map(_leaf), st.integers(-9, 60).map(_constant))
divisors = st.integers(-6, 9).filter(bool)


def _grow(e: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    arithmetic = st.sampled_from([operator.add, operator.sub, operator.mul])
    return st.one_of(
        st.builds(_binary, arithmetic, e, e),
        st.builds(_quotient, st.sampled_from([operator.floordiv, operator.mod]), e, divisors),
        st.builds(_quotient, st.just(ceil_div), e, st.integers(1, 9)),
        st.builds(_extremum, st.just(dim_min), st.just(min), e, e),
        st.builds(_extremum, st.just(dim_max), st.just(max), e, e, e),
        st.builds(_symbolic_quotient, e, e),
    )


expressions = st.recursive(leaves, _grow, max_leaves=8)


@st.composite
def environments(draw: st.DrawFn) -> Env:
    n = draw(st.integers(1, 9))
    return {
        "N": n,
        "S": draw(st.integers(1, 99)),
        "u": draw(st.integers(0, 2 * n)),
        "`a b`": draw(st.integers(2, 5)),
    }


@settings(max_examples=1500, deadline=None)
@given(expressions, environments())
def test_values_text_and_intervals_agree_with_integer_arithmetic(e: Expression, env: Env) -> None:
    value = e.at(env)
    assert substitute(e.dim, env) == value
    assert parse_dim(str(e.dim), SYMBOLS) == e.dim
    lo, hi = interval(e.dim)
    assert lo is None or lo <= value
    assert hi is None or value <= hi


@settings(max_examples=800, deadline=None)
@given(expressions, expressions, environments())
def test_decided_comparisons_are_true(a: Expression, b: Expression, env: Env) -> None:
    x, y = a.at(env), b.at(env)
    assert at_most(a.dim, b.dim) in (None, x <= y)
    assert same(a.dim, b.dim) in (None, x == y)


@settings(max_examples=500, deadline=None)
@given(expressions, expressions, environments())
def test_partial_substitution_agrees_with_full(a: Expression, b: Expression, env: Env) -> None:
    partial = substitute(a.dim, {"N": env["N"], "S": env["S"]})
    assert substitute(partial, env) == a.at(env)
    assert "N" not in {s.key for s in symbols(partial)}
    inside = dim_min(dim_max(b.dim, 1), 9)
    swapped = substitute(a.dim, {"N": inside})
    assert substitute(swapped, env) == a.at({**env, "N": min(max(b.at(env), 1), 9)})


@settings(max_examples=500, deadline=None)
@given(expressions, expressions)
def test_arithmetic_is_canonical(a: Expression, b: Expression) -> None:
    assert a.dim + b.dim == b.dim + a.dim
    assert a.dim * b.dim == b.dim * a.dim
    assert (a.dim + b.dim) - b.dim == a.dim
    assert pickle.loads(pickle.dumps(a.dim)) == a.dim


def test_arithmetic_without_symbols_left_is_an_int() -> None:
    n = symbol("N")
    assert type(n - n) is int
    assert type((n * 6) // (n * 2)) is int


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(2*N + 4)//2 - 1", "N + 1"),
        ("((N//2) + 1)//3", "((N + 2)//6)"),
        ("6144*((S + 3)//2)", "6144*((S + 1)//2) + 6144"),
        ("-S//2", "-((S + 1)//2)"),
        ("S - N//2", "-(N//2) + S"),
        ("min(N, 20)", "N"),
        ("max(N, 4, 3)", "max(4, N)"),
        ("N*S*3//(N*S)", "3"),
    ],
)
def test_extents_print_in_canonical_form(text: str, printed: str) -> None:
    found = parse_dim(text, SYMBOLS)
    assert str(found) == printed
    assert parse_dim(str(found), SYMBOLS) == found


@pytest.mark.parametrize(
    "name", ["a b", "min", "inf", "1x", "a`b", "a\\b", "x\ny", "é", "", ".", "a..b", "N", "_"]
)
def test_odd_symbol_names_survive_text_and_substitution(name: str) -> None:
    s = symbol(name)
    assert parse_dim(f"{s} + 1", {str(s): s}) == s + 1
    assert substitute(s + 1, {name: 4}) == 5
    assert substitute(s + 1, {str(s): 4}) == 5


def test_names_that_look_alike_stay_apart() -> None:
    names = ["a`b", "a_b", "a b", "`a b`", "a\\b", "a\\u0060b"]
    assert len({str(symbol(n)) for n in names}) == len(names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N +", "extent:1:4: expected an extent, found the end"),
        ("N + M", "extent:1:5: symbol M is not declared"),
        ("N // 0", "extent:1:1: division by zero"),
        ("N N", "extent:1:3: expected an operator, found 'N'"),
        ("(" * 200, "extent:1:102: nested deeper than 100"),
        ("N ; 2", "extent:1:3: expected an operator, found ';'"),
        ("N & 2", "extent:1:3: stray '&'"),
        ("1" * 99, "extent:1:1: expected an integer, found '" + "1" * 99 + "'"),
    ],
)
def test_errors_name_the_column(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_dim(text, SYMBOLS)
    assert str(error.value) == message


def test_expressions_that_would_explode_are_refused() -> None:
    wide = "(" + " + ".join(f"s{i}" for i in range(80)) + ")"
    table: dict[str, Dim] = {f"s{i}": symbol(f"s{i}") for i in range(80)}
    with pytest.raises(ParseError, match="too large"):
        parse_dim("*".join([wide] * 6), table)
    with pytest.raises(ParseError, match="too large"):
        parse_dim("*".join(["9999999999"] * 600), table)


def test_quotients_by_one_number_are_in_the_order_of_their_dividends() -> None:
    s = SYMBOLS["S"]
    assert at_most((s + 1) // 2 - 1, s // 2)
    assert at_most(s // 3, s // 3)
    assert at_most(s // 2, (s + 1) // 2 - 1) is None
    assert at_most(s // 3, s // 2) is None
    assert str(dim_max(dim_min(s // 2, 4), dim_min((s + 3) // 2, 4))) == "min(((S + 1)//2) + 1, 4)"
