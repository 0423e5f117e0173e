# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..
extent c in 1..
extent h in 1..
extent w in 1..
extent r in 1..
extent s in 1..
extent spatial in 1..

graph @main(%x0: f32[1, 3, 32], %x1: f32[1, 1, 4, 4], %x2: f32[1, 3, 2, 2], %x3: f32[1, 3, 32, 32], %x4: f32[1, 3, 28, 28], %x5: f32[1, 1, 5, 5], %x6: f32[1, 1, 3, 3], %x7: f32[1, 1, 2, 2], %x8: f32[1, 8, 4, 4], %x9: f32[1, 8, 2, 2], %x10: f32[1, 1, 7, 5], %x11: f32[1, 2, 3, 3], %x12: f32[1, 1, 3], %x13: f32[1, 2, 3], %x14: f32[2, 1, 3, 3], %x15: f32[3, 2, 3, 3], %x16: f32[1], %x17: f32[1, 4, 2, 2], %x18: f32[1, 2, 2, 2], %x19: f32[1, 16, 2, 2], %x20: f64[3, 5, 5], %x21: f64[5, 2, 3], %x22: f64[5, 3, 4], %x23: bf16[5, 2, 3], %x24: bf16[5, 3, 4], %x25: f64[5], %x26: f64[], %x27: f64[3, 4], %x28: bf16[3, 4], %x29: f32[4, 3], %x30: f32[5, 4], %x31: f32[1, 5], %x32: f32[3, 5], %x33: f32[1, 4], %x34: f32[2, 7], %x35: f32[7, 4], %x36: f32[3, 6], %x37: f32[6, 4], %x38: f32[3, 4], %x39: f32[2, 10], %x40: f32[10, 3], %x41: f32[2, 3], %x42: f32[], %x43: f32[6, 3], %x44: f32[4, 6], %x45: f32[1, 3, 5, 5], %x46: f32[3, 1, 2], %x47: f32[1, 18, 2], %x48: f32[1, 18, 6], %x49: f32[2, 15, 2], %x50: f32[2, 15, 5], %x51: f32[1, 3, 2], %x52: f32[1, 15, 2], %x53: f32[1, 15, 5], %x54: f32[2, 3, 3], %x55: f32[1, 15, 3], %x56: f32[1, 30], %x57: f32[1, 3, 3], %x58: f32[1, 9, 3], %x59: f32[1, 18], %x60: f32[1, 3, 32, 32, 32], %x61: f32[1, 28, 2], %x62: f32[1, 28, 7], %x63: f32[2, 12, 2], %x64: f32[2, 12, 3], %x65: f32[1, 12, 2], %x66: f32[1, 12, 3], %x67: f32[1, 16, 3], %x68: f32[1, 16, 4], %x69: f32[1, 32], %x70: f32[1, 2, 4], %x71: f32[1, 12, 4], %x72: f32[1, 24], %x73: i32[2] = [1, 1], %x74: f32[1, 9], %x75: f32[3], %x76: f32[4], %x77: f32[2, 4, 1], %x78: u8[1, 1, 5, 5] = [[[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19, 20], [21, 22, 23, 24, 25]]]], %x79: i64[1, 1, 2, 2] = [[[[5, 7], [13, 15]]]], %x80: i64[4] = [1, 1, 5, 5], %x81: f32[1, 5, 3], %x82: f32[1, 5, 5], %x83: f32[1, 10], %x84: f32[1, 4, 2], %x85: f32[1, 4, 4], %x86: f32[2, 4, 2], %x87: f32[2, 4, 4], %x88: f32[b, m, k], %x89: f32[b, k, n], %x90: f32[k, n], %x91: f32[n], %x92: f32[m, k], %x93: f32[n, c, h, w], %x94: f32[k, c, r, s], %x95: f32[k], %x96: f32[c, k, r, s], %x97: f32[n, c, spatial], %x98: f32[n, k, spatial]) {
  %y0 = average_pool(%x0) {kernel_shape=[2]} : ?
  %y1 = average_pool(%x1) {ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2]} : ?
  %y2 = average_pool(%x2) {ceil_mode=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[3, 3], count_include_pad=1} : ?
  %y3 = average_pool(%x3) {kernel_shape=[2, 2]} : ?
  %y4 = average_pool(%x1) {ceil_mode=1, dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : ?
  %y5 = average_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2]} : ?
  %y6 = average_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2], count_include_pad=1} : ?
  %y7 = average_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : ?
  %y8 = average_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2], count_include_pad=1} : ?
  %y9 = average_pool(%x5) {auto_pad="SAME_UPPER", kernel_shape=[3, 3], strides=[2, 2]} : ?
  %y10 = average_pool(%x5) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %y11 = average_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2]} : ?
  %y12 = average_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : ?
  %y13 = average_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : ?
  %y14 = conv(%x5, %x6) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : ?
  %y15 = conv(%x5, %x6) {kernel_shape=[3, 3], pads=[0, 0, 0, 0]} : ?
  %y16 = deform_conv(%x6, %x7, %x8) {kernel_shape=[2, 2], pads=[1, 1, 1, 1]} : ?
  %y17 = deform_conv(%x6, %x7, %x9) {kernel_shape=[2, 2], pads=[0, 0, 0, 0]} : ?
  %y18 = conv(%x5, %x6) {auto_pad="SAME_LOWER", kernel_shape=[3, 3], strides=[2, 2]} : ?
  %y19 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[1, 0, 1, 0], strides=[2, 2]} : ?
  %y20 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[0, 0, 0, 0], strides=[2, 2]} : ?
  %y21 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : ?
  %y22 = conv_transpose(%x6, %x11) : ?
  %y23 = conv_transpose(%x12, %x13) : ?
  %y24 = conv_transpose(%x6, %x11) {auto_pad="SAME_UPPER", strides=[2, 2]} : ?
  %y25 = conv_transpose(%x6, %x7) {dilations=[2, 2]} : ?
  %y26 = conv_transpose(%x11, %x14) {group=2} : ?
  %y27 = conv_transpose(%x15, %x14) {group=2} : ?
  %y28 = conv_transpose(%x6, %x11) {kernel_shape=[3, 3], output_padding=[1, 1], output_shape=[10, 8], strides=[3, 2]} : ?
  %y29 = conv_transpose(%x6, %x11) {output_shape=[10, 8], strides=[3, 2]} : ?
  %y30 = conv_transpose(%x6, %x11) {output_padding=[1, 1], strides=[3, 2]} : ?
  %y31 = conv_transpose(%x6, %x11) {pads=[1, 2, 1, 2], strides=[3, 2]} : ?
  %y32 = deform_conv(%x6, %x7, %x9, %x16, %x17) {kernel_shape=[2, 2], pads=[0, 0, 0, 0]} : ?
  %y33 = deform_conv(%x11, %x18, %x19) {kernel_shape=[2, 2], pads=[0, 0, 0, 0], offset_group=2} : ?
  %y34 = einsum(%x20) {equation="...ii ->...i"} : ?
  %y35 = einsum(%x21, %x22) {equation="bij, bjk -> bik"} : ?
  %y36 = einsum(%x23, %x24) {equation="bij, bjk -> bik"} : ?
  %y37 = einsum(%x25, %x25) {equation="i,i"} : ?
  %y38 = einsum(%x26) {equation="->"} : ?
  %y39 = einsum(%x27) {equation="ij->i"} : ?
  %y40 = einsum(%x28) {equation="ij->i"} : ?
  %y41 = einsum(%x27) {equation="ij->ji"} : ?
  %y42 = einsum(%x28) {equation="ij->ji"} : ?
  %y43 = gemm(%x29, %x30, %x31) {alpha=0.25, beta=0.3499999940395355, transA=1, transB=1} : ?
  %y44 = gemm(%x32, %x30, %x33) {alpha=0.5} : ?
  %y45 = gemm(%x34, %x35, %x33) {beta=0.5} : ?
  %y46 = gemm(%x36, %x37, %x38) : ?
  %y47 = gemm(%x39, %x40) : ?
  %y48 = gemm(%x41, %x38, %x42) : ?
  %y49 = gemm(%x43, %x37, %x33) {transA=1} : ?
  %y50 = gemm(%x36, %x44, %x33) {transB=1} : ?
  %y51 = global_average_pool(%x45) : ?
  %y52 = global_average_pool(%x6) : ?
  %y53 = global_max_pool(%x45) : ?
  %y54 = global_max_pool(%x6) : ?
  %y55, %y56 = gru(%x46, %x47, %x48) {hidden_size=6, layout=1} : ?, ?
  %y57, %y58 = gru(%x46, %x49, %x50) {direction="bidirectional", hidden_size=5} : ?, ?
  _, %y59 = gru(%x51, %x52, %x53) {hidden_size=5} : _, ?
  %y60, %y61 = gru(%x46, %x52, %x53) {direction="reverse", hidden_size=5} : ?, ?
  _, %y62 = gru(%x54, %x55, %x53, %x56) {hidden_size=5} : _, ?
  _, %y63 = gru(%x57, %x58, %x58, %x59) {hidden_size=3} : _, ?
  %y64 = lp_pool(%x0) {kernel_shape=[2], strides=[1], p=3} : ?
  %y65 = lp_pool(%x3) {kernel_shape=[2, 2], p=4} : ?
  %y66 = lp_pool(%x1) {dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : ?
  %y67 = lp_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2], p=3} : ?
  %y68 = lp_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2], p=4} : ?
  %y69 = lp_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : ?
  %y70 = lp_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : ?
  %y71 = lp_pool(%x60) {kernel_shape=[2, 2, 2], p=3} : ?
  %y72, %y73 = lstm(%x46, %x61, %x62) {hidden_size=7, layout=1} : ?, ?
  _, %y74, %y75 = lstm(%x46, %x63, %x64) {direction="bidirectional", hidden_size=3} : _, ?, ?
  _, %y76 = lstm(%x51, %x65, %x66) {hidden_size=3} : _, ?
  _, %y77, %y78 = lstm(%x46, %x65, %x66) {direction="reverse", hidden_size=3} : _, ?, ?
  _, %y79 = lstm(%x57, %x67, %x68, %x69) {hidden_size=4} : _, ?
  _, %y80 = lstm(%x70, %x71, %x66, %x72, %x73, %x13, %x13, %x74) {hidden_size=3} : _, ?
  %y81 = matmul(%x75, %x75) : ?
  %y82 = matmul(%x76, %x77) : ?
  %y83 = max_pool(%x0) {kernel_shape=[2]} : ?
  %y84 = max_pool(%x1) {ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2]} : ?
  %y85 = max_pool(%x7) {ceil_mode=1, kernel_shape=[1, 1], strides=[2, 2]} : ?
  %y86 = max_pool(%x3) {kernel_shape=[2, 2]} : ?
  %y87 = max_pool(%x1) {dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : ?
  %y88 = max_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2]} : ?
  %y89 = max_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : ?
  %y90 = max_pool(%x5) {auto_pad="SAME_UPPER", kernel_shape=[3, 3], strides=[2, 2]} : ?
  %y91 = max_pool(%x5) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %y92 = max_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2]} : ?
  %y93 = max_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : ?
  %y94 = max_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : ?
  %y95 = max_pool(%x78) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : ?
  %y96 = max_pool(%x60) {kernel_shape=[2, 2, 2]} : ?
  %y97 = max_unpool(%x7, %x79, %x80) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %y98 = max_unpool(%x7, %x79) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  _, %y99 = rnn(%x54, %x81, %x82, %x83) {hidden_size=5} : _, ?
  %y100, %y101 = rnn(%x46, %x84, %x85) {hidden_size=4, layout=1} : ?, ?
  _, %y102 = rnn(%x46, %x86, %x87) {direction="bidirectional", hidden_size=4} : _, ?
  _, %y103 = rnn(%x51, %x84, %x85) {hidden_size=4} : _, ?
  _, %y104 = rnn(%x46, %x84, %x85) {direction="reverse", hidden_size=4} : _, ?
  _, %y105 = rnn(%x57, %x81, %x82, %x83) {hidden_size=5} : _, ?
  %y106 = fused_matmul(%x88, %x89) : ?
  %y107 = fused_matmul_activation(%x88, %x89) : ?
  %y108 = gemm_fast_gelu(%x88, %x90, %x91) : ?
  %y109 = fused_gemm(%x92, %x90) : ?
  %y110 = fused_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : ?
  %y111 = nhwc_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : ?
  %y112 = nhwc_fused_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : ?
  %y113 = nhwc_conv_transpose(%x93, %x96, %x95) {auto_pad="SAME_UPPER"} : ?
  %y114 = conv_transpose_with_dynamic_pads(%x93, %x96, _, %x95) {auto_pad="SAME_UPPER"} : ?
  %y115 = nhwc_global_average_pool(%x97) : ?
  %y116 = nhwc_global_max_pool(%x97) : ?
  %y117 = global_lp_pool(%x97) : ?
  %y118 = reorder_output(%x98) : ?
  %y119 = blocked_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119
}
# ---- expect
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..
extent c in 1..
extent h in 1..
extent w in 1..
extent r in 1..
extent s in 1..
extent spatial in 1..

