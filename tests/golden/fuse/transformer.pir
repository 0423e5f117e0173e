# RUN: shapes | kernels
perfir 1
module @transformer
dim n in 1.. = 4

graph @main(%x: f32[n, 128, 256], %mask: f32[n, 1, 1, 128]) {
  %wq = weight {location="wq.bin"} : f32[256, 256]
  %wk = weight {location="wk.bin"} : f32[256, 256]
  %wv = weight {location="wv.bin"} : f32[256, 256]
  %wo = weight {location="wo.bin"} : f32[256, 256]
  %bq = weight {location="bq.bin"} : f32[256]
  %gamma = weight {location="gamma.bin"} : f32[256]
  %beta = weight {location="beta.bin"} : f32[256]
  %wu = weight {location="wu.bin"} : f32[256, 1024]
  %bu = weight {location="bu.bin"} : f32[1024]
  %wd = weight {location="wd.bin"} : f32[1024, 256]
  %heads = weight {bytes=32} : i64[4] = [0, 128, 4, 64]
  %flat = weight {bytes=24} : i64[3] = [0, 128, 256]
  %last = weight {bytes=8} : i64[1] = [-1]
  %two = weight {bytes=4} : f32[] = 2.0
  %eight = weight {bytes=4} : f32[] = 8.0
  %eps = weight {bytes=4} : f32[] = 9.999999747378752e-06
  %root2 = weight {bytes=4} : f32[] = 1.4142135381698608
  %one = weight {bytes=4} : f32[] = 1.0
  %half = weight {bytes=4} : f32[] = 0.5
  %q0 = matmul(%x, %wq) : f32[n, 128, 256] loc("q0", "MatMul")
  %q1 = add(%bq, %q0) : f32[n, 128, 256] loc("q1", "Add")
  %q2 = reshape(%q1, %heads) : f32[n, 128, 4, 64] loc("q2", "Reshape")
  %q = transpose(%q2) {perm=[0, 2, 1, 3]} : f32[n, 4, 128, 64] loc("q", "Transpose")
  %k0 = matmul(%x, %wk) : f32[n, 128, 256] loc("k0", "MatMul")
  %k2 = reshape(%k0, %heads) : f32[n, 128, 4, 64] loc("k2", "Reshape")
  %k = transpose(%k2) {perm=[0, 2, 3, 1]} : f32[n, 4, 64, 128] loc("k", "Transpose")
  %v0 = matmul(%x, %wv) : f32[n, 128, 256] loc("v0", "MatMul")
  %v2 = reshape(%v0, %heads) : f32[n, 128, 4, 64] loc("v2", "Reshape")
  %v = transpose(%v2) {perm=[0, 2, 1, 3]} : f32[n, 4, 128, 64] loc("v", "Transpose")
  %s0 = matmul(%q, %k) : f32[n, 4, 128, 128] loc("s0", "MatMul")
  %s1 = div(%s0, %eight) : f32[n, 4, 128, 128] loc("s1", "Div")
  %s2 = add(%s1, %mask) : f32[n, 4, 128, 128] loc("s2", "Add")
  %p = softmax(%s2) : f32[n, 4, 128, 128] loc("p", "Softmax")
  %o0 = matmul(%p, %v) : f32[n, 4, 128, 64] loc("o0", "MatMul")
  %o1 = transpose(%o0) {perm=[0, 2, 1, 3]} : f32[n, 128, 4, 64] loc("o1", "Transpose")
  %o2 = reshape(%o1, %flat) : f32[n, 128, 256] loc("o2", "Reshape")
  %o3 = matmul(%o2, %wo) : f32[n, 128, 256] loc("o3", "MatMul")
  %res = add(%o3, %x) : f32[n, 128, 256] loc("res", "Add")
  %mu = reduce_mean(%res, %last) : f32[n, 128, 1] loc("mu", "ReduceMean")
  %d = sub(%res, %mu) : f32[n, 128, 256] loc("d", "Sub")
  %sq = pow(%d, %two) : f32[n, 128, 256] loc("sq", "Pow")
  %var = reduce_mean(%sq, %last) : f32[n, 128, 1] loc("var", "ReduceMean")
  %ve = add(%var, %eps) : f32[n, 128, 1] loc("ve", "Add")
  %sd = sqrt(%ve) : f32[n, 128, 1] loc("sd", "Sqrt")
  %nn = div(%d, %sd) : f32[n, 128, 256] loc("nn", "Div")
  %ng = mul(%nn, %gamma) : f32[n, 128, 256] loc("ng", "Mul")
  %ln = add(%ng, %beta) : f32[n, 128, 256] loc("ln", "Add")
  %u0 = matmul(%ln, %wu) : f32[n, 128, 1024] loc("u0", "MatMul")
  %u = add(%u0, %bu) : f32[n, 128, 1024] loc("u", "Add")
  %e0 = div(%u, %root2) : f32[n, 128, 1024] loc("e0", "Div")
  %e1 = erf(%e0) : f32[n, 128, 1024] loc("e1", "Erf")
  %e2 = add(%e1, %one) : f32[n, 128, 1024] loc("e2", "Add")
  %e3 = mul(%u, %e2) : f32[n, 128, 1024] loc("e3", "Mul")
  %ge = mul(%e3, %half) : f32[n, 128, 1024] loc("ge", "Mul")
  %y = matmul(%ge, %wd) : f32[n, 128, 256] loc("y", "MatMul")
  return %y
}
# ---- expect
## cudagraph, eager, eager-unfused, trainer, transformers
kernel 0: MatMul + Add + Transpose (matmul, linear)
  nodes %q0 %q1 %q2 %q
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 4: Div (elementwise)
  nodes %s1
  65536*n sfu; f32
  reads %s0 %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 5: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 6: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 7: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 8: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 9: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 10: ReduceMean + Sub + … 6 more + Add (reduction, layer_norm)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 11: MatMul + Add (matmul, linear)
  nodes %u0 %u
  33554432*n mac, 131072*n alu; f32
  reads %ln %wu %bu: 131072*n + 1052672 bytes
  writes %u: 524288*n bytes
