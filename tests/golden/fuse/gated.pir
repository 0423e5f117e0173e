# RUN: shapes | kernels
perfir 1
module @gated
dim t in 1.. = 128

graph @main(%x: f32[1, t, 256]) {
  %two = weight {bytes=4} : f32[] = 2.0
  %last = weight {bytes=8} : i64[1] = [-1]
  %eps = weight {bytes=4} : f32[] = 9.999999974752427e-07
  %gamma = weight {location="gamma.bin"} : f32[256]
  %wg = weight {location="wg.bin"} : f32[256, 688]
  %wu = weight {location="wu.bin"} : f32[256, 688]
  %wd = weight {location="wd.bin"} : f32[688, 256]
  %zero = weight {bytes=8} : i64[1] = [0]
  %h = weight {bytes=8} : i64[1] = [128]
  %far = weight {bytes=8} : i64[1] = [256]
  %ax = weight {bytes=8} : i64[1] = [-1]
  %sin = weight {location="sin.bin"} : f32[256]
  %sq = pow(%x, %two) : f32[1, t, 256] loc("sq", "Pow")
  %ms = reduce_mean(%sq, %last) : f32[1, t, 1] loc("ms", "ReduceMean")
  %me = add(%ms, %eps) : f32[1, t, 1] loc("me", "Add")
  %rt = sqrt(%me) : f32[1, t, 1] loc("rt", "Sqrt")
  %rr = reciprocal(%rt) : f32[1, t, 1] loc("rr", "Reciprocal")
  %xn = mul(%x, %rr) : f32[1, t, 256] loc("xn", "Mul")
  %nrm = mul(%xn, %gamma) : f32[1, t, 256] loc("nrm", "Mul")
  %gate = matmul(%nrm, %wg) : f32[1, t, 688] loc("gate", "MatMul")
  %up = matmul(%nrm, %wu) : f32[1, t, 688] loc("up", "MatMul")
  %sg = sigmoid(%gate) : f32[1, t, 688] loc("sg", "Sigmoid")
  %silu = mul(%gate, %sg) : f32[1, t, 688] loc("silu", "Mul")
  %prod = mul(%silu, %up) : f32[1, t, 688] loc("prod", "Mul")
  %down = matmul(%prod, %wd) : f32[1, t, 256] loc("down", "MatMul")
  %res = add(%down, %x) : f32[1, t, 256] loc("res", "Add")
  %lo = slice(%res, %zero, %h, %ax) : f32[1, t, 128] loc("lo", "Slice")
  %hi = slice(%res, %h, %far, %ax) : f32[1, t, 128] loc("hi", "Slice")
  %nh = neg(%hi) : f32[1, t, 128] loc("nh", "Neg")
  %rot = concat(%nh, %lo) {axis=-1} : f32[1, t, 256] loc("rot", "Concat")
  %y = mul(%rot, %sin) : f32[1, t, 256] loc("y", "Mul")
  return %y
}
# ---- expect
## cudagraph, eager, eager-unfused, trainer, transformers
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 2: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 3: Sigmoid + Mul (elementwise, activation)
  nodes %sg %silu
  2064*t alu, 1376*t sfu; f32
  reads %gate: 2752*t bytes
  writes %silu: 2752*t bytes
kernel 4: Mul (elementwise)
  nodes %prod
  688*t alu; f32
  reads %silu %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 5: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 6: Add + Slice (elementwise)
  nodes %res %lo %hi
  256*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res: 1024*t bytes
kernel 7: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %res: 512*t bytes
  writes %nh: 512*t bytes
kernel 8: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 9: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## eager-literal, llamacpp, sglang, trtllm, trtllm-compiled, vllm
kernel 0: Pow (elementwise)
  nodes %sq
  256*t sfu; f32
  reads %x %two: 1024*t + 4 bytes
  writes %sq: 1024*t bytes
kernel 1: ReduceMean (reduction)
  nodes %ms
  256*t alu, t sfu; f32
  reads %sq %last: 1024*t + 8 bytes
  writes %ms: 4*t bytes
kernel 2: Add (elementwise)
  nodes %me
  t alu; f32
  reads %ms %eps: 4*t + 4 bytes
  writes %me: 4*t bytes
