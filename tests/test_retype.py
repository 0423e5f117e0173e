"""What-if precision changes types where it should and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.api import analyze
from perfc.errors import PassError
from perfc.ir import DType, Graph, Module, Node, TensorType, Value
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Weight, walk
from perfc.ir.known import Known
from perfc.ir.op import Kind
from perfc.ir.ops.cast import Cast
from perfc.ir.ops.conv import Conv
from perfc.ir.ops.elementwise import Add
from perfc.ir.ops.matmul import MatMul
from perfc.ir.ops.shape import Shape
from perfc.ir.verify import verify
from perfc.passes.cost import Cost
from perfc.passes.manager import Analyses
from perfc.passes.retype import Retype, precision

MODELS = Path(__file__).parent.parent / "examples" / "models"


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


def test_a_narrow_type_is_for_operands_of_matrix_products_only() -> None:
    made = retype(two_products(), "i8")
    assert types(made) == {"x": "f16", "w": "i8", "v": "i8", "h": "f16", "p": "f16", "y": "f16"}
    first, second, add = Analyses().get(Cost(), made).nodes.values()
    assert first.work.dtype is second.work.dtype is DType.I8
    assert add.work.dtype is None
    assert first.traffic.read_bytes == 4 * 8 * 2 + 8 * 8


def test_an_activation_that_only_products_read_is_narrow() -> None:
    module = two_products()
    graph = module.graph
    chain = Graph("g", graph.inputs, graph.nodes[1].results, graph.nodes[:2], graph.weights)
    assert types(retype(Module(chain), "fp8"))["h"] == "f8e4m3"


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
    found = made.graph.nodes[0].op
    assert isinstance(found, Conv)
    assert found.pads == (1, 1, 1, 1)
    assert str(found) == str(op)


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
