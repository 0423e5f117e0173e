"""Contents of inputs, as callers give them, become what the IR knows of a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfc.errors import ParseError
from perfc.frontend.lowering.input_contents import contents
from perfc.ir.tensors.known import Known


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (3, Known((), (3,))),
        ([1, 2, 3], Known((3,), (1, 2, 3))),
        (([1, 2], (3, 4), [5, 6]), Known((3, 2), (1, 2, 3, 4, 5, 6))),
        ([[[7]]], Known((1, 1, 1), (7,))),
        ([], Known((0,), ())),
        (np.array([[1, 2], [3, 4]]), Known((2, 2), (1, 2, 3, 4))),
        (np.int64(5), Known((), (5,))),
    ],
    ids=str,
)
def test_nested_lists_numbers_and_arrays_are_contents(value: Any, known: Known) -> None:
    assert contents(value) == known


@pytest.mark.parametrize(
    "value", [[[1, 2], [3]], [[1], 2], [1, [2]], [[[1], [2]], [[3]]], [[1, 2], [3, 4, 5]]], ids=str
)
def test_ragged_lists_are_refused(value: Any) -> None:
    with pytest.raises(ParseError, match=r"the lists of a value differ in (length|depth)"):
        contents(value)


@pytest.mark.parametrize("value", [list(range(1_000_000)), np.arange(1_000_000)], ids=["a", "b"])
def test_contents_too_large_to_track_are_refused(value: Any) -> None:
    with pytest.raises(ParseError, match="a value of 1000000 elements is too large"):
        contents(value)
