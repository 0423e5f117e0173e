"""Small models of kinds that no benchmark of images has, as ONNX text: what `sanity.py` adds.

Each has ``batch`` for its first symbol. Weights are inputs, since only their types matter.
"""

from __future__ import annotations

from collections.abc import Mapping

LSTM = """<ir_version: 10, opset_import: ["" : 18]>
lstm (float[128, batch, 512] x, float[2, 2048, 512] w, float[2, 2048, 512] r, float[2, 4096] b)
 => (float[128, 2, batch, 512] y) {
  y, h, c = LSTM <hidden_size = 512, direction = "bidirectional"> (x, w, r, b)
}"""

GRU = """<ir_version: 10, opset_import: ["" : 18]>
gru (float[64, batch, 256] x, float[1, 768, 256] w, float[1, 768, 256] r)
 => (float[64, 1, batch, 256] y) {
  y, h = GRU <hidden_size = 256, linear_before_reset = 1> (x, w, r)
}"""

DECODER = """<ir_version: 10, opset_import: ["" : 18, "com.microsoft" : 1]>
decoder (float16[batch, 1, 2048] x, float16[batch, 8, past, 128] keys,
 float16[batch, 8, past, 128] values, int32[batch] lengths, int32 total,
 float16[2048, 4096] wqkv, float16[2048, 2048] wo, float16[2048, 8192] up, float16[8192, 2048] down)
 => (float16[batch, 1, 2048] y, float16[batch, 8, s, 128] keys2, float16[batch, 8, s, 128] values2)
{
  qkv = MatMul (x, wqkv)
  sizes = Constant <value_ints = [2048, 1024, 1024]> ()
  q, k, v = Split <axis = -1> (qkv, sizes)
  a, keys2, values2 = com.microsoft.GroupQueryAttention <num_heads = 16, kv_num_heads = 8>
    (q, k, v, keys, values, lengths, total)
  o = MatMul (a, wo)
  r = Add (x, o)
  u = MatMul (r, up)
  g = Gelu (u)
  d = MatMul (g, down)
  y = Add (r, d)
}"""
DECODER = DECODER.replace("Gelu (u)", "Relu (u)")

UNET = """<ir_version: 10, opset_import: ["" : 18]>
unet (float[batch, 4, 64, 64] x, float[320, 4, 3, 3] w0, float[640, 320, 3, 3] w1,
 float[640, 640, 3, 3] w2, float[640] gamma, float[640] beta, float[320, 960, 3, 3] w3,
 float[4, 320, 3, 3] w4)
 => (float[batch, 4, 64, 64] y) {
  a = Conv <pads = [1, 1, 1, 1]> (x, w0)
  s = Sigmoid (a)
  t = Mul (a, s)
  b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (t, w1)
  c = Conv <pads = [1, 1, 1, 1]> (b, w2)
  tokens = Constant <value_ints = [0, 640, 1024]> ()
  flat = Reshape (c, tokens)
  k = Transpose <perm = [0, 2, 1]> (flat)
  scores = MatMul (k, flat)
  p = Softmax <axis = -1> (scores)
  attended = MatMul (p, k)
  back = Transpose <perm = [0, 2, 1]> (attended)
  image = Constant <value_ints = [0, 640, 32, 32]> ()
  d = Reshape (back, image)
  n = InstanceNormalization (d, gamma, beta)
  scales = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
  up = Resize <mode = "nearest"> (n, , scales)
  joined = Concat <axis = 1> (up, t)
  e = Conv <pads = [1, 1, 1, 1]> (joined, w3)
  f = Relu (e)
  y = Conv <pads = [1, 1, 1, 1]> (f, w4)
}"""

GRAPH = """<ir_version: 10, opset_import: ["" : 18]>
messages (float[batch, 128] x, int64[edges] sources, int64[edges, 128] sinks, float[128, 128] w)
 => (float[batch, 128] y) {
  sent = Gather <axis = 0> (x, sources)
  m = MatMul (sent, w)
  zero = Sub (x, x)
  summed = ScatterElements <axis = 0, reduction = "add"> (zero, sinks, m)
  r = Add (summed, x)
  y = Relu (r)
}"""

QUANTISED = """<ir_version: 10, opset_import: ["" : 18]>
quantised (float[batch, 64, 56, 56] x, int8[64, 64, 3, 3] w, float[1] s, int8[1] z)
 => (float[batch, 64, 56, 56] y) {
  scale = Constant <value_float = 0.1> ()
  zero = Constant <value = int8 {0}> ()
  xq = QuantizeLinear (x, scale, zero)
  xd = DequantizeLinear (xq, scale, zero)
  wd = DequantizeLinear (w, scale, zero)
  c = Conv <pads = [1, 1, 1, 1]> (xd, wd)
  r = Relu (c)
  rq = QuantizeLinear (r, scale, zero)
  y = DequantizeLinear (rq, scale, zero)
}"""

FOUR_BITS = """<ir_version: 10, opset_import: ["" : 18, "com.microsoft" : 1]>
four_bits (float16[batch, 1, 4096] x, uint8[11008, 128, 16] w, float16[1409024] scales)
 => (float16[batch, 1, 11008] y) {
  y = com.microsoft.MatMulNBits <K = 4096, N = 11008, bits = 4, block_size = 32> (x, w, scales)
}"""

EXPERTS = """<ir_version: 10, opset_import: ["" : 18, "com.microsoft" : 1]>
experts (float16[batch, 256, 1024] x, float16[1024, 8] router, float16[8, 1024, 4096] up,
 float16[8, 4096, 1024] down)
 => (float16[batch, 256, 1024] y) {
  logits = MatMul (x, router)
  rows = Constant <value_ints = [-1, 8]> ()
  flat = Reshape (logits, rows)
  y = com.microsoft.MoE <k = 2, activation_type = "gelu"> (x, flat, up, , down)
}"""

MODELS: Mapping[str, str] = {
    "lstm": LSTM,
    "gru": GRU,
    "decoder": DECODER,
    "unet": UNET,
    "graph": GRAPH,
    "quantised": QUANTISED,
    "four-bits": FOUR_BITS,
    "experts": EXPERTS,
}
