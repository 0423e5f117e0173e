# RUN: shapes,train{optimizer=sgd},saved{runtime=eager} | table saved
perfir 1
module @small
dim n in 1.. = 4

graph @main(%x: f32[n, 8]) {
  %w1 = weight {location="w1.bin"} : f32[8, 16]
  %b1 = weight {location="b1.bin"} : f32[16]
  %w2 = weight {location="w2.bin"} : f32[16, 3]
  %h = matmul(%x, %w1) : f32[n, 16] loc("h", "MatMul")
  %a = add(%h, %b1) : f32[n, 16] loc("a", "Add")
  %r = relu(%a) : f32[n, 16] loc("r", "Relu")
  %y = matmul(%r, %w2) : f32[n, 3] loc("y", "MatMul")
  return %y
}
# ---- expect
%x: f32[n, 8], read by %h.grad
%labels: i64[n], read by %loss.grad
%r: f32[n, 16], read by %y.grad.1
%loss: f32[n, 3], read by %loss.grad.1
kept: 116*n bytes
