# RUN: | print
perfir 1
module @branches {source="branches.onnx", opset=[["", 17], ["com.microsoft", 1]]}
dim `batch size` in 1.. = 1
graph @main(%c: b1[], %"/in put": f32[`batch size`, 4]) {
  %w = weight {bytes=16, digest="00ff", location="w.bin"} : f32[4]
  %y, _ = if(%c) : f32[`batch size`, 4], _ loc("choose", "If") {
    graph @then_branch() {
      %a = add(%"/in put", %w) : f32[`batch size`, 4]
      return %a
    }
    graph @else_branch() {
      %a = leaky_relu(%"/in put") {alpha=0.2} : f32[`batch size`, 4]
      return %a
    }
  }
  return %y
}
# ---- expect
perfir 1
module @branches {source="branches.onnx", opset=[["", 17], ["com.microsoft", 1]]}
dim `batch size` in 1.. = 1

graph @main(%c: b1[], %"/in put": f32[`batch size`, 4]) {
  %w = weight {bytes=16, digest="00ff", location="w.bin"} : f32[4]
  %y, _ = if(%c) : f32[`batch size`, 4], _ loc("choose", "If") {
    graph @then_branch() {
      %a = add(%"/in put", %w) : f32[`batch size`, 4]
      return %a
    }
    graph @else_branch() {
      %a = leaky_relu(%"/in put") {alpha=0.2} : f32[`batch size`, 4]
      return %a
    }
  }
  return %y
}
