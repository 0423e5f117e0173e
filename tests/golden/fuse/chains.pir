# RUN: shapes | kernels
perfir 1
module @chains
graph @main(%q: f16[2, 8, 64, 32], %k: f16[2, 8, 32, 64], %v: f16[2, 8, 64, 32], %x: f16[4, 8, 16, 16], %w: f16[8, 8, 3, 3], %m: b1[2, 1, 64, 64], %z: f16[] = 0) {
  %p0 = matmul(%q, %k) : ?
  %s0 = softmax(%p0) {axis=-1} : ?
  %o0 = matmul(%s0, %v) : ?
  %p1 = matmul(%q, %k) : ?
  %b1_0 = relu(%p1) : ?
  %b1_1 = relu(%b1_0) : ?
  %b1_2 = relu(%b1_1) : ?
  %b1_3 = relu(%b1_2) : ?
  %s1 = softmax(%b1_3) {axis=-1} : ?
  %o1 = matmul(%s1, %v) : ?
  %p2 = matmul(%q, %k) : ?
  %b2_0 = relu(%p2) : ?
  %b2_1 = relu(%b2_0) : ?
  %b2_2 = relu(%b2_1) : ?
  %b2_3 = relu(%b2_2) : ?
  %b2_4 = relu(%b2_3) : ?
  %s2 = softmax(%b2_4) {axis=-1} : ?
  %o2 = matmul(%s2, %v) : ?
  %p3 = matmul(%q, %k) : ?
  %b3_0 = relu(%p3) : ?
  %b3_1 = relu(%b3_0) : ?
  %b3_2 = relu(%b3_1) : ?
  %b3_3 = relu(%b3_2) : ?
  %b3_4 = relu(%b3_3) : ?
  %b3_5 = relu(%b3_4) : ?
  %s3 = softmax(%b3_5) {axis=-1} : ?
  %o3 = matmul(%s3, %v) : ?
  %p4 = matmul(%q, %k) : ?
  %s4 = softmax(%p4) {axis=-1} : ?
  %a4_0 = relu(%s4) : ?
  %a4_1 = relu(%a4_0) : ?
  %o4 = matmul(%a4_1, %v) : ?
  %p5 = matmul(%q, %k) : ?
  %s5 = softmax(%p5) {axis=-1} : ?
  %a5_0 = relu(%s5) : ?
  %a5_1 = relu(%a5_0) : ?
  %a5_2 = relu(%a5_1) : ?
  %o5 = matmul(%a5_2, %v) : ?
  %p6 = matmul(%q, %k) : ?
  %s6 = softmax(%p6) {axis=-1} : ?
  %a6_0 = relu(%s6) : ?
  %a6_1 = relu(%a6_0) : ?
  %a6_2 = relu(%a6_1) : ?
  %a6_3 = relu(%a6_2) : ?
  %o6 = matmul(%a6_3, %v) : ?
  %pm = matmul(%q, %k) : ?
  %wm = where(%m, %pm, %z) : ?
  %sm = softmax(%wm) {axis=-1} : ?
  %nm = is_nan(%sm) : ?
  %cm = where(%nm, %z, %sm) : ?
  %om = matmul(%cm, %v) : ?
  %c0 = conv(%x, %w) {pads=[1, 1, 1, 1]} : ?
  %g0 = sigmoid(%c0) : ?
  %h0 = mul(%c0, %g0) : ?
  %c1 = conv(%x, %w) {pads=[1, 1, 1, 1]} : ?
  %e1 = softplus(%c1) : ?
  %g1 = tanh(%e1) : ?
  %h1 = mul(%c1, %g1) : ?
  %c2 = conv(%x, %w) {pads=[1, 1, 1, 1]} : ?
  %d2 = erf(%c2) : ?
  %e2 = neg(%d2) : ?
  %f2 = mul(%c2, %e2) : ?
  %g2 = relu(%f2) : ?
  %h2 = add(%f2, %g2) : ?
  %c3 = conv(%x, %w) {pads=[1, 1, 1, 1]} : ?
  %g3 = relu(%c3) : ?
  %h3 = add(%g3, %x) : ?
  return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %om, %h0, %h1, %h2, %h3
}
# ---- expect
## cudagraph, eager, eager-unfused, trainer, transformers
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid + mul (elementwise, activation)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 53: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 54: softplus + tanh + mul (elementwise, activation)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 55: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 56: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 57: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 58: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 59: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 60: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 61: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 62: relu (elementwise)
  nodes %g3
  8192 alu; f16
  reads %c3: 16384 bytes
  writes %g3: 16384 bytes
