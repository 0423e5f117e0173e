# RUN: shapes | kernels
perfir 1
module @masked_rows
dim s in 1..512 = 16

graph @main(%q: f32[2, 8, s, 64], %k: f32[2, 8, 64, s], %v: f32[2, 8, s, 64], %q2: f32[2, 8, s, 64], %q3: f32[2, 8, s, 64]) {
  %zero = weight {constant=true} : f32[] = 0.0
  %half = weight {constant=true} : f32[] = 0.5
  %a = matmul(%q, %k) : ? loc("scores", "MatMul")
  %p = softmax(%a) : ? loc("shares", "Softmax")
  %empty = is_nan(%p) : ? loc("empty", "IsNaN")
  %clean = where(%empty, %zero, %p) : ? loc("clean", "Where")
  %o = matmul(%clean, %v) : ? loc("mixed", "MatMul")
  %b = matmul(%q2, %k) : ? loc("scores2", "MatMul")
  %r = softmax(%b) : ? loc("shares2", "Softmax")
  %odd = is_nan(%r) : ? loc("odd", "IsNaN")
  %cast = cast(%odd) {to="f32"} : ? loc("cast", "Cast")
  %kept = mul(%r, %half) : ? loc("kept", "Mul")
  %o2 = matmul(%kept, %v) : ? loc("mixed2", "MatMul")
  %c = matmul(%q3, %k) : ? loc("scores3", "MatMul")
  %t = softmax(%c) : ? loc("shares3", "Softmax")
  %big = greater(%t, %half) : ? loc("big", "Greater")
  %cut = where(%big, %zero, %t) : ? loc("cut", "Where")
  %o3 = matmul(%cut, %v) : ? loc("mixed3", "MatMul")
  return %o, %cast, %o2, %o3
}
# ---- expect
## cudagraph, eager, eager-literal, eager-unfused, litert, llamacpp, ort, ort-cpu, ort-cpu-blocked, ort-fused, paddle, sglang, tensorflow, trainer, transformers, trtllm, trtllm-compiled, vllm
kernel 0: MatMul (matmul)
  nodes %a
  1024*s*s mac; f32
  reads %q %k: 8192*s bytes
  writes %a: 64*s*s bytes
kernel 1: Softmax (softmax)
  nodes %p
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %a: 64*s*s bytes
  writes %p: 64*s*s bytes
kernel 2: IsNaN (elementwise)
  nodes %empty
  16*s*s alu; f32
  reads %p: 64*s*s bytes
  writes %empty: 16*s*s bytes
kernel 3: Where (elementwise)
  nodes %clean
  16*s*s integer; b1
  reads %empty %zero %p: 80*s*s + 4 bytes
  writes %clean: 64*s*s bytes
kernel 4: MatMul (matmul)
  nodes %o
  1024*s*s mac; f32
  reads %clean %v: 64*s*s + 4096*s bytes
  writes %o: 4096*s bytes
kernel 5: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 6: Softmax (softmax)
  nodes %r
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b: 64*s*s bytes
  writes %r: 64*s*s bytes
kernel 7: IsNaN (elementwise)
  nodes %odd
  16*s*s alu; f32
  reads %r: 64*s*s bytes
  writes %odd: 16*s*s bytes
kernel 8: Cast (elementwise)
  nodes %cast
  16*s*s alu; b1
  reads %odd: 16*s*s bytes
  writes %cast: 64*s*s bytes
kernel 9: Mul (elementwise)
  nodes %kept
  16*s*s alu; f32
  reads %r %half: 64*s*s + 4 bytes
  writes %kept: 64*s*s bytes
kernel 10: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 11: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 12: Softmax (softmax)
  nodes %t
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %c: 64*s*s bytes
  writes %t: 64*s*s bytes
kernel 13: Greater (elementwise)
  nodes %big
  16*s*s alu; f32
  reads %t %half: 64*s*s + 4 bytes
  writes %big: 16*s*s bytes
kernel 14: Where (elementwise)
  nodes %cut
  16*s*s integer; b1
  reads %big %zero %t: 80*s*s + 4 bytes
  writes %cut: 64*s*s bytes
