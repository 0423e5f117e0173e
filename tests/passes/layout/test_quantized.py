"""Quantized models as ONNX Runtime runs them on processors."""

from __future__ import annotations

import onnx.parser

import perfc
from perfc.analyzers.estimators.laws.processor_classes import classify
from perfc.analyzers.estimators.subject import of_bound
from perfc.ir import Kind

QDQ = """<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 16, 8, 8] x) => (float[1, 32, 8, 8] y)
<float s = {0.1}, uint8 z = {0}, int8[32, 16, 1, 1] a = ["location": "w.bin"],
 int8[32, 32, 1, 1] b = ["location": "w.bin"], int8 n = {0}, float[32] c = ["location": "w.bin"]> {
 q = QuantizeLinear (x, s, z)
 d = DequantizeLinear (q, s, z)
 e = DequantizeLinear (a, s, n)
 f = Conv (d, e)
 h = QuantizeLinear (f, s, z)
 i = DequantizeLinear (h, s, z)
 NODE
 l = DequantizeLinear (b, s, n)
 m = Conv (k, l)
 o = QuantizeLinear (m, s, z)
 y = DequantizeLinear (o, s, z)
}"""
NORM = """j = BatchNormalization (i, c, c, c, c)
 p = QuantizeLinear (j, s, z)
 k = DequantizeLinear (p, s, z)"""
MEAN = """r = ReduceMean <keepdims = 1> (NAME, axes)
 t = QuantizeLinear (r, s, z)
 v = DequantizeLinear (t, s, z)
 u = Mul (NAME, v)
 w = QuantizeLinear (u, s, z)
 k = DequantizeLinear (w, s, z)"""
PRODUCT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[8, 64] x) => (float[8, 32] y)
<uint8[64, 32] w = ["location": "w.bin"], float t = {0.1}, uint8 u = {0}, float[32] b = {1}> {
 q, s, z = DynamicQuantizeLinear (x)
 p = MatMulInteger (q, w, z, u)
 c = Cast <to = 1> (p)
 f = Mul (s, t)
 m = Mul (c, f)
 y = Add (m, b)
}"""


def kernels(text: str) -> list[str]:
    model = onnx.parser.parse_model(text)
    table = perfc.analyze(model, "generic-x86-64", runtime="ort-cpu-blocked").kernels
    return ["copy" if k.helper else k.anchor.op.mnemonic for k in table.kernels]


def test_convolutions_of_bytes_have_channels_last() -> None:
    alone = kernels(QDQ.replace("NODE", "k = Identity (i)"))
    assert alone.count("conv") == 2
    assert alone.count("copy") == 2, "before the first and after the last"
    normed = kernels(QDQ.replace("NODE", NORM))
    assert normed.count("copy") == 4, "a normalization has channels first"


def test_a_dynamically_quantized_product_is_one_kernel() -> None:
    assert kernels(PRODUCT) == ["matmul_integer"]


def test_means_of_channels_that_are_last_read_in_rows() -> None:
    text = QDQ.replace("float s", "int64[2] axes = {2, 3}, float s")
    forms: list[str] = []
    for node in (
        MEAN.replace("NAME", "i"),
        f"{NORM.replace('k =', 'n0 =')}\n {MEAN}".replace("NAME", "n0"),
    ):
        model = onnx.parser.parse_model(text.replace("NODE", node))
        bounds = perfc.analyze(model, "generic-x86-64", runtime="ort-cpu-blocked").roofline
        means = [i for i, b in enumerate(bounds.kernels) if b.kernel.kind is Kind.REDUCTION]
        forms += [classify(of_bound(bounds.kernels[i], bounds.at(i))).names[-3] for i in means]
    assert forms == ["reduction.rk", "reduction.kr"]
