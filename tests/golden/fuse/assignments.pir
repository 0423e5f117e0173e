# RUN: shapes,canonicalize | kernels
perfir 1
module @assignments
dim n in 1..64 = 2

graph @main(%x: f32[n, 8, 16], %y: f32[n, 4, 16], %z: f32[3, 16], %t: f32[8, 16], %other: i64[3, 1]) {
  %zero = weight {constant=true} : i64[] = 0
  %one = weight {constant=true} : i64[] = 1
  %two = weight {constant=true} : i64[] = 2
  %six = weight {constant=true} : i64[] = 6
  %at1 = weight {constant=true} : i64[1] = [1]
  %at2 = weight {constant=true} : i64[1] = [2]
  %at0 = weight {constant=true} : i64[1] = [0]
  %grid = weight {constant=true} : i64[3, 1] = [[1], [2], [3]]
  %stored = weight : i64[3, 1] = [[1], [2], [3]]
  %size = weight {constant=true} : i64[3] = [1, 4, 1]
  %f1 = scatter_nd(%t, %grid, %z) : ? loc("folded", "ScatterND")
  %f2 = scatter_nd(%f1, %stored, %z) : ? loc("stored", "ScatterND")
  %f3 = scatter_nd(%f2, %other, %z) : ? loc("given", "ScatterND")
  %shape = shape(%x) : ?
  %count = gather(%shape, %zero) : ?
  %r = range(%zero, %count, %one) : ? loc("rows", "Range")
  %r1 = unsqueeze(%r, %at1) : ?
  %r2 = unsqueeze(%r1, %at2) : ?
  %rs = expand(%r2, %size) : ? loc("spread", "Expand")
  %c = range(%two, %six, %one) : ? loc("columns", "Range")
  %c1 = unsqueeze(%c, %at0) : ?
  %c2 = unsqueeze(%c1, %at2) : ?
  %cs = add(%c2, %rs) : ? loc("shifted", "Add")
  %index = concat(%rs, %cs) {axis=-1} : ? loc("grid", "Concat")
  %u = scatter_nd(%x, %index, %y) : ? loc("assigned", "ScatterND")
  %v = relu(%u) : ? loc("relu", "Relu")
  %q = range(%zero, %count, %one) : ? loc("rows2", "Range")
  %q1 = unsqueeze(%q, %at1) : ?
  %q2 = unsqueeze(%q1, %at2) : ?
  %qs = expand(%q2, %size) : ? loc("spread2", "Expand")
  %wrong = sub(%qs, %qs) : ? loc("no grid", "Sub")
  %index2 = concat(%qs, %wrong) {axis=-1} : ? loc("grid2", "Concat")
  %w = scatter_nd(%v, %index2, %y) : ? loc("computed", "ScatterND")
  return %f3, %w
}
# ---- expect
## cudagraph, eager, eager-literal, eager-unfused, trainer, transformers
kernel 0: ScatterND (gather, slice_update)
  nodes %f1
  no operations; f32
  reads %z: 192 bytes
  writes %f1: 192 bytes
kernel 1: ScatterND (gather)
  nodes %f2
  no operations; f32
  reads %f1 %stored %z: 728 bytes
  writes %f2: 512 bytes
kernel 2: ScatterND (gather)
  nodes %f3
  no operations; f32
  reads %f2 %other %z: 728 bytes
  writes %f3: 512 bytes
kernel 3: Range + Expand + … 2 more + ScatterND (gather, slice_update)
  nodes %r %r1 %r2 %rs %cs %index %u
  5*n integer; f32
  reads %zero %count %one %c2 %y: 256*n + 32 bytes
  writes %u: 256*n bytes
kernel 4: Relu (elementwise)
  nodes %v
  128*n alu; f32
  reads %u: 512*n bytes
  writes %v: 512*n bytes
kernel 5: Range + Expand (movement)
  nodes %q %q1 %q2 %qs
  n integer; i64
  reads %zero %count %one: 0 bytes
  writes %q: 8*n bytes
kernel 6: Sub (elementwise)
  nodes %wrong
  4*n integer; i64
  reads %q: 8*n bytes
  writes %wrong: 32*n bytes
kernel 7: Concat (movement)
  nodes %index2
  no operations; i64
  reads %q %wrong: 40*n bytes
  writes %index2: 64*n bytes
kernel 8: ScatterND (gather)
  nodes %w
  no operations; f32
  reads %v %index2 %y: 832*n bytes
  writes %w: 512*n bytes

## fastertransformer, llamacpp, ort-optimized, ort-tensorrt, paddle-trt, sglang, tensorrt, tensorrt-unfused, torchscript, trtllm, trtllm-compiled, vllm
kernel 0: ScatterND (gather)
  nodes %f1
  no operations; f32
  reads %t %grid %z: 728 bytes
  writes %f1: 512 bytes
kernel 1: ScatterND (gather)
  nodes %f2
  no operations; f32
  reads %f1 %stored %z: 728 bytes
  writes %f2: 512 bytes
kernel 2: ScatterND (gather)
  nodes %f3
  no operations; f32
  reads %f2 %other %z: 728 bytes
  writes %f3: 512 bytes
