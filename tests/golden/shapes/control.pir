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
      %a13 = relu(%v13_0) : ?
      return %g13, %a13, %a13
    }
  }
  %o14_0, %o14_1 = loop(%t, _, %x) : ?, ? {
    graph @body(%i14: i64[], %g14: b1[], %v14_0: ?) {
      %a14 = concat(%v14_0, %one) : ?
      return %g14, %a14, %a14
    }
  }
  %o15_0, %o15_1 = loop(%t, _, %x) : ?, ? {
    graph @body(%i15: i64[], %g15: b1[], %v15_0: ?) {
      %h15 = less(%i15, %t3) : ?
      %a15 = concat(%v15_0, %one) : ?
      return %h15, %a15, %a15
    }
  }
  %o16_0, %o16_1 = loop(%t, %yes, %x) : ?, ? {
    graph @body(%i16: i64[], %g16: b1[], %v16_0: ?) {
      %a16 = relu(%v16_0) : ?
      return %g16, %a16, %a16
    }
  }
  %o17_0, %o17_1 = loop(%t, %yes, %x) : ?, ? {
    graph @body(%i17: i64[], %g17: b1[], %v17_0: ?) {
      %a17 = concat(%v17_0, %one) : ?
      return %g17, %a17, %a17
    }
  }
  %o18_0, %o18_1 = loop(%t, %yes, %x) : ?, ? {
    graph @body(%i18: i64[], %g18: b1[], %v18_0: ?) {
      %h18 = less(%i18, %t3) : ?
      %a18 = concat(%v18_0, %one) : ?
      return %h18, %a18, %a18
    }
  }
  %o19_0, %o19_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i19: i64[], %g19: b1[], %v19_0: ?) {
      %a19 = relu(%v19_0) : ?
      return %g19, %a19, %a19
    }
  }
  %o20_0, %o20_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i20: i64[], %g20: b1[], %v20_0: ?) {
      %a20 = concat(%v20_0, %one) : ?
      return %g20, %a20, %a20
    }
  }
  %o21_0, %o21_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i21: i64[], %g21: b1[], %v21_0: ?) {
      %h21 = less(%i21, %t3) : ?
      %a21 = concat(%v21_0, %one) : ?
      return %h21, %a21, %a21
    }
  }
  %o22_0, %o22_1 = loop(%many, _, %x) : ?, ? {
    graph @body(%i22: i64[], %g22: b1[], %v22_0: ?) {
      %a22 = relu(%v22_0) : ?
      return %g22, %a22, %a22
    }
  }
  %o23_0, %o23_1 = loop(%many, _, %x) : ?, ? {
    graph @body(%i23: i64[], %g23: b1[], %v23_0: ?) {
      %a23 = concat(%v23_0, %one) : ?
      return %g23, %a23, %a23
    }
  }
  %o24_0, %o24_1 = loop(%many, _, %x) : ?, ? {
    graph @body(%i24: i64[], %g24: b1[], %v24_0: ?) {
      %h24 = less(%i24, %t3) : ?
      %a24 = concat(%v24_0, %one) : ?
      return %h24, %a24, %a24
    }
  }
  %o25_0, %o25_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i25: i64[], %g25: b1[], %v25_0: ?) {
      %a25 = relu(%v25_0) : ?
      return %g25, %a25, %a25
    }
  }
  %o26_0, %o26_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i26: i64[], %g26: b1[], %v26_0: ?) {
      %a26 = concat(%v26_0, %one) : ?
      return %g26, %a26, %a26
    }
  }
  %o27_0, %o27_1 = loop(%n, _, %x) : ?, ? {
    graph @body(%i27: i64[], %g27: b1[], %v27_0: ?) {
      %h27 = less(%i27, %t3) : ?
      %a27 = concat(%v27_0, %one) : ?
      return %h27, %a27, %a27
    }
  }
  %o28_0, %o28_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i28: i64[], %g28: b1[], %v28_0: ?) {
      %a28 = relu(%v28_0) : ?
      return %g28, %a28, %a28
    }
  }
  %o29_0, %o29_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i29: i64[], %g29: b1[], %v29_0: ?) {
      %a29 = concat(%v29_0, %one) : ?
      return %g29, %a29, %a29
    }
  }
  %o30_0, %o30_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i30: i64[], %g30: b1[], %v30_0: ?) {
      %h30 = less(%i30, %t3) : ?
      %a30 = concat(%v30_0, %one) : ?
      return %h30, %a30, %a30
    }
  }
  %o31_0, %o31_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i31: i64[], %g31: b1[], %v31_0: ?) {
      %a31 = relu(%v31_0) : ?
      return %g31, %a31, %a31
    }
  }
  %o32_0, %o32_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i32: i64[], %g32: b1[], %v32_0: ?) {
      %a32 = concat(%v32_0, %one) : ?
      return %g32, %a32, %a32
    }
  }
  %o33_0, %o33_1 = loop(%n, %c, %x) : ?, ? {
    graph @body(%i33: i64[], %g33: b1[], %v33_0: ?) {
      %h33 = less(%i33, %t3) : ?
      %a33 = concat(%v33_0, %one) : ?
      return %h33, %a33, %a33
    }
  }
  %o34_0, %o34_1 = loop(_, %yes, %x) : ?, ? {
    graph @body(%i34: i64[], %g34: b1[], %v34_0: ?) {
      %a34 = relu(%v34_0) : ?
      return %g34, %a34, %a34
    }
  }
  %o35_0, %o35_1 = loop(_, %yes, %x) : ?, ? {
    graph @body(%i35: i64[], %g35: b1[], %v35_0: ?) {
      %a35 = concat(%v35_0, %one) : ?
      return %g35, %a35, %a35
    }
  }
  %o36_0, %o36_1 = loop(_, %yes, %x) : ?, ? {
    graph @body(%i36: i64[], %g36: b1[], %v36_0: ?) {
      %h36 = less(%i36, %t3) : ?
      %a36 = concat(%v36_0, %one) : ?
      return %h36, %a36, %a36
    }
  }
  %o37_0, %o37_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i37: i64[], %g37: b1[], %v37_0: ?) {
      %a37 = relu(%v37_0) : ?
      return %g37, %a37, %a37
    }
  }
  %o38_0, %o38_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i38: i64[], %g38: b1[], %v38_0: ?) {
      %a38 = concat(%v38_0, %one) : ?
      return %g38, %a38, %a38
    }
  }
  %o39_0, %o39_1 = loop(_, %c, %x) : ?, ? {
    graph @body(%i39: i64[], %g39: b1[], %v39_0: ?) {
      %h39 = less(%i39, %t3) : ?
      %a39 = concat(%v39_0, %one) : ?
      return %h39, %a39, %a39
    }
  }
  %o40_0, %o40_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i40: i64[], %g40: b1[], %v40_0: ?) {
      %h40 = identity(%g40) : ?
      %a40 = relu(%v40_0) : ?
      return %h40, %a40, %a40
    }
  }
  %o41_0, %o41_1 = loop(%t3, %yes, %x) : ?, ? {
    graph @body(%i41: i64[], %g41: b1[], %v41_0: ?) {
      %h41 = identity(%c) : ?
      %a41 = relu(%v41_0) : ?
      return %h41, %a41, %a41
    }
  }
  %o42_0 = loop(%t3, %yes, %x) : ? {
    graph @body(%i42: i64[], %g42: b1[], %v42_0: ?) {
      %a42 = unsqueeze(%v42_0, %t0v) : ?
      return %g42, %a42
    }
  }
  %o43_0 = loop(%t3, %yes, %x) : ? {
    graph @body(%i43: i64[], %g43: b1[], %v43_0: ?) {
      %a43 = cast(%v43_0) {to="f16"} : ?
      return %g43, %a43
    }
  }
  %o44_0, %o44_1, %o44_2 = loop(%t3, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i44: i64[], %g44: b1[], %v44_0: ?, %v44_1: ?) {
      %a44 = add(%v44_0, %v44_1) : ?
      return %g44, %v44_1, %a44, %i44
    }
  }
  %o45_0, %o45_1 = loop(%t3, %yes, %u) : ?, ? {
    graph @body(%i45: i64[], %g45: b1[], %v45_0: ?) {
      %a45 = relu(%v45_0) : ?
      return %g45, %a45, %a45
    }
  }
  %o46_0, %o46_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i46: i64[], %g46: b1[], %v46_0: ?) {
      %h46 = identity(%g46) : ?
      %a46 = relu(%v46_0) : ?
      return %h46, %a46, %a46
    }
  }
  %o47_0, %o47_1 = loop(%n, %yes, %x) : ?, ? {
    graph @body(%i47: i64[], %g47: b1[], %v47_0: ?) {
      %h47 = identity(%c) : ?
      %a47 = relu(%v47_0) : ?
      return %h47, %a47, %a47
    }
  }
  %o48_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i48: i64[], %g48: b1[], %v48_0: ?) {
      %a48 = unsqueeze(%v48_0, %t0v) : ?
      return %g48, %a48
    }
  }
  %o49_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i49: i64[], %g49: b1[], %v49_0: ?) {
      %a49 = cast(%v49_0) {to="f16"} : ?
      return %g49, %a49
    }
  }
  %o50_0, %o50_1, %o50_2 = loop(%n, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i50: i64[], %g50: b1[], %v50_0: ?, %v50_1: ?) {
      %a50 = add(%v50_0, %v50_1) : ?
      return %g50, %v50_1, %a50, %i50
    }
  }
  %o51_0, %o51_1 = loop(%n, %yes, %u) : ?, ? {
    graph @body(%i51: i64[], %g51: b1[], %v51_0: ?) {
      %a51 = relu(%v51_0) : ?
      return %g51, %a51, %a51
    }
  }
  %o52_0, %o52_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i52: i64[], %g52: b1[], %v52_0: ?) {
      %h52 = identity(%g52) : ?
      %a52 = relu(%v52_0) : ?
      return %h52, %a52, %a52
    }
  }
  %o53_0, %o53_1 = loop(%t, %c, %x) : ?, ? {
    graph @body(%i53: i64[], %g53: b1[], %v53_0: ?) {
      %h53 = identity(%c) : ?
      %a53 = relu(%v53_0) : ?
      return %h53, %a53, %a53
    }
  }
  %o54_0 = loop(%t, %c, %x) : ? {
    graph @body(%i54: i64[], %g54: b1[], %v54_0: ?) {
      %a54 = unsqueeze(%v54_0, %t0v) : ?
      return %g54, %a54
    }
  }
  %o55_0 = loop(%t, %c, %x) : ? {
    graph @body(%i55: i64[], %g55: b1[], %v55_0: ?) {
      %a55 = cast(%v55_0) {to="f16"} : ?
      return %g55, %a55
    }
  }
  %o56_0, %o56_1, %o56_2 = loop(%t, %c, %x, %one) : ?, ?, ? {
    graph @body(%i56: i64[], %g56: b1[], %v56_0: ?, %v56_1: ?) {
      %a56 = add(%v56_0, %v56_1) : ?
      return %g56, %v56_1, %a56, %i56
    }
  }
  %o57_0, %o57_1 = loop(%t, %c, %u) : ?, ? {
    graph @body(%i57: i64[], %g57: b1[], %v57_0: ?) {
      %a57 = relu(%v57_0) : ?
      return %g57, %a57, %a57
    }
  }
  %o58_0, %o58_1 = loop(%many, %yes, %x) : ?, ? {
    graph @body(%i58: i64[], %g58: b1[], %v58_0: ?) {
      %h58 = identity(%g58) : ?
      %a58 = relu(%v58_0) : ?
      return %h58, %a58, %a58
    }
  }
  %o59_0, %o59_1 = loop(%many, %yes, %x) : ?, ? {
    graph @body(%i59: i64[], %g59: b1[], %v59_0: ?) {
      %h59 = identity(%c) : ?
      %a59 = relu(%v59_0) : ?
      return %h59, %a59, %a59
    }
  }
  %o60_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i60: i64[], %g60: b1[], %v60_0: ?) {
      %a60 = unsqueeze(%v60_0, %t0v) : ?
      return %g60, %a60
    }
  }
  %o61_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i61: i64[], %g61: b1[], %v61_0: ?) {
      %a61 = cast(%v61_0) {to="f16"} : ?
      return %g61, %a61
    }
  }
  %o62_0, %o62_1, %o62_2 = loop(%many, %yes, %x, %one) : ?, ?, ? {
    graph @body(%i62: i64[], %g62: b1[], %v62_0: ?, %v62_1: ?) {
      %a62 = add(%v62_0, %v62_1) : ?
      return %g62, %v62_1, %a62, %i62
    }
  }
  %o63_0, %o63_1 = loop(%many, %yes, %u) : ?, ? {
    graph @body(%i63: i64[], %g63: b1[], %v63_0: ?) {
      %a63 = relu(%v63_0) : ?
      return %g63, %a63, %a63
    }
  }
  %o64_0, %o64_1 = scan(%x, %y) {num_scan_inputs=1} : ?, ? {
    graph @body(%p64_0: ?, %p64_1: ?) {
      %a64 = add(%p64_0, %p64_1) : ?
      return %a64, %a64
    }
  }
  %o65_0, %o65_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[1]} : ?, ? {
    graph @body(%p65_0: ?, %p65_1: ?) {
      %a65 = add(%p65_0, %p65_1) : ?
      return %a65, %a65
    }
  }
  %o66_0, %o66_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[-2], scan_output_axes=[1]} : ?, ? {
    graph @body(%p66_0: ?, %p66_1: ?) {
      %a66 = add(%p66_0, %p66_1) : ?
      return %a66, %a66
    }
  }
  %o67_0, %o67_1 = scan(%one, %d) {num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1]} : ?, ? {
    graph @body(%p67_0: ?, %p67_1: ?) {
      %a67 = add(%p67_0, %p67_1) : ?
      return %a67, %a67
    }
  }
  %o68_0, %o68_1, %o68_2, %o68_3 = scan(%x, %x, %y, %y) {num_scan_inputs=2, scan_input_axes=[0, 0], scan_output_axes=[0, 2]} : ?, ?, ?, ? {
    graph @body(%p68_0: ?, %p68_1: ?, %p68_2: ?, %p68_3: ?) {
      %a68 = add(%p68_0, %p68_2) : ?
      %b68 = mul(%p68_1, %p68_3) : ?
      return %a68, %b68, %a68, %b68
    }
  }
  %o69_0, %o69_1, %o69_2, %o69_3 = scan(%x, %one, %u, %z) {num_scan_inputs=2, scan_input_axes=[0, 1], scan_output_axes=[1]} : ?, ?, ?, ? {
    graph @body(%p69_0: ?, %p69_1: ?, %p69_2: ?, %p69_3: ?) {
      %a69 = add(%p69_0, %p69_2) : ?
      %b69 = mul(%p69_1, %p69_3) : ?
      return %a69, %b69, %a69, %b69
    }
  }
  %o70_0, %o70_1 = scan(%len, %x, %b) {num_scan_inputs=1, has_batch=true} : ?, ? {
    graph @body(%p70_0: ?, %p70_1: ?) {
      %a70 = add(%p70_0, %p70_1) : ?
      return %a70, %a70
    }
  }
  %o71_0 = scan(%len, %b) {num_scan_inputs=1, scan_input_axes=[1], has_batch=true} : ? {
    graph @body(%p71_0: ?) {
      %a71 = relu(%p71_0) : ?
      return %a71
    }
  }
  %o72_0 = scan(%d) {num_scan_inputs=1} : ? {
    graph @body(%p72_0: ?) {
      %a72 = relu(%p72_0) : ?
      return %a72
    }
  }
  %o73_0 = scan(%u) {num_scan_inputs=1} : ? {
    graph @body(%p73_0: ?) {
      %a73 = relu(%p73_0) : ?
      return %a73
    }
  }
  %o74_0 = if(%yes) : ? {
    graph @then_branch() {
      %a74 = relu(%x) : ?
      return %a74
    }
    graph @else_branch() {
      %b74 = abs(%x) : ?
      return %b74
    }
  }
  %o75_0 = if(%yes) : ? {
    graph @then_branch() {
      %a75 = relu(%x) : ?
      return %a75
    }
    graph @else_branch() {
      %b75 = abs(%one) : ?
      return %b75
    }
  }
  %o76_0 = if(%yes) : ? {
    graph @then_branch() {
      %a76 = relu(%x) : ?
      return %a76
    }
    graph @else_branch() {
      %b76 = cast(%x) {to="f16"} : ?
      return %b76
    }
  }
  %o77_0 = if(%yes) : ? {
    graph @then_branch() {
      %a77 = identity(%t3) : ?
      return %a77
    }
    graph @else_branch() {
      %b77 = identity(%t3) : ?
      return %b77
    }
  }
  %o78_0 = if(%yes) : ? {
    graph @then_branch() {
      %a78 = identity(%t3) : ?
      return %a78
    }
    graph @else_branch() {
      %b78 = identity(%t0) : ?
      return %b78
    }
  }
  %o79_0 = if(%yes) : ? {
    graph @then_branch() {
      %a79 = identity(%s) : ?
      return %a79
    }
    graph @else_branch() {
      %b79 = identity(%s) : ?
      return %b79
    }
  }
  %o80_0 = if(%no) : ? {
    graph @then_branch() {
      %a80 = relu(%x) : ?
      return %a80
    }
    graph @else_branch() {
      %b80 = abs(%x) : ?
      return %b80
    }
  }
  %o81_0 = if(%no) : ? {
    graph @then_branch() {
      %a81 = relu(%x) : ?
      return %a81
    }
    graph @else_branch() {
      %b81 = abs(%one) : ?
      return %b81
    }
  }
  %o82_0 = if(%no) : ? {
    graph @then_branch() {
      %a82 = relu(%x) : ?
      return %a82
    }
    graph @else_branch() {
      %b82 = cast(%x) {to="f16"} : ?
      return %b82
    }
  }
  %o83_0 = if(%no) : ? {
    graph @then_branch() {
      %a83 = identity(%t3) : ?
      return %a83
    }
    graph @else_branch() {
      %b83 = identity(%t3) : ?
      return %b83
    }
  }
  %o84_0 = if(%no) : ? {
    graph @then_branch() {
      %a84 = identity(%t3) : ?
      return %a84
    }
    graph @else_branch() {
      %b84 = identity(%t0) : ?
      return %b84
    }
  }
  %o85_0 = if(%no) : ? {
    graph @then_branch() {
      %a85 = identity(%s) : ?
      return %a85
    }
    graph @else_branch() {
      %b85 = identity(%s) : ?
      return %b85
    }
  }
  %o86_0 = if(%c) : ? {
    graph @then_branch() {
      %a86 = relu(%x) : ?
      return %a86
    }
    graph @else_branch() {
      %b86 = abs(%x) : ?
      return %b86
    }
  }
  %o87_0 = if(%c) : ? {
    graph @then_branch() {
      %a87 = relu(%x) : ?
      return %a87
    }
    graph @else_branch() {
      %b87 = abs(%one) : ?
      return %b87
    }
  }
  %o88_0 = if(%c) : ? {
    graph @then_branch() {
      %a88 = relu(%x) : ?
      return %a88
    }
    graph @else_branch() {
      %b88 = cast(%x) {to="f16"} : ?
      return %b88
    }
  }
  %o89_0 = if(%c) : ? {
    graph @then_branch() {
      %a89 = identity(%t3) : ?
      return %a89
    }
    graph @else_branch() {
      %b89 = identity(%t3) : ?
      return %b89
    }
  }
  %o90_0 = if(%c) : ? {
    graph @then_branch() {
      %a90 = identity(%t3) : ?
      return %a90
    }
    graph @else_branch() {
      %b90 = identity(%t0) : ?
      return %b90
    }
  }
  %o91_0 = if(%c) : ? {
    graph @then_branch() {
      %a91 = identity(%s) : ?
      return %a91
    }
    graph @else_branch() {
      %b91 = identity(%s) : ?
      return %b91
    }
  }
  %q1 = sequence_construct(%x, %one) : ?
  %q2 = sequence_construct(%x, %x) : ?
  %q3 = sequence_construct(%one, %x) : ?
  %q4 = sequence_construct(%x, %one, %x) : ?
  %o93_0 = sequence_map(%q1) : ? {
    graph @body(%p93_0: ?) {
      %a93 = relu(%p93_0) : ?
      return %a93
    }
  }
  %o94_0 = sequence_map(%q2) : ? {
    graph @body(%p94_0: ?) {
      %a94 = relu(%p94_0) : ?
      return %a94
    }
  }
  %o95_0 = sequence_map(%s) : ? {
    graph @body(%p95_0: ?) {
      %a95 = relu(%p95_0) : ?
      return %a95
    }
  }
  %o96_0 = sequence_map(%q1, %one) : ? {
    graph @body(%p96_0: ?, %p96_1: ?) {
      %a96 = add(%p96_0, %p96_1) : ?
      return %a96
    }
  }
  %o97_0 = sequence_map(%q1, %q3) : ? {
    graph @body(%p97_0: ?, %p97_1: ?) {
      %a97 = add(%p97_0, %p97_1) : ?
      return %a97
    }
  }
  %o98_0 = sequence_map(%q1, %q4) : ? {
    graph @body(%p98_0: ?, %p98_1: ?) {
      %a98 = add(%p98_0, %p98_1) : ?
      return %a98
    }
  }
  %o99_0 = sequence_map(%q2, %s) : ? {
    graph @body(%p99_0: ?, %p99_1: ?) {
      %a99 = add(%p99_0, %p99_1) : ?
      return %a99
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
extent u37 in 0..
extent u45 in 0..
extent u46 in 0..
extent u42 in 0..
extent u49 in 3..6
extent u50 in 0..
extent u58 in 0..
extent u59 in 0..
extent u55 in 0..
extent u62 in 3..6
extent u63 in 0..
extent u71 in 0..
extent u72 in 0..
extent u68 in 0..
extent u80 in 0..
extent u81 in 0..
extent u77 in 0..
extent u89 in 0..
extent u86 in 0..
extent u97 in 0..
extent u98 in 0..100000
extent u94 in 0..
extent u106 in 0..
extent u103 in 0..
extent u114 in 0..
extent u115 in 0..N
extent u111 in 0..
extent u123 in 0..
extent u120 in 0..
extent u131 in 0..
extent u132 in 0..N
extent u128 in 0..
extent u133 in 0..N
extent u141 in 0..
extent u142 in 0..N
extent u138 in 0..
extent u150 in 0..
extent u151 in 0..N
extent u147 in 0..
extent u152 in 0..
extent u160 in 0..
extent u161 in 0..
extent u157 in 0..
extent u164 in 3..6
extent u165 in 0..
extent u173 in 0..
extent u174 in 0..
extent u170 in 0..
extent u182 in 0..
extent u183 in 0..
extent u179 in 0..
extent u184 in 0..3
extent u185 in 0..N
extent u200 in 0..
extent u201 in 0..
extent u194 in 0..
extent u195 in 0..
extent `broadcast(u194, u195)` in 0..max(u194, u195)
extent u202 in 0..
extent u203 in 0..
extent u220 in 0..
extent u221 in 0..
extent u222 in 0..
extent u214 in 0..
extent u215 in 0..
extent `broadcast(u214, u215)` in 0..max(u214, u215)
extent u224 in 0..100000
extent u239 in 0..
extent u240 in 0..
extent u233 in 0..
extent u234 in 0..
extent `broadcast(u233, u234)` in 0..max(u233, u234)
extent u241 in 1..N
extent u242 in 1..2
extent u244 in 1..2
extent u245 in 1..2
extent u246 in 1..2
extent u248 in 1..2
extent u249 in 1..2
extent u250 in 1..2

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
    graph @body(%i2: i64[] = 2, %g2: b1[] = true, %v2_0: f32[4, 3]) {
      %a2 = concat(%v2_0, %one) : f32[5, 3]
        ! cost {read_bytes=60, write_bytes=60, repeat=3}
      return %g2, %a2, %a2
    }
  }
    ! cost {}
  %o3_0, %o3_1 = loop(%t3, _, %x) : f32[5, 3], f32[3, u4, 3] {
    graph @body(%i3: i64[] = 2, %g3: b1[] = true, %v3_0: f32[4, 3]) {
      %h3 = less(%i3, %t3) : b1[] = true
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=3}
      %a3 = concat(%v3_0, %one) : f32[5, 3]
        ! cost {read_bytes=60, write_bytes=60, repeat=3}
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
    graph @body(%i5: i64[] = 2, %g5: b1[] = true, %v5_0: f32[4, 3]) {
      %a5 = concat(%v5_0, %one) : f32[5, 3]
        ! cost {read_bytes=60, write_bytes=60, repeat=3}
      return %g5, %a5, %a5
    }
  }
    ! cost {}
  %o6_0, %o6_1 = loop(%t3, %yes, %x) : f32[5, 3], f32[3, u8, 3] {
    graph @body(%i6: i64[] = 2, %g6: b1[] = true, %v6_0: f32[4, 3]) {
      %h6 = less(%i6, %t3) : b1[] = true
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=3}
      %a6 = concat(%v6_0, %one) : f32[5, 3]
        ! cost {read_bytes=60, write_bytes=60, repeat=3}
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
  %o13_0, %o13_1 = loop(%t, _, %x) : f32[2, 3], f32[u37, 2, 3] {
    graph @body(%i13: i64[], %g13: b1[], %v13_0: f32[2, 3]) {
      %a13 = relu(%v13_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g13, %a13, %a13
    }
  }
    ! cost {}
  %o14_0, %o14_1 = loop(%t, _, %x) : f32[u45, 3], f32[u46, u42 + 1, 3] {
    graph @body(%i14: i64[], %g14: b1[], %v14_0: f32[u42, 3]) {
      %a14 = concat(%v14_0, %one) : f32[u42 + 1, 3]
        ! cost {read_bytes=12*u42 + 12, write_bytes=12*u42 + 12}
      return %g14, %a14, %a14
    }
  }
    ! cost {}
  %o15_0, %o15_1 = loop(%t, _, %x) : f32[6, 3], f32[4, u49, 3] {
    graph @body(%i15: i64[] = 3, %g15: b1[] = true, %v15_0: f32[5, 3]) {
      %h15 = less(%i15, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a15 = concat(%v15_0, %one) : f32[6, 3]
        ! cost {read_bytes=72, write_bytes=72, repeat=4}
      return %h15, %a15, %a15
    }
  }
    ! cost {}
  %o16_0, %o16_1 = loop(%t, %yes, %x) : f32[2, 3], f32[u50, 2, 3] {
    graph @body(%i16: i64[], %g16: b1[], %v16_0: f32[2, 3]) {
      %a16 = relu(%v16_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g16, %a16, %a16
    }
  }
    ! cost {}
  %o17_0, %o17_1 = loop(%t, %yes, %x) : f32[u58, 3], f32[u59, u55 + 1, 3] {
    graph @body(%i17: i64[], %g17: b1[], %v17_0: f32[u55, 3]) {
      %a17 = concat(%v17_0, %one) : f32[u55 + 1, 3]
        ! cost {read_bytes=12*u55 + 12, write_bytes=12*u55 + 12}
      return %g17, %a17, %a17
    }
  }
    ! cost {}
  %o18_0, %o18_1 = loop(%t, %yes, %x) : f32[6, 3], f32[4, u62, 3] {
    graph @body(%i18: i64[] = 3, %g18: b1[] = true, %v18_0: f32[5, 3]) {
      %h18 = less(%i18, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a18 = concat(%v18_0, %one) : f32[6, 3]
        ! cost {read_bytes=72, write_bytes=72, repeat=4}
      return %h18, %a18, %a18
    }
  }
    ! cost {}
  %o19_0, %o19_1 = loop(%t, %c, %x) : f32[2, 3], f32[u63, 2, 3] {
    graph @body(%i19: i64[], %g19: b1[], %v19_0: f32[2, 3]) {
      %a19 = relu(%v19_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g19, %a19, %a19
    }
  }
    ! cost {}
  %o20_0, %o20_1 = loop(%t, %c, %x) : f32[u71, 3], f32[u72, u68 + 1, 3] {
    graph @body(%i20: i64[], %g20: b1[], %v20_0: f32[u68, 3]) {
      %a20 = concat(%v20_0, %one) : f32[u68 + 1, 3]
        ! cost {read_bytes=12*u68 + 12, write_bytes=12*u68 + 12}
      return %g20, %a20, %a20
    }
  }
    ! cost {}
  %o21_0, %o21_1 = loop(%t, %c, %x) : f32[u80, 3], f32[u81, u77 + 1, 3] {
    graph @body(%i21: i64[], %g21: b1[], %v21_0: f32[u77, 3]) {
      %h21 = less(%i21, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a21 = concat(%v21_0, %one) : f32[u77 + 1, 3]
        ! cost {read_bytes=12*u77 + 12, write_bytes=12*u77 + 12}
      return %h21, %a21, %a21
    }
  }
    ! cost {}
  %o22_0, %o22_1 = loop(%many, _, %x) : f32[2, 3], f32[100000, 2, 3] {
    graph @body(%i22: i64[], %g22: b1[], %v22_0: f32[2, 3]) {
      %a22 = relu(%v22_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=100000}
      return %g22, %a22, %a22
    }
  }
    ! cost {}
  %o23_0, %o23_1 = loop(%many, _, %x) : f32[u89, 3], f32[100000, u86 + 1, 3] {
    graph @body(%i23: i64[], %g23: b1[], %v23_0: f32[u86, 3]) {
      %a23 = concat(%v23_0, %one) : f32[u86 + 1, 3]
        ! cost {read_bytes=12*u86 + 12, write_bytes=12*u86 + 12, repeat=100000}
      return %g23, %a23, %a23
    }
  }
    ! cost {}
  %o24_0, %o24_1 = loop(%many, _, %x) : f32[u97, 3], f32[u98, u94 + 1, 3] {
    graph @body(%i24: i64[], %g24: b1[], %v24_0: f32[u94, 3]) {
      %h24 = less(%i24, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=u98}
      %a24 = concat(%v24_0, %one) : f32[u94 + 1, 3]
        ! cost {read_bytes=12*u94 + 12, write_bytes=12*u94 + 12, repeat=u98}
      return %h24, %a24, %a24
    }
  }
    ! cost {}
  %o25_0, %o25_1 = loop(%n, _, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i25: i64[], %g25: b1[], %v25_0: f32[2, 3]) {
      %a25 = relu(%v25_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %g25, %a25, %a25
    }
  }
    ! cost {}
  %o26_0, %o26_1 = loop(%n, _, %x) : f32[u106, 3], f32[N, u103 + 1, 3] {
    graph @body(%i26: i64[], %g26: b1[], %v26_0: f32[u103, 3]) {
      %a26 = concat(%v26_0, %one) : f32[u103 + 1, 3]
        ! cost {read_bytes=12*u103 + 12, write_bytes=12*u103 + 12, repeat=N}
      return %g26, %a26, %a26
    }
  }
    ! cost {}
  %o27_0, %o27_1 = loop(%n, _, %x) : f32[u114, 3], f32[u115, u111 + 1, 3] {
    graph @body(%i27: i64[], %g27: b1[], %v27_0: f32[u111, 3]) {
      %h27 = less(%i27, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a27 = concat(%v27_0, %one) : f32[u111 + 1, 3]
        ! cost {read_bytes=12*u111 + 12, write_bytes=12*u111 + 12}
      return %h27, %a27, %a27
    }
  }
    ! cost {}
  %o28_0, %o28_1 = loop(%n, %yes, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i28: i64[], %g28: b1[], %v28_0: f32[2, 3]) {
      %a28 = relu(%v28_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %g28, %a28, %a28
    }
  }
    ! cost {}
  %o29_0, %o29_1 = loop(%n, %yes, %x) : f32[u123, 3], f32[N, u120 + 1, 3] {
    graph @body(%i29: i64[], %g29: b1[], %v29_0: f32[u120, 3]) {
      %a29 = concat(%v29_0, %one) : f32[u120 + 1, 3]
        ! cost {read_bytes=12*u120 + 12, write_bytes=12*u120 + 12, repeat=N}
      return %g29, %a29, %a29
    }
  }
    ! cost {}
  %o30_0, %o30_1 = loop(%n, %yes, %x) : f32[u131, 3], f32[u132, u128 + 1, 3] {
    graph @body(%i30: i64[], %g30: b1[], %v30_0: f32[u128, 3]) {
      %h30 = less(%i30, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a30 = concat(%v30_0, %one) : f32[u128 + 1, 3]
        ! cost {read_bytes=12*u128 + 12, write_bytes=12*u128 + 12}
      return %h30, %a30, %a30
    }
  }
    ! cost {}
  %o31_0, %o31_1 = loop(%n, %c, %x) : f32[2, 3], f32[u133, 2, 3] {
    graph @body(%i31: i64[], %g31: b1[], %v31_0: f32[2, 3]) {
      %a31 = relu(%v31_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g31, %a31, %a31
    }
  }
    ! cost {}
  %o32_0, %o32_1 = loop(%n, %c, %x) : f32[u141, 3], f32[u142, u138 + 1, 3] {
    graph @body(%i32: i64[], %g32: b1[], %v32_0: f32[u138, 3]) {
      %a32 = concat(%v32_0, %one) : f32[u138 + 1, 3]
        ! cost {read_bytes=12*u138 + 12, write_bytes=12*u138 + 12}
      return %g32, %a32, %a32
    }
  }
    ! cost {}
  %o33_0, %o33_1 = loop(%n, %c, %x) : f32[u150, 3], f32[u151, u147 + 1, 3] {
    graph @body(%i33: i64[], %g33: b1[], %v33_0: f32[u147, 3]) {
      %h33 = less(%i33, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a33 = concat(%v33_0, %one) : f32[u147 + 1, 3]
        ! cost {read_bytes=12*u147 + 12, write_bytes=12*u147 + 12}
      return %h33, %a33, %a33
    }
  }
    ! cost {}
  %o34_0, %o34_1 = loop(_, %yes, %x) : f32[2, 3], f32[u152, 2, 3] {
    graph @body(%i34: i64[], %g34: b1[], %v34_0: f32[2, 3]) {
      %a34 = relu(%v34_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g34, %a34, %a34
    }
  }
    ! cost {}
  %o35_0, %o35_1 = loop(_, %yes, %x) : f32[u160, 3], f32[u161, u157 + 1, 3] {
    graph @body(%i35: i64[], %g35: b1[], %v35_0: f32[u157, 3]) {
      %a35 = concat(%v35_0, %one) : f32[u157 + 1, 3]
        ! cost {read_bytes=12*u157 + 12, write_bytes=12*u157 + 12}
      return %g35, %a35, %a35
    }
  }
    ! cost {}
  %o36_0, %o36_1 = loop(_, %yes, %x) : f32[6, 3], f32[4, u164, 3] {
    graph @body(%i36: i64[] = 3, %g36: b1[] = true, %v36_0: f32[5, 3]) {
      %h36 = less(%i36, %t3) : b1[] = false
        ! cost {integer=1, read_bytes=16, write_bytes=1, repeat=4}
      %a36 = concat(%v36_0, %one) : f32[6, 3]
        ! cost {read_bytes=72, write_bytes=72, repeat=4}
      return %h36, %a36, %a36
    }
  }
    ! cost {}
  %o37_0, %o37_1 = loop(_, %c, %x) : f32[2, 3], f32[u165, 2, 3] {
    graph @body(%i37: i64[], %g37: b1[], %v37_0: f32[2, 3]) {
      %a37 = relu(%v37_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %g37, %a37, %a37
    }
  }
    ! cost {}
  %o38_0, %o38_1 = loop(_, %c, %x) : f32[u173, 3], f32[u174, u170 + 1, 3] {
    graph @body(%i38: i64[], %g38: b1[], %v38_0: f32[u170, 3]) {
      %a38 = concat(%v38_0, %one) : f32[u170 + 1, 3]
        ! cost {read_bytes=12*u170 + 12, write_bytes=12*u170 + 12}
      return %g38, %a38, %a38
    }
  }
    ! cost {}
  %o39_0, %o39_1 = loop(_, %c, %x) : f32[u182, 3], f32[u183, u179 + 1, 3] {
    graph @body(%i39: i64[], %g39: b1[], %v39_0: f32[u179, 3]) {
      %h39 = less(%i39, %t3) : b1[]
        ! cost {integer=1, read_bytes=16, write_bytes=1}
      %a39 = concat(%v39_0, %one) : f32[u179 + 1, 3]
        ! cost {read_bytes=12*u179 + 12, write_bytes=12*u179 + 12}
      return %h39, %a39, %a39
    }
  }
    ! cost {}
  %o40_0, %o40_1 = loop(%t3, %yes, %x) : f32[2, 3], f32[3, 2, 3] {
    graph @body(%i40: i64[] = 2, %g40: b1[] = true, %v40_0: f32[2, 3]) {
      %h40 = identity(%g40) : b1[] = true
        ! cost {repeat=3}
      %a40 = relu(%v40_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=3}
      return %h40, %a40, %a40
    }
  }
    ! cost {}
  %o41_0, %o41_1 = loop(%t3, %yes, %x) : f32[2, 3], f32[u184, 2, 3] {
    graph @body(%i41: i64[], %g41: b1[], %v41_0: f32[2, 3]) {
      %h41 = identity(%c) : b1[]
        ! cost {repeat=u184}
      %a41 = relu(%v41_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=u184}
      return %h41, %a41, %a41
    }
  }
    ! cost {}
  %o42_0 = loop(%t3, %yes, %x) : f32[1, 1, 1, 2, 3] {
    graph @body(%i42: i64[] = 2, %g42: b1[] = true, %v42_0: f32[1, 1, 2, 3]) {
      %a42 = unsqueeze(%v42_0, %t0v) : f32[1, 1, 1, 2, 3]
        ! cost {repeat=3}
      return %g42, %a42
    }
  }
    ! cost {}
  %o43_0 = loop(%t3, %yes, %x) : f16[2, 3] {
    graph @body(%i43: i64[] = 2, %g43: b1[] = true, %v43_0: f16[2, 3]) {
      %a43 = cast(%v43_0) {to="f16"} : f16[2, 3]
        ! cost {alu=6, read_bytes=12, write_bytes=12, repeat=3}
      return %g43, %a43
    }
  }
    ! cost {}
  %o44_0, %o44_1, %o44_2 = loop(%t3, %yes, %x, %one) : f32[2, 3], f32[2, 3], i64[3] {
    graph @body(%i44: i64[] = 2, %g44: b1[] = true, %v44_0: f32[2, 3], %v44_1: f32[2, 3]) {
      %a44 = add(%v44_0, %v44_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=3}
      return %g44, %v44_1, %a44, %i44
    }
  }
    ! cost {}
  %o45_0, %o45_1 = loop(%t3, %yes, %u) : f32[*], f32[*] {
    graph @body(%i45: i64[] = 2, %g45: b1[] = true, %v45_0: f32[*]) {
      %a45 = relu(%v45_0) : f32[*]
        ! cost {repeat=3}
      return %g45, %a45, %a45
    }
  }
    ! cost {}
  %o46_0, %o46_1 = loop(%n, %yes, %x) : f32[2, 3], f32[N, 2, 3] {
    graph @body(%i46: i64[], %g46: b1[], %v46_0: f32[2, 3]) {
      %h46 = identity(%g46) : b1[]
        ! cost {repeat=N}
      %a46 = relu(%v46_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=N}
      return %h46, %a46, %a46
    }
  }
    ! cost {}
  %o47_0, %o47_1 = loop(%n, %yes, %x) : f32[2, 3], f32[u185, 2, 3] {
    graph @body(%i47: i64[], %g47: b1[], %v47_0: f32[2, 3]) {
      %h47 = identity(%c) : b1[]
        ! cost {}
      %a47 = relu(%v47_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h47, %a47, %a47
    }
  }
    ! cost {}
  %o48_0 = loop(%n, %yes, %x) : f32[*] {
    graph @body(%i48: i64[], %g48: b1[], %v48_0: f32[*]) {
      %a48 = unsqueeze(%v48_0, %t0v) : f32[*]
        ! cost {repeat=N}
      return %g48, %a48
    }
  }
    ! cost {}
  %o49_0 = loop(%n, %yes, %x) : ? {
    graph @body(%i49: i64[], %g49: b1[], %v49_0: ?) {
      %a49 = cast(%v49_0) {to="f16"} : f16[*]
        ! cost {repeat=N}
      return %g49, %a49
    }
  }
    ! cost {}
  %o50_0, %o50_1, %o50_2 = loop(%n, %yes, %x, %one) : f32[u200, 3], f32[u201, 3], i64[N] {
    graph @body(%i50: i64[], %g50: b1[], %v50_0: f32[u194, 3], %v50_1: f32[u195, 3]) {
      %a50 = add(%v50_0, %v50_1) : f32[`broadcast(u194, u195)`, 3]
        ! cost {alu=3*`broadcast(u194, u195)`, read_bytes=12*u194 + 12*u195, write_bytes=12*`broadcast(u194, u195)`, repeat=N}
      return %g50, %v50_1, %a50, %i50
    }
  }
    ! cost {}
  %o51_0, %o51_1 = loop(%n, %yes, %u) : f32[*], f32[*] {
    graph @body(%i51: i64[], %g51: b1[], %v51_0: f32[*]) {
      %a51 = relu(%v51_0) : f32[*]
        ! cost {repeat=N}
      return %g51, %a51, %a51
    }
  }
    ! cost {}
  %o52_0, %o52_1 = loop(%t, %c, %x) : f32[2, 3], f32[u202, 2, 3] {
    graph @body(%i52: i64[], %g52: b1[], %v52_0: f32[2, 3]) {
      %h52 = identity(%g52) : b1[]
        ! cost {}
      %a52 = relu(%v52_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h52, %a52, %a52
    }
  }
    ! cost {}
  %o53_0, %o53_1 = loop(%t, %c, %x) : f32[2, 3], f32[u203, 2, 3] {
    graph @body(%i53: i64[], %g53: b1[], %v53_0: f32[2, 3]) {
      %h53 = identity(%c) : b1[]
        ! cost {}
      %a53 = relu(%v53_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %h53, %a53, %a53
    }
  }
    ! cost {}
  %o54_0 = loop(%t, %c, %x) : f32[*] {
    graph @body(%i54: i64[], %g54: b1[], %v54_0: f32[*]) {
      %a54 = unsqueeze(%v54_0, %t0v) : f32[*]
        ! cost {}
      return %g54, %a54
    }
  }
    ! cost {}
  %o55_0 = loop(%t, %c, %x) : ? {
    graph @body(%i55: i64[], %g55: b1[], %v55_0: ?) {
      %a55 = cast(%v55_0) {to="f16"} : f16[*]
        ! cost {}
      return %g55, %a55
    }
  }
    ! cost {}
  %o56_0, %o56_1, %o56_2 = loop(%t, %c, %x, %one) : f32[u220, 3], f32[u221, 3], i64[u222] {
    graph @body(%i56: i64[], %g56: b1[], %v56_0: f32[u214, 3], %v56_1: f32[u215, 3]) {
      %a56 = add(%v56_0, %v56_1) : f32[`broadcast(u214, u215)`, 3]
        ! cost {alu=3*`broadcast(u214, u215)`, read_bytes=12*u214 + 12*u215, write_bytes=12*`broadcast(u214, u215)`}
      return %g56, %v56_1, %a56, %i56
    }
  }
    ! cost {}
  %o57_0, %o57_1 = loop(%t, %c, %u) : f32[*], f32[*] {
    graph @body(%i57: i64[], %g57: b1[], %v57_0: f32[*]) {
      %a57 = relu(%v57_0) : f32[*]
        ! cost {}
      return %g57, %a57, %a57
    }
  }
    ! cost {}
  %o58_0, %o58_1 = loop(%many, %yes, %x) : f32[2, 3], f32[100000, 2, 3] {
    graph @body(%i58: i64[], %g58: b1[], %v58_0: f32[2, 3]) {
      %h58 = identity(%g58) : b1[]
        ! cost {repeat=100000}
      %a58 = relu(%v58_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=100000}
      return %h58, %a58, %a58
    }
  }
    ! cost {}
  %o59_0, %o59_1 = loop(%many, %yes, %x) : f32[2, 3], f32[u224, 2, 3] {
    graph @body(%i59: i64[], %g59: b1[], %v59_0: f32[2, 3]) {
      %h59 = identity(%c) : b1[]
        ! cost {repeat=u224}
      %a59 = relu(%v59_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=u224}
      return %h59, %a59, %a59
    }
  }
    ! cost {}
  %o60_0 = loop(%many, %yes, %x) : f32[*] {
    graph @body(%i60: i64[], %g60: b1[], %v60_0: f32[*]) {
      %a60 = unsqueeze(%v60_0, %t0v) : f32[*]
        ! cost {repeat=100000}
      return %g60, %a60
    }
  }
    ! cost {}
  %o61_0 = loop(%many, %yes, %x) : ? {
    graph @body(%i61: i64[], %g61: b1[], %v61_0: ?) {
      %a61 = cast(%v61_0) {to="f16"} : f16[*]
        ! cost {repeat=100000}
      return %g61, %a61
    }
  }
    ! cost {}
  %o62_0, %o62_1, %o62_2 = loop(%many, %yes, %x, %one) : f32[u239, 3], f32[u240, 3], i64[100000] {
    graph @body(%i62: i64[], %g62: b1[], %v62_0: f32[u233, 3], %v62_1: f32[u234, 3]) {
      %a62 = add(%v62_0, %v62_1) : f32[`broadcast(u233, u234)`, 3]
        ! cost {alu=3*`broadcast(u233, u234)`, read_bytes=12*u233 + 12*u234, write_bytes=12*`broadcast(u233, u234)`, repeat=100000}
      return %g62, %v62_1, %a62, %i62
    }
  }
    ! cost {}
  %o63_0, %o63_1 = loop(%many, %yes, %u) : f32[*], f32[*] {
    graph @body(%i63: i64[], %g63: b1[], %v63_0: f32[*]) {
      %a63 = relu(%v63_0) : f32[*]
        ! cost {repeat=100000}
      return %g63, %a63, %a63
    }
  }
    ! cost {}
  %o64_0, %o64_1 = scan(%x, %y) {num_scan_inputs=1} : f32[2, 3], f32[5, 2, 3] {
    graph @body(%p64_0: f32[2, 3], %p64_1: f32[2, 3]) {
      %a64 = add(%p64_0, %p64_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      return %a64, %a64
    }
  }
    ! cost {}
  %o65_0, %o65_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[1]} : f32[2, 3], f32[7, 2, 3] {
    graph @body(%p65_0: f32[2, 3], %p65_1: f32[2, 3]) {
      %a65 = add(%p65_0, %p65_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=7}
      return %a65, %a65
    }
  }
    ! cost {}
  %o66_0, %o66_1 = scan(%x, %z) {num_scan_inputs=1, scan_input_axes=[-2], scan_output_axes=[1]} : f32[2, 3], f32[2, 7, 3] {
    graph @body(%p66_0: f32[2, 3], %p66_1: f32[2, 3]) {
      %a66 = add(%p66_0, %p66_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=7}
      return %a66, %a66
    }
  }
    ! cost {}
  %o67_0, %o67_1 = scan(%one, %d) {num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1]} : f32[u241, 3], f32[N, 3, 6] {
    graph @body(%p67_0: f32[1, 3], %p67_1: f32[N, 3]) {
      %a67 = add(%p67_0, %p67_1) : f32[N, 3]
        ! cost {alu=3*N, read_bytes=12*N + 12, write_bytes=12*N, repeat=6}
      return %a67, %a67
    }
  }
    ! cost {}
  %o68_0, %o68_1, %o68_2, %o68_3 = scan(%x, %x, %y, %y) {num_scan_inputs=2, scan_input_axes=[0, 0], scan_output_axes=[0, 2]} : f32[2, 3], f32[2, 3], f32[5, 2, 3], f32[2, 3, 5] {
    graph @body(%p68_0: f32[2, 3], %p68_1: f32[2, 3], %p68_2: f32[2, 3], %p68_3: f32[2, 3]) {
      %a68 = add(%p68_0, %p68_2) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      %b68 = mul(%p68_1, %p68_3) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=5}
      return %a68, %b68, %a68, %b68
    }
  }
    ! cost {}
  %o69_0, %o69_1, %o69_2, %o69_3 = scan(%x, %one, %u, %z) {num_scan_inputs=2, scan_input_axes=[0, 1], scan_output_axes=[1]} : f32[*], f32[u242, 3], f32[*], f32[7, 2, 3] {
    graph @body(%p69_0: f32[2, 3], %p69_1: f32[1, 3], %p69_2: f32[*], %p69_3: f32[2, 3]) {
      %a69 = add(%p69_0, %p69_2) : f32[*]
        ! cost {read_bytes=24, repeat=7}
      %b69 = mul(%p69_1, %p69_3) : f32[2, 3]
        ! cost {alu=6, read_bytes=36, write_bytes=24, repeat=7}
      return %a69, %b69, %a69, %b69
    }
  }
    ! cost {}
  %o70_0, %o70_1 = scan(%len, %x, %b) {num_scan_inputs=1, has_batch=true} : f32[*], f32[4, 5, 2, 3] {
    graph @body(%p70_0: f32[3], %p70_1: f32[2, 3]) {
      %a70 = add(%p70_0, %p70_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=36, write_bytes=24, repeat=20}
      return %a70, %a70
    }
  }
    ! cost {}
  %o71_0 = scan(%len, %b) {num_scan_inputs=1, scan_input_axes=[1], has_batch=true} : f32[4, 2, 5, 3] {
    graph @body(%p71_0: f32[5, 3]) {
      %a71 = relu(%p71_0) : f32[5, 3]
        ! cost {alu=15, read_bytes=60, write_bytes=60, repeat=20}
      return %a71
    }
  }
    ! cost {}
  %o72_0 = scan(%d) {num_scan_inputs=1} : f32[N, 6, 3] {
    graph @body(%p72_0: f32[6, 3]) {
      %a72 = relu(%p72_0) : f32[6, 3]
        ! cost {alu=18, read_bytes=72, write_bytes=72, repeat=N}
      return %a72
    }
  }
    ! cost {}
  %o73_0 = scan(%u) {num_scan_inputs=1} : f32[*] {
    graph @body(%p73_0: f32[*]) {
      %a73 = relu(%p73_0) : f32[*]
        ! cost {}
      return %a73
    }
  }
    ! cost {}
  %o74_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a74 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a74
    }
    graph @else_branch() {
      %b74 = abs(%x) : ?
      return %b74
    }
  }
    ! cost {}
  %o75_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a75 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a75
    }
    graph @else_branch() {
      %b75 = abs(%one) : ?
      return %b75
    }
  }
    ! cost {}
  %o76_0 = if(%yes) : f32[2, 3] {
    graph @then_branch() {
      %a76 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a76
    }
    graph @else_branch() {
      %b76 = cast(%x) {to="f16"} : ?
      return %b76
    }
  }
    ! cost {}
  %o77_0 = if(%yes) : i64[] = 3 {
    graph @then_branch() {
      %a77 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a77
    }
    graph @else_branch() {
      %b77 = identity(%t3) : ?
      return %b77
    }
  }
    ! cost {}
  %o78_0 = if(%yes) : i64[] = 3 {
    graph @then_branch() {
      %a78 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a78
    }
    graph @else_branch() {
      %b78 = identity(%t0) : ?
      return %b78
    }
  }
    ! cost {}
  %o79_0 = if(%yes) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a79 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %a79
    }
    graph @else_branch() {
      %b79 = identity(%s) : ?
      return %b79
    }
  }
    ! cost {}
  %o80_0 = if(%no) : f32[2, 3] {
    graph @then_branch() {
      %a80 = relu(%x) : ?
      return %a80
    }
    graph @else_branch() {
      %b80 = abs(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %b80
    }
  }
    ! cost {}
  %o81_0 = if(%no) : f32[1, 3] {
    graph @then_branch() {
      %a81 = relu(%x) : ?
      return %a81
    }
    graph @else_branch() {
      %b81 = abs(%one) : f32[1, 3]
        ! cost {alu=3, read_bytes=12, write_bytes=12}
      return %b81
    }
  }
    ! cost {}
  %o82_0 = if(%no) : f16[2, 3] {
    graph @then_branch() {
      %a82 = relu(%x) : ?
      return %a82
    }
    graph @else_branch() {
      %b82 = cast(%x) {to="f16"} : f16[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=12}
      return %b82
    }
  }
    ! cost {}
  %o83_0 = if(%no) : i64[] = 3 {
    graph @then_branch() {
      %a83 = identity(%t3) : ?
      return %a83
    }
    graph @else_branch() {
      %b83 = identity(%t3) : i64[] = 3
        ! cost {}
      return %b83
    }
  }
    ! cost {}
  %o84_0 = if(%no) : i64[] = 0 {
    graph @then_branch() {
      %a84 = identity(%t3) : ?
      return %a84
    }
    graph @else_branch() {
      %b84 = identity(%t0) : i64[] = 0
        ! cost {}
      return %b84
    }
  }
    ! cost {}
  %o85_0 = if(%no) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a85 = identity(%s) : ?
      return %a85
    }
    graph @else_branch() {
      %b85 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %b85
    }
  }
    ! cost {}
  %o86_0 = if(%c) : f32[2, 3] {
    graph @then_branch() {
      %a86 = relu(%x) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a86
    }
    graph @else_branch() {
      %b86 = abs(%x) : f32[2, 3]
      return %b86
    }
  }
    ! cost {}
  %o87_0 = if(%c) : f32[u244, 3] {
    graph @then_branch() {
      %a87 = relu(%x) : f32[2, 3]
      return %a87
    }
    graph @else_branch() {
      %b87 = abs(%one) : f32[1, 3]
        ! cost {alu=3, read_bytes=12, write_bytes=12}
      return %b87
    }
  }
    ! cost {}
  %o88_0 = if(%c) : ? {
    graph @then_branch() {
      %a88 = relu(%x) : f32[2, 3]
      return %a88
    }
    graph @else_branch() {
      %b88 = cast(%x) {to="f16"} : f16[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=12}
      return %b88
    }
  }
    ! cost {}
  %o89_0 = if(%c) : i64[] = 3 {
    graph @then_branch() {
      %a89 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a89
    }
    graph @else_branch() {
      %b89 = identity(%t3) : i64[] = 3
      return %b89
    }
  }
    ! cost {}
  %o90_0 = if(%c) : i64[] {
    graph @then_branch() {
      %a90 = identity(%t3) : i64[] = 3
        ! cost {}
      return %a90
    }
    graph @else_branch() {
      %b90 = identity(%t0) : i64[] = 0
      return %b90
    }
  }
    ! cost {}
  %o91_0 = if(%c) : seq<f32[2, 3]> {
    graph @then_branch() {
      %a91 = identity(%s) : seq<f32[2, 3]>
        ! cost {}
      return %a91
    }
    graph @else_branch() {
      %b91 = identity(%s) : seq<f32[2, 3]>
      return %b91
    }
  }
    ! cost {}
  %q1 = sequence_construct(%x, %one) : seq<f32[u245, 3]; 2; f32[2, 3], f32[1, 3]>
    ! cost {}
  %q2 = sequence_construct(%x, %x) : seq<f32[2, 3]; 2>
    ! cost {}
  %q3 = sequence_construct(%one, %x) : seq<f32[u246, 3]; 2; f32[1, 3], f32[2, 3]>
    ! cost {}
  %q4 = sequence_construct(%x, %one, %x) : seq<f32[u248, 3]; 3; f32[2, 3], f32[1, 3], f32[2, 3]>
    ! cost {}
  %o93_0 = sequence_map(%q1) : seq<f32[u249, 3]; 2; f32[2, 3], f32[1, 3]> {
    graph @body(%p93_0: f32[u245, 3]) {
      %a93 = relu(%p93_0) : f32[u245, 3]
        ! cost {alu=3*u245, read_bytes=12*u245, write_bytes=12*u245, repeat=2}
      return %a93
    }
  }
    ! cost {}
  %o94_0 = sequence_map(%q2) : seq<f32[2, 3]; 2> {
    graph @body(%p94_0: f32[2, 3]) {
      %a94 = relu(%p94_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24, repeat=2}
      return %a94
    }
  }
    ! cost {}
  %o95_0 = sequence_map(%s) : seq<f32[2, 3]> {
    graph @body(%p95_0: f32[2, 3]) {
      %a95 = relu(%p95_0) : f32[2, 3]
        ! cost {alu=6, read_bytes=24, write_bytes=24}
      return %a95
    }
  }
    ! cost {}
  %o96_0 = sequence_map(%q1, %one) : seq<f32[u250, 3]; 2; f32[2, 3], f32[1, 3]> {
    graph @body(%p96_0: f32[u245, 3], %p96_1: f32[1, 3]) {
      %a96 = add(%p96_0, %p96_1) : f32[u245, 3]
        ! cost {alu=3*u245, read_bytes=12*u245 + 12, write_bytes=12*u245, repeat=2}
      return %a96
    }
  }
    ! cost {}
  %o97_0 = sequence_map(%q1, %q3) : seq<f32[2, 3]; 2> {
    graph @body(%p97_0: f32[u245, 3], %p97_1: f32[u246, 3]) {
      %a97 = add(%p97_0, %p97_1) : f32[max(u245, u246), 3]
        ! cost {alu=3*max(u245, u246), read_bytes=12*u245 + 12*u246, write_bytes=12*max(u245, u246), repeat=2}
      return %a97
    }
  }
    ! cost {}
  %o98_0 = sequence_map(%q1, %q4) : seq<f32[max(u245, u248), 3]; 2> {
    graph @body(%p98_0: f32[u245, 3], %p98_1: f32[u248, 3]) {
      %a98 = add(%p98_0, %p98_1) : f32[max(u245, u248), 3]
        ! cost {alu=3*max(u245, u248), read_bytes=12*u245 + 12*u248, write_bytes=12*max(u245, u248), repeat=2}
      return %a98
    }
  }
    ! cost {}
  %o99_0 = sequence_map(%q2, %s) : seq<f32[2, 3]; 2> {
    graph @body(%p99_0: f32[2, 3], %p99_1: f32[2, 3]) {
      %a99 = add(%p99_0, %p99_1) : f32[2, 3]
        ! cost {alu=6, read_bytes=48, write_bytes=24, repeat=2}
      return %a99
    }
  }
    ! cost {}
  return %o1_0
}
