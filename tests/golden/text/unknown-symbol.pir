# RUN: | error
perfir 1
module @m
graph @main(%x: f32[N, 3]) {
  return %x
}
# ---- expect
unknown-symbol.pir:4:21: symbol N is not declared
