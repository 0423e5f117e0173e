# RUN: shapes,cost | print --facts cost
perfir 1
module @control
dim N in 1.. = 4
graph @main(%t3: i64[] = 3, %t0: i64[] = 0, %many: i64[] = 100000, %t: i64[], %n: i64[] = N, %yes: b1[] = true, %no: b1[] = false, %c: b1[], %x: f32[2, 3], %y: f32[5, 2, 3], %z: f32[2, 7, 3], %u: f32[*], %b: f32[4, 5, 2, 3], %len: i64[4], %s: seq<f32[2, 3]>, %one: f32[1, 3], %d: f32[N, 6, 3], %t0v: i64[1] = [0]) {
  %o1_0, %o1_1 = loop(%t3, _, %x) : ?, ? {
    graph @body(%i1: i64[], %g1: b1[], %v1_0: ?) {
      %a1 = relu(%v1_0) : ?
      return %g1, %a1, %a1
    }
  }
  %o2_0, %o2_1 = loop(%t3, _, %x) : ?, ? {
    graph @body(%i2: i64[], %g2: b1[], %v2_0: ?) {
      %a2 = concat(%v2_0, %one) : ?
      return %g2, %a2, %a2
    }
  }
  %o3_0, %o3_1 = loop(%t3, _, %x) : ?, ? {
    graph @body(%i3: i64[], %g3: b1[], %v3_0: ?) {
      %h3 = less(%i3, %t3) : ?
      %a3 = concat(%v3_0, %one) : ?
      return %h3, %a3, %a3
    }
  }
  %o4_0, %o4_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i4: i64[], %g4: b1[], %v4_0: ?) {
      %a4 = relu(%v4_0) : ?
      return %g4, %a4, %a4
    }
  }
  %o5_0, %o5_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i5: i64[], %g5: b1[], %v5_0: ?) {
      %a5 = concat(%v5_0, %one) : ?
      return %g5, %a5, %a5
    }
  }
  %o6_0, %o6_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i6: i64[], %g6: b1[], %v6_0: ?) {
      %h6 = less(%i6, %t3) : ?
      %a6 = concat(%v6_0, %one) : ?
      return %h6, %a6, %a6
    }
  }
  %o7_0, %o7_1 = loop(%t3, %no, %x) : ?, ? {
    graph @body(%i7: i64[], %g7: b1[], %v7_0: ?) {
      %a7 = relu(%v7_0) : ?
      return %g7, %a7, %a7
    }
  }
  %o8_0, %o8_1 = loop(%t3, %no, %x) : ?, ? {
    graph @body(%i8: i64[], %g8: b1[], %v8_0: ?) {
      %a8 = concat(%v8_0, %one) : ?
      return %g8, %a8, %a8
    }
  }
  %o9_0, %o9_1 = loop(%t3, %no, %x) : ?, ? {
    graph @body(%i9: i64[], %g9: b1[], %v9_0: ?) {
      %h9 = less(%i9, %t3) : ?
      %a9 = concat(%v9_0, %one) : ?
      return %h9, %a9, %a9
    }
  }
  %o10_0, %o10_1 = loop(%t0, _, %x) : ?, ? {
    graph @body(%i10: i64[], %g10: b1[], %v10_0: ?) {
      %a10 = relu(%v10_0) : ?
      return %g10, %a10, %a10
    }
  }
  %o11_0, %o11_1 = loop(%t0, _, %x) : ?, ? {
    graph @body(%i11: i64[], %g11: b1[], %v11_0: ?) {
      %a11 = concat(%v11_0, %one) : ?
      return %g11, %a11, %a11
    }
  }
  %o12_0, %o12_1 = loop(%t0, _, %x) : ?, ? {
    graph @body(%i12: i64[], %g12: b1[], %v12_0: ?) {
      %h12 = less(%i12, %t3) : ?
      %a12 = concat(%v12_0, %one) : ?
      return %h12, %a12, %a12
    }
  }
  %o13_0, %o13_1 = loop(%t, _, %x) : ?, ? {
    graph @body(%i13: i64[], %g13: b1[], %v13_0: ?) {
      %h13 = less(%i13, %t3) : ?
      %a13 = concat(%v13_0, %one) : ?
      return %h13, %a13, %a13
    }
  }
  %o14_0, %o14_1 = loop(%t, %yes, %x) : ?, ? {
    graph @body(%i14: i64[], %g14: b1[], %v14_0: ?) {
      %a14 = relu(%v14_0) : ?
      return %g14, %a14, %a14
    }
  }
  %o15_0, %o15_1 = loop(%t, %yes, %x) : ?, ? {
    graph @body(%i15: i64[], %g15: b1[], %v15_0: ?) {
      %h15 = less(%i15, %t3) : ?
      %a15 = concat(%v15_0, %one) : ?
      return %h15, %a15, %a15
    }
  }
  %o16_0, %o16_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i16: i64[], %g16: b1[], %v16_0: ?) {
      %a16 = relu(%v16_0) : ?
      return %g16, %a16, %a16
    }
  }
  %o17_0, %o17_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i17: i64[], %g17: b1[], %v17_0: ?) {
      %a17 = concat(%v17_0, %one) : ?
      return %g17, %a17, %a17
    }
  }
  %o18_0, %o18_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i18: i64[], %g18: b1[], %v18_0: ?) {
      %h18 = less(%i18, %t3) : ?
      %a18 = concat(%v18_0, %one) : ?
      return %h18, %a18, %a18
    }
  }
  %o19_0, %o19_1 = loop(%many, _, %x) : ?, ? {
    graph @body(%i19: i64[], %g19: b1[], %v19_0: ?) {
      %a19 = relu(%v19_0) : ?
      return %g19, %a19, %a19
    }
  }
  %o20_0, %o20_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i20: i64[], %g20: b1[], %v20_0: ?) {
      %a20 = relu(%v20_0) : ?
      return %g20, %a20, %a20
    }
  }
  %o21_0, %o21_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i21: i64[], %g21: b1[], %v21_0: ?) {
      %a21 = concat(%v21_0, %one) : ?
      return %g21, %a21, %a21
    }
  }
  %o22_0, %o22_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i22: i64[], %g22: b1[], %v22_0: ?) {
      %h22 = less(%i22, %t3) : ?
      %a22 = concat(%v22_0, %one) : ?
      return %h22, %a22, %a22
    }
  }
  %o23_0, %o23_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i23: i64[], %g23: b1[], %v23_0: ?) {
      %a23 = relu(%v23_0) : ?
      return %g23, %a23, %a23
    }
  }
  %o24_0, %o24_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i24: i64[], %g24: b1[], %v24_0: ?) {
      %a24 = concat(%v24_0, %one) : ?
      return %g24, %a24, %a24
    }
  }
  %o25_0, %o25_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i25: i64[], %g25: b1[], %v25_0: ?) {
      %h25 = less(%i25, %t3) : ?
      %a25 = concat(%v25_0, %one) : ?
      return %h25, %a25, %a25
    }
  }
  %o26_0, %o26_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i26: i64[], %g26: b1[], %v26_0: ?) {
      %a26 = relu(%v26_0) : ?
      return %g26, %a26, %a26
    }
  }
  %o27_0, %o27_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i27: i64[], %g27: b1[], %v27_0: ?) {
      %a27 = concat(%v27_0, %one) : ?
      return %g27, %a27, %a27
    }
  }
  %o28_0, %o28_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i28: i64[], %g28: b1[], %v28_0: ?) {
      %h28 = less(%i28, %t3) : ?
      %a28 = concat(%v28_0, %one) : ?
      return %h28, %a28, %a28
    }
  }
  %o29_0, %o29_1 = loop(_, %yes, %x) : ?, ? {
    graph @body(%i29: i64[], %g29: b1[], %v29_0: ?) {
      %h29 = less(%i29, %t3) : ?
      %a29 = concat(%v29_0, %one) : ?
      return %h29, %a29, %a29
    }
  }
  %o30_0, %o30_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i30: i64[], %g30: b1[], %v30_0: ?) {
      %a30 = relu(%v30_0) : ?
      return %g30, %a30, %a30
    }
  }
  %o31_0, %o31_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i31: i64[], %g31: b1[], %v31_0: ?) {
      %a31 = concat(%v31_0, %one) : ?
      return %g31, %a31, %a31
    }
  }
  %o32_0, %o32_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i32: i64[], %g32: b1[], %v32_0: ?) {
      %h32 = less(%i32, %t3) : ?
      %a32 = concat(%v32_0, %one) : ?
      return %h32, %a32, %a32
    }
  }
  %o33_0, %o33_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i33: i64[], %g33: b1[], %v33_0: ?) {
      %h33 = identity(%g33) : ?
      %a33 = relu(%v33_0) : ?
      return %h33, %a33, %a33
    }
  }
  %o34_0, %o34_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i34: i64[], %g34: b1[], %v34_0: ?) {
      %h34 = identity(%c) : ?
      %a34 = relu(%v34_0) : ?
      return %h34, %a34, %a34
    }
  }
  %o35_0 = loop(%t3, %yes, %x) : ? {
    graph @body(%i35: i64[], %g35: b1[], %v35_0: ?) {
      %a35 = unsqueeze(%v35_0, %t0v) : ?
      return %g35, %a35
    }
  }
  %o36_0 = loop(%t3, %yes, %x) : ? {
    graph @body(%i36: i64[], %g36: b1[], %v36_0: ?) {
      %a36 = cast(%v36_0) {to="f16"} : ?
      return %g36, %a36
    }
  }
  %o37_0, %o37_1, %o37_2 = loop(%t3, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i37: i64[], %g37: b1[], %v37_0: ?, %v37_1: ?) {
      %a37 = add(%v37_0, %v37_1) : ?
      return %g37, %v37_1, %a37, %i37
    }
  }
  %o38_0, %o38_1 = loop(%t3, %yes, %u) : ?, ? {
    graph @body(%i38: i64[], %g38: b1[], %v38_0: ?) {
      %a38 = relu(%v38_0) : ?
      return %g38, %a38, %a38
    }
  }
  %o39_0, %o39_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i39: i64[], %g39: b1[], %v39_0: ?) {
      %h39 = identity(%g39) : ?
      %a39 = relu(%v39_0) : ?
      return %h39, %a39, %a39
    }
  }
  %o40_0, %o40_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i40: i64[], %g40: b1[], %v40_0: ?) {
      %h40 = identity(%c) : ?
      %a40 = relu(%v40_0) : ?
      return %h40, %a40, %a40
    }
  }
  %o41_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i41: i64[], %g41: b1[], %v41_0: ?) {
      %a41 = unsqueeze(%v41_0, %t0v) : ?
      return %g41, %a41
    }
  }
  %o42_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i42: i64[], %g42: b1[], %v42_0: ?) {
      %a42 = cast(%v42_0) {to="f16"} : ?
      return %g42, %a42
    }
  }
  %o43_0, %o43_1, %o43_2 = loop(%n, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i43: i64[], %g43: b1[], %v43_0: ?, %v43_1: ?) {
      %a43 = add(%v43_0, %v43_1) : ?
      return %g43, %v43_1, %a43, %i43
    }
  }
  %o44_0, %o44_1 = loop(%n, %yes, %u) : ?, ? {
    graph @body(%i44: i64[], %g44: b1[], %v44_0: ?) {
      %a44 = relu(%v44_0) : ?
      return %g44, %a44, %a44
    }
  }
  %o45_0, %o45_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i45: i64[], %g45: b1[], %v45_0: ?) {
      %h45 = identity(%g45) : ?
      %a45 = relu(%v45_0) : ?
      return %h45, %a45, %a45
    }
  }
  %o46_0, %o46_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i46: i64[], %g46: b1[], %v46_0: ?) {
      %h46 = identity(%c) : ?
      %a46 = relu(%v46_0) : ?
      return %h46, %a46, %a46
    }
  }
  %o47_0 = loop(%t, %c, %x) : ? {
    graph @body(%i47: i64[], %g47: b1[], %v47_0: ?) {
      %a47 = unsqueeze(%v47_0, %t0v) : ?
      return %g47, %a47
    }
  }
  %o48_0 = loop(%t, %c, %x) : ? {
    graph @body(%i48: i64[], %g48: b1[], %v48_0: ?) {
      %a48 = cast(%v48_0) {to="f16"} : ?
      return %g48, %a48
    }
  }
  %o49_0, %o49_1, %o49_2 = loop(%t, %c, %x, %one) : ?, ?, ? {
    graph @body(%i49: i64[], %g49: b1[], %v49_0: ?, %v49_1: ?) {
      %a49 = add(%v49_0, %v49_1) : ?
      return %g49, %v49_1, %a49, %i49
    }
  }
  %o50_0, %o50_1 = loop(%t, %c, %u) : ?, ? {
    graph @body(%i50: i64[], %g50: b1[], %v50_0: ?) {
      %a50 = relu(%v50_0) : ?
      return %g50, %a50, %a50
    }
  }
  %o51_0, %o51_1 = loop(%many, %yes, %x) : ?, ? {
    graph @body(%i51: i64[], %g51: b1[], %v51_0: ?) {
      %h51 = identity(%g51) : ?
      %a51 = relu(%v51_0) : ?
      return %h51, %a51, %a51
    }
  }
  %o52_0, %o52_1 = loop(%many, %yes, %x) : ?, ? {
    graph @body(%i52: i64[], %g52: b1[], %v52_0: ?) {
      %h52 = identity(%c) : ?
      %a52 = relu(%v52_0) : ?
      return %h52, %a52, %a52
    }
  }
  %o53_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i53: i64[], %g53: b1[], %v53_0: ?) {
      %a53 = unsqueeze(%v53_0, %t0v) : ?
      return %g53, %a53
    }
  }
  %o54_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i54: i64[], %g54: b1[], %v54_0: ?) {
      %a54 = cast(%v54_0) {to="f16"} : ?
      return %g54, %a54
    }
  }
  %o55_0, %o55_1, %o55_2 = loop(%many, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i55: i64[], %g55: b1[], %v55_0: ?, %v55_1: ?) {
      %a55 = add(%v55_0, %v55_1) : ?
      return %g55, %v55_1, %a55, %i55
    }
  }
  %o56_0, %o56_1 = loop(%many, %yes, %u) : ?, ? {
    graph @body(%i56: i64[], %g56: b1[], %v56_0: ?) {
      %a56 = relu(%v56_0) : ?
      return %g56, %a56, %a56
    }
  }
  %o57_0, %o57_1 = scan(%x, %y) {num_scan_inputs=1} : ?, ? {
    graph @body(%p57_0: ?, %p57_1: ?) {
      %a57 = add(%p57_0, %p57_1) : ?
      return %a57, %a57
    }
  }
  %o58_0, %o58_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[1]} : ?, ? {
    graph @body(%p58_0: ?, %p58_1: ?) {
      %a58 = add(%p58_0, %p58_1) : ?
      return %a58, %a58
    }
  }
  %o59_0, %o59_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[-2], scan_output_axes=[1]} : ?, ? {
    graph @body(%p59_0: ?, %p59_1: ?) {
      %a59 = add(%p59_0, %p59_1) : ?
      return %a59, %a59
    }
  }
  %o60_0, %o60_1 = scan(%one, %d) {num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1]} : ?, ? {
    graph @body(%p60_0: ?, %p60_1: ?) {
      %a60 = add(%p60_0, %p60_1) : ?
      return %a60, %a60
    }
  }
  %o61_0, %o61_1, %o61_2, %o61_3 = scan(%x, %x, %y, %y) {num_scan_inputs=2, scan_input_axes=[0, 0], scan_output_axes=[0, 2]} : ?, ?, ?, ? {
    graph @body(%p61_0: ?, %p61_1: ?, %p61_2: ?, %p61_3: ?) {
      %a61 = add(%p61_0, %p61_2) : ?
      %b61 = mul(%p61_1, %p61_3) : ?
      return %a61, %b61, %a61, %b61
    }
  }
  %o62_0, %o62_1, %o62_2, %o62_3 = scan(%x, %one, %u, %z) {num_scan_inputs=2, scan_input_axes=[0, 1], scan_output_axes=[1]} : ?, ?, ?, ? {
    graph @body(%p62_0: ?, %p62_1: ?, %p62_2: ?, %p62_3: ?) {
      %a62 = add(%p62_0, %p62_2) : ?
      %b62 = mul(%p62_1, %p62_3) : ?
      return %a62, %b62, %a62, %b62
    }
  }
  %o63_0, %o63_1 = scan(%len, %x, %b) {num_scan_inputs=1, has_batch=true} : ?, ? {
    graph @body(%p63_0: ?, %p63_1: ?) {
      %a63 = add(%p63_0, %p63_1) : ?
      return %a63, %a63
    }
  }
  %o64_0 = scan(%len, %b) {num_scan_inputs=1, scan_input_axes=[1], has_batch=true} : ? {
    graph @body(%p64_0: ?) {
      %a64 = relu(%p64_0) : ?
      return %a64
    }
  }
  %o65_0 = scan(%d) {num_scan_inputs=1} : ? {
    graph @body(%p65_0: ?) {
      %a65 = relu(%p65_0) : ?
      return %a65
    }
  }
  %o66_0 = scan(%u) {num_scan_inputs=1} : ? {
    graph @body(%p66_0: ?) {
      %a66 = relu(%p66_0) : ?
      return %a66
    }
  }
  %o67_0 = if(%yes) : ? {
    graph @then_branch() {
      %a67 = relu(%x) : ?
      return %a67
    }
    graph @else_branch() {
      %b67 = abs(%x) : ?
      return %b67
    }
  }
  %o68_0 = if(%yes) : ? {
    graph @then_branch() {
      %a68 = relu(%x) : ?
      return %a68
    }
    graph @else_branch() {
      %b68 = abs(%one) : ?
      return %b68
    }
  }
  %o69_0 = if(%yes) : ? {
    graph @then_branch() {
      %a69 = relu(%x) : ?
      return %a69
    }
    graph @else_branch() {
      %b69 = cast(%x) {to="f16"} : ?
      return %b69
    }
  }
  %o70_0 = if(%yes) : ? {
    graph @then_branch() {
      %a70 = identity(%t3) : ?
      return %a70
    }
    graph @else_branch() {
      %b70 = identity(%t3) : ?
      return %b70
    }
  }
  %o71_0 = if(%yes) : ? {
    graph @then_branch() {
      %a71 = identity(%t3) : ?
      return %a71
    }
    graph @else_branch() {
      %b71 = identity(%t0) : ?
      return %b71
    }
  }
  %o72_0 = if(%yes) : ? {
    graph @then_branch() {
      %a72 = identity(%s) : ?
      return %a72
    }
    graph @else_branch() {
      %b72 = identity(%s) : ?
      return %b72
    }
  }
  %o73_0 = if(%no) : ? {
    graph @then_branch() {
      %a73 = relu(%x) : ?
      return %a73
    }
    graph @else_branch() {
      %b73 = abs(%x) : ?
      return %b73
    }
  }
  %o74_0 = if(%no) : ? {
    graph @then_branch() {
      %a74 = relu(%x) : ?
      return %a74
    }
    graph @else_branch() {
      %b74 = abs(%one) : ?
      return %b74
    }
  }
  %o75_0 = if(%no) : ? {
    graph @then_branch() {
      %a75 = relu(%x) : ?
      return %a75
    }
    graph @else_branch() {
      %b75 = cast(%x) {to="f16"} : ?
      return %b75
    }
  }
  %o76_0 = if(%no) : ? {
    graph @then_branch() {
      %a76 = identity(%t3) : ?
      return %a76
    }
    graph @else_branch() {
      %b76 = identity(%t3) : ?
      return %b76
    }
  }
  %o77_0 = if(%no) : ? {
    graph @then_branch() {
      %a77 = identity(%t3) : ?
      return %a77
    }
    graph @else_branch() {
      %b77 = identity(%t0) : ?
      return %b77
    }
  }
  %o78_0 = if(%no) : ? {
    graph @then_branch() {
      %a78 = identity(%s) : ?
      return %a78
    }
    graph @else_branch() {
      %b78 = identity(%s) : ?
      return %b78
    }
  }
  %o79_0 = if(%c) : ? {
    graph @then_branch() {
      %a79 = relu(%x) : ?
      return %a79
    }
    graph @else_branch() {
      %b79 = abs(%x) : ?
      return %b79
    }
  }
  %o80_0 = if(%c) : ? {
    graph @then_branch() {
      %a80 = relu(%x) : ?
      return %a80
    }
    graph @else_branch() {
      %b80 = abs(%one) : ?
      return %b80
    }
  }
  %o81_0 = if(%c) : ? {
    graph @then_branch() {
      %a81 = relu(%x) : ?
      return %a81
    }
    graph @else_branch() {
      %b81 = cast(%x) {to="f16"} : ?
      return %b81
    }
  }
  %o82_0 = if(%c) : ? {
    graph @then_branch() {
      %a82 = identity(%t3) : ?
      return %a82
    }
    graph @else_branch() {
      %b82 = identity(%t3) : ?
      return %b82
    }
  }
  %o83_0 = if(%c) : ? {
    graph @then_branch() {
      %a83 = identity(%t3) : ?
      return %a83
    }
    graph @else_branch() {
      %b83 = identity(%t0) : ?
      return %b83
    }
  }
  %o84_0 = if(%c) : ? {
    graph @then_branch() {
      %a84 = identity(%s) : ?
      return %a84
    }
    graph @else_branch() {
      %b84 = identity(%s) : ?
      return %b84
    }
  }
  %q1 = sequence_construct(%x, %one) : ?
  %q2 = sequence_construct(%x, %x) : ?
  %q3 = sequence_construct(%one, %x) : ?
  %q4 = sequence_construct(%x, %one, %x) : ?
  %o86_0 = sequence_map(%q1) : ? {
    graph @body(%p86_0: ?) {
      %a86 = relu(%p86_0) : ?
      return %a86
    }
  }
  %o87_0 = sequence_map(%q2) : ? {
    graph @body(%p87_0: ?) {
      %a87 = relu(%p87_0) : ?
      return %a87
    }
  }
  %o88_0 = sequence_map(%s) : ? {
    graph @body(%p88_0: ?) {
      %a88 = relu(%p88_0) : ?
      return %a88
    }
  }
  %o89_0 = sequence_map(%q1, %one) : ? {
    graph @body(%p89_0: ?, %p89_1: ?) {
      %a89 = add(%p89_0, %p89_1) : ?
      return %a89
    }
  }
  %o90_0 = sequence_map(%q1, %q3) : ? {
    graph @body(%p90_0: ?, %p90_1: ?) {
      %a90 = add(%p90_0, %p90_1) : ?
      return %a90
    }
  }
  %o91_0 = sequence_map(%q1, %q4) : ? {
    graph @body(%p91_0: ?, %p91_1: ?) {
      %a91 = add(%p91_0, %p91_1) : ?
      return %a91
    }
  }
  %o92_0 = sequence_map(%q2, %s) : ? {
    graph @body(%p92_0: ?, %p92_1: ?) {
      %a92 = add(%p92_0, %p92_1) : ?
      return %a92
    }
  }
  return %o1_0
}
# ---- expect
perfir 1
module @control
dim N in 1.. = 4
extent u2 in 3..5
extent u4 in 3..5
extent u6 in 3..5
extent u8 in 3..5
extent u13 in 0..
extent u20 in 0..
extent u27 in 0..
extent u34 in 0..
extent u39 in 3..6
extent u40 in 0..
extent u43 in 3..6
extent u44 in 0..
extent u52 in 0..
extent u53 in 0..
extent u49 in 0..
extent u61 in 0..
extent u62 in 0..
extent u58 in 0..
extent u70 in 0..
extent u67 in 0..
extent u78 in 0..
extent u79 in 0..N
extent u75 in 0..
extent u87 in 0..
extent u84 in 0..
extent u95 in 0..
extent u96 in 0..N
extent u92 in 0..
extent u97 in 0..N
extent u105 in 0..
extent u106 in 0..N
extent u102 in 0..
extent u114 in 0..
extent u115 in 0..N
extent u111 in 0..
extent u118 in 3..6
extent u119 in 0..
extent u127 in 0..
extent u128 in 0..
extent u124 in 0..
extent u136 in 0..
extent u137 in 0..
extent u133 in 0..
extent u138 in 0..3
extent u139 in 0..N
extent u154 in 0..
extent u155 in 0..
extent u148 in 0..
extent u149 in 0..
extent `broadcast(u148, u149)` in 0..max(u148, u149)
extent u156 in 0..
extent u157 in 0..
extent u174 in 0..
extent u175 in 0..
extent u176 in 0..
extent u168 in 0..
extent u169 in 0..
extent `broadcast(u168, u169)` in 0..max(u168, u169)
extent u178 in 0..100000
extent u193 in 0..
extent u194 in 0..
extent u187 in 0..
extent u188 in 0..
extent `broadcast(u187, u188)` in 0..max(u187, u188)
extent u195 in 1..N
extent u196 in 1..2
extent u198 in 1..2
extent u199 in 1..2
extent u200 in 1..2
extent u202 in 1..2
extent u203 in 1..2
extent u204 in 1..2

