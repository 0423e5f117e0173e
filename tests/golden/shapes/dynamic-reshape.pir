# RUN: shapes | print
perfir 1
module @heads
dim N in 1..64 = 1
dim S in 1..4096 = 128
graph @main(%x: f32[N, S, 768]) {
  %axis0 = weight {constant=true} : i64[] = 0
  %axis1 = weight {constant=true} : i64[] = 1
  %first = weight {constant=true} : i64[1] = [0]
  %tail = weight {constant=true} : i64[2] = [12, 64]
  %shape = shape(%x) : ?
  %n = gather(%shape, %axis0) : ?
  %s = gather(%shape, %axis1) : ?
  %n1 = unsqueeze(%n, %first) : ?
  %s1 = unsqueeze(%s, %first) : ?
  %to = concat(%n1, %s1, %tail) {axis=0} : ?
  %heads = reshape(%x, %to) : ?
  %y = transpose(%heads) {perm=[0, 2, 1, 3]} : ?
  return %y
}
# ---- expect
perfir 1
module @heads
dim N in 1..64 = 1
dim S in 1..4096 = 128

graph @main(%x: f32[N, S, 768]) {
  %axis0 = weight {constant=true} : i64[] = 0
  %axis1 = weight {constant=true} : i64[] = 1
  %first = weight {constant=true} : i64[1] = [0]
  %tail = weight {constant=true} : i64[2] = [12, 64]
  %shape = shape(%x) : i64[3] = [N, S, 768]
  %n = gather(%shape, %axis0) : i64[] = N
  %s = gather(%shape, %axis1) : i64[] = S
  %n1 = unsqueeze(%n, %first) : i64[1] = [N]
  %s1 = unsqueeze(%s, %first) : i64[1] = [S]
  %to = concat(%n1, %s1, %tail) : i64[4] = [N, S, 12, 64]
  %heads = reshape(%x, %to) : f32[N, S, 12, 64]
  %y = transpose(%heads) {perm=[0, 2, 1, 3]} : f32[N, 12, S, 64]
  return %y
}