kernel 12: Div + Erf + Add + Mul (elementwise, activation)
  nodes %e0 %e1 %e2 %e3 %ge
  393216*n alu, 262144*n sfu; f32
  reads %u %root2 %one %half: 524288*n + 12 bytes
  writes %ge: 524288*n bytes
kernel 13: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## eager-literal
kernel 0: MatMul + Add + Transpose (matmul, linear)
  nodes %q0 %q1 %q2 %q
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 4: Div (elementwise)
  nodes %s1
  65536*n sfu; f32
  reads %s0 %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 5: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 6: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 7: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 8: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 9: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 10: ReduceMean + Sub + … 6 more + Add (reduction, layer_norm)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 11: MatMul + Add (matmul, linear)
  nodes %u0 %u
  33554432*n mac, 131072*n alu; f32
  reads %ln %wu %bu: 131072*n + 1052672 bytes
  writes %u: 524288*n bytes
kernel 12: Div (elementwise)
  nodes %e0
  131072*n sfu; f32
  reads %u %root2: 524288*n + 4 bytes
  writes %e0: 524288*n bytes
kernel 13: Erf (elementwise)
  nodes %e1
  131072*n sfu; f32
  reads %e0: 524288*n bytes
  writes %e1: 524288*n bytes
kernel 14: Add (elementwise)
  nodes %e2
  131072*n alu; f32
  reads %e1 %one: 524288*n + 4 bytes
  writes %e2: 524288*n bytes
kernel 15: Mul (elementwise)
  nodes %e3
  131072*n alu; f32
  reads %u %e2: 1048576*n bytes
  writes %e3: 524288*n bytes
kernel 16: Mul (elementwise)
  nodes %ge
  131072*n alu; f32
  reads %e3 %half: 524288*n + 4 bytes
  writes %ge: 524288*n bytes
kernel 17: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## fastertransformer
kernel 0: MatMul + Transpose + MatMul + Transpose (matmul, joined_products)
  nodes %q0 %k0 %k2 %k %v0 %v2 %v
  25165824*n mac; f32
  reads %x %wq %wk %wv: 131072*n + 786432 bytes
  writes %q0 %k0 %v0: 393216*n bytes
kernel 1: Add + Transpose (elementwise)
  nodes %q1 %q2 %q
  32768*n alu; f32
  reads %bq %q0: 131072*n + 1024 bytes
  writes %q1: 131072*n bytes
