# RUN: | error
perfir 1
module @types
dim N in 1.. = 1
graph @main(%x: f32[N, 3]) {
  %1 = relu(%x) : f32[N, 4]
  return %1
}
# ---- expect
declared-type.pir:6:8: relu: %1 is declared f32[N, 4], but is f32[N, 3]
