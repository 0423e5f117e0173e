# RUN: shapes | kernels
perfir 1
module @quantised
dim n in 1.. = 4

graph @main(%x: f32[n, 32, 28, 28]) {
  %s = weight {bytes=4} : f32[] = 0.10000000149011612
  %z = weight {bytes=1} : i8[] = 0
  %wq = weight {location="wq.bin"} : i8[32, 32, 3, 3]
  %wf = weight {location="wf.bin"} : f32[32, 32, 1, 1]
  %xq = quantize_linear(%x, %s, %z) : i8[n, 32, 28, 28] loc("xq", "QuantizeLinear")
  %xd = dequantize_linear(%xq, %s, %z) : f32[n, 32, 28, 28] loc("xd", "DequantizeLinear")
  %wdq = dequantize_linear(%wq, %s, %z) : f32[32, 32, 3, 3] loc("wdq", "DequantizeLinear")
  %c = conv(%xd, %wdq) {pads=[1, 1, 1, 1]} : f32[n, 32, 28, 28] loc("c", "Conv")
  %r = relu(%c) : f32[n, 32, 28, 28] loc("r", "Relu")
  %rq = quantize_linear(%r, %s, %z) : i8[n, 32, 28, 28] loc("rq", "QuantizeLinear")
  %rd = dequantize_linear(%rq, %s, %z) : f32[n, 32, 28, 28] loc("rd", "DequantizeLinear")
  %mp = max_pool(%rd) {kernel_shape=[2, 2], strides=[2, 2]} : f32[n, 32, 14, 14] loc("mp", "MaxPool")
  %mq = quantize_linear(%mp, %s, %z) : i8[n, 32, 14, 14] loc("mq", "QuantizeLinear")
  %md = dequantize_linear(%mq, %s, %z) : f32[n, 32, 14, 14] loc("md", "DequantizeLinear")
  %y = conv(%md, %wf) : f32[n, 32, 14, 14] loc("y", "Conv")
  return %y
}
# ---- expect
## cudagraph, eager, eager-literal, eager-unfused, llamacpp, sglang, torchscript, trainer, transformers
kernel 0: QuantizeLinear (quantize)
  nodes %xq
  100352*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xq: 25088*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %xd
  50176*n alu; i8
  reads %xq %s %z: 25088*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 2: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 3: Conv (conv)
  nodes %c
  7225344*n mac; f32
  reads %xd %wdq: 100352*n + 36864 bytes
  writes %c: 100352*n bytes
kernel 4: Relu (elementwise)
  nodes %r
  25088*n alu; f32
  reads %c: 100352*n bytes
  writes %r: 100352*n bytes
kernel 5: QuantizeLinear (quantize)
  nodes %rq
  100352*n alu; f32
  reads %r %s %z: 100352*n + 5 bytes
  writes %rq: 25088*n bytes
kernel 6: DequantizeLinear (quantize)
  nodes %rd
  50176*n alu; i8
  reads %rq %s %z: 25088*n + 5 bytes
  writes %rd: 100352*n bytes
kernel 7: MaxPool (pool)
  nodes %mp
  18816*n alu; f32
  reads %rd: 100352*n bytes
  writes %mp: 25088*n bytes
kernel 8: QuantizeLinear (quantize)
  nodes %mq
  25088*n alu; f32
  reads %mp %s %z: 25088*n + 5 bytes
  writes %mq: 6272*n bytes
kernel 9: DequantizeLinear (quantize)
  nodes %md
  12544*n alu; i8
  reads %mq %s %z: 6272*n + 5 bytes
  writes %md: 25088*n bytes
kernel 10: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes

## fastertransformer, litert, openvino, ort, ort-cpu, ort-cpu-blocked, ort-fused, ort-optimized, ort-tensorrt, paddle-trt, tensorrt, tensorrt-unfused
kernel 0: QuantizeLinear (quantize)
  nodes %xq
  100352*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xq: 25088*n bytes
kernel 1: DequantizeLinear + Conv + Relu + QuantizeLinear (conv, quantized)
  nodes %xd %wdq %c %r %rq
  7225344*n mac, 175616*n + 18432 alu; i8
  reads %xq %s %z %wq: 25088*n + 9221 bytes
  writes %rq: 25088*n bytes
kernel 2: DequantizeLinear + MaxPool + QuantizeLinear (pool, quantized)
  nodes %rd %mp %mq
  94080*n alu; f32
  reads %rq %s %z: 25088*n + 5 bytes
  writes %mq: 6272*n bytes
kernel 3: DequantizeLinear + Conv (conv, quantized)
  nodes %md %y
  200704*n mac, 12544*n alu; f32
  reads %mq %s %z %wf: 6272*n + 4101 bytes
  writes %y: 25088*n bytes

## inductor, inductor-cudagraph
kernel 0: QuantizeLinear + DequantizeLinear (quantize)
  nodes %xq %xd
  150528*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 2: Conv (conv)
  nodes %c
  7225344*n mac; f32
  reads %xd %wdq: 100352*n + 36864 bytes
  writes %c: 100352*n bytes
kernel 3: Relu + QuantizeLinear + DequantizeLinear (elementwise)
  nodes %r %rq %rd
  175616*n alu; f32
  reads %c %s %z: 100352*n + 5 bytes
  writes %rd: 100352*n bytes
