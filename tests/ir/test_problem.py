"""Problem sizes that operators return."""

from __future__ import annotations

import pytest

from perfc.ir.graph import Value
from perfc.ir.op import REGISTRY
from perfc.ir.problem import Product, Rows, SlidingWindow, Span
from perfc.ir.problem.window import WindowOperation
from perfc.ir.symbolic.dim import Dim
from perfc.ir.tensors.types import DType, TensorType
from tests.passes.random_graphs import op


def stated(mnemonic: str, *shapes: tuple[Dim, ...], **attributes: object) -> object:
    ins = tuple(Value(f"x{i}", TensorType(DType.F16, s)) for i, s in enumerate(shapes))
    made = op(mnemonic, **attributes)
    return made.problem(ins, made.infer(ins))


@pytest.mark.parametrize(
    ("in_channels", "out_channels", "group", "is_depthwise"),
    [
        (64, 64, 64, True),
        (64, 128, 64, True),
        (64, 1, 1, False),
        (1, 64, 1, False),
        (64, 64, 8, False),
    ],
)
def test_depthwise_is_a_filter_for_each_of_several_channels(
    in_channels: int, out_channels: int, group: int, is_depthwise: bool
) -> None:
    x, filters = (2, in_channels, 56, 56), (out_channels, in_channels // group, 3, 3)
    found = stated("conv", x, filters, group=group)
    assert isinstance(found, SlidingWindow)
    assert found.is_depthwise is is_depthwise
    assert (found.depth, found.filters) == (in_channels // group, out_channels // group)


def test_a_transposed_convolution_has_its_input_channels_first() -> None:
    found = stated("conv_transpose", (1, 8, 5, 5), (8, 3, 2, 2), group=8, strides=(2, 2))
    assert isinstance(found, SlidingWindow)
    assert (found.in_channels, found.out_channels, found.form) == (
        8,
        24,
        WindowOperation.TRANSPOSED,
    )
    assert found.is_depthwise
    assert (found.in_extents, found.out_extents) == ((5, 5), (10, 10))


@pytest.mark.parametrize(
    ("mnemonic", "x", "channels_last"),
    [
        ("causal_conv_with_state", (2, 64, 100), 0),
        ("causal_conv_with_state", (2, 100, 64), 1),
        ("varlen_causal_conv_with_state", (100, 64), 0),
    ],
)
def test_a_convolution_over_the_past_is_depthwise(
    mnemonic: str, x: tuple[int, ...], channels_last: int
) -> None:
    found = stated(mnemonic, x, (64, 1, 4), channels_last=channels_last)
    assert isinstance(found, SlidingWindow)
    assert found.is_depthwise
    assert (found.in_channels, found.in_extents, found.out_extents) == (64, (100,), (100,))
    assert found.pads_before((100,)) == (3,)


@pytest.mark.parametrize(
    ("attributes", "gain"),
    [
        ({}, (12 / 6) ** 2),
        ({"strides": (2, 1)}, 1.0),
        ({"dilations": (1, 2)}, 1.0),
    ],
)
def test_minimal_filtering_is_of_plain_windows_of_stride_one(
    attributes: dict[str, object], gain: float
) -> None:
    found = stated("conv", (1, 4, 9, 9), (4, 4, 3, 3), **attributes)
    assert isinstance(found, SlidingWindow)
    assert found.winograd_gain == gain


def test_pads_that_are_not_stated_follow_from_extents() -> None:
    found = stated("conv", (1, 4, 7, 8), (4, 4, 3, 2), auto_pad="SAME_LOWER")
    assert isinstance(found, SlidingWindow)
    assert found.pads_before((7, 8)) == (1, 1)
    stated_pads = stated("conv", (1, 4, 7, 8), (4, 4, 3, 2), pads=(2, 0, 1, 1))
    assert isinstance(stated_pads, SlidingWindow)
    assert stated_pads.pads_before((7, 8)) == (2, 0)


def test_a_pool_is_no_depthwise_convolution() -> None:
    found = stated("max_pool", (1, 64, 8, 8), kernel_shape=(2, 2), strides=(2, 2))
    assert isinstance(found, SlidingWindow)
    assert not found.is_depthwise
    assert (found.taps, found.stride, found.form) == (4, 4, WindowOperation.POOL)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((3, 5, 7), (7, 2), (1, 15, 2, 7)),
        ((3, 5, 7), (3, 7, 2), (3, 5, 2, 7)),
        ((4, 1, 5, 7), (3, 7, 2), (12, 5, 2, 7)),
        ((3, 5, 7), (7,), (1, 15, 1, 7)),
        ((7,), (7, 2), (1, 1, 2, 7)),
    ],
)
def test_a_right_operand_that_all_share_makes_one_tall_product(
    left: tuple[int, ...], right: tuple[int, ...], expected: tuple[int, int, int, int]
) -> None:
    found = stated("matmul", left, right)
    assert isinstance(found, Product)
    assert (found.products, found.rows, found.n, found.k) == expected


@pytest.mark.parametrize(
    ("mnemonic", "attributes", "shapes", "expected"),
    [
        ("softmax", {"axis": -1}, [(2, 3, 5)], (6, 30, Span.AXES)),
        ("softmax", {"axis": 1}, [(2, 3, 5)], (10, 30, Span.AXES)),
        ("softmax", {"axis": 1, "flatten": True}, [(2, 3, 5)], (2, 30, Span.AXES)),
        ("layer_norm", {"axis": 1}, [(2, 3, 5), (3, 5)], (2, 30, Span.AXES)),
        ("layer_norm", {"axis": 0}, [(2, 3, 5), (2, 3, 5)], (1, 30, Span.AXES)),
        ("instance_norm", {}, [(2, 3, 5, 5), (3,), (3,)], (6, 150, Span.GROUP)),
        ("group_norm", {"num_groups": 2}, [(2, 4, 5, 5), (4,), (4,)], (4, 200, Span.GROUP)),
    ],
)
def test_rows_are_what_has_statistics_of_its_own(
    mnemonic: str,
    attributes: dict[str, object],
    shapes: list[tuple[int, ...]],
    expected: tuple[int, int, Span],
) -> None:
    assert stated(mnemonic, *shapes, **attributes) == Rows(*expected)


def test_every_weight_only_product_tells_the_bits_of_its_weights() -> None:
    from perfc.ir.ops.quantized.weight_only_matmul import WeightOnly

    kinds = [c for c in REGISTRY.values() if issubclass(c, WeightOnly) and c is not WeightOnly]
    assert len(kinds) >= 5
    for kind in kinds:
        assert kind.packing is not WeightOnly.packing
