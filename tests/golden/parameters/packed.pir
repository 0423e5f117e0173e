# RUN: shapes,parameters | table parameters
perfir 1
module @packed
graph @main(%x: f32[3, 256]) {
  %w = weight {bytes=6144} : u8[48, 8, 16]
  %scales = weight {bytes=1536} : f32[384]
  %v = weight {bytes=4608} : f32[24, 48]
  %s = weight {bytes=96} : f32[24]
  %a = matmul_nbits(%x, %w, %scales) {K=256, N=48, bits=4, block_size=32} : ? loc("a", "MatMulNBits")
  %t = transpose(%v) {perm=[1, 0]} : ? loc("t", "Transpose")
  %b = matmul(%a, %t) : ? loc("b", "MatMul")
  %y = batch_norm(%b, %s, %s, %s, %s) : ? loc("y", "BatchNormalization")
  return %y
}
# ---- expect
%w: 12288, parameter
%scales: 384, scale or zero point
%v: 1152, parameter
%s: 24, parameter
