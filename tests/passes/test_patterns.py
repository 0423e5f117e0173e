"""Patterns are found as both exporters write them, and not where a value leaves them."""

from __future__ import annotations

import pytest

from perfc.api import typed
from perfc.ir.graph import Module
from perfc.ir.op import Kind
from perfc.ir.problem import Product
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.manager import Analyses
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.canonicalize import Canonicalize

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
X = "float[2, 16, 64] x"
CONSTANTS = """
  <float r2 = {1.4142135}, float one = {1.0}, float half = {0.5}, float c = {0.044715},
   float s = {0.7978845}, float three = {3.0}, float two = {2.0}, float eps = {0.00001},
   int64[1] last = {-1}, float q = {0.35355}, float qscale = {0.02},
   int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}>
"""
BODY_GELU_INSIDE = """
  a = Div(x, r2)  e = Erf(a)  p = Add(e, one)  h = Mul(half, p)  y = Mul(x, h)
"""
BODY_GELU_OUTSIDE = """
  a = Div(x, r2)  e = Erf(a)  p = Add(e, one)  h = Mul(x, p)  y = Mul(h, half)
"""
BODY_GELU_TANH = """
  a = Pow(x, three)  b = Mul(a, c)  d = Add(x, b)  e = Mul(d, s)  t = Tanh(e)
  p = Add(t, one)  h = Mul(x, half)  y = Mul(h, p)
"""
BODY_SILU = "a = Sigmoid(x)  y = Mul(x, a)"
BODY_LAYER_NORM = """
  m = ReduceMean(x, last)  d = Sub(x, m)  q2 = Pow(d, two)  v = ReduceMean(q2, last)
  e = Add(v, eps)  r = Sqrt(e)  n = Div(d, r)  g = Mul(n, w)  y = Add(g, w)
"""
BODY_RMS_NORM = """
  q2 = Pow(x, two)  v = ReduceMean(q2, last)  e = Add(v, eps)  r = Sqrt(e)
  i = Reciprocal(r)  n = Mul(x, i)  y = Mul(w, n)
"""


STORED = {
    "w": (DType.F32, (64,)),
    "W": (DType.F32, (64, 64)),
    "U": (DType.F32, (64, 32)),
    "K": (DType.F32, (8, 16, 3, 3)),
    "k8": (DType.F32, (8,)),
    "qw": (DType.I8, (64, 64)),
}


def module(body: str, inputs: str = X, outputs: str = "float[a, b, c] y") -> Module:
    """A model of one graph, canonical, with the stored tensors it speaks of."""
    import onnx.parser

    text = f"{HEAD}g ({inputs}) => ({outputs}) {CONSTANTS} {{ {body} }}"
    model = onnx.parser.parse_model(text)
    for name, (dtype, shape) in STORED.items():
        tensor = onnx.TensorProto(name=name, data_type=dtype.onnx, dims=shape)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="absent")
        model.graph.initializer.append(tensor)
    return Analyses().apply(Canonicalize(), typed(model))


def kernels(m: Module, runtime: str) -> KernelTable:
    return Analyses().get(Fuse(runtime), m)


def labels(m: Module, runtime: str) -> list[list[str]]:
    return [[n.loc.op_type for n in k.nodes] for k in kernels(m, runtime).kernels]


@pytest.mark.parametrize(
    "body",
    [BODY_GELU_INSIDE, BODY_GELU_OUTSIDE, BODY_GELU_TANH, BODY_SILU],
    ids=["erf-inside", "erf-outside", "tanh", "silu"],
)
@pytest.mark.parametrize("runtime", ["eager", "inductor", "tensorrt"])
def test_a_written_out_activation_is_one_kernel(body: str, runtime: str) -> None:
    assert len(kernels(module(body), runtime).kernels) == 1


def test_ort_knows_gelu_only_with_the_half_outside() -> None:
    assert len(labels(module(BODY_GELU_OUTSIDE), "ort")) == 1
    assert len(labels(module(BODY_GELU_INSIDE), "ort")) == 5


def test_a_scale_after_an_activation_stays_outside() -> None:
    found = labels(module(BODY_SILU.replace("y =", "z =") + "  y = Mul(z, three)"), "eager")
    assert found == [["Sigmoid", "Mul"], ["Mul"]]