kernel 4: MaxPool (pool)
  nodes %mp
  18816*n alu; f32
  reads %rd: 100352*n bytes
  writes %mp: 25088*n bytes
kernel 5: QuantizeLinear + DequantizeLinear (quantize)
  nodes %mq %md
  37632*n alu; f32
  reads %mp %s %z: 25088*n + 5 bytes
  writes %md: 25088*n bytes
kernel 6: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes

## paddle, tensorflow
kernel 0: QuantizeLinear (quantize)
  nodes %xq
  100352*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xq: 25088*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %xd
  50176*n alu; i8
  reads %xq %s %z: 25088*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 2: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 3: Conv + Relu (conv)
  nodes %c %r
  7225344*n mac, 25088*n alu; f32
  reads %xd %wdq: 100352*n + 36864 bytes
  writes %r: 100352*n bytes
kernel 4: QuantizeLinear (quantize)
  nodes %rq
  100352*n alu; f32
  reads %r %s %z: 100352*n + 5 bytes
  writes %rq: 25088*n bytes
kernel 5: DequantizeLinear (quantize)
  nodes %rd
  50176*n alu; i8
  reads %rq %s %z: 25088*n + 5 bytes
  writes %rd: 100352*n bytes
kernel 6: MaxPool (pool)
  nodes %mp
  18816*n alu; f32
  reads %rd: 100352*n bytes
  writes %mp: 25088*n bytes
kernel 7: QuantizeLinear (quantize)
  nodes %mq
  25088*n alu; f32
  reads %mp %s %z: 25088*n + 5 bytes
  writes %mq: 6272*n bytes
kernel 8: DequantizeLinear (quantize)
  nodes %md
  12544*n alu; i8
  reads %mq %s %z: 6272*n + 5 bytes
  writes %md: 25088*n bytes
kernel 9: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes

## trtllm, trtllm-compiled, vllm
kernel 0: QuantizeLinear (quantize)
  nodes %xq
  100352*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xq: 25088*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %xd
  50176*n alu; i8
  reads %xq %s %z: 25088*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 2: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 3: Conv (conv)
  nodes %c
  7225344*n mac; f32
  reads %xd %wdq: 100352*n + 36864 bytes
  writes %c: 100352*n bytes
kernel 4: Relu + QuantizeLinear + DequantizeLinear (elementwise)
  nodes %r %rq %rd
  175616*n alu; f32
  reads %c %s %z: 100352*n + 5 bytes
  writes %rd: 100352*n bytes
kernel 5: MaxPool (pool)
  nodes %mp
  18816*n alu; f32
  reads %rd: 100352*n bytes
  writes %mp: 25088*n bytes
kernel 6: QuantizeLinear (quantize)
  nodes %mq
  25088*n alu; f32
  reads %mp %s %z: 25088*n + 5 bytes
  writes %mq: 6272*n bytes
kernel 7: DequantizeLinear (quantize)
  nodes %md
  12544*n alu; i8
  reads %mq %s %z: 6272*n + 5 bytes
  writes %md: 25088*n bytes
kernel 8: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes

## tvm
kernel 0: QuantizeLinear + DequantizeLinear (quantize)
  nodes %xq %xd
  150528*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 2: Conv + Relu + QuantizeLinear + DequantizeLinear (conv)
  nodes %c %r %rq %rd
  7225344*n mac, 175616*n alu; f32
  reads %xd %wdq %s %z: 100352*n + 36869 bytes
  writes %rd: 100352*n bytes
kernel 3: MaxPool + QuantizeLinear + DequantizeLinear (pool)
  nodes %mp %mq %md
  56448*n alu; f32
  reads %rd %s %z: 100352*n + 5 bytes
  writes %md: 25088*n bytes
kernel 4: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes

## xla
kernel 0: QuantizeLinear + DequantizeLinear (quantize)
  nodes %xq %xd
  150528*n alu; f32
  reads %x %s %z: 100352*n + 5 bytes
  writes %xd: 100352*n bytes
kernel 1: DequantizeLinear (quantize)
  nodes %wdq
  18432 alu; i8
  reads %wq %s %z: 9221 bytes
  writes %wdq: 36864 bytes
kernel 2: Conv + Relu (conv)
  nodes %c %r
  7225344*n mac, 25088*n alu; f32
  reads %xd %wdq: 100352*n + 36864 bytes
  writes %r: 100352*n bytes
kernel 3: QuantizeLinear + DequantizeLinear (quantize)
  nodes %rq %rd
  150528*n alu; f32
  reads %r %s %z: 100352*n + 5 bytes
  writes %rd: 100352*n bytes
kernel 4: MaxPool (pool)
  nodes %mp
  18816*n alu; f32
  reads %rd: 100352*n bytes
  writes %mp: 25088*n bytes
kernel 5: QuantizeLinear + DequantizeLinear (quantize)
  nodes %mq %md
  37632*n alu; f32
  reads %mp %s %z: 25088*n + 5 bytes
  writes %md: 25088*n bytes
kernel 6: Conv (conv)
  nodes %y
  200704*n mac; f32
  reads %md %wf: 25088*n + 4096 bytes
  writes %y: 25088*n bytes