kernel 63: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## eager-literal, llamacpp, sglang, trtllm, trtllm-compiled, vllm
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid (elementwise)
  nodes %g0
  16384 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %g0: 16384 bytes
kernel 53: mul (elementwise)
  nodes %h0
  8192 alu; f16
  reads %c0 %g0: 32768 bytes
  writes %h0: 16384 bytes
kernel 54: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 55: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 56: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 57: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 58: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 59: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 60: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 61: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 62: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 63: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 64: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 65: relu (elementwise)
  nodes %g3
  8192 alu; f16
  reads %c3: 16384 bytes
  writes %g3: 16384 bytes
kernel 66: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## fastertransformer
kernel 0: matmul + softmax + matmul (attention, attention)
  nodes %p0 %s0 %o0
  4194304 mac, 262144 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 1: matmul + relu + softmax + matmul (attention, attention)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3 %s1 %o1
  4194304 mac, 524288 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 2: matmul + relu + softmax + matmul (attention, attention)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4 %s2 %o2
  4194304 mac, 589824 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 4: relu + softmax (softmax)
  nodes %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5 %s3
  655360 alu, 66560 sfu; f16
  reads %p3: 131072 bytes
  writes %s3: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 6: matmul + softmax + relu + matmul (attention, attention)
  nodes %p4 %s4 %a4_0 %a4_1 %o4
  4194304 mac, 393216 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 7: matmul + softmax + relu + matmul (attention, attention)
  nodes %p5 %s5 %a5_0 %a5_1 %a5_2 %o5
  4194304 mac, 458752 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 8: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 9: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 10: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 11: matmul + where + … 3 more + matmul (attention, attention)
  nodes %pm %wm %sm %nm %cm %om
  4194304 mac, 327680 alu, 66560 sfu, 131072 integer; f16
  reads %q %k %m %z %v: 204802 bytes
  writes %om: 65536 bytes
kernel 12: conv + sigmoid + mul (conv)
  nodes %c0 %g0 %h0
  589824 mac, 24576 alu, 16384 sfu; f16
  reads %x %w: 17536 bytes
  writes %h0: 16384 bytes
kernel 13: conv + softplus + tanh + mul (conv)
  nodes %c1 %e1 %g1 %h1
  589824 mac, 16384 alu, 24576 sfu; f16
  reads %x %w: 17536 bytes
  writes %h1: 16384 bytes
kernel 14: conv + erf + … 3 more + add (conv)
  nodes %c2 %d2 %e2 %f2 %g2 %h2
  589824 mac, 32768 alu, 8192 sfu; f16
  reads %x %w: 17536 bytes
  writes %h2: 16384 bytes
kernel 15: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## inductor, inductor-cudagraph
kernel 0: matmul + softmax + matmul (attention, attention)
  nodes %p0 %s0 %o0
  4194304 mac, 262144 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 1: matmul + relu + softmax + matmul (attention, attention)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3 %s1 %o1
  4194304 mac, 524288 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 2: matmul + relu + softmax + matmul (attention, attention)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4 %s2 %o2
  4194304 mac, 589824 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 4: relu + softmax (softmax)
  nodes %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5 %s3
  655360 alu, 66560 sfu; f16
  reads %p3: 131072 bytes
  writes %s3: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 6: matmul + softmax + relu + matmul (attention, attention)
  nodes %p4 %s4 %a4_0 %a4_1 %o4
  4194304 mac, 393216 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 7: matmul + softmax + relu + matmul (attention, attention)
  nodes %p5 %s5 %a5_0 %a5_1 %a5_2 %o5
  4194304 mac, 458752 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 8: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 9: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 10: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 11: matmul + where + … 3 more + matmul (attention, attention)
  nodes %pm %wm %sm %nm %cm %om
  4194304 mac, 327680 alu, 66560 sfu, 131072 integer; f16
  reads %q %k %m %z %v: 204802 bytes
  writes %om: 65536 bytes
