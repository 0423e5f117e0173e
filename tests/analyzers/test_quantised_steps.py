"""Quantising is elementwise to a framework: it takes what its bytes take."""

from __future__ import annotations

import perfc

MODEL = b"""<ir_version: 10, opset_import: ["" : 18]>
g (float[batch, 64, 56, 56] x) => (float[batch, 64, 56, 56] y) {
  s = Constant <value_float = 0.1> ()
  z = Constant <value = int8 {0}> ()
  q = QuantizeLinear (x, s, z)
  d = DequantizeLinear (q, s, z)
  y = Relu (d)
}"""


def test_quantising_takes_what_its_bytes_take() -> None:
    report = perfc.analyze(MODEL, "t4", runtime="eager", dtype="f16", dims={"batch": 128})
    for kernel, bound in zip(report.prediction.kernels, report.roofline.kernels, strict=True):
        assert kernel.time_s < 3 * bound.sustained_s, bound.kernel.anchor.op.mnemonic
