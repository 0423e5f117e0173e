# RUN: shapes,casts{dtype=bf16} | print
perfir 1
module @residual
dim n in 1.. = 4

graph @main(%x: f32[n, 32, 56, 56]) {
  %w1 = weight {location="w1.bin"} : f32[32, 32, 3, 3]
  %w2 = weight {location="w2.bin"} : f32[32, 32, 3, 3]
  %bias = weight {location="bias.bin"} : f32[32]
  %wd = weight {location="wd.bin"} : f32[32, 1, 3, 3]
  %scale = weight {location="scale.bin"} : f32[1, 32, 1, 1]
  %wf = weight {location="wf.bin"} : f32[10, 32]
  %bf = weight {bytes=40} : f32[10] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
  %pads = weight {bytes=64} : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
  %ps = weight {location="ps.bin"} : f32[32]
  %pb = weight {location="pb.bin"} : f32[32]
  %pm = weight {location="pm.bin"} : f32[32]
  %pv = weight {location="pv.bin"} : f32[32]
  %c1 = conv(%x, %w1) {pads=[1, 1, 1, 1]} : f32[n, 32, 56, 56] loc("c1", "Conv")
  %n1 = batch_norm(%c1, %ps, %pb, %pm, %pv) : f32[n, 32, 56, 56] loc("n1", "BatchNormalization")
  %r1 = relu(%n1) : f32[n, 32, 56, 56] loc("r1", "Relu")
  %c2 = conv(%r1, %w2, %bias) {pads=[1, 1, 1, 1]} : f32[n, 32, 56, 56] loc("c2", "Conv")
  %a = add(%c2, %x) : f32[n, 32, 56, 56] loc("a", "Add")
  %r2 = relu(%a) : f32[n, 32, 56, 56] loc("r2", "Relu")
  %padded = pad(%r2, %pads) : f32[n, 32, 58, 58] loc("padded", "Pad")
  %dw = conv(%padded, %wd) {group=32} : f32[n, 32, 56, 56] loc("dw", "Conv")
  %m = mul(%dw, %scale) : f32[n, 32, 56, 56] loc("m", "Mul")
  %h = hard_sigmoid(%m) : f32[n, 32, 56, 56] loc("h", "HardSigmoid")
  %hs = mul(%m, %h) : f32[n, 32, 56, 56] loc("hs", "Mul")
  %g = global_average_pool(%hs) : f32[n, 32, 1, 1] loc("g", "GlobalAveragePool")
  %f = flatten(%g) : f32[n, 32] loc("f", "Flatten")
  %y = gemm(%f, %wf, %bf) {transB=1} : f32[n, 10] loc("y", "Gemm")
  return %y
}
# ---- expect
perfir 1
module @residual
dim n in 1.. = 4

graph @main(%x: f32[n, 32, 56, 56]) {
  %w1 = weight {location="w1.bin"} : f32[32, 32, 3, 3]
  %w2 = weight {location="w2.bin"} : f32[32, 32, 3, 3]
  %bias = weight {location="bias.bin"} : f32[32]
  %wd = weight {location="wd.bin"} : f32[32, 1, 3, 3]
  %scale = weight {location="scale.bin"} : f32[1, 32, 1, 1]
  %wf = weight {location="wf.bin"} : f32[10, 32]
  %bf = weight {bytes=40} : f32[10] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
  %pads = weight {bytes=64} : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
  %ps = weight {location="ps.bin"} : f32[32]
  %pb = weight {location="pb.bin"} : f32[32]
  %pm = weight {location="pm.bin"} : f32[32]
  %pv = weight {location="pv.bin"} : f32[32]
  %c1.cast = cast(%x) {to="bf16"} : bf16[n, 32, 56, 56] loc("c1.cast", "Cast")
  %c1.cast.1 = cast(%w1) {to="bf16"} : bf16[32, 32, 3, 3] loc("c1.cast", "Cast")
  %c1 = conv(%c1.cast, %c1.cast.1) {pads=[1, 1, 1, 1]} : bf16[n, 32, 56, 56] loc("c1", "Conv")
  %n1 = batch_norm(%c1, %ps, %pb, %pm, %pv) : bf16[n, 32, 56, 56] loc("n1", "BatchNormalization")
  %r1 = relu(%n1) : bf16[n, 32, 56, 56] loc("r1", "Relu")
  %c2.cast = cast(%w2) {to="bf16"} : bf16[32, 32, 3, 3] loc("c2.cast", "Cast")
  %c2.cast.1 = cast(%bias) {to="bf16"} : bf16[32] loc("c2.cast", "Cast")
  %c2 = conv(%r1, %c2.cast, %c2.cast.1) {pads=[1, 1, 1, 1]} : bf16[n, 32, 56, 56] loc("c2", "Conv")
  %a = add(%c2, %x) : f32[n, 32, 56, 56] loc("a", "Add")
  %r2 = relu(%a) : f32[n, 32, 56, 56] loc("r2", "Relu")
  %padded = pad(%r2, %pads) : f32[n, 32, 58, 58] loc("padded", "Pad")
  %dw.cast = cast(%padded) {to="bf16"} : bf16[n, 32, 58, 58] loc("dw.cast", "Cast")
  %dw.cast.1 = cast(%wd) {to="bf16"} : bf16[32, 1, 3, 3] loc("dw.cast", "Cast")
  %dw = conv(%dw.cast, %dw.cast.1) {group=32} : bf16[n, 32, 56, 56] loc("dw", "Conv")
  %m = mul(%dw, %scale) : f32[n, 32, 56, 56] loc("m", "Mul")
  %h = hard_sigmoid(%m) : f32[n, 32, 56, 56] loc("h", "HardSigmoid")
  %hs = mul(%m, %h) : f32[n, 32, 56, 56] loc("hs", "Mul")
  %g = global_average_pool(%hs) : f32[n, 32, 1, 1] loc("g", "GlobalAveragePool")
  %f = flatten(%g) : f32[n, 32] loc("f", "Flatten")
  %y.cast = cast(%f) {to="bf16"} : bf16[n, 32] loc("y.cast", "Cast")
  %y.cast.1 = cast(%wf) {to="bf16"} : bf16[10, 32] loc("y.cast", "Cast")
  %y.cast.2 = cast(%bf) {to="bf16"} : bf16[10] loc("y.cast", "Cast")
  %y = gemm(%y.cast, %y.cast.1, %y.cast.2) {transB=1} : bf16[n, 10] loc("y", "Gemm")
  return %y
}