kernel 2: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 3: Div + Add + Softmax (softmax)
  nodes %s1 %s2 %p
  327680*n alu, 131584*n sfu; f32
  reads %s0 %eight %mask: 262656*n + 4 bytes
  writes %p: 262144*n bytes
kernel 4: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 5: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 6: Add + ReduceMean + … 7 more + Add (reduction, skip_norm)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 7: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 8: Add + Div + … 2 more + Mul (elementwise)
  nodes %u %e0 %e1 %e2 %e3 %ge
  524288*n alu, 262144*n sfu; f32
  reads %u0 %bu %root2 %one %half: 524288*n + 4108 bytes
  writes %ge: 524288*n bytes
kernel 9: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## inductor, inductor-cudagraph
kernel 0: MatMul + Add + Transpose (matmul, linear)
  nodes %q0 %q1 %q2 %q
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 3: MatMul + Div + … 3 more + Transpose (attention, attention)
  nodes %s0 %s1 %s2 %p %o0 %o1 %o2
  8388608*n mac, 327680*n alu, 131584*n sfu; f32
  reads %q1 %k0 %eight %mask %v0: 393728*n + 4 bytes
  writes %o0: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 5: Add + ReduceMean + … 7 more + Add (reduction)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 6: MatMul + Add (matmul, linear)
  nodes %u0 %u
  33554432*n mac, 131072*n alu; f32
  reads %ln %wu %bu: 131072*n + 1052672 bytes
  writes %u: 524288*n bytes
kernel 7: Div + Erf + Add + Mul (elementwise)
  nodes %e0 %e1 %e2 %e3 %ge
  393216*n alu, 262144*n sfu; f32
  reads %u %root2 %one %half: 524288*n + 12 bytes
  writes %ge: 524288*n bytes
kernel 8: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## litert
kernel 0: MatMul (matmul)
  nodes %q0
  8388608*n mac; f32
  reads %x %wq: 131072*n + 262144 bytes
  writes %q0: 131072*n bytes
kernel 1: Add (elementwise)
  nodes %q1 %q2
  32768*n alu; f32
  reads %bq %q0: 131072*n + 1024 bytes
  writes %q1: 131072*n bytes
kernel 2: Transpose (movement)
  nodes %q
  no operations; f32
  reads %q1: 131072*n bytes
  writes %q: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %k0 %k2
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 4: Transpose (movement)
  nodes %k
  no operations; f32
  reads %k0: 131072*n bytes
  writes %k: 131072*n bytes
kernel 5: MatMul (matmul)
  nodes %v0 %v2
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 6: Transpose (movement)
  nodes %v
  no operations; f32
  reads %v0: 131072*n bytes
  writes %v: 131072*n bytes
kernel 7: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q %k: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 8: Div (elementwise)
  nodes %s1
  65536*n sfu; f32
  reads %s0 %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 9: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 10: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 11: MatMul (matmul)
  nodes %o0
  4194304*n mac; f32
  reads %p %v: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 12: Transpose (movement)
  nodes %o1 %o2
  no operations; f32
  reads %o0: 131072*n bytes
  writes %o1: 131072*n bytes
kernel 13: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o1 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 14: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 15: ReduceMean (reduction)
  nodes %mu
  32768*n alu, 128*n sfu; f32
  reads %res %last: 131072*n + 8 bytes
  writes %mu: 512*n bytes
kernel 16: Sub (elementwise)
  nodes %d
  32768*n alu; f32
  reads %res %mu: 131584*n bytes
  writes %d: 131072*n bytes
kernel 17: Pow (elementwise)
  nodes %sq
  32768*n sfu; f32
  reads %d %two: 131072*n + 4 bytes
  writes %sq: 131072*n bytes
kernel 18: ReduceMean (reduction)
  nodes %var
  32768*n alu, 128*n sfu; f32
  reads %sq %last: 131072*n + 8 bytes
  writes %var: 512*n bytes
kernel 19: Add (elementwise)
  nodes %ve
  128*n alu; f32
  reads %var %eps: 512*n + 4 bytes
  writes %ve: 512*n bytes
kernel 20: Sqrt (elementwise)
  nodes %sd
  128*n sfu; f32
  reads %ve: 512*n bytes
  writes %sd: 512*n bytes
kernel 21: Div (elementwise)
  nodes %nn
  32768*n sfu; f32
  reads %d %sd: 131584*n bytes
  writes %nn: 131072*n bytes
