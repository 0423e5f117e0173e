# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent n in 1..
extent c in 1..
extent d in 1..

graph @main(%x0: f32[3, 4, 5], %x1: f32[3], %x2: f32[5], %x3: b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, true]], %x4: b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, false]], %x5: f32[2, 3], %x6: b1[4] = [true, false, true, false], %x7: f64[3], %x8: i32[3] = [1065353216, -1071644672, 1081081856], %x9: i64[3] = [4607182418800017408, -4611686018427387904, 4614256656552045184], %x10: i8[4] = [-1, -128, 127, 0], %x11: u16[3] = [1, 32768, 65535], %x12: i16[3] = [16, 4, 1], %x13: i16[3] = [1, 2, 3], %x14: i32[3] = [16, 4, 1], %x15: i32[3] = [1, 2, 3], %x16: bf16[3, 4], %x17: f64[3, 4], %x18: f16[3, 4], %x19: f16[3, 5], %x20: f32[0], %x21: f8e4m3[0], %x22: f8e4m3fnuz[0], %x23: f32[2], %x24: f32[3, 3, 3, 1], %x25: bf16[5], %x26: f32[], %x27: str[2], %x28: str[1], %x29: f32[1, 3, 32, 32], %x30: f32[6], %x31: f16[6], %x32: f16[3], %x33: i64[6] = [-4, 7, 5, 4, -7, 8], %x34: i64[6] = [2, -3, 8, -2, 3, 5], %x35: f32[15], %x36: f32[11], %x37: f32[2, 4], %x38: f16[2, 4], %x39: b1[2, 2] = [[true, false], [true, true]], %x40: f32[2, 2], %x41: i64[2, 2] = [[1, 2], [3, 4]], %x42: i64[2, 2] = [[9, 8], [7, 6]], %x43: f32[n, c, d]) {
  %y0 = abs(%x0) : ?
  %y1 = acos(%x0) : ?
  %y2 = acos(%x1) : ?
  %y3 = acosh(%x0) : ?
  %y4 = acosh(%x1) : ?
  %y5 = add(%x0, %x0) : ?
  %y6 = add(%x0, %x2) : ?
  %y7 = and(%x3, %x4) : ?
  %y8 = asin(%x0) : ?
  %y9 = asin(%x1) : ?
  %y10 = asinh(%x0) : ?
  %y11 = asinh(%x1) : ?
  %y12 = atan(%x0) : ?
  %y13 = atan(%x1) : ?
  %y14 = atanh(%x0) : ?
  %y15 = atanh(%x1) : ?
  %y16 = bit_cast(%x5) {to="i32"} : ?
  %y17 = bit_cast(%x6) {to="u8"} : ?
  %y18 = bit_cast(%x1) {to="i32"} : ?
  %y19 = bit_cast(%x7) {to="i64"} : ?
  %y20 = bit_cast(%x8) {to="f32"} : ?
  %y21 = bit_cast(%x9) {to="f64"} : ?
  %y22 = bit_cast(%x10) {to="u8"} : ?
  %y23 = bit_cast(%x11) {to="i16"} : ?
  %y24 = bit_shift(%x12, %x13) : ?
  %y25 = bit_shift(%x14, %x15) : ?
  %y26 = bit_shift(%x12, %x13) {direction="RIGHT"} : ?
  %y27 = bit_shift(%x14, %x15) {direction="RIGHT"} : ?
  %y28 = cast(%x16) {to="f32"} : ?
  %y29 = cast(%x17) {to="f32"} : ?
  %y30 = cast(%x17) {to="f16"} : ?
  %y31 = cast(%x18) {to="f64"} : ?
  %y32 = cast(%x19) {to="f4e2m1"} : ?
  %y33 = cast(%x19) {to="f8e4m3"} : ?
  %y34 = cast_like(%x16, %x20) : ?
  %y35 = cast_like(%x17, %x20) : ?
  %y36 = cast_like(%x19, %x21) {saturate=0} : ?
  %y37 = cast_like(%x19, %x22) {saturate=0} : ?
  %y38 = ceil(%x0) : ?
  %y39 = ceil(%x23) : ?
  %y40 = celu(%x24) {alpha=2.0} : ?
  %y41 = celu(%x25) {alpha=2.0} : ?
  %y42 = clip(%x0, %x26, %x26) : ?
  %y43 = clip(%x1, _, _) : ?
  %y44 = clip(%x0, %x26) : ?
  %y45 = cos(%x0) : ?
  %y46 = cos(%x1) : ?
  %y47 = cosh(%x0) : ?
  %y48 = cosh(%x1) : ?
  %y49 = div(%x0, %x0) : ?
  %y50 = div(%x0, %x2) : ?
  %y51 = elu(%x0) {alpha=2.0} : ?
  %y52 = elu(%x0) : ?
  %y53 = elu(%x1) {alpha=2.0} : ?
  %y54 = equal(%x27, %x27) : ?
  %y55 = equal(%x27, %x28) : ?
  %y56 = erf(%x29) : ?
  %y57 = exp(%x0) : ?
  %y58 = exp(%x1) : ?
  %y59 = floor(%x0) : ?
  %y60 = floor(%x1) : ?
  %y61 = gelu(%x1) : ?
  %y62 = gelu(%x0) : ?
  %y63 = gelu(%x1) {approximate="tanh"} : ?
  %y64 = gelu(%x0) {approximate="tanh"} : ?
  %y65 = greater(%x0, %x0) : ?
  %y66 = greater(%x0, %x2) : ?
  %y67 = greater_or_equal(%x0, %x0) : ?
  %y68 = greater_or_equal(%x0, %x2) : ?
  %y69 = hard_sigmoid(%x0) {alpha=0.5, beta=0.6000000238418579} : ?
  %y70 = hard_sigmoid(%x0) : ?
  %y71 = hard_sigmoid(%x1) {alpha=0.5, beta=0.6000000238418579} : ?
  %y72 = hard_swish(%x0) : ?
  %y73 = is_inf(%x30) : ?
  %y74 = is_inf(%x31) : ?
  %y75 = is_inf(%x30) {detect_positive=0} : ?
  %y76 = is_inf(%x30) {detect_negative=0} : ?
  %y77 = is_nan(%x30) : ?
  %y78 = is_nan(%x31) : ?
  %y79 = leaky_relu(%x0) {alpha=0.10000000149011612} : ?
  %y80 = leaky_relu(%x0) : ?
  %y81 = leaky_relu(%x1) {alpha=0.10000000149011612} : ?
  %y82 = less(%x0, %x0) : ?
  %y83 = less(%x0, %x2) : ?
  %y84 = less_or_equal(%x0, %x0) : ?
  %y85 = less_or_equal(%x0, %x2) : ?
  %y86 = log(%x0) : ?
  %y87 = log(%x23) : ?
  %y88 = max(%x1, %x1, %x1) : ?
  %y89 = max(%x32, %x32) : ?
  %y90 = max(%x1, %x1) : ?
  %y91 = max(%x1) : ?
  %y92 = mean(%x1, %x1, %x1) : ?
  %y93 = mean(%x1) : ?
  %y94 = mean(%x1, %x1) : ?
  %y95 = min(%x1, %x1, %x1) : ?
  %y96 = min(%x32, %x32) : ?
  %y97 = min(%x1, %x1) : ?
  %y98 = min(%x1) : ?
  %y99 = mod(%x31, %x31) : ?
  %y100 = mod(%x30, %x30) : ?
  %y101 = mod(%x33, %x34) {fmod=1} : ?
  %y102 = mod(%x31, %x31) {fmod=1} : ?
  %y103 = mul(%x0, %x0) : ?
  %y104 = mul(%x0, %x2) : ?
  %y105 = neg(%x0) : ?
  %y106 = neg(%x23) : ?
  %y107 = not(%x3) : ?
  %y108 = or(%x3, %x4) : ?
  %y109 = pow(%x0, %x0) : ?
  %y110 = pow(%x5, %x1) : ?
  %y111 = prelu(%x0, %x2) : ?
  %y112 = prelu(%x0, %x0) : ?
  %y113 = reciprocal(%x0) : ?
  %y114 = reciprocal(%x23) : ?
  %y115 = relu(%x0) : ?
  %y116 = round(%x35) : ?
  %y117 = selu(%x0) {alpha=2.0, gamma=3.0} : ?
  %y118 = selu(%x0) : ?
  %y119 = selu(%x1) {alpha=2.0, gamma=3.0} : ?
  %y120 = shrink(%x2) {lambd=1.5} : ?
  %y121 = shrink(%x2) {bias=1.5, lambd=1.5} : ?
  %y122 = sigmoid(%x0) : ?
  %y123 = sigmoid(%x1) : ?
  %y124 = sign(%x36) : ?
  %y125 = sin(%x0) : ?
  %y126 = sin(%x1) : ?
  %y127 = sinh(%x0) : ?
  %y128 = sinh(%x1) : ?
  %y129 = softplus(%x0) : ?
  %y130 = softplus(%x1) : ?
  %y131 = softsign(%x0) : ?
  %y132 = softsign(%x1) : ?
  %y133 = sqrt(%x0) : ?
  %y134 = sqrt(%x1) : ?
  %y135 = sub(%x0, %x0) : ?
  %y136 = sub(%x0, %x2) : ?
  %y137 = sum(%x1, %x1, %x1) : ?
  %y138 = sum(%x1) : ?
  %y139 = sum(%x1, %x1) : ?
  %y140 = swiglu(%x37, %x37) : ?
  %y141 = swiglu(%x37, %x37) {alpha=0.5} : ?
  %y142 = swiglu(%x38, %x38) : ?
  %y143 = swish(%x1) : ?
  %y144 = tan(%x0) : ?
  %y145 = tan(%x1) : ?
  %y146 = tanh(%x0) : ?
  %y147 = tanh(%x1) : ?
  %y148 = thresholded_relu(%x0) {alpha=2.0} : ?
  %y149 = thresholded_relu(%x0) : ?
  %y150 = thresholded_relu(%x2) {alpha=2.0} : ?
  %y151 = where(%x39, %x40, %x40) : ?
  %y152 = where(%x39, %x41, %x42) : ?
  %y153 = xor(%x3, %x4) : ?
  %y154 = bias_add(%x43, %x43, %x43) : ?
  %y155 = bitwise_and(%x43, %x43) : ?
  %y156 = bitwise_or(%x43, %x43) : ?
  %y157 = bitwise_xor(%x43, %x43) : ?
  %y158 = bitwise_not(%x43) : ?
  %y159 = mish(%x43) : ?
  %y160 = quick_gelu(%x43) : ?
  %y161 = scaled_tanh(%x43) : ?
  %y162 = affine(%x43) : ?
  %y163 = parametric_softplus(%x43) : ?
  %y164 = fast_gelu(%x43, %x43) : ?
  %y165 = bias_gelu(%x43, %x43) : ?
  %y166 = bias_split_gelu(%x43, %x43) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166
}
# ---- expect
perfir 1
module @main
extent n in 1..
extent c in 1..
extent d in 1..

