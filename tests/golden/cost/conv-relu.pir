# RUN: shapes,cost | print --facts cost
perfir 1
module @stem
dim N in 1..256 = 1
graph @main(%x: f32[N, 3, 224, 224]) {
  %w = weight {bytes=37632} : f32[64, 3, 7, 7]
  %b = weight {bytes=256} : f32[64]
  %1 = conv(%x, %w, %b) {strides=[2, 2], pads=[3, 3, 3, 3]} : ? loc("/conv1/Conv", "Conv")
  %2 = relu(%1) : ? loc("/relu/Relu", "Relu")
  return %2
}
# ---- expect
perfir 1
module @stem
dim N in 1..256 = 1

graph @main(%x: f32[N, 3, 224, 224]) {
  %w = weight {bytes=37632} : f32[64, 3, 7, 7]
  %b = weight {bytes=256} : f32[64]
  %1 = conv(%x, %w, %b) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[N, 64, 112, 112] loc("/conv1/Conv", "Conv")
    ! cost {mac=118013952*N, alu=802816*N, read_bytes=602112*N + 37888, write_bytes=3211264*N}
  %2 = relu(%1) : f32[N, 64, 112, 112] loc("/relu/Relu", "Relu")
    ! cost {alu=802816*N, read_bytes=3211264*N, write_bytes=3211264*N}
  return %2
}
