# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..
extent c in 1..
extent d in 1..

graph @main(%x0: f32[], %x1: i64[] = 0, %x2: f32[1], %x3: f32[2], %x4: f32[2, 2], %x5: f32[2, 3, 4], %x6: f32[2, 3, 4, 5], %x7: f32[3], %x8: i32[] = 10, %x9: f64[5], %x10: i32[] = 0, %x11: i32[5] = [1, 2, 3, 4, 5], %x12: f64[2, 3], %x13: f32[3, 2, 2], %x14: f32[1, 10, 10, 1], %x15: i64[] = 1, %x16: i64[] = 2, %x17: f32[1, 10, 10, 2], %x18: f32[1, 6, 10, 2], %x19: f32[3, 4, 2, 2], %x20: f32[4], %x21: f32[3, 4, 5], %x22: f32[4, 4], %x23: u8[1887], %x24: u8[1058], %x25: f32[1, 2, 1, 3], %x26: f32[2, 2, 3], %x27: f32[3, 4], %x28: f32[2, 3, 5], %x29: f32[3, 5], %x30: f32[5], %x31: f32[4, 5], %x32: f32[1, 3], %x33: f32[5, 5, 5, 5], %x34: i32[] = 8, %x35: i32[] = 16, %x36: i32[] = 8192, %x37: f32[3, 3, 3, 1], %x38: i64[3] = [1, 4, 3], %x39: f32[3, 5, 2], %x40: i64[3, 2] = [[3, 3], [2, 4], [2, 0]], %x41: i64[3, 2] = [[1, 3], [2, 4], [2, 0]], %x42: f32[3, 5, 6], %x43: i64[3, 6] = [[-1, 0, 3, 2, 3, 0], [0, 0, 3, 2, 3, 0], [4, 0, 0, 2, 3, 2]], %x44: i64[3] = [10, 4, 3], %x45: f32[3, 5, 6, 6, 5, 3, 4], %x46: i64[3, 6, 6, 5, 3, 4], %x47: i64[0] = [], %x48: i64[1] = [2], %x49: f32[2, 0, 4], %x50: i64[1] = [1], %x51: i64[2] = [0, 1], %x52: i64[2] = [2, 1], %x53: f64[3, 2, 2], %x54: b1[4, 2] = [[true, true], [true, false], [false, true], [false, false]], %x55: i64[3] = [2, 4, 3], %x56: i64[3, 2] = [[2, 3], [2, 4], [2, 0]], %x57: i64[3] = [0, 4, 3], %x58: f32[1, 128, 1], %x59: i64[] = 8, %x60: i64[] = 16, %x61: f32[16], %x62: f32[b, m, m], %x63: f32[m, k], %x64: f32[n, k], %x65: f32[b, n], %x66: f32[b, m, 2], %x67: f32[n, c, d], %x68: f32[n, d, c], %x69: f32[c]) {
  %y0, %y1 = adagrad(%x0, %x1, %x2, %x2, %x2) {decay_factor=0.10000000149011612, epsilon=9.999999747378752e-06, norm_coefficient=0.0010000000474974513} : ?, ?
  %y2, %y3, %y4, %y5 = adagrad(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3) {decay_factor=0.10000000149011612, epsilon=9.999999747378752e-06, norm_coefficient=0.0010000000474974513} : ?, ?, ?, ?
  %y6, %y7, %y8 = adam(%x0, %x1, %x3, %x3, %x3, %x3) {alpha=0.949999988079071, beta=0.10000000149011612, epsilon=1.0000000116860974e-07, norm_coefficient=0.0010000000474974513} : ?, ?, ?
  %y9, %y10, %y11, %y12, %y13, %y14 = adam(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3, %x2, %x3) {alpha=0.949999988079071, beta=0.8500000238418579, epsilon=0.009999999776482582, norm_coefficient=0.0010000000474974513} : ?, ?, ?, ?, ?, ?
  %y15 = argmax(%x4) : ?
  %y16 = argmax(%x4) {select_last_index=1} : ?
  %y17 = argmax(%x5) : ?
  %y18 = argmax(%x5) {select_last_index=1} : ?
  %y19 = argmax(%x4) {axis=1} : ?
  %y20 = argmax(%x4) {axis=1, select_last_index=1} : ?
  %y21 = argmax(%x5) {axis=1} : ?
  %y22 = argmax(%x5) {axis=1, select_last_index=1} : ?
  %y23 = argmax(%x4) {axis=-1} : ?
  %y24 = argmax(%x4) {axis=-1, select_last_index=1} : ?
  %y25 = argmax(%x5) {axis=-1} : ?
  %y26 = argmax(%x5) {axis=-1, select_last_index=1} : ?
  %y27 = argmax(%x4) {axis=1, keepdims=0} : ?
  %y28 = argmax(%x4) {axis=1, keepdims=0, select_last_index=1} : ?
  %y29 = argmin(%x4) : ?
  %y30 = argmin(%x4) {select_last_index=1} : ?
  %y31 = argmin(%x5) : ?
  %y32 = argmin(%x5) {select_last_index=1} : ?
  %y33 = argmin(%x4) {axis=1} : ?
  %y34 = argmin(%x4) {axis=1, select_last_index=1} : ?
  %y35 = argmin(%x5) {axis=1} : ?
  %y36 = argmin(%x5) {axis=1, select_last_index=1} : ?
  %y37 = argmin(%x4) {axis=-1} : ?
  %y38 = argmin(%x4) {axis=-1, select_last_index=1} : ?
  %y39 = argmin(%x5) {axis=-1} : ?
  %y40 = argmin(%x5) {axis=-1, select_last_index=1} : ?
  %y41 = argmin(%x4) {axis=1, keepdims=0} : ?
  %y42 = argmin(%x4) {axis=1, keepdims=0, select_last_index=1} : ?
  %y43 = batch_norm(%x6, %x7, %x7, %x7, %x7) {epsilon=0.009999999776482582} : ?
  %y44, %y45, %y46 = batch_norm(%x6, %x7, %x7, %x7, %x7) {epsilon=0.009999999776482582, training_mode=1} : ?, ?, ?
  %y47 = batch_norm(%x6, %x7, %x7, %x7, %x7) : ?
  %y48, %y49, %y50 = batch_norm(%x6, %x7, %x7, %x7, %x7) {training_mode=1} : ?, ?, ?
  %y51 = blackman_window(%x8) : ?
  %y52 = blackman_window(%x8) {periodic=0} : ?
  %y53 = cumprod(%x9, %x10) : ?
  %y54 = cumprod(%x9, %x10) {exclusive=1} : ?
  %y55 = cumprod(%x11, %x10) {exclusive=1} : ?
  %y56 = cumprod(%x9, %x10) {reverse=1} : ?
  %y57 = cumprod(%x9, %x10) {exclusive=1, reverse=1} : ?
  %y58 = cumprod(%x12, %x10) : ?
  %y59 = cumsum(%x9, %x10) : ?
  %y60 = cumsum(%x9, %x10) {exclusive=1} : ?
  %y61 = cumsum(%x11, %x10) {exclusive=1} : ?
  %y62 = cumsum(%x9, %x10) {reverse=1} : ?
  %y63 = cumsum(%x9, %x10) {exclusive=1, reverse=1} : ?
  %y64 = cumsum(%x12, %x10) : ?
  %y65 = det(%x4) : ?
  %y66 = det(%x13) : ?
  %y67 = dft(%x14, _, %x15) : ?
  %y68 = dft(%x14, _, %x16) : ?
  %y69 = dft(%x17, _, %x15) {inverse=1} : ?
  %y70 = dft(%x18, _, %x15) {inverse=1, onesided=1} : ?
  %y71 = dft(%x14, _, %x15) {onesided=1} : ?
  %y72 = group_norm(%x19, %x20, %x20) {num_groups=2, epsilon=0.009999999776482582} : ?
  %y73 = group_norm(%x19, %x20, %x20) {num_groups=2} : ?
  %y74 = hamming_window(%x8) : ?
  %y75 = hamming_window(%x8) {periodic=0} : ?
  %y76 = hann_window(%x8) : ?
  %y77 = hann_window(%x8) {periodic=0} : ?
  %y78 = hardmax(%x21) {axis=0} : ?
  %y79 = hardmax(%x21) {axis=1} : ?
  %y80 = hardmax(%x21) {axis=2} : ?
  %y81 = hardmax(%x21) : ?
  %y82 = hardmax(%x22) : ?
  %y83 = image_decoder(%x23) : ?
  %y84 = image_decoder(%x24) {pixel_format="BGR"} : ?
  %y85 = image_decoder(%x24) {pixel_format="Grayscale"} : ?
  %y86 = image_decoder(%x24) : ?
  %y87 = instance_norm(%x6, %x7, %x7) {epsilon=0.009999999776482582} : ?
  %y88 = instance_norm(%x25, %x3, %x3) : ?
  %y89 = lp_norm(%x3) {axis=0, p=1} : ?
  %y90 = lp_norm(%x4) {axis=1, p=1} : ?
  %y91 = lp_norm(%x26) {p=1} : ?
  %y92 = lp_norm(%x26) {axis=0} : ?
  %y93 = lp_norm(%x4) {axis=1} : ?
  %y94, %y95, %y96 = layer_norm(%x27, %x27, %x27) {axis=0} : ?, ?, ?
  %y97, %y98, %y99 = layer_norm(%x27, %x20, %x20) {axis=1} : ?, ?, ?
  %y100, %y101, %y102 = layer_norm(%x27, %x20, %x20) : ?, ?, ?
  %y103, %y104, %y105 = layer_norm(%x27, %x27, %x27) {axis=-2} : ?, ?, ?
  %y106, %y107, %y108 = layer_norm(%x28, %x28, %x28) {axis=0, epsilon=0.10000000149011612} : ?, ?, ?
  %y109, %y110, %y111 = layer_norm(%x28, %x29, %x29) {axis=1, epsilon=0.10000000149011612} : ?, ?, ?
  %y112, %y113, %y114 = layer_norm(%x28, %x30, %x30) {axis=2, epsilon=0.10000000149011612} : ?, ?, ?
  %y115, %y116, %y117 = layer_norm(%x28, %x30, %x30) {epsilon=0.10000000149011612} : ?, ?, ?
  %y118, %y119, %y120 = layer_norm(%x28, %x29, %x29) {axis=-2, epsilon=0.10000000149011612} : ?, ?, ?
  %y121, %y122, %y123 = layer_norm(%x28, %x28, %x28) {axis=-3, epsilon=0.10000000149011612} : ?, ?, ?
  %y124, %y125, %y126 = layer_norm(%x6, %x6, %x6) {axis=0} : ?, ?, ?
  %y127, %y128, %y129 = layer_norm(%x6, %x21, %x21) {axis=1} : ?, ?, ?
  %y130, %y131, %y132 = layer_norm(%x6, %x31, %x31) {axis=2} : ?, ?, ?
  %y133, %y134, %y135 = layer_norm(%x6, %x30, %x30) {axis=3} : ?, ?, ?
  %y136 = log_softmax(%x21) {axis=0} : ?
  %y137 = log_softmax(%x21) {axis=1} : ?
  %y138 = log_softmax(%x21) {axis=2} : ?
  %y139 = log_softmax(%x21) : ?
  %y140 = log_softmax(%x32) : ?
  %y141 = lp_norm(%x26) : ?
  %y142 = lrn(%x33) {size=3, alpha=0.00019999999494757503, beta=0.5, bias=2.0} : ?
  %y143 = lrn(%x33) {size=3} : ?
  %y144 = mel_weight_matrix(%x34, %x35, %x36, %x0, %x0) : ?
  %y145, %y146 = momentum(%x0, %x1, %x3, %x3, %x3) {alpha=0.949999988079071, beta=0.10000000149011612, norm_coefficient=0.0010000000474974513} : ?, ?
  %y147, %y148, %y149, %y150 = momentum(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3) {alpha=0.949999988079071, beta=0.8500000238418579, norm_coefficient=0.0010000000474974513} : ?, ?, ?, ?
  %y151 = mean_variance_norm(%x37) : ?
  %y152, %y153 = momentum(%x0, %x1, %x3, %x3, %x3) {alpha=0.949999988079071, beta=1.0, mode="nesterov", norm_coefficient=0.009999999776482582} : ?, ?
  %y154 = nll_loss(%x29, %x38) {reduction="none"} : ?
  %y155 = nll_loss(%x39, %x40) : ?
  %y156 = nll_loss(%x39, %x41) {ignore_index=1} : ?
  %y157 = nll_loss(%x42, %x43, %x30) {ignore_index=-1} : ?
  %y158 = nll_loss(%x39, %x40, %x30) : ?
  %y159 = nll_loss(%x39, %x41, %x30) {ignore_index=1} : ?
  %y160 = nll_loss(%x29, %x44, %x30) {reduction="sum", ignore_index=10} : ?
  %y161 = nll_loss(%x45, %x46, %x30) : ?
  %y162 = nll_loss(%x45, %x46) {reduction="none"} : ?
  %y163 = reduce_l1(%x13, %x47) : ?
  %y164 = reduce_l1(%x13, %x48) {keepdims=0} : ?
  %y165 = reduce_l1(%x49, %x50) : ?
  %y166 = reduce_l2(%x13, %x47) : ?
  %y167 = reduce_l2(%x13, %x48) {keepdims=0} : ?
  %y168 = reduce_l2(%x49, %x50) : ?
  %y169 = reduce_log_sum(%x21, %x51) {keepdims=0} : ?
  %y170 = reduce_log_sum(%x21, %x47) : ?
  %y171 = reduce_log_sum(%x21, %x52) {keepdims=0} : ?
  %y172 = reduce_log_sum(%x49, %x50) : ?
  %y173 = reduce_log_sum_exp(%x53, %x47) : ?
  %y174 = reduce_log_sum_exp(%x53, %x50) {keepdims=0} : ?
  %y175 = reduce_log_sum_exp(%x49, %x50) : ?
  %y176 = reduce_max(%x54, %x50) : ?
  %y177 = reduce_max(%x13) : ?
  %y178 = reduce_max(%x13, %x50) {keepdims=0} : ?
  %y179 = reduce_max(%x49, %x50) : ?
  %y180 = reduce_mean(%x13, %x47) : ?
  %y181 = reduce_mean(%x13, %x50) {keepdims=0} : ?
  %y182 = reduce_mean(%x13, %x50) : ?
  %y183 = reduce_min(%x54, %x50) : ?
  %y184 = reduce_min(%x13) : ?
  %y185 = reduce_min(%x13, %x50) {keepdims=0} : ?
  %y186 = reduce_min(%x49, %x50) : ?
  %y187 = reduce_prod(%x13) : ?
  %y188 = reduce_prod(%x13, %x50) {keepdims=0} : ?
  %y189 = reduce_prod(%x49, %x50) : ?
  %y190 = reduce_prod(%x13, %x50) : ?
  %y191 = reduce_sum(%x13, %x47) : ?
  %y192 = reduce_sum(%x13, %x50) {keepdims=0} : ?
  %y193 = reduce_sum(%x13, %x47) {noop_with_empty_axes=1} : ?
  %y194 = reduce_sum(%x49, %x50) : ?
  %y195 = reduce_sum_square(%x13, %x47) : ?
  %y196 = reduce_sum_square(%x13, %x50) {keepdims=0} : ?
  %y197 = reduce_sum_square(%x49, %x50) : ?
  %y198 = rms_norm(%x27, %x27) {axis=0} : ?
  %y199 = rms_norm(%x27, %x20) {axis=1} : ?
  %y200 = rms_norm(%x27, %x20) : ?
  %y201 = rms_norm(%x27, %x27) {axis=-2} : ?
  %y202 = rms_norm(%x28, %x28) {axis=0, epsilon=0.10000000149011612} : ?
  %y203 = rms_norm(%x28, %x29) {axis=1, epsilon=0.10000000149011612} : ?
  %y204 = rms_norm(%x28, %x30) {axis=2, epsilon=0.10000000149011612} : ?
  %y205 = rms_norm(%x28, %x30) {epsilon=0.10000000149011612} : ?
  %y206 = rms_norm(%x28, %x29) {axis=-2, epsilon=0.10000000149011612} : ?
  %y207 = rms_norm(%x28, %x28) {axis=-3, epsilon=0.10000000149011612} : ?
  %y208 = rms_norm(%x6, %x6) {axis=0} : ?
  %y209 = rms_norm(%x6, %x21) {axis=1} : ?
  %y210 = rms_norm(%x6, %x31) {axis=2} : ?
  %y211 = rms_norm(%x6, %x30) {axis=3} : ?
  %y212 = softmax_cross_entropy_loss(%x42, %x43, %x30) {ignore_index=-1} : ?
  %y213 = softmax_cross_entropy_loss(%x29, %x44, %x30) {reduction="sum", ignore_index=10} : ?
  %y214 = softmax_cross_entropy_loss(%x45, %x46, %x30) : ?
  %y215 = softmax_cross_entropy_loss(%x45, %x46) {reduction="none"} : ?
  %y216 = softmax_cross_entropy_loss(%x29, %x38) : ?
  %y217 = softmax_cross_entropy_loss(%x39, %x40) : ?
  %y218 = softmax_cross_entropy_loss(%x29, %x55) {ignore_index=2} : ?
  %y219 = softmax_cross_entropy_loss(%x39, %x56) {ignore_index=2} : ?
  %y220 = softmax_cross_entropy_loss(%x29, %x38, %x30) : ?
  %y221 = softmax_cross_entropy_loss(%x29, %x57, %x30) {ignore_index=0} : ?
  %y222 = softmax_cross_entropy_loss(%x39, %x41, %x30) {ignore_index=1} : ?
  %y223 = softmax_cross_entropy_loss(%x29, %x38) {reduction="none"} : ?
  %y224 = softmax_cross_entropy_loss(%x29, %x38, %x30) {reduction="none"} : ?
  %y225 = softmax_cross_entropy_loss(%x29, %x38) {reduction="sum"} : ?
  %y226 = softmax(%x21) {axis=0} : ?
  %y227 = softmax(%x21) {axis=1} : ?
  %y228 = softmax(%x21) {axis=2} : ?
  %y229 = softmax(%x21) : ?
  %y230 = softmax(%x32) : ?
  %y231 = stft(%x58, %x59, _, %x60) : ?
  %y232 = stft(%x58, %x59, %x61) : ?
  %y233 = inverse(%x62) : ?
  %y234 = cdist(%x63, %x64) : ?
  %y235 = rfft(%x65) : ?
  %y236 = irfft(%x66) : ?
  %y237 = gated_add(%x67, %x67, %x67) : ?
  %y238 = scaled_silu(%x67, %x67) : ?
  %y239 = murmur_hash3(%x67) : ?
  %y240 = group_norm_nhwc(%x68, %x69, %x69) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166, %y167, %y168, %y169, %y170, %y171, %y172, %y173, %y174, %y175, %y176, %y177, %y178, %y179, %y180, %y181, %y182, %y183, %y184, %y185, %y186, %y187, %y188, %y189, %y190, %y191, %y192, %y193, %y194, %y195, %y196, %y197, %y198, %y199, %y200, %y201, %y202, %y203, %y204, %y205, %y206, %y207, %y208, %y209, %y210, %y211, %y212, %y213, %y214, %y215, %y216, %y217, %y218, %y219, %y220, %y221, %y222, %y223, %y224, %y225, %y226, %y227, %y228, %y229, %y230, %y231, %y232, %y233, %y234, %y235, %y236, %y237, %y238, %y239, %y240
}
# ---- expect
perfir 1
module @main
extent b in 1..
extent m in 1..
extent k in 1..
extent n in 1..
extent c in 1..
extent d in 1..
extent u1 in 0..
extent u2 in 0..
extent u3 in 0..
extent u4 in 0..
extent u5 in 0..
extent u6 in 0..
extent u7 in 0..
extent u8 in 0..

