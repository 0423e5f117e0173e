# RUN: shapes | kernels
perfir 1
module @views
graph @main(%x: f32[4, 6], %n: i64[2], %m: i64[2], %k: i64[1]) {
  %a = relu(%x) : ?
  %s = add(%n, %m) : ?
  %y = reshape(%a, %s) : ?
  %t = mul(%n, %m) : ?
  %b = sigmoid(%x) : ?
  %z = reshape(%b, %t) : ?
  %u = unsqueeze(%b, %k) : ?
  %v = transpose(%u) : ?
  %w = flatten(%v) : ?
  %c = tanh(%w) : ?
  %d = identity(%x) : ?
  %e = exp(%d) : ?
  return %y, %z, %c, %e, %d
}
# ---- expect
## cudagraph, eager, eager-literal, eager-unfused, llamacpp, ort-optimized, ort-tensorrt, paddle-trt, sglang, tensorrt, tensorrt-unfused, torchscript, trainer, transformers, trtllm, trtllm-compiled, vllm
kernel 0: relu (elementwise)
  nodes %a
  24 alu; f32
  reads %x: 96 bytes
  writes %a: 96 bytes
kernel 1: add (elementwise)
  nodes %s %y
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 2: mul (elementwise)
  nodes %t
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 3: sigmoid + transpose (elementwise)
  nodes %b %z %u %v %w
  48 alu, 48 sfu; f32
  reads %x: 96 bytes
  writes %b: 96 bytes
kernel 4: tanh (elementwise)
  nodes %c
  u5*u6*u7 sfu; f32
  reads %b: min(4*u5*u6*u7, 96) bytes
  writes %c: 4*u5*u6*u7 bytes
kernel 5: exp (elementwise)
  nodes %d %e
  24 sfu; f32
  reads %x: 96 bytes
  writes %e: 96 bytes

## fastertransformer, inductor, inductor-cudagraph, xla
kernel 0: relu (elementwise)
  nodes %a
  24 alu; f32
  reads %x: 96 bytes
  writes %a: 96 bytes
kernel 1: add (elementwise)
  nodes %s %y
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 2: mul (elementwise)
  nodes %t
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 3: sigmoid + transpose + tanh (elementwise)
  nodes %b %z %u %v %w %c
  48 alu, u5*u6*u7 + 48 sfu; f32
  reads %x: 96 bytes
  writes %b %c: 4*u5*u6*u7 + 96 bytes
kernel 4: exp (elementwise)
  nodes %d %e
  24 sfu; f32
  reads %x: 96 bytes
  writes %e: 96 bytes

## litert, openvino, ort, ort-cpu, ort-cpu-blocked, ort-fused, paddle, tensorflow
kernel 0: relu (elementwise)
  nodes %a
  24 alu; f32
  reads %x: 96 bytes
  writes %a: 96 bytes
kernel 1: add (elementwise)
  nodes %s %y
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 2: mul (elementwise)
  nodes %t
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 3: sigmoid (elementwise)
  nodes %b %z %u
  48 alu, 48 sfu; f32
  reads %x: 96 bytes
  writes %b: 96 bytes
kernel 4: transpose (movement)
  nodes %v %w
  no operations; f32
  reads %b: min(4*u5*u6*u7, 96) bytes
  writes %v: 4*u5*u6*u7 bytes
kernel 5: tanh (elementwise)
  nodes %c
  u5*u6*u7 sfu; f32
  reads %v: 4*u5*u6*u7 bytes
  writes %c: 4*u5*u6*u7 bytes
kernel 6: exp (elementwise)
  nodes %d %e
  24 sfu; f32
  reads %x: 96 bytes
  writes %e: 96 bytes

## tvm
kernel 0: relu + add (elementwise)
  nodes %a %s %y
  24 alu, 2 integer; f32
  reads %x %n %m: 128 bytes
  writes %a: 96 bytes
kernel 1: mul (elementwise)
  nodes %t
  2 integer; i64
  reads %n %m: 32 bytes
  writes nothing: 0 bytes
kernel 2: sigmoid (elementwise)
  nodes %b %z %u
  48 alu, 48 sfu; f32
  reads %x: 96 bytes
  writes %b: 96 bytes
kernel 3: transpose + tanh (movement)
  nodes %v %w %c
  u5*u6*u7 sfu; f32
  reads %b: min(4*u5*u6*u7, 96) bytes
  writes %c: 4*u5*u6*u7 bytes
kernel 4: exp (elementwise)
  nodes %d %e
  24 sfu; f32
  reads %x: 96 bytes
  writes %e: 96 bytes
