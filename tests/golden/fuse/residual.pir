# RUN: shapes | kernels
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
## cudagraph, eager, eager-unfused, trainer, transformers
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization (normalization)
  nodes %n1
  200704*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %n1: 401408*n bytes
kernel 2: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 3: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 4: Add (elementwise)
  nodes %a
  100352*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %a: 401408*n bytes
kernel 5: Relu (elementwise)
  nodes %r2
  100352*n alu; f32
  reads %a: 401408*n bytes
  writes %r2: 401408*n bytes
kernel 6: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 7: Conv (conv)
  nodes %dw
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 8: Mul (elementwise)
  nodes %m
  100352*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %m: 401408*n bytes
kernel 9: HardSigmoid + Mul (elementwise, activation)
  nodes %h %hs
  501760*n alu; f32
  reads %m: 401408*n bytes
  writes %hs: 401408*n bytes
kernel 10: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 11: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## eager-literal, llamacpp, sglang, trtllm, trtllm-compiled, vllm
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization (normalization)
  nodes %n1
  200704*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %n1: 401408*n bytes
kernel 2: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 3: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 4: Add (elementwise)
  nodes %a
  100352*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %a: 401408*n bytes
kernel 5: Relu (elementwise)
  nodes %r2
  100352*n alu; f32
  reads %a: 401408*n bytes
  writes %r2: 401408*n bytes
kernel 6: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 7: Conv (conv)
  nodes %dw
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 8: Mul (elementwise)
  nodes %m
  100352*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %m: 401408*n bytes
kernel 9: HardSigmoid (elementwise)
  nodes %h
  401408*n alu; f32
  reads %m: 401408*n bytes
  writes %h: 401408*n bytes
kernel 10: Mul (elementwise)
  nodes %hs
  100352*n alu; f32
  reads %m %h: 802816*n bytes
  writes %hs: 401408*n bytes
kernel 11: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 12: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## fastertransformer, ort-tensorrt, paddle-trt, tensorrt, tensorrt-unfused
kernel 0: Conv + BatchNormalization + Relu (conv, conv)
  nodes %c1 %n1 %r1, folded %n1
  28901376*n mac, 200704*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %r1: 401408*n bytes
kernel 1: Conv + Add + Relu (conv)
  nodes %c2 %a %r2
  28901376*n mac, 301056*n alu; f32
  reads %r1 %w2 %bias %x: 802816*n + 36992 bytes
  writes %r2: 401408*n bytes
kernel 2: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 3: Conv + Mul + HardSigmoid + Mul (conv, conv)
  nodes %dw %m %h %hs, folded %m
  903168*n mac, 501760*n alu; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %hs: 401408*n bytes
kernel 4: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 5: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## inductor, inductor-cudagraph
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization + Relu (normalization)
  nodes %n1 %r1
  301056*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %r1: 401408*n bytes
kernel 2: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 3: Add + Relu + Pad (movement)
  nodes %a %r2 %padded
  200704*n alu; f32
  reads %c2 %x %pads: 802816*n bytes
  writes %padded: 430592*n bytes
kernel 4: Conv (conv)
  nodes %dw
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 5: Mul + HardSigmoid + Mul (elementwise)
  nodes %m %h %hs
  602112*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %hs: 401408*n bytes
kernel 6: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 7: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## litert
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization (normalization)
  nodes %n1
  200704*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %n1: 401408*n bytes
kernel 2: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 3: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 4: Add + Relu (elementwise)
  nodes %a %r2
  200704*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %r2: 401408*n bytes
kernel 5: Pad + Conv (conv, conv)
  nodes %padded %dw
  903168*n mac; f32
  reads %r2 %pads %wd: 401408*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 6: Mul (elementwise)
  nodes %m
  100352*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %m: 401408*n bytes
kernel 7: HardSigmoid (elementwise)
  nodes %h
  401408*n alu; f32
  reads %m: 401408*n bytes
  writes %h: 401408*n bytes
kernel 8: Mul (elementwise)
  nodes %hs
  100352*n alu; f32
  reads %m %h: 802816*n bytes
  writes %hs: 401408*n bytes