kernel 22: Mul (elementwise)
  nodes %ng
  32768*n alu; f32
  reads %nn %gamma: 131072*n + 1024 bytes
  writes %ng: 131072*n bytes
kernel 23: Add (elementwise)
  nodes %ln
  32768*n alu; f32
  reads %ng %beta: 131072*n + 1024 bytes
  writes %ln: 131072*n bytes
kernel 24: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 25: Add (elementwise)
  nodes %u
  131072*n alu; f32
  reads %u0 %bu: 524288*n + 4096 bytes
  writes %u: 524288*n bytes
kernel 26: Div (elementwise)
  nodes %e0
  131072*n sfu; f32
  reads %u %root2: 524288*n + 4 bytes
  writes %e0: 524288*n bytes
kernel 27: Erf (elementwise)
  nodes %e1
  131072*n sfu; f32
  reads %e0: 524288*n bytes
  writes %e1: 524288*n bytes
kernel 28: Add (elementwise)
  nodes %e2
  131072*n alu; f32
  reads %e1 %one: 524288*n + 4 bytes
  writes %e2: 524288*n bytes
kernel 29: Mul (elementwise)
  nodes %e3
  131072*n alu; f32
  reads %u %e2: 1048576*n bytes
  writes %e3: 524288*n bytes
kernel 30: Mul (elementwise)
  nodes %ge
  131072*n alu; f32
  reads %e3 %half: 524288*n + 4 bytes
  writes %ge: 524288*n bytes
kernel 31: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## llamacpp, sglang, trtllm, trtllm-compiled, vllm
kernel 0: MatMul (matmul)
  nodes %q0
  8388608*n mac; f32
  reads %x %wq: 131072*n + 262144 bytes
  writes %q0: 131072*n bytes
kernel 1: Add + Transpose (elementwise)
  nodes %q1 %q2 %q
  32768*n alu; f32
  reads %bq %q0: 131072*n + 1024 bytes
  writes %q1: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 3: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 5: Div (elementwise)
  nodes %s1
  65536*n sfu; f32
  reads %s0 %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 6: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 7: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 8: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 9: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 10: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 11: ReduceMean (reduction)
  nodes %mu
  32768*n alu, 128*n sfu; f32
  reads %res %last: 131072*n + 8 bytes
  writes %mu: 512*n bytes
kernel 12: Sub (elementwise)
  nodes %d
  32768*n alu; f32
  reads %res %mu: 131584*n bytes
  writes %d: 131072*n bytes
kernel 13: Pow (elementwise)
  nodes %sq
  32768*n sfu; f32
  reads %d %two: 131072*n + 4 bytes
  writes %sq: 131072*n bytes
kernel 14: ReduceMean (reduction)
  nodes %var
  32768*n alu, 128*n sfu; f32
  reads %sq %last: 131072*n + 8 bytes
  writes %var: 512*n bytes
kernel 15: Add (elementwise)
  nodes %ve
  128*n alu; f32
  reads %var %eps: 512*n + 4 bytes
  writes %ve: 512*n bytes
kernel 16: Sqrt (elementwise)
  nodes %sd
  128*n sfu; f32
  reads %ve: 512*n bytes
  writes %sd: 512*n bytes
kernel 17: Div (elementwise)
  nodes %nn
  32768*n sfu; f32
  reads %d %sd: 131584*n bytes
  writes %nn: 131072*n bytes
kernel 18: Mul (elementwise)
  nodes %ng
  32768*n alu; f32
  reads %nn %gamma: 131072*n + 1024 bytes
  writes %ng: 131072*n bytes
kernel 19: Add (elementwise)
  nodes %ln
  32768*n alu; f32
  reads %ng %beta: 131072*n + 1024 bytes
  writes %ln: 131072*n bytes
kernel 20: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 21: Add (elementwise)
  nodes %u
  131072*n alu; f32
  reads %u0 %bu: 524288*n + 4096 bytes
  writes %u: 524288*n bytes
kernel 22: Div (elementwise)
  nodes %e0
  131072*n sfu; f32
  reads %u %root2: 524288*n + 4 bytes
  writes %e0: 524288*n bytes
kernel 23: Erf (elementwise)
  nodes %e1
  131072*n sfu; f32
  reads %e0: 524288*n bytes
  writes %e1: 524288*n bytes