kernel 15: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## fastertransformer, xla
kernel 0: MatMul (matmul)
  nodes %a
  1024*s*s mac; f32
  reads %q %k: 8192*s bytes
  writes %a: 64*s*s bytes
kernel 1: Softmax + IsNaN + Where (softmax)
  nodes %p %empty %clean
  80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %a %zero: 64*s*s + 4 bytes
  writes %clean: 64*s*s bytes
kernel 2: MatMul (matmul)
  nodes %o
  1024*s*s mac; f32
  reads %clean %v: 64*s*s + 4096*s bytes
  writes %o: 4096*s bytes
kernel 3: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 4: Softmax + IsNaN + Cast + Mul (softmax)
  nodes %r %odd %cast %kept
  112*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b %half: 64*s*s + 4 bytes
  writes %cast %kept: 128*s*s bytes
kernel 5: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 6: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 7: Softmax + Greater + Where (softmax)
  nodes %t %big %cut
  80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %c %half %zero: 64*s*s + 8 bytes
  writes %cut: 64*s*s bytes
kernel 8: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## inductor, inductor-cudagraph
kernel 0: MatMul + Softmax + … 2 more + MatMul (attention, attention)
  nodes %a %p %empty %clean %o
  2048*s*s mac, 80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %q %k %zero %v: 12288*s + 4 bytes
  writes %o: 4096*s bytes
kernel 1: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 2: Softmax + IsNaN + Cast + Mul (softmax)
  nodes %r %odd %cast %kept
  112*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b %half: 64*s*s + 4 bytes
  writes %cast %kept: 128*s*s bytes
kernel 3: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 4: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 5: Softmax + Greater + Where (softmax)
  nodes %t %big %cut
  80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %c %half %zero: 64*s*s + 8 bytes
  writes %cut: 64*s*s bytes
kernel 6: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## openvino, tensorrt-unfused, torchscript
kernel 0: MatMul (matmul)
  nodes %a
  1024*s*s mac; f32
  reads %q %k: 8192*s bytes
  writes %a: 64*s*s bytes
kernel 1: Softmax (softmax)
  nodes %p
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %a: 64*s*s bytes
  writes %p: 64*s*s bytes
kernel 2: IsNaN + Where (elementwise)
  nodes %empty %clean
  16*s*s alu, 16*s*s integer; f32
  reads %p %zero: 64*s*s + 4 bytes
  writes %clean: 64*s*s bytes
kernel 3: MatMul (matmul)
  nodes %o
  1024*s*s mac; f32
  reads %clean %v: 64*s*s + 4096*s bytes
  writes %o: 4096*s bytes
kernel 4: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 5: Softmax (softmax)
  nodes %r
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b: 64*s*s bytes
  writes %r: 64*s*s bytes
kernel 6: IsNaN + Cast (elementwise)
  nodes %odd %cast
  32*s*s alu; f32
  reads %r: 64*s*s bytes
  writes %cast: 64*s*s bytes
kernel 7: Mul (elementwise)
  nodes %kept
  16*s*s alu; f32
  reads %r %half: 64*s*s + 4 bytes
  writes %kept: 64*s*s bytes
kernel 8: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 9: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 10: Softmax (softmax)
  nodes %t
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %c: 64*s*s bytes
  writes %t: 64*s*s bytes
kernel 11: Greater + Where (elementwise)
  nodes %big %cut
  16*s*s alu, 16*s*s integer; f32
  reads %t %half %zero: 64*s*s + 8 bytes
  writes %cut: 64*s*s bytes
kernel 12: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## ort-optimized
kernel 0: MatMul + Softmax + … 2 more + MatMul (attention, attention)
  nodes %a %p %empty %clean %o
  2048*s*s mac, 80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %q %k %zero %v: 12288*s + 4 bytes
  writes %o: 4096*s bytes
kernel 1: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 2: Softmax (softmax)
  nodes %r
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b: 64*s*s bytes
  writes %r: 64*s*s bytes
kernel 3: IsNaN (elementwise)
  nodes %odd
  16*s*s alu; f32
  reads %r: 64*s*s bytes
  writes %odd: 16*s*s bytes
kernel 4: Cast (elementwise)
  nodes %cast
  16*s*s alu; b1
  reads %odd: 16*s*s bytes
  writes %cast: 64*s*s bytes
