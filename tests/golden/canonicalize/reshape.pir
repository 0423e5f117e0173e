# RUN: shapes,canonicalize | print
perfir 1
module @canon
dim n in 1.. = 4

graph @main(%x: f32[n, 8, 8]) {
  %zero = weight {bytes=8} : i64[] = 0
  %zero1 = weight {bytes=8} : i64[1] = [0]
  %rest = weight {bytes=8} : i64[1] = [64]
  %i = identity(%x) : f32[n, 8, 8] loc("i", "Identity")
  %s = shape(%i) : i64[3] = [n, 8, 8] loc("s", "Shape")
  %b = gather(%s, %zero) : i64[] = n loc("b", "Gather")
  %b1 = unsqueeze(%b, %zero1) : i64[1] = [n] loc("b1", "Unsqueeze")
  %to = concat(%b1, %rest) : i64[2] = [n, 64] loc("to", "Concat")
  %r = reshape(%i, %to) : f32[n, 64] loc("r", "Reshape")
  %d = dropout(%r) : f32[n, 64] loc("d", "Dropout")
  %dead = exp(%d) : f32[n, 64] loc("dead", "Exp")
  %y = relu(%d) : f32[n, 64] loc("y", "Relu")
  return %y
}
# ---- expect
perfir 1
module @canon
dim n in 1.. = 4

graph @main(%x: f32[n, 8, 8]) {
  %to = weight {constant=true} : i64[2] = [n, 64]
  %r = reshape(%x, %to) : f32[n, 64] loc("r", "Reshape")
  %d = dropout(%r) : f32[n, 64] loc("d", "Dropout")
  %y = relu(%d) : f32[n, 64] loc("y", "Relu")
  return %y
}