kernel 24: Add (elementwise)
  nodes %e2
  131072*n alu; f32
  reads %e1 %one: 524288*n + 4 bytes
  writes %e2: 524288*n bytes
kernel 25: Mul (elementwise)
  nodes %e3
  131072*n alu; f32
  reads %u %e2: 1048576*n bytes
  writes %e3: 524288*n bytes
kernel 26: Mul (elementwise)
  nodes %ge
  131072*n alu; f32
  reads %e3 %half: 524288*n + 4 bytes
  writes %ge: 524288*n bytes
kernel 27: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## openvino
kernel 0: MatMul + Add (matmul)
  nodes %q0 %q1 %q2
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: Transpose (movement)
  nodes %q
  no operations; f32
  reads %q1: 131072*n bytes
  writes %q: 131072*n bytes
kernel 2: MatMul (matmul)
  nodes %k0 %k2
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 3: Transpose (movement)
  nodes %k
  no operations; f32
  reads %k0: 131072*n bytes
  writes %k: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %v0 %v2
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 5: Transpose (movement)
  nodes %v
  no operations; f32
  reads %v0: 131072*n bytes
  writes %v: 131072*n bytes
kernel 6: MatMul + Div + Add (matmul)
  nodes %s0 %s1 %s2
  4194304*n mac, 65536*n alu, 65536*n sfu; f32
  reads %q %k %eight %mask: 262656*n + 4 bytes
  writes %s2: 262144*n bytes
kernel 7: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 8: MatMul (matmul)
  nodes %o0
  4194304*n mac; f32
  reads %p %v: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 9: Transpose (movement)
  nodes %o1 %o2
  no operations; f32
  reads %o0: 131072*n bytes
  writes %o1: 131072*n bytes
kernel 10: MatMul + Add (matmul)
  nodes %o3 %res
  8388608*n mac, 32768*n alu; f32
  reads %o1 %wo %x: 262144*n + 262144 bytes
  writes %res: 131072*n bytes
kernel 11: ReduceMean + Sub + … 6 more + Add (reduction, layer_norm)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 12: MatMul + Add + … 3 more + Mul (matmul)
  nodes %u0 %u %e0 %e1 %e2 %e3 %ge
  33554432*n mac, 524288*n alu, 262144*n sfu; f32
  reads %ln %wu %bu %root2 %one %half: 131072*n + 1052684 bytes
  writes %ge: 524288*n bytes
kernel 13: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## ort, ort-cpu, ort-cpu-blocked, ort-fused
kernel 0: MatMul (matmul)
  nodes %q0
  8388608*n mac; f32
  reads %x %wq: 131072*n + 262144 bytes
  writes %q0: 131072*n bytes
kernel 1: Add (elementwise)
  nodes %q1 %q2
  32768*n alu; f32
  reads %bq %q0: 131072*n + 1024 bytes
  writes %q1: 131072*n bytes
kernel 2: Transpose (movement)
  nodes %q
  no operations; f32
  reads %q1: 131072*n bytes
  writes %q: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %k0 %k2
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 4: Transpose (movement)
  nodes %k
  no operations; f32
  reads %k0: 131072*n bytes
  writes %k: 131072*n bytes
kernel 5: MatMul (matmul)
  nodes %v0 %v2
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 6: Transpose (movement)
  nodes %v
  no operations; f32
  reads %v0: 131072*n bytes
  writes %v: 131072*n bytes
kernel 7: MatMul + Div (matmul, matmul)
  nodes %s0 %s1
  4194304*n mac, 65536*n sfu; f32
  reads %q %k %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 8: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 9: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 10: MatMul (matmul)
  nodes %o0
  4194304*n mac; f32
  reads %p %v: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 11: Transpose (movement)
  nodes %o1 %o2
  no operations; f32
  reads %o0: 131072*n bytes
  writes %o1: 131072*n bytes
kernel 12: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o1 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 13: Add + ReduceMean + … 7 more + Add (reduction, skip_norm)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 14: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 15: Add + Div + … 2 more + Mul (elementwise, bias_gelu)
  nodes %u %e0 %e1 %e2 %e3 %ge
  524288*n alu, 262144*n sfu; f32
  reads %u0 %bu %root2 %one %half: 524288*n + 4108 bytes
  writes %ge: 524288*n bytes
