"""Results of each reduction of a few floats or integers, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.ir.graph import Value
from perfc.ir.ops.normalization import reduce
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "ReduceSum": sum,
    "ReduceProd": math.prod,
    "ReduceMax": max,
    "ReduceMin": min,
    "ReduceL1": lambda x: sum(map(abs, x)),
    "ReduceL2": lambda x: math.hypot(*x),
    "ReduceSumSquare": lambda x: sum(v * v for v in x),
    "ReduceMean": lambda x: sum(x) / len(x),
}


def folded(name: str, items: list[float], dtype: DType) -> object:
    known = Known((len(items),), tuple(items))
    value = Value("x", TensorType(dtype, (len(items),)), known)
    op = getattr(reduce, name)(keepdims=0)
    found = op.fold((value,), op.infer((value,)))
    assert len(found) == 1, name
    return found[0].item


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4))
def test_floats_are_reduced_as_numbers(name: str, items: list[int]) -> None:
    found = folded(name, list(map(float, items)), DType.F32)
    expected = REDUCTIONS[name](list(map(float, items)))
    assert found == pytest.approx(float(np.float32(expected)), rel=1e-6)


@pytest.mark.parametrize("name", sorted(set(REDUCTIONS) - {"ReduceMean"}))
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4))
def test_integers_stay_integers(name: str, items: list[int]) -> None:
    found = folded(name, list(items), DType.I64)
    expected = REDUCTIONS[name](list(items))
    assert isinstance(found, int)
    assert found == math.floor(expected + 1e-9)
