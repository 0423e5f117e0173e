"""Parameters are counted where the file holds them; settings, statistics and scales are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.passes.roofline.parameters import Role
from perfc.review.diff.difference import compare, parameters
from perfc.review.diff.figures import Metric, figures
from perfc.view.report.sections.summary import besides

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
FOLDED = "pkg.onnxscript.optimizer.folded_from"
X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])
IDS = helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])


def tensor(name: str, *extents: int, dtype: str = "float32") -> onnx.TensorProto:
    content = np.arange(1, int(np.prod(extents)) + 1).reshape(extents) % 8
    return numpy_helper.from_array(content.astype(dtype), name)


def ints(name: str, *items: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(items, np.int64), name)


def four_bits(name: str, *extents: int) -> onnx.TensorProto:
    return helper.make_tensor(
        name, TensorProto.INT4, extents, bytes(int(np.prod(extents)) // 2), raw=True
    )


def made(
    nodes: Sequence[onnx.NodeProto],
    stored: Sequence[onnx.TensorProto],
    source: onnx.ValueInfoProto = X,
    marks: Mapping[str, dict[str, str]] = MappingProxyType({}),
) -> onnx.ModelProto:
    """A model of one input ``x`` and one result ``y``."""
    infos = []
    for name, props in marks.items():
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        helper.set_metadata_props(info, props)
        infos.append(info)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [source], [result], stored, value_info=infos)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    opsets.append(helper.make_opsetid("ai.onnx.ml", 3))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def contrib(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return node(kind, inputs, output, domain="com.microsoft", **attributes)


PRODUCT = node("MatMul", "x d", "y")
W, FLAT = tensor("w", 8, 6), tensor("w", 6, 8)
FOLDED_WEIGHTS = {
    "transpose": ([node("Transpose", "w", "d")], [FLAT], 48),
    "identity": ([node("Identity", "w", "d")], [W], 48),
    "reshape": ([node("Reshape", "w s", "d")], [FLAT, ints("s", 8, 6)], 48),
    "cast": ([node("Cast", "w", "d", to=1)], [tensor("w", 8, 6, dtype="float16")], 48),
    "cast of bytes": ([node("Cast", "w", "d", to=1)], [tensor("w", 8, 6, dtype="int8")], 48),
    "scale": ([node("Mul", "w s", "d")], [W, tensor("s", 1, 6)], 54),
    "concatenation": (
        [node("Concat", "w v", "d", axis=1)],
        [tensor("w", 8, 4), tensor("v", 8, 2)],
        48,
    ),
    "weight norm": (
        [node("ReduceL2", "w", "l"), node("Div", "w l", "q"), node("Mul", "q s", "d")],
        [W, tensor("s", 1, 6)],
        54,
    ),
    "slice": (
        [node("Slice", "w b e a", "d")],
        [tensor("w", 8, 9), ints("b", 0), ints("e", 6), ints("a", 1)],
        72,
    ),
    "split": (
        [helper.make_node("Split", ["w", "p"], ["d", "u"], axis=1)],
        [tensor("w", 8, 9), ints("p", 6, 3)],
        72,
    ),
    "gather": ([node("Gather", "w i", "d", axis=1)], [tensor("w", 8, 9), ints("i", 0, 3)], 72),
    "squeeze": ([node("Squeeze", "w a", "d")], [tensor("w", 1, 8, 6), ints("a", 0)], 48),
    "expand": ([node("Expand", "w s", "d")], [tensor("w", 8, 1), ints("s", 8, 6)], 8),
    "pad": (
        [node("Pad", "w p z", "d")],
        [tensor("w", 8, 5), ints("p", 0, 0, 0, 1), numpy_helper.from_array(np.float32(0), "z")],
        40,
    ),
    "chain": (
        [node("Cast", "w", "c", to=1), node("Transpose", "c", "t"), node("Add", "t o", "d")],
        [tensor("w", 6, 8, dtype="float16"), tensor("o", 8, 1)],
        56,
    ),
    "read twice": (
        [node("Transpose", "w", "t"), node("Add", "t u", "d"), node("Transpose", "w", "u")],
        [FLAT],
        48,
    ),
}


@pytest.mark.parametrize("name", FOLDED_WEIGHTS)
def test_a_folded_operator_hides_no_parameter(name: str) -> None:
    nodes, stored, count = FOLDED_WEIGHTS[name]
    model = made([*nodes, PRODUCT], stored)
    report = perfc.analyze(model)
    assert report.to_dict()["summary"]["parameters"]["value"] == count
    if name != "cast of bytes":
        trained = perfc.analyze(model, train="adamw")
        assert trained.to_dict()["summary"]["parameters"]["value"] == count


def test_a_difference_has_the_parameters_of_both_files() -> None:
    def exported(*weights: onnx.TensorProto) -> perfc.Report:
        return perfc.analyze(made([node("Transpose", "w", "d"), PRODUCT], weights))

    old, new = exported(FLAT), exported(tensor("w", 12, 8))
    assert [figures(r)[Metric.PARAMETERS].value for r in (old, new)] == [48, 96]
    assert sorted(parameters(old, new).values()) == [48, 96]
    assert sum(pair.delta.parameters for pair in compare(old, new).kernels) == 48


PACKED = {
    "bits 4": (
        contrib("MatMulNBits", "x w s", "y", N=6, K=8, bits=4, block_size=16),
        [tensor("w", 6, 1, 8, dtype="uint8"), tensor("s", 6)],
        48,
        6,
    ),
    "bits 2": (
        contrib("MatMulNBits", "x w s", "y", N=6, K=8, bits=2, block_size=16),
        [tensor("w", 6, 1, 4, dtype="uint8"), tensor("s", 6)],
        48,
        6,
    ),
    "bits 8": (
        contrib("MatMulNBits", "x w s", "y", N=6, K=8, bits=8, block_size=16),
        [tensor("w", 6, 1, 16, dtype="uint8"), tensor("s", 6)],
        48,
        6,
    ),
    "bnb4": (
        contrib("MatMulBnb4", "x w s", "y", N=6, K=8, block_size=16, quant_type=1),
        [tensor("w", 24, dtype="uint8"), tensor("s", 3)],
        48,
        3,
    ),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_weights_count_by_elements_and_scales_are_named(name: str) -> None:
    product, stored, count, scales = PACKED[name]
    table = perfc.analyze(made([product], stored)).parameter_table
    assert table.count(Role.PARAMETER) == count
    assert table.count(Role.QUANTIZATION) == scales


@pytest.mark.parametrize("is_shaped", [False, True])
def test_a_packed_table_counts_by_elements_behind_a_reshape(is_shaped: bool) -> None:
    look_up = contrib(
        "GatherBlockQuantized", "t x s", "y", bits=4, block_size=16, gather_axis=0, quantize_axis=1
    )
    stored = [tensor("s", 5, 2)]
    nodes = [look_up]
    if is_shaped:
        nodes.insert(0, node("Reshape", "w e", "t"))
        stored += [tensor("w", 5, 2, 8, dtype="uint8"), ints("e", 5, 16)]
    else:
        stored.append(tensor("t", 5, 16, dtype="uint8"))
    table = perfc.analyze(made(nodes, stored, IDS)).parameter_table
    assert (table.count(Role.PARAMETER), table.count(Role.QUANTIZATION)) == (160, 10)


def test_experts_in_four_bits_count_by_elements() -> None:
    layer = contrib(
        "QMoE", "x r w1 s1  w2 s2", "y", k=1, expert_weight_bits=4, activation_type="relu"
    )
    layer.input[:] = ["x", "r", "w1", "s1", "", "w2", "s2"]
    routed = node("MatMul", "x g", "r")
    stored = [
        tensor("g", 8, 3),
        tensor("s1", 3, 10),
        tensor("s2", 3, 8),
        tensor("w1", 3, 10, 4, dtype="uint8"),
        tensor("w2", 3, 8, 5, dtype="uint8"),
    ]
    table = perfc.analyze(made([routed, layer], stored)).parameter_table
    assert table.count(Role.PARAMETER) == 8 * 3 + 2 * 3 * 8 * 10
    assert table.count(Role.QUANTIZATION) == 3 * 18


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int4"])
def test_dequantised_weights_count_and_their_scales_are_named(dtype: str) -> None:
    w = four_bits("w", 8, 6) if dtype == "int4" else tensor("w", 8, 6, dtype=dtype)
    nodes = [node("DequantizeLinear", "w s", "d", axis=1), PRODUCT]
    table = perfc.analyze(made(nodes, [w, tensor("s", 6)])).parameter_table
    assert (table.count(Role.PARAMETER), table.count(Role.QUANTIZATION)) == (48, 6)


def test_a_quantised_table_counts_where_rows_are_dequantised_behind_the_look_up() -> None:
    nodes = [node("Gather", "w x", "r"), node("DequantizeLinear", "r s z", "y")]
    stored = [tensor("w", 9, 4, dtype="uint8"), tensor("s"), tensor("z", dtype="uint8")]
    table = perfc.analyze(made(nodes, stored, IDS)).parameter_table
    assert (table.count(Role.PARAMETER), table.count(Role.QUANTIZATION)) == (36, 2)


def test_running_statistics_are_not_parameters() -> None:
    stored = [tensor(name, 8) for name in ("g", "b", "m", "v")]
    report = perfc.analyze(made([node("BatchNormalization", "x g b m v", "y")], stored))
    summary = report.to_dict()["summary"]
    assert summary["parameters"]["value"] == 16
    assert summary["running_statistics"]["value"] == 16
    assert besides(report.views.summary) == "128 B of stored tensors; plus 16 running statistics"


def test_a_loop_has_the_parameters_of_its_body_and_no_trip_count() -> None:
    def value(name: str, kind: int, *extents: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, extents)

    body = helper.make_graph(
        [node("MatMul", "h w", "h2"), node("Identity", "c", "c2")],
        "body",
        [
            value("i", TensorProto.INT64),
            value("c", TensorProto.BOOL),
            value("h", TensorProto.FLOAT, 4, 8),
        ],
        [value("c2", TensorProto.BOOL), value("h2", TensorProto.FLOAT, 4, 8)],
    )
    loop = helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body)
    stored = [
        numpy_helper.from_array(np.array(5), "n"),
        numpy_helper.from_array(np.array(True), "t"),
        tensor("w", 8, 8),
    ]
    model = made([loop], stored, value("x", TensorProto.FLOAT, 4, 8))
    assert perfc.analyze(model).parameter_table.count(Role.PARAMETER) == 64


SETTINGS = {
    "sizes": (
        [node("Unsqueeze", "x a", "u"), helper.make_node("Resize", ["u", "", "", "s"], ["y"])],
        [ints("a", 0, 1), ints("s", 1, 1, 4, 8)],
    ),
    "scales": (
        [node("Unsqueeze", "x a", "u"), helper.make_node("Resize", ["u", "", "s"], ["y"])],
        [ints("a", 0, 1), tensor("s", 4)],
    ),
    "range": ([node("Clip", "x l h", "y")], [tensor("l"), tensor("h")]),
    "shape": ([node("Reshape", "x s", "y")], [ints("s", -1, 4, 2)]),
    "condition": (
        [node("Where", "c x x", "y")],
        [numpy_helper.from_array(np.ones((1, 8), bool), "c")],
    ),
    "exporter's constant": (
        [node("Mul", "x val_3", "m"), node("Add", "m /act/Constant_output_0", "y")],
        [tensor("val_3"), tensor("/act/Constant_output_0", 8)],
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_says_how_to_compute_is_not_a_parameter(name: str) -> None:
    nodes, stored = SETTINGS[name]
    assert perfc.analyze(made(nodes, stored)).parameter_table.count(Role.PARAMETER) == 0


def test_marks_of_the_exporter_say_what_is_learned() -> None:
    marks = {
        "gain": {KIND: "PARAMETER"},
        "table": {KIND: "BUFFER"},
        "val_1": {FOLDED: "['fc.weight']"},
    }
    nodes = [
        node("Mul", "x gain", "a"),
        node("Mul", "a table", "b"),
        node("Add", "b ones", "c"),
        node("MatMul", "c val_1", "y"),
    ]
    stored = [tensor("gain"), tensor("table", 8), tensor("ones", 8), tensor("val_1", 8, 6)]
    model = made(nodes, stored, marks=marks)
    assert perfc.analyze(model).parameter_table.count(Role.PARAMETER) == 49


@pytest.mark.parametrize(("source", "count"), [("cls_token", 8), ("arange", 0)])
def test_a_parameter_of_the_outermost_module_that_an_exporter_folded_counts(
    source: str, count: int
) -> None:
    marks = {"expand": {FOLDED: f"['{source}', 'val_6']"}, "gain": {KIND: "PARAMETER"}}
    nodes = [node("Mul", "x gain", "a"), node("Add", "a expand", "y")]
    model = made(nodes, [tensor("gain"), tensor("expand", 1, 1, 8)], marks=marks)
    assert perfc.analyze(model).parameter_table.count(Role.PARAMETER) == 1 + count


@pytest.mark.parametrize(("runtime", "copies"), [("eager", 1), ("inductor", 1), ("ort", 2)])
def test_a_tied_head_counts_once_and_lies_where_the_runtime_has_it(
    runtime: str, copies: int
) -> None:
    nodes = [node("Gather", "w x", "h"), node("Transpose", "w", "t"), node("MatMul", "h t", "y")]
    model = made(nodes, [tensor("w", 9, 8)], IDS)
    summary = perfc.analyze(model, runtime=runtime).to_dict()["summary"]
    assert summary["parameters"]["value"] == 72
    assert summary["weight_bytes"]["value"] == copies * 4 * 72


@pytest.mark.parametrize("is_external", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("form", "counted"),
    [("transposed", 1), ("same", 1), ("other", 2), ("nearly", 2), ("untrained", 2)],
)
def test_a_head_that_a_converter_copied_is_tied_by_its_contents(
    tmp_path: Path, form: str, counted: int, dtype: str, is_external: bool
) -> None:
    table = np.random.default_rng(0).standard_normal((100, 32)).astype(dtype)
    head = table if form == "same" else table.T.copy()
    match form:
        case "other":
            head = head[:, ::-1].copy()
        case "nearly":
            head += 1
        case "untrained":
            table, head = np.zeros_like(table), np.zeros_like(head)
    nodes = [node("Gather", "w x", "h"), node("Gemm", "h v", "y", transB=int(form == "same"))]
    stored = [numpy_helper.from_array(table, "w"), numpy_helper.from_array(head, "v")]
    model, path = made(nodes, stored, IDS), tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=is_external, size_threshold=0)
    for runtime, copies in (("eager", counted), ("ort", 2)):
        report = perfc.analyze(path, runtime=runtime)
        assert report.parameter_table.count(Role.PARAMETER) == 3200 * counted
        assert report.weight_bytes == 3200 * copies * table.itemsize


@pytest.mark.parametrize("suffix", ["", "_quantized"])
def test_a_tensor_that_an_exporter_folded_twice_counts_once(suffix: str) -> None:
    marks = {name: {FOLDED: "['fc.weight']"} for name in ("val_1", "val_2")}
    nodes = [node("MatMul", "x a", "h"), node("MatMul", "h b", "y")]
    stored = [
        tensor(f"val_{i}{suffix}", 8, 8, dtype="int8" if suffix else "float32") for i in (1, 2)
    ]
    for i, result in enumerate(("a", "b"), 1):
        nodes.insert(0, node("Cast", f"val_{i}{suffix}", result, to=1))
    assert (
        perfc.analyze(made(nodes, stored, marks=marks)).parameter_table.count(Role.PARAMETER) == 64
    )


def test_scales_of_a_dynamically_quantized_product_are_no_parameters() -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
        node("MatMulInteger", "q w qz wz", "i"),
        node("Cast", "i", "f", to=1),
        node("Mul", "qs ws", "s"),
        node("Mul", "f s", "scaled"),
        node("Mul", "scaled gain", "y"),
    ]
    stored = [tensor("w", 8, 5, dtype="uint8"), tensor("gain", 5), tensor("ws", 5)]
    model = made(nodes, [*stored, tensor("wz", 1, dtype="uint8")])
    table = perfc.analyze(model).parameter_table
    assert (table.count(Role.PARAMETER), table.count(Role.QUANTIZATION)) == (40 + 5, 5 + 1)


def test_scales_of_each_part_of_a_quantized_concatenation_are_no_parameters() -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "a"),
        node("QLinearConcat", "s z a s2 z b s3 z", "c", axis=0, domain="com.microsoft"),
        node("DequantizeLinear", "c s z", "y"),
    ]
    scales = [helper.make_tensor(n, TensorProto.FLOAT, (), [0.5]) for n in ("s", "s2", "s3")]
    zero = helper.make_tensor("z", TensorProto.UINT8, (), [3])
    table = perfc.analyze(
        made(nodes, [*scales, zero, tensor("b", 2, 8, dtype="uint8")])
    ).parameter_table
    assert (table.count(Role.PARAMETER), table.count(Role.QUANTIZATION)) == (16, 4)


def learned(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return node(kind, inputs, output, domain="ai.onnx.ml", **attributes)


def test_numbers_in_attributes_of_classical_models_are_parameters() -> None:
    nodes = [
        learned("Scaler", "x", "s", offset=[0.5] * 8, scale=[2.0] * 8),
        learned("LinearRegressor", "s", "y", coefficients=[0.5] * 8, intercepts=[0.25]),
    ]
    summary = perfc.analyze(made(nodes, [])).to_dict()["summary"]
    assert summary["parameters"]["value"] == 16 + 9
    assert summary["weight_bytes"]["value"] == 4 * 25
    assert summary["quantization_parameters"]["value"] == 0
    table = learned("LabelEncoder", "x", "y", keys_int64s=[*range(99)], values_int64s=[0] * 99)
    summary = perfc.analyze(made([table], [], IDS), dims={"n": 2}).to_dict()["summary"]
    assert (summary["parameters"]["value"], summary["weight_bytes"]["value"]) == (198, 1584)
    assert not summary["weight_bytes"]["is_bound"]
    # two elements, and an entry of the table for each
    assert summary["read_bytes"]["value"] == 2 * 8 + 2 * 16
    words = learned("LabelEncoder", "x", "y", keys_int64s=[1, 2], values_strings=["a", "b"])
    stored = perfc.analyze(made([words], [], IDS)).to_dict()["summary"]["weight_bytes"]
    assert (stored["value"], stored["is_bound"]) == (16, True), "texts have no known width"


def chains(depth: int) -> onnx.ModelProto:
    """Trees of which each branch has a leaf, and the next branch down to ``depth``."""
    nodes = range(2 * depth + 1)
    branches = [i % 2 == 0 and i < 2 * depth for i in nodes]
    leaves = [i for i in nodes if not branches[i]]
    forest = learned(
        "TreeEnsembleRegressor",
        "x",
        "y",
        nodes_treeids=[0] * len(nodes),
        nodes_nodeids=[*nodes],
        nodes_featureids=[0] * len(nodes),
        nodes_modes=["BRANCH_LEQ" if b else "LEAF" for b in branches],
        nodes_values=[0.5] * len(nodes),
        nodes_truenodeids=[i + 1 if branches[i] else 0 for i in nodes],
        nodes_falsenodeids=[i + 2 if branches[i] else 0 for i in nodes],
        nodes_hitrates=[1.0] * len(nodes),
        target_treeids=[0] * len(leaves),
        target_nodeids=leaves,
        target_ids=[0] * len(leaves),
        target_weights=[0.1] * len(leaves),
    )
    return made([forest], [])


def test_deep_trees_cost_more_than_flat_ones_and_their_floor_does_not() -> None:
    flat, deep = (
        perfc.analyze(chains(depth), "epyc-9654", dims={"n": 100_000}).to_dict()
        for depth in (1, 31)
    )
    # the mean over 32 leaves at depths 1 to 31 and 31 is 16.5 down, and a leaf adds one value
    for report, flop, tier in ((flat, 2, "exact"), (deep, 17, "expected")):
        assert report["summary"]["flop"]["value"] == flop * 100_000
        assert report["kernels"][0]["tier"] == tier
    assert [r["summary"]["parameters"]["value"] for r in (flat, deep)] == [3, 63]
    floors_s = [r["kernels"][0]["ceilings"]["vector"]["floor_s"] for r in (flat, deep)]
    assert floors_s[0] == pytest.approx(floors_s[1])
    times_s = [r["kernels"][0]["predicted"]["time_s"] for r in (flat, deep)]
    assert times_s[1] > times_s[0]