kernel 5: Mul (elementwise)
  nodes %kept
  16*s*s alu; f32
  reads %r %half: 64*s*s + 4 bytes
  writes %kept: 64*s*s bytes
kernel 6: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 7: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 8: Softmax (softmax)
  nodes %t
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %c: 64*s*s bytes
  writes %t: 64*s*s bytes
kernel 9: Greater (elementwise)
  nodes %big
  16*s*s alu; f32
  reads %t %half: 64*s*s + 4 bytes
  writes %big: 16*s*s bytes
kernel 10: Where (elementwise)
  nodes %cut
  16*s*s integer; b1
  reads %big %zero %t: 80*s*s + 4 bytes
  writes %cut: 64*s*s bytes
kernel 11: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## ort-tensorrt, paddle-trt, tensorrt
kernel 0: MatMul + Softmax + … 2 more + MatMul (attention, attention)
  nodes %a %p %empty %clean %o
  2048*s*s mac, 80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %q %k %zero %v: 12288*s + 4 bytes
  writes %o: 4096*s bytes
kernel 1: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 2: Softmax (softmax)
  nodes %r
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b: 64*s*s bytes
  writes %r: 64*s*s bytes
kernel 3: IsNaN + Cast (elementwise)
  nodes %odd %cast
  32*s*s alu; f32
  reads %r: 64*s*s bytes
  writes %cast: 64*s*s bytes
kernel 4: Mul (elementwise)
  nodes %kept
  16*s*s alu; f32
  reads %r %half: 64*s*s + 4 bytes
  writes %kept: 64*s*s bytes
kernel 5: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 6: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 7: Softmax (softmax)
  nodes %t
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %c: 64*s*s bytes
  writes %t: 64*s*s bytes
kernel 8: Greater + Where (elementwise)
  nodes %big %cut
  16*s*s alu, 16*s*s integer; f32
  reads %t %half %zero: 64*s*s + 8 bytes
  writes %cut: 64*s*s bytes
kernel 9: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes

## tvm
kernel 0: MatMul (matmul)
  nodes %a
  1024*s*s mac; f32
  reads %q %k: 8192*s bytes
  writes %a: 64*s*s bytes
kernel 1: Softmax + IsNaN + Where (softmax)
  nodes %p %empty %clean
  80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %a %zero: 64*s*s + 4 bytes
  writes %clean: 64*s*s bytes
kernel 2: MatMul (matmul)
  nodes %o
  1024*s*s mac; f32
  reads %clean %v: 64*s*s + 4096*s bytes
  writes %o: 4096*s bytes
kernel 3: MatMul (matmul)
  nodes %b
  1024*s*s mac; f32
  reads %q2 %k: 8192*s bytes
  writes %b: 64*s*s bytes
kernel 4: Softmax (softmax)
  nodes %r
  64*s*s alu, 16*s*s + 16*s sfu; f32
  reads %b: 64*s*s bytes
  writes %r: 64*s*s bytes
kernel 5: IsNaN + Cast (elementwise)
  nodes %odd %cast
  32*s*s alu; f32
  reads %r: 64*s*s bytes
  writes %cast: 64*s*s bytes
kernel 6: Mul (elementwise)
  nodes %kept
  16*s*s alu; f32
  reads %r %half: 64*s*s + 4 bytes
  writes %kept: 64*s*s bytes
kernel 7: MatMul (matmul)
  nodes %o2
  1024*s*s mac; f32
  reads %kept %v: 64*s*s + 4096*s bytes
  writes %o2: 4096*s bytes
kernel 8: MatMul (matmul)
  nodes %c
  1024*s*s mac; f32
  reads %q3 %k: 8192*s bytes
  writes %c: 64*s*s bytes
kernel 9: Softmax + Greater + Where (softmax)
  nodes %t %big %cut
  80*s*s alu, 16*s*s + 16*s sfu, 16*s*s integer; f32
  reads %c %half %zero: 64*s*s + 8 bytes
  writes %cut: 64*s*s bytes
kernel 10: MatMul (matmul)
  nodes %o3
  1024*s*s mac; f32
  reads %cut %v: 64*s*s + 4096*s bytes
  writes %o3: 4096*s bytes