def test_an_activation_whose_inside_others_read_is_no_pattern() -> None:
    m = module(BODY_SILU + "  u = Relu(a)", outputs="float[a, b, c] y, float[a, b, c] u")
    assert len(labels(m, "eager")) == 3


@pytest.mark.parametrize("runtime", ["eager", "ort", "ort-cpu", "tensorrt"])
@pytest.mark.parametrize("body", [BODY_LAYER_NORM, BODY_RMS_NORM], ids=["layer", "rms"])
def test_a_written_out_normalisation_is_one_kernel(body: str, runtime: str) -> None:
    table = kernels(module(body), runtime)
    assert [k.pattern for k in table.kernels] == [
        "layer_norm" if body is BODY_LAYER_NORM else "rms_norm"
    ]


def test_a_fused_normalisation_reads_and_writes_its_rows_once() -> None:
    (k,) = kernels(module(BODY_LAYER_NORM), "ort").kernels
    rows = 2 * 16 * 64 * 4
    assert evaluate(k.traffic.write_bytes, {}) == rows
    assert evaluate(k.traffic.read_bytes, {}) == rows + 64 * 4 + 4 + 4 + 8


def test_a_residual_joins_its_normalisation_only_where_nobody_else_reads_it() -> None:
    norm = "z = Add(x, u)  y = LayerNormalization(z, w, w)"
    inputs = f"{X}, float[2, 16, 64] u"
    assert labels(module(norm, inputs), "ort") == [["Add", "LayerNormalization"]]
    shared = module(norm + "  t = Relu(z)", inputs, "float[a, b, c] y, float[a, b, c] t")
    assert len(labels(shared, "ort")) == 3


ATTENTION_INPUTS = "float[2, 4, 16, 8] Q, float[2, 4, 16, 8] Key, float[2, 4, 16, 8] V"
SDPA = """
  kt = Transpose<perm = [0, 1, 3, 2]>(Key)  qs = Mul(Q, q)  ks = Mul(kt, q)
  scores = MatMul(qs, ks)  p = Softmax<axis = -1>(scores)  y = MatMul(p, V)
"""
MANUAL = """
  kt = Transpose<perm = [0, 1, 3, 2]>(Key)  scores = MatMul(Q, kt)  scaled = Mul(scores, q)
  masked = Add(scaled, M)  p = Softmax<axis = -1>(masked)  y = MatMul(p, V)
"""


def attention(body: str, runtime: str) -> tuple[Kernel, ...]:
    inputs = ATTENTION_INPUTS + (", float[2, 1, 16, 16] M" if "M)" in body else "")
    return kernels(module(body, inputs, "float[a, b, c, d] y"), runtime).kernels


@pytest.mark.parametrize("runtime", ["eager", "inductor", "tensorrt"])
def test_expanded_attention_is_one_kernel_without_the_scores(runtime: str) -> None:
    (k,) = attention(SDPA, runtime)
    assert k.kind is Kind.ATTENTION
    assert evaluate(k.traffic.write_bytes, {}) == 2 * 4 * 16 * 8 * 4
    assert evaluate(k.work.mac, {}) == 2 * (2 * 4 * 16 * 16 * 8)


def test_attention_by_hand_is_one_kernel_only_for_compilers() -> None:
    assert len(attention(MANUAL, "tensorrt")) == 1
    assert len(attention(MANUAL, "inductor")) == 1
    assert [k.label for k in attention(MANUAL, "eager")] == [
        "Transpose + MatMul",
        "Mul",
        "Add",
        "Softmax",
        "MatMul",
    ]


def test_ort_fuses_no_attention_of_torch_exports() -> None:
    assert len(attention(SDPA, "ort")) == 4


def test_attention_is_one_kernel_only_in_types_and_lengths_that_have_one() -> None:
    wide = module(MANUAL, ATTENTION_INPUTS + ", float[2, 1, 16, 16] M", "float[a, b, c, d] y")
    narrow = Analyses().apply(what_if("f16"), wide)
    assert [k.label for k in kernels(wide, "fastertransformer").kernels] == [
        "Transpose + MatMul",
        "Mul + Add + Softmax",
        "MatMul",
    ]
    assert len(kernels(narrow, "fastertransformer").kernels) == 1
    inputs = ATTENTION_INPUTS.replace("16", "385") + ", float[2, 1, 385, 385] M"
    long = Analyses().apply(what_if("f16"), module(MANUAL, inputs, "float[a, b, c, d] y"))
    assert len(kernels(long, "fastertransformer").kernels) == 3
    assert len(kernels(long, "tensorrt").kernels) == 1


