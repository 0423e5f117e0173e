# RUN: shapes,autocast | table autocast
perfir 1
module @running_sum
dim n in 1.. = 4

graph @main(%x: f32[n, 128], %axis: i64[]) {
  %w = weight {location="w.bin"} : f32[128, 64]
  %y = matmul(%x, %w) : f32[n, 64] loc("y", "MatMul")
  %z = cumsum(%y, %axis) : f32[n, 64] loc("z", "CumSum")
  return %z
}
# ---- expect
%y: f16
%z: f32
%y: narrow
%z: wide inside
