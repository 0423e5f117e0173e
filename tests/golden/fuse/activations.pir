# RUN: shapes | kernels
perfir 1
module @activations
graph @main(%x: f32[4, 64], %w: f32[64, 64]) {
  %half = weight {bytes=4} : f32[] = 0.5
  %one = weight {bytes=4} : f32[] = 1.0
  %two = weight {bytes=4} : f32[] = 2.0
  %three = weight {bytes=4} : f32[] = 3.0
  %six = weight {bytes=4} : f32[] = 6.0
  %c = weight {bytes=4} : f32[] = 0.044715
  %r = weight {bytes=4} : f32[] = 0.7978845608
  %sq = weight {bytes=4} : f32[] = 1.41421356
  %sixth = weight {bytes=4} : f32[] = 0.16666666666666666
  %x0 = matmul(%x, %w) : ?
  %a0 = div(%x0, %sq) : ?
  %b0 = erf(%a0) : ?
  %d0 = add(%b0, %one) : ?
  %e0 = mul(%x0, %d0) : ?
  %f0 = mul(%e0, %half) : ?
  %x1 = matmul(%x, %w) : ?
  %a1 = div(%x1, %sq) : ?
  %b1 = erf(%a1) : ?
  %d1 = add(%b1, %one) : ?
  %e1 = mul(%x1, %half) : ?
  %f1 = mul(%e1, %d1) : ?
  %x2 = matmul(%x, %w) : ?
  %a2 = div(%x2, %sq) : ?
  %b2 = erf(%a2) : ?
  %d2 = add(%b2, %one) : ?
  %e2 = mul(%d2, %half) : ?
  %f2 = mul(%x2, %e2) : ?
  %x3 = matmul(%x, %w) : ?
  %a3 = div(%x3, %sq) : ?
  %b3 = erf(%a3) : ?
  %d3 = add(%b3, %one) : ?
  %e3 = mul(%x3, %d3) : ?
  %f3 = mul(%e3, %two) : ?
  %x4 = matmul(%x, %w) : ?
  %p4 = pow(%x4, %three) : ?
  %q4 = mul(%p4, %c) : ?
  %s4 = add(%x4, %q4) : ?
  %t4 = mul(%s4, %r) : ?
  %u4 = tanh(%t4) : ?
  %v4 = add(%u4, %one) : ?
  %y4 = mul(%x4, %half) : ?
  %z4 = mul(%y4, %v4) : ?
  %x5 = matmul(%x, %w) : ?
  %p5 = pow(%x5, %three) : ?
  %q5 = mul(%p5, %c) : ?
  %s5 = add(%x5, %q5) : ?
  %t5 = mul(%s5, %r) : ?
  %u5 = tanh(%t5) : ?
  %v5 = add(%u5, %one) : ?
  %y5 = mul(%x5, %v5) : ?
  %z5 = mul(%y5, %half) : ?
  %x6 = matmul(%x, %w) : ?
  %p6 = mul(%x6, %x6) : ?
  %o6 = mul(%p6, %c) : ?
  %q6 = add(%o6, %one) : ?
  %n6 = mul(%x6, %r) : ?
  %t6 = mul(%n6, %q6) : ?
  %u6 = tanh(%t6) : ?
  %v6 = add(%u6, %one) : ?
  %y6 = mul(%x6, %v6) : ?
  %z6 = mul(%y6, %half) : ?
  %x7 = matmul(%x, %w) : ?
  %a7 = sigmoid(%x7) : ?
  %b7 = mul(%x7, %a7) : ?
  %x8 = matmul(%x, %w) : ?
  %a8 = softplus(%x8) : ?
  %d8 = tanh(%a8) : ?
  %b8 = mul(%x8, %d8) : ?
  %x9 = matmul(%x, %w) : ?
  %a9 = add(%x9, %three) : ?
  %d9 = clip(%a9, _, %six) : ?
  %b9 = mul(%x9, %d9) : ?
  %e9 = div(%b9, %six) : ?
  %x10 = matmul(%x, %w) : ?
  %a10 = hard_sigmoid(%x10) : ?
  %b10 = mul(%x10, %a10) : ?
  %x11 = matmul(%x, %w) : ?
  %a11 = mul(%x11, %r) : ?
  %d11 = sigmoid(%a11) : ?
  %b11 = mul(%x11, %d11) : ?
  %x12 = matmul(%x, %w) : ?
  %m12 = mul(%x12, %one) : ?
  %b12 = sub(%x12, %m12) : ?
  return %f0, %f1, %f2, %f3, %z4, %z5, %z6, %b7, %b8, %e9, %b10, %b11, %b12
}
# ---- expect
## cudagraph, eager, eager-unfused, trainer, transformers
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise, activation)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise, activation)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div + erf + add + mul (elementwise, activation)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 7: div + erf + add + mul (elementwise, activation)
  nodes %a3 %b3 %d3 %e3
  512 alu, 512 sfu; f32
  reads %x3 %sq %one: 1032 bytes
  writes %e3: 1024 bytes
kernel 8: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 9: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 10: pow + mul + … 4 more + mul (elementwise, activation)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 11: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 12: pow + mul + … 4 more + mul (elementwise, activation)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 14: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 15: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 16: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 17: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 18: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 19: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 20: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 21: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 22: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 23: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 24: sigmoid + mul (elementwise, activation)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 25: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 26: softplus + tanh + mul (elementwise, activation)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 27: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 28: add + clip + mul + div (elementwise, activation)
  nodes %a9 %d9 %b9 %e9
  768 alu, 256 sfu; f32
  reads %x9 %three %six: 1032 bytes
  writes %e9: 1024 bytes
kernel 29: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 30: hard_sigmoid + mul (elementwise, activation)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 31: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 32: mul + sigmoid + mul (elementwise, activation)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 33: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 34: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 35: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## eager-literal, llamacpp, sglang, trtllm, trtllm-compiled, vllm
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div (elementwise)
  nodes %a0
  256 sfu; f32
  reads %x0 %sq: 1028 bytes
  writes %a0: 1024 bytes
kernel 2: erf (elementwise)
  nodes %b0
  256 sfu; f32
  reads %a0: 1024 bytes
  writes %b0: 1024 bytes
