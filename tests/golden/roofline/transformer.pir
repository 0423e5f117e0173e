# RUN: shapes,roofline{target=cpu,runtime=ort} | table roofline
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
MatMul: floor 5.243e-05 s, sustained 6.554e-05 s, bound by matrix units
Add: floor 4.104e-07 s, sustained 1.025e-06 s, bound by L2 cache
Transpose: floor 4.096e-07 s, sustained 1.024e-06 s, bound by L2 cache
MatMul: floor 5.243e-05 s, sustained 6.554e-05 s, bound by matrix units
Transpose: floor 4.096e-07 s, sustained 1.024e-06 s, bound by L2 cache
MatMul: floor 5.243e-05 s, sustained 6.554e-05 s, bound by matrix units
Transpose: floor 4.096e-07 s, sustained 1.024e-06 s, bound by L2 cache
MatMul + Div: floor 2.621e-05 s, sustained 3.277e-05 s, bound by matrix units
Add: floor 1.23e-06 s, sustained 2.05e-06 s, bound by L2 cache
Softmax: floor 1.229e-06 s, sustained 2.064e-06 s, bound by special functions
MatMul: floor 2.621e-05 s, sustained 3.277e-05 s, bound by matrix units
Transpose: floor 4.096e-07 s, sustained 1.024e-06 s, bound by L2 cache
MatMul: floor 5.243e-05 s, sustained 6.554e-05 s, bound by matrix units
Add + ReduceMean + … 7 more + Add: floor 8.24e-07 s, sustained 2.06e-06 s, bound by special functions
MatMul: floor 0.0002097 s, sustained 0.0002621 s, bound by matrix units
Add + Div + … 2 more + Mul: floor 3.277e-06 s, sustained 8.192e-06 s, bound by special functions
MatMul: floor 0.0002097 s, sustained 0.0002621 s, bound by matrix units
run: floor 0.0006902 s, sustained 0.0008715 s
