# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..

graph @main(%x0: u8[1, 1, 3, 3] = [[[[2, 3, 4], [5, 6, 7], [8, 9, 10]]]], %x1: u8[2, 1, 2, 2] = [[[[1, 1], [1, 1]]], [[[1, 1], [1, 1]]]], %x2: u8[] = 1, %x3: u8[2] = [0, 1], %x4: u8[1, 1, 2, 2] = [[[[1, 1], [1, 1]]]], %x5: u8[4] = [0, 3, 128, 255], %x6: f32[], %x7: u8[] = 128, %x8: u8[1, 3, 3, 2] = [[[[3, 89], [34, 200], [74, 59]], [[5, 24], [24, 87], [32, 13]], [[245, 99], [4, 142], [121, 102]]]], %x9: f32[3], %x10: u8[3] = [84, 24, 196], %x11: f8e4m3[5], %x12: f16[], %x13: f8e4m3[1], %x14: f4e2m1[5], %x15: f4e2m1[1], %x16: f32[6], %x17: f32[3, 4], %x18: u8[4, 3] = [[11, 7, 3], [10, 6, 2], [9, 5, 1], [8, 4, 0]], %x19: u8[3, 2] = [[1, 4], [2, 5], [3, 6]], %x20: u8[1] = [12], %x21: u8[1] = [0], %x22: i8[2, 4] = [[81, 109, -127, 111], [-124, 87, -128, -98]], %x23: f16[1], %x24: i8[1] = [-14], %x25: i8[4, 3] = [[25, -76, 117], [-67, -101, -128], [-127, 0, 119], [0, 127, 120]], %x26: i8[1] = [-13], %x27: i8[1] = [-9], %x28: f32[1], %x29: f32[1, 3, 3, 2], %x30: f32[3, 2], %x31: u8[3, 2] = [[0, 1], [1, 0], [2, 3]], %x32: f4e2m1[3], %x33: i2[3], %x34: f32[b, m, k], %x35: f32[b, k, n], %x36: f32[m, k], %x37: f32[k, n]) {
  %y0 = conv_integer(%x0, %x1, %x2, %x3) {pads=[1, 1, 1, 1]} : ?
  %y1 = conv_integer(%x0, %x4, %x2) : ?
  %y2 = dequantize_linear(%x5, %x6, %x7) : ?
  %y3 = dequantize_linear(%x8, %x9, %x10) : ?
  %y4 = dequantize_linear(%x11, %x6) {axis=0} : ?
  %y5 = dequantize_linear(%x11, %x12) {axis=0} : ?
  %y6 = dequantize_linear(%x11, %x6, %x13) {axis=0} : ?
  %y7 = dequantize_linear(%x14, %x6, %x15) {axis=0} : ?
  %y8, %y9, %y10 = dynamic_quantize_linear(%x16) : ?, ?, ?
  %y11, %y12, %y13 = dynamic_quantize_linear(%x17) : ?, ?, ?
  %y14 = matmul_integer(%x18, %x19, %x20, %x21) : ?
  %y15 = qlinear_matmul(%x22, %x23, %x24, %x25, %x23, %x26, %x23, %x27) : ?
  %y16 = qlinear_matmul(%x22, %x28, %x24, %x25, %x28, %x26, %x28, %x27) : ?
  %y17 = quantize_linear(%x16, %x6, %x7) : ?
  %y18 = quantize_linear(%x29, %x9, %x10) : ?
  %y19 = quantize_linear(%x17, %x30, %x31) {block_size=2} : ?
  %y20 = quantize_linear(%x17, %x30) {block_size=2, output_dtype="i16"} : ?
  %y21 = quantize_linear(%x17, %x9, %x32) {axis=0} : ?
  %y22 = quantize_linear(%x17, %x9, %x33) {axis=0} : ?
  %y23 = matmul_integer16(%x34, %x35) : ?
  %y24 = gemm_float8(%x36, %x37) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24
}
# ---- expect
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..

