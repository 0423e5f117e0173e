# RUN: shapes,roofline{target=a100,runtime=tensorrt} | table roofline
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
Conv + BatchNormalization + Relu: floor 4.499e-07 s, sustained 1.482e-06 s, bound by matrix units
Conv + Add + Relu: floor 6.724e-07 s, sustained 1.482e-06 s, bound by matrix units
Pad: floor 4.61e-07 s, sustained 8.583e-07 s, bound by L2 cache
Conv + Mul + HardSigmoid + Mul: floor 4.612e-07 s, sustained 8.586e-07 s, bound by L2 cache
GlobalAveragePool: floor 2.225e-07 s, sustained 4.142e-07 s, bound by launches
Gemm: floor 2.759e-10 s, sustained 5.137e-10 s, bound by launches
run: floor 2.267e-06 s, sustained 5.096e-06 s