kernel 12: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 13: sigmoid + mul (elementwise)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 14: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 15: softplus + tanh + mul (elementwise)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 16: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 17: erf + neg + … 2 more + add (elementwise)
  nodes %d2 %e2 %f2 %g2 %h2
  32768 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %h2: 16384 bytes
kernel 18: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 19: relu + add (elementwise)
  nodes %g3 %h3
  16384 alu; f16
  reads %c3 %x: 32768 bytes
  writes %h3: 16384 bytes

## litert
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3
  2097152 mac, 262144 alu; f16
  reads %q %k: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 6: matmul + relu (matmul)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  2097152 mac, 327680 alu; f16
  reads %q %k: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 7: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 8: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 9: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 13: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 14: relu (elementwise)
  nodes %a4_0 %a4_1
  131072 alu; f16
  reads %s4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 15: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 16: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 17: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 18: relu (elementwise)
  nodes %a5_0 %a5_1 %a5_2
  196608 alu; f16
  reads %s5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 19: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 20: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 21: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 22: relu (elementwise)
  nodes %a6_0 %a6_1 %a6_2 %a6_3
  262144 alu; f16
  reads %s6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 23: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 24: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 25: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 26: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 27: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 28: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 29: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 30: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 31: sigmoid (elementwise)
  nodes %g0
  16384 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %g0: 16384 bytes
kernel 32: mul (elementwise)
  nodes %h0
  8192 alu; f16
  reads %c0 %g0: 32768 bytes
  writes %h0: 16384 bytes
kernel 33: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 34: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 35: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 36: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 37: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 38: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 39: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 40: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 41: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 42: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 43: conv + relu (conv)
  nodes %c3 %g3
  589824 mac, 8192 alu; f16
  reads %x %w: 17536 bytes
  writes %g3: 16384 bytes
kernel 44: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## openvino
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3
  2097152 mac, 262144 alu; f16
  reads %q %k: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 6: matmul + relu (matmul)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  2097152 mac, 327680 alu; f16
  reads %q %k: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 7: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 8: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 9: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 13: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 14: relu (elementwise)
  nodes %a4_0 %a4_1
  131072 alu; f16
  reads %s4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 15: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 16: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 17: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 18: relu (elementwise)
  nodes %a5_0 %a5_1 %a5_2
  196608 alu; f16
  reads %s5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 19: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 20: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 21: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 22: relu (elementwise)
  nodes %a6_0 %a6_1 %a6_2 %a6_3
  262144 alu; f16
  reads %s6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 23: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 24: matmul + where (matmul)
  nodes %pm %wm
  2097152 mac, 65536 integer; f16
  reads %q %k %m %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 25: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 26: is_nan + where (elementwise)
  nodes %nm %cm
  65536 alu, 65536 integer; f16
  reads %sm %z: 131074 bytes
  writes %cm: 131072 bytes
kernel 27: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 28: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 29: sigmoid + mul (elementwise)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 30: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 31: softplus + tanh + mul (elementwise)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 32: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 33: erf + neg + mul (elementwise)
  nodes %d2 %e2 %f2
  16384 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %f2: 16384 bytes
kernel 34: relu + add (elementwise)
  nodes %g2 %h2
  16384 alu; f16
  reads %f2: 16384 bytes
  writes %h2: 16384 bytes
kernel 35: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## ort, ort-fused
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid + mul (elementwise, quick_gelu)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 53: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 54: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 55: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 56: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 57: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 58: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 59: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 60: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 61: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 62: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 63: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 64: relu (elementwise)
  nodes %g3
  8192 alu; f16
  reads %c3: 16384 bytes
  writes %g3: 16384 bytes
kernel 65: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## ort-cpu
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid + mul (elementwise, quick_gelu)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 53: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 54: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 55: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 56: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 57: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 58: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 59: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 60: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 61: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 62: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 63: conv + relu (conv)
  nodes %c3 %g3
  589824 mac, 8192 alu; f16
  reads %x %w: 17536 bytes
  writes %g3: 16384 bytes