graph @main(%x0: f32[1, 3, 32], %x1: f32[1, 1, 4, 4], %x2: f32[1, 3, 2, 2], %x3: f32[1, 3, 32, 32], %x4: f32[1, 3, 28, 28], %x5: f32[1, 1, 5, 5], %x6: f32[1, 1, 3, 3], %x7: f32[1, 1, 2, 2], %x8: f32[1, 8, 4, 4], %x9: f32[1, 8, 2, 2], %x10: f32[1, 1, 7, 5], %x11: f32[1, 2, 3, 3], %x12: f32[1, 1, 3], %x13: f32[1, 2, 3], %x14: f32[2, 1, 3, 3], %x15: f32[3, 2, 3, 3], %x16: f32[1], %x17: f32[1, 4, 2, 2], %x18: f32[1, 2, 2, 2], %x19: f32[1, 16, 2, 2], %x20: f64[3, 5, 5], %x21: f64[5, 2, 3], %x22: f64[5, 3, 4], %x23: bf16[5, 2, 3], %x24: bf16[5, 3, 4], %x25: f64[5], %x26: f64[], %x27: f64[3, 4], %x28: bf16[3, 4], %x29: f32[4, 3], %x30: f32[5, 4], %x31: f32[1, 5], %x32: f32[3, 5], %x33: f32[1, 4], %x34: f32[2, 7], %x35: f32[7, 4], %x36: f32[3, 6], %x37: f32[6, 4], %x38: f32[3, 4], %x39: f32[2, 10], %x40: f32[10, 3], %x41: f32[2, 3], %x42: f32[], %x43: f32[6, 3], %x44: f32[4, 6], %x45: f32[1, 3, 5, 5], %x46: f32[3, 1, 2], %x47: f32[1, 18, 2], %x48: f32[1, 18, 6], %x49: f32[2, 15, 2], %x50: f32[2, 15, 5], %x51: f32[1, 3, 2], %x52: f32[1, 15, 2], %x53: f32[1, 15, 5], %x54: f32[2, 3, 3], %x55: f32[1, 15, 3], %x56: f32[1, 30], %x57: f32[1, 3, 3], %x58: f32[1, 9, 3], %x59: f32[1, 18], %x60: f32[1, 3, 32, 32, 32], %x61: f32[1, 28, 2], %x62: f32[1, 28, 7], %x63: f32[2, 12, 2], %x64: f32[2, 12, 3], %x65: f32[1, 12, 2], %x66: f32[1, 12, 3], %x67: f32[1, 16, 3], %x68: f32[1, 16, 4], %x69: f32[1, 32], %x70: f32[1, 2, 4], %x71: f32[1, 12, 4], %x72: f32[1, 24], %x73: i32[2] = [1, 1], %x74: f32[1, 9], %x75: f32[3], %x76: f32[4], %x77: f32[2, 4, 1], %x78: u8[1, 1, 5, 5] = [[[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19, 20], [21, 22, 23, 24, 25]]]], %x79: i64[1, 1, 2, 2] = [[[[5, 7], [13, 15]]]], %x80: i64[4] = [1, 1, 5, 5], %x81: f32[1, 5, 3], %x82: f32[1, 5, 5], %x83: f32[1, 10], %x84: f32[1, 4, 2], %x85: f32[1, 4, 4], %x86: f32[2, 4, 2], %x87: f32[2, 4, 4], %x88: f32[b, m, k], %x89: f32[b, k, n], %x90: f32[k, n], %x91: f32[n], %x92: f32[m, k], %x93: f32[n, c, h, w], %x94: f32[k, c, r, s], %x95: f32[k], %x96: f32[c, k, r, s], %x97: f32[n, c, spatial], %x98: f32[n, k, spatial]) {
  %y0 = average_pool(%x0) {kernel_shape=[2]} : f32[1, 3, 31]
    ! cost {alu=186, read_bytes=384, write_bytes=372}
  %y1 = average_pool(%x1) {ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2]} : f32[1, 1, 2, 2]
    ! cost {alu=36, read_bytes=64, write_bytes=16}
  %y2 = average_pool(%x2) {ceil_mode=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[3, 3], count_include_pad=1} : f32[1, 3, 1, 1]
    ! cost {alu=27, read_bytes=48, write_bytes=12}
  %y3 = average_pool(%x3) {kernel_shape=[2, 2]} : f32[1, 3, 31, 31]
    ! cost {alu=11532, read_bytes=12288, write_bytes=11532}
  %y4 = average_pool(%x1) {ceil_mode=1, dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : f32[1, 1, 2, 2]
    ! cost {alu=16, read_bytes=64, write_bytes=16}
  %y5 = average_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2]} : f32[1, 3, 30, 30]
    ! cost {alu=24300, read_bytes=9408, write_bytes=10800}
  %y6 = average_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2], count_include_pad=1} : f32[1, 3, 30, 30]
    ! cost {alu=24300, read_bytes=9408, write_bytes=10800}
  %y7 = average_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : f32[1, 1, 5, 5]
    ! cost {alu=625, read_bytes=100, write_bytes=100}
  %y8 = average_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2], count_include_pad=1} : f32[1, 1, 5, 5]
    ! cost {alu=625, read_bytes=100, write_bytes=100}
  %y9 = average_pool(%x5) {auto_pad="SAME_UPPER", kernel_shape=[3, 3], strides=[2, 2]} : f32[1, 1, 3, 3]
    ! cost {alu=81, read_bytes=100, write_bytes=36}
  %y10 = average_pool(%x5) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1, 1, 2, 2]
    ! cost {alu=16, read_bytes=64, write_bytes=16}
  %y11 = average_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2]} : f32[1, 3, 32, 32]
    ! cost {alu=12288, read_bytes=12288, write_bytes=12288}
  %y12 = average_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : f32[1, 3, 32, 32]
    ! cost {alu=12288, read_bytes=12288, write_bytes=12288}
  %y13 = average_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : f32[1, 3, 10, 10]
    ! cost {alu=7500, read_bytes=12288, write_bytes=1200}
  %y14 = conv(%x5, %x6) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : f32[1, 1, 5, 5]
    ! cost {mac=225, read_bytes=136, write_bytes=100}
  %y15 = conv(%x5, %x6) {kernel_shape=[3, 3], pads=[0, 0, 0, 0]} : f32[1, 1, 3, 3]
    ! cost {mac=81, read_bytes=136, write_bytes=36}
  %y16 = deform_conv(%x6, %x7, %x8) {kernel_shape=[2, 2], pads=[1, 1, 1, 1]} : f32[1, 1, 4, 4]
    ! cost {mac=64, alu=704, read_bytes=564, write_bytes=64}
  %y17 = deform_conv(%x6, %x7, %x9) {kernel_shape=[2, 2], pads=[0, 0, 0, 0]} : f32[1, 1, 2, 2]
    ! cost {mac=16, alu=176, read_bytes=180, write_bytes=16}
  %y18 = conv(%x5, %x6) {auto_pad="SAME_LOWER", kernel_shape=[3, 3], strides=[2, 2]} : f32[1, 1, 3, 3]
    ! cost {mac=81, read_bytes=136, write_bytes=36}
  %y19 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[1, 0, 1, 0], strides=[2, 2]} : f32[1, 1, 4, 2]
    ! cost {mac=72, read_bytes=176, write_bytes=32}
  %y20 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[0, 0, 0, 0], strides=[2, 2]} : f32[1, 1, 3, 2]
    ! cost {mac=54, read_bytes=176, write_bytes=24}
  %y21 = conv(%x10, %x6) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[1, 1, 4, 3]
    ! cost {mac=108, read_bytes=176, write_bytes=48}
  %y22 = conv_transpose(%x6, %x11) : f32[1, 2, 5, 5]
    ! cost {mac=162, read_bytes=108, write_bytes=200}
  %y23 = conv_transpose(%x12, %x13) : f32[1, 2, 5]
    ! cost {mac=18, read_bytes=36, write_bytes=40}
  %y24 = conv_transpose(%x6, %x11) {auto_pad="SAME_UPPER", strides=[2, 2]} : f32[1, 2, 6, 6]
    ! cost {mac=162, read_bytes=108, write_bytes=288}
  %y25 = conv_transpose(%x6, %x7) {dilations=[2, 2]} : f32[1, 1, 5, 5]
    ! cost {mac=36, read_bytes=52, write_bytes=100}
  %y26 = conv_transpose(%x11, %x14) {group=2} : f32[1, 2, 5, 5]
    ! cost {mac=162, read_bytes=144, write_bytes=200}
  %y27 = conv_transpose(%x15, %x14) {group=2} : f32[3, 2, 5, 5]
    ! cost {mac=486, read_bytes=288, write_bytes=600}
  %y28 = conv_transpose(%x6, %x11) {kernel_shape=[3, 3], output_padding=[1, 1], output_shape=[10, 8], strides=[3, 2]} : f32[1, 2, 10, 8]
    ! cost {mac=162, read_bytes=108, write_bytes=640}
  %y29 = conv_transpose(%x6, %x11) {output_shape=[10, 8], strides=[3, 2]} : f32[1, 2, 10, 8]
    ! cost {mac=162, read_bytes=108, write_bytes=640}
  %y30 = conv_transpose(%x6, %x11) {output_padding=[1, 1], strides=[3, 2]} : f32[1, 2, 10, 8]
    ! cost {mac=162, read_bytes=108, write_bytes=640}
  %y31 = conv_transpose(%x6, %x11) {pads=[1, 2, 1, 2], strides=[3, 2]} : f32[1, 2, 7, 3]
    ! cost {mac=162, read_bytes=108, write_bytes=168}
  %y32 = deform_conv(%x6, %x7, %x9, %x16, %x17) {kernel_shape=[2, 2], pads=[0, 0, 0, 0]} : f32[1, 1, 2, 2]
    ! cost {mac=16, alu=196, read_bytes=248, write_bytes=16}
  %y33 = deform_conv(%x11, %x18, %x19) {kernel_shape=[2, 2], pads=[0, 0, 0, 0], offset_group=2} : f32[1, 1, 2, 2]
    ! cost {mac=32, alu=352, read_bytes=360, write_bytes=16}
  %y34 = einsum(%x20) {equation="...ii ->...i"} : f64[3, 5]
    ! cost {read_bytes=600, write_bytes=120}
  %y35 = einsum(%x21, %x22) {equation="bij, bjk -> bik"} : f64[5, 2, 4]
    ! cost {mac=120, read_bytes=720, write_bytes=320}
  %y36 = einsum(%x23, %x24) {equation="bij, bjk -> bik"} : bf16[5, 2, 4]
    ! cost {mac=120, read_bytes=180, write_bytes=80}
  %y37 = einsum(%x25, %x25) {equation="i,i"} : f64[]
    ! cost {mac=5, read_bytes=40, write_bytes=8}
  %y38 = einsum(%x26) {equation="->"} : f64[]
    ! cost {read_bytes=8, write_bytes=8}
  %y39 = einsum(%x27) {equation="ij->i"} : f64[3]
    ! cost {alu=12, read_bytes=96, write_bytes=24}
  %y40 = einsum(%x28) {equation="ij->i"} : bf16[3]
    ! cost {alu=12, read_bytes=24, write_bytes=6}
  %y41 = einsum(%x27) {equation="ij->ji"} : f64[4, 3]
    ! cost {read_bytes=96, write_bytes=96}
  %y42 = einsum(%x28) {equation="ij->ji"} : bf16[4, 3]
    ! cost {read_bytes=24, write_bytes=24}
  %y43 = gemm(%x29, %x30, %x31) {alpha=0.25, beta=0.3499999940395355, transA=1, transB=1} : f32[3, 5]
    ! cost {mac=60, alu=45, read_bytes=148, write_bytes=60}
  %y44 = gemm(%x32, %x30, %x33) {alpha=0.5} : f32[3, 4]
    ! cost {mac=60, alu=24, read_bytes=156, write_bytes=48}
  %y45 = gemm(%x34, %x35, %x33) {beta=0.5} : f32[2, 4]
    ! cost {mac=56, alu=16, read_bytes=184, write_bytes=32}
  %y46 = gemm(%x36, %x37, %x38) : f32[3, 4]
    ! cost {mac=72, alu=12, read_bytes=216, write_bytes=48}
  %y47 = gemm(%x39, %x40) : f32[2, 3]
    ! cost {mac=60, read_bytes=200, write_bytes=24}
  %y48 = gemm(%x41, %x38, %x42) : f32[2, 4]
    ! cost {mac=24, alu=8, read_bytes=76, write_bytes=32}
  %y49 = gemm(%x43, %x37, %x33) {transA=1} : f32[3, 4]
    ! cost {mac=72, alu=12, read_bytes=184, write_bytes=48}
  %y50 = gemm(%x36, %x44, %x33) {transB=1} : f32[3, 4]
    ! cost {mac=72, alu=12, read_bytes=184, write_bytes=48}
  %y51 = global_average_pool(%x45) : f32[1, 3, 1, 1]
    ! cost {alu=75, read_bytes=300, write_bytes=12}
  %y52 = global_average_pool(%x6) : f32[1, 1, 1, 1]
    ! cost {alu=9, read_bytes=36, write_bytes=4}
  %y53 = global_max_pool(%x45) : f32[1, 3, 1, 1]
    ! cost {alu=72, read_bytes=300, write_bytes=12}
  %y54 = global_max_pool(%x6) : f32[1, 1, 1, 1]
    ! cost {alu=8, read_bytes=36, write_bytes=4}
  %y55, %y56 = gru(%x46, %x47, %x48) {hidden_size=6, layout=1} : f32[3, 1, 1, 6], f32[3, 1, 6]
    ! cost {mac=432, alu=216, sfu=90, read_bytes=600, write_bytes=144}
  %y57, %y58 = gru(%x46, %x49, %x50) {direction="bidirectional", hidden_size=5} : f32[3, 2, 1, 5], f32[2, 1, 5]
    ! cost {mac=630, alu=360, sfu=150, read_bytes=864, write_bytes=160}
  _, %y59 = gru(%x51, %x52, %x53) {hidden_size=5} : _, f32[1, 3, 5]
    ! cost {mac=315, alu=180, sfu=75, read_bytes=444, write_bytes=60}
  %y60, %y61 = gru(%x46, %x52, %x53) {direction="reverse", hidden_size=5} : f32[3, 1, 1, 5], f32[1, 1, 5]
    ! cost {mac=315, alu=180, sfu=75, read_bytes=444, write_bytes=80}
  _, %y62 = gru(%x54, %x55, %x53, %x56) {hidden_size=5} : _, f32[1, 3, 5]
    ! cost {mac=720, alu=450, sfu=150, read_bytes=672, write_bytes=60}
  _, %y63 = gru(%x57, %x58, %x58, %x59) {hidden_size=3} : _, f32[1, 3, 3]
    ! cost {mac=162, alu=135, sfu=45, read_bytes=216, write_bytes=36}
  %y64 = lp_pool(%x0) {kernel_shape=[2], strides=[1], p=3.0} : f32[1, 3, 31]
    ! cost {alu=372, sfu=279, read_bytes=384, write_bytes=372}
  %y65 = lp_pool(%x3) {kernel_shape=[2, 2], p=4.0} : f32[1, 3, 31, 31]
    ! cost {alu=23064, sfu=14415, read_bytes=12288, write_bytes=11532}
  %y66 = lp_pool(%x1) {dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : f32[1, 1, 2, 2]
    ! cost {alu=32, sfu=4, read_bytes=64, write_bytes=16}
  %y67 = lp_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2], p=3.0} : f32[1, 3, 30, 30]
    ! cost {alu=48600, sfu=27000, read_bytes=9408, write_bytes=10800}
  %y68 = lp_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2], p=4.0} : f32[1, 3, 32, 32]
    ! cost {alu=24576, sfu=15360, read_bytes=12288, write_bytes=12288}
  %y69 = lp_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : f32[1, 3, 32, 32]
    ! cost {alu=24576, sfu=3072, read_bytes=12288, write_bytes=12288}
  %y70 = lp_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : f32[1, 3, 10, 10]
    ! cost {alu=15000, sfu=300, read_bytes=12288, write_bytes=1200}
  %y71 = lp_pool(%x60) {kernel_shape=[2, 2, 2], p=3.0} : f32[1, 3, 31, 31, 31]
    ! cost {alu=1429968, sfu=804357, read_bytes=393216, write_bytes=357492}
  %y72, %y73 = lstm(%x46, %x61, %x62) {hidden_size=7, layout=1} : f32[3, 1, 1, 7], f32[3, 1, 7]
    ! cost {mac=756, alu=294, sfu=168, read_bytes=1032, write_bytes=168}
  _, %y74, %y75 = lstm(%x46, %x63, %x64) {direction="bidirectional", hidden_size=3} : _, f32[2, 1, 3], f32[2, 1, 3]
    ! cost {mac=360, alu=252, sfu=144, read_bytes=504, write_bytes=48}
  _, %y76 = lstm(%x51, %x65, %x66) {hidden_size=3} : _, f32[1, 3, 3]
    ! cost {mac=180, alu=126, sfu=72, read_bytes=264, write_bytes=36}
  _, %y77, %y78 = lstm(%x46, %x65, %x66) {direction="reverse", hidden_size=3} : _, f32[1, 1, 3], f32[1, 1, 3]
    ! cost {mac=180, alu=126, sfu=72, read_bytes=264, write_bytes=24}
  _, %y79 = lstm(%x57, %x67, %x68, %x69) {hidden_size=4} : _, f32[1, 3, 4]
    ! cost {mac=336, alu=216, sfu=96, read_bytes=612, write_bytes=48}
  _, %y80 = lstm(%x70, %x71, %x66, %x72, %x73, %x13, %x13, %x74) {hidden_size=3} : _, f32[1, 2, 3]
    ! cost {mac=168, alu=144, sfu=48, read_bytes=532, write_bytes=24}
  %y81 = matmul(%x75, %x75) : f32[]
    ! cost {mac=3, read_bytes=12, write_bytes=4}
  %y82 = matmul(%x76, %x77) : f32[2, 1]
    ! cost {mac=8, read_bytes=48, write_bytes=8}
  %y83 = max_pool(%x0) {kernel_shape=[2]} : f32[1, 3, 31]
    ! cost {alu=93, read_bytes=384, write_bytes=372}
  %y84 = max_pool(%x1) {ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2]} : f32[1, 1, 2, 2]
    ! cost {alu=32, read_bytes=64, write_bytes=16}
  %y85 = max_pool(%x7) {ceil_mode=1, kernel_shape=[1, 1], strides=[2, 2]} : f32[1, 1, 1, 1]
    ! cost {read_bytes=4, write_bytes=4}
  %y86 = max_pool(%x3) {kernel_shape=[2, 2]} : f32[1, 3, 31, 31]
    ! cost {alu=8649, read_bytes=12288, write_bytes=11532}
  %y87 = max_pool(%x1) {dilations=[2, 2], kernel_shape=[2, 2], strides=[1, 1]} : f32[1, 1, 2, 2]
    ! cost {alu=12, read_bytes=64, write_bytes=16}
  %y88 = max_pool(%x4) {kernel_shape=[3, 3], pads=[2, 2, 2, 2]} : f32[1, 3, 30, 30]
    ! cost {alu=21600, read_bytes=9408, write_bytes=10800}
  %y89 = max_pool(%x5) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : f32[1, 1, 5, 5]
    ! cost {alu=600, read_bytes=100, write_bytes=100}
  %y90 = max_pool(%x5) {auto_pad="SAME_UPPER", kernel_shape=[3, 3], strides=[2, 2]} : f32[1, 1, 3, 3]
    ! cost {alu=72, read_bytes=100, write_bytes=36}
  %y91 = max_pool(%x5) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1, 1, 2, 2]
    ! cost {alu=12, read_bytes=64, write_bytes=16}
  %y92 = max_pool(%x3) {auto_pad="SAME_LOWER", kernel_shape=[2, 2]} : f32[1, 3, 32, 32]
    ! cost {alu=9216, read_bytes=12288, write_bytes=12288}
  %y93 = max_pool(%x3) {auto_pad="SAME_UPPER", kernel_shape=[2, 2]} : f32[1, 3, 32, 32]
    ! cost {alu=9216, read_bytes=12288, write_bytes=12288}
  %y94 = max_pool(%x3) {kernel_shape=[5, 5], strides=[3, 3]} : f32[1, 3, 10, 10]
    ! cost {alu=7200, read_bytes=12288, write_bytes=1200}
  %y95 = max_pool(%x78) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]} : u8[1, 1, 5, 5]
    ! cost {alu=600, read_bytes=25, write_bytes=25}
  %y96 = max_pool(%x60) {kernel_shape=[2, 2, 2]} : f32[1, 3, 31, 31, 31]
    ! cost {alu=625611, read_bytes=393216, write_bytes=357492}
  %y97 = max_unpool(%x7, %x79, %x80) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1, 1, 5, 5]
    ! cost {integer=4, read_bytes=80, write_bytes=100}
  %y98 = max_unpool(%x7, %x79) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1, 1, 4, 4]
    ! cost {integer=4, read_bytes=48, write_bytes=64}
  _, %y99 = rnn(%x54, %x81, %x82, %x83) {hidden_size=5} : _, f32[1, 3, 5]
    ! cost {mac=240, alu=60, sfu=30, read_bytes=272, write_bytes=60}
  %y100, %y101 = rnn(%x46, %x84, %x85) {hidden_size=4, layout=1} : f32[3, 1, 1, 4], f32[3, 1, 4]
    ! cost {mac=72, alu=12, sfu=12, read_bytes=120, write_bytes=96}
  _, %y102 = rnn(%x46, %x86, %x87) {direction="bidirectional", hidden_size=4} : _, f32[2, 1, 4]
    ! cost {mac=144, alu=24, sfu=24, read_bytes=216, write_bytes=32}
  _, %y103 = rnn(%x51, %x84, %x85) {hidden_size=4} : _, f32[1, 3, 4]
    ! cost {mac=72, alu=12, sfu=12, read_bytes=120, write_bytes=48}
  _, %y104 = rnn(%x46, %x84, %x85) {direction="reverse", hidden_size=4} : _, f32[1, 1, 4]
    ! cost {mac=72, alu=12, sfu=12, read_bytes=120, write_bytes=16}
  _, %y105 = rnn(%x57, %x81, %x82, %x83) {hidden_size=5} : _, f32[1, 3, 5]
    ! cost {mac=120, alu=30, sfu=15, read_bytes=236, write_bytes=60}
  %y106 = fused_matmul(%x88, %x89) : f32[b, m, n]
    ! cost {mac=b*k*m*n, read_bytes=4*b*k*m + 4*b*k*n, write_bytes=4*b*m*n}
  %y107 = fused_matmul_activation(%x88, %x89) : f32[b, m, n]
    ! cost {mac=b*k*m*n, read_bytes=4*b*k*m + 4*b*k*n, write_bytes=4*b*m*n}
  %y108 = gemm_fast_gelu(%x88, %x90, %x91) : f32[b, m, n]
    ! cost {mac=b*k*m*n, alu=8*b*m*n, sfu=b*m*n, read_bytes=4*b*k*m + 4*k*n + 4*n, write_bytes=4*b*m*n}
  %y109 = fused_gemm(%x92, %x90) : f32[m, n]
    ! cost {mac=k*m*n, read_bytes=4*k*m + 4*k*n, write_bytes=4*m*n}
  %y110 = fused_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : f32[n, k, h, w]
    ! cost {mac=c*h*k*n*r*s*w, alu=h*k*n*w, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*h*k*n*w}
  %y111 = nhwc_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : f32[n, c, h, k]
    ! cost {mac=c*c*h*k*n*r*s, alu=c*h*k*n, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*c*h*k*n}
  %y112 = nhwc_fused_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : f32[n, c, h, k]
    ! cost {mac=c*c*h*k*n*r*s, alu=c*h*k*n, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*c*h*k*n}
  %y113 = nhwc_conv_transpose(%x93, %x96, %x95) {auto_pad="SAME_UPPER"} : f32[n, c, h, k]
    ! cost {mac=c*h*k*n*r*s*w, alu=c*h*k*n, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*c*h*k*n}
  %y114 = conv_transpose_with_dynamic_pads(%x93, %x96, _, %x95) {auto_pad="SAME_UPPER"} : f32[n, k, h, w]
    ! cost {mac=c*h*k*n*r*s*w, alu=h*k*n*w, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*h*k*n*w}
  %y115 = nhwc_global_average_pool(%x97) : f32[n, 1, spatial]
    ! cost {alu=c*n*spatial, read_bytes=4*c*n*spatial, write_bytes=4*n*spatial}
  %y116 = nhwc_global_max_pool(%x97) : f32[n, 1, spatial]
    ! cost {alu=c*n*spatial - n*spatial, read_bytes=4*c*n*spatial, write_bytes=4*n*spatial}
  %y117 = global_lp_pool(%x97) : f32[n, c, 1]
    ! cost {alu=2*c*n*spatial, sfu=c*n, read_bytes=4*c*n*spatial, write_bytes=4*c*n}
  %y118 = reorder_output(%x98) : f32[n, 1, spatial]
    ! cost {read_bytes=4*min(k*n*spatial, n*spatial), write_bytes=4*n*spatial}
  %y119 = blocked_conv(%x93, %x94, %x95) {auto_pad="SAME_UPPER"} : f32[n, k, h, w]
    ! cost {mac=c*h*k*n*r*s*w, alu=h*k*n*w, read_bytes=4*c*h*n*w + 4*c*k*r*s + 4*k, write_bytes=4*h*k*n*w}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119
}
