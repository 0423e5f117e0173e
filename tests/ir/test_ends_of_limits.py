"""Values exactly at a limit of the IR are accepted; values beyond are refused."""

from __future__ import annotations

import pytest

from perfc.errors import ParseError
from perfc.ir.ops.movement.slice import _from_front, forward_extent, sliced_extent
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax import lexer
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.types import DType, TensorType
from perfc.ir.traffic import rows_read

N, ANY = symbol("N"), symbol("A", 0)


def extent_of(text: str) -> object:
    names = "".join(f"dim {s} in 1.. = 2\n" for s in "abcd")
    module = parse(
        f"perfir 1\nmodule @m\n{names}graph @main(%x: f32[{text}]) {{\n  return %x\n}}\n"
    )
    (x,) = module.module.graph.inputs
    assert isinstance(x.type, TensorType)
    assert x.type.shape is not None
    return x.type.shape[0]


def test_an_expression_has_a_bounded_number_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, d = (symbol(s) for s in "abcd")
    monkeypatch.setattr(lexer, "MAX_TERMS", 3)
    assert extent_of("a + b + c") == a + b + c
    assert extent_of("(a + b + c) * 7") == (a + b + c) * 7
    for text in ("a + b + c + d", "(a + b) * (c + d)"):
        with pytest.raises(ParseError, match="expression is too large"):
            extent_of(text)
    monkeypatch.setattr(lexer, "MAX_TERMS", 4)
    assert extent_of("(a + b) * (c + d)") == (a + b) * (c + d)


def test_positions_are_counted_from_the_front_where_their_sign_is_known() -> None:
    assert _from_front(ANY, 9) == ANY, "a symbol that may be 0 is not negative"
    assert _from_front(-N, 9) == 9 - N
    assert _from_front(0, N) == 0
    assert _from_front(-1, N) == N - 1
    assert _from_front(symbol("x", -1), 9) is None
    assert _from_front(None, 9) is None


@pytest.mark.parametrize(
    ("start", "end"),
    [(ANY, 9), (0, ANY), (-N, 9), (ANY, ANY + 3), (2, -1), (-3, (1 << 31) - 1), (ANY, N + ANY)],
)
def test_slices_of_symbols_are_those_of_their_numbers(start: Dim, end: Dim) -> None:
    for step in (1, 2, 3):
        found = sliced_extent(9, start, end, step)
        for a in (0, 1, 5, 12):
            for n in (1, 4, 20):
                env = {"A": a, "N": n}
                first, last = (int(evaluate(d, env)) for d in (start, end))
                assert evaluate(found, env) == len(range(9)[first:last:step]), (found, env)


def test_far_positions_mean_the_ends() -> None:
    far = (1 << 31) - 1
    assert forward_extent(N, -far, far) == N
    assert forward_extent(N, far, far) == 0
    assert forward_extent(N, 0, -far) == 0
    assert forward_extent(N, None, 3) is None


def test_rows_of_a_table_that_nobody_knows_have_no_bytes() -> None:
    def table(dtype: DType, *shape: Dim) -> TensorType:
        return TensorType(dtype, shape)

    assert rows_read(table(DType.F16, 100, 8), 5) == 5 * 8 * 2
    assert rows_read(table(DType.F32, 100), 500) == 400, "no more rows than there are"
    assert rows_read(TensorType(DType.F32, None), 5) is None
    assert rows_read(table(DType.F32), 5) is None
    assert rows_read(table(DType.UNKNOWN, 100, 8), 5) is None