kernel 3: add (elementwise)
  nodes %d0
  256 alu; f32
  reads %b0 %one: 1028 bytes
  writes %d0: 1024 bytes
kernel 4: mul (elementwise)
  nodes %e0
  256 alu; f32
  reads %x0 %d0: 2048 bytes
  writes %e0: 1024 bytes
kernel 5: mul (elementwise)
  nodes %f0
  256 alu; f32
  reads %e0 %half: 1028 bytes
  writes %f0: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 7: div (elementwise)
  nodes %a1
  256 sfu; f32
  reads %x1 %sq: 1028 bytes
  writes %a1: 1024 bytes
kernel 8: erf (elementwise)
  nodes %b1
  256 sfu; f32
  reads %a1: 1024 bytes
  writes %b1: 1024 bytes
kernel 9: add (elementwise)
  nodes %d1
  256 alu; f32
  reads %b1 %one: 1028 bytes
  writes %d1: 1024 bytes
kernel 10: mul (elementwise)
  nodes %e1
  256 alu; f32
  reads %x1 %half: 1028 bytes
  writes %e1: 1024 bytes
kernel 11: mul (elementwise)
  nodes %f1
  256 alu; f32
  reads %e1 %d1: 2048 bytes
  writes %f1: 1024 bytes
kernel 12: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 13: div (elementwise)
  nodes %a2
  256 sfu; f32
  reads %x2 %sq: 1028 bytes
  writes %a2: 1024 bytes
kernel 14: erf (elementwise)
  nodes %b2
  256 sfu; f32
  reads %a2: 1024 bytes
  writes %b2: 1024 bytes
kernel 15: add (elementwise)
  nodes %d2
  256 alu; f32
  reads %b2 %one: 1028 bytes
  writes %d2: 1024 bytes
kernel 16: mul (elementwise)
  nodes %e2
  256 alu; f32
  reads %d2 %half: 1028 bytes
  writes %e2: 1024 bytes
kernel 17: mul (elementwise)
  nodes %f2
  256 alu; f32
  reads %x2 %e2: 2048 bytes
  writes %f2: 1024 bytes
kernel 18: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 19: div (elementwise)
  nodes %a3
  256 sfu; f32
  reads %x3 %sq: 1028 bytes
  writes %a3: 1024 bytes
kernel 20: erf (elementwise)
  nodes %b3
  256 sfu; f32
  reads %a3: 1024 bytes
  writes %b3: 1024 bytes
kernel 21: add (elementwise)
  nodes %d3
  256 alu; f32
  reads %b3 %one: 1028 bytes
  writes %d3: 1024 bytes
kernel 22: mul (elementwise)
  nodes %e3
  256 alu; f32
  reads %x3 %d3: 2048 bytes
  writes %e3: 1024 bytes
kernel 23: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 24: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 25: pow (elementwise)
  nodes %p4
  256 sfu; f32
  reads %x4 %three: 1028 bytes
  writes %p4: 1024 bytes
kernel 26: mul (elementwise)
  nodes %q4
  256 alu; f32
  reads %p4 %c: 1028 bytes
  writes %q4: 1024 bytes
kernel 27: add (elementwise)
  nodes %s4
  256 alu; f32
  reads %x4 %q4: 2048 bytes
  writes %s4: 1024 bytes
kernel 28: mul (elementwise)
  nodes %t4
  256 alu; f32
  reads %s4 %r: 1028 bytes
  writes %t4: 1024 bytes
kernel 29: tanh (elementwise)
  nodes %u4
  256 sfu; f32
  reads %t4: 1024 bytes
  writes %u4: 1024 bytes
kernel 30: add (elementwise)
  nodes %v4
  256 alu; f32
  reads %u4 %one: 1028 bytes
  writes %v4: 1024 bytes
kernel 31: mul (elementwise)
  nodes %y4
  256 alu; f32
  reads %x4 %half: 1028 bytes
  writes %y4: 1024 bytes
kernel 32: mul (elementwise)
  nodes %z4
  256 alu; f32
  reads %y4 %v4: 2048 bytes
  writes %z4: 1024 bytes
kernel 33: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 34: pow (elementwise)
  nodes %p5
  256 sfu; f32
  reads %x5 %three: 1028 bytes
  writes %p5: 1024 bytes
kernel 35: mul (elementwise)
  nodes %q5
  256 alu; f32
  reads %p5 %c: 1028 bytes
  writes %q5: 1024 bytes
kernel 36: add (elementwise)
  nodes %s5
  256 alu; f32
  reads %x5 %q5: 2048 bytes
  writes %s5: 1024 bytes
kernel 37: mul (elementwise)
  nodes %t5
  256 alu; f32
  reads %s5 %r: 1028 bytes
  writes %t5: 1024 bytes
kernel 38: tanh (elementwise)
  nodes %u5
  256 sfu; f32
  reads %t5: 1024 bytes
  writes %u5: 1024 bytes
kernel 39: add (elementwise)
  nodes %v5
  256 alu; f32
  reads %u5 %one: 1028 bytes
  writes %v5: 1024 bytes
kernel 40: mul (elementwise)
  nodes %y5
  256 alu; f32
  reads %x5 %v5: 2048 bytes
  writes %y5: 1024 bytes
kernel 41: mul (elementwise)
  nodes %z5
  256 alu; f32
  reads %y5 %half: 1028 bytes
  writes %z5: 1024 bytes
kernel 42: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 43: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 44: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 45: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 46: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 47: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 48: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 49: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 50: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 51: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 52: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 53: sigmoid (elementwise)
  nodes %a7
  512 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %a7: 1024 bytes
kernel 54: mul (elementwise)
  nodes %b7
  256 alu; f32
  reads %x7 %a7: 2048 bytes
  writes %b7: 1024 bytes
kernel 55: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 56: softplus (elementwise)
  nodes %a8
  256 alu, 512 sfu; f32
  reads %x8: 1024 bytes
  writes %a8: 1024 bytes
kernel 57: tanh (elementwise)
  nodes %d8
  256 sfu; f32
  reads %a8: 1024 bytes
  writes %d8: 1024 bytes