kernel 16: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## ort-optimized
kernel 0: MatMul + Add + … 4 more + Transpose (matmul, joined_products)
  nodes %q0 %q1 %q2 %q %k0 %k2 %k %v0 %v2 %v
  25165824*n mac, 32768*n alu; f32
  reads %x %wq %bq %wk %wv: 131072*n + 787456 bytes
  writes %q1 %k0 %v0: 393216*n bytes
kernel 1: MatMul + Div + … 3 more + Transpose (attention, attention)
  nodes %s0 %s1 %s2 %p %o0 %o1 %o2
  8388608*n mac, 327680*n alu, 131584*n sfu; f32
  reads %q1 %k0 %eight %mask %v0: 393728*n + 4 bytes
  writes %o0: 131072*n bytes
kernel 2: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 3: Add + ReduceMean + … 7 more + Add (reduction, skip_norm)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 5: Add + Div + … 2 more + Mul (elementwise, bias_gelu)
  nodes %u %e0 %e1 %e2 %e3 %ge
  524288*n alu, 262144*n sfu; f32
  reads %u0 %bu %root2 %one %half: 524288*n + 4108 bytes
  writes %ge: 524288*n bytes
kernel 6: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## ort-tensorrt, paddle-trt, tensorrt
kernel 0: MatMul + Add + … 4 more + Transpose (matmul, joined_products)
  nodes %q0 %q1 %q2 %q %k0 %k2 %k %v0 %v2 %v
  25165824*n mac, 32768*n alu; f32
  reads %x %wq %bq %wk %wv: 131072*n + 787456 bytes
  writes %q1 %k0 %v0: 393216*n bytes
kernel 1: MatMul + Div + … 3 more + Transpose (attention, attention)
  nodes %s0 %s1 %s2 %p %o0 %o1 %o2
  8388608*n mac, 327680*n alu, 131584*n sfu; f32
  reads %q1 %k0 %eight %mask %v0: 393728*n + 4 bytes
  writes %o0: 131072*n bytes
kernel 2: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 3: Add + ReduceMean + … 7 more + Add (reduction, skip_norm)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 4: MatMul + Add + … 3 more + Mul (matmul)
  nodes %u0 %u %e0 %e1 %e2 %e3 %ge
  33554432*n mac, 524288*n alu, 262144*n sfu; f32
  reads %ln %wu %bu %root2 %one %half: 131072*n + 1052684 bytes
  writes %ge: 524288*n bytes
kernel 5: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## paddle, tensorflow
kernel 0: MatMul (matmul)
  nodes %q0
  8388608*n mac; f32
  reads %x %wq: 131072*n + 262144 bytes
  writes %q0: 131072*n bytes
kernel 1: Add (elementwise)
  nodes %q1 %q2
  32768*n alu; f32
  reads %bq %q0: 131072*n + 1024 bytes
  writes %q1: 131072*n bytes
kernel 2: Transpose (movement)
  nodes %q
  no operations; f32
  reads %q1: 131072*n bytes
  writes %q: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %k0 %k2
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 4: Transpose (movement)
  nodes %k
  no operations; f32
  reads %k0: 131072*n bytes
  writes %k: 131072*n bytes
kernel 5: MatMul (matmul)
  nodes %v0 %v2
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 6: Transpose (movement)
  nodes %v
  no operations; f32
  reads %v0: 131072*n bytes
  writes %v: 131072*n bytes
kernel 7: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q %k: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 8: Div (elementwise)
  nodes %s1
  65536*n sfu; f32
  reads %s0 %eight: 262144*n + 4 bytes
  writes %s1: 262144*n bytes
kernel 9: Add (elementwise)
  nodes %s2
  65536*n alu; f32
  reads %s1 %mask: 262656*n bytes
  writes %s2: 262144*n bytes
kernel 10: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 11: MatMul (matmul)
  nodes %o0
  4194304*n mac; f32
  reads %p %v: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 12: Transpose (movement)
  nodes %o1 %o2
  no operations; f32
  reads %o0: 131072*n bytes
  writes %o1: 131072*n bytes
kernel 13: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o1 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 14: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 15: ReduceMean + Sub + … 6 more + Add (reduction, layer_norm)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 16: MatMul (matmul)
  nodes %u0
  33554432*n mac; f32
  reads %ln %wu: 131072*n + 1048576 bytes
  writes %u0: 524288*n bytes
