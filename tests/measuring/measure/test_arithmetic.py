"""Small arithmetic of measurements: numbers of a dataset, what a prediction lacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.measuring.measure.matching.align import common
from perfc.measuring.measure.matching.compare import Measurement
from perfc.measuring.measure.tables.dataset import cell
from perfc.measuring.ncu.metrics import PIPE_TENSOR, tensor_counters

PRODUCTS = ("fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "int8")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (-2.0, "-2"),
        (1e15, "1e+15"),
        (1e15 - 1, "999999999999999"),
        (0.12345, "0.1235"),
        (7, 7),
        (True, True),
        (None, None),
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
    ],
)
def test_cells_have_as_many_digits_as_a_clock(value: object, text: object) -> None:
    assert cell(value) == text


def test_what_the_prediction_lacks_is_signed() -> None:
    one = cast(Any, SimpleNamespace(total_s=5e-3, prediction_s=3e-3))
    residual = cast(property, Measurement.residual_s).fget
    assert residual is not None
    assert residual(one) == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("old", "new", "matched"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "xaxbx", [(0, 1), (1, 3)]),
        ("abcd", "bd", [(1, 0), (3, 1)]),
        ("ab", "ba", [(1, 0)]),
        ("", "abc", []),
        ("aaa", "a", [(0, 0)]),
    ],
)
def test_the_longest_common_sequence_is_paired(
    old: str, new: str, matched: list[tuple[int, int]]
) -> None:
    assert common(list(old), list(new)) == matched


@pytest.mark.parametrize(
    ("arch", "counted"),
    [
        ("sm_60", []),
        ("sm_75", [""]),
        ("sm_80", ["", *PRODUCTS, "fp64"]),
        ("sm_86", ["", *PRODUCTS]),
        ("sm_87", ["", *PRODUCTS]),
        ("sm_89", ["", *PRODUCTS]),
        ("sm_90", ["", "fp16", *PRODUCTS, "fp64"]),
        ("sm_100", ["", *PRODUCTS, "fp64"]),
        ("sm_120", ["", *PRODUCTS]),
        ("sm_121", ["", *PRODUCTS]),
    ],
)
def test_chips_without_double_precision_on_the_tensor_pipe_do_not_count_it(
    arch: str, counted: list[str]
) -> None:
    names = [f"sm__ops_path_tensor_src_{c}.sum" if c else PIPE_TENSOR for c in counted]
    assert tensor_counters(arch) == names