kernel 58: mul (elementwise)
  nodes %b8
  256 alu; f32
  reads %x8 %d8: 2048 bytes
  writes %b8: 1024 bytes
kernel 59: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 60: add (elementwise)
  nodes %a9
  256 alu; f32
  reads %x9 %three: 1028 bytes
  writes %a9: 1024 bytes
kernel 61: clip (elementwise)
  nodes %d9
  256 alu; f32
  reads %a9 %six: 1028 bytes
  writes %d9: 1024 bytes
kernel 62: mul (elementwise)
  nodes %b9
  256 alu; f32
  reads %x9 %d9: 2048 bytes
  writes %b9: 1024 bytes
kernel 63: div (elementwise)
  nodes %e9
  256 sfu; f32
  reads %b9 %six: 1028 bytes
  writes %e9: 1024 bytes
kernel 64: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 65: hard_sigmoid (elementwise)
  nodes %a10
  1024 alu; f32
  reads %x10: 1024 bytes
  writes %a10: 1024 bytes
kernel 66: mul (elementwise)
  nodes %b10
  256 alu; f32
  reads %x10 %a10: 2048 bytes
  writes %b10: 1024 bytes
kernel 67: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 68: mul (elementwise)
  nodes %a11
  256 alu; f32
  reads %x11 %r: 1028 bytes
  writes %a11: 1024 bytes
kernel 69: sigmoid (elementwise)
  nodes %d11
  512 alu, 512 sfu; f32
  reads %a11: 1024 bytes
  writes %d11: 1024 bytes
kernel 70: mul (elementwise)
  nodes %b11
  256 alu; f32
  reads %x11 %d11: 2048 bytes
  writes %b11: 1024 bytes
kernel 71: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 72: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 73: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## fastertransformer, torchscript
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise, activation)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise, activation)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div + erf + add + mul (elementwise, activation)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 7: div + erf + add + mul (elementwise, activation)
  nodes %a3 %b3 %d3 %e3 %f3
  768 alu, 512 sfu; f32
  reads %x3 %sq %one %two: 1036 bytes
  writes %f3: 1024 bytes
kernel 8: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 9: pow + mul + … 4 more + mul (elementwise, activation)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 10: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 11: pow + mul + … 4 more + mul (elementwise, activation)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 12: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 13: mul + add + … 3 more + mul (elementwise)
  nodes %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  2048 alu, 256 sfu; f32
  reads %x6 %c %one %r %half: 1040 bytes
  writes %z6: 1024 bytes
kernel 14: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 15: sigmoid + mul (elementwise, activation)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 16: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 17: softplus + tanh + mul (elementwise, activation)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 18: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 19: add + clip + mul + div (elementwise, activation)
  nodes %a9 %d9 %b9 %e9
  768 alu, 256 sfu; f32
  reads %x9 %three %six: 1032 bytes
  writes %e9: 1024 bytes
kernel 20: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 21: hard_sigmoid + mul (elementwise, activation)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 22: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 23: mul + sigmoid + mul (elementwise, activation)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 24: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 25: mul + sub (elementwise)
  nodes %m12 %b12
  512 alu; f32
  reads %x12 %one: 1028 bytes
  writes %b12: 1024 bytes

## inductor, inductor-cudagraph
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div + erf + add + mul (elementwise)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 7: div + erf + add + mul (elementwise)
  nodes %a3 %b3 %d3 %e3 %f3
  768 alu, 512 sfu; f32
  reads %x3 %sq %one %two: 1036 bytes
  writes %f3: 1024 bytes
kernel 8: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 9: pow + mul + … 4 more + mul (elementwise)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 10: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 11: pow + mul + … 4 more + mul (elementwise)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 12: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 13: mul + add + … 3 more + mul (elementwise)
  nodes %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  2048 alu, 256 sfu; f32
  reads %x6 %c %one %r %half: 1040 bytes
  writes %z6: 1024 bytes
kernel 14: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 15: sigmoid + mul (elementwise)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 16: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 17: softplus + tanh + mul (elementwise)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 18: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 19: add + clip + mul + div (elementwise)
  nodes %a9 %d9 %b9 %e9
  768 alu, 256 sfu; f32
  reads %x9 %three %six: 1032 bytes
  writes %e9: 1024 bytes
kernel 20: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 21: hard_sigmoid + mul (elementwise)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 22: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 23: mul + sigmoid + mul (elementwise)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 24: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 25: mul + sub (elementwise)
  nodes %m12 %b12
  512 alu; f32
  reads %x12 %one: 1028 bytes
  writes %b12: 1024 bytes

## litert
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div (elementwise)
  nodes %a0
  256 sfu; f32
  reads %x0 %sq: 1028 bytes
  writes %a0: 1024 bytes
kernel 2: erf (elementwise)
  nodes %b0
  256 sfu; f32
  reads %a0: 1024 bytes
  writes %b0: 1024 bytes
kernel 3: add (elementwise)
  nodes %d0
  256 alu; f32
  reads %b0 %one: 1028 bytes
  writes %d0: 1024 bytes
kernel 4: mul (elementwise)
  nodes %e0
  256 alu; f32
  reads %x0 %d0: 2048 bytes
  writes %e0: 1024 bytes
kernel 5: mul (elementwise)
  nodes %f0
  256 alu; f32
  reads %e0 %half: 1028 bytes
  writes %f0: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 7: div (elementwise)
  nodes %a1
  256 sfu; f32
  reads %x1 %sq: 1028 bytes
  writes %a1: 1024 bytes
kernel 8: erf (elementwise)
  nodes %b1
  256 sfu; f32
  reads %a1: 1024 bytes
  writes %b1: 1024 bytes
kernel 9: add (elementwise)
  nodes %d1
  256 alu; f32
  reads %b1 %one: 1028 bytes
  writes %d1: 1024 bytes
kernel 10: mul (elementwise)
  nodes %e1
  256 alu; f32
  reads %x1 %half: 1028 bytes
  writes %e1: 1024 bytes
kernel 11: mul (elementwise)
  nodes %f1
  256 alu; f32
  reads %e1 %d1: 2048 bytes
  writes %f1: 1024 bytes
