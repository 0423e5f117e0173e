# RUN: shapes | error
perfir 1
module @mismatch
graph @main(%x: f32[8, 3], %w: f32[4, 5]) {
  %1 = relu(%x) : ?
  %2 = matmul(%1, %w) : ? loc("fc", "MatMul")
  return %2
}
# ---- expect
node 'fc': MatMul: contracted extents differ: 3 and 4; operands f32[8, 3], f32[4, 5] (the model contradicts itself here; check what feeds this node)
