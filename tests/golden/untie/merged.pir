# RUN: shapes,untie | print
perfir 1
module @merged
graph @main(%x: f32[3, 8]) {
  %blocks.0.fc.weight = weight {location="stripped"} : f32[8, 8]
  %blocks.0.fc.bias = weight {location="stripped"} : f32[8]
  %a = matmul(%x, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks/blocks.0/fc/MatMul", "MatMul")
  %b = add(%a, %blocks.0.fc.bias) : f32[3, 8] loc("/blocks/blocks.0/fc/Add", "Add")
  %c = matmul(%b, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks/blocks.1/fc/MatMul", "MatMul")
  %d = add(%c, %blocks.0.fc.bias) : f32[3, 8] loc("/blocks/blocks.1/fc/Add", "Add")
  %y = matmul(%d, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks/blocks.1/fc/MatMul_1", "MatMul")
  return %y
}
# ---- expect
perfir 1
module @merged

graph @main(%x: f32[3, 8]) {
  %blocks.0.fc.weight = weight {location="stripped"} : f32[8, 8]
  %blocks.0.fc.bias = weight {location="stripped"} : f32[8]
  %blocks.1.fc.weight = weight {location="stripped"} : f32[8, 8]
  %blocks.1.fc.bias = weight {location="stripped"} : f32[8]
  %a = matmul(%x, %blocks.0.fc.weight) : f32[3, 8] loc("/blocks/blocks.0/fc/MatMul", "MatMul")
  %b = add(%a, %blocks.0.fc.bias) : f32[3, 8] loc("/blocks/blocks.0/fc/Add", "Add")
  %c = matmul(%b, %blocks.1.fc.weight) : f32[3, 8] loc("/blocks/blocks.1/fc/MatMul", "MatMul")
  %d = add(%c, %blocks.1.fc.bias) : f32[3, 8] loc("/blocks/blocks.1/fc/Add", "Add")
  %y = matmul(%d, %blocks.1.fc.weight) : f32[3, 8] loc("/blocks/blocks.1/fc/MatMul_1", "MatMul")
  return %y
}