graph @main(%x0: f32[], %x1: i64[] = 0, %x2: f32[1], %x3: f32[2], %x4: f32[2, 2], %x5: f32[2, 3, 4], %x6: f32[2, 3, 4, 5], %x7: f32[3], %x8: i32[] = 10, %x9: f64[5], %x10: i32[] = 0, %x11: i32[5] = [1, 2, 3, 4, 5], %x12: f64[2, 3], %x13: f32[3, 2, 2], %x14: f32[1, 10, 10, 1], %x15: i64[] = 1, %x16: i64[] = 2, %x17: f32[1, 10, 10, 2], %x18: f32[1, 6, 10, 2], %x19: f32[3, 4, 2, 2], %x20: f32[4], %x21: f32[3, 4, 5], %x22: f32[4, 4], %x23: u8[1887], %x24: u8[1058], %x25: f32[1, 2, 1, 3], %x26: f32[2, 2, 3], %x27: f32[3, 4], %x28: f32[2, 3, 5], %x29: f32[3, 5], %x30: f32[5], %x31: f32[4, 5], %x32: f32[1, 3], %x33: f32[5, 5, 5, 5], %x34: i32[] = 8, %x35: i32[] = 16, %x36: i32[] = 8192, %x37: f32[3, 3, 3, 1], %x38: i64[3] = [1, 4, 3], %x39: f32[3, 5, 2], %x40: i64[3, 2] = [[3, 3], [2, 4], [2, 0]], %x41: i64[3, 2] = [[1, 3], [2, 4], [2, 0]], %x42: f32[3, 5, 6], %x43: i64[3, 6] = [[-1, 0, 3, 2, 3, 0], [0, 0, 3, 2, 3, 0], [4, 0, 0, 2, 3, 2]], %x44: i64[3] = [10, 4, 3], %x45: f32[3, 5, 6, 6, 5, 3, 4], %x46: i64[3, 6, 6, 5, 3, 4], %x47: i64[0] = [], %x48: i64[1] = [2], %x49: f32[2, 0, 4], %x50: i64[1] = [1], %x51: i64[2] = [0, 1], %x52: i64[2] = [2, 1], %x53: f64[3, 2, 2], %x54: b1[4, 2] = [[true, true], [true, false], [false, true], [false, false]], %x55: i64[3] = [2, 4, 3], %x56: i64[3, 2] = [[2, 3], [2, 4], [2, 0]], %x57: i64[3] = [0, 4, 3], %x58: f32[1, 128, 1], %x59: i64[] = 8, %x60: i64[] = 16, %x61: f32[16], %x62: f32[b, m, m], %x63: f32[m, k], %x64: f32[n, k], %x65: f32[b, n], %x66: f32[b, m, 2], %x67: f32[n, c, d], %x68: f32[n, d, c], %x69: f32[c]) {
  %y0, %y1 = adagrad(%x0, %x1, %x2, %x2, %x2) {decay_factor=0.10000000149011612, epsilon=9.999999747378752e-06, norm_coefficient=0.0010000000474974513} : f32[1], f32[1]
    ! cost {alu=7, sfu=2, read_bytes=16, write_bytes=8}
  %y2, %y3, %y4, %y5 = adagrad(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3) {decay_factor=0.10000000149011612, epsilon=9.999999747378752e-06, norm_coefficient=0.0010000000474974513} : f32[1], f32[2], f32[1], f32[2]
    ! cost {alu=21, sfu=6, read_bytes=24, write_bytes=24}
  %y6, %y7, %y8 = adam(%x0, %x1, %x3, %x3, %x3, %x3) {alpha=0.949999988079071, beta=0.10000000149011612, epsilon=1.0000000116860974e-07, norm_coefficient=0.0010000000474974513} : f32[2], f32[2], f32[2]
    ! cost {alu=26, sfu=4, read_bytes=20, write_bytes=24}
  %y9, %y10, %y11, %y12, %y13, %y14 = adam(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3, %x2, %x3) {alpha=0.949999988079071, beta=0.8500000238418579, epsilon=0.009999999776482582, norm_coefficient=0.0010000000474974513} : f32[1], f32[2], f32[1], f32[2], f32[1], f32[2]
    ! cost {alu=39, sfu=6, read_bytes=24, write_bytes=36}
  %y15 = argmax(%x4) : i64[1, 2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y16 = argmax(%x4) {select_last_index=1} : i64[1, 2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y17 = argmax(%x5) : i64[1, 3, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=96}
  %y18 = argmax(%x5) {select_last_index=1} : i64[1, 3, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=96}
  %y19 = argmax(%x4) {axis=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y20 = argmax(%x4) {axis=1, select_last_index=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y21 = argmax(%x5) {axis=1} : i64[2, 1, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=64}
  %y22 = argmax(%x5) {axis=1, select_last_index=1} : i64[2, 1, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=64}
  %y23 = argmax(%x4) {axis=-1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y24 = argmax(%x4) {axis=-1, select_last_index=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y25 = argmax(%x5) {axis=-1} : i64[2, 3, 1]
    ! cost {alu=24, read_bytes=96, write_bytes=48}
  %y26 = argmax(%x5) {axis=-1, select_last_index=1} : i64[2, 3, 1]
    ! cost {alu=24, read_bytes=96, write_bytes=48}
  %y27 = argmax(%x4) {axis=1, keepdims=0} : i64[2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y28 = argmax(%x4) {axis=1, keepdims=0, select_last_index=1} : i64[2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y29 = argmin(%x4) : i64[1, 2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y30 = argmin(%x4) {select_last_index=1} : i64[1, 2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y31 = argmin(%x5) : i64[1, 3, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=96}
  %y32 = argmin(%x5) {select_last_index=1} : i64[1, 3, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=96}
  %y33 = argmin(%x4) {axis=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y34 = argmin(%x4) {axis=1, select_last_index=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y35 = argmin(%x5) {axis=1} : i64[2, 1, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=64}
  %y36 = argmin(%x5) {axis=1, select_last_index=1} : i64[2, 1, 4]
    ! cost {alu=24, read_bytes=96, write_bytes=64}
  %y37 = argmin(%x4) {axis=-1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y38 = argmin(%x4) {axis=-1, select_last_index=1} : i64[2, 1]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y39 = argmin(%x5) {axis=-1} : i64[2, 3, 1]
    ! cost {alu=24, read_bytes=96, write_bytes=48}
  %y40 = argmin(%x5) {axis=-1, select_last_index=1} : i64[2, 3, 1]
    ! cost {alu=24, read_bytes=96, write_bytes=48}
  %y41 = argmin(%x4) {axis=1, keepdims=0} : i64[2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y42 = argmin(%x4) {axis=1, keepdims=0, select_last_index=1} : i64[2]
    ! cost {alu=4, read_bytes=16, write_bytes=16}
  %y43 = batch_norm(%x6, %x7, %x7, %x7, %x7) {epsilon=0.009999999776482582} : f32[2, 3, 4, 5]
    ! cost {alu=240, sfu=3, read_bytes=492, write_bytes=480}
  %y44, %y45, %y46 = batch_norm(%x6, %x7, %x7, %x7, %x7) {epsilon=0.009999999776482582, training_mode=1} : f32[2, 3, 4, 5], f32[3], f32[3]
    ! cost {alu=720, sfu=3, read_bytes=492, write_bytes=504}
  %y47 = batch_norm(%x6, %x7, %x7, %x7, %x7) : f32[2, 3, 4, 5]
    ! cost {alu=240, sfu=3, read_bytes=492, write_bytes=480}
  %y48, %y49, %y50 = batch_norm(%x6, %x7, %x7, %x7, %x7) {training_mode=1} : f32[2, 3, 4, 5], f32[3], f32[3]
    ! cost {alu=720, sfu=3, read_bytes=492, write_bytes=504}
  %y51 = blackman_window(%x8) : f32[10]
    ! cost {alu=60, sfu=20, write_bytes=40}
  %y52 = blackman_window(%x8) {periodic=0} : f32[10]
    ! cost {alu=60, sfu=20, write_bytes=40}
  %y53 = cumprod(%x9, %x10) : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y54 = cumprod(%x9, %x10) {exclusive=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y55 = cumprod(%x11, %x10) {exclusive=1} : i32[5] = [1, 1, 2, 6, 24]
    ! cost {integer=5, read_bytes=24, write_bytes=20}
  %y56 = cumprod(%x9, %x10) {reverse=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y57 = cumprod(%x9, %x10) {exclusive=1, reverse=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y58 = cumprod(%x12, %x10) : f64[2, 3]
    ! cost {alu=6, read_bytes=52, write_bytes=48}
  %y59 = cumsum(%x9, %x10) : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y60 = cumsum(%x9, %x10) {exclusive=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y61 = cumsum(%x11, %x10) {exclusive=1} : i32[5] = [0, 1, 3, 6, 10]
    ! cost {integer=5, read_bytes=24, write_bytes=20}
  %y62 = cumsum(%x9, %x10) {reverse=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y63 = cumsum(%x9, %x10) {exclusive=1, reverse=1} : f64[5]
    ! cost {alu=5, read_bytes=44, write_bytes=40}
  %y64 = cumsum(%x12, %x10) : f64[2, 3]
    ! cost {alu=6, read_bytes=52, write_bytes=48}
  %y65 = det(%x4) : f32[]
    ! cost {alu=4, sfu=1, read_bytes=16, write_bytes=4}
  %y66 = det(%x13) : f32[3]
    ! cost {alu=12, sfu=3, read_bytes=48, write_bytes=12}
  %y67 = dft(%x14, _, %x15) : f32[1, 10, 10, 2]
    ! cost {alu=1500, read_bytes=408, write_bytes=800}
  %y68 = dft(%x14, _, %x16) : f32[1, 10, 10, 2]
    ! cost {alu=1500, read_bytes=408, write_bytes=800}
  %y69 = dft(%x17, _, %x15) {inverse=1} : f32[1, 10, 10, 2]
    ! cost {alu=1500, read_bytes=808, write_bytes=800}
  %y70 = dft(%x18, _, %x15) {inverse=1, onesided=1} : f32[1, 10, 10, 1]
    ! cost {alu=750, read_bytes=488, write_bytes=400}
  %y71 = dft(%x14, _, %x15) {onesided=1} : f32[1, 6, 10, 2]
    ! cost {alu=750, read_bytes=408, write_bytes=480}
  %y72 = group_norm(%x19, %x20, %x20) {num_groups=2, epsilon=0.009999999776482582} : f32[3, 4, 2, 2]
    ! cost {alu=336, sfu=6, read_bytes=208, write_bytes=192}
  %y73 = group_norm(%x19, %x20, %x20) {num_groups=2} : f32[3, 4, 2, 2]
    ! cost {alu=336, sfu=6, read_bytes=208, write_bytes=192}
  %y74 = hamming_window(%x8) : f32[10]
    ! cost {alu=30, sfu=10, write_bytes=40}
  %y75 = hamming_window(%x8) {periodic=0} : f32[10]
    ! cost {alu=30, sfu=10, write_bytes=40}
  %y76 = hann_window(%x8) : f32[10]
    ! cost {alu=30, sfu=10, write_bytes=40}
  %y77 = hann_window(%x8) {periodic=0} : f32[10]
    ! cost {alu=30, sfu=10, write_bytes=40}
  %y78 = hardmax(%x21) {axis=0} : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y79 = hardmax(%x21) {axis=1} : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y80 = hardmax(%x21) {axis=2} : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y81 = hardmax(%x21) : f32[3, 4, 5]
    ! cost {alu=120, read_bytes=240, write_bytes=240}
  %y82 = hardmax(%x22) : f32[4, 4]
    ! cost {alu=32, read_bytes=64, write_bytes=64}
  %y83 = image_decoder(%x23) : u8[u1, u2, 3]
    ! cost {read_bytes=1887, write_bytes=3*u1*u2}
  %y84 = image_decoder(%x24) {pixel_format="BGR"} : u8[u3, u4, 3]
    ! cost {read_bytes=1058, write_bytes=3*u3*u4}
  %y85 = image_decoder(%x24) {pixel_format="Grayscale"} : u8[u5, u6, 1]
    ! cost {read_bytes=1058, write_bytes=u5*u6}
  %y86 = image_decoder(%x24) : u8[u7, u8, 3]
    ! cost {read_bytes=1058, write_bytes=3*u7*u8}
  %y87 = instance_norm(%x6, %x7, %x7) {epsilon=0.009999999776482582} : f32[2, 3, 4, 5]
    ! cost {alu=840, sfu=6, read_bytes=492, write_bytes=480}
  %y88 = instance_norm(%x25, %x3, %x3) : f32[1, 2, 1, 3]
    ! cost {alu=42, sfu=2, read_bytes=32, write_bytes=24}
  %y89 = lp_norm(%x3) {axis=0, p=1} : f32[2]
    ! cost {alu=6, sfu=1, read_bytes=8, write_bytes=8}
  %y90 = lp_norm(%x4) {axis=1, p=1} : f32[2, 2]
    ! cost {alu=12, sfu=2, read_bytes=16, write_bytes=16}
  %y91 = lp_norm(%x26) {p=1} : f32[2, 2, 3]
    ! cost {alu=36, sfu=4, read_bytes=48, write_bytes=48}
  %y92 = lp_norm(%x26) {axis=0} : f32[2, 2, 3]
    ! cost {alu=36, sfu=6, read_bytes=48, write_bytes=48}
  %y93 = lp_norm(%x4) {axis=1} : f32[2, 2]
    ! cost {alu=12, sfu=2, read_bytes=16, write_bytes=16}
  %y94, %y95, %y96 = layer_norm(%x27, %x27, %x27) {axis=0} : f32[3, 4], f32[1, 1], f32[1, 1]
    ! cost {alu=84, sfu=1, read_bytes=48, write_bytes=56}
  %y97, %y98, %y99 = layer_norm(%x27, %x20, %x20) {axis=1} : f32[3, 4], f32[3, 1], f32[3, 1]
    ! cost {alu=84, sfu=3, read_bytes=64, write_bytes=72}
  %y100, %y101, %y102 = layer_norm(%x27, %x20, %x20) : f32[3, 4], f32[3, 1], f32[3, 1]
    ! cost {alu=84, sfu=3, read_bytes=64, write_bytes=72}
  %y103, %y104, %y105 = layer_norm(%x27, %x27, %x27) {axis=-2} : f32[3, 4], f32[1, 1], f32[1, 1]
    ! cost {alu=84, sfu=1, read_bytes=48, write_bytes=56}
  %y106, %y107, %y108 = layer_norm(%x28, %x28, %x28) {axis=0, epsilon=0.10000000149011612} : f32[2, 3, 5], f32[1, 1, 1], f32[1, 1, 1]
    ! cost {alu=210, sfu=1, read_bytes=120, write_bytes=128}
  %y109, %y110, %y111 = layer_norm(%x28, %x29, %x29) {axis=1, epsilon=0.10000000149011612} : f32[2, 3, 5], f32[2, 1, 1], f32[2, 1, 1]
    ! cost {alu=210, sfu=2, read_bytes=180, write_bytes=136}
  %y112, %y113, %y114 = layer_norm(%x28, %x30, %x30) {axis=2, epsilon=0.10000000149011612} : f32[2, 3, 5], f32[2, 3, 1], f32[2, 3, 1]
    ! cost {alu=210, sfu=6, read_bytes=140, write_bytes=168}
  %y115, %y116, %y117 = layer_norm(%x28, %x30, %x30) {epsilon=0.10000000149011612} : f32[2, 3, 5], f32[2, 3, 1], f32[2, 3, 1]
    ! cost {alu=210, sfu=6, read_bytes=140, write_bytes=168}
  %y118, %y119, %y120 = layer_norm(%x28, %x29, %x29) {axis=-2, epsilon=0.10000000149011612} : f32[2, 3, 5], f32[2, 1, 1], f32[2, 1, 1]
    ! cost {alu=210, sfu=2, read_bytes=180, write_bytes=136}
  %y121, %y122, %y123 = layer_norm(%x28, %x28, %x28) {axis=-3, epsilon=0.10000000149011612} : f32[2, 3, 5], f32[1, 1, 1], f32[1, 1, 1]
    ! cost {alu=210, sfu=1, read_bytes=120, write_bytes=128}
  %y124, %y125, %y126 = layer_norm(%x6, %x6, %x6) {axis=0} : f32[2, 3, 4, 5], f32[1, 1, 1, 1], f32[1, 1, 1, 1]
    ! cost {alu=840, sfu=1, read_bytes=480, write_bytes=488}
  %y127, %y128, %y129 = layer_norm(%x6, %x21, %x21) {axis=1} : f32[2, 3, 4, 5], f32[2, 1, 1, 1], f32[2, 1, 1, 1]
    ! cost {alu=840, sfu=2, read_bytes=720, write_bytes=496}
  %y130, %y131, %y132 = layer_norm(%x6, %x31, %x31) {axis=2} : f32[2, 3, 4, 5], f32[2, 3, 1, 1], f32[2, 3, 1, 1]
    ! cost {alu=840, sfu=6, read_bytes=560, write_bytes=528}
  %y133, %y134, %y135 = layer_norm(%x6, %x30, %x30) {axis=3} : f32[2, 3, 4, 5], f32[2, 3, 4, 1], f32[2, 3, 4, 1]
    ! cost {alu=840, sfu=24, read_bytes=500, write_bytes=672}
  %y136 = log_softmax(%x21) {axis=0} : f32[3, 4, 5]
    ! cost {alu=240, sfu=80, read_bytes=240, write_bytes=240}
  %y137 = log_softmax(%x21) {axis=1} : f32[3, 4, 5]
    ! cost {alu=240, sfu=75, read_bytes=240, write_bytes=240}
  %y138 = log_softmax(%x21) {axis=2} : f32[3, 4, 5]
    ! cost {alu=240, sfu=72, read_bytes=240, write_bytes=240}
  %y139 = log_softmax(%x21) : f32[3, 4, 5]
    ! cost {alu=240, sfu=72, read_bytes=240, write_bytes=240}
  %y140 = log_softmax(%x32) : f32[1, 3]
    ! cost {alu=12, sfu=4, read_bytes=12, write_bytes=12}
  %y141 = lp_norm(%x26) : f32[2, 2, 3]
    ! cost {alu=36, sfu=4, read_bytes=48, write_bytes=48}
  %y142 = lrn(%x33) {size=3, alpha=0.00019999999494757503, beta=0.5, bias=2.0} : f32[5, 5, 5, 5]
    ! cost {alu=3750, sfu=625, read_bytes=2500, write_bytes=2500}
  %y143 = lrn(%x33) {size=3} : f32[5, 5, 5, 5]
    ! cost {alu=3750, sfu=625, read_bytes=2500, write_bytes=2500}
  %y144 = mel_weight_matrix(%x34, %x35, %x36, %x0, %x0) : f32[9, 8]
    ! cost {read_bytes=16, write_bytes=288}
  %y145, %y146 = momentum(%x0, %x1, %x3, %x3, %x3) {alpha=0.949999988079071, beta=0.10000000149011612, norm_coefficient=0.0010000000474974513} : f32[2], f32[2]
    ! cost {alu=14, read_bytes=20, write_bytes=16}
  %y147, %y148, %y149, %y150 = momentum(%x0, %x1, %x2, %x3, %x2, %x3, %x2, %x3) {alpha=0.949999988079071, beta=0.8500000238418579, norm_coefficient=0.0010000000474974513} : f32[1], f32[2], f32[1], f32[2]
    ! cost {alu=21, read_bytes=24, write_bytes=24}
  %y151 = mean_variance_norm(%x37) : f32[3, 3, 3, 1]
    ! cost {alu=135, sfu=3, read_bytes=108, write_bytes=108}
  %y152, %y153 = momentum(%x0, %x1, %x3, %x3, %x3) {alpha=0.949999988079071, beta=1.0, mode="nesterov", norm_coefficient=0.009999999776482582} : f32[2], f32[2]
    ! cost {alu=14, read_bytes=20, write_bytes=16}
  %y154 = nll_loss(%x29, %x38) {reduction="none"} : f32[3]
    ! cost {alu=3, read_bytes=36, write_bytes=12}
  %y155 = nll_loss(%x39, %x40) : f32[]
    ! cost {alu=12, read_bytes=72, write_bytes=4}
  %y156 = nll_loss(%x39, %x41) {ignore_index=1} : f32[]
    ! cost {alu=12, read_bytes=72, write_bytes=4}
  %y157 = nll_loss(%x42, %x43, %x30) {ignore_index=-1} : f32[]
    ! cost {alu=54, read_bytes=236, write_bytes=4}
  %y158 = nll_loss(%x39, %x40, %x30) : f32[]
    ! cost {alu=18, read_bytes=92, write_bytes=4}
  %y159 = nll_loss(%x39, %x41, %x30) {ignore_index=1} : f32[]
    ! cost {alu=18, read_bytes=92, write_bytes=4}
  %y160 = nll_loss(%x29, %x44, %x30) {reduction="sum", ignore_index=10} : f32[]
    ! cost {alu=9, read_bytes=56, write_bytes=4}
  %y161 = nll_loss(%x45, %x46, %x30) : f32[]
    ! cost {alu=19440, read_bytes=77780, write_bytes=4}
  %y162 = nll_loss(%x45, %x46) {reduction="none"} : f32[3, 6, 6, 5, 3, 4]
    ! cost {alu=6480, read_bytes=77760, write_bytes=25920}
  %y163 = reduce_l1(%x13, %x47) : f32[1, 1, 1]
    ! cost {alu=24, read_bytes=48, write_bytes=4}
  %y164 = reduce_l1(%x13, %x48) {keepdims=0} : f32[3, 2]
    ! cost {alu=24, read_bytes=56, write_bytes=24}
  %y165 = reduce_l1(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y166 = reduce_l2(%x13, %x47) : f32[1, 1, 1]
    ! cost {alu=24, sfu=1, read_bytes=48, write_bytes=4}
  %y167 = reduce_l2(%x13, %x48) {keepdims=0} : f32[3, 2]
    ! cost {alu=24, sfu=6, read_bytes=56, write_bytes=24}
  %y168 = reduce_l2(%x49, %x50) : f32[2, 1, 4]
    ! cost {sfu=8, read_bytes=8, write_bytes=32}
  %y169 = reduce_log_sum(%x21, %x51) {keepdims=0} : f32[5]
    ! cost {alu=60, sfu=5, read_bytes=256, write_bytes=20}
  %y170 = reduce_log_sum(%x21, %x47) : f32[1, 1, 1]
    ! cost {alu=60, sfu=1, read_bytes=240, write_bytes=4}
  %y171 = reduce_log_sum(%x21, %x52) {keepdims=0} : f32[3]
    ! cost {alu=60, sfu=3, read_bytes=256, write_bytes=12}
  %y172 = reduce_log_sum(%x49, %x50) : f32[2, 1, 4]
    ! cost {sfu=8, read_bytes=8, write_bytes=32}
  %y173 = reduce_log_sum_exp(%x53, %x47) : f64[1, 1, 1]
    ! cost {alu=37, sfu=13, read_bytes=96, write_bytes=8}
  %y174 = reduce_log_sum_exp(%x53, %x50) {keepdims=0} : f64[3, 2]
    ! cost {alu=42, sfu=18, read_bytes=104, write_bytes=48}
  %y175 = reduce_log_sum_exp(%x49, %x50) : f32[2, 1, 4]
    ! cost {alu=8, sfu=8, read_bytes=8, write_bytes=32}
  %y176 = reduce_max(%x54, %x50) : b1[4, 1] = [[true], [true], [true], [false]]
    ! cost {integer=8, read_bytes=16, write_bytes=4}
  %y177 = reduce_max(%x13) : f32[1, 1, 1]
    ! cost {alu=12, read_bytes=48, write_bytes=4}
  %y178 = reduce_max(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=12, read_bytes=56, write_bytes=24}
  %y179 = reduce_max(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y180 = reduce_mean(%x13, %x47) : f32[1, 1, 1]
    ! cost {alu=12, sfu=1, read_bytes=48, write_bytes=4}
  %y181 = reduce_mean(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=12, sfu=6, read_bytes=56, write_bytes=24}
  %y182 = reduce_mean(%x13, %x50) : f32[3, 1, 2]
    ! cost {alu=12, sfu=6, read_bytes=56, write_bytes=24}
  %y183 = reduce_min(%x54, %x50) : b1[4, 1] = [[true], [false], [false], [false]]
    ! cost {integer=8, read_bytes=16, write_bytes=4}
  %y184 = reduce_min(%x13) : f32[1, 1, 1]
    ! cost {alu=12, read_bytes=48, write_bytes=4}
  %y185 = reduce_min(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=12, read_bytes=56, write_bytes=24}
  %y186 = reduce_min(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y187 = reduce_prod(%x13) : f32[1, 1, 1]
    ! cost {alu=12, read_bytes=48, write_bytes=4}
  %y188 = reduce_prod(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=12, read_bytes=56, write_bytes=24}
  %y189 = reduce_prod(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y190 = reduce_prod(%x13, %x50) : f32[3, 1, 2]
    ! cost {alu=12, read_bytes=56, write_bytes=24}
  %y191 = reduce_sum(%x13, %x47) : f32[1, 1, 1]
    ! cost {alu=12, read_bytes=48, write_bytes=4}
  %y192 = reduce_sum(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=12, read_bytes=56, write_bytes=24}
  %y193 = reduce_sum(%x13, %x47) {noop_with_empty_axes=1} : f32[3, 2, 2]
    ! cost {alu=12, read_bytes=48, write_bytes=48}
  %y194 = reduce_sum(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y195 = reduce_sum_square(%x13, %x47) : f32[1, 1, 1]
    ! cost {alu=24, read_bytes=48, write_bytes=4}
  %y196 = reduce_sum_square(%x13, %x50) {keepdims=0} : f32[3, 2]
    ! cost {alu=24, read_bytes=56, write_bytes=24}
  %y197 = reduce_sum_square(%x49, %x50) : f32[2, 1, 4]
    ! cost {read_bytes=8, write_bytes=32}
  %y198 = rms_norm(%x27, %x27) {axis=0} : f32[3, 4]
    ! cost {alu=48, sfu=1, read_bytes=48, write_bytes=48}
  %y199 = rms_norm(%x27, %x20) {axis=1} : f32[3, 4]
    ! cost {alu=48, sfu=3, read_bytes=64, write_bytes=48}
  %y200 = rms_norm(%x27, %x20) : f32[3, 4]
    ! cost {alu=48, sfu=3, read_bytes=64, write_bytes=48}
  %y201 = rms_norm(%x27, %x27) {axis=-2} : f32[3, 4]
    ! cost {alu=48, sfu=1, read_bytes=48, write_bytes=48}
  %y202 = rms_norm(%x28, %x28) {axis=0, epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=1, read_bytes=120, write_bytes=120}
  %y203 = rms_norm(%x28, %x29) {axis=1, epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=2, read_bytes=180, write_bytes=120}
  %y204 = rms_norm(%x28, %x30) {axis=2, epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=6, read_bytes=140, write_bytes=120}
  %y205 = rms_norm(%x28, %x30) {epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=6, read_bytes=140, write_bytes=120}
  %y206 = rms_norm(%x28, %x29) {axis=-2, epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=2, read_bytes=180, write_bytes=120}
  %y207 = rms_norm(%x28, %x28) {axis=-3, epsilon=0.10000000149011612} : f32[2, 3, 5]
    ! cost {alu=120, sfu=1, read_bytes=120, write_bytes=120}
  %y208 = rms_norm(%x6, %x6) {axis=0} : f32[2, 3, 4, 5]
    ! cost {alu=480, sfu=1, read_bytes=480, write_bytes=480}
  %y209 = rms_norm(%x6, %x21) {axis=1} : f32[2, 3, 4, 5]
    ! cost {alu=480, sfu=2, read_bytes=720, write_bytes=480}
  %y210 = rms_norm(%x6, %x31) {axis=2} : f32[2, 3, 4, 5]
    ! cost {alu=480, sfu=6, read_bytes=560, write_bytes=480}
  %y211 = rms_norm(%x6, %x30) {axis=3} : f32[2, 3, 4, 5]
    ! cost {alu=480, sfu=24, read_bytes=500, write_bytes=480}
  %y212 = softmax_cross_entropy_loss(%x42, %x43, %x30) {ignore_index=-1} : f32[]
    ! cost {alu=414, sfu=108, read_bytes=524, write_bytes=4}
  %y213 = softmax_cross_entropy_loss(%x29, %x44, %x30) {reduction="sum", ignore_index=10} : f32[]
    ! cost {alu=69, sfu=18, read_bytes=104, write_bytes=4}
  %y214 = softmax_cross_entropy_loss(%x45, %x46, %x30) : f32[]
    ! cost {alu=149040, sfu=38880, read_bytes=181460, write_bytes=4}
  %y215 = softmax_cross_entropy_loss(%x45, %x46) {reduction="none"} : f32[3, 6, 6, 5, 3, 4]
    ! cost {alu=136080, sfu=38880, read_bytes=181440, write_bytes=25920}
  %y216 = softmax_cross_entropy_loss(%x29, %x38) : f32[]
    ! cost {alu=66, sfu=18, read_bytes=84, write_bytes=4}
  %y217 = softmax_cross_entropy_loss(%x39, %x40) : f32[]
    ! cost {alu=132, sfu=36, read_bytes=168, write_bytes=4}
  %y218 = softmax_cross_entropy_loss(%x29, %x55) {ignore_index=2} : f32[]
    ! cost {alu=66, sfu=18, read_bytes=84, write_bytes=4}
  %y219 = softmax_cross_entropy_loss(%x39, %x56) {ignore_index=2} : f32[]
    ! cost {alu=132, sfu=36, read_bytes=168, write_bytes=4}
  %y220 = softmax_cross_entropy_loss(%x29, %x38, %x30) : f32[]
    ! cost {alu=69, sfu=18, read_bytes=104, write_bytes=4}
  %y221 = softmax_cross_entropy_loss(%x29, %x57, %x30) {ignore_index=0} : f32[]
    ! cost {alu=69, sfu=18, read_bytes=104, write_bytes=4}
  %y222 = softmax_cross_entropy_loss(%x39, %x41, %x30) {ignore_index=1} : f32[]
    ! cost {alu=138, sfu=36, read_bytes=188, write_bytes=4}
  %y223 = softmax_cross_entropy_loss(%x29, %x38) {reduction="none"} : f32[3]
    ! cost {alu=63, sfu=18, read_bytes=84, write_bytes=12}
  %y224 = softmax_cross_entropy_loss(%x29, %x38, %x30) {reduction="none"} : f32[3]
    ! cost {alu=66, sfu=18, read_bytes=104, write_bytes=12}
  %y225 = softmax_cross_entropy_loss(%x29, %x38) {reduction="sum"} : f32[]
    ! cost {alu=66, sfu=18, read_bytes=84, write_bytes=4}
  %y226 = softmax(%x21) {axis=0} : f32[3, 4, 5]
    ! cost {alu=240, sfu=80, read_bytes=240, write_bytes=240}
  %y227 = softmax(%x21) {axis=1} : f32[3, 4, 5]
    ! cost {alu=240, sfu=75, read_bytes=240, write_bytes=240}
  %y228 = softmax(%x21) {axis=2} : f32[3, 4, 5]
    ! cost {alu=240, sfu=72, read_bytes=240, write_bytes=240}
  %y229 = softmax(%x21) : f32[3, 4, 5]
    ! cost {alu=240, sfu=72, read_bytes=240, write_bytes=240}
  %y230 = softmax(%x32) : f32[1, 3]
    ! cost {alu=12, sfu=4, read_bytes=12, write_bytes=12}
  %y231 = stft(%x58, %x59, _, %x60) : f32[1, 15, 9, 2]
    ! cost {alu=2400, read_bytes=528, write_bytes=1080}
  %y232 = stft(%x58, %x59, %x61) : f32[1, 15, 9, 2]
    ! cost {alu=2640, read_bytes=584, write_bytes=1080}
  %y233 = inverse(%x62) : f32[b, m, m]
    ! cost {alu=2*b*m*m*m, sfu=b*m, read_bytes=4*b*m*m, write_bytes=4*b*m*m}
  %y234 = cdist(%x63, %x64) : f32[m, n]
    ! cost {mac=k*m*n, alu=2*k*m + 2*k*n + 3*m*n, read_bytes=4*k*m + 4*k*n, write_bytes=4*m*n}
  %y235 = rfft(%x65) : f32[b, (n//2) + 1, 2]
    ! cost {read_bytes=4*b*n, write_bytes=8*(n//2)*b + 8*b}
  %y236 = irfft(%x66) : f32[b, 2*m - 2]
    ! cost {read_bytes=8*b*m, write_bytes=8*b*m - 8*b}
  %y237 = gated_add(%x67, %x67, %x67) : f32[n, c, d]
    ! cost {alu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y238 = scaled_silu(%x67, %x67) : f32[n, c, d]
    ! cost {alu=4*c*d*n, sfu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y239 = murmur_hash3(%x67) : u32[n, c, d]
    ! cost {integer=16*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y240 = group_norm_nhwc(%x68, %x69, %x69) : f32[n, d, c]
    ! cost {alu=7*c*d*n, sfu=n, read_bytes=4*c*d*n + 4*c, write_bytes=4*c*d*n}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166, %y167, %y168, %y169, %y170, %y171, %y172, %y173, %y174, %y175, %y176, %y177, %y178, %y179, %y180, %y181, %y182, %y183, %y184, %y185, %y186, %y187, %y188, %y189, %y190, %y191, %y192, %y193, %y194, %y195, %y196, %y197, %y198, %y199, %y200, %y201, %y202, %y203, %y204, %y205, %y206, %y207, %y208, %y209, %y210, %y211, %y212, %y213, %y214, %y215, %y216, %y217, %y218, %y219, %y220, %y221, %y222, %y223, %y224, %y225, %y226, %y227, %y228, %y229, %y230, %y231, %y232, %y233, %y234, %y235, %y236, %y237, %y238, %y239, %y240
}
