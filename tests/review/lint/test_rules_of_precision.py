"""Rules of extents, element types and conversions between them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import perfc
from tests.review.lint.models import F16, F32, blemished, found, model, node, product


def test_extents_that_matrix_instructions_do_not_divide_are_found() -> None:
    (finding,) = found(product(1001), "PF401")
    assert finding.gain is not None
    kernel_s = perfc.analyze(product(1001), "a100").prediction.kernels_s
    assert finding.gain.time_s == pytest.approx(7 / 1008 * kernel_s, rel=0.2)
    assert found(product(1008), "PF401") == []
    assert [len(found(product(1001, F32), "PF401", tf32=tf32)) for tf32 in (True, False)] == [1, 0]
    few = model([node("MatMul", ["x", "w"], ["y"])], {"x": [9, 16]}, {"y": [9, 9]}, None, F16)
    few.graph.initializer.append(numpy_helper.from_array(np.ones((16, 9), np.float16), "w"))
    (finding,) = found(few, "PF401")
    assert finding.gain.time_s == 0, "a kernel that is shorter than its launch does not end earlier"


def test_rows_of_a_batch_that_meet_one_matrix_count_together() -> None:
    def batched(rank: int) -> object:
        w = np.ones((64, 512, 512)[-rank:], np.float16)
        return model(
            [node("MatMul", ["x", "w"], ["y"])],
            {"x": [64, 50, 512]},
            {"y": [64, 50, 512]},
            {"w": w},
            F16,
        )

    assert found(batched(2), "PF401") == []
    assert len(found(batched(3), "PF401")) == 1


def test_targets_without_a_matrix_unit_want_no_alignment() -> None:
    assert found(product(1001, F32), "PF401", target="p100-pcie-16gb") == []


def test_channels_that_matrix_instructions_do_not_divide_are_found() -> None:
    def conv(channels: int) -> object:
        return model(
            [node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
            {"x": [64, channels, 56, 56]},
            {"y": [64, channels, 56, 56]},
            {"w": np.ones((channels, channels, 3, 3), np.float16)},
            F16,
        )

    (finding,) = found(conv(129), "PF402")
    assert finding.gain is not None
    assert finding.gain.time_s > 0
    assert found(conv(128), "PF402") == []


def test_patches_of_an_image_are_a_product_over_their_pixels() -> None:
    m = model(
        [node("Conv", ["x", "w"], ["y"], strides=[16, 16])],
        {"x": [64, 3, 224, 224]},
        {"y": [64, 768, 14, 14]},
        {"w": np.ones((768, 3, 16, 16), np.float16)},
        F16,
    )
    assert found(m, "PF402") == []
    # 27 products of a patch are no multiple of 8, and 3 channels are padded to 4
    m.graph.node[0].attribute[0].ints[:] = [3, 3]
    m.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((768, 3, 3, 3), np.float16), "w")
    )
    del m.graph.output[0].type.tensor_type.shape.dim[:]
    for extent in (64, 768, 74, 74):
        m.graph.output[0].type.tensor_type.shape.dim.add().dim_value = extent
    (finding,) = found(m, "PF402")
    assert "(of 4)" in finding.message


def island(op: str) -> object:
    return model(
        [
            node("Cast", ["x"], ["a"], to=F32, name="up"),
            node(op, ["a"], ["b"], name="middle"),
            node("Cast", ["b"], ["y"], to=F16, name="down"),
        ],
        {"x": [4096, 4096]},
        {"y": [4096, 4096]},
        dtype=F16,
    )


def test_an_f32_island_is_found_unless_it_needs_the_width() -> None:
    (finding,) = found(island("Relu"), "PF403")
    assert finding.gain is not None
    assert finding.gain.time_s > 0
    assert not finding.fixable
    assert found(island("Exp"), "PF403") == []
    assert found(island("Softmax"), "PF403") == []


def half_island(op: str, *more: str, w: object = None) -> object:
    return model(
        [
            node("Cast", ["x"], ["a"], to=F16, name="down"),
            node(op, ["a", *more], ["b"], name="middle"),
            node("Cast", ["b"], ["c"], to=F32, name="up"),
            node("Relu", ["c"], ["y"], name="next"),
        ],
        {"x": [4096, 4096]},
        {"y": [4096, 4096]},
        {} if w is None else {"w": w},
    )


def test_16_bits_around_what_is_cheap_cost_more_than_they_save() -> None:
    (finding,) = found(half_island("Sigmoid"), "PF409")
    assert finding.gain is not None
    # two conversions of 4096 x 4096, 6 bytes an element each, at less than 2 TB/s
    assert finding.gain.time_s > 50e-6
    assert not finding.fixable
    assert found(island("Relu"), "PF409") == []
    wide = half_island("Add", "w", w=np.zeros((4096, 4096), np.float16))
    assert [f.code for f in found(wide, "PF409")] == ["PF409"]


def test_a_product_in_16_bits_is_worth_its_conversions() -> None:
    assert found(half_island("MatMul", "w", w=np.zeros((4096, 4096), np.float16)), "PF409") == []


def test_an_f32_island_with_stored_tensors_gains_what_they_shrink_by() -> None:
    m = model(
        [
            node("Cast", ["x"], ["a"], to=F32, name="up"),
            node("MatMul", ["a", "w"], ["b"], name="mm"),
            node("Add", ["b", "c"], ["d"], name="bias"),
            node("Cast", ["d"], ["y"], to=F16, name="down"),
        ],
        {"x": [512, 4096]},
        {"y": [512, 4096]},
        {"w": np.zeros((4096, 4096), np.float32), "c": np.zeros(4096, np.float32)},
        dtype=F16,
    )
    (finding,) = found(m, "PF403")
    assert finding.gain is not None
    # two casts and half of 64 MiB of weights at less than 2 TB/s
    assert finding.gain.time_s > 20e-6
    assert finding.gain.floor_s > 50e-6


def test_casts_that_lose_something_are_no_chain_to_drop() -> None:
    m = model(
        [
            node("Cast", ["x"], ["a"], to=F16),
            node("Cast", ["a"], ["y"], to=F32),
        ],
        {"x": [64, 64]},
        {"y": [64, 64]},
    )
    assert found(m, "PF404") == []
    (finding,) = found(blemished(), "PF404")
    assert finding.nodes == ("narrow", "widen")


def half_quantized(dtype: int, extent: int = 64) -> onnx.ModelProto:
    """Return a product of a dequantized activation and a stored tensor that is not quantized."""
    real = np.dtype(np.float32 if dtype == F32 else np.float16)
    stored = {"s": np.full((), 0.1, real), "z": np.zeros((), np.int8)}
    return model(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["a"], name="q"),
            node("DequantizeLinear", ["a", "s", "z"], ["b"], name="dq"),
            node("MatMul", ["b", "w"], ["y"], name="mm"),
        ],
        {"x": [extent, extent]},
        {"y": [extent, extent]},
        {**stored, "w": np.ones((extent, extent), real)},
        dtype,
    )


def test_quantised_operands_without_a_quantised_partner_fall_back() -> None:
    m = half_quantized(F32)
    assert [f.place for f in found(m, "PF405")] == ["mm"]
    m.graph.node[2].CopyFrom(node("Sin", ["b"], ["y"], name="sin"))
    assert [f.place for f in found(m, "PF405", runtime="eager")] == ["dq"]


def test_conversions_around_a_view_cancel() -> None:
    m = model(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["a"], name="q1"),
            node("DequantizeLinear", ["a", "s", "z"], ["b"], name="dq1"),
            node("Flatten", ["b"], ["c"]),
            node("QuantizeLinear", ["c", "s", "z"], ["d"], name="q2"),
            node("DequantizeLinear", ["d", "s", "z"], ["y"], name="dq2"),
        ],
        {"x": [64, 8, 8]},
        {"y": [64, 64]},
        {"s": np.float32(0.1).reshape(()), "z": np.zeros((), np.int8)},
    )
    assert found(m, "PF405") == []


def test_narrow_weights_alone_are_meant_that_way() -> None:
    m = model(
        [
            node("DequantizeLinear", ["w", "s"], ["b"], name="dq"),
            node("MatMul", ["x", "b"], ["y"], name="mm"),
        ],
        {"x": [64, 64]},
        {"y": [64, 64]},
        {"s": np.float32(0.1).reshape(()), "w": np.ones((64, 64), np.int8)},
    )
    assert [f.place for f in found(m, "PF405")] == []


def test_a_dequantized_activation_in_16_bits_falls_back_too() -> None:
    (finding,) = found(half_quantized(F16, 512), "PF405", runtime="tensorrt")
    assert finding.place == "mm"
    assert "multiplies in f16" in finding.message
