"""Helper launches around small models."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import perfc
from perfc.ir import Phase
from perfc.measuring.measure.matching.align import inner_launches
from perfc.passes.fusion.kernel import ConvAlgorithm, Helper

RESNET = "examples/models/resnet50.onnx.gz"


def convolution(
    channels: int = 64,
    size: int = 16,
    window: int = 3,
    stride: int = 1,
    groups: int = 1,
    bias: bool = False,
    batch: int = 4,
    filters: int | None = None,
) -> onnx.ModelProto:
    """One convolution between two activations."""
    filters = channels if filters is None else filters
    pad = window // 2
    out = (size + 2 * pad - window) // stride + 1
    shapes: dict[str, tuple[int, ...]] = {"w": (filters, channels // groups, window, window)}
    if bias:
        shapes["b"] = (filters,)
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, shape, bytes(4 * _count(shape)), raw=True)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "before"),
        helper.make_node(
            "Conv",
            ["a", *shapes],
            ["c"],
            "conv",
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=groups,
        ),
        helper.make_node("Relu", ["c"], ["y"], "after"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (batch, channels, size, size))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (batch, filters, out, out))
    return helper.make_model(helper.make_graph(nodes, "net", [x], [y], weights))


def _count(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def labels(model: onnx.ModelProto, dtype: str, **how: str) -> list[str]:
    how.setdefault("runtime", "eager")
    report = perfc.analyze(model, how.pop("target", "h100"), dtype=dtype, **how)
    names = [k.label for k in report.kernels.kernels]
    return names[names.index("Relu") + 1 : len(names) - names[::-1].index("Relu") - 1]


def test_convolutions_in_16_bits_change_layout_around_them() -> None:
    assert labels(convolution(), "f16") == [
        "layout nchw→nhwc",
        "weight layout nchw→nhwc",
        "Conv",
        "layout nhwc→nchw",
    ]
    assert labels(convolution(bias=True), "f16")[-1] == "bias"
    assert labels(convolution(window=1), "f16") == ["Conv"]
    assert labels(convolution(window=1, stride=2), "f16") == [
        "layout nchw→nhwc",
        "Conv",
        "layout nhwc→nchw",
    ]
    assert labels(convolution(), "f16", layout="channels-last") == ["Conv"]
    assert labels(convolution(channels=64, groups=64), "f16") == ["Conv"]


def test_tf32_writes_small_results_in_place() -> None:
    few = ["layout nchw→nhwc", "weight layout nchw→nhwc", "Conv"]
    assert labels(convolution(batch=1), "") == few
    assert labels(convolution(batch=64, size=32), "") == [*few, "layout nhwc→nchw"]


@pytest.mark.parametrize("target", ["gtx1080ti", "generic-x86-64"])
def test_machines_without_matrix_units_convert_nothing(target: str) -> None:
    assert labels(convolution(), "f16", target=target) == ["Conv"]


def names(text: str) -> list[str]:
    """Operators of the kernels of a model in text form."""
    report = perfc.analyze(onnx.parser.parse_model(HEAD + text), "h100", runtime="eager")
    return [k.anchor.loc.op_type for k in report.kernels.kernels]


HEAD = '<ir_version: 8, opset_import: ["" : 18]> '


def test_products_of_views_that_cannot_be_merged_copy_them() -> None:
    """at::matmul reshapes batched operands, and at::linear launches their bias separately."""
    turned = "t = Transpose<perm=[0, 2, 1, 3]>(x) u = Transpose<perm=[0, 2, 3, 1]>(x)"
    text = f"net (float[4, 16, 8, 32] x) => (float[4, 8, 16, 16] y) {{ {turned} y = MatMul(t, u) }}"
    assert names(text) == ["copy", "copy", "MatMul"]
    assert names(text.replace("[4, 16, 8, 32]", "[1, 16, 8, 32]").replace("[4, 8", "[1, 8")) == [
        "MatMul"
    ]


def test_a_selected_position_is_a_view() -> None:
    text = (
        "net (float[4, 16, 32] x) => (float[4, 32] y) "
        "{ i = Constant<value_int = 0>() g = Gather<axis = 1>(x, i) y = Relu(g) }"
    )
    assert names(text) == ["Relu"]


def test_a_normalization_of_a_permuted_map_copies_it_once() -> None:
    """ConvNeXt: layers between permutations leave channels last for what follows."""
    norm = "LayerNormalization<axis = -1>"
    text = (
        "net (float[4, 8, 6, 6] x, float[8] s, float[8, 1, 3, 3] w) => (float[4, 6, 6, 8] y) {"
        f"a = Transpose<perm=[0, 2, 3, 1]>(x) b = {norm}(a, s) c = Transpose<perm=[0, 3, 1, 2]>(b) "
        "d = Conv<group = 8, pads = [1, 1, 1, 1]>(c, w) e = Transpose<perm=[0, 2, 3, 1]>(d) "
        f"y = {norm}(e, s) }}"
    )
    assert names(text) == ["copy", "LayerNormalization", "Conv", "LayerNormalization"]


def test_a_helper_launch_is_a_kernel_with_bytes_and_a_bound() -> None:
    report = perfc.analyze(convolution(bias=True), "h100", runtime="eager", dtype="f16")
    each = {b.kernel.label: b for b in report.roofline.kernels}
    turned = each["layout nchw→nhwc"]
    assert turned.kernel.helper is Helper.LAYOUT
    assert turned.kernel.anchor.name == "conv"
    assert turned.counts.read_bytes == turned.counts.write_bytes == 2 * 4 * 64 * 16 * 16
    assert 0 < turned.floor_s <= turned.sustained_s
    assert each["Conv"].kernel.algorithm is ConvAlgorithm.HEURISTIC
    writers = {v for k in report.kernels.kernels for v in k.writes}
    made = [v for k in report.kernels.kernels for v in k.reads if v in writers]
    assert len(made) == 6, "a chain: activation, layouts, convolution, bias, activation"


def test_equal_sizes_share_a_table() -> None:
    report = perfc.analyze(RESNET, "h100", runtime="eager", dtype="f16")
    how = report.deployment
    again = how.launched(report.module, report.machine, report.env, report.analyses)
    assert again is report.kernels
    count = Counter(k.helper for k in report.kernels.kernels)
    assert count[Helper.STATISTICS] == 2 * 53
    assert count[Helper.LAYOUT] == 2 * (1 + 16 + 3)
    assert count[Helper.WEIGHT_LAYOUT] == 17


def test_gradients_of_convolutions_change_layout() -> None:
    # a 3x3 convolution of ResNet-50's third stage in a trace of an A100
    report = perfc.analyze(RESNET, "a100", runtime="eager", train="sgd", batch=32)
    names = [
        k.label
        for k in report.kernels.kernels
        if k.anchor.loc.phase is Phase.BACKWARD and k.anchor.name.startswith("/layer3/1/conv2/")
    ]
    assert names == [
        "weight layout nchw→nhwc",
        "layout nchw→nhwc",
        "Conv",
        "layout nhwc→nchw",
        "layout nchw→nhwc",
        "layout nchw→nhwc",
        "fill",
        "Conv",
        "partial sums",
        "weight layout nhwc→nchw",
    ]


@pytest.mark.parametrize(
    ("layout", "few", "most"), [("channels-first", 151, 151), ("channels-last", 0, 2)]
)
def test_layouts_of_a_backward_pass(layout: str, few: int, most: int) -> None:
    # 151 in the same trace
    report = perfc.analyze(
        RESNET,
        "a100",
        runtime="eager",
        train="sgd",
        batch=32,
        layout=layout,
    )
    changes = {Helper.LAYOUT, Helper.WEIGHT_LAYOUT}
    backward = [k for k in report.kernels.kernels if k.anchor.loc.phase is Phase.BACKWARD]
    assert few <= sum(k.helper in changes for k in backward) <= most


def test_autocast_casts_operands_by_launches() -> None:
    model = convolution(window=1)
    assert labels(model, "amp-f16") == ["cast f32→f16", "cast f32→f16", "Conv"]


def test_inductor_puts_channels_last_where_pytorch_decides_so() -> None:
    # as decide_layout_opt of PyTorch 2.13 does for these convolutions alone
    compiled = {"runtime": "inductor"}
    assert labels(convolution(), "f16", **compiled) == ["weight layout nchw→nhwc", "Conv"]
    assert labels(convolution(window=1), "f16", **compiled) == ["Conv"]
    assert labels(convolution(), "f16", layout="channels-last", **compiled) == ["Conv"]
    first = ["layout nchw→nhwc", "weight layout nchw→nhwc", "fill", "Conv", "layout nhwc→nchw"]
    assert labels(convolution(groups=4), "f16", **compiled) == first
    step = perfc.analyze(convolution(), "h100", train="sgd", loss="mse", **compiled)
    assert [k.label for k in step.kernels.kernels][1:4] == [*first[:2], "Conv"], "all are small"
    assert labels(convolution(), "f16", target="mi300x", **compiled)[0] == first[0]


def test_inductor_puts_channels_last_on_every_processor() -> None:
    cpu = {"runtime": "inductor", "target": "xeon-gold-6240"}
    filters = ["weight layout nchw→nhwc", "Conv"]
    assert labels(convolution(), "", **cpu) == filters
    assert labels(convolution(groups=4), "", **cpu) == filters
    assert labels(convolution(window=1), "", **cpu) == ["Conv"]
    assert labels(convolution(groups=64), "", **cpu) == ["Conv"], "filters of one channel"
    assert labels(convolution(channels=3), "", **cpu) == ["layout nchw→nhwc", *filters]
    assert labels(convolution(), "", runtime="eager", target="xeon-gold-6240") == ["Conv"]


def test_engines_and_compiled_loops_copy_no_views() -> None:
    for runtime in ("inductor", "tensorrt"):
        report = perfc.analyze("examples/models/bert-base.onnx.gz", "a100", runtime=runtime)
        assert not [k for k in report.kernels.kernels if k.helper is Helper.COPY]


def test_engines_take_images_as_planes() -> None:
    for dtype, count in (("f16", 1), ("", 0)):
        report = perfc.analyze(RESNET, "a100", runtime="tensorrt", dtype=dtype)
        assert sum(k.helper is Helper.LAYOUT for k in report.kernels.kernels) == count


def test_xla_reorders_filters_on_every_call_and_pads_images() -> None:
    image, point = convolution(channels=3, filters=32), convolution(window=1)
    filters = Helper.WEIGHT_LAYOUT
    for model, dtype, expected in (
        (image, "f16", [Helper.LAYOUT, filters]),
        (image, "", [filters]),
        (point, "f16", []),
    ):
        kernels = perfc.analyze(model, "h100", runtime="xla", dtype=dtype).kernels.kernels
        assert [k.helper for k in kernels if k.helper] == expected


def test_both_gradients_of_a_convolution_are_one_operator() -> None:
    kernels = perfc.analyze(RESNET, "a100", runtime="eager", train="sgd").kernels.kernels
    inside = inner_launches(kernels)
    filters = [at for at, k in enumerate(kernels) if k.anchor.op.mnemonic == "conv_filter_grad"]
    # the first convolution has no gradient of the image
    assert len(filters) == 53
    assert sum(at in inside for at in filters) == 52
    for at, owner in inside.items():
        assert kernels[owner].anchor.name == kernels[at].anchor.name
        assert kernels[owner].helper is None


def test_channel_multipliers_in_16_bits_run_group_by_group() -> None:
    """PyTorch launches a convolution a group for small batches; work and traffic are divided."""
    model = convolution(channels=8, filters=16, groups=8, batch=4)
    report = perfc.analyze(model, "h100", runtime="eager", dtype="f16")
    (bound,) = (b for b in report.roofline.kernels if b.kernel.algorithm is ConvAlgorithm.HEURISTIC)
    assert bound.launches == 8
    assert 8 * bound.counts.mac == 4 * 16 * 16 * 16 * 9
    alone = perfc.analyze(model, "h100", runtime="eager", dtype="f16", layout="channels-last")
    assert all(b.launches == 1 for b in alone.roofline.kernels)


def test_miopen_transposes_around_convolutions() -> None:
    """Traces of an MI300X: two or three transposes, a tensor set to a scalar, the convolution."""
    assert labels(convolution(), "bf16", target="mi300x") == [
        "layout nchw→nhwc",
        "weight layout nchw→nhwc",
        "fill",
        "Conv",
        "layout nhwc→nchw",
    ]
    assert labels(convolution(window=1), "bf16", target="mi300x") == ["Conv"]


def test_a_causal_mask_that_an_exporter_spells_out_is_no_launch() -> None:
    """PyTorch passes ``is_causal`` to its kernel: nothing is written before it."""
    mask = (
        "o = Constant<value = float[1] {1.0}>() n = Constant<value_ints = [16, 16]>() "
        "e = Expand(o, n) t = Trilu<upper = 0>(e) f = Constant<value_float = 0.0>() "
        "l = Constant<value_float = -1e30>() q0 = Equal(t, f) m = Where(q0, l, f) "
    )
    text = (
        "net (float[4, 8, 16, 64] q, float[4, 8, 64, 16] k, float[4, 8, 16, 64] v, float[1] z) "
        f"=> (float[4, 8, 16, 64] y) {{ {mask} c = Constant<value_float = 0.35>() a = Mul(q, c) "
        "b = Mul(k, c) s = MatMul(a, b) r = Add(s, m) p = Softmax(r) y = MatMul(p, v) }"
    )
    report = perfc.analyze(onnx.parser.parse_model(HEAD + text), "a100", runtime="eager")
    assert [k.kind.value for k in report.kernels.kernels] == ["attention"]


def test_concatenations_and_gradients_keep_channels_last() -> None:
    for train in ("", "sgd"):
        report = perfc.analyze(
            "examples/mtd/unet.onnx.gz",
            "a100",
            runtime="eager",
            layout="channels-last",
            train=train,
            loss="mse" if train else "",
            dims={"batch": 4},
        )
        places = {k.anchor.name for k in report.kernels.kernels if k.helper is Helper.LAYOUT}
        # of half a concatenation's gradient, a view, cuDNN has a copy
        assert all(name.endswith(".up.grad") for name in places)
        assert bool(places) is bool(train)