kernel 64: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## ort-cpu-blocked
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid + mul (elementwise, quick_gelu)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 53: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 54: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 55: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 56: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 57: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 58: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 59: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 60: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 61: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 62: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 63: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## ort-optimized
kernel 0: matmul + softmax + matmul (attention, attention)
  nodes %p0 %s0 %o0
  4194304 mac, 262144 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 1: matmul + relu + softmax + matmul (attention, attention)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3 %s1 %o1
  4194304 mac, 524288 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 2: matmul + relu + softmax + matmul (attention, attention)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4 %s2 %o2
  4194304 mac, 589824 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 8: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 9: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul + softmax + relu + matmul (attention, attention)
  nodes %p4 %s4 %a4_0 %a4_1 %o4
  4194304 mac, 393216 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 13: matmul + softmax + relu + matmul (attention, attention)
  nodes %p5 %s5 %a5_0 %a5_1 %a5_2 %o5
  4194304 mac, 458752 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 14: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 15: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 16: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 17: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 18: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 19: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 20: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 21: matmul + where + … 3 more + matmul (attention, attention)
  nodes %pm %wm %sm %nm %cm %om
  4194304 mac, 327680 alu, 66560 sfu, 131072 integer; f16
  reads %q %k %m %z %v: 204802 bytes
  writes %om: 65536 bytes
kernel 22: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 23: sigmoid + mul (elementwise, quick_gelu)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 24: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 25: softplus + tanh + mul (elementwise, activation)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 26: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 27: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 28: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 29: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 30: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 31: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 32: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 33: relu (elementwise)
  nodes %g3
  8192 alu; f16
  reads %c3: 16384 bytes
  writes %g3: 16384 bytes
kernel 34: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## ort-tensorrt, paddle-trt, tensorrt
kernel 0: matmul + softmax + matmul (attention, attention)
  nodes %p0 %s0 %o0
  4194304 mac, 262144 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 1: matmul + relu + softmax + matmul (attention, attention)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3 %s1 %o1
  4194304 mac, 524288 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 2: matmul + relu + softmax + matmul (attention, attention)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4 %s2 %o2
  4194304 mac, 589824 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 6: matmul + softmax + relu + matmul (attention, attention)
  nodes %p4 %s4 %a4_0 %a4_1 %o4
  4194304 mac, 393216 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 7: matmul + softmax + relu + matmul (attention, attention)
  nodes %p5 %s5 %a5_0 %a5_1 %a5_2 %o5
  4194304 mac, 458752 alu, 66560 sfu; f16
  reads %q %k %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 8: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 9: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 10: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 11: matmul + where + … 3 more + matmul (attention, attention)
  nodes %pm %wm %sm %nm %cm %om
  4194304 mac, 327680 alu, 66560 sfu, 131072 integer; f16
  reads %q %k %m %z %v: 204802 bytes
  writes %om: 65536 bytes
kernel 12: conv + sigmoid + mul (conv)
  nodes %c0 %g0 %h0
  589824 mac, 24576 alu, 16384 sfu; f16
  reads %x %w: 17536 bytes
  writes %h0: 16384 bytes
kernel 13: conv + softplus + tanh + mul (conv)
  nodes %c1 %e1 %g1 %h1
  589824 mac, 16384 alu, 24576 sfu; f16
  reads %x %w: 17536 bytes
  writes %h1: 16384 bytes
kernel 14: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 15: erf + neg + mul (elementwise)
  nodes %d2 %e2 %f2
  16384 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %f2: 16384 bytes
kernel 16: relu + add (elementwise)
  nodes %g2 %h2
  16384 alu; f16
  reads %f2: 16384 bytes
  writes %h2: 16384 bytes
kernel 17: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## paddle, tensorflow
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0
  65536 alu; f16
  reads %p1: 131072 bytes
  writes %b1_0: 131072 bytes
kernel 5: relu (elementwise)
  nodes %b1_1
  65536 alu; f16
  reads %b1_0: 131072 bytes
  writes %b1_1: 131072 bytes
kernel 6: relu (elementwise)
  nodes %b1_2
  65536 alu; f16
  reads %b1_1: 131072 bytes
  writes %b1_2: 131072 bytes
kernel 7: relu (elementwise)
  nodes %b1_3
  65536 alu; f16
  reads %b1_2: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 8: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 9: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 10: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 11: relu (elementwise)
  nodes %b2_0
  65536 alu; f16
  reads %p2: 131072 bytes
  writes %b2_0: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b2_1
  65536 alu; f16
  reads %b2_0: 131072 bytes
  writes %b2_1: 131072 bytes