kernel 12: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 13: div (elementwise)
  nodes %a2
  256 sfu; f32
  reads %x2 %sq: 1028 bytes
  writes %a2: 1024 bytes
kernel 14: erf (elementwise)
  nodes %b2
  256 sfu; f32
  reads %a2: 1024 bytes
  writes %b2: 1024 bytes
kernel 15: add (elementwise)
  nodes %d2
  256 alu; f32
  reads %b2 %one: 1028 bytes
  writes %d2: 1024 bytes
kernel 16: mul (elementwise)
  nodes %e2
  256 alu; f32
  reads %d2 %half: 1028 bytes
  writes %e2: 1024 bytes
kernel 17: mul (elementwise)
  nodes %f2
  256 alu; f32
  reads %x2 %e2: 2048 bytes
  writes %f2: 1024 bytes
kernel 18: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 19: div (elementwise)
  nodes %a3
  256 sfu; f32
  reads %x3 %sq: 1028 bytes
  writes %a3: 1024 bytes
kernel 20: erf (elementwise)
  nodes %b3
  256 sfu; f32
  reads %a3: 1024 bytes
  writes %b3: 1024 bytes
kernel 21: add (elementwise)
  nodes %d3
  256 alu; f32
  reads %b3 %one: 1028 bytes
  writes %d3: 1024 bytes
kernel 22: mul (elementwise)
  nodes %e3
  256 alu; f32
  reads %x3 %d3: 2048 bytes
  writes %e3: 1024 bytes
kernel 23: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 24: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 25: pow (elementwise)
  nodes %p4
  256 sfu; f32
  reads %x4 %three: 1028 bytes
  writes %p4: 1024 bytes
kernel 26: mul (elementwise)
  nodes %q4
  256 alu; f32
  reads %p4 %c: 1028 bytes
  writes %q4: 1024 bytes
kernel 27: add (elementwise)
  nodes %s4
  256 alu; f32
  reads %x4 %q4: 2048 bytes
  writes %s4: 1024 bytes
kernel 28: mul (elementwise)
  nodes %t4
  256 alu; f32
  reads %s4 %r: 1028 bytes
  writes %t4: 1024 bytes
kernel 29: tanh (elementwise)
  nodes %u4
  256 sfu; f32
  reads %t4: 1024 bytes
  writes %u4: 1024 bytes
kernel 30: add (elementwise)
  nodes %v4
  256 alu; f32
  reads %u4 %one: 1028 bytes
  writes %v4: 1024 bytes
kernel 31: mul (elementwise)
  nodes %y4
  256 alu; f32
  reads %x4 %half: 1028 bytes
  writes %y4: 1024 bytes
kernel 32: mul (elementwise)
  nodes %z4
  256 alu; f32
  reads %y4 %v4: 2048 bytes
  writes %z4: 1024 bytes
kernel 33: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 34: pow (elementwise)
  nodes %p5
  256 sfu; f32
  reads %x5 %three: 1028 bytes
  writes %p5: 1024 bytes
kernel 35: mul (elementwise)
  nodes %q5
  256 alu; f32
  reads %p5 %c: 1028 bytes
  writes %q5: 1024 bytes
kernel 36: add (elementwise)
  nodes %s5
  256 alu; f32
  reads %x5 %q5: 2048 bytes
  writes %s5: 1024 bytes
kernel 37: mul (elementwise)
  nodes %t5
  256 alu; f32
  reads %s5 %r: 1028 bytes
  writes %t5: 1024 bytes
kernel 38: tanh (elementwise)
  nodes %u5
  256 sfu; f32
  reads %t5: 1024 bytes
  writes %u5: 1024 bytes
kernel 39: add (elementwise)
  nodes %v5
  256 alu; f32
  reads %u5 %one: 1028 bytes
  writes %v5: 1024 bytes
kernel 40: mul (elementwise)
  nodes %y5
  256 alu; f32
  reads %x5 %v5: 2048 bytes
  writes %y5: 1024 bytes
kernel 41: mul (elementwise)
  nodes %z5
  256 alu; f32
  reads %y5 %half: 1028 bytes
  writes %z5: 1024 bytes
kernel 42: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 43: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 44: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 45: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 46: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 47: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 48: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 49: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 50: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 51: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 52: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 53: sigmoid (elementwise)
  nodes %a7
  512 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %a7: 1024 bytes
kernel 54: mul (elementwise)
  nodes %b7
  256 alu; f32
  reads %x7 %a7: 2048 bytes
  writes %b7: 1024 bytes
kernel 55: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 56: softplus (elementwise)
  nodes %a8
  256 alu, 512 sfu; f32
  reads %x8: 1024 bytes
  writes %a8: 1024 bytes
kernel 57: tanh (elementwise)
  nodes %d8
  256 sfu; f32
  reads %a8: 1024 bytes
  writes %d8: 1024 bytes
kernel 58: mul (elementwise)
  nodes %b8
  256 alu; f32
  reads %x8 %d8: 2048 bytes
  writes %b8: 1024 bytes
kernel 59: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 60: add + clip (elementwise)
  nodes %a9 %d9
  512 alu; f32
  reads %x9 %three %six: 1032 bytes
  writes %d9: 1024 bytes
kernel 61: mul (elementwise)
  nodes %b9
  256 alu; f32
  reads %x9 %d9: 2048 bytes
  writes %b9: 1024 bytes
kernel 62: div (elementwise)
  nodes %e9
  256 sfu; f32
  reads %b9 %six: 1028 bytes
  writes %e9: 1024 bytes
kernel 63: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 64: hard_sigmoid (elementwise)
  nodes %a10
  1024 alu; f32
  reads %x10: 1024 bytes
  writes %a10: 1024 bytes
kernel 65: mul (elementwise)
  nodes %b10
  256 alu; f32
  reads %x10 %a10: 2048 bytes
  writes %b10: 1024 bytes
kernel 66: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 67: mul (elementwise)
  nodes %a11
  256 alu; f32
  reads %x11 %r: 1028 bytes
  writes %a11: 1024 bytes
