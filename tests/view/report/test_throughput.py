"""What a run of a model counts: images, tokens or runs, by shape and name of its inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.graph import Value
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType, TensorType
from perfc.view.report.formats.screen import throughput_words
from perfc.view.report.sections.verdict import Item, Throughput, items


def value(name: str, dtype: DType, *shape: Dim) -> Value:
    return Value(name, TensorType(dtype, shape))


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        (value("x", DType.F32, 8, 3, 4, 4), (Item.IMAGE, 8)),
        (value("x", DType.U8, 8, 4, 4, 1), (Item.IMAGE, 8)),
        (value("x", DType.F32, 8, 5, 4, 6), None),
        (value("x", DType.I64, 8, 3, 4, 4), None),
        (value("x", DType.F32, 8, 3, 4), None),
        (value("input_ids", DType.I64, 8, 16), (Item.TOKEN, 128)),
        (value("Tokens.1", DType.I32, 8, symbol("s")), (Item.TOKEN, 40)),
        (value("input_ids", DType.F32, 8, 16), None),
        (value("input_ids", DType.I64, 0, 16), None),
        (value("positions", DType.I64, 8, 16), None),
        (value("x", DType.F32, 0, 3, 4, 4), None),
        (Value("x", TensorType(DType.F32, None)), None),
    ],
)
def test_what_an_input_holds_is_told_by_its_shape_and_name(given: Value, counted: object) -> None:
    assert items(given, {"s": 5}) == counted


@pytest.mark.parametrize(
    ("per_s", "words"),
    [
        (0.126, "0.13"),
        (5.0, "5.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (123.4, "123"),
        (999.0, "999"),
        (1234.0, "1,230"),
        (1236.0, "1,240"),
        (45678.0, "45,700"),
        (123456.0, "123,000"),
        (999_400.0, "999,000"),
        (1.2e6, "1.20 M"),
        (1.5e6, "1.50 M"),
        (2.5e9, "2.50 G"),
    ],
)
def test_a_throughput_has_three_digits(per_s: float, words: str) -> None:
    verdict: Any = SimpleNamespace(is_bound=False, throughput=Throughput(Item.IMAGE, 8, per_s))
    assert throughput_words(verdict) == f"{words} images/s"
