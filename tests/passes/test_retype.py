"""What-if precision changes types where it should and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.api import analyze
from perfc.errors import PassError
from perfc.ir import DType, Graph, Module, Node, TensorType, Value
from perfc.ir.graph import Weight, walk
from perfc.ir.graphs.verify import verify
from perfc.ir.op import Kind
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.control.container import SequenceConstruct, SequenceEmpty
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.elementwise.activation import Relu
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.movement.shape import Shape
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import SequenceType
from perfc.passes.manager import Analyses
from perfc.passes.precision.retype import Retype, precision
from perfc.passes.roofline.cost import Cost

MODELS = Path(__file__).parents[2] / "examples" / "models"


def t(dtype: DType, *shape: int) -> TensorType:
    return TensorType(dtype, shape)


def two_products() -> Module:
    """``h = x @ w; y = h @ v + h``: h is read by a product and by an addition."""
    x = Value("x", t(DType.F32, 4, 8))
    w = Value("w", t(DType.F32, 8, 8), None, Weight(256, "abc"))
    v = Value("v", t(DType.F32, 8, 8), None, Weight(256))
    h, p, y = (Value(name, t(DType.F32, 4, 8)) for name in "hpy")
    nodes = (
        Node(MatMul(), (x, w), (h,)),
        Node(MatMul(), (h, v), (p,)),
        Node(Add(), (p, h), (y,)),
    )
    return Module(Graph("g", (x,), (y,), nodes, (w, v)))


def retype(module: Module, dtype: str) -> Module:
    made = Analyses().apply(Retype(dtype), module)
    verify(made)
    return made


def blocks(*, is_quantised: bool, count: int = 2) -> bytes:
    """Residual blocks of two convolutions and a pool, in f32 or quantised at every edge."""
    lines: list[str] = []

    def stored(name: str) -> str:
        lines.append(f"{name}q = QuantizeLinear ({name}, s, z)")
        lines.append(f"{name}d = DequantizeLinear ({name}q, s, z)")
        return f"{name}d"

    def weight(name: str) -> str:
        weights.append(name)
        if not is_quantised:
            return name
        lines.append(f"{name}d = DequantizeLinear ({name}, s, z)")
        return f"{name}d"

    weights: list[str] = []
    edge = stored if is_quantised else str
    if is_quantised:
        lines += ["s = Constant <value_float = 0.1> ()", "z = Constant <value = int8 {0}> ()"]
    h = edge("x")
    for i in range(count):
        lines.append(f"a{i} = Conv <pads=[1,1,1,1]> ({h}, {weight(f'v{i}')})")
        lines.append(f"b{i} = Relu (a{i})")
        lines.append(f"c{i} = Conv <pads=[1,1,1,1]> ({edge(f'b{i}')}, {weight(f'w{i}')})")
        lines.append(f"e{i} = Add (c{i}, {h})")
        lines.append(f"r{i} = Relu (e{i})")
        h = edge(f"r{i}")
    lines.append(f"p = MaxPool <kernel_shape=[2,2], strides=[2,2]> ({h})")
    edge("p")
    dtype, y = ("int8", "pq") if is_quantised else ("float", "p")
    operands = ", ".join(f"{dtype}[64, 64, 3, 3] {w}" for w in weights)
    return f"""<ir_version: 10, opset_import: ["" : 18]>
    g (float[batch, 64, 56, 56] x, {operands}) => ({dtype}[batch, 64, 28, 28] {y})
    {{ {" ".join(lines)} }}""".encode()


def types(module: Module) -> dict[str, str]:
    graph = module.graph
    every = [*graph.inputs, *graph.weights, *(v for n in graph.nodes for v in n.results)]
    return {v.name: str(v.type).partition("[")[0] for v in every}


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
def test_a_wide_type_replaces_every_float(dtype: str) -> None:
    assert set(types(retype(two_products(), dtype)).values()) == {dtype}


def test_spellings_of_frameworks_are_understood() -> None:
    assert precision("FP16") is DType.F16
    assert precision("int8") is DType.I8
    assert precision("fp8") is DType.F8E4M3FN
    with pytest.raises(PassError, match="no precision 'i7'"):
        precision("i7")


def test_tf32_stores_f32_and_multiplies_in_tf32() -> None:
    made = retype(two_products(), "tf32")
    assert set(types(made).values()) == {"f32"}
    works = [c.work for c in Analyses().get(Cost(), made).nodes.values()]
    assert [w.dtype for w in works] == [DType.TF32, DType.TF32, None]


@pytest.mark.parametrize("dtype", ["i8", "f8e4m3", "i4"])
def test_a_narrow_type_is_stored_everywhere_and_only_products_compute_in_it(dtype: str) -> None:
    made = retype(two_products(), dtype)
    assert set(types(made).values()) == {dtype}
    first, second, add = Analyses().get(Cost(), made).nodes.values()
    assert first.work.dtype is second.work.dtype is precision(dtype)
    assert (add.work.dtype, add.work.alu, add.work.integer) == (DType.F16, 4 * 8, 0)
    assert 8 * first.traffic.read_bytes == (4 * 8 + 8 * 8) * precision(dtype).bits


def test_biases_and_known_constants_are_wide_beside_a_narrow_type() -> None:
    x = Value("x", t(DType.F32, 4, 8))
    bias = Value("bias", t(DType.F32, 8), None, Weight(32))
    half = Value("half", t(DType.F32), Known.scalar(0.5), Weight(4))
    h, y = Value("h", t(DType.F32, 4, 8)), Value("y", t(DType.F32, 4, 8))
    nodes = (Node(Add(), (x, bias), (h,)), Node(Mul(), (h, half), (y,)))
    made = retype(Module(Graph("g", (x,), (y,), nodes, (bias, half))), "i8")
    assert types(made) == {"x": "i8", "bias": "f16", "half": "f16", "h": "i8", "y": "i8"}


def test_sequences_of_tensors_are_narrow_too() -> None:
    x, y = Value("x", t(DType.F32, 4, 8)), Value("y", t(DType.F32, 4, 8))
    held = Value("held", SequenceType(x.type, 1, (x.type,)))
    nodes = (Node(SequenceConstruct(), (x,), (held,)), Node(Relu(), (x,), (y,)))
    made = retype(Module(Graph("g", (x,), (held, y), nodes)), "i8")
    assert str(made.graph.outputs[0].type).startswith("seq<i8")


def test_a_result_whose_type_the_operator_fixes_follows_the_others() -> None:
    held = Value("held", SequenceType(t(DType.F32), 0))
    made = retype(Module(Graph("g", (), (held,), (Node(SequenceEmpty(), (), (held,)),))), "f16")
    assert str(made.graph.outputs[0].type).startswith("seq<f16")


@pytest.mark.parametrize("dtype", ["i8", "f8e4m3"])
def test_a_floor_counts_no_wide_activation_between_kernels(dtype: str) -> None:
    report = analyze(
        MODELS / "resnet50.onnx.gz", "l4", dims={"batch": 128}, dtype=dtype, runtime="tensorrt"
    )
    wide = [
        v
        for k in report.kernels.kernels
        for v in (*k.reads, *k.writes)
        if isinstance(v.type, TensorType) and v.type.dtype.bits > 8 and len(v.type.shape or ()) > 1
    ]
    assert not wide


@pytest.mark.parametrize("target", ["t4", "a100", "l4"])
@pytest.mark.parametrize("batch", [1, 64, 256])
def test_no_quantised_model_has_a_floor_below_that_of_the_what_if(target: str, batch: int) -> None:
    """Residual blocks with a quantisation and a dequantisation at every edge."""
    what_if = analyze(
        blocks(is_quantised=False), target, dims={"batch": batch}, dtype="i8", runtime="tensorrt"
    )
    real = analyze(blocks(is_quantised=True), target, dims={"batch": batch}, runtime="tensorrt")
    assert what_if.roofline.floor_s <= real.roofline.floor_s


def test_kernels_of_a_quantised_model_hand_on_quantised_values() -> None:
    report = analyze(blocks(is_quantised=True), "t4", runtime="tensorrt")
    between = [v for k in report.kernels.kernels for v in k.writes]
    assert {v.type.dtype for v in between if isinstance(v.type, TensorType)} == {DType.I8}


@pytest.mark.parametrize("dtype", ["i8", "fp8", "i4"])
def test_a_recurrent_layer_multiplies_narrow(dtype: str) -> None:
    model = b"""<ir_version: 10, opset_import: ["" : 18]>
    g (float[s, b, 64] x, float[1, 256, 64] w, float[1, 256, 64] r) => (float[s, 1, b, 64] y) {
      y = LSTM <hidden_size=64> (x, w, r)
    }"""
    report = analyze(model, "a100", dims={"s": 8, "b": 4}, dtype=dtype)
    (node,) = report.cost.nodes
    assert report.cost.nodes[node].work.dtype is precision(dtype)


def test_stored_bytes_follow_and_the_old_digest_goes() -> None:
    w = retype(two_products(), "i8").graph.weights[0]
    assert w.weight == Weight(64, "")


def test_work_and_the_input_module_stay_as_they_were() -> None:
    module = two_products()
    before = types(module)
    made = retype(module, "i8")
    assert types(module) == before
    am = Analyses()
    assert am.get(Cost(), made).work.mac == am.get(Cost(), module).work.mac == 2 * 4 * 8 * 8


def test_casts_between_types_that_became_equal_vanish_and_others_stay() -> None:
    x = Value("x", t(DType.F32, 4))
    half, whole = Value("half", t(DType.F16, 4)), Value("whole", t(DType.I64, 4))
    nodes = (Node(Cast(DType.F16), (x,), (half,)), Node(Cast(DType.I64), (half,), (whole,)))
    made = retype(Module(Graph("g", (x,), (whole,), nodes)), "f16").graph
    assert [n.op for n in made.nodes] == [Cast(DType.I64)]
    assert made.nodes[0].inputs[0] is made.inputs[0]


def test_integers_booleans_and_known_contents_stay() -> None:
    x = Value("x", t(DType.F32, 4, 8))
    s = Value("s", t(DType.I64, 2), Known.vector((4, 8)))
    made = retype(Module(Graph("g", (x,), (s,), (Node(Shape(), (x,), (s,)),))), "bf16")
    result = made.graph.outputs[0]
    assert result is s
    assert result.known == Known.vector((4, 8))


def test_a_convolution_keeps_its_fields_and_its_class() -> None:
    x = Value("x", t(DType.F32, 1, 3, 8, 8))
    w = Value("w", t(DType.F32, 4, 3, 3, 3), None, Weight())
    y = Value("y", t(DType.F32, 1, 4, 8, 8))
    op = Conv(pads=(1, 1, 1, 1))
    made = retype(Module(Graph("g", (x,), (y,), (Node(op, (x, w), (y,)),), (w,))), "i8")
    result = made.graph.nodes[0].op
    assert isinstance(result, Conv)
    assert result.pads == (1, 1, 1, 1)
    assert str(result) == str(op)


@pytest.mark.parametrize("name", ["resnet50", "bert-base", "swin-t"])
def test_a_real_model_in_fp8_verifies_and_has_no_wide_product(name: str) -> None:
    report = analyze(MODELS / f"{name}.onnx.gz", "h100", dims={"batch": 8}, dtype="fp8")
    verify(report.module)
    matrix = [n for n in walk(report.module.graph) if n.op.kind in (Kind.MATMUL, Kind.CONV)]
    assert matrix
    assert {report.cost.nodes[n].work.dtype for n in matrix} == {DType.F8E4M3FN}


def test_half_precision_halves_the_weights() -> None:
    whole, half = (analyze(MODELS / "gpt2.onnx.gz", dtype=d) for d in ("", "f16"))
    before, after = (evaluate(r.cost.weight_bytes, r.env) for r in (whole, half))
    assert 0.5 <= after / before < 0.5001


def test_the_last_of_two_precisions_holds() -> None:
    made = retype(retype(two_products(), "i8"), "f16")
    assert [c.work.dtype for c in Analyses().get(Cost(), made).nodes.values()] == [None] * 3
    assert types(made)["w"] == "i8", "narrow weights are not widened again"