kernel 68: sigmoid (elementwise)
  nodes %d11
  512 alu, 512 sfu; f32
  reads %a11: 1024 bytes
  writes %d11: 1024 bytes
kernel 69: mul (elementwise)
  nodes %b11
  256 alu; f32
  reads %x11 %d11: 2048 bytes
  writes %b11: 1024 bytes
kernel 70: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 71: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 72: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## openvino
kernel 0: matmul + div + … 2 more + mul (matmul)
  nodes %x0 %a0 %b0 %d0 %e0 %f0
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f0: 1024 bytes
kernel 1: matmul + div + … 2 more + mul (matmul)
  nodes %x1 %a1 %b1 %d1 %e1 %f1
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f1: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 3: div + erf + add + mul (elementwise)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 4: matmul + div + … 2 more + mul (matmul)
  nodes %x3 %a3 %b3 %d3 %e3 %f3
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %two: 17420 bytes
  writes %f3: 1024 bytes
kernel 5: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 6: pow + mul + … 4 more + mul (elementwise)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 7: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 8: pow + mul + … 4 more + mul (elementwise)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 9: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 10: mul + add + … 3 more + mul (elementwise)
  nodes %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  2048 alu, 256 sfu; f32
  reads %x6 %c %one %r %half: 1040 bytes
  writes %z6: 1024 bytes
kernel 11: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 12: sigmoid + mul (elementwise)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 14: softplus + tanh + mul (elementwise)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 15: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 16: add + clip + mul + div (elementwise)
  nodes %a9 %d9 %b9 %e9
  768 alu, 256 sfu; f32
  reads %x9 %three %six: 1032 bytes
  writes %e9: 1024 bytes
kernel 17: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 18: hard_sigmoid + mul (elementwise)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 19: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 20: mul + sigmoid + mul (elementwise)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 21: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 22: mul + sub (elementwise)
  nodes %m12 %b12
  512 alu; f32
  reads %x12 %one: 1028 bytes
  writes %b12: 1024 bytes

## ort, ort-cpu, ort-cpu-blocked, ort-fused
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise, gelu)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise, gelu)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div (elementwise)
  nodes %a2
  256 sfu; f32
  reads %x2 %sq: 1028 bytes
  writes %a2: 1024 bytes
kernel 6: erf (elementwise)
  nodes %b2
  256 sfu; f32
  reads %a2: 1024 bytes
  writes %b2: 1024 bytes
kernel 7: add (elementwise)
  nodes %d2
  256 alu; f32
  reads %b2 %one: 1028 bytes
  writes %d2: 1024 bytes
kernel 8: mul (elementwise)
  nodes %e2
  256 alu; f32
  reads %d2 %half: 1028 bytes
  writes %e2: 1024 bytes
kernel 9: mul (elementwise)
  nodes %f2
  256 alu; f32
  reads %x2 %e2: 2048 bytes
  writes %f2: 1024 bytes
kernel 10: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 11: div + erf + add + mul (elementwise, gelu)
  nodes %a3 %b3 %d3 %e3
  512 alu, 512 sfu; f32
  reads %x3 %sq %one: 1032 bytes
  writes %e3: 1024 bytes
kernel 12: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 14: pow + mul + … 4 more + mul (elementwise, fast_gelu)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 15: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 16: pow + mul + … 4 more + mul (elementwise, fast_gelu)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 17: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 18: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 19: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 20: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 21: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 22: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 23: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 24: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 25: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 26: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 27: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 28: sigmoid + mul (elementwise, quick_gelu)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 29: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 30: softplus (elementwise)
  nodes %a8
  256 alu, 512 sfu; f32
  reads %x8: 1024 bytes
  writes %a8: 1024 bytes
kernel 31: tanh (elementwise)
  nodes %d8
  256 sfu; f32
  reads %a8: 1024 bytes
  writes %d8: 1024 bytes
kernel 32: mul (elementwise)
  nodes %b8
  256 alu; f32
  reads %x8 %d8: 2048 bytes
  writes %b8: 1024 bytes
kernel 33: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 34: add (elementwise)
  nodes %a9
  256 alu; f32
  reads %x9 %three: 1028 bytes
  writes %a9: 1024 bytes
kernel 35: clip (elementwise)
  nodes %d9
  256 alu; f32
  reads %a9 %six: 1028 bytes
  writes %d9: 1024 bytes
kernel 36: mul (elementwise)
  nodes %b9
  256 alu; f32
  reads %x9 %d9: 2048 bytes
  writes %b9: 1024 bytes
kernel 37: div (elementwise)
  nodes %e9
  256 sfu; f32
  reads %b9 %six: 1028 bytes
  writes %e9: 1024 bytes
kernel 38: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 39: hard_sigmoid (elementwise)
  nodes %a10
  1024 alu; f32
  reads %x10: 1024 bytes
  writes %a10: 1024 bytes
kernel 40: mul (elementwise)
  nodes %b10
  256 alu; f32
  reads %x10 %a10: 2048 bytes
  writes %b10: 1024 bytes
kernel 41: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 42: mul + sigmoid + mul (elementwise, quick_gelu)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 43: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 44: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 45: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## ort-optimized
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise, gelu)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise, gelu)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div + erf + add + mul (elementwise, activation)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 7: div + erf + add + mul (elementwise, gelu)
  nodes %a3 %b3 %d3 %e3
  512 alu, 512 sfu; f32
  reads %x3 %sq %one: 1032 bytes
  writes %e3: 1024 bytes
kernel 8: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 9: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 10: pow + mul + … 4 more + mul (elementwise, fast_gelu)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 11: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 12: pow + mul + … 4 more + mul (elementwise, fast_gelu)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 14: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 15: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 16: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 17: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 18: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 19: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 20: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 21: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 22: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 23: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 24: sigmoid + mul (elementwise, quick_gelu)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 25: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 26: softplus + tanh + mul (elementwise, activation)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 27: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 28: add + clip + mul + div (elementwise, activation)
  nodes %a9 %d9 %b9 %e9
  768 alu, 256 sfu; f32
  reads %x9 %three %six: 1032 bytes
  writes %e9: 1024 bytes
