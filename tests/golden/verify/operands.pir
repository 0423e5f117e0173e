# RUN: | error
perfir 1
module @channels
graph @main(%x: f32[1, 3, 8, 8], %w: f32[16, 4, 3, 3]) {
  %1 = conv(%x, %w) : ? loc("stem", "Conv")
  return %1
}
# ---- expect
operands.pir:5:8: conv: filters expect 4 input channels (1 groups of 4), the input has 3