SIBLINGS = "a = MatMul(x, W)  b = MatMul(x, U)  c2 = Add(a, w)  y = Relu(c2)  z = Relu(b)"


def test_products_of_one_tensor_are_one_kernel_for_engines() -> None:
    m = module(SIBLINGS, X, "float[a, b, c] y, float[a, b, c] z")
    (k,) = kernels(m, "tensorrt").kernels
    assert isinstance(k.problem, Product)
    assert (k.problem.rows, k.problem.n, k.problem.k) == (32, 64 + 32, 64)
    assert evaluate(k.work.mac, {}) == 32 * 96 * 64
    assert evaluate(k.traffic.read_bytes, {}) == 4 * (32 * 64 + 64 * 96 + 64)
    assert evaluate(k.traffic.write_bytes, {}) == 4 * 32 * 96
    assert sum(k.work.mac != 0 for k in kernels(m, "ort").kernels) == 2
    assert sum(k.work.mac != 0 for k in kernels(m, "eager").kernels) == 2


def test_a_product_of_a_product_is_a_kernel_of_its_own() -> None:
    body = "a = MatMul(x, W)  b = MatMul(a, W)  y = Add(b, x)"
    assert sum(k.work.mac != 0 for k in kernels(module(body), "tensorrt").kernels) == 2


def test_faster_transformer_adds_biases_in_the_kernel_that_follows() -> None:
    body = "a = MatMul(x, W)  c2 = Add(a, w)  s2 = Sigmoid(c2)  m = Mul(c2, s2)  y = MatMul(m, W)"
    assert labels(module(body), "fastertransformer") == [
        ["MatMul"],
        ["Add", "Sigmoid", "Mul"],
        ["MatMul"],
    ]


CONV = "a = Conv<pads = [1, 1, 1, 1]>(x, K)  n = BatchNormalization(a, k8, k8, k8, k8)"
MAPS = "float[2, 16, 14, 14] x"
OUT4 = "float[a, b, c, d] y"


@pytest.mark.parametrize("runtime", ["ort-cpu", "tensorrt"])
def test_a_folded_batch_normalisation_costs_a_bias(runtime: str) -> None:
    """As its export does, in which the filters are merged already."""
    (k,) = kernels(module(CONV + "  y = Relu(n)", MAPS, OUT4), runtime).kernels
    assert [n.loc.op_type for n in k.folded] == ["BatchNormalization"]
    elements = 2 * 8 * 14 * 14
    assert evaluate(k.work.alu, {}) == 2 * elements
    assert evaluate(k.traffic.write_bytes, {}) == 4 * elements
    assert evaluate(k.traffic.read_bytes, {}) == 4 * (2 * 16 * 14 * 14 + 8 * 16 * 9 + 8)


def test_eager_and_inductor_keep_batch_normalisation() -> None:
    m = module(CONV + "  y = Relu(n)", MAPS, OUT4)
    assert labels(m, "eager") == [["Conv"], ["BatchNormalization"], ["Relu"]]
    assert labels(m, "inductor") == [["Conv"], ["BatchNormalization", "Relu"]]


def test_a_normalisation_of_a_shared_result_is_not_folded() -> None:
    m = module(CONV + "  y = Add(a, n)", MAPS, OUT4)
    assert all(not k.folded for k in kernels(m, "ort").kernels)


def test_cuda_joins_the_residual_that_relu_follows_and_cpu_does_not() -> None:
    body = "a = Conv<pads = [1, 1, 1, 1]>(x, K)  z = Add(a, r)  y = Relu(z)"
    m = module(body, MAPS + ", float[2, 8, 14, 14] r", OUT4)
    assert labels(m, "ort-fused") == [["Conv", "Add", "Relu"]]
    assert labels(m, "ort-cpu") == [["Conv"], ["Add"], ["Relu"]]