kernel 13: relu (elementwise)
  nodes %b2_2
  65536 alu; f16
  reads %b2_1: 131072 bytes
  writes %b2_2: 131072 bytes
kernel 14: relu (elementwise)
  nodes %b2_3
  65536 alu; f16
  reads %b2_2: 131072 bytes
  writes %b2_3: 131072 bytes
kernel 15: relu (elementwise)
  nodes %b2_4
  65536 alu; f16
  reads %b2_3: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 19: relu (elementwise)
  nodes %b3_0
  65536 alu; f16
  reads %p3: 131072 bytes
  writes %b3_0: 131072 bytes
kernel 20: relu (elementwise)
  nodes %b3_1
  65536 alu; f16
  reads %b3_0: 131072 bytes
  writes %b3_1: 131072 bytes
kernel 21: relu (elementwise)
  nodes %b3_2
  65536 alu; f16
  reads %b3_1: 131072 bytes
  writes %b3_2: 131072 bytes
kernel 22: relu (elementwise)
  nodes %b3_3
  65536 alu; f16
  reads %b3_2: 131072 bytes
  writes %b3_3: 131072 bytes
kernel 23: relu (elementwise)
  nodes %b3_4
  65536 alu; f16
  reads %b3_3: 131072 bytes
  writes %b3_4: 131072 bytes
kernel 24: relu (elementwise)
  nodes %b3_5
  65536 alu; f16
  reads %b3_4: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 25: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 27: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 28: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 29: relu (elementwise)
  nodes %a4_0
  65536 alu; f16
  reads %s4: 131072 bytes
  writes %a4_0: 131072 bytes
kernel 30: relu (elementwise)
  nodes %a4_1
  65536 alu; f16
  reads %a4_0: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 31: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 32: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 33: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 34: relu (elementwise)
  nodes %a5_0
  65536 alu; f16
  reads %s5: 131072 bytes
  writes %a5_0: 131072 bytes
kernel 35: relu (elementwise)
  nodes %a5_1
  65536 alu; f16
  reads %a5_0: 131072 bytes
  writes %a5_1: 131072 bytes
kernel 36: relu (elementwise)
  nodes %a5_2
  65536 alu; f16
  reads %a5_1: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 37: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 38: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 39: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 40: relu (elementwise)
  nodes %a6_0
  65536 alu; f16
  reads %s6: 131072 bytes
  writes %a6_0: 131072 bytes
kernel 41: relu (elementwise)
  nodes %a6_1
  65536 alu; f16
  reads %a6_0: 131072 bytes
  writes %a6_1: 131072 bytes
kernel 42: relu (elementwise)
  nodes %a6_2
  65536 alu; f16
  reads %a6_1: 131072 bytes
  writes %a6_2: 131072 bytes
kernel 43: relu (elementwise)
  nodes %a6_3
  65536 alu; f16
  reads %a6_2: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 44: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 45: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 46: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 47: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 48: is_nan (elementwise)
  nodes %nm
  65536 alu; f16
  reads %sm: 131072 bytes
  writes %nm: 65536 bytes
kernel 49: where (elementwise)
  nodes %cm
  65536 integer; b1
  reads %nm %z %sm: 196610 bytes
  writes %cm: 131072 bytes
kernel 50: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 51: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 52: sigmoid (elementwise)
  nodes %g0
  16384 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %g0: 16384 bytes
kernel 53: mul (elementwise)
  nodes %h0
  8192 alu; f16
  reads %c0 %g0: 32768 bytes
  writes %h0: 16384 bytes
kernel 54: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 55: softplus (elementwise)
  nodes %e1
  8192 alu, 16384 sfu; f16
  reads %c1: 16384 bytes
  writes %e1: 16384 bytes
kernel 56: tanh (elementwise)
  nodes %g1
  8192 sfu; f16
  reads %e1: 16384 bytes
  writes %g1: 16384 bytes
kernel 57: mul (elementwise)
  nodes %h1
  8192 alu; f16
  reads %c1 %g1: 32768 bytes
  writes %h1: 16384 bytes