kernel 3: Sqrt (elementwise)
  nodes %rt
  t sfu; f32
  reads %me: 4*t bytes
  writes %rt: 4*t bytes
kernel 4: Reciprocal (elementwise)
  nodes %rr
  t sfu; f32
  reads %rt: 4*t bytes
  writes %rr: 4*t bytes
kernel 5: Mul (elementwise)
  nodes %xn
  256*t alu; f32
  reads %x %rr: 1028*t bytes
  writes %xn: 1024*t bytes
kernel 6: Mul (elementwise)
  nodes %nrm
  256*t alu; f32
  reads %xn %gamma: 1024*t + 1024 bytes
  writes %nrm: 1024*t bytes
kernel 7: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 8: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 9: Sigmoid (elementwise)
  nodes %sg
  1376*t alu, 1376*t sfu; f32
  reads %gate: 2752*t bytes
  writes %sg: 2752*t bytes
kernel 10: Mul (elementwise)
  nodes %silu
  688*t alu; f32
  reads %gate %sg: 5504*t bytes
  writes %silu: 2752*t bytes
kernel 11: Mul (elementwise)
  nodes %prod
  688*t alu; f32
  reads %silu %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 12: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 13: Add + Slice (elementwise)
  nodes %res %lo %hi
  256*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res: 1024*t bytes
kernel 14: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %res: 512*t bytes
  writes %nh: 512*t bytes
kernel 15: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 16: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## fastertransformer
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul, joined_products)
  nodes %gate %up
  352256*t mac; f32
  reads %nrm %wg %wu: 1024*t + 1409024 bytes
  writes %gate %up: 5504*t bytes
kernel 2: Sigmoid + Mul (elementwise, activation)
  nodes %sg %silu %prod
  2752*t alu, 1376*t sfu; f32
  reads %gate %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 3: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 4: Add + Slice + Neg (elementwise)
  nodes %res %lo %hi %nh
  384*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res %nh: 1536*t bytes
kernel 5: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 6: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## inductor, inductor-cudagraph
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 2: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 3: Sigmoid + Mul (elementwise)
  nodes %sg %silu %prod
  2752*t alu, 1376*t sfu; f32
  reads %gate %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 4: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 5: Add + Slice + … 2 more + Mul (movement)
  nodes %res %lo %hi %nh %rot %y
  640*t alu; f32
  reads %down %x %sin: 2048*t + 1024 bytes
  writes %y: 1024*t bytes

## litert, paddle, tensorflow
kernel 0: Pow (elementwise)
  nodes %sq
  256*t sfu; f32
  reads %x %two: 1024*t + 4 bytes
  writes %sq: 1024*t bytes
kernel 1: ReduceMean (reduction)
  nodes %ms
  256*t alu, t sfu; f32
  reads %sq %last: 1024*t + 8 bytes
  writes %ms: 4*t bytes
kernel 2: Add (elementwise)
  nodes %me
  t alu; f32
  reads %ms %eps: 4*t + 4 bytes
  writes %me: 4*t bytes
kernel 3: Sqrt (elementwise)
  nodes %rt
  t sfu; f32
  reads %me: 4*t bytes
  writes %rt: 4*t bytes
kernel 4: Reciprocal (elementwise)
  nodes %rr
  t sfu; f32
  reads %rt: 4*t bytes
  writes %rr: 4*t bytes
kernel 5: Mul (elementwise)
  nodes %xn
  256*t alu; f32
  reads %x %rr: 1028*t bytes
  writes %xn: 1024*t bytes
kernel 6: Mul (elementwise)
  nodes %nrm
  256*t alu; f32
  reads %xn %gamma: 1024*t + 1024 bytes
  writes %nrm: 1024*t bytes
kernel 7: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 8: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 9: Sigmoid (elementwise)
  nodes %sg
  1376*t alu, 1376*t sfu; f32
  reads %gate: 2752*t bytes
  writes %sg: 2752*t bytes
kernel 10: Mul (elementwise)
  nodes %silu
  688*t alu; f32
  reads %gate %sg: 5504*t bytes
  writes %silu: 2752*t bytes
kernel 11: Mul (elementwise)
  nodes %prod
  688*t alu; f32
  reads %silu %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 12: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 13: Add (elementwise)
  nodes %res
  256*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res: 1024*t bytes
