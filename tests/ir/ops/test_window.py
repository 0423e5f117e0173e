"""Sliding windows against loops that place every window."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.convolution.fitting import LONGEST
from perfc.ir.ops.convolution.pool import LpPool, MaxPool, Pool
from perfc.ir.ops.convolution.window import output_extent, per_axis, span_of, touched, windows
from perfc.ir.symbolic.dim import Dim, substitute, symbol
from perfc.ir.tensors.types import DType, TensorType

H = symbol("H")


def placed(extent: int, kernel: int, stride: int, dilation: int, pad: tuple[int, int]) -> list[int]:
    last = extent + sum(pad) - span_of_int(kernel, dilation)
    return list(range(-pad[0], last - pad[0] + 1, stride))


def span_of_int(kernel: int, dilation: int) -> int:
    return (kernel - 1) * dilation + 1


def draw(rng: random.Random) -> tuple[int, int, int, int, tuple[int, int]]:
    kernel, dilation = rng.randint(1, 4), rng.randint(1, 3)
    pad = rng.randrange(kernel), rng.randrange(kernel)
    extent = span_of_int(kernel, dilation) + rng.randint(0, 9)
    return extent, kernel, rng.randint(1, 4), dilation, pad


def test_windows_are_as_many_as_a_loop_places() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        extent, kernel, stride, dilation, pad = draw(rng)
        expected = len(placed(extent, kernel, stride, dilation, pad))
        span = span_of_int(kernel, dilation)
        assert windows(extent, span, stride, pad, ceil=False) == expected
        symbolic = windows(H, span, stride, pad, ceil=False)
        assert substitute(symbolic, {"H": extent}) == expected


def test_ceiling_adds_a_window_unless_it_starts_in_the_trailing_pad() -> None:
    rng = random.Random(2)
    for _ in range(2000):
        extent, kernel, stride, dilation, pad = draw(rng)
        span = span_of_int(kernel, dilation)
        starts = placed(extent, kernel, stride, dilation, pad)
        covered = starts[-1] + span == extent + pad[1]
        more = not covered and starts[-1] + stride < extent
        # a window that fits exactly is also dropped when it lies wholly in the pad
        expected = len([s for s in starts if s < extent]) + more
        assert windows(extent, span, stride, pad, ceil=True) == expected
        symbolic = windows(H, span, stride, pad, ceil=True)
        assert substitute(symbolic, {"H": extent}) == expected


def test_touched_positions_are_those_a_loop_reads() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        extent, kernel, stride, dilation, pad = draw(rng)
        starts = placed(extent, kernel, stride, dilation, pad)
        reads = {s + j * dilation for s in starts for j in range(kernel)}
        expected = sum(0 <= i < extent for i in reads)
        assert touched(extent, len(starts), kernel, stride, dilation, pad) == expected
        out = windows(H, span_of(kernel, dilation), stride, pad, ceil=False)
        least = substitute(touched(H, out, kernel, stride, dilation, pad), {"H": extent})
        assert isinstance(least, int)
        assert 0 <= least <= expected


def test_a_strided_one_by_one_kernel_leaves_gaps() -> None:
    assert touched(56, 28, 1, 2, 1, (0, 0)) == 28
    out = windows(H, 1, 2, (0, 0), ceil=False)
    assert touched(H, out, 1, 2, 1, (0, 0)) == out


def test_same_padding_yields_a_window_a_stride() -> None:
    assert output_extent(7, 3, 2, (0, 0), "SAME_UPPER") == 4
    assert output_extent(7, 3, 2, (0, 0), "VALID") == 3
    assert str(output_extent(H, 3, 2, (0, 0), "SAME_LOWER")) == "((H + 1)//2)"


def test_a_window_far_larger_than_its_input_is_refused() -> None:
    with pytest.raises(ShapeError, match="window of 7"):
        windows(2, 7, 1, (0, 0), ceil=False)


@pytest.mark.parametrize("stride", range(1, 5))
def test_a_window_that_does_not_fit_counts_as_runtimes_round(stride: int) -> None:
    """Rounded towards zero, as ONNX's shape inference and the pools of ONNX Runtime do.

    Where it counts fewer than no windows, the model is refused.
    """
    for extent, span, before, after in product(range(4), range(1, 9), range(2), range(2)):
        room = extent + before + after - span
        expected = int(room / stride) + 1
        if expected < 0:
            with pytest.raises(ShapeError, match=f"window of {span} on an extent of {extent} "):
                windows(extent, span, stride, (before, after), ceil=False)
        else:
            assert windows(extent, span, stride, (before, after), ceil=False) == expected


@pytest.mark.parametrize("stride", range(1, 5))
def test_rounding_up_never_counts_fewer_windows(stride: int) -> None:
    for extent, span, before, after in product(range(1, 7), range(1, 6), range(2), range(2)):
        pad = (before, after)
        room = extent + before + after - span
        if room < 0:
            continue
        starts = range(0, extent + before, stride)
        expected = min(-(-room // stride) + 1, len(starts))
        assert windows(extent, span, stride, pad, ceil=True) == expected


def test_an_attribute_of_another_length_is_refused() -> None:
    with pytest.raises(ShapeError, match="strides has 1 values for 2 spatial axes"):
        per_axis((2,), 2, 1, "strides")


@st.composite
def layers(draw: st.DrawFn) -> Pool | Conv:
    kernel = draw(st.integers(1, 7))
    pads = draw(st.sampled_from(((), (0, 1), (1, 0), (2, 2))))
    padding = draw(st.sampled_from(("NOTSET", "VALID", "SAME_UPPER")))
    shared: dict[str, Any] = {"kernel_shape": (kernel,), "pads": pads, "auto_pad": padding}
    shared["strides"] = (draw(st.integers(1, 4)),)
    match draw(st.integers(0, 2)):
        case 0:
            return Conv(**shared)
        case 1:
            return LpPool(**shared)
    # where SAME and dilations meet, implementations differ and the extent is left open
    dilation = draw(st.integers(1, 2)) if padding != "SAME_UPPER" else 1
    return MaxPool(**shared, dilations=(dilation,), ceil_mode=draw(st.integers(0, 1)))


def behind(network: Sequence[Pool | Conv], extent: Dim) -> Dim:
    """Return the extent behind the layers of a network; ONNX Runtime refuses empty inputs."""
    for op in network:
        if extent == 0:
            raise ShapeError("an empty input")
        x = Value("x", TensorType(DType.F32, (1, 1, extent)))
        w = Value("w", TensorType(DType.F32, (1, 1, *op.kernel_shape)))
        y = Value("y", op.infer((x, w) if isinstance(op, Conv) else (x,))[0])
        assert y.shape is not None
        extent = y.shape[2]
    return extent


@given(st.lists(layers(), min_size=1, max_size=4), st.lists(st.integers(1, 90), min_size=8))
def test_formulas_are_right_at_any_size(network: list[Pool | Conv], sizes: list[int]) -> None:
    try:
        formula = behind(network, H)
    except ShapeError:
        return  # an extent before it is always smaller than a window
    for size in sizes:
        try:
            found = behind(network, size)
        except ShapeError:
            continue  # no run is possible
        assert substitute(formula, {"H": size}) == found, (formula, size)


def test_small_inputs_of_pools_have_one_short_term() -> None:
    """As in ONNX Runtime, a window may be larger than its input; in a convolution it may not."""
    halves = MaxPool(kernel_shape=(2,), strides=(2,))
    assert [str(behind([halves] * n, H)) for n in (1, 3)] == ["max((H//2), 1)", "max((H//8), 1)"]
    assert str(behind([MaxPool(kernel_shape=(3,), strides=(2,), pads=(1, 1))], H)) == "((H + 1)//2)"
    assert str(behind([Conv(strides=(2,), kernel_shape=(2,))], H)) == "(H//2)"
    wide = LpPool(kernel_shape=(4,), strides=(2,))
    assert str(behind([wide], H)) == "max((H//2) - 1, min(((H + 1)//2) - 1, 1))"
    assert [behind([wide], n) for n in (2, 3, 4, 6)] == [0, 1, 1, 2]


def test_formulas_of_endless_layers_stay_bounded() -> None:
    extent: Dim = H
    for _ in range(60):
        extent = windows(2 * extent + 1, 9, 3, (0, 0), ceil=False)
    assert len(str(extent)) < 20 * LONGEST