graph @main(%x0: u8[1, 1, 3, 3] = [[[[2, 3, 4], [5, 6, 7], [8, 9, 10]]]], %x1: u8[2, 1, 2, 2] = [[[[1, 1], [1, 1]]], [[[1, 1], [1, 1]]]], %x2: u8[] = 1, %x3: u8[2] = [0, 1], %x4: u8[1, 1, 2, 2] = [[[[1, 1], [1, 1]]]], %x5: u8[4] = [0, 3, 128, 255], %x6: f32[], %x7: u8[] = 128, %x8: u8[1, 3, 3, 2] = [[[[3, 89], [34, 200], [74, 59]], [[5, 24], [24, 87], [32, 13]], [[245, 99], [4, 142], [121, 102]]]], %x9: f32[3], %x10: u8[3] = [84, 24, 196], %x11: f8e4m3[5], %x12: f16[], %x13: f8e4m3[1], %x14: f4e2m1[5], %x15: f4e2m1[1], %x16: f32[6], %x17: f32[3, 4], %x18: u8[4, 3] = [[11, 7, 3], [10, 6, 2], [9, 5, 1], [8, 4, 0]], %x19: u8[3, 2] = [[1, 4], [2, 5], [3, 6]], %x20: u8[1] = [12], %x21: u8[1] = [0], %x22: i8[2, 4] = [[81, 109, -127, 111], [-124, 87, -128, -98]], %x23: f16[1], %x24: i8[1] = [-14], %x25: i8[4, 3] = [[25, -76, 117], [-67, -101, -128], [-127, 0, 119], [0, 127, 120]], %x26: i8[1] = [-13], %x27: i8[1] = [-9], %x28: f32[1], %x29: f32[1, 3, 3, 2], %x30: f32[3, 2], %x31: u8[3, 2] = [[0, 1], [1, 0], [2, 3]], %x32: f4e2m1[3], %x33: i2[3], %x34: f32[b, m, k], %x35: f32[b, k, n], %x36: f32[m, k], %x37: f32[k, n]) {
  %y0 = conv_integer(%x0, %x1, %x2, %x3) {pads=[1, 1, 1, 1]} : i32[1, 2, 4, 4]
    ! cost {mac=128, read_bytes=20, write_bytes=128}
  %y1 = conv_integer(%x0, %x4, %x2) : i32[1, 1, 2, 2]
    ! cost {mac=16, read_bytes=14, write_bytes=16}
  %y2 = dequantize_linear(%x5, %x6, %x7) : f32[4]
    ! cost {alu=8, read_bytes=9, write_bytes=16}
  %y3 = dequantize_linear(%x8, %x9, %x10) : f32[1, 3, 3, 2]
    ! cost {alu=36, read_bytes=33, write_bytes=72}
  %y4 = dequantize_linear(%x11, %x6) {axis=0} : f32[5]
    ! cost {alu=5, read_bytes=9, write_bytes=20}
  %y5 = dequantize_linear(%x11, %x12) {axis=0} : f16[5]
    ! cost {alu=5, read_bytes=7, write_bytes=10}
  %y6 = dequantize_linear(%x11, %x6, %x13) {axis=0} : f32[5]
    ! cost {alu=10, read_bytes=10, write_bytes=20}
  %y7 = dequantize_linear(%x14, %x6, %x15) {axis=0} : f32[5]
    ! cost {alu=10, read_bytes=8, write_bytes=20}
  %y8, %y9, %y10 = dynamic_quantize_linear(%x16) : u8[6], f32[], u8[]
    ! cost {alu=36, read_bytes=24, write_bytes=11}
  %y11, %y12, %y13 = dynamic_quantize_linear(%x17) : u8[3, 4], f32[], u8[]
    ! cost {alu=72, read_bytes=48, write_bytes=17}
  %y14 = matmul_integer(%x18, %x19, %x20, %x21) : i32[4, 2]
    ! cost {mac=24, read_bytes=20, write_bytes=32}
  %y15 = qlinear_matmul(%x22, %x23, %x24, %x25, %x23, %x26, %x23, %x27) : i8[2, 3]
    ! cost {mac=24, alu=24, read_bytes=25, write_bytes=6}
  %y16 = qlinear_matmul(%x22, %x28, %x24, %x25, %x28, %x26, %x28, %x27) : i8[2, 3]
    ! cost {mac=24, alu=24, read_bytes=27, write_bytes=6}
  %y17 = quantize_linear(%x16, %x6, %x7) : u8[6]
    ! cost {alu=24, read_bytes=29, write_bytes=6}
  %y18 = quantize_linear(%x29, %x9, %x10) : u8[1, 3, 3, 2]
    ! cost {alu=72, read_bytes=87, write_bytes=18}
  %y19 = quantize_linear(%x17, %x30, %x31) {block_size=2} : u8[3, 4]
    ! cost {alu=48, read_bytes=78, write_bytes=12}
  %y20 = quantize_linear(%x17, %x30) {block_size=2, output_dtype="i16"} : i16[3, 4]
    ! cost {alu=48, read_bytes=72, write_bytes=24}
  %y21 = quantize_linear(%x17, %x9, %x32) {axis=0} : f4e2m1[3, 4]
    ! cost {alu=48, read_bytes=62, write_bytes=6}
  %y22 = quantize_linear(%x17, %x9, %x33) {axis=0} : i2[3, 4]
    ! cost {alu=48, read_bytes=61, write_bytes=3}
  %y23 = matmul_integer16(%x34, %x35) : i32[b, m, n]
    ! cost {mac=b*k*m*n, read_bytes=4*b*k*m + 4*b*k*n, write_bytes=4*b*m*n}
  %y24 = gemm_float8(%x36, %x37) : f32[m, n]
    ! cost {mac=k*m*n, read_bytes=4*k*m + 4*k*n, write_bytes=4*m*n}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24
}