kernel 58: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 59: erf (elementwise)
  nodes %d2
  8192 sfu; f16
  reads %c2: 16384 bytes
  writes %d2: 16384 bytes
kernel 60: neg (elementwise)
  nodes %e2
  8192 alu; f16
  reads %d2: 16384 bytes
  writes %e2: 16384 bytes
kernel 61: mul (elementwise)
  nodes %f2
  8192 alu; f16
  reads %c2 %e2: 32768 bytes
  writes %f2: 16384 bytes
kernel 62: relu (elementwise)
  nodes %g2
  8192 alu; f16
  reads %f2: 16384 bytes
  writes %g2: 16384 bytes
kernel 63: add (elementwise)
  nodes %h2
  8192 alu; f16
  reads %f2 %g2: 32768 bytes
  writes %h2: 16384 bytes
kernel 64: conv + relu (conv)
  nodes %c3 %g3
  589824 mac, 8192 alu; f16
  reads %x %w: 17536 bytes
  writes %g3: 16384 bytes
kernel 65: add (elementwise)
  nodes %h3
  8192 alu; f16
  reads %g3 %x: 32768 bytes
  writes %h3: 16384 bytes

## tensorrt-unfused
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3
  2097152 mac, 262144 alu; f16
  reads %q %k: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 6: matmul + relu (matmul)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  2097152 mac, 327680 alu; f16
  reads %q %k: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 7: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 8: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 9: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 13: softmax + relu (softmax)
  nodes %s4 %a4_0 %a4_1
  393216 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 14: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 15: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 16: softmax + relu (softmax)
  nodes %s5 %a5_0 %a5_1 %a5_2
  458752 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 19: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 20: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 21: matmul + where (matmul)
  nodes %pm %wm
  2097152 mac, 65536 integer; f16
  reads %q %k %m %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 22: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 23: is_nan + where (elementwise)
  nodes %nm %cm
  65536 alu, 65536 integer; f16
  reads %sm %z: 131074 bytes
  writes %cm: 131072 bytes
kernel 24: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 25: conv + sigmoid + mul (conv)
  nodes %c0 %g0 %h0
  589824 mac, 24576 alu, 16384 sfu; f16
  reads %x %w: 17536 bytes
  writes %h0: 16384 bytes
kernel 26: conv + softplus + tanh + mul (conv)
  nodes %c1 %e1 %g1 %h1
  589824 mac, 16384 alu, 24576 sfu; f16
  reads %x %w: 17536 bytes
  writes %h1: 16384 bytes
kernel 27: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 28: erf + neg + mul (elementwise)
  nodes %d2 %e2 %f2
  16384 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %f2: 16384 bytes
kernel 29: relu + add (elementwise)
  nodes %g2 %h2
  16384 alu; f16
  reads %f2: 16384 bytes
  writes %h2: 16384 bytes
kernel 30: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## torchscript
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul (matmul)
  nodes %p1
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p1: 131072 bytes
kernel 4: relu (elementwise)
  nodes %b1_0 %b1_1 %b1_2 %b1_3
  262144 alu; f16
  reads %p1: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 5: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 6: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 7: matmul (matmul)
  nodes %p2
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p2: 131072 bytes
kernel 8: relu (elementwise)
  nodes %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  327680 alu; f16
  reads %p2: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 9: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 10: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 11: matmul (matmul)
  nodes %p3
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p3: 131072 bytes
kernel 12: relu (elementwise)
  nodes %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  393216 alu; f16
  reads %p3: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 13: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 14: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 15: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 16: softmax (softmax)
  nodes %s4
  262144 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %s4: 131072 bytes
kernel 17: relu (elementwise)
  nodes %a4_0 %a4_1
  131072 alu; f16
  reads %s4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 18: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 19: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 20: softmax (softmax)
  nodes %s5
  262144 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %s5: 131072 bytes
kernel 21: relu (elementwise)
  nodes %a5_0 %a5_1 %a5_2
  196608 alu; f16
  reads %s5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 22: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 23: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 24: softmax (softmax)
  nodes %s6
  262144 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %s6: 131072 bytes