kernel 9: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 10: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## openvino
kernel 0: Conv + BatchNormalization + Relu (conv, conv)
  nodes %c1 %n1 %r1, folded %n1
  28901376*n mac, 200704*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %r1: 401408*n bytes
kernel 1: Conv + Add + Relu (conv)
  nodes %c2 %a %r2
  28901376*n mac, 301056*n alu; f32
  reads %r1 %w2 %bias %x: 802816*n + 36992 bytes
  writes %r2: 401408*n bytes
kernel 2: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 3: Conv + Mul (conv, conv)
  nodes %dw %m, folded %m
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %m: 401408*n bytes
kernel 4: HardSigmoid + Mul (elementwise)
  nodes %h %hs
  501760*n alu; f32
  reads %m: 401408*n bytes
  writes %hs: 401408*n bytes
kernel 5: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 6: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## ort
kernel 0: Conv + BatchNormalization (conv, conv)
  nodes %c1 %n1, folded %n1
  28901376*n mac, 100352*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %n1: 401408*n bytes
kernel 1: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 2: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 3: Add (elementwise)
  nodes %a
  100352*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %a: 401408*n bytes
kernel 4: Relu (elementwise)
  nodes %r2
  100352*n alu; f32
  reads %a: 401408*n bytes
  writes %r2: 401408*n bytes
kernel 5: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 6: Conv + Mul (conv, conv)
  nodes %dw %m, folded %m
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %m: 401408*n bytes
kernel 7: HardSigmoid (elementwise)
  nodes %h
  401408*n alu; f32
  reads %m: 401408*n bytes
  writes %h: 401408*n bytes
kernel 8: Mul (elementwise)
  nodes %hs
  100352*n alu; f32
  reads %m %h: 802816*n bytes
  writes %hs: 401408*n bytes
kernel 9: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 10: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## ort-cpu, tensorflow
kernel 0: Conv + BatchNormalization + Relu (conv, conv)
  nodes %c1 %n1 %r1, folded %n1
  28901376*n mac, 200704*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %r1: 401408*n bytes
kernel 1: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 2: Add (elementwise)
  nodes %a
  100352*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %a: 401408*n bytes
kernel 3: Relu (elementwise)
  nodes %r2
  100352*n alu; f32
  reads %a: 401408*n bytes
  writes %r2: 401408*n bytes
kernel 4: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 5: Conv + Mul (conv, conv)
  nodes %dw %m, folded %m
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %m: 401408*n bytes
kernel 6: HardSigmoid (elementwise)
  nodes %h
  401408*n alu; f32
  reads %m: 401408*n bytes
  writes %h: 401408*n bytes
kernel 7: Mul (elementwise)
  nodes %hs
  100352*n alu; f32
  reads %m %h: 802816*n bytes
  writes %hs: 401408*n bytes
kernel 8: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 9: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## ort-cpu-blocked, ort-fused, paddle
kernel 0: Conv + BatchNormalization + Relu (conv, conv)
  nodes %c1 %n1 %r1, folded %n1
  28901376*n mac, 200704*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %r1: 401408*n bytes
kernel 1: Conv + Add + Relu (conv)
  nodes %c2 %a %r2
  28901376*n mac, 301056*n alu; f32
  reads %r1 %w2 %bias %x: 802816*n + 36992 bytes
  writes %r2: 401408*n bytes
kernel 2: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 3: Conv + Mul (conv, conv)
  nodes %dw %m, folded %m
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %m: 401408*n bytes
kernel 4: HardSigmoid (elementwise)
  nodes %h
  401408*n alu; f32
  reads %m: 401408*n bytes
  writes %h: 401408*n bytes
kernel 5: Mul (elementwise)
  nodes %hs
  100352*n alu; f32
  reads %m %h: 802816*n bytes
  writes %hs: 401408*n bytes
kernel 6: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 7: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## ort-optimized
kernel 0: Conv + BatchNormalization (conv, conv)
  nodes %c1 %n1, folded %n1
  28901376*n mac, 100352*n alu; f32
  reads %x %w1 %pb: 401408*n + 36992 bytes
  writes %n1: 401408*n bytes
