"""Strides agree with those of arrays; a reshape copies where an array's does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfc.api import typed
from perfc.passes.inference.placement import contiguous, viewed
from perfc.passes.inference.strides import PROBE, Strides
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize

MODELS = Path(__file__).parents[2] / "examples" / "models"


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[np.ndarray, tuple[int, ...]]:
    """A permuted array and another shape of as many elements."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
    array = np.empty(shape, np.int8).transpose(draw(st.permutations(range(len(shape)))))
    rest, new = array.size, []
    while rest > 1:
        extent = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        new.append(extent)
        rest //= extent
        if len(new) > 5:
            new.append(rest)
            break
    return array, tuple(new) or (1,)


@given(reshapes())
def test_a_reshape_copies_where_that_of_an_array_does(
    case: tuple[np.ndarray, tuple[int, ...]],
) -> None:
    array, new = case
    result = array.reshape(new)
    found = viewed(array.shape, array.strides, new)
    assert (found is not None) == np.shares_memory(array, result)
    if found is not None:
        pairs = zip(found, result.strides, new, strict=True)
        assert all(a == b for a, b, extent in pairs if extent > 1)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_contiguous_strides_are_those_of_an_array(shape: list[int]) -> None:
    assert contiguous(shape) == np.empty(shape, np.int8).strides


def test_windows_of_swin_are_copied_and_patches_of_vit_are_not() -> None:
    copies = {}
    for name in ("swin-t", "vit-b16"):
        am = Analyses()
        module = am.apply(Canonicalize(), typed(MODELS / f"{name}.onnx.gz", am=am))
        found = am.get(Strides(), module)
        copies[name] = len(found.copies)
        assert all(
            PROBE in shape or shape[0] % PROBE == 0
            for shape in map(found.shapes.get, found.copies.values())
            if shape
        )
    assert copies["swin-t"] > 12
    assert copies["vit-b16"] == 0
