# RUN: | parse
perfir 1
module @facts   # facts in a file survive reading and printing
dim N in 1..256 = 8
graph @main(%x: f32[N, 64]) {
  %1 = relu(%x):f32[N,64] loc("/act/Relu", "Relu")
    ! cost {alu=64*N, read_bytes=256*N}
    ! roofline {bound="memory", lower_s=7.5e-06}
  return %1
}
# ---- expect
perfir 1
module @facts
dim N in 1..256 = 8

graph @main(%x: f32[N, 64]) {
  %1 = relu(%x) : f32[N, 64] loc("/act/Relu", "Relu")
    ! cost {alu=64*N, read_bytes=256*N}
    ! roofline {bound="memory", lower_s=7.5e-06}
  return %1
}