def test_a_residual_through_two_branches_makes_no_circle() -> None:
    """Relu could join the convolution, but the addition it feeds needs a kernel in between."""
    body = """
      a = Conv<pads = [1, 1, 1, 1]>(x, K)  p = MaxPool<kernel_shape = [1, 1]>(a)
      y = Add(a, p)
    """
    m = module(body, MAPS, OUT4)
    for runtime in ("ort", "tensorrt", "inductor", "eager"):
        assert len(labels(m, runtime)) == 3


QDQ = """
  q1 = QuantizeLinear(x, qscale)  d1 = DequantizeLinear(q1, qscale)
  dw = DequantizeLinear(qw, qscale)  m = MatMul(d1, dw)
  q2 = QuantizeLinear(m, qscale)  y = DequantizeLinear(q2, qscale)
"""


@pytest.mark.parametrize("runtime", ["ort", "ort-cpu", "tensorrt"])
def test_a_product_between_dequantised_operands_is_done_in_integers(runtime: str) -> None:
    product = next(k for k in kernels(module(QDQ), runtime).kernels if k.work.mac)
    assert product.mac_dtype in (DType.U8, DType.I8)
    assert [n.loc.op_type for n in product.nodes if n.op.kind is not Kind.QUANTIZE] == ["MatMul"]
    activations = 2 * 16 * 64
    assert evaluate(product.traffic.read_bytes, {}) == activations + 64 * 64 + 4
    if runtime != "tensorrt":  # there the last dequantisation joins
        assert evaluate(product.traffic.write_bytes, {}) == activations


def test_eager_multiplies_what_it_dequantised() -> None:
    product = next(k for k in kernels(module(QDQ), "eager").kernels if k.work.mac)
    assert product.mac_dtype is DType.F32


def test_a_dequantisation_that_two_products_share_is_part_of_both() -> None:
    body = (
        QDQ.replace("y =", "y1 =")
        + """
      n = MatMul(d1, dw)  q3 = QuantizeLinear(n, qscale)  y2 = DequantizeLinear(q3, qscale)
    """
    )
    m = module(body, X, "float[a, b, c] y1, float[a, b, c] y2")
    found = [k for k in kernels(m, "ort").kernels if k.work.mac]
    assert [k.mac_dtype.bits for k in found] == [8, 8]
    assert all(v.type.dtype.bits == 8 or not v.type.shape for k in found for v in k.reads)  # type: ignore[union-attr]


def test_a_linear_layer_in_eager_adds_its_bias_in_the_product() -> None:
    m = module("a = MatMul(x, W)  y = Add(w, a)")
    assert labels(m, "eager") == [["MatMul", "Add"]]
    assert labels(m, "ort") == [["MatMul"], ["Add"]]


def test_padding_joins_the_convolution_behind_it() -> None:
    m = module("z = Pad(x, pads)  y = Conv(z, K)", MAPS, OUT4)
    assert labels(m, "ort") == [["Pad", "Conv"]]
    assert labels(m, "eager") == [["Pad"], ["Conv"]]


ASSIGNMENT = """
  r = Range(zero64, n64, one64)  a = Reshape(r, rows)  g0 = Expand(a, grid)
  i0 = Unsqueeze(g0, last)  g1 = Expand(column, grid)  i1 = Unsqueeze(g1, last)
  idx = Concat<axis = -1>(i0, i1)  t = Mul(u, three)  y = ScatterND(x2, idx, t)
"""


def test_an_assignment_to_a_slice_moves_only_the_slice_in_a_framework() -> None:
    import onnx.parser

    constants = (
        "<int64 zero64 = {0}, int64 n64 = {5000}, int64 one64 = {1}, int64[2] rows = {-1, 1}, "
        "int64[2] grid = {5000, 2}, int64[1] last = {-1}, int64[2] column = {0, 1}, "
        "float three = {3.0}>"
    )
    text = (
        f"{HEAD}g (float[5000, 4] x2, float[5000, 2] u) => (float[a, b] y) "
        f"{constants} {{ {ASSIGNMENT} }}"
    )
    m = Analyses().apply(Canonicalize(), typed(onnx.parser.parse_model(text)))
    scatter = kernels(m, "eager").kernels[-1]
    assert "ScatterND" in [n.loc.op_type for n in scatter.nodes]
    assert evaluate(scatter.traffic.nbytes, {}) == 2 * 5000 * 2 * 4
    assert evaluate(kernels(m, "ort").kernels[-1].traffic.nbytes, {}) > 5000 * 2 * 2 * 8