kernel 29: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 30: hard_sigmoid + mul (elementwise, activation)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 31: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 32: mul + sigmoid + mul (elementwise, quick_gelu)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 33: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 34: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 35: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## ort-tensorrt, paddle-trt, tensorrt, tensorrt-unfused
kernel 0: matmul + div + … 2 more + mul (matmul)
  nodes %x0 %a0 %b0 %d0 %e0 %f0
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f0: 1024 bytes
kernel 1: matmul + div + … 2 more + mul (matmul)
  nodes %x1 %a1 %b1 %d1 %e1 %f1
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f1: 1024 bytes
kernel 2: matmul + div + … 2 more + mul (matmul)
  nodes %x2 %a2 %b2 %d2 %e2 %f2
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f2: 1024 bytes
kernel 3: matmul + div + … 2 more + mul (matmul)
  nodes %x3 %a3 %b3 %d3 %e3 %f3
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %two: 17420 bytes
  writes %f3: 1024 bytes
kernel 4: matmul + pow + … 5 more + mul (matmul)
  nodes %x4 %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  16384 mac, 1536 alu, 512 sfu; f32
  reads %x %w %three %c %r %one %half: 17428 bytes
  writes %z4: 1024 bytes
kernel 5: matmul + pow + … 5 more + mul (matmul)
  nodes %x5 %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  16384 mac, 1536 alu, 512 sfu; f32
  reads %x %w %three %c %r %one %half: 17428 bytes
  writes %z5: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 7: mul + add + … 3 more + mul (elementwise)
  nodes %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  2048 alu, 256 sfu; f32
  reads %x6 %c %one %r %half: 1040 bytes
  writes %z6: 1024 bytes
kernel 8: matmul + sigmoid + mul (matmul)
  nodes %x7 %a7 %b7
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w: 17408 bytes
  writes %b7: 1024 bytes
kernel 9: matmul + softplus + tanh + mul (matmul)
  nodes %x8 %a8 %d8 %b8
  16384 mac, 512 alu, 768 sfu; f32
  reads %x %w: 17408 bytes
  writes %b8: 1024 bytes
kernel 10: matmul + add + … 2 more + div (matmul)
  nodes %x9 %a9 %d9 %b9 %e9
  16384 mac, 768 alu, 256 sfu; f32
  reads %x %w %three %six: 17416 bytes
  writes %e9: 1024 bytes
kernel 11: matmul + hard_sigmoid + mul (matmul)
  nodes %x10 %a10 %b10
  16384 mac, 1280 alu; f32
  reads %x %w: 17408 bytes
  writes %b10: 1024 bytes
kernel 12: matmul + mul + sigmoid + mul (matmul)
  nodes %x11 %a11 %d11 %b11
  16384 mac, 1024 alu, 512 sfu; f32
  reads %x %w %r: 17412 bytes
  writes %b11: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 14: mul + sub (elementwise)
  nodes %m12 %b12
  512 alu; f32
  reads %x12 %one: 1028 bytes
  writes %b12: 1024 bytes

## paddle, tensorflow
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise, gelu)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise, gelu)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div (elementwise)
  nodes %a2
  256 sfu; f32
  reads %x2 %sq: 1028 bytes
  writes %a2: 1024 bytes
kernel 6: erf (elementwise)
  nodes %b2
  256 sfu; f32
  reads %a2: 1024 bytes
  writes %b2: 1024 bytes
kernel 7: add (elementwise)
  nodes %d2
  256 alu; f32
  reads %b2 %one: 1028 bytes
  writes %d2: 1024 bytes
kernel 8: mul (elementwise)
  nodes %e2
  256 alu; f32
  reads %d2 %half: 1028 bytes
  writes %e2: 1024 bytes
kernel 9: mul (elementwise)
  nodes %f2
  256 alu; f32
  reads %x2 %e2: 2048 bytes
  writes %f2: 1024 bytes
kernel 10: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 11: div + erf + add + mul (elementwise, gelu)
  nodes %a3 %b3 %d3 %e3
  512 alu, 512 sfu; f32
  reads %x3 %sq %one: 1032 bytes
  writes %e3: 1024 bytes
kernel 12: mul (elementwise)
  nodes %f3
  256 alu; f32
  reads %e3 %two: 1028 bytes
  writes %f3: 1024 bytes
kernel 13: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 14: pow (elementwise)
  nodes %p4
  256 sfu; f32
  reads %x4 %three: 1028 bytes
  writes %p4: 1024 bytes
kernel 15: mul (elementwise)
  nodes %q4
  256 alu; f32
  reads %p4 %c: 1028 bytes
  writes %q4: 1024 bytes
kernel 16: add (elementwise)
  nodes %s4
  256 alu; f32
  reads %x4 %q4: 2048 bytes
  writes %s4: 1024 bytes
kernel 17: mul (elementwise)
  nodes %t4
  256 alu; f32
  reads %s4 %r: 1028 bytes
  writes %t4: 1024 bytes
kernel 18: tanh (elementwise)
  nodes %u4
  256 sfu; f32
  reads %t4: 1024 bytes
  writes %u4: 1024 bytes
kernel 19: add (elementwise)
  nodes %v4
  256 alu; f32
  reads %u4 %one: 1028 bytes
  writes %v4: 1024 bytes
kernel 20: mul (elementwise)
  nodes %y4
  256 alu; f32
  reads %x4 %half: 1028 bytes
  writes %y4: 1024 bytes
kernel 21: mul (elementwise)
  nodes %z4
  256 alu; f32
  reads %y4 %v4: 2048 bytes
  writes %z4: 1024 bytes
kernel 22: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 23: pow (elementwise)
  nodes %p5
  256 sfu; f32
  reads %x5 %three: 1028 bytes
  writes %p5: 1024 bytes
kernel 24: mul (elementwise)
  nodes %q5
  256 alu; f32
  reads %p5 %c: 1028 bytes
  writes %q5: 1024 bytes
kernel 25: add (elementwise)
  nodes %s5
  256 alu; f32
  reads %x5 %q5: 2048 bytes
  writes %s5: 1024 bytes
kernel 26: mul (elementwise)
  nodes %t5
  256 alu; f32
  reads %s5 %r: 1028 bytes
  writes %t5: 1024 bytes
