# RUN: sizes | print
perfir 1
module @windows
dim samples in 1.. = 1
dim k in 1.. = 2
dim j in 1.. = 3
graph @main(%x: f32[1, 1, samples], %a: f32[4, k], %b: f32[j, 8]) {
  %w = weight {location="w.bin"} : f32[16, 1, 10]
  %y = conv(%x, %w) {strides=[5]} : ?
  %c = matmul(%a, %b) : ?
  return %y, %c
}
# ---- expect
perfir 1
module @windows
dim samples in 1.. = 10
dim k in 1.. = 2
dim j in 1.. = 2

graph @main(%x: f32[1, 1, samples], %a: f32[4, k], %b: f32[j, 8]) {
  %w = weight {location="w.bin"} : f32[16, 1, 10]
  %y = conv(%x, %w) {strides=[5]} : f32[1, 16, (samples//5) - 1]
  %c = matmul(%a, %b) : f32[4, 8]
  return %y, %c
}