kernel 17: Add (elementwise)
  nodes %u
  131072*n alu; f32
  reads %u0 %bu: 524288*n + 4096 bytes
  writes %u: 524288*n bytes
kernel 18: Div + Erf + Add + Mul (elementwise, gelu)
  nodes %e0 %e1 %e2 %e3 %ge
  393216*n alu, 262144*n sfu; f32
  reads %u %root2 %one %half: 524288*n + 12 bytes
  writes %ge: 524288*n bytes
kernel 19: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## tensorrt-unfused
kernel 0: MatMul + Add + … 4 more + Transpose (matmul, joined_products)
  nodes %q0 %q1 %q2 %q %k0 %k2 %k %v0 %v2 %v
  25165824*n mac, 32768*n alu; f32
  reads %x %wq %bq %wk %wv: 131072*n + 787456 bytes
  writes %q1 %k0 %v0: 393216*n bytes
kernel 1: MatMul + Div + Add (matmul)
  nodes %s0 %s1 %s2
  4194304*n mac, 65536*n alu, 65536*n sfu; f32
  reads %q1 %k0 %eight %mask: 262656*n + 4 bytes
  writes %s2: 262144*n bytes
kernel 2: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 3: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 5: Add + ReduceMean + … 7 more + Add (reduction, skip_norm)
  nodes %res %mu %d %sq %var %ve %sd %nn %ng %ln
  196736*n alu, 65920*n sfu; f32
  reads %o3 %x %last %two %eps %gamma %beta: 262144*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 6: MatMul + Add + … 3 more + Mul (matmul)
  nodes %u0 %u %e0 %e1 %e2 %e3 %ge
  33554432*n mac, 524288*n alu, 262144*n sfu; f32
  reads %ln %wu %bu %root2 %one %half: 131072*n + 1052684 bytes
  writes %ge: 524288*n bytes
kernel 7: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## torchscript
kernel 0: MatMul + Add + Transpose (matmul, linear)
  nodes %q0 %q1 %q2 %q
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 4: Div + Add (elementwise)
  nodes %s1 %s2
  65536*n alu, 65536*n sfu; f32
  reads %s0 %eight %mask: 262656*n + 4 bytes
  writes %s2: 262144*n bytes
kernel 5: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 6: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 7: MatMul (matmul)
  nodes %o3
  8388608*n mac; f32
  reads %o0 %wo: 131072*n + 262144 bytes
  writes %o3: 131072*n bytes
kernel 8: Add (elementwise)
  nodes %res
  32768*n alu; f32
  reads %o3 %x: 262144*n bytes
  writes %res: 131072*n bytes
kernel 9: ReduceMean + Sub + … 6 more + Add (reduction, layer_norm)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 10: MatMul + Add (matmul, linear)
  nodes %u0 %u
  33554432*n mac, 131072*n alu; f32
  reads %ln %wu %bu: 131072*n + 1052672 bytes
  writes %u: 524288*n bytes
kernel 11: Div + Erf + Add + Mul (elementwise, activation)
  nodes %e0 %e1 %e2 %e3 %ge
  393216*n alu, 262144*n sfu; f32
  reads %u %root2 %one %half: 524288*n + 12 bytes
  writes %ge: 524288*n bytes
kernel 12: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## tvm
kernel 0: MatMul + Add (matmul)
  nodes %q0 %q1 %q2
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: Transpose (movement)
  nodes %q
  no operations; f32
  reads %q1: 131072*n bytes
  writes %q: 131072*n bytes
kernel 2: MatMul (matmul)
  nodes %k0 %k2
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 3: Transpose (movement)
  nodes %k
  no operations; f32
  reads %k0: 131072*n bytes
  writes %k: 131072*n bytes
kernel 4: MatMul (matmul)
  nodes %v0 %v2
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 5: Transpose (movement)
  nodes %v
  no operations; f32
  reads %v0: 131072*n bytes
  writes %v: 131072*n bytes
kernel 6: MatMul + Div + Add (matmul)
  nodes %s0 %s1 %s2
  4194304*n mac, 65536*n alu, 65536*n sfu; f32
  reads %q %k %eight %mask: 262656*n + 4 bytes
  writes %s2: 262144*n bytes