kernel 27: tanh (elementwise)
  nodes %u5
  256 sfu; f32
  reads %t5: 1024 bytes
  writes %u5: 1024 bytes
kernel 28: add (elementwise)
  nodes %v5
  256 alu; f32
  reads %u5 %one: 1028 bytes
  writes %v5: 1024 bytes
kernel 29: mul (elementwise)
  nodes %y5
  256 alu; f32
  reads %x5 %v5: 2048 bytes
  writes %y5: 1024 bytes
kernel 30: mul (elementwise)
  nodes %z5
  256 alu; f32
  reads %y5 %half: 1028 bytes
  writes %z5: 1024 bytes
kernel 31: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 32: mul (elementwise)
  nodes %p6
  256 alu; f32
  reads %x6: 1024 bytes
  writes %p6: 1024 bytes
kernel 33: mul (elementwise)
  nodes %o6
  256 alu; f32
  reads %p6 %c: 1028 bytes
  writes %o6: 1024 bytes
kernel 34: add (elementwise)
  nodes %q6
  256 alu; f32
  reads %o6 %one: 1028 bytes
  writes %q6: 1024 bytes
kernel 35: mul (elementwise)
  nodes %n6
  256 alu; f32
  reads %x6 %r: 1028 bytes
  writes %n6: 1024 bytes
kernel 36: mul (elementwise)
  nodes %t6
  256 alu; f32
  reads %n6 %q6: 2048 bytes
  writes %t6: 1024 bytes
kernel 37: tanh (elementwise)
  nodes %u6
  256 sfu; f32
  reads %t6: 1024 bytes
  writes %u6: 1024 bytes
kernel 38: add (elementwise)
  nodes %v6
  256 alu; f32
  reads %u6 %one: 1028 bytes
  writes %v6: 1024 bytes
kernel 39: mul (elementwise)
  nodes %y6
  256 alu; f32
  reads %x6 %v6: 2048 bytes
  writes %y6: 1024 bytes
kernel 40: mul (elementwise)
  nodes %z6
  256 alu; f32
  reads %y6 %half: 1028 bytes
  writes %z6: 1024 bytes
kernel 41: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 42: sigmoid (elementwise)
  nodes %a7
  512 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %a7: 1024 bytes
kernel 43: mul (elementwise)
  nodes %b7
  256 alu; f32
  reads %x7 %a7: 2048 bytes
  writes %b7: 1024 bytes
kernel 44: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 45: softplus (elementwise)
  nodes %a8
  256 alu, 512 sfu; f32
  reads %x8: 1024 bytes
  writes %a8: 1024 bytes
kernel 46: tanh (elementwise)
  nodes %d8
  256 sfu; f32
  reads %a8: 1024 bytes
  writes %d8: 1024 bytes
kernel 47: mul (elementwise)
  nodes %b8
  256 alu; f32
  reads %x8 %d8: 2048 bytes
  writes %b8: 1024 bytes
kernel 48: matmul (matmul)
  nodes %x9
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x9: 1024 bytes
kernel 49: add (elementwise)
  nodes %a9
  256 alu; f32
  reads %x9 %three: 1028 bytes
  writes %a9: 1024 bytes
kernel 50: clip (elementwise)
  nodes %d9
  256 alu; f32
  reads %a9 %six: 1028 bytes
  writes %d9: 1024 bytes
kernel 51: mul (elementwise)
  nodes %b9
  256 alu; f32
  reads %x9 %d9: 2048 bytes
  writes %b9: 1024 bytes
kernel 52: div (elementwise)
  nodes %e9
  256 sfu; f32
  reads %b9 %six: 1028 bytes
  writes %e9: 1024 bytes
kernel 53: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 54: hard_sigmoid (elementwise)
  nodes %a10
  1024 alu; f32
  reads %x10: 1024 bytes
  writes %a10: 1024 bytes
kernel 55: mul (elementwise)
  nodes %b10
  256 alu; f32
  reads %x10 %a10: 2048 bytes
  writes %b10: 1024 bytes
kernel 56: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 57: mul (elementwise)
  nodes %a11
  256 alu; f32
  reads %x11 %r: 1028 bytes
  writes %a11: 1024 bytes
kernel 58: sigmoid (elementwise)
  nodes %d11
  512 alu, 512 sfu; f32
  reads %a11: 1024 bytes
  writes %d11: 1024 bytes
kernel 59: mul (elementwise)
  nodes %b11
  256 alu; f32
  reads %x11 %d11: 2048 bytes
  writes %b11: 1024 bytes
kernel 60: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 61: mul (elementwise)
  nodes %m12
  256 alu; f32
  reads %x12 %one: 1028 bytes
  writes %m12: 1024 bytes
kernel 62: sub (elementwise)
  nodes %b12
  256 alu; f32
  reads %x12 %m12: 2048 bytes
  writes %b12: 1024 bytes

## tvm
kernel 0: matmul + div + … 2 more + mul (matmul)
  nodes %x0 %a0 %b0 %d0 %e0 %f0
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f0: 1024 bytes
kernel 1: matmul + div + … 2 more + mul (matmul)
  nodes %x1 %a1 %b1 %d1 %e1 %f1
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f1: 1024 bytes
kernel 2: matmul + div + … 2 more + mul (matmul)
  nodes %x2 %a2 %b2 %d2 %e2 %f2
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %half: 17420 bytes
  writes %f2: 1024 bytes
kernel 3: matmul + div + … 2 more + mul (matmul)
  nodes %x3 %a3 %b3 %d3 %e3 %f3
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w %sq %one %two: 17420 bytes
  writes %f3: 1024 bytes
kernel 4: matmul + pow + … 5 more + mul (matmul)
  nodes %x4 %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  16384 mac, 1536 alu, 512 sfu; f32
  reads %x %w %three %c %r %one %half: 17428 bytes
  writes %z4: 1024 bytes
kernel 5: matmul + pow + … 5 more + mul (matmul)
  nodes %x5 %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  16384 mac, 1536 alu, 512 sfu; f32
  reads %x %w %three %c %r %one %half: 17428 bytes
  writes %z5: 1024 bytes