kernel 1: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 2: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 3: Add (elementwise)
  nodes %a
  100352*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %a: 401408*n bytes
kernel 4: Relu (elementwise)
  nodes %r2
  100352*n alu; f32
  reads %a: 401408*n bytes
  writes %r2: 401408*n bytes
kernel 5: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 6: Conv + Mul (conv, conv)
  nodes %dw %m, folded %m
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %m: 401408*n bytes
kernel 7: HardSigmoid + Mul (elementwise, activation)
  nodes %h %hs
  501760*n alu; f32
  reads %m: 401408*n bytes
  writes %hs: 401408*n bytes
kernel 8: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 9: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## torchscript
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization (normalization)
  nodes %n1
  200704*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %n1: 401408*n bytes
kernel 2: Relu (elementwise)
  nodes %r1
  100352*n alu; f32
  reads %n1: 401408*n bytes
  writes %r1: 401408*n bytes
kernel 3: Conv (conv)
  nodes %c2
  28901376*n mac, 100352*n alu; f32
  reads %r1 %w2 %bias: 401408*n + 36992 bytes
  writes %c2: 401408*n bytes
kernel 4: Add + Relu (elementwise)
  nodes %a %r2
  200704*n alu; f32
  reads %c2 %x: 802816*n bytes
  writes %r2: 401408*n bytes
kernel 5: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 6: Conv (conv)
  nodes %dw
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 7: Mul + HardSigmoid + Mul (elementwise)
  nodes %m %h %hs
  602112*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %hs: 401408*n bytes
kernel 8: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 9: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## tvm
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization + Relu (normalization)
  nodes %n1 %r1
  301056*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %r1: 401408*n bytes
kernel 2: Conv + Add + Relu (conv)
  nodes %c2 %a %r2
  28901376*n mac, 301056*n alu; f32
  reads %r1 %w2 %bias %x: 802816*n + 36992 bytes
  writes %r2: 401408*n bytes
kernel 3: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 4: Conv + Mul + HardSigmoid + Mul (conv)
  nodes %dw %m %h %hs
  903168*n mac, 602112*n alu; f32
  reads %padded %wd %scale: 430592*n + 1280 bytes
  writes %hs: 401408*n bytes
kernel 5: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 6: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes

## xla
kernel 0: Conv (conv)
  nodes %c1
  28901376*n mac; f32
  reads %x %w1: 401408*n + 36864 bytes
  writes %c1: 401408*n bytes
kernel 1: BatchNormalization + Relu (normalization)
  nodes %n1 %r1
  301056*n alu, 32 sfu; f32
  reads %c1 %ps %pb %pm %pv: 401408*n + 512 bytes
  writes %r1: 401408*n bytes
kernel 2: Conv + Add + Relu (conv)
  nodes %c2 %a %r2
  28901376*n mac, 301056*n alu; f32
  reads %r1 %w2 %bias %x: 802816*n + 36992 bytes
  writes %r2: 401408*n bytes
kernel 3: Pad (movement)
  nodes %padded
  no operations; f32
  reads %r2 %pads: 401408*n bytes
  writes %padded: 430592*n bytes
kernel 4: Conv (conv)
  nodes %dw
  903168*n mac; f32
  reads %padded %wd: 430592*n + 1152 bytes
  writes %dw: 401408*n bytes
kernel 5: Mul + HardSigmoid + Mul (elementwise)
  nodes %m %h %hs
  602112*n alu; f32
  reads %dw %scale: 401408*n + 128 bytes
  writes %hs: 401408*n bytes
kernel 6: GlobalAveragePool (pool)
  nodes %g %f
  100352*n alu; f32
  reads %hs: 401408*n bytes
  writes %g: 128*n bytes
kernel 7: Gemm (matmul)
  nodes %y
  320*n mac, 10*n alu; f32
  reads %g %wf %bf: 128*n + 1320 bytes
  writes %y: 40*n bytes