kernel 3: Range + Expand (movement)
  nodes %r %r1 %r2 %rs
  n integer; i64
  reads %zero %count %one: 0 bytes
  writes %r: 8*n bytes
kernel 4: Add (elementwise)
  nodes %cs
  4*n integer; i64
  reads %c2 %r: 8*n + 32 bytes
  writes %cs: 32*n bytes
kernel 5: Concat (movement)
  nodes %index
  no operations; i64
  reads %r %cs: 40*n bytes
  writes %index: 64*n bytes
kernel 6: ScatterND (gather)
  nodes %u
  no operations; f32
  reads %x %index %y: 832*n bytes
  writes %u: 512*n bytes
kernel 7: Relu (elementwise)
  nodes %v
  128*n alu; f32
  reads %u: 512*n bytes
  writes %v: 512*n bytes
kernel 8: Range + Expand (movement)
  nodes %q %q1 %q2 %qs
  n integer; i64
  reads %zero %count %one: 0 bytes
  writes %q: 8*n bytes
kernel 9: Sub (elementwise)
  nodes %wrong
  4*n integer; i64
  reads %q: 8*n bytes
  writes %wrong: 32*n bytes
kernel 10: Concat (movement)
  nodes %index2
  no operations; i64
  reads %q %wrong: 40*n bytes
  writes %index2: 64*n bytes
kernel 11: ScatterND (gather)
  nodes %w
  no operations; f32
  reads %v %index2 %y: 832*n bytes
  writes %w: 512*n bytes

## inductor, inductor-cudagraph, xla
kernel 0: ScatterND (gather, slice_update)
  nodes %f1
  no operations; f32
  reads %z: 192 bytes
  writes %f1: 192 bytes
kernel 1: ScatterND (gather)
  nodes %f2
  no operations; f32
  reads %f1 %stored %z: 728 bytes
  writes %f2: 512 bytes
kernel 2: ScatterND (gather)
  nodes %f3
  no operations; f32
  reads %f2 %other %z: 728 bytes
  writes %f3: 512 bytes
kernel 3: Range + Expand + … 3 more + Relu (gather, slice_update)
  nodes %r %r1 %r2 %rs %cs %index %u %v
  128*n alu, 5*n integer; f32
  reads %zero %count %one %c2 %y: 256*n + 32 bytes
  writes %v: 512*n bytes
kernel 4: Range + Expand + Sub + Concat (movement)
  nodes %q %q1 %q2 %qs %wrong %index2
  5*n integer; i64
  reads %zero %count %one: 0 bytes
  writes %index2: 64*n bytes
kernel 5: ScatterND (gather)
  nodes %w
  no operations; f32
  reads %v %index2 %y: 832*n bytes
  writes %w: 512*n bytes

## litert, openvino, ort, ort-cpu, ort-cpu-blocked, ort-fused, paddle, tensorflow, tvm
kernel 0: ScatterND (gather)
  nodes %f1
  no operations; f32
  reads %t %grid %z: 728 bytes
  writes %f1: 512 bytes
kernel 1: ScatterND (gather)
  nodes %f2
  no operations; f32
  reads %f1 %stored %z: 728 bytes
  writes %f2: 512 bytes
kernel 2: ScatterND (gather)
  nodes %f3
  no operations; f32
  reads %f2 %other %z: 728 bytes
  writes %f3: 512 bytes
kernel 3: Range (movement)
  nodes %r %r1 %r2
  n integer; i64
  reads %zero %count %one: 0 bytes
  writes %r: 8*n bytes
kernel 4: Expand (movement)
  nodes %rs
  no operations; i64
  reads %r %size: 8*n bytes
  writes %rs: 32*n bytes
kernel 5: Add (elementwise)
  nodes %cs
  4*n integer; i64
  reads %c2 %rs: 32*n + 32 bytes
  writes %cs: 32*n bytes
kernel 6: Concat (movement)
  nodes %index
  no operations; i64
  reads %rs %cs: 64*n bytes
  writes %index: 64*n bytes
kernel 7: ScatterND (gather)
  nodes %u
  no operations; f32
  reads %x %index %y: 832*n bytes
  writes %u: 512*n bytes
kernel 8: Relu (elementwise)
  nodes %v
  128*n alu; f32
  reads %u: 512*n bytes
  writes %v: 512*n bytes
kernel 9: Range (movement)
  nodes %q %q1 %q2
  n integer; i64
  reads %zero %count %one: 0 bytes
  writes %q: 8*n bytes
kernel 10: Expand (movement)
  nodes %qs
  no operations; i64
  reads %q %size: 8*n bytes
  writes %qs: 32*n bytes
kernel 11: Sub (elementwise)
  nodes %wrong
  4*n integer; i64
  reads %qs: 32*n bytes
  writes %wrong: 32*n bytes
kernel 12: Concat (movement)
  nodes %index2
  no operations; i64
  reads %qs %wrong: 64*n bytes
  writes %index2: 64*n bytes
kernel 13: ScatterND (gather)
  nodes %w
  no operations; f32
  reads %v %index2 %y: 832*n bytes
  writes %w: 512*n bytes