graph @main(%t3: i64[] = 3, %t0: i64[] = 0, %many: i64[] = 100000, %t: i64[], %n: i64[] = N, %yes: b1[] = true, %no: b1[] = false, %c: b1[], %x: f32[2, 3], %y: f32[5, 2, 3], %z: f32[2, 7, 3], %u: f32[*], %b: f32[4, 5, 2, 3], %len: i64[4], %s: seq<f32[2, 3]>, %one: f32[1, 3], %d: f32[N, 6, 3], %t0v: i64[1] = [0]) {
  %o1_0, %o1_1 = loop(%t3, _, %x) : f32[2, 3], f32[3, 2, 3] {
    graph @body(%i1: i64[] = 2, %g1: b1[] = true, %v1_0: f32[2, 3]) {
      %a1 = relu(%v1_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=3}
      return %g1, %a1, %a1
    }
  }
    ! cost {}
  %o2_0, %o2_1 = loop(%t3, _, %x) : f32[5, 3], f32[3, u2, 3] {
    graph @body(%i2: i64[] = 2, %g2: b1[] = true, %v2_0: f32[2, 3]) {
      %a2 = concat(%v2_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=3}
      return %g2, %a2, %a2
    }
  }
    ! cost {}
  %o3_0, %o3_1 = loop(%t3, _, %x) : f32[5, 3], f32[3, u4, 3] {
    graph @body(%i3: i64[] = 2, %g3: b1[] = true, %v3_0: f32[2, 3]) {
      %h3 = less(%i3, %t3) : b1[] = true
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=3}
      %a3 = concat(%v3_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=3}
      return %h3, %a3, %a3
    }
  }
    ! cost {}
  %o4_0, %o4_1 = loop(%t3, %yes, %x) : f32[2, 3], f32[3, 2, 3] {
    graph @body(%i4: i64[] = 2, %g4: b1[] = true, %v4_0: f32[2, 3]) {
      %a4 = relu(%v4_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=3}
      return %g4, %a4, %a4
    }
  }
    ! cost {}
  %o5_0, %o5_1 = loop(%t3, %yes, %x) : f32[5, 3], f32[3, u6, 3] {
    graph @body(%i5: i64[] = 2, %g5: b1[] = true, %v5_0: f32[2, 3]) {
      %a5 = concat(%v5_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=3}
      return %g5, %a5, %a5
    }
  }
    ! cost {}
  %o6_0, %o6_1 = loop(%t3, %yes, %x) : f32[5, 3], f32[3, u8, 3] {
    graph @body(%i6: i64[] = 2, %g6: b1[] = true, %v6_0: f32[2, 3]) {
      %h6 = less(%i6, %t3) : b1[] = true
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=3}
      %a6 = concat(%v6_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=3}
      return %h6, %a6, %a6
    }
  }
    ! cost {}
  %o7_0, %o7_1 = loop(%t3, %no, %x) : f32[2, 3], f32[0, 2, 3] {
    graph @body(%i7: i64[], %g7: b1[], %v7_0: f32[2, 3]) {
      %a7 = relu(%v7_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g7, %a7, %a7
    }
  }
    ! cost {}
  %o8_0, %o8_1 = loop(%t3, %no, %x) : f32[2, 3], f32[0, u13 + 1, 3] {
    graph @body(%i8: i64[], %g8: b1[], %v8_0: f32[u13, 3]) {
      %a8 = concat(%v8_0, %one) : f32[u13 + 1, 3]
        ! cost {read_bytes=12*u13 + 12, write_bytes=12*u13 + 12}
      return %g8, %a8, %a8
    }
  }
    ! cost {}
  %o9_0, %o9_1 = loop(%t3, %no, %x) : f32[2, 3], f32[0, u20 + 1, 3] {
    graph @body(%i9: i64[], %g9: b1[], %v9_0: f32[u20, 3]) {
      %h9 = less(%i9, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a9 = concat(%v9_0, %one) : f32[u20 + 1, 3]
        ! cost {read_bytes=12*u20 + 12, write_bytes=12*u20 + 12}
      return %h9, %a9, %a9
    }
  }
    ! cost {}
  %o10_0, %o10_1 = loop(%t0, _, %x) : f32[2, 3], f32[0, 2, 3] {
    graph @body(%i10: i64[], %g10: b1[], %v10_0: f32[2, 3]) {
      %a10 = relu(%v10_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g10, %a10, %a10
    }
  }
    ! cost {}
  %o11_0, %o11_1 = loop(%t0, _, %x) : f32[2, 3], f32[0, u27 + 1, 3] {
    graph @body(%i11: i64[], %g11: b1[], %v11_0: f32[u27, 3]) {
      %a11 = concat(%v11_0, %one) : f32[u27 + 1, 3]
        ! cost {read_bytes=12*u27 + 12, write_bytes=12*u27 + 12}
      return %g11, %a11, %a11
    }
  }
    ! cost {}
  %o12_0, %o12_1 = loop(%t0, _, %x) : f32[2, 3], f32[0, u34 + 1, 3] {
    graph @body(%i12: i64[], %g12: b1[], %v12_0: f32[u34, 3]) {
      %h12 = less(%i12, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a12 = concat(%v12_0, %one) : f32[u34 + 1, 3]
        ! cost {read_bytes=12*u34 + 12, write_bytes=12*u34 + 12}
      return %h12, %a12, %a12
    }
  }
    ! cost {}
  %o13_0, %o13_1 = loop(%t, _, %x) : f32[6, 3], f32[4, u39, 3] {
    graph @body(%i13: i64[] = 3, %g13: b1[] = true, %v13_0: f32[2, 3]) {
      %h13 = less(%i13, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a13 = concat(%v13_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=4}
      return %h13, %a13, %a13
    }
  }
    ! cost {}
  %o14_0, %o14_1 = loop(%t, %yes, %x) : f32[2, 3], f32[u40, 2, 3] {
    graph @body(%i14: i64[], %g14: b1[], %v14_0: f32[2, 3]) {
      %a14 = relu(%v14_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g14, %a14, %a14
    }
  }
    ! cost {}
  %o15_0, %o15_1 = loop(%t, %yes, %x) : f32[6, 3], f32[4, u43, 3] {
    graph @body(%i15: i64[] = 3, %g15: b1[] = true, %v15_0: f32[2, 3]) {
      %h15 = less(%i15, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a15 = concat(%v15_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=4}
      return %h15, %a15, %a15
    }
  }
    ! cost {}
  %o16_0, %o16_1 = loop(%t, %c, %x) : f32[2, 3], f32[u44, 2, 3] {
    graph @body(%i16: i64[], %g16: b1[], %v16_0: f32[2, 3]) {
      %a16 = relu(%v16_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g16, %a16, %a16
    }
  }
    ! cost {}
  %o17_0, %o17_1 = loop(%t, %c, %x) : f32[u52, 3], f32[u53, u49 + 1, 3] {
    graph @body(%i17: i64[], %g17: b1[], %v17_0: f32[u49, 3]) {
      %a17 = concat(%v17_0, %one) : f32[u49 + 1, 3]
        ! cost {read_bytes=12*u49 + 12, write_bytes=12*u49 + 12}
      return %g17, %a17, %a17
    }
  }
    ! cost {}
  %o18_0, %o18_1 = loop(%t, %c, %x) : f32[u61, 3], f32[u62, u58 + 1, 3] {
    graph @body(%i18: i64[], %g18: b1[], %v18_0: f32[u58, 3]) {
      %h18 = less(%i18, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a18 = concat(%v18_0, %one) : f32[u58 + 1, 3]
        ! cost {read_bytes=12*u58 + 12, write_bytes=12*u58 + 12}
      return %h18, %a18, %a18
    }
  }
    ! cost {}
  %o19_0, %o19_1 = loop(%many, _, %x) : f32[2, 3], f32[100000, 2, 3] {
    graph @body(%i19: i64[], %g19: b1[], %v19_0: f32[2, 3]) {
      %a19 = relu(%v19_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=100000}
      return %g19, %a19, %a19
    }
  }
    ! cost {}
  %o20_0, %o20_1 = loop(%n, _, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i20: i64[], %g20: b1[], %v20_0: f32[2, 3]) {
      %a20 = relu(%v20_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %g20, %a20, %a20
    }
  }
    ! cost {}
  %o21_0, %o21_1 = loop(%n, _, %x) : f32[u70, 3], f32[N, u67 + 1, 3] {
    graph @body(%i21: i64[], %g21: b1[], %v21_0: f32[u67, 3]) {
      %a21 = concat(%v21_0, %one) : f32[u67 + 1, 3]
        ! cost {read_bytes=12*u67 + 12, write_bytes=12*u67 + 12, repeat=N}
      return %g21, %a21, %a21
    }
  }
    ! cost {}
  %o22_0, %o22_1 = loop(%n, _, %x) : f32[u78, 3], f32[u79, u75 + 1, 3] {
    graph @body(%i22: i64[], %g22: b1[], %v22_0: f32[u75, 3]) {
      %h22 = less(%i22, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a22 = concat(%v22_0, %one) : f32[u75 + 1, 3]
        ! cost {read_bytes=12*u75 + 12, write_bytes=12*u75 + 12}
      return %h22, %a22, %a22
    }
  }
    ! cost {}
  %o23_0, %o23_1 = loop(%n, %yes, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i23: i64[], %g23: b1[], %v23_0: f32[2, 3]) {
      %a23 = relu(%v23_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %g23, %a23, %a23
    }
  }
    ! cost {}
  %o24_0, %o24_1 = loop(%n, %yes, %x) : f32[u87, 3], f32[N, u84 + 1, 3] {
    graph @body(%i24: i64[], %g24: b1[], %v24_0: f32[u84, 3]) {
      %a24 = concat(%v24_0, %one) : f32[u84 + 1, 3]
        ! cost {read_bytes=12*u84 + 12, write_bytes=12*u84 + 12, repeat=N}
      return %g24, %a24, %a24
    }
  }
    ! cost {}
  %o25_0, %o25_1 = loop(%n, %yes, %x) : f32[u95, 3], f32[u96, u92 + 1, 3] {
    graph @body(%i25: i64[], %g25: b1[], %v25_0: f32[u92, 3]) {
      %h25 = less(%i25, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a25 = concat(%v25_0, %one) : f32[u92 + 1, 3]
        ! cost {read_bytes=12*u92 + 12, write_bytes=12*u92 + 12}
      return %h25, %a25, %a25
    }
  }
    ! cost {}
  %o26_0, %o26_1 = loop(%n, %c, %x) : f32[2, 3], f32[u97, 2, 3] {
    graph @body(%i26: i64[], %g26: b1[], %v26_0: f32[2, 3]) {
      %a26 = relu(%v26_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g26, %a26, %a26
    }
  }
    ! cost {}
  %o27_0, %o27_1 = loop(%n, %c, %x) : f32[u105, 3], f32[u106, u102 + 1, 3] {
    graph @body(%i27: i64[], %g27: b1[], %v27_0: f32[u102, 3]) {
      %a27 = concat(%v27_0, %one) : f32[u102 + 1, 3]
        ! cost {read_bytes=12*u102 + 12, write_bytes=12*u102 + 12}
      return %g27, %a27, %a27
    }
  }
    ! cost {}
  %o28_0, %o28_1 = loop(%n, %c, %x) : f32[u114, 3], f32[u115, u111 + 1, 3] {
    graph @body(%i28: i64[], %g28: b1[], %v28_0: f32[u111, 3]) {
      %h28 = less(%i28, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a28 = concat(%v28_0, %one) : f32[u111 + 1, 3]
        ! cost {read_bytes=12*u111 + 12, write_bytes=12*u111 + 12}
      return %h28, %a28, %a28
    }
  }
    ! cost {}
  %o29_0, %o29_1 = loop(_, %yes, %x) : f32[6, 3], f32[4, u118, 3] {
    graph @body(%i29: i64[] = 3, %g29: b1[] = true, %v29_0: f32[2, 3]) {
      %h29 = less(%i29, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a29 = concat(%v29_0, %one) : f32[3, 3]
        ! cost {read_bytes=36, write_bytes=36, repeat=4}
      return %h29, %a29, %a29
    }
  }
    ! cost {}
  %o30_0, %o30_1 = loop(_, %c, %x) : f32[2, 3], f32[u119, 2, 3] {
    graph @body(%i30: i64[], %g30: b1[], %v30_0: f32[2, 3]) {
      %a30 = relu(%v30_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g30, %a30, %a30
    }
  }
    ! cost {}
  %o31_0, %o31_1 = loop(_, %c, %x) : f32[u127, 3], f32[u128, u124 + 1, 3] {
    graph @body(%i31: i64[], %g31: b1[], %v31_0: f32[u124, 3]) {
      %a31 = concat(%v31_0, %one) : f32[u124 + 1, 3]
        ! cost {read_bytes=12*u124 + 12, write_bytes=12*u124 + 12}
      return %g31, %a31, %a31
    }
  }
    ! cost {}
  %o32_0, %o32_1 = loop(_, %c, %x) : f32[u136, 3], f32[u137, u133 + 1, 3] {
    graph @body(%i32: i64[], %g32: b1[], %v32_0: f32[u133, 3]) {
      %h32 = less(%i32, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a32 = concat(%v32_0, %one) : f32[u133 + 1, 3]
        ! cost {read_bytes=12*u133 + 12, write_bytes=12*u133 + 12}
      return %h32, %a32, %a32
    }
  }
    ! cost {}
  %o33_0, %o33_1 = loop(%t3, %yes, %x) : f32[2, 3], f32[3, 2, 3] {
    graph @body(%i33: i64[] = 2, %g33: b1[] = true, %v33_0: f32[2, 3]) {
      %h33 = identity(%g33) : b1[] = true
        ! cost {repeat=3}
      %a33 = relu(%v33_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=3}
      return %h33, %a33, %a33
    }
  }
    ! cost {}
  %o34_0, %o34_1 = loop(%t3, %yes, %x) : f32[2, 3], f32[u138, 2, 3] {
    graph @body(%i34: i64[], %g34: b1[], %v34_0: f32[2, 3]) {
      %h34 = identity(%c) : b1[]
        ! cost {repeat=u138}
      %a34 = relu(%v34_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=u138}
      return %h34, %a34, %a34
    }
  }
    ! cost {}
  %o35_0 = loop(%t3, %yes, %x) : f32[1, 1, 1, 2, 3] {
    graph @body(%i35: i64[] = 2, %g35: b1[] = true, %v35_0: f32[1, 1, 2, 3]) {
      %a35 = unsqueeze(%v35_0, %t0v) : f32[1, 1, 1, 2, 3]
        ! cost {repeat=3}
      return %g35, %a35
    }
  }
    ! cost {}
  %o36_0 = loop(%t3, %yes, %x) : f16[2, 3] {
    graph @body(%i36: i64[] = 2, %g36: b1[] = true, %v36_0: f16[2, 3]) {
      %a36 = cast(%v36_0) {to="f16"} : f16[2, 3]
        ! cost {alu=6, read_bytes=12, write_bytes=12, repeat=3}
      return %g36, %a36
    }
  }
    ! cost {}
  %o37_0, %o37_1, %o37_2 = loop(%t3, %yes, %x, %one) : f32[2, 3], f32[2, 3], i64[3] {
    graph @body(%i37: i64[] = 2, %g37: b1[] = true, %v37_0: f32[2, 3], %v37_1: f32[1, 3]) {
      %a37 = add(%v37_0, %v37_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=36, write_bytes=24, repeat=3}
      return %g37, %v37_1, %a37, %i37
    }
  }
    ! cost {}
  %o38_0, %o38_1 = loop(%t3, %yes, %u) : f32[*], f32[*] {
    graph @body(%i38: i64[] = 2, %g38: b1[] = true, %v38_0: f32[*]) {
      %a38 = relu(%v38_0) : f32[*]
        ! cost {repeat=3}
      return %g38, %a38, %a38
    }
  }
    ! cost {}
  %o39_0, %o39_1 = loop(%n, %yes, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i39: i64[], %g39: b1[], %v39_0: f32[2, 3]) {
      %h39 = identity(%g39) : b1[]
        ! cost {repeat=N}
      %a39 = relu(%v39_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %h39, %a39, %a39
    }
  }
    ! cost {}
  %o40_0, %o40_1 = loop(%n, %yes, %x) : f32[2, 3], f32[u139, 2, 3] {
    graph @body(%i40: i64[], %g40: b1[], %v40_0: f32[2, 3]) {
      %h40 = identity(%c) : b1[]
        ! cost {}
      %a40 = relu(%v40_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h40, %a40, %a40
    }
  }
    ! cost {}
  %o41_0 = loop(%n, %yes, %x) : f32[*] {
    graph @body(%i41: i64[], %g41: b1[], %v41_0: f32[*]) {
      %a41 = unsqueeze(%v41_0, %t0v) : f32[*]
        ! cost {repeat=N}
      return %g41, %a41
    }
  }
    ! cost {}
  %o42_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i42: i64[], %g42: b1[], %v42_0: ?) {
      %a42 = cast(%v42_0) {to="f16"} : f16[*]
        ! cost {repeat=N}
      return %g42, %a42
    }
  }
    ! cost {}
  %o43_0, %o43_1, %o43_2 = loop(%n, %yes, %x, %one) : f32[u154, 3], f32[u155, 3], i64[N] {
    graph @body(%i43: i64[], %g43: b1[], %v43_0: f32[u148, 3], %v43_1: f32[u149, 3]) {
      %a43 = add(%v43_0, %v43_1) : f32[`broadcast(u148, u149)`, 3]
        ! cost {alu=3*`broadcast(u148, u149)`, read_bytes=12*u148 + 12*u149, write_bytes=12*`broadcast(u148, u149)`, repeat=N}
      return %g43, %v43_1, %a43, %i43
    }
  }
    ! cost {}
  %o44_0, %o44_1 = loop(%n, %yes, %u) : f32[*], f32[*] {
    graph @body(%i44: i64[], %g44: b1[], %v44_0: f32[*]) {
      %a44 = relu(%v44_0) : f32[*]
        ! cost {repeat=N}
      return %g44, %a44, %a44
    }
  }
    ! cost {}
  %o45_0, %o45_1 = loop(%t, %c, %x) : f32[2, 3], f32[u156, 2, 3] {
    graph @body(%i45: i64[], %g45: b1[], %v45_0: f32[2, 3]) {
      %h45 = identity(%g45) : b1[]
        ! cost {}
      %a45 = relu(%v45_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h45, %a45, %a45
    }
  }
    ! cost {}
  %o46_0, %o46_1 = loop(%t, %c, %x) : f32[2, 3], f32[u157, 2, 3] {
    graph @body(%i46: i64[], %g46: b1[], %v46_0: f32[2, 3]) {
      %h46 = identity(%c) : b1[]
        ! cost {}
      %a46 = relu(%v46_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h46, %a46, %a46
    }
  }
    ! cost {}
  %o47_0 = loop(%t, %c, %x) : f32[*] {
    graph @body(%i47: i64[], %g47: b1[], %v47_0: f32[*]) {
      %a47 = unsqueeze(%v47_0, %t0v) : f32[*]
        ! cost {}
      return %g47, %a47
    }
  }
    ! cost {}
  %o48_0 = loop(%t, %c, %x) : ? {
    graph @body(%i48: i64[], %g48: b1[], %v48_0: ?) {
      %a48 = cast(%v48_0) {to="f16"} : f16[*]
        ! cost {}
      return %g48, %a48
    }
  }
    ! cost {}
  %o49_0, %o49_1, %o49_2 = loop(%t, %c, %x, %one) : f32[u174, 3], f32[u175, 3], i64[u176] {
    graph @body(%i49: i64[], %g49: b1[], %v49_0: f32[u168, 3], %v49_1: f32[u169, 3]) {
      %a49 = add(%v49_0, %v49_1) : f32[`broadcast(u168, u169)`, 3]
        ! cost {alu=3*`broadcast(u168, u169)`, read_bytes=12*u168 + 12*u169, write_bytes=12*`broadcast(u168, u169)`}
      return %g49, %v49_1, %a49, %i49
    }
  }
    ! cost {}
  %o50_0, %o50_1 = loop(%t, %c, %u) : f32[*], f32[*] {
    graph @body(%i50: i64[], %g50: b1[], %v50_0: f32[*]) {
      %a50 = relu(%v50_0) : f32[*]
        ! cost {}
      return %g50, %a50, %a50
    }
  }
    ! cost {}
  %o51_0, %o51_1 = loop(%many, %yes, %x) : f32[2, 3], f32[100000, 2, 3] {
    graph @body(%i51: i64[], %g51: b1[], %v51_0: f32[2, 3]) {
      %h51 = identity(%g51) : b1[]
        ! cost {repeat=100000}
      %a51 = relu(%v51_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=100000}
      return %h51, %a51, %a51
    }
  }
    ! cost {}
  %o52_0, %o52_1 = loop(%many, %yes, %x) : f32[2, 3], f32[u178, 2, 3] {
    graph @body(%i52: i64[], %g52: b1[], %v52_0: f32[2, 3]) {
      %h52 = identity(%c) : b1[]
        ! cost {repeat=u178}
      %a52 = relu(%v52_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=u178}
      return %h52, %a52, %a52
    }
  }
    ! cost {}
  %o53_0 = loop(%many, %yes, %x) : f32[*] {
    graph @body(%i53: i64[], %g53: b1[], %v53_0: f32[*]) {
      %a53 = unsqueeze(%v53_0, %t0v) : f32[*]
        ! cost {repeat=100000}
      return %g53, %a53
    }
  }
    ! cost {}
  %o54_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i54: i64[], %g54: b1[], %v54_0: ?) {
      %a54 = cast(%v54_0) {to="f16"} : f16[*]
        ! cost {repeat=100000}
      return %g54, %a54
    }
  }
    ! cost {}
  %o55_0, %o55_1, %o55_2 = loop(%many, %yes, %x, %one) : f32[u193, 3], f32[u194, 3], i64[100000] {
    graph @body(%i55: i64[], %g55: b1[], %v55_0: f32[u187, 3], %v55_1: f32[u188, 3]) {
      %a55 = add(%v55_0, %v55_1) : f32[`broadcast(u187, u188)`, 3]
        ! cost {alu=3*`broadcast(u187, u188)`, read_bytes=12*u187 + 12*u188, write_bytes=12*`broadcast(u187, u188)`, repeat=100000}
      return %g55, %v55_1, %a55, %i55
    }
  }
    ! cost {}
  %o56_0, %o56_1 = loop(%many, %yes, %u) : f32[*], f32[*] {
    graph @body(%i56: i64[], %g56: b1[], %v56_0: f32[*]) {
      %a56 = relu(%v56_0) : f32[*]
        ! cost {repeat=100000}
      return %g56, %a56, %a56
    }
  }
    ! cost {}
  %o57_0, %o57_1 = scan(%x, %y) {num_scan_inputs=1} : f32[2, 3], f32[5, 2, 3] {
    graph @body(%p57_0: f32[2, 3], %p57_1: f32[2, 3]) {
      %a57 = add(%p57_0, %p57_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      return %a57, %a57
    }
  }
    ! cost {}
  %o58_0, %o58_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[1]} : f32[2, 3], f32[7, 2, 3] {
    graph @body(%p58_0: f32[2, 3], %p58_1: f32[2, 3]) {
      %a58 = add(%p58_0, %p58_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=7}
      return %a58, %a58
    }
  }
    ! cost {}
  %o59_0, %o59_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[-2], scan_output_axes=[1]} : f32[2, 3], f32[2, 7, 3] {
    graph @body(%p59_0: f32[2, 3], %p59_1: f32[2, 3]) {
      %a59 = add(%p59_0, %p59_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=7}
      return %a59, %a59
    }
  }
    ! cost {}
  %o60_0, %o60_1 = scan(%one, %d) {num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1]} : f32[u195, 3], f32[N, 3, 6] {
    graph @body(%p60_0: f32[1, 3], %p60_1: f32[N, 3]) {
      %a60 = add(%p60_0, %p60_1) : f32[N, 3]
        ! cost {alu=3*N, read_bytes=12*N + 12, write_bytes=12*N, repeat=6}
      return %a60, %a60
    }
  }
    ! cost {}
  %o61_0, %o61_1, %o61_2, %o61_3 = scan(%x, %x, %y, %y) {num_scan_inputs=2, scan_input_axes=[0, 0], scan_output_axes=[0, 2]} : f32[2, 3], f32[2, 3], f32[5, 2, 3], f32[2, 3, 5] {
    graph @body(%p61_0: f32[2, 3], %p61_1: f32[2, 3], %p61_2: f32[2, 3], %p61_3: f32[2, 3]) {
      %a61 = add(%p61_0, %p61_2) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      %b61 = mul(%p61_1, %p61_3) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      return %a61, %b61, %a61, %b61
    }
  }
    ! cost {}
  %o62_0, %o62_1, %o62_2, %o62_3 = scan(%x, %one, %u, %z) {num_scan_inputs=2, scan_input_axes=[0, 1], scan_output_axes=[1]} : f32[*], f32[u196, 3], f32[*], f32[7, 2, 3] {
    graph @body(%p62_0: f32[2, 3], %p62_1: f32[1, 3], %p62_2: f32[*], %p62_3: f32[2, 3]) {
      %a62 = add(%p62_0, %p62_2) : f32[*]
        ! cost {read_bytes=24, repeat=7}
      %b62 = mul(%p62_1, %p62_3) : f32[2, 3]
        ! cost {alu=6, read_bytes=36, write_bytes=24, repeat=7}
      return %a62, %b62, %a62, %b62
    }
  }
    ! cost {}
  %o63_0, %o63_1 = scan(%len, %x, %b) {num_scan_inputs=1, has_batch=true} : f32[*], f32[4, 5, 2, 3] {
    graph @body(%p63_0: f32[3], %p63_1: f32[2, 3]) {
      %a63 = add(%p63_0, %p63_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=36, write_bytes=24, repeat=20}
      return %a63, %a63
    }
  }
    ! cost {}
  %o64_0 = scan(%len, %b) {num_scan_inputs=1, scan_input_axes=[1], has_batch=true} : f32[4, 2, 5, 3] {
    graph @body(%p64_0: f32[5, 3]) {
      %a64 = relu(%p64_0) : f32[5, 3]
        ! cost {alu=15, read_bytes=60, write_bytes=60, repeat=20}
      return %a64
    }
  }
    ! cost {}
  %o65_0 = scan(%d) {num_scan_inputs=1} : f32[N, 6, 3] {
    graph @body(%p65_0: f32[6, 3]) {
      %a65 = relu(%p65_0) : f32[6, 3]
        ! cost {alu=18, read_bytes=72, write_bytes=72, repeat=N}
      return %a65
    }
  }
    ! cost {}
  %o66_0 = scan(%u) {num_scan_inputs=1} : f32[*] {
    graph @body(%p66_0: f32[*]) {
      %a66 = relu(%p66_0) : f32[*]
        ! cost {}
      return %a66
    }
  }
    ! cost {}
  %o67_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a67 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a67
    }
    graph @else_branch() {
      %b67 = abs(%x) : ?
      return %b67
    }
  }
    ! cost {}
  %o68_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a68 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a68
    }
    graph @else_branch() {
      %b68 = abs(%one) : ?
      return %b68
    }
  }
    ! cost {}
  %o69_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a69 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a69
    }
    graph @else_branch() {
      %b69 = cast(%x) {to="f16"} : ?
      return %b69
    }
  }
    ! cost {}
  %o70_0 = if(%yes) : i64[] = 3 {
    graph @then_branch() {
      %a70 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a70
    }
    graph @else_branch() {
      %b70 = identity(%t3) : ?
      return %b70
    }
  }
    ! cost {}
  %o71_0 = if(%yes) : i64[] = 3 {
    graph @then_branch() {
      %a71 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a71
    }
    graph @else_branch() {
      %b71 = identity(%t0) : ?
      return %b71
    }
  }
    ! cost {}
  %o72_0 = if(%yes) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a72 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %a72
    }
    graph @else_branch() {
      %b72 = identity(%s) : ?
      return %b72
    }
  }
    ! cost {}
  %o73_0 = if(%no) : f32[2, 3] {
    graph @then_branch() {
      %a73 = relu(%x) : ?
      return %a73
    }
    graph @else_branch() {
      %b73 = abs(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %b73
    }
  }
    ! cost {}
  %o74_0 = if(%no) : f32[1, 3] {
    graph @then_branch() {
      %a74 = relu(%x) : ?
      return %a74
    }
    graph @else_branch() {
      %b74 = abs(%one) : f32[1, 3]
        ! cost {alu=3, read_bytes=12, write_bytes=12}
      return %b74
    }
  }
    ! cost {}
  %o75_0 = if(%no) : f16[2, 3] {
    graph @then_branch() {
      %a75 = relu(%x) : ?
      return %a75
    }
    graph @else_branch() {
      %b75 = cast(%x) {to="f16"} : f16[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=12}
      return %b75
    }
  }
    ! cost {}
  %o76_0 = if(%no) : i64[] = 3 {
    graph @then_branch() {
      %a76 = identity(%t3) : ?
      return %a76
    }
    graph @else_branch() {
      %b76 = identity(%t3) : i64[] = 3
        ! cost {}
      return %b76
    }
  }
    ! cost {}
  %o77_0 = if(%no) : i64[] = 0 {
    graph @then_branch() {
      %a77 = identity(%t3) : ?
      return %a77
    }
    graph @else_branch() {
      %b77 = identity(%t0) : i64[] = 0
        ! cost {}
      return %b77
    }
  }
    ! cost {}
  %o78_0 = if(%no) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a78 = identity(%s) : ?
      return %a78
    }
    graph @else_branch() {
      %b78 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %b78
    }
  }
    ! cost {}
  %o79_0 = if(%c) : f32[2, 3] {
    graph @then_branch() {
      %a79 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a79
    }
    graph @else_branch() {
      %b79 = abs(%x) : f32[2, 3]
      return %b79
    }
  }
    ! cost {}
  %o80_0 = if(%c) : f32[u198, 3] {
    graph @then_branch() {
      %a80 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a80
    }
    graph @else_branch() {
      %b80 = abs(%one) : f32[1, 3]
      return %b80
    }
  }
    ! cost {}
  %o81_0 = if(%c) : ? {
    graph @then_branch() {
      %a81 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a81
    }
    graph @else_branch() {
      %b81 = cast(%x) {to="f16"} : f16[2, 3]
      return %b81
    }
  }
    ! cost {}
  %o82_0 = if(%c) : i64[] = 3 {
    graph @then_branch() {
      %a82 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a82
    }
    graph @else_branch() {
      %b82 = identity(%t3) : i64[] = 3
      return %b82
    }
  }
    ! cost {}
  %o83_0 = if(%c) : i64[] {
    graph @then_branch() {
      %a83 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a83
    }
    graph @else_branch() {
      %b83 = identity(%t0) : i64[] = 0
      return %b83
    }
  }
    ! cost {}
  %o84_0 = if(%c) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a84 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %a84
    }
    graph @else_branch() {
      %b84 = identity(%s) : seq<f32[2, 3]>
      return %b84
    }
  }
    ! cost {}
  %q1 = sequence_construct(%x, %one) : seq<f32[u199, 3]; 2; f32[2, 3], f32[1, 3]>
    ! cost {}
  %q2 = sequence_construct(%x, %x) : seq<f32[2, 3]; 2>
    ! cost {}
  %q3 = sequence_construct(%one, %x) : seq<f32[u200, 3]; 2; f32[1, 3], f32[2, 3]>
    ! cost {}
  %q4 = sequence_construct(%x, %one, %x) : seq<f32[u202, 3]; 3; f32[2, 3], f32[1, 3], f32[2, 3]>
    ! cost {}
  %o86_0 = sequence_map(%q1) : seq<f32[u203, 3]; 2; f32[2, 3], f32[1, 3]> {
    graph @body(%p86_0: f32[u199, 3]) {
      %a86 = relu(%p86_0) : f32[u199, 3]
        ! cost {alu=3*u199, read_bytes=12*u199, write_bytes=12*u199, repeat=2}
      return %a86
    }
  }
    ! cost {}
  %o87_0 = sequence_map(%q2) : seq<f32[2, 3]; 2> {
    graph @body(%p87_0: f32[2, 3]) {
      %a87 = relu(%p87_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=2}
      return %a87
    }
  }
    ! cost {}
  %o88_0 = sequence_map(%s) : seq<f32[2, 3]> {
    graph @body(%p88_0: f32[2, 3]) {
      %a88 = relu(%p88_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a88
    }
  }
    ! cost {}
  %o89_0 = sequence_map(%q1, %one) : seq<f32[u204, 3]; 2; f32[2, 3], f32[1, 3]> {
    graph @body(%p89_0: f32[u199, 3], %p89_1: f32[1, 3]) {
      %a89 = add(%p89_0, %p89_1) : f32[u199, 3]
        ! cost {alu=3*u199, read_bytes=12*u199 + 12, write_bytes=12*u199, repeat=2}
      return %a89
    }
  }
    ! cost {}
  %o90_0 = sequence_map(%q1, %q3) : seq<f32[2, 3]; 2> {
    graph @body(%p90_0: f32[u199, 3], %p90_1: f32[u200, 3]) {
      %a90 = add(%p90_0, %p90_1) : f32[max(u199, u200), 3]
        ! cost {alu=3*max(u199, u200), read_bytes=12*u199 + 12*u200, write_bytes=12*max(u199, u200), repeat=2}
      return %a90
    }
  }
    ! cost {}
  %o91_0 = sequence_map(%q1, %q4) : seq<f32[max(u199, u202), 3]; 2> {
    graph @body(%p91_0: f32[u199, 3], %p91_1: f32[u202, 3]) {
      %a91 = add(%p91_0, %p91_1) : f32[max(u199, u202), 3]
        ! cost {alu=3*max(u199, u202), read_bytes=12*u199 + 12*u202, write_bytes=12*max(u199, u202), repeat=2}
      return %a91
    }
  }
    ! cost {}
  %o92_0 = sequence_map(%q2, %s) : seq<f32[2, 3]; 2> {
    graph @body(%p92_0: f32[2, 3], %p92_1: f32[2, 3]) {
      %a92 = add(%p92_0, %p92_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=2}
      return %a92
    }
  }
    ! cost {}
  return %o1_0
}