kernel 25: relu (elementwise)
  nodes %a6_0 %a6_1 %a6_2 %a6_3
  262144 alu; f16
  reads %s6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 26: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 27: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 28: where (elementwise)
  nodes %wm
  65536 integer; b1
  reads %m %pm %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 29: softmax (softmax)
  nodes %sm
  262144 alu, 66560 sfu; f16
  reads %wm: 131072 bytes
  writes %sm: 131072 bytes
kernel 30: is_nan + where (elementwise)
  nodes %nm %cm
  65536 alu, 65536 integer; f16
  reads %sm %z: 131074 bytes
  writes %cm: 131072 bytes
kernel 31: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 32: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 33: sigmoid + mul (elementwise, activation)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 34: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 35: softplus + tanh + mul (elementwise, activation)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 36: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 37: erf + neg + mul (elementwise)
  nodes %d2 %e2 %f2
  16384 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %f2: 16384 bytes
kernel 38: relu + add (elementwise)
  nodes %g2 %h2
  16384 alu; f16
  reads %f2: 16384 bytes
  writes %h2: 16384 bytes
kernel 39: conv (conv)
  nodes %c3
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c3: 16384 bytes
kernel 40: relu + add (elementwise)
  nodes %g3 %h3
  16384 alu; f16
  reads %c3 %x: 32768 bytes
  writes %h3: 16384 bytes

## tvm
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3
  2097152 mac, 262144 alu; f16
  reads %q %k: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 6: matmul + relu (matmul)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  2097152 mac, 327680 alu; f16
  reads %q %k: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 7: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 8: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 9: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 13: softmax + relu (softmax)
  nodes %s4 %a4_0 %a4_1
  393216 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 14: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 15: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 16: softmax + relu (softmax)
  nodes %s5 %a5_0 %a5_1 %a5_2
  458752 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 19: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 20: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 21: matmul + where (matmul)
  nodes %pm %wm
  2097152 mac, 65536 integer; f16
  reads %q %k %m %z: 139266 bytes
  writes %wm: 131072 bytes
kernel 22: softmax + is_nan + where (softmax)
  nodes %sm %nm %cm
  327680 alu, 66560 sfu, 65536 integer; f16
  reads %wm %z: 131074 bytes
  writes %cm: 131072 bytes
kernel 23: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 24: conv + sigmoid + mul (conv)
  nodes %c0 %g0 %h0
  589824 mac, 24576 alu, 16384 sfu; f16
  reads %x %w: 17536 bytes
  writes %h0: 16384 bytes
kernel 25: conv + softplus + tanh + mul (conv)
  nodes %c1 %e1 %g1 %h1
  589824 mac, 16384 alu, 24576 sfu; f16
  reads %x %w: 17536 bytes
  writes %h1: 16384 bytes
kernel 26: conv + erf + … 3 more + add (conv)
  nodes %c2 %d2 %e2 %f2 %g2 %h2
  589824 mac, 32768 alu, 8192 sfu; f16
  reads %x %w: 17536 bytes
  writes %h2: 16384 bytes
kernel 27: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes

## xla
kernel 0: matmul (matmul)
  nodes %p0
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p0: 131072 bytes
kernel 1: softmax (softmax)
  nodes %s0
  262144 alu, 66560 sfu; f16
  reads %p0: 131072 bytes
  writes %s0: 131072 bytes
kernel 2: matmul (matmul)
  nodes %o0
  2097152 mac; f16
  reads %s0 %v: 196608 bytes
  writes %o0: 65536 bytes
kernel 3: matmul + relu (matmul)
  nodes %p1 %b1_0 %b1_1 %b1_2 %b1_3
  2097152 mac, 262144 alu; f16
  reads %q %k: 131072 bytes
  writes %b1_3: 131072 bytes
kernel 4: softmax (softmax)
  nodes %s1
  262144 alu, 66560 sfu; f16
  reads %b1_3: 131072 bytes
  writes %s1: 131072 bytes
kernel 5: matmul (matmul)
  nodes %o1
  2097152 mac; f16
  reads %s1 %v: 196608 bytes
  writes %o1: 65536 bytes
kernel 6: matmul + relu (matmul)
  nodes %p2 %b2_0 %b2_1 %b2_2 %b2_3 %b2_4
  2097152 mac, 327680 alu; f16
  reads %q %k: 131072 bytes
  writes %b2_4: 131072 bytes