kernel 6: matmul + mul + … 4 more + mul (matmul)
  nodes %x6 %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  16384 mac, 2048 alu, 256 sfu; f32
  reads %x %w %c %one %r %half: 17424 bytes
  writes %z6: 1024 bytes
kernel 7: matmul + sigmoid + mul (matmul)
  nodes %x7 %a7 %b7
  16384 mac, 768 alu, 512 sfu; f32
  reads %x %w: 17408 bytes
  writes %b7: 1024 bytes
kernel 8: matmul + softplus + tanh + mul (matmul)
  nodes %x8 %a8 %d8 %b8
  16384 mac, 512 alu, 768 sfu; f32
  reads %x %w: 17408 bytes
  writes %b8: 1024 bytes
kernel 9: matmul + add + … 2 more + div (matmul)
  nodes %x9 %a9 %d9 %b9 %e9
  16384 mac, 768 alu, 256 sfu; f32
  reads %x %w %three %six: 17416 bytes
  writes %e9: 1024 bytes
kernel 10: matmul + hard_sigmoid + mul (matmul)
  nodes %x10 %a10 %b10
  16384 mac, 1280 alu; f32
  reads %x %w: 17408 bytes
  writes %b10: 1024 bytes
kernel 11: matmul + mul + sigmoid + mul (matmul)
  nodes %x11 %a11 %d11 %b11
  16384 mac, 1024 alu, 512 sfu; f32
  reads %x %w %r: 17412 bytes
  writes %b11: 1024 bytes
kernel 12: matmul + mul + sub (matmul)
  nodes %x12 %m12 %b12
  16384 mac, 512 alu; f32
  reads %x %w %one: 17412 bytes
  writes %b12: 1024 bytes

## xla
kernel 0: matmul (matmul)
  nodes %x0
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x0: 1024 bytes
kernel 1: div + erf + add + mul (elementwise)
  nodes %a0 %b0 %d0 %e0 %f0
  768 alu, 512 sfu; f32
  reads %x0 %sq %one %half: 1036 bytes
  writes %f0: 1024 bytes
kernel 2: matmul (matmul)
  nodes %x1
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x1: 1024 bytes
kernel 3: div + erf + add + mul (elementwise)
  nodes %a1 %b1 %d1 %e1 %f1
  768 alu, 512 sfu; f32
  reads %x1 %sq %one %half: 1036 bytes
  writes %f1: 1024 bytes
kernel 4: matmul (matmul)
  nodes %x2
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x2: 1024 bytes
kernel 5: div + erf + add + mul (elementwise)
  nodes %a2 %b2 %d2 %e2 %f2
  768 alu, 512 sfu; f32
  reads %x2 %sq %one %half: 1036 bytes
  writes %f2: 1024 bytes
kernel 6: matmul (matmul)
  nodes %x3
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x3: 1024 bytes
kernel 7: div + erf + add + mul (elementwise)
  nodes %a3 %b3 %d3 %e3 %f3
  768 alu, 512 sfu; f32
  reads %x3 %sq %one %two: 1036 bytes
  writes %f3: 1024 bytes
kernel 8: matmul (matmul)
  nodes %x4
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x4: 1024 bytes
kernel 9: pow + mul + … 4 more + mul (elementwise)
  nodes %p4 %q4 %s4 %t4 %u4 %v4 %y4 %z4
  1536 alu, 512 sfu; f32
  reads %x4 %three %c %r %one %half: 1044 bytes
  writes %z4: 1024 bytes
kernel 10: matmul (matmul)
  nodes %x5
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x5: 1024 bytes
kernel 11: pow + mul + … 4 more + mul (elementwise)
  nodes %p5 %q5 %s5 %t5 %u5 %v5 %y5 %z5
  1536 alu, 512 sfu; f32
  reads %x5 %three %c %r %one %half: 1044 bytes
  writes %z5: 1024 bytes
kernel 12: matmul (matmul)
  nodes %x6
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x6: 1024 bytes
kernel 13: mul + add + … 3 more + mul (elementwise)
  nodes %p6 %o6 %q6 %n6 %t6 %u6 %v6 %y6 %z6
  2048 alu, 256 sfu; f32
  reads %x6 %c %one %r %half: 1040 bytes
  writes %z6: 1024 bytes
kernel 14: matmul (matmul)
  nodes %x7
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x7: 1024 bytes
kernel 15: sigmoid + mul (elementwise)
  nodes %a7 %b7
  768 alu, 512 sfu; f32
  reads %x7: 1024 bytes
  writes %b7: 1024 bytes
kernel 16: matmul (matmul)
  nodes %x8
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x8: 1024 bytes
kernel 17: softplus + tanh + mul (elementwise)
  nodes %a8 %d8 %b8
  512 alu, 768 sfu; f32
  reads %x8: 1024 bytes
  writes %b8: 1024 bytes
kernel 18: matmul + add (matmul)
  nodes %x9 %a9
  16384 mac, 256 alu; f32
  reads %x %w %three: 17412 bytes
  writes %x9 %a9: 2048 bytes
kernel 19: clip + mul + div (elementwise)
  nodes %d9 %b9 %e9
  512 alu, 256 sfu; f32
  reads %a9 %six %x9: 2052 bytes
  writes %e9: 1024 bytes
kernel 20: matmul (matmul)
  nodes %x10
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x10: 1024 bytes
kernel 21: hard_sigmoid + mul (elementwise)
  nodes %a10 %b10
  1280 alu; f32
  reads %x10: 1024 bytes
  writes %b10: 1024 bytes
kernel 22: matmul (matmul)
  nodes %x11
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x11: 1024 bytes
kernel 23: mul + sigmoid + mul (elementwise)
  nodes %a11 %d11 %b11
  1024 alu, 512 sfu; f32
  reads %x11 %r: 1028 bytes
  writes %b11: 1024 bytes
kernel 24: matmul (matmul)
  nodes %x12
  16384 mac; f32
  reads %x %w: 17408 bytes
  writes %x12: 1024 bytes
kernel 25: mul + sub (elementwise)
  nodes %m12 %b12
  512 alu; f32
  reads %x12 %one: 1028 bytes
  writes %b12: 1024 bytes
