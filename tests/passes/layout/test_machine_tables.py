"""Tables of runtimes that hold on older boards."""

from __future__ import annotations

import onnx
import pytest

import perfc
from perfc.ir import Kind

ATTENTION = """<ir_version: 8, opset_import: ["": 17]>
g (float16[1,12,128,64] q, float16[1,12,64,128] k, float16[1,12,128,64] v)
=> (float16[1,12,128,64] y)
{ s = MatMul (q, k)  p = Softmax <axis = -1> (s)  y = MatMul (p, v) }"""


@pytest.mark.parametrize(("target", "launches"), [("v100", 3), ("t4", 1), ("a100", 1)])
def test_attention_of_tensorrt_is_fused_where_it_has_kernels(target: str, launches: int) -> None:
    report = perfc.analyze(onnx.parser.parse_model(ATTENTION), target, runtime="tensorrt")
    assert len(report.roofline.kernels) == launches


def test_products_of_bytes_run_in_halves_where_no_unit_multiplies_bytes() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[512,512] x, float[512,512] w)
        => (float[512,512] y) { y = MatMul (x, w) }"""
    model = onnx.parser.parse_model(text)
    codes = {
        target: next(
            b.dtype.code
            for b in perfc.analyze(model, target, runtime="tensorrt", dtype="i8").roofline.kernels
            if b.kernel.kind is Kind.MATMUL
        )
        for target in ("v100", "t4")
    }
    assert codes == {"v100": "f16", "t4": "i8"}