kernel 7: softmax (softmax)
  nodes %s2
  262144 alu, 66560 sfu; f16
  reads %b2_4: 131072 bytes
  writes %s2: 131072 bytes
kernel 8: matmul (matmul)
  nodes %o2
  2097152 mac; f16
  reads %s2 %v: 196608 bytes
  writes %o2: 65536 bytes
kernel 9: matmul + relu (matmul)
  nodes %p3 %b3_0 %b3_1 %b3_2 %b3_3 %b3_4 %b3_5
  2097152 mac, 393216 alu; f16
  reads %q %k: 131072 bytes
  writes %b3_5: 131072 bytes
kernel 10: softmax (softmax)
  nodes %s3
  262144 alu, 66560 sfu; f16
  reads %b3_5: 131072 bytes
  writes %s3: 131072 bytes
kernel 11: matmul (matmul)
  nodes %o3
  2097152 mac; f16
  reads %s3 %v: 196608 bytes
  writes %o3: 65536 bytes
kernel 12: matmul (matmul)
  nodes %p4
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p4: 131072 bytes
kernel 13: softmax + relu (softmax)
  nodes %s4 %a4_0 %a4_1
  393216 alu, 66560 sfu; f16
  reads %p4: 131072 bytes
  writes %a4_1: 131072 bytes
kernel 14: matmul (matmul)
  nodes %o4
  2097152 mac; f16
  reads %a4_1 %v: 196608 bytes
  writes %o4: 65536 bytes
kernel 15: matmul (matmul)
  nodes %p5
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p5: 131072 bytes
kernel 16: softmax + relu (softmax)
  nodes %s5 %a5_0 %a5_1 %a5_2
  458752 alu, 66560 sfu; f16
  reads %p5: 131072 bytes
  writes %a5_2: 131072 bytes
kernel 17: matmul (matmul)
  nodes %o5
  2097152 mac; f16
  reads %a5_2 %v: 196608 bytes
  writes %o5: 65536 bytes
kernel 18: matmul (matmul)
  nodes %p6
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %p6: 131072 bytes
kernel 19: softmax + relu (softmax)
  nodes %s6 %a6_0 %a6_1 %a6_2 %a6_3
  524288 alu, 66560 sfu; f16
  reads %p6: 131072 bytes
  writes %a6_3: 131072 bytes
kernel 20: matmul (matmul)
  nodes %o6
  2097152 mac; f16
  reads %a6_3 %v: 196608 bytes
  writes %o6: 65536 bytes
kernel 21: matmul (matmul)
  nodes %pm
  2097152 mac; f16
  reads %q %k: 131072 bytes
  writes %pm: 131072 bytes
kernel 22: where + softmax + is_nan + where (softmax)
  nodes %wm %sm %nm %cm
  327680 alu, 66560 sfu, 131072 integer; f16
  reads %m %pm %z: 139266 bytes
  writes %cm: 131072 bytes
kernel 23: matmul (matmul)
  nodes %om
  2097152 mac; f16
  reads %cm %v: 196608 bytes
  writes %om: 65536 bytes
kernel 24: conv (conv)
  nodes %c0
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c0: 16384 bytes
kernel 25: sigmoid + mul (elementwise)
  nodes %g0 %h0
  24576 alu, 16384 sfu; f16
  reads %c0: 16384 bytes
  writes %h0: 16384 bytes
kernel 26: conv (conv)
  nodes %c1
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c1: 16384 bytes
kernel 27: softplus + tanh + mul (elementwise)
  nodes %e1 %g1 %h1
  16384 alu, 24576 sfu; f16
  reads %c1: 16384 bytes
  writes %h1: 16384 bytes
kernel 28: conv (conv)
  nodes %c2
  589824 mac; f16
  reads %x %w: 17536 bytes
  writes %c2: 16384 bytes
kernel 29: erf + neg + … 2 more + add (elementwise)
  nodes %d2 %e2 %f2 %g2 %h2
  32768 alu, 8192 sfu; f16
  reads %c2: 16384 bytes
  writes %h2: 16384 bytes
kernel 30: conv + relu + add (conv)
  nodes %c3 %g3 %h3
  589824 mac, 16384 alu; f16
  reads %x %w: 17536 bytes
  writes %h3: 16384 bytes
