# RUN: shapes,train{optimizer=sgd} | print
perfir 1
module @small
dim n in 1.. = 4

graph @main(%x: f32[n, 8]) {
  %w1 = weight {location="w1.bin"} : f32[8, 16]
  %b1 = weight {location="b1.bin"} : f32[16]
  %w2 = weight {location="w2.bin"} : f32[16, 3]
  %h = matmul(%x, %w1) : f32[n, 16] loc("h", "MatMul")
  %a = add(%h, %b1) : f32[n, 16] loc("a", "Add")
  %r = relu(%a) : f32[n, 16] loc("r", "Relu")
  %y = matmul(%r, %w2) : f32[n, 3] loc("y", "MatMul")
  return %y
}
# ---- expect
perfir 1
module @small
dim n in 1.. = 4

graph @main(%x: f32[n, 8], %labels: i64[n]) {
  %w1 = weight {location="w1.bin"} : f32[8, 16]
  %b1 = weight {location="b1.bin"} : f32[16]
  %w2 = weight {location="w2.bin"} : f32[16, 3]
  %constant.grad = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.1 = weight {bytes=16, constant=true} : i64[2] = [n, 3]
  %constant.grad.2 = weight {bytes=8, constant=true} : i64[1] = [0]
  %h = matmul(%x, %w1) : f32[n, 16] loc("h", "MatMul")
  %a = add(%h, %b1) : f32[n, 16] loc("a", "Add")
  %r = relu(%a) : f32[n, 16] loc("r", "Relu")
  %y = matmul(%r, %w2) : f32[n, 3] loc("y", "MatMul")
  %loss = log_softmax(%y) {axis=1} : f32[n, 3] loc("loss", "LogSoftmax", loss)
  %loss.1 = nll_loss(%loss, %labels) : f32[] loc("loss", "NegativeLogLikelihoodLoss", loss)
  %loss.grad = nll_loss_grad(%constant.grad, %constant.grad.1, %labels) : f32[n, 3] loc("loss.grad", "NegativeLogLikelihoodLossGrad", backward)
  %loss.grad.1 = log_softmax_grad(%loss.grad, %loss) {axis=1} : f32[n, 3] loc("loss.grad", "LogSoftmaxGrad_13", backward)
  %y.grad = fused_matmul(%loss.grad.1, %w2) {transB=1} : f32[n, 16] loc("y.grad", "FusedMatMul", backward)
  %y.grad.1 = fused_matmul(%r, %loss.grad.1) {transA=1} : f32[16, 3] loc("y.grad", "FusedMatMul", backward)
  %r.grad = elementwise_grad(%y.grad, _, _, _, %r) {of="relu", derivative="where(y > 0, 1, 0)"} : f32[n, 16] loc("r.grad", "ReluGrad", backward)
  %a.grad = reduce_sum(%r.grad, %constant.grad.2) {keepdims=0} : f32[16] loc("a.grad", "ReduceSum", backward)
  %h.grad = fused_matmul(%x, %r.grad) {transA=1} : f32[8, 16] loc("h.grad", "FusedMatMul", backward)
  %w1.next, %b1.next, %w2.next = multi_tensor(%w1, %b1, %w2, %h.grad, %a.grad, %y.grad.1) {function="_foreach_add_", lists=2, alu=2} : f32[8, 16], f32[16], f32[16, 3] loc("_foreach_add_", "_foreach_add_", optimizer)
  return %loss.1, %w1.next, %b1.next, %w2.next
}
