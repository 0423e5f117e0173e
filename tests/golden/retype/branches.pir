# RUN: shapes,retype{dtype=f16} | print
perfir 1
module @branches
dim n in 1.. = 4

graph @main(%x: f32[n, 64]) {
  %zero = weight {bytes=4} : f32[] = 0.0
  %wa = weight {location="wa.bin"} : f32[64, 64]
  %wb = weight {location="wb.bin"} : f32[64, 64]
  %mx = reduce_max(%x) {keepdims=0} : f32[] loc("mx", "ReduceMax")
  %cond = greater(%mx, %zero) : b1[] loc("cond", "Greater")
  %i = if(%cond) : f32[n, 64] loc("i", "If") {
    graph @then() {
      %t = matmul(%x, %wa) : f32[n, 64] loc("t", "MatMul")
      return %t
    }
    graph @else() {
      %e0 = relu(%x) : f32[n, 64] loc("e0", "Relu")
      %e = matmul(%e0, %wb) : f32[n, 64] loc("e", "MatMul")
      return %e
    }
  }
  %y = relu(%i) : f32[n, 64] loc("y", "Relu")
  return %y
}
# ---- expect
perfir 1
module @branches
dim n in 1.. = 4

graph @main(%x: f16[n, 64]) {
  %zero = weight {bytes=2} : f16[] = 0.0
  %wa = weight {bytes=8192, location="wa.bin"} : f16[64, 64]
  %wb = weight {bytes=8192, location="wb.bin"} : f16[64, 64]
  %mx = reduce_max(%x) {keepdims=0} : f16[] loc("mx", "ReduceMax")
  %cond = greater(%mx, %zero) : b1[] loc("cond", "Greater")
  %i = if(%cond) : f16[n, 64] loc("i", "If") {
    graph @then() {
      %t = matmul(%x, %wa) : f16[n, 64] loc("t", "MatMul")
      return %t
    }
    graph @else() {
      %e0 = relu(%x) : f16[n, 64] loc("e0", "Relu")
      %e = matmul(%e0, %wb) : f16[n, 64] loc("e", "MatMul")
      return %e
    }
  }
  %y = relu(%i) : f16[n, 64] loc("y", "Relu")
  return %y
}