kernel 7: Softmax (softmax)
  nodes %p
  262144*n alu, 66048*n sfu; f32
  reads %s2: 262144*n bytes
  writes %p: 262144*n bytes
kernel 8: MatMul (matmul)
  nodes %o0
  4194304*n mac; f32
  reads %p %v: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 9: Transpose (movement)
  nodes %o1 %o2
  no operations; f32
  reads %o0: 131072*n bytes
  writes %o1: 131072*n bytes
kernel 10: MatMul + Add (matmul)
  nodes %o3 %res
  8388608*n mac, 32768*n alu; f32
  reads %o1 %wo %x: 262144*n + 262144 bytes
  writes %res: 131072*n bytes
kernel 11: ReduceMean + Sub (reduction)
  nodes %mu %d
  65536*n alu, 128*n sfu; f32
  reads %res %last: 131072*n + 8 bytes
  writes %d: 131072*n bytes
kernel 12: Pow (elementwise)
  nodes %sq
  32768*n sfu; f32
  reads %d %two: 131072*n + 4 bytes
  writes %sq: 131072*n bytes
kernel 13: ReduceMean + Add + … 3 more + Add (reduction)
  nodes %var %ve %sd %nn %ng %ln
  98432*n alu, 33024*n sfu; f32
  reads %sq %last %eps %d %gamma %beta: 262144*n + 2060 bytes
  writes %ln: 131072*n bytes
kernel 14: MatMul + Add + … 3 more + Mul (matmul)
  nodes %u0 %u %e0 %e1 %e2 %e3 %ge
  33554432*n mac, 524288*n alu, 262144*n sfu; f32
  reads %ln %wu %bu %root2 %one %half: 131072*n + 1052684 bytes
  writes %ge: 524288*n bytes
kernel 15: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes

## xla
kernel 0: MatMul + Add + Transpose (matmul)
  nodes %q0 %q1 %q2 %q
  8388608*n mac, 32768*n alu; f32
  reads %x %wq %bq: 131072*n + 263168 bytes
  writes %q1: 131072*n bytes
kernel 1: MatMul + Transpose (matmul)
  nodes %k0 %k2 %k
  8388608*n mac; f32
  reads %x %wk: 131072*n + 262144 bytes
  writes %k0: 131072*n bytes
kernel 2: MatMul + Transpose (matmul)
  nodes %v0 %v2 %v
  8388608*n mac; f32
  reads %x %wv: 131072*n + 262144 bytes
  writes %v0: 131072*n bytes
kernel 3: MatMul (matmul)
  nodes %s0
  4194304*n mac; f32
  reads %q1 %k0: 262144*n bytes
  writes %s0: 262144*n bytes
kernel 4: Div + Add + Softmax (softmax)
  nodes %s1 %s2 %p
  327680*n alu, 131584*n sfu; f32
  reads %s0 %eight %mask: 262656*n + 4 bytes
  writes %p: 262144*n bytes
kernel 5: MatMul + Transpose (matmul)
  nodes %o0 %o1 %o2
  4194304*n mac; f32
  reads %p %v0: 393216*n bytes
  writes %o0: 131072*n bytes
kernel 6: MatMul + Add (matmul)
  nodes %o3 %res
  8388608*n mac, 32768*n alu; f32
  reads %o0 %wo %x: 262144*n + 262144 bytes
  writes %res: 131072*n bytes
kernel 7: ReduceMean + Sub + … 6 more + Add (reduction)
  nodes %mu %d %sq %var %ve %sd %nn %ng %ln
  163968*n alu, 65920*n sfu; f32
  reads %res %last %two %eps %gamma %beta: 131072*n + 2064 bytes
  writes %ln: 131072*n bytes
kernel 8: MatMul + Add (matmul)
  nodes %u0 %u
  33554432*n mac, 131072*n alu; f32
  reads %ln %wu %bu: 131072*n + 1052672 bytes
  writes %u: 524288*n bytes
kernel 9: Div + Erf + Add + Mul (elementwise)
  nodes %e0 %e1 %e2 %e3 %ge
  393216*n alu, 262144*n sfu; f32
  reads %u %root2 %one %half: 524288*n + 12 bytes
  writes %ge: 524288*n bytes
kernel 10: MatMul (matmul)
  nodes %y
  33554432*n mac; f32
  reads %ge %wd: 524288*n + 1048576 bytes
  writes %y: 131072*n bytes