kernel 14: Slice (movement)
  nodes %lo
  no operations; f32
  reads %res %zero %h %ax: 512*t bytes
  writes %lo: 512*t bytes
kernel 15: Slice (movement)
  nodes %hi
  no operations; f32
  reads %res %h %far %ax: 512*t bytes
  writes %hi: 512*t bytes
kernel 16: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %hi: 512*t bytes
  writes %nh: 512*t bytes
kernel 17: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %lo: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 18: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## openvino
kernel 0: Pow (elementwise)
  nodes %sq
  256*t sfu; f32
  reads %x %two: 1024*t + 4 bytes
  writes %sq: 1024*t bytes
kernel 1: ReduceMean (reduction)
  nodes %ms
  256*t alu, t sfu; f32
  reads %sq %last: 1024*t + 8 bytes
  writes %ms: 4*t bytes
kernel 2: Add + Sqrt + Reciprocal + Mul (elementwise)
  nodes %me %rt %rr %xn %nrm
  513*t alu, 2*t sfu; f32
  reads %ms %eps %x %gamma: 1028*t + 1028 bytes
  writes %nrm: 1024*t bytes
kernel 3: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 4: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 5: Sigmoid + Mul (elementwise)
  nodes %sg %silu %prod
  2752*t alu, 1376*t sfu; f32
  reads %gate %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 6: MatMul + Add (matmul)
  nodes %down %res
  176128*t mac, 256*t alu; f32
  reads %prod %wd %x: 3776*t + 704512 bytes
  writes %res: 1024*t bytes
kernel 7: Slice (movement)
  nodes %lo
  no operations; f32
  reads %res %zero %h %ax: 512*t bytes
  writes %lo: 512*t bytes
kernel 8: Slice (movement)
  nodes %hi
  no operations; f32
  reads %res %h %far %ax: 512*t bytes
  writes %hi: 512*t bytes
kernel 9: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %hi: 512*t bytes
  writes %nh: 512*t bytes
kernel 10: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %lo: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 11: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## ort, ort-cpu, ort-cpu-blocked, ort-fused
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 2: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 3: Sigmoid + Mul (elementwise, quick_gelu)
  nodes %sg %silu
  2064*t alu, 1376*t sfu; f32
  reads %gate: 2752*t bytes
  writes %silu: 2752*t bytes
kernel 4: Mul (elementwise)
  nodes %prod
  688*t alu; f32
  reads %silu %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 5: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 6: Add (elementwise)
  nodes %res
  256*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res: 1024*t bytes
kernel 7: Slice (movement)
  nodes %lo
  no operations; f32
  reads %res %zero %h %ax: 512*t bytes
  writes %lo: 512*t bytes
kernel 8: Slice (movement)
  nodes %hi
  no operations; f32
  reads %res %h %far %ax: 512*t bytes
  writes %hi: 512*t bytes
kernel 9: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %hi: 512*t bytes
  writes %nh: 512*t bytes
kernel 10: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %lo: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 11: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## ort-optimized
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul, joined_products)
  nodes %gate %up
  352256*t mac; f32
  reads %nrm %wg %wu: 1024*t + 1409024 bytes
  writes %gate %up: 5504*t bytes
kernel 2: Sigmoid + Mul (elementwise, quick_gelu)
  nodes %sg %silu
  2064*t alu, 1376*t sfu; f32
  reads %gate: 2752*t bytes
  writes %silu: 2752*t bytes
kernel 3: Mul (elementwise)
  nodes %prod
  688*t alu; f32
  reads %silu %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 4: MatMul + Add + Slice (matmul)
  nodes %down %res %lo %hi
  176128*t mac, 256*t alu; f32
  reads %prod %wd %x: 3776*t + 704512 bytes
  writes %res: 1024*t bytes
kernel 5: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %res: 512*t bytes
  writes %nh: 512*t bytes
kernel 6: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 7: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## ort-tensorrt, paddle-trt, tensorrt, tensorrt-unfused
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul + Sigmoid + Mul (matmul, joined_products)
  nodes %gate %up %sg %silu %prod
  352256*t mac, 2752*t alu, 1376*t sfu; f32
  reads %nrm %wg %wu: 1024*t + 1409024 bytes
  writes %prod: 2752*t bytes
