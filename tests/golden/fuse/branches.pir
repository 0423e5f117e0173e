# RUN: shapes | kernels
perfir 1
module @branches
dim n in 1.. = 4

graph @main(%x: f32[n, 64]) {
  %zero = weight {bytes=4} : f32[] = 0.0
  %wa = weight {location="wa.bin"} : f32[64, 64]
  %wb = weight {location="wb.bin"} : f32[64, 64]
  %mx = reduce_max(%x) {keepdims=0} : f32[] loc("mx", "ReduceMax")
  %cond = greater(%mx, %zero) : b1[] loc("cond", "Greater")
  %i = if(%cond) : f32[n, 64] loc("i", "If") {
    graph @then() {
      %t = matmul(%x, %wa) : f32[n, 64] loc("t", "MatMul")
      return %t
    }
    graph @else() {
      %e0 = relu(%x) : f32[n, 64] loc("e0", "Relu")
      %e = matmul(%e0, %wb) : f32[n, 64] loc("e", "MatMul")
      return %e
    }
  }
  %y = relu(%i) : f32[n, 64] loc("y", "Relu")
  return %y
}
# ---- expect
## cudagraph, eager, eager-literal, eager-unfused, fastertransformer, litert, llamacpp, openvino, ort, ort-cpu, ort-cpu-blocked, ort-fused, ort-optimized, paddle, sglang, tensorflow, torchscript, trainer, transformers, trtllm, trtllm-compiled, tvm, vllm
kernel 0: ReduceMax (reduction)
  nodes %mx
  64*n alu; f32
  reads %x: 256*n bytes
  writes %mx: 4 bytes
kernel 1: Greater (elementwise)
  nodes %cond
  1 alu; f32
  reads %mx %zero: 8 bytes
  writes %cond: 1 bytes
kernel 2: Relu (elementwise)
  nodes %e0
  64*n alu; f32
  reads %x: 256*n bytes
  writes %e0: 256*n bytes
kernel 3: MatMul (matmul)
  nodes %e
  4096*n mac; f32
  reads %e0 %wb: 256*n + 16384 bytes
  writes %e: 256*n bytes
kernel 4: Relu (elementwise)
  nodes %y
  64*n alu; f32
  reads %i: 256*n bytes
  writes %y: 256*n bytes
alternative to kernels from 2 up to 4:
  kernel 0: MatMul (matmul)
    nodes %t
    4096*n mac; f32
    reads %x %wa: 256*n + 16384 bytes
    writes %t: 256*n bytes

## inductor, inductor-cudagraph, ort-tensorrt, paddle-trt, tensorrt, tensorrt-unfused, xla
kernel 0: ReduceMax + Greater (reduction)
  nodes %mx %cond
  64*n + 1 alu; f32
  reads %x %zero: 256*n + 4 bytes
  writes %cond: 1 bytes
kernel 1: Relu (elementwise)
  nodes %e0
  64*n alu; f32
  reads %x: 256*n bytes
  writes %e0: 256*n bytes
kernel 2: MatMul (matmul)
  nodes %e
  4096*n mac; f32
  reads %e0 %wb: 256*n + 16384 bytes
  writes %e: 256*n bytes
kernel 3: Relu (elementwise)
  nodes %y
  64*n alu; f32
  reads %i: 256*n bytes
  writes %y: 256*n bytes
alternative to kernels from 1 up to 3:
  kernel 0: MatMul (matmul)
    nodes %t
    4096*n mac; f32
    reads %x %wa: 256*n + 16384 bytes
    writes %t: 256*n bytes