graph @main(%x0: f32[3, 4, 5], %x1: f32[3], %x2: f32[5], %x3: b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, true]], %x4: b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, false]], %x5: f32[2, 3], %x6: b1[4] = [true, false, true, false], %x7: f64[3], %x8: i32[3] = [1065353216, -1071644672, 1081081856], %x9: i64[3] = [4607182418800017408, -4611686018427387904, 4614256656552045184], %x10: i8[4] = [-1, -128, 127, 0], %x11: u16[3] = [1, 32768, 65535], %x12: i16[3] = [16, 4, 1], %x13: i16[3] = [1, 2, 3], %x14: i32[3] = [16, 4, 1], %x15: i32[3] = [1, 2, 3], %x16: bf16[3, 4], %x17: f64[3, 4], %x18: f16[3, 4], %x19: f16[3, 5], %x20: f32[0], %x21: f8e4m3[0], %x22: f8e4m3fnuz[0], %x23: f32[2], %x24: f32[3, 3, 3, 1], %x25: bf16[5], %x26: f32[], %x27: str[2], %x28: str[1], %x29: f32[1, 3, 32, 32], %x30: f32[6], %x31: f16[6], %x32: f16[3], %x33: i64[6] = [-4, 7, 5, 4, -7, 8], %x34: i64[6] = [2, -3, 8, -2, 3, 5], %x35: f32[15], %x36: f32[11], %x37: f32[2, 4], %x38: f16[2, 4], %x39: b1[2, 2] = [[true, false], [true, true]], %x40: f32[2, 2], %x41: i64[2, 2] = [[1, 2], [3, 4]], %x42: i64[2, 2] = [[9, 8], [7, 6]], %x43: f32[n, c, d]) {
  %y0 = abs(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y1 = acos(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y2 = acos(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y3 = acosh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y4 = acosh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y5 = add(%x0, %x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y6 = add(%x0, %x2) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=240}
  %y7 = and(%x3, %x4) : b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, false]]
    ! cost {integer=12, read_bytes=24, write_bytes=12}
  %y8 = asin(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y9 = asin(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y10 = asinh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y11 = asinh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y12 = atan(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y13 = atan(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y14 = atanh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y15 = atanh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y16 = bit_cast(%x5) {to="i32"} : i32[2, 3]
    ! cost {}
  %y17 = bit_cast(%x6) {to="u8"} : u8[4]
    ! cost {}
  %y18 = bit_cast(%x1) {to="i32"} : i32[3]
    ! cost {}
  %y19 = bit_cast(%x7) {to="i64"} : i64[3]
    ! cost {}
  %y20 = bit_cast(%x8) {to="f32"} : f32[3]
    ! cost {}
  %y21 = bit_cast(%x9) {to="f64"} : f64[3]
    ! cost {}
  %y22 = bit_cast(%x10) {to="u8"} : u8[4] = [255, 128, 127, 0]
    ! cost {}
  %y23 = bit_cast(%x11) {to="i16"} : i16[3] = [1, -32768, -1]
    ! cost {}
  %y24 = bit_shift(%x12, %x13) : i16[3] = [32, 16, 8]
    ! cost {integer=3, read_bytes=12, write_bytes=6}
  %y25 = bit_shift(%x14, %x15) : i32[3] = [32, 16, 8]
    ! cost {integer=3, read_bytes=24, write_bytes=12}
  %y26 = bit_shift(%x12, %x13) {direction="RIGHT"} : i16[3] = [8, 1, 0]
    ! cost {integer=3, read_bytes=12, write_bytes=6}
  %y27 = bit_shift(%x14, %x15) {direction="RIGHT"} : i32[3] = [8, 1, 0]
    ! cost {integer=3, read_bytes=24, write_bytes=12}
  %y28 = cast(%x16) {to="f32"} : f32[3, 4]
    ! cost {alu=12, read_bytes=24, write_bytes=48}
  %y29 = cast(%x17) {to="f32"} : f32[3, 4]
    ! cost {alu=12, read_bytes=96, write_bytes=48}
  %y30 = cast(%x17) {to="f16"} : f16[3, 4]
    ! cost {alu=12, read_bytes=96, write_bytes=24}
  %y31 = cast(%x18) {to="f64"} : f64[3, 4]
    ! cost {alu=12, read_bytes=24, write_bytes=96}
  %y32 = cast(%x19) {to="f4e2m1"} : f4e2m1[3, 5]
    ! cost {alu=15, read_bytes=30, write_bytes=8}
  %y33 = cast(%x19) {to="f8e4m3"} : f8e4m3[3, 5]
    ! cost {alu=15, read_bytes=30, write_bytes=15}
  %y34 = cast_like(%x16, %x20) : f32[3, 4]
    ! cost {alu=12, read_bytes=24, write_bytes=48}
  %y35 = cast_like(%x17, %x20) : f32[3, 4]
    ! cost {alu=12, read_bytes=96, write_bytes=48}
  %y36 = cast_like(%x19, %x21) {saturate=0} : f8e4m3[3, 5]
    ! cost {alu=15, read_bytes=30, write_bytes=15}
  %y37 = cast_like(%x19, %x22) {saturate=0} : f8e4m3fnuz[3, 5]
    ! cost {alu=15, read_bytes=30, write_bytes=15}
  %y38 = ceil(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y39 = ceil(%x23) : f32[2]
    ! cost {alu=2, read_bytes=8, write_bytes=8}
  %y40 = celu(%x24) {alpha=2.0} : f32[3, 3, 3, 1]
    ! cost {alu=162, sfu=27, read_bytes=108, write_bytes=108}
  %y41 = celu(%x25) {alpha=2.0} : bf16[5]
    ! cost {alu=30, sfu=5, read_bytes=10, write_bytes=10}
  %y42 = clip(%x0, %x26, %x26) : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=244, write_bytes=240}
  %y43 = clip(%x1, _, _) : f32[3]
    ! cost {read_bytes=12, write_bytes=12}
  %y44 = clip(%x0, %x26) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=244, write_bytes=240}
  %y45 = cos(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y46 = cos(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y47 = cosh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y48 = cosh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y49 = div(%x0, %x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y50 = div(%x0, %x2) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=260, write_bytes=240}
  %y51 = elu(%x0) {alpha=2.0} : f32[3, 4, 5]
    ! cost {alu=180, sfu=60, read_bytes=240, write_bytes=240}
  %y52 = elu(%x0) : f32[3, 4, 5]
    ! cost {alu=180, sfu=60, read_bytes=240, write_bytes=240}
  %y53 = elu(%x1) {alpha=2.0} : f32[3]
    ! cost {alu=9, sfu=3, read_bytes=12, write_bytes=12}
  %y54 = equal(%x27, %x27) : b1[2]
    ! cost {integer=2, write_bytes=2}
  %y55 = equal(%x27, %x28) : b1[2]
    ! cost {integer=2, write_bytes=2}
  %y56 = erf(%x29) : f32[1, 3, 32, 32]
    ! cost {sfu=3072, read_bytes=12288, write_bytes=12288}
  %y57 = exp(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y58 = exp(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y59 = floor(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y60 = floor(%x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y61 = gelu(%x1) : f32[3]
    ! cost {alu=12, sfu=3, read_bytes=12, write_bytes=12}
  %y62 = gelu(%x0) : f32[3, 4, 5]
    ! cost {alu=240, sfu=60, read_bytes=240, write_bytes=240}
  %y63 = gelu(%x1) {approximate="tanh"} : f32[3]
    ! cost {alu=24, sfu=3, read_bytes=12, write_bytes=12}
  %y64 = gelu(%x0) {approximate="tanh"} : f32[3, 4, 5]
    ! cost {alu=480, sfu=60, read_bytes=240, write_bytes=240}
  %y65 = greater(%x0, %x0) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=60}
  %y66 = greater(%x0, %x2) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=60}
  %y67 = greater_or_equal(%x0, %x0) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=60}
  %y68 = greater_or_equal(%x0, %x2) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=60}
  %y69 = hard_sigmoid(%x0) {alpha=0.5, beta=0.6000000238418579} : f32[3, 4, 5]
    ! cost {alu=240, read_bytes=240, write_bytes=240}
  %y70 = hard_sigmoid(%x0) : f32[3, 4, 5]
    ! cost {alu=240, read_bytes=240, write_bytes=240}
  %y71 = hard_sigmoid(%x1) {alpha=0.5, beta=0.6000000238418579} : f32[3]
    ! cost {alu=12, read_bytes=12, write_bytes=12}
  %y72 = hard_swish(%x0) : f32[3, 4, 5]
    ! cost {alu=300, read_bytes=240, write_bytes=240}
  %y73 = is_inf(%x30) : b1[6]
    ! cost {alu=6, read_bytes=24, write_bytes=6}
  %y74 = is_inf(%x31) : b1[6]
    ! cost {alu=6, read_bytes=12, write_bytes=6}
  %y75 = is_inf(%x30) {detect_positive=0} : b1[6]
    ! cost {alu=6, read_bytes=24, write_bytes=6}
  %y76 = is_inf(%x30) {detect_negative=0} : b1[6]
    ! cost {alu=6, read_bytes=24, write_bytes=6}
  %y77 = is_nan(%x30) : b1[6]
    ! cost {alu=6, read_bytes=24, write_bytes=6}
  %y78 = is_nan(%x31) : b1[6]
    ! cost {alu=6, read_bytes=12, write_bytes=6}
  %y79 = leaky_relu(%x0) {alpha=0.10000000149011612} : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y80 = leaky_relu(%x0) : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y81 = leaky_relu(%x1) {alpha=0.10000000149011612} : f32[3]
    ! cost {alu=6, read_bytes=12, write_bytes=12}
  %y82 = less(%x0, %x0) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=60}
  %y83 = less(%x0, %x2) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=60}
  %y84 = less_or_equal(%x0, %x0) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=60}
  %y85 = less_or_equal(%x0, %x2) : b1[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=60}
  %y86 = log(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y87 = log(%x23) : f32[2]
    ! cost {sfu=2, read_bytes=8, write_bytes=8}
  %y88 = max(%x1, %x1, %x1) : f32[3]
    ! cost {alu=6, read_bytes=12, write_bytes=12}
  %y89 = max(%x32, %x32) : f16[3]
    ! cost {alu=3, read_bytes=6, write_bytes=6}
  %y90 = max(%x1, %x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y91 = max(%x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y92 = mean(%x1, %x1, %x1) : f32[3]
    ! cost {alu=6, read_bytes=12, write_bytes=12}
  %y93 = mean(%x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y94 = mean(%x1, %x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y95 = min(%x1, %x1, %x1) : f32[3]
    ! cost {alu=6, read_bytes=12, write_bytes=12}
  %y96 = min(%x32, %x32) : f16[3]
    ! cost {alu=3, read_bytes=6, write_bytes=6}
  %y97 = min(%x1, %x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y98 = min(%x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y99 = mod(%x31, %x31) : f16[6]
    ! cost {alu=12, sfu=6, read_bytes=12, write_bytes=12}
  %y100 = mod(%x30, %x30) : f32[6]
    ! cost {alu=12, sfu=6, read_bytes=24, write_bytes=24}
  %y101 = mod(%x33, %x34) {fmod=1} : i64[6] = [0, 1, 5, 0, -1, 3]
    ! cost {integer=18, read_bytes=96, write_bytes=48}
  %y102 = mod(%x31, %x31) {fmod=1} : f16[6]
    ! cost {alu=12, sfu=6, read_bytes=12, write_bytes=12}
  %y103 = mul(%x0, %x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y104 = mul(%x0, %x2) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=240}
  %y105 = neg(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y106 = neg(%x23) : f32[2]
    ! cost {alu=2, read_bytes=8, write_bytes=8}
  %y107 = not(%x3) : b1[3, 4] = [[false, false, false, false], [false, true, false, true], [true, false, false, false]]
    ! cost {integer=12, read_bytes=12, write_bytes=12}
  %y108 = or(%x3, %x4) : b1[3, 4] = [[true, true, true, true], [true, false, true, false], [false, true, true, true]]
    ! cost {integer=12, read_bytes=24, write_bytes=12}
  %y109 = pow(%x0, %x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y110 = pow(%x5, %x1) : f32[2, 3]
    ! cost {sfu=6, read_bytes=36, write_bytes=24}
  %y111 = prelu(%x0, %x2) : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=260, write_bytes=240}
  %y112 = prelu(%x0, %x0) : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y113 = reciprocal(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y114 = reciprocal(%x23) : f32[2]
    ! cost {sfu=2, read_bytes=8, write_bytes=8}
  %y115 = relu(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y116 = round(%x35) : f32[15]
    ! cost {alu=15, read_bytes=60, write_bytes=60}
  %y117 = selu(%x0) {alpha=2.0, gamma=3.0} : f32[3, 4, 5]
    ! cost {alu=240, sfu=60, read_bytes=240, write_bytes=240}
  %y118 = selu(%x0) : f32[3, 4, 5]
    ! cost {alu=240, sfu=60, read_bytes=240, write_bytes=240}
  %y119 = selu(%x1) {alpha=2.0, gamma=3.0} : f32[3]
    ! cost {alu=12, sfu=3, read_bytes=12, write_bytes=12}
  %y120 = shrink(%x2) {lambd=1.5} : f32[5]
    ! cost {alu=15, read_bytes=20, write_bytes=20}
  %y121 = shrink(%x2) {bias=1.5, lambd=1.5} : f32[5]
    ! cost {alu=15, read_bytes=20, write_bytes=20}
  %y122 = sigmoid(%x0) : f32[3, 4, 5]
    ! cost {alu=120, sfu=120, read_bytes=240, write_bytes=240}
  %y123 = sigmoid(%x1) : f32[3]
    ! cost {alu=6, sfu=6, read_bytes=12, write_bytes=12}
  %y124 = sign(%x36) : f32[11]
    ! cost {alu=22, read_bytes=44, write_bytes=44}
  %y125 = sin(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y126 = sin(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y127 = sinh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y128 = sinh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y129 = softplus(%x0) : f32[3, 4, 5]
    ! cost {alu=60, sfu=120, read_bytes=240, write_bytes=240}
  %y130 = softplus(%x1) : f32[3]
    ! cost {alu=3, sfu=6, read_bytes=12, write_bytes=12}
  %y131 = softsign(%x0) : f32[3, 4, 5]
    ! cost {alu=120, sfu=60, read_bytes=240, write_bytes=240}
  %y132 = softsign(%x1) : f32[3]
    ! cost {alu=6, sfu=3, read_bytes=12, write_bytes=12}
  %y133 = sqrt(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y134 = sqrt(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y135 = sub(%x0, %x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y136 = sub(%x0, %x2) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=260, write_bytes=240}
  %y137 = sum(%x1, %x1, %x1) : f32[3]
    ! cost {alu=6, read_bytes=12, write_bytes=12}
  %y138 = sum(%x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y139 = sum(%x1, %x1) : f32[3]
    ! cost {alu=3, read_bytes=12, write_bytes=12}
  %y140 = swiglu(%x37, %x37) : f32[2, 4]
    ! cost {alu=32, sfu=16, read_bytes=32, write_bytes=32}
  %y141 = swiglu(%x37, %x37) {alpha=0.5} : f32[2, 4]
    ! cost {alu=32, sfu=16, read_bytes=32, write_bytes=32}
  %y142 = swiglu(%x38, %x38) : f16[2, 4]
    ! cost {alu=32, sfu=16, read_bytes=16, write_bytes=16}
  %y143 = swish(%x1) : f32[3]
    ! cost {alu=9, sfu=6, read_bytes=12, write_bytes=12}
  %y144 = tan(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y145 = tan(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y146 = tanh(%x0) : f32[3, 4, 5]
    ! cost {sfu=60, read_bytes=240, write_bytes=240}
  %y147 = tanh(%x1) : f32[3]
    ! cost {sfu=3, read_bytes=12, write_bytes=12}
  %y148 = thresholded_relu(%x0) {alpha=2.0} : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y149 = thresholded_relu(%x0) : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y150 = thresholded_relu(%x2) {alpha=2.0} : f32[5]
    ! cost {alu=5, read_bytes=20, write_bytes=20}
  %y151 = where(%x39, %x40, %x40) : f32[2, 2]
    ! cost {integer=4, read_bytes=20, write_bytes=16}
  %y152 = where(%x39, %x41, %x42) : i64[2, 2] = [[1, 8], [3, 4]]
    ! cost {integer=4, read_bytes=68, write_bytes=32}
  %y153 = xor(%x3, %x4) : b1[3, 4] = [[false, false, false, false], [false, false, false, false], [false, false, false, true]]
    ! cost {integer=12, read_bytes=24, write_bytes=12}
  %y154 = bias_add(%x43, %x43, %x43) : f32[n, c, d]
    ! cost {alu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y155 = bitwise_and(%x43, %x43) : f32[n, c, d]
    ! cost {alu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y156 = bitwise_or(%x43, %x43) : f32[n, c, d]
    ! cost {alu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y157 = bitwise_xor(%x43, %x43) : f32[n, c, d]
    ! cost {alu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y158 = bitwise_not(%x43) : f32[n, c, d]
    ! cost {alu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y159 = mish(%x43) : f32[n, c, d]
    ! cost {alu=2*c*d*n, sfu=3*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y160 = quick_gelu(%x43) : f32[n, c, d]
    ! cost {alu=3*c*d*n, sfu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y161 = scaled_tanh(%x43) : f32[n, c, d]
    ! cost {alu=2*c*d*n, sfu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y162 = affine(%x43) : f32[n, c, d]
    ! cost {alu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y163 = parametric_softplus(%x43) : f32[n, c, d]
    ! cost {alu=3*c*d*n, sfu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y164 = fast_gelu(%x43, %x43) : f32[n, c, d]
    ! cost {alu=9*c*d*n, sfu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y165 = bias_gelu(%x43, %x43) : f32[n, c, d]
    ! cost {alu=5*c*d*n, sfu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y166 = bias_split_gelu(%x43, %x43) : f32[n, c, (d//2)]
    ! cost {alu=7*(d//2)*c*n, sfu=(d//2)*c*n, read_bytes=4*c*d*n, write_bytes=4*(d//2)*c*n}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166
}