kernel 2: MatMul + Add + Slice (matmul)
  nodes %down %res %lo %hi
  176128*t mac, 256*t alu; f32
  reads %prod %wd %x: 3776*t + 704512 bytes
  writes %res: 1024*t bytes
kernel 3: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %res: 512*t bytes
  writes %nh: 512*t bytes
kernel 4: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 5: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## torchscript
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction, rms_norm)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 2: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 3: Sigmoid + Mul (elementwise, activation)
  nodes %sg %silu %prod
  2752*t alu, 1376*t sfu; f32
  reads %gate %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 4: MatMul (matmul)
  nodes %down
  176128*t mac; f32
  reads %prod %wd: 2752*t + 704512 bytes
  writes %down: 1024*t bytes
kernel 5: Add + Slice (elementwise)
  nodes %res %lo %hi
  256*t alu; f32
  reads %down %x: 2048*t bytes
  writes %res: 1024*t bytes
kernel 6: Neg (elementwise)
  nodes %nh
  128*t alu; f32
  reads %res: 512*t bytes
  writes %nh: 512*t bytes
kernel 7: Concat (movement)
  nodes %rot
  no operations; f32
  reads %nh %res: 1024*t bytes
  writes %rot: 1024*t bytes
kernel 8: Mul (elementwise)
  nodes %y
  256*t alu; f32
  reads %rot %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## tvm
kernel 0: Pow (elementwise)
  nodes %sq
  256*t sfu; f32
  reads %x %two: 1024*t + 4 bytes
  writes %sq: 1024*t bytes
kernel 1: ReduceMean + Add + … 2 more + Mul (reduction)
  nodes %ms %me %rt %rr %xn %nrm
  769*t alu, 3*t sfu; f32
  reads %sq %last %eps %x %gamma: 2048*t + 1036 bytes
  writes %nrm: 1024*t bytes
kernel 2: MatMul + Sigmoid + Mul (matmul)
  nodes %gate %sg %silu
  176128*t mac, 2064*t alu, 1376*t sfu; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %silu: 2752*t bytes
kernel 3: MatMul + Mul (matmul)
  nodes %up %prod
  176128*t mac, 688*t alu; f32
  reads %nrm %wu %silu: 3776*t + 704512 bytes
  writes %prod: 2752*t bytes
kernel 4: MatMul + Add (matmul)
  nodes %down %res
  176128*t mac, 256*t alu; f32
  reads %prod %wd %x: 3776*t + 704512 bytes
  writes %res: 1024*t bytes
kernel 5: Slice + Neg + Concat + Mul (movement)
  nodes %lo %hi %nh %rot %y
  384*t alu; f32
  reads %res %zero %h %ax %far %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes

## xla
kernel 0: Pow + ReduceMean + … 3 more + Mul (reduction)
  nodes %sq %ms %me %rt %rr %xn %nrm
  769*t alu, 259*t sfu; f32
  reads %x %two %last %eps %gamma: 1024*t + 1040 bytes
  writes %nrm: 1024*t bytes
kernel 1: MatMul (matmul)
  nodes %gate
  176128*t mac; f32
  reads %nrm %wg: 1024*t + 704512 bytes
  writes %gate: 2752*t bytes
kernel 2: MatMul (matmul)
  nodes %up
  176128*t mac; f32
  reads %nrm %wu: 1024*t + 704512 bytes
  writes %up: 2752*t bytes
kernel 3: Sigmoid + Mul (elementwise)
  nodes %sg %silu %prod
  2752*t alu, 1376*t sfu; f32
  reads %gate %up: 5504*t bytes
  writes %prod: 2752*t bytes
kernel 4: MatMul + Add + Slice (matmul)
  nodes %down %res %lo %hi
  176128*t mac, 256*t alu; f32
  reads %prod %wd %x: 3776*t + 704512 bytes
  writes %res: 1024*t bytes
kernel 5: Neg + Concat + Mul (movement)
  nodes %nh %rot %y
  384*t alu; f32
  reads %res %sin: 1024*t + 1024 bytes
  writes %y: 1024*t bytes
