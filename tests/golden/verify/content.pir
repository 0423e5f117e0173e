# RUN: | error
perfir 1
module @content
graph @main() {
  %w = weight : i64[3] = [1, 2]
  return %w
}
# ---- expect
weight of @content: %w: content of shape [2] in i64[3]
