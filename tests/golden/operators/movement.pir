# RUN: shapes,cost | print --facts cost
perfir 1
module @main

graph @main(%x0: f32[2, 2, 3], %x1: i64[4] = [2, 3, 5, 6], %x2: f32[2, 3, 4], %x3: i64[5] = [2, 3, 4, 5, 6], %x4: f32[20, 10, 3], %x5: i64[3] = [10, 7, 3], %x6: f32[20, 8, 3], %x7: i64[3] = [10, 10, 3], %x8: f32[3, 20, 8], %x9: i64[2] = [10, 9], %x10: f32[3], %x11: i8[3] = [-1, 0, 1], %x12: f32[1, 5, 5], %x13: i64[2] = [5, 5], %x14: i64[2] = [1, 5], %x15: f32[1, 10, 12], %x16: i64[3] = [3, 4, 5], %x17: i64[3] = [1, 1, 5], %x18: f32[1, 4, 5], %x19: i64[2] = [6, 6], %x20: i64[2] = [2, 2], %x21: f32[1, 5, 15], %x22: f32[1, 9, 4], %x23: i64[2] = [3, 3], %x24: f32[3, 2], %x25: b1[3] = [false, true, true], %x26: b1[2] = [false, true], %x27: bf16[3, 2], %x28: b1[5] = [false, true, false, false, true], %x29: f32[2], %x30: f32[2, 2], %x31: f32[2, 2, 2], %x32: f32[1, 3, 4, 5], %x33: i64[8] = [0, 0, 1, 3, 0, 0, 2, 4], %x34: f32[], %x35: i64[4] = [0, 3, 0, 4], %x36: i64[2] = [1, 3], %x37: i64[2] = [-3, -1], %x38: i64[3] = [4, 3, 2], %x39: i64[1] = [0], %x40: i64[2] = [10, 6], %x41: f32[1, 8, 2, 3], %x42: f32[3, 1], %x43: i64[3] = [2, 1, 6], %x44: i64[2] = [3, 4], %x45: f32[2, 3, 4, 5], %x46: f32[5, 4, 3, 2], %x47: i64[3] = [0, 1, 3], %x48: f32[3, 3], %x49: i64[1, 2] = [[0, 2]], %x50: i64[2, 2] = [[0, 0], [1, 0]], %x51: i64[2, 3] = [[1, 2, 0], [2, 0, 0]], %x52: i64[2, 3] = [[-1, -2, 0], [-2, 0, 0]], %x53: f32[10], %x54: i64[3] = [0, -9, -10], %x55: i64[2, 1, 2] = [[[0, 1]], [[1, 0]]], %x56: i32[2, 2] = [[0, 1], [2, 3]], %x57: i64[2, 2] = [[0, 0], [1, 1]], %x58: i32[2, 2, 2] = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], %x59: i64[2, 1] = [[1], [0]], %x60: f32[1, 1, 4, 4], %x61: f32[1, 6, 6, 2], %x62: f32[1, 1, 3, 2], %x63: f32[1, 2, 4, 2], %x64: f32[1, 1, 3, 2, 2], %x65: f32[1, 2, 4, 2, 3], %x66: f32[1, 6, 4], %x67: f32[1, 1, 6], %x68: i64[1] = [3], %x69: f32[1], %x70: f32[1, 10, 4], %x71: f32[1, 1, 10], %x72: b1[2, 2] = [[true, false], [true, true]], %x73: i64[3] = [0, -7, -8], %x74: i64[3] = [5, -6, -1], %x75: i64[3] = [0, 7, 8], %x76: i32[2] = [2, 5], %x77: bf16[], %x78: f16[], %x79: f32[0, 3, 4], %x80: i64[3] = [3, 4, 0], %x81: i64[4] = [2, 3, 2, 2], %x82: i64[3] = [2, -1, 2], %x83: f32[4], %x84: f32[1, 1, 2, 4], %x85: f32[1, 1, 1, 4], %x86: i64[4] = [1, 1, 3, 3], %x87: i64[4] = [1, 1, 3, 1], %x88: i64[4] = [1, 1, 1, 3], %x89: f32[4, 4], %x90: i64[4] = [0, 2, 3, 4], %x91: bf16[2, 4], %x92: i64[2] = [4, 3], %x93: i64[4] = [4, 3, 2, 1], %x94: f32[1, 1, 10, 10], %x95: f32[3, 4], %x96: i64[3] = [0, 0, 0], %x97: f32[1, 5], %x98: i64[1, 2] = [[1, 3]], %x99: f32[1, 2], %x100: i64[1, 2] = [[1, 1]], %x101: i64[1, 2] = [[1, -3]], %x102: i64[2, 3] = [[1, 0, 2], [0, 2, 1]], %x103: f32[2, 3], %x104: f32[4, 4, 4], %x105: i64[2, 1] = [[0], [2]], %x106: f32[2, 4, 4], %x107: i64[2, 1] = [[0], [0]], %x108: seq<i64[*]>, %x109: i64[3] = [10, 11, 12], %x110: i64[3] = [-2, -1, 0], %x111: f32[3, 4, 5], %x112: f32[20, 10, 5], %x113: i64[2] = [0, 0], %x114: i64[2] = [3, 10], %x115: i64[2] = [0, 1], %x116: i64[2] = [1, 1], %x117: i64[3] = [0, 0, 3], %x118: i64[3] = [20, 10, 4], %x119: i64[3] = [0, 1, 2], %x120: i64[1] = [1], %x121: i64[1] = [1000], %x122: i64[3] = [0, -2, -1], %x123: f32[2, 2, 6, 6], %x124: f32[1, 2, 4, 6], %x125: f32[7], %x126: f32[2, 8], %x127: f32[6], %x128: f32[2, 6], %x129: i64[2] = [2, 4], %x130: f32[0], %x131: f32[1, 3, 1, 5], %x132: i64[1] = [-2], %x133: f32[2, 1, 4, 5], %x134: f32[2, 1, 1, 5], %x135: i64[2] = [1, 2], %x136: f32[3, 2, 5], %x137: i64[3] = [1, 2, 0], %x138: f32[2, 1, 2, 5], %x139: i64[4] = [7, 6, 4, 2], %x140: i64[4] = [0, 0, 0, 0], %x141: i64[3, 4] = [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 1, 1]], %x142: i64[4, 5] = [[5, 0, 3, 3, 7], [9, 3, 5, 2, 4], [7, 6, 8, 8, 1], [6, 7, 7, 8, 1]], %x143: i64[] = -1, %x144: i64[3, 1, 5] = [[[5, 0, 3, 3, 7]], [[9, 3, 5, 2, 4]], [[7, 6, 8, 8, 1]]], %x145: i64[] = -7, %x146: i64[] = 1, %x147: bf16[6], %x148: f32[2, 4, 2], %x149: f32[1, 1, 2, 2]) {
  %y0 = affine_grid(%x0, %x1) : ?
  %y1 = affine_grid(%x0, %x1) {align_corners=1} : ?
  %y2 = affine_grid(%x2, %x3) : ?
  %y3 = affine_grid(%x2, %x3) {align_corners=1} : ?
  %y4 = center_crop_pad(%x4, %x5) : ?
  %y5 = center_crop_pad(%x6, %x7) : ?
  %y6 = center_crop_pad(%x8, %x9) {axes=[1, 2]} : ?
  %y7 = center_crop_pad(%x6, %x9) {axes=[0, 1]} : ?
  %y8 = center_crop_pad(%x6, %x9) {axes=[-3, -2]} : ?
  %y9 = identity(%x10) : ?
  %y10 = identity(%x11) : ?
  %y11 = col2im(%x12, %x13, %x14) : ?
  %y12 = col2im(%x15, %x16, %x17) : ?
  %y13 = col2im(%x18, %x19, %x20) {dilations=[1, 5]} : ?
  %y14 = col2im(%x21, %x13, %x14) {pads=[0, 1, 0, 1]} : ?
  %y15 = col2im(%x22, %x13, %x23) {strides=[2, 2]} : ?
  %y16 = compress(%x24, %x25) {axis=0} : ?
  %y17 = compress(%x24, %x26) {axis=1} : ?
  %y18 = compress(%x27, %x25) {axis=0} : ?
  %y19 = compress(%x24, %x28) : ?
  %y20 = compress(%x24, %x26) {axis=-1} : ?
  %y21 = concat(%x29, %x29) : ?
  %y22 = concat(%x29, %x29) {axis=-1} : ?
  %y23 = concat(%x30, %x30) : ?
  %y24 = concat(%x30, %x30) {axis=1} : ?
  %y25 = concat(%x30, %x30) {axis=-1} : ?
  %y26 = concat(%x30, %x30) {axis=-2} : ?
  %y27 = concat(%x31, %x31) {axis=1} : ?
  %y28 = concat(%x31, %x31) {axis=2} : ?
  %y29 = concat(%x31, %x31) {axis=-2} : ?
  %y30 = concat(%x31, %x31) {axis=-3} : ?
  %y31 = pad(%x32, %x33, %x34) : ?
  %y32 = pad(%x32, %x35, %x34, %x36) : ?
  %y33 = pad(%x32, %x35, %x34, %x37) : ?
  %y34 = constant_of_shape(%x38) {value=known(1)[1.0]} : ?
  %y35 = constant_of_shape(%x39) {value=known(1)[0], value_dtype="i32"} : ?
  %y36 = constant_of_shape(%x40) {value=known(1)[0], value_dtype="i32"} : ?
  %y37 = depth_to_space(%x41) {blocksize=2, mode="CRD"} : ?
  %y38 = depth_to_space(%x41) {blocksize=2} : ?
  %y39 = expand(%x42, %x43) : ?
  %y40 = expand(%x42, %x44) : ?
  %y41 = flatten(%x45) {axis=0} : ?
  %y42 = flatten(%x45) : ?
  %y43 = flatten(%x45) {axis=2} : ?
  %y44 = flatten(%x45) {axis=3} : ?
  %y45 = flatten(%x46) : ?
  %y46 = flatten(%x45) {axis=-1} : ?
  %y47 = flatten(%x45) {axis=-2} : ?
  %y48 = flatten(%x45) {axis=-3} : ?
  %y49 = flatten(%x45) {axis=-4} : ?
  %y50 = gather(%x46, %x47) : ?
  %y51 = gather(%x46, %x47) {axis=1} : ?
  %y52 = gather(%x48, %x49) {axis=1} : ?
  %y53 = gather_elements(%x30, %x50) {axis=1} : ?
  %y54 = gather_elements(%x48, %x51) : ?
  %y55 = gather_elements(%x48, %x52) : ?
  %y56 = gather(%x53, %x54) : ?
  %y57 = gather_nd(%x31, %x55) : ?
  %y58 = gather_nd(%x56, %x57) : ?
  %y59 = gather_nd(%x58, %x59) {batch_dims=1} : ?
  %y60 = grid_sample(%x60, %x61) : ?
  %y61 = grid_sample(%x62, %x63) {align_corners=1} : ?
  %y62 = grid_sample(%x62, %x63) {mode="cubic"} : ?
  %y63 = grid_sample(%x62, %x63) {align_corners=1, mode="cubic"} : ?
  %y64 = grid_sample(%x62, %x63) : ?
  %y65 = grid_sample(%x62, %x63) {padding_mode="border"} : ?
  %y66 = grid_sample(%x62, %x63) {mode="nearest"} : ?
  %y67 = grid_sample(%x62, %x63) {align_corners=1, mode="nearest"} : ?
  %y68 = grid_sample(%x62, %x63) {padding_mode="reflection"} : ?
  %y69 = grid_sample(%x64, %x65) {align_corners=1} : ?
  %y70 = grid_sample(%x64, %x65) {mode="nearest"} : ?
  %y71 = grid_sample(%x64, %x65) {align_corners=1, mode="nearest"} : ?
  %y72 = non_max_suppression(%x66, %x67, %x68, %x69, %x69) {center_point_box=1} : ?
  %y73 = non_max_suppression(%x66, %x67, %x68, %x69, %x69) : ?
  %y74 = non_max_suppression(%x70, %x71, %x68, %x69, %x69) : ?
  %y75 = non_zero(%x72) : ?
  %y76 = one_hot(%x73, %x34, %x29) {axis=1} : ?
  %y77 = one_hot(%x74, %x34, %x29) {axis=1} : ?
  %y78 = one_hot(%x30, %x34, %x29) {axis=-2} : ?
  %y79 = one_hot(%x75, %x34, %x76) : ?
  %y80 = range(%x77, %x77, %x77) : ?
  %y81 = range(%x78, %x78, %x78) : ?
  %y82 = reshape(%x79, %x80) {allowzero=1} : ?
  %y83 = reshape(%x2, %x81) : ?
  %y84 = reshape(%x2, %x82) : ?
  %y85 = resize(%x60, _, %x83) {mode="cubic"} : ?
  %y86 = resize(%x60, _, %x83) {cubic_coeff_a=-0.5, exclude_outside=1, mode="cubic"} : ?
  %y87 = resize(%x60, _, %x83) {coordinate_transformation_mode="align_corners", mode="cubic"} : ?
  %y88 = resize(%x60, _, %x83) {antialias=1, mode="cubic"} : ?
  %y89 = resize(%x84, _, %x83) {mode="linear"} : ?
  %y90 = resize(%x84, _, %x83) {coordinate_transformation_mode="align_corners", mode="linear"} : ?
  %y91 = resize(%x60, _, %x83) {antialias=1, mode="linear"} : ?
  %y92 = resize(%x85, _, %x83) {coordinate_transformation_mode="half_pixel_symmetric", mode="linear"} : ?
  %y93 = resize(%x84, _, %x83) : ?
  %y94 = resize(%x60, _, _, %x86) {mode="cubic"} : ?
  %y95 = resize(%x60, _, _, %x86) {antialias=1, mode="cubic"} : ?
  %y96 = resize(%x60, _, _, %x86) {antialias=1, mode="linear"} : ?
  %y97 = resize(%x60, _, _, %x87) {coordinate_transformation_mode="pytorch_half_pixel", mode="linear"} : ?
  %y98 = resize(%x84, _, _, %x88) : ?
  %y99 = reverse_sequence(%x89, %x90) {batch_axis=0, time_axis=1} : ?
  %y100 = reverse_sequence(%x91, %x92) {batch_axis=0, time_axis=1} : ?
  %y101 = reverse_sequence(%x89, %x93) : ?
  %y102 = roi_align(%x94, %x95, %x96) {coordinate_transformation_mode="output_half_pixel", output_height=5, output_width=5, sampling_ratio=2} : ?
  %y103 = roi_align(%x94, %x95, %x96) {output_height=5, output_width=5, sampling_ratio=2} : ?
  %y104 = roi_align(%x94, %x95, %x96) {coordinate_transformation_mode="output_half_pixel", mode="max", output_height=5, output_width=5, sampling_ratio=2} : ?
  %y105 = scatter_elements(%x97, %x98, %x99) {axis=1} : ?
  %y106 = scatter_elements(%x97, %x100, %x99) {reduction="add", axis=1} : ?
  %y107 = scatter_elements(%x97, %x101, %x99) {axis=1} : ?
  %y108 = scatter_elements(%x97, %x100, %x99) {reduction="max", axis=1} : ?
  %y109 = scatter_elements(%x97, %x100, %x99) {reduction="min", axis=1} : ?
  %y110 = scatter_elements(%x97, %x100, %x99) {reduction="mul", axis=1} : ?
  %y111 = scatter_elements(%x48, %x102, %x103) : ?
  %y112 = scatter_nd(%x104, %x105, %x106) : ?
  %y113 = scatter_nd(%x104, %x107, %x106) {reduction="add"} : ?
  %y114 = scatter_nd(%x104, %x107, %x106) {reduction="max"} : ?
  %y115 = scatter_nd(%x30, %x57, %x29) {reduction="max"} : ?
  %y116 = scatter_nd(%x104, %x107, %x106) {reduction="min"} : ?
  %y117 = scatter_nd(%x30, %x57, %x29) {reduction="min"} : ?
  %y118 = scatter_nd(%x104, %x107, %x106) {reduction="mul"} : ?
  %y119 = sequence_insert(%x108, %x109) : ?
  %y120 = sequence_insert(%x108, %x110, %x39) : ?
  %y121 = shape(%x111) : ?
  %y122 = shape(%x111) {end=10} : ?
  %y123 = shape(%x111) {start=-10} : ?
  %y124 = shape(%x111) {end=1} : ?
  %y125 = shape(%x111) {end=-1} : ?
  %y126 = shape(%x103) : ?
  %y127 = shape(%x111) {start=1} : ?
  %y128 = shape(%x111) {start=1, end=2} : ?
  %y129 = shape(%x111) {start=1, end=-1} : ?
  %y130 = shape(%x111) {start=2, end=1} : ?
  %y131 = shape(%x111) {start=-1} : ?
  %y132 = size(%x111) : ?
  %y133 = size(%x103) : ?
  %y134 = slice(%x112, %x113, %x114, %x115, %x116) : ?
  %y135 = slice(%x112, %x117, %x118) : ?
  %y136 = slice(%x112, %x117, %x118, %x119) : ?
  %y137 = slice(%x112, %x120, %x121, %x120, %x120) : ?
  %y138 = slice(%x112, %x117, %x118, %x122) : ?
  %y139 = space_to_depth(%x123) {blocksize=2} : ?
  %y140 = space_to_depth(%x124) {blocksize=2, mode="CRD"} : ?
  %y141 = space_to_depth(%x124) {blocksize=2} : ?
  %y142, %y143, %y144, %y145 = split(%x125) {num_outputs=4} : ?, ?, ?, ?
  %y146, %y147, %y148 = split(%x126) {axis=1, num_outputs=3} : ?, ?, ?
  %y149, %y150, %y151 = split(%x127) {num_outputs=3} : ?, ?, ?
  %y152, %y153 = split(%x128) {axis=1, num_outputs=2} : ?, ?
  %y154, %y155 = split(%x127, %x129) {num_outputs=2} : ?, ?
  %y156, %y157 = split(%x128, %x129) {axis=1, num_outputs=2} : ?, ?
  %y158, %y159, %y160 = split(%x130, %x96) {num_outputs=3} : ?, ?, ?
  %y161 = squeeze(%x32, %x39) : ?
  %y162 = squeeze(%x131, %x132) : ?
  %y163 = tensor_scatter(%x133, %x134, %x135) : ?
  %y164 = tensor_scatter(%x111, %x136, %x137) : ?
  %y165 = tensor_scatter(%x133, %x138, %x36) {mode="circular"} : ?
  %y166 = tile(%x45, %x139) : ?
  %y167 = tile(%x30, %x20) : ?
  %y168, %y169 = top_k(%x95, %x68) {axis=1} : ?, ?
  %y170, %y171 = top_k(%x95, %x68) : ?, ?
  %y172, %y173 = top_k(%x140, %x68) {axis=0} : ?, ?
  %y174, %y175 = top_k(%x141, %x68) {axis=1} : ?, ?
  %y176, %y177 = top_k(%x95, %x68) {axis=1, largest=0} : ?, ?
  %y178 = transpose(%x2) {perm=[0, 1, 2]} : ?
  %y179 = transpose(%x2) {perm=[0, 2, 1]} : ?
  %y180 = transpose(%x2) {perm=[1, 0, 2]} : ?
  %y181 = transpose(%x2) {perm=[1, 2, 0]} : ?
  %y182 = transpose(%x2) {perm=[2, 0, 1]} : ?
  %y183 = transpose(%x2) {perm=[2, 1, 0]} : ?
  %y184 = transpose(%x2) : ?
  %y185 = trilu(%x142) {upper=0} : ?
  %y186 = trilu(%x142, %x143) {upper=0} : ?
  %y187 = trilu(%x144) {upper=0} : ?
  %y188 = trilu(%x142, %x145) {upper=0} : ?
  %y189 = trilu(%x142) : ?
  %y190 = trilu(%x142, %x143) : ?
  %y191 = trilu(%x144, %x146) : ?
  %y192, %y193, %y194, %y195 = unique(%x147) : ?, ?, ?, ?
  %y196, %y197, %y198, %y199 = unique(%x39) : ?, ?, ?, ?
  %y200, %y201, %y202, %y203 = unique(%x127) {sorted=0} : ?, ?, ?, ?
  %y204, %y205, %y206, %y207 = unique(%x48) {axis=0} : ?, ?, ?, ?
  %y208, %y209, %y210, %y211 = unique(%x148) {axis=1} : ?, ?, ?, ?
  %y212, %y213, %y214, %y215 = unique(%x48) {axis=-1} : ?, ?, ?, ?
  %y216 = unsqueeze(%x111, %x39) : ?
  %y217 = unsqueeze(%x111, %x120) : ?
  %y218 = upsample(%x149, %x83) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166, %y167, %y168, %y169, %y170, %y171, %y172, %y173, %y174, %y175, %y176, %y177, %y178, %y179, %y180, %y181, %y182, %y183, %y184, %y185, %y186, %y187, %y188, %y189, %y190, %y191, %y192, %y193, %y194, %y195, %y196, %y197, %y198, %y199, %y200, %y201, %y202, %y203, %y204, %y205, %y206, %y207, %y208, %y209, %y210, %y211, %y212, %y213, %y214, %y215, %y216, %y217, %y218
}
# ---- expect
perfir 1
module @main
extent u1 in 0..3
extent u2 in 0..3
extent u3 in 0..3
extent u4 in 0..
extent u5 in 0..
extent u6 in 0..
extent u7 in 0..
extent u8 in 0..
extent u9 in 0..
extent u10 in 0..
extent u11 in 0..
extent u12 in 0..
extent u13 in 0..
extent u14 in 0..
extent u15 in 0..
extent u16 in 0..
extent u17 in 0..
extent u18 in 0..
extent u19 in 0..
extent u20 in 0..
extent u21 in 0..
extent u22 in 0..
extent u23 in 0..
extent u24 in 0..
extent u25 in 0..
extent u26 in 0..
extent u27 in 0..
extent u28 in 0..
extent u29 in 0..
extent u30 in 0..
extent u31 in 0..
extent u32 in 0..
extent u33 in 0..
extent u34 in 0..
extent u35 in 0..
extent u36 in 0..
extent u37 in 0..
extent u38 in 0..
extent u39 in 0..
extent u40 in 0..
extent u41 in 0..
extent u42 in 0..
extent u43 in 0..
extent u44 in 0..
extent u45 in 0..
extent u46 in 1..6
extent u47 in 1..6
extent u48 in 1..3
extent u49 in 1..4
extent u50 in 1..3
extent u51 in 0..
extent u52 in 0..
extent u53 in 0..
extent u54 in 0..

graph @main(%x0: f32[2, 2, 3], %x1: i64[4] = [2, 3, 5, 6], %x2: f32[2, 3, 4], %x3: i64[5] = [2, 3, 4, 5, 6], %x4: f32[20, 10, 3], %x5: i64[3] = [10, 7, 3], %x6: f32[20, 8, 3], %x7: i64[3] = [10, 10, 3], %x8: f32[3, 20, 8], %x9: i64[2] = [10, 9], %x10: f32[3], %x11: i8[3] = [-1, 0, 1], %x12: f32[1, 5, 5], %x13: i64[2] = [5, 5], %x14: i64[2] = [1, 5], %x15: f32[1, 10, 12], %x16: i64[3] = [3, 4, 5], %x17: i64[3] = [1, 1, 5], %x18: f32[1, 4, 5], %x19: i64[2] = [6, 6], %x20: i64[2] = [2, 2], %x21: f32[1, 5, 15], %x22: f32[1, 9, 4], %x23: i64[2] = [3, 3], %x24: f32[3, 2], %x25: b1[3] = [false, true, true], %x26: b1[2] = [false, true], %x27: bf16[3, 2], %x28: b1[5] = [false, true, false, false, true], %x29: f32[2], %x30: f32[2, 2], %x31: f32[2, 2, 2], %x32: f32[1, 3, 4, 5], %x33: i64[8] = [0, 0, 1, 3, 0, 0, 2, 4], %x34: f32[], %x35: i64[4] = [0, 3, 0, 4], %x36: i64[2] = [1, 3], %x37: i64[2] = [-3, -1], %x38: i64[3] = [4, 3, 2], %x39: i64[1] = [0], %x40: i64[2] = [10, 6], %x41: f32[1, 8, 2, 3], %x42: f32[3, 1], %x43: i64[3] = [2, 1, 6], %x44: i64[2] = [3, 4], %x45: f32[2, 3, 4, 5], %x46: f32[5, 4, 3, 2], %x47: i64[3] = [0, 1, 3], %x48: f32[3, 3], %x49: i64[1, 2] = [[0, 2]], %x50: i64[2, 2] = [[0, 0], [1, 0]], %x51: i64[2, 3] = [[1, 2, 0], [2, 0, 0]], %x52: i64[2, 3] = [[-1, -2, 0], [-2, 0, 0]], %x53: f32[10], %x54: i64[3] = [0, -9, -10], %x55: i64[2, 1, 2] = [[[0, 1]], [[1, 0]]], %x56: i32[2, 2] = [[0, 1], [2, 3]], %x57: i64[2, 2] = [[0, 0], [1, 1]], %x58: i32[2, 2, 2] = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], %x59: i64[2, 1] = [[1], [0]], %x60: f32[1, 1, 4, 4], %x61: f32[1, 6, 6, 2], %x62: f32[1, 1, 3, 2], %x63: f32[1, 2, 4, 2], %x64: f32[1, 1, 3, 2, 2], %x65: f32[1, 2, 4, 2, 3], %x66: f32[1, 6, 4], %x67: f32[1, 1, 6], %x68: i64[1] = [3], %x69: f32[1], %x70: f32[1, 10, 4], %x71: f32[1, 1, 10], %x72: b1[2, 2] = [[true, false], [true, true]], %x73: i64[3] = [0, -7, -8], %x74: i64[3] = [5, -6, -1], %x75: i64[3] = [0, 7, 8], %x76: i32[2] = [2, 5], %x77: bf16[], %x78: f16[], %x79: f32[0, 3, 4], %x80: i64[3] = [3, 4, 0], %x81: i64[4] = [2, 3, 2, 2], %x82: i64[3] = [2, -1, 2], %x83: f32[4], %x84: f32[1, 1, 2, 4], %x85: f32[1, 1, 1, 4], %x86: i64[4] = [1, 1, 3, 3], %x87: i64[4] = [1, 1, 3, 1], %x88: i64[4] = [1, 1, 1, 3], %x89: f32[4, 4], %x90: i64[4] = [0, 2, 3, 4], %x91: bf16[2, 4], %x92: i64[2] = [4, 3], %x93: i64[4] = [4, 3, 2, 1], %x94: f32[1, 1, 10, 10], %x95: f32[3, 4], %x96: i64[3] = [0, 0, 0], %x97: f32[1, 5], %x98: i64[1, 2] = [[1, 3]], %x99: f32[1, 2], %x100: i64[1, 2] = [[1, 1]], %x101: i64[1, 2] = [[1, -3]], %x102: i64[2, 3] = [[1, 0, 2], [0, 2, 1]], %x103: f32[2, 3], %x104: f32[4, 4, 4], %x105: i64[2, 1] = [[0], [2]], %x106: f32[2, 4, 4], %x107: i64[2, 1] = [[0], [0]], %x108: seq<i64[*]>, %x109: i64[3] = [10, 11, 12], %x110: i64[3] = [-2, -1, 0], %x111: f32[3, 4, 5], %x112: f32[20, 10, 5], %x113: i64[2] = [0, 0], %x114: i64[2] = [3, 10], %x115: i64[2] = [0, 1], %x116: i64[2] = [1, 1], %x117: i64[3] = [0, 0, 3], %x118: i64[3] = [20, 10, 4], %x119: i64[3] = [0, 1, 2], %x120: i64[1] = [1], %x121: i64[1] = [1000], %x122: i64[3] = [0, -2, -1], %x123: f32[2, 2, 6, 6], %x124: f32[1, 2, 4, 6], %x125: f32[7], %x126: f32[2, 8], %x127: f32[6], %x128: f32[2, 6], %x129: i64[2] = [2, 4], %x130: f32[0], %x131: f32[1, 3, 1, 5], %x132: i64[1] = [-2], %x133: f32[2, 1, 4, 5], %x134: f32[2, 1, 1, 5], %x135: i64[2] = [1, 2], %x136: f32[3, 2, 5], %x137: i64[3] = [1, 2, 0], %x138: f32[2, 1, 2, 5], %x139: i64[4] = [7, 6, 4, 2], %x140: i64[4] = [0, 0, 0, 0], %x141: i64[3, 4] = [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 1, 1]], %x142: i64[4, 5] = [[5, 0, 3, 3, 7], [9, 3, 5, 2, 4], [7, 6, 8, 8, 1], [6, 7, 7, 8, 1]], %x143: i64[] = -1, %x144: i64[3, 1, 5] = [[[5, 0, 3, 3, 7]], [[9, 3, 5, 2, 4]], [[7, 6, 8, 8, 1]]], %x145: i64[] = -7, %x146: i64[] = 1, %x147: bf16[6], %x148: f32[2, 4, 2], %x149: f32[1, 1, 2, 2]) {
  %y0 = affine_grid(%x0, %x1) : f32[2, 5, 6, 2]
    ! cost {mac=360, read_bytes=48, write_bytes=480}
  %y1 = affine_grid(%x0, %x1) {align_corners=1} : f32[2, 5, 6, 2]
    ! cost {mac=360, read_bytes=48, write_bytes=480}
  %y2 = affine_grid(%x2, %x3) : f32[2, 4, 5, 6, 3]
    ! cost {mac=2880, read_bytes=96, write_bytes=2880}
  %y3 = affine_grid(%x2, %x3) {align_corners=1} : f32[2, 4, 5, 6, 3]
    ! cost {mac=2880, read_bytes=96, write_bytes=2880}
  %y4 = center_crop_pad(%x4, %x5) : f32[10, 7, 3]
    ! cost {read_bytes=840, write_bytes=840}
  %y5 = center_crop_pad(%x6, %x7) : f32[10, 10, 3]
    ! cost {read_bytes=1200, write_bytes=1200}
  %y6 = center_crop_pad(%x8, %x9) {axes=[1, 2]} : f32[3, 10, 9]
    ! cost {read_bytes=1080, write_bytes=1080}
  %y7 = center_crop_pad(%x6, %x9) {axes=[0, 1]} : f32[10, 9, 3]
    ! cost {read_bytes=1080, write_bytes=1080}
  %y8 = center_crop_pad(%x6, %x9) {axes=[-3, -2]} : f32[10, 9, 3]
    ! cost {read_bytes=1080, write_bytes=1080}
  %y9 = identity(%x10) : f32[3]
    ! cost {}
  %y10 = identity(%x11) : i8[3] = [-1, 0, 1]
    ! cost {}
  %y11 = col2im(%x12, %x13, %x14) : f32[1, 1, 5, 5]
    ! cost {alu=25, read_bytes=100, write_bytes=100}
  %y12 = col2im(%x15, %x16, %x17) : f32[1, 2, 3, 4, 5]
    ! cost {alu=120, read_bytes=480, write_bytes=480}
  %y13 = col2im(%x18, %x19, %x20) {dilations=[1, 5]} : f32[1, 1, 6, 6]
    ! cost {alu=20, read_bytes=80, write_bytes=144}
  %y14 = col2im(%x21, %x13, %x14) {pads=[0, 1, 0, 1]} : f32[1, 1, 5, 5]
    ! cost {alu=75, read_bytes=300, write_bytes=100}
  %y15 = col2im(%x22, %x13, %x23) {strides=[2, 2]} : f32[1, 1, 5, 5]
    ! cost {alu=36, read_bytes=144, write_bytes=100}
  %y16 = compress(%x24, %x25) {axis=0} : f32[2, 2]
    ! cost {read_bytes=19, write_bytes=16}
  %y17 = compress(%x24, %x26) {axis=1} : f32[3, 1]
    ! cost {read_bytes=14, write_bytes=12}
  %y18 = compress(%x27, %x25) {axis=0} : bf16[2, 2]
    ! cost {read_bytes=11, write_bytes=8}
  %y19 = compress(%x24, %x28) : f32[2]
    ! cost {read_bytes=13, write_bytes=8}
  %y20 = compress(%x24, %x26) {axis=-1} : f32[3, 1]
    ! cost {read_bytes=14, write_bytes=12}
  %y21 = concat(%x29, %x29) : f32[4]
    ! cost {read_bytes=8, write_bytes=16}
  %y22 = concat(%x29, %x29) {axis=-1} : f32[4]
    ! cost {read_bytes=8, write_bytes=16}
  %y23 = concat(%x30, %x30) : f32[4, 2]
    ! cost {read_bytes=16, write_bytes=32}
  %y24 = concat(%x30, %x30) {axis=1} : f32[2, 4]
    ! cost {read_bytes=16, write_bytes=32}
  %y25 = concat(%x30, %x30) {axis=-1} : f32[2, 4]
    ! cost {read_bytes=16, write_bytes=32}
  %y26 = concat(%x30, %x30) {axis=-2} : f32[4, 2]
    ! cost {read_bytes=16, write_bytes=32}
  %y27 = concat(%x31, %x31) {axis=1} : f32[2, 4, 2]
    ! cost {read_bytes=32, write_bytes=64}
  %y28 = concat(%x31, %x31) {axis=2} : f32[2, 2, 4]
    ! cost {read_bytes=32, write_bytes=64}
  %y29 = concat(%x31, %x31) {axis=-2} : f32[2, 4, 2]
    ! cost {read_bytes=32, write_bytes=64}
  %y30 = concat(%x31, %x31) {axis=-3} : f32[4, 2, 2]
    ! cost {read_bytes=32, write_bytes=64}
  %y31 = pad(%x32, %x33, %x34) : f32[1, 3, 7, 12]
    ! cost {read_bytes=240, write_bytes=1008}
  %y32 = pad(%x32, %x35, %x34, %x36) : f32[1, 3, 4, 12]
    ! cost {read_bytes=240, write_bytes=576}
  %y33 = pad(%x32, %x35, %x34, %x37) : f32[1, 3, 4, 12]
    ! cost {read_bytes=240, write_bytes=576}
  %y34 = constant_of_shape(%x38) {value=known(1)[1.0]} : f32[4, 3, 2] = [[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]]
    ! cost {write_bytes=96}
  %y35 = constant_of_shape(%x39) {value=known(1)[0], value_dtype="i32"} : i32[0] = []
    ! cost {}
  %y36 = constant_of_shape(%x40) {value=known(1)[0], value_dtype="i32"} : i32[10, 6] = [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    ! cost {write_bytes=240}
  %y37 = depth_to_space(%x41) {blocksize=2, mode="CRD"} : f32[1, 2, 4, 6]
    ! cost {read_bytes=192, write_bytes=192}
  %y38 = depth_to_space(%x41) {blocksize=2} : f32[1, 2, 4, 6]
    ! cost {read_bytes=192, write_bytes=192}
  %y39 = expand(%x42, %x43) : f32[2, 3, 6]
    ! cost {read_bytes=12, write_bytes=144}
  %y40 = expand(%x42, %x44) : f32[3, 4]
    ! cost {read_bytes=12, write_bytes=48}
  %y41 = flatten(%x45) {axis=0} : f32[1, 120]
    ! cost {}
  %y42 = flatten(%x45) : f32[2, 60]
    ! cost {}
  %y43 = flatten(%x45) {axis=2} : f32[6, 20]
    ! cost {}
  %y44 = flatten(%x45) {axis=3} : f32[24, 5]
    ! cost {}
  %y45 = flatten(%x46) : f32[5, 24]
    ! cost {}
  %y46 = flatten(%x45) {axis=-1} : f32[24, 5]
    ! cost {}
  %y47 = flatten(%x45) {axis=-2} : f32[6, 20]
    ! cost {}
  %y48 = flatten(%x45) {axis=-3} : f32[2, 60]
    ! cost {}
  %y49 = flatten(%x45) {axis=-4} : f32[1, 120]
    ! cost {}
  %y50 = gather(%x46, %x47) : f32[3, 4, 3, 2]
    ! cost {read_bytes=312, write_bytes=288}
  %y51 = gather(%x46, %x47) {axis=1} : f32[5, 3, 3, 2]
    ! cost {read_bytes=384, write_bytes=360}
  %y52 = gather(%x48, %x49) {axis=1} : f32[3, 1, 2]
    ! cost {read_bytes=40, write_bytes=24}
  %y53 = gather_elements(%x30, %x50) {axis=1} : f32[2, 2]
    ! cost {read_bytes=48, write_bytes=16}
  %y54 = gather_elements(%x48, %x51) : f32[2, 3]
    ! cost {read_bytes=72, write_bytes=24}
  %y55 = gather_elements(%x48, %x52) : f32[2, 3]
    ! cost {read_bytes=72, write_bytes=24}
  %y56 = gather(%x53, %x54) : f32[3]
    ! cost {read_bytes=36, write_bytes=12}
  %y57 = gather_nd(%x31, %x55) : f32[2, 1, 2]
    ! cost {read_bytes=48, write_bytes=16}
  %y58 = gather_nd(%x56, %x57) : i32[2] = [0, 3]
    ! cost {read_bytes=40, write_bytes=8}
  %y59 = gather_nd(%x58, %x59) {batch_dims=1} : i32[2, 2] = [[2, 3], [4, 5]]
    ! cost {read_bytes=32, write_bytes=16}
  %y60 = grid_sample(%x60, %x61) : f32[1, 1, 6, 6]
    ! cost {alu=252, read_bytes=352, write_bytes=144}
  %y61 = grid_sample(%x62, %x63) {align_corners=1} : f32[1, 1, 2, 4]
    ! cost {alu=56, read_bytes=88, write_bytes=32}
  %y62 = grid_sample(%x62, %x63) {mode="cubic"} : f32[1, 1, 2, 4]
    ! cost {alu=248, read_bytes=88, write_bytes=32}
  %y63 = grid_sample(%x62, %x63) {align_corners=1, mode="cubic"} : f32[1, 1, 2, 4]
    ! cost {alu=248, read_bytes=88, write_bytes=32}
  %y64 = grid_sample(%x62, %x63) : f32[1, 1, 2, 4]
    ! cost {alu=56, read_bytes=88, write_bytes=32}
  %y65 = grid_sample(%x62, %x63) {padding_mode="border"} : f32[1, 1, 2, 4]
    ! cost {alu=56, read_bytes=88, write_bytes=32}
  %y66 = grid_sample(%x62, %x63) {mode="nearest"} : f32[1, 1, 2, 4]
    ! cost {read_bytes=88, write_bytes=32}
  %y67 = grid_sample(%x62, %x63) {align_corners=1, mode="nearest"} : f32[1, 1, 2, 4]
    ! cost {read_bytes=88, write_bytes=32}
  %y68 = grid_sample(%x62, %x63) {padding_mode="reflection"} : f32[1, 1, 2, 4]
    ! cost {alu=56, read_bytes=88, write_bytes=32}
  %y69 = grid_sample(%x64, %x65) {align_corners=1} : f32[1, 1, 2, 4, 2]
    ! cost {alu=240, read_bytes=240, write_bytes=64}
  %y70 = grid_sample(%x64, %x65) {mode="nearest"} : f32[1, 1, 2, 4, 2]
    ! cost {read_bytes=240, write_bytes=64}
  %y71 = grid_sample(%x64, %x65) {align_corners=1, mode="nearest"} : f32[1, 1, 2, 4, 2]
    ! cost {read_bytes=240, write_bytes=64}
  %y72 = non_max_suppression(%x66, %x67, %x68, %x69, %x69) {center_point_box=1} : i64[u1, 3]
    ! cost {alu=6, read_bytes=120, write_bytes=24*u1}
  %y73 = non_max_suppression(%x66, %x67, %x68, %x69, %x69) : i64[u2, 3]
    ! cost {alu=6, read_bytes=120, write_bytes=24*u2}
  %y74 = non_max_suppression(%x70, %x71, %x68, %x69, %x69) : i64[u3, 3]
    ! cost {alu=10, read_bytes=200, write_bytes=24*u3}
  %y75 = non_zero(%x72) : i64[2, 3] = [[0, 1, 1], [0, 0, 1]]
    ! cost {integer=4, read_bytes=4, write_bytes=48}
  %y76 = one_hot(%x73, %x34, %x29) {axis=1} : f32[3, u4]
    ! cost {read_bytes=24, write_bytes=12*u4}
  %y77 = one_hot(%x74, %x34, %x29) {axis=1} : f32[3, u5]
    ! cost {read_bytes=24, write_bytes=12*u5}
  %y78 = one_hot(%x30, %x34, %x29) {axis=-2} : f32[2, u6, 2]
    ! cost {read_bytes=16, write_bytes=16*u6}
  %y79 = one_hot(%x75, %x34, %x76) : i32[3, u7]
    ! cost {read_bytes=24, write_bytes=12*u7}
  %y80 = range(%x77, %x77, %x77) : bf16[u8]
    ! cost {alu=u8, write_bytes=2*u8}
  %y81 = range(%x78, %x78, %x78) : f16[u9]
    ! cost {alu=u9, write_bytes=2*u9}
  %y82 = reshape(%x79, %x80) {allowzero=1} : f32[3, 4, 0]
    ! cost {}
  %y83 = reshape(%x2, %x81) : f32[2, 3, 2, 2]
    ! cost {}
  %y84 = reshape(%x2, %x82) : f32[2, 6, 2]
    ! cost {}
  %y85 = resize(%x60, _, %x83) {mode="cubic"} : f32[u10, u11, u12, u13]
    ! cost {alu=511*u10*u11*u12*u13, read_bytes=4*min(16, 256*u10*u11*u12*u13), write_bytes=4*u10*u11*u12*u13}
  %y86 = resize(%x60, _, %x83) {cubic_coeff_a=-0.5, exclude_outside=1, mode="cubic"} : f32[u14, u15, u16, u17]
    ! cost {alu=511*u14*u15*u16*u17, read_bytes=4*min(16, 256*u14*u15*u16*u17), write_bytes=4*u14*u15*u16*u17}
  %y87 = resize(%x60, _, %x83) {coordinate_transformation_mode="align_corners", mode="cubic"} : f32[u18, u19, u20, u21]
    ! cost {alu=511*u18*u19*u20*u21, read_bytes=4*min(16, 256*u18*u19*u20*u21), write_bytes=4*u18*u19*u20*u21}
  %y88 = resize(%x60, _, %x83) {antialias=1, mode="cubic"} : f32[u22, u23, u24, u25]
    ! cost {alu=511*u22*u23*u24*u25, read_bytes=4*min(16, 256*u22*u23*u24*u25), write_bytes=4*u22*u23*u24*u25}
  %y89 = resize(%x84, _, %x83) {mode="linear"} : f32[u26, u27, u28, u29]
    ! cost {alu=31*u26*u27*u28*u29, read_bytes=4*min(16*u26*u27*u28*u29, 8), write_bytes=4*u26*u27*u28*u29}
  %y90 = resize(%x84, _, %x83) {coordinate_transformation_mode="align_corners", mode="linear"} : f32[u30, u31, u32, u33]
    ! cost {alu=31*u30*u31*u32*u33, read_bytes=4*min(16*u30*u31*u32*u33, 8), write_bytes=4*u30*u31*u32*u33}
  %y91 = resize(%x60, _, %x83) {antialias=1, mode="linear"} : f32[u34, u35, u36, u37]
    ! cost {alu=31*u34*u35*u36*u37, read_bytes=4*min(16, 16*u34*u35*u36*u37), write_bytes=4*u34*u35*u36*u37}
  %y92 = resize(%x85, _, %x83) {coordinate_transformation_mode="half_pixel_symmetric", mode="linear"} : f32[u38, u39, u40, u41]
    ! cost {alu=31*u38*u39*u40*u41, read_bytes=4*min(16*u38*u39*u40*u41, 4), write_bytes=4*u38*u39*u40*u41}
  %y93 = resize(%x84, _, %x83) : f32[u42, u43, u44, u45]
    ! cost {read_bytes=4*min(8, u42*u43*u44*u45), write_bytes=4*u42*u43*u44*u45}
  %y94 = resize(%x60, _, _, %x86) {mode="cubic"} : f32[1, 1, 3, 3]
    ! cost {alu=279, read_bytes=64, write_bytes=36}
  %y95 = resize(%x60, _, _, %x86) {antialias=1, mode="cubic"} : f32[1, 1, 3, 3]
    ! cost {alu=279, read_bytes=64, write_bytes=36}
  %y96 = resize(%x60, _, _, %x86) {antialias=1, mode="linear"} : f32[1, 1, 3, 3]
    ! cost {alu=63, read_bytes=64, write_bytes=36}
  %y97 = resize(%x60, _, _, %x87) {coordinate_transformation_mode="pytorch_half_pixel", mode="linear"} : f32[1, 1, 3, 1]
    ! cost {alu=21, read_bytes=48, write_bytes=12}
  %y98 = resize(%x84, _, _, %x88) : f32[1, 1, 1, 3]
    ! cost {read_bytes=12, write_bytes=12}
  %y99 = reverse_sequence(%x89, %x90) {batch_axis=0, time_axis=1} : f32[4, 4]
    ! cost {read_bytes=64, write_bytes=64}
  %y100 = reverse_sequence(%x91, %x92) {batch_axis=0, time_axis=1} : bf16[2, 4]
    ! cost {read_bytes=16, write_bytes=16}
  %y101 = reverse_sequence(%x89, %x93) : f32[4, 4]
    ! cost {read_bytes=64, write_bytes=64}
  %y102 = roi_align(%x94, %x95, %x96) {coordinate_transformation_mode="output_half_pixel", output_height=5, output_width=5, sampling_ratio=2} : f32[3, 1, 5, 5]
    ! cost {alu=2400, read_bytes=472, write_bytes=300}
  %y103 = roi_align(%x94, %x95, %x96) {output_height=5, output_width=5, sampling_ratio=2} : f32[3, 1, 5, 5]
    ! cost {alu=2400, read_bytes=472, write_bytes=300}
  %y104 = roi_align(%x94, %x95, %x96) {coordinate_transformation_mode="output_half_pixel", mode="max", output_height=5, output_width=5, sampling_ratio=2} : f32[3, 1, 5, 5]
    ! cost {alu=2400, read_bytes=472, write_bytes=300}
  %y105 = scatter_elements(%x97, %x98, %x99) {axis=1} : f32[1, 5]
    ! cost {read_bytes=44, write_bytes=20}
  %y106 = scatter_elements(%x97, %x100, %x99) {reduction="add", axis=1} : f32[1, 5]
    ! cost {alu=2, read_bytes=44, write_bytes=20}
  %y107 = scatter_elements(%x97, %x101, %x99) {axis=1} : f32[1, 5]
    ! cost {read_bytes=44, write_bytes=20}
  %y108 = scatter_elements(%x97, %x100, %x99) {reduction="max", axis=1} : f32[1, 5]
    ! cost {alu=2, read_bytes=44, write_bytes=20}
  %y109 = scatter_elements(%x97, %x100, %x99) {reduction="min", axis=1} : f32[1, 5]
    ! cost {alu=2, read_bytes=44, write_bytes=20}
  %y110 = scatter_elements(%x97, %x100, %x99) {reduction="mul", axis=1} : f32[1, 5]
    ! cost {alu=2, read_bytes=44, write_bytes=20}
  %y111 = scatter_elements(%x48, %x102, %x103) : f32[3, 3]
    ! cost {read_bytes=108, write_bytes=36}
  %y112 = scatter_nd(%x104, %x105, %x106) : f32[4, 4, 4]
    ! cost {read_bytes=400, write_bytes=256}
  %y113 = scatter_nd(%x104, %x107, %x106) {reduction="add"} : f32[4, 4, 4]
    ! cost {alu=32, read_bytes=400, write_bytes=256}
  %y114 = scatter_nd(%x104, %x107, %x106) {reduction="max"} : f32[4, 4, 4]
    ! cost {alu=32, read_bytes=400, write_bytes=256}
  %y115 = scatter_nd(%x30, %x57, %x29) {reduction="max"} : f32[2, 2]
    ! cost {alu=2, read_bytes=56, write_bytes=16}
  %y116 = scatter_nd(%x104, %x107, %x106) {reduction="min"} : f32[4, 4, 4]
    ! cost {alu=32, read_bytes=400, write_bytes=256}
  %y117 = scatter_nd(%x30, %x57, %x29) {reduction="min"} : f32[2, 2]
    ! cost {alu=2, read_bytes=56, write_bytes=16}
  %y118 = scatter_nd(%x104, %x107, %x106) {reduction="mul"} : f32[4, 4, 4]
    ! cost {alu=32, read_bytes=400, write_bytes=256}
  %y119 = sequence_insert(%x108, %x109) : seq<i64[*]>
    ! cost {}
  %y120 = sequence_insert(%x108, %x110, %x39) : seq<i64[*]; ?; i64[3]>
    ! cost {}
  %y121 = shape(%x111) : i64[3] = [3, 4, 5]
    ! cost {}
  %y122 = shape(%x111) {end=10} : i64[3] = [3, 4, 5]
    ! cost {}
  %y123 = shape(%x111) {start=-10} : i64[3] = [3, 4, 5]
    ! cost {}
  %y124 = shape(%x111) {end=1} : i64[1] = [3]
    ! cost {}
  %y125 = shape(%x111) {end=-1} : i64[2] = [3, 4]
    ! cost {}
  %y126 = shape(%x103) : i64[2] = [2, 3]
    ! cost {}
  %y127 = shape(%x111) {start=1} : i64[2] = [4, 5]
    ! cost {}
  %y128 = shape(%x111) {start=1, end=2} : i64[1] = [4]
    ! cost {}
  %y129 = shape(%x111) {start=1, end=-1} : i64[1] = [4]
    ! cost {}
  %y130 = shape(%x111) {start=2, end=1} : i64[0] = []
    ! cost {}
  %y131 = shape(%x111) {start=-1} : i64[1] = [5]
    ! cost {}
  %y132 = size(%x111) : i64[] = 60
    ! cost {}
  %y133 = size(%x103) : i64[] = 6
    ! cost {}
  %y134 = slice(%x112, %x113, %x114, %x115, %x116) : f32[3, 10, 5]
    ! cost {read_bytes=600, write_bytes=600}
  %y135 = slice(%x112, %x117, %x118) : f32[20, 10, 1]
    ! cost {read_bytes=800, write_bytes=800}
  %y136 = slice(%x112, %x117, %x118, %x119) : f32[20, 10, 1]
    ! cost {read_bytes=800, write_bytes=800}
  %y137 = slice(%x112, %x120, %x121, %x120, %x120) : f32[20, 9, 5]
    ! cost {read_bytes=3600, write_bytes=3600}
  %y138 = slice(%x112, %x117, %x118, %x122) : f32[20, 10, 1]
    ! cost {read_bytes=800, write_bytes=800}
  %y139 = space_to_depth(%x123) {blocksize=2} : f32[2, 8, 3, 3]
    ! cost {read_bytes=576, write_bytes=576}
  %y140 = space_to_depth(%x124) {blocksize=2, mode="CRD"} : f32[1, 8, 2, 3]
    ! cost {read_bytes=192, write_bytes=192}
  %y141 = space_to_depth(%x124) {blocksize=2} : f32[1, 8, 2, 3]
    ! cost {read_bytes=192, write_bytes=192}
  %y142, %y143, %y144, %y145 = split(%x125) {num_outputs=4} : f32[2], f32[2], f32[2], f32[1]
    ! cost {read_bytes=28, write_bytes=28}
  %y146, %y147, %y148 = split(%x126) {axis=1, num_outputs=3} : f32[2, 3], f32[2, 3], f32[2, 2]
    ! cost {read_bytes=64, write_bytes=64}
  %y149, %y150, %y151 = split(%x127) {num_outputs=3} : f32[2], f32[2], f32[2]
    ! cost {read_bytes=24, write_bytes=24}
  %y152, %y153 = split(%x128) {axis=1, num_outputs=2} : f32[2, 3], f32[2, 3]
    ! cost {read_bytes=48, write_bytes=48}
  %y154, %y155 = split(%x127, %x129) {num_outputs=2} : f32[2], f32[4]
    ! cost {read_bytes=24, write_bytes=24}
  %y156, %y157 = split(%x128, %x129) {axis=1, num_outputs=2} : f32[2, 2], f32[2, 4]
    ! cost {read_bytes=48, write_bytes=48}
  %y158, %y159, %y160 = split(%x130, %x96) {num_outputs=3} : f32[0], f32[0], f32[0]
    ! cost {}
  %y161 = squeeze(%x32, %x39) : f32[3, 4, 5]
    ! cost {}
  %y162 = squeeze(%x131, %x132) : f32[1, 3, 5]
    ! cost {}
  %y163 = tensor_scatter(%x133, %x134, %x135) : f32[2, 1, 4, 5]
    ! cost {read_bytes=56, write_bytes=40}
  %y164 = tensor_scatter(%x111, %x136, %x137) : f32[3, 4, 5]
    ! cost {read_bytes=144, write_bytes=120}
  %y165 = tensor_scatter(%x133, %x138, %x36) {mode="circular"} : f32[2, 1, 4, 5]
    ! cost {read_bytes=96, write_bytes=80}
  %y166 = tile(%x45, %x139) : f32[14, 18, 16, 10]
    ! cost {read_bytes=480, write_bytes=161280}
  %y167 = tile(%x30, %x20) : f32[4, 4]
    ! cost {read_bytes=16, write_bytes=64}
  %y168, %y169 = top_k(%x95, %x68) {axis=1} : f32[3, 3], i64[3, 3]
    ! cost {alu=12, read_bytes=48, write_bytes=108}
  %y170, %y171 = top_k(%x95, %x68) : f32[3, 3], i64[3, 3]
    ! cost {alu=12, read_bytes=48, write_bytes=108}
  %y172, %y173 = top_k(%x140, %x68) {axis=0} : i64[3] = [0, 0, 0], i64[3] = [0, 1, 2]
    ! cost {integer=4, read_bytes=32, write_bytes=48}
  %y174, %y175 = top_k(%x141, %x68) {axis=1} : i64[3, 3] = [[0, 0, 0], [1, 1, 1], [2, 2, 1]], i64[3, 3] = [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    ! cost {integer=12, read_bytes=96, write_bytes=144}
  %y176, %y177 = top_k(%x95, %x68) {axis=1, largest=0} : f32[3, 3], i64[3, 3]
    ! cost {alu=12, read_bytes=48, write_bytes=108}
  %y178 = transpose(%x2) {perm=[0, 1, 2]} : f32[2, 3, 4]
    ! cost {read_bytes=96, write_bytes=96}
  %y179 = transpose(%x2) {perm=[0, 2, 1]} : f32[2, 4, 3]
    ! cost {read_bytes=96, write_bytes=96}
  %y180 = transpose(%x2) {perm=[1, 0, 2]} : f32[3, 2, 4]
    ! cost {read_bytes=96, write_bytes=96}
  %y181 = transpose(%x2) {perm=[1, 2, 0]} : f32[3, 4, 2]
    ! cost {read_bytes=96, write_bytes=96}
  %y182 = transpose(%x2) {perm=[2, 0, 1]} : f32[4, 2, 3]
    ! cost {read_bytes=96, write_bytes=96}
  %y183 = transpose(%x2) {perm=[2, 1, 0]} : f32[4, 3, 2]
    ! cost {read_bytes=96, write_bytes=96}
  %y184 = transpose(%x2) : f32[4, 3, 2]
    ! cost {read_bytes=96, write_bytes=96}
  %y185 = trilu(%x142) {upper=0} : i64[4, 5] = [[5, 0, 0, 0, 0], [9, 3, 0, 0, 0], [7, 6, 8, 0, 0], [6, 7, 7, 8, 0]]
    ! cost {read_bytes=160, write_bytes=160}
  %y186 = trilu(%x142, %x143) {upper=0} : i64[4, 5] = [[0, 0, 0, 0, 0], [9, 0, 0, 0, 0], [7, 6, 0, 0, 0], [6, 7, 7, 0, 0]]
    ! cost {read_bytes=160, write_bytes=160}
  %y187 = trilu(%x144) {upper=0} : i64[3, 1, 5] = [[[5, 0, 0, 0, 0]], [[9, 0, 0, 0, 0]], [[7, 0, 0, 0, 0]]]
    ! cost {read_bytes=120, write_bytes=120}
  %y188 = trilu(%x142, %x145) {upper=0} : i64[4, 5] = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    ! cost {read_bytes=160, write_bytes=160}
  %y189 = trilu(%x142) : i64[4, 5] = [[5, 0, 3, 3, 7], [0, 3, 5, 2, 4], [0, 0, 8, 8, 1], [0, 0, 0, 8, 1]]
    ! cost {read_bytes=160, write_bytes=160}
  %y190 = trilu(%x142, %x143) : i64[4, 5] = [[5, 0, 3, 3, 7], [9, 3, 5, 2, 4], [0, 6, 8, 8, 1], [0, 0, 7, 8, 1]]
    ! cost {read_bytes=160, write_bytes=160}
  %y191 = trilu(%x144, %x146) : i64[3, 1, 5] = [[[0, 0, 3, 3, 7]], [[0, 3, 5, 2, 4]], [[0, 6, 8, 8, 1]]]
    ! cost {read_bytes=120, write_bytes=120}
  %y192, %y193, %y194, %y195 = unique(%x147) : bf16[u46], i64[u46], i64[6], i64[u46]
    ! cost {alu=6, read_bytes=12, write_bytes=18*u46 + 48}
  %y196, %y197, %y198, %y199 = unique(%x39) : i64[1] = [0], i64[1] = [0], i64[1] = [0], i64[1] = [1]
    ! cost {integer=1, read_bytes=8, write_bytes=32}
  %y200, %y201, %y202, %y203 = unique(%x127) {sorted=0} : f32[u47], i64[u47], i64[6], i64[u47]
    ! cost {alu=6, read_bytes=24, write_bytes=20*u47 + 48}
  %y204, %y205, %y206, %y207 = unique(%x48) {axis=0} : f32[u48, 3], i64[u48], i64[3], i64[u48]
    ! cost {alu=9, read_bytes=36, write_bytes=28*u48 + 24}
  %y208, %y209, %y210, %y211 = unique(%x148) {axis=1} : f32[2, u49, 2], i64[u49], i64[4], i64[u49]
    ! cost {alu=16, read_bytes=64, write_bytes=32*u49 + 32}
  %y212, %y213, %y214, %y215 = unique(%x48) {axis=-1} : f32[3, u50], i64[u50], i64[3], i64[u50]
    ! cost {alu=9, read_bytes=36, write_bytes=28*u50 + 24}
  %y216 = unsqueeze(%x111, %x39) : f32[1, 3, 4, 5]
    ! cost {}
  %y217 = unsqueeze(%x111, %x120) : f32[3, 1, 4, 5]
    ! cost {}
  %y218 = upsample(%x149, %x83) : f32[u51, u52, u53, u54]
    ! cost {read_bytes=4*min(4, u51*u52*u53*u54), write_bytes=4*u51*u52*u53*u54}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73, %y74, %y75, %y76, %y77, %y78, %y79, %y80, %y81, %y82, %y83, %y84, %y85, %y86, %y87, %y88, %y89, %y90, %y91, %y92, %y93, %y94, %y95, %y96, %y97, %y98, %y99, %y100, %y101, %y102, %y103, %y104, %y105, %y106, %y107, %y108, %y109, %y110, %y111, %y112, %y113, %y114, %y115, %y116, %y117, %y118, %y119, %y120, %y121, %y122, %y123, %y124, %y125, %y126, %y127, %y128, %y129, %y130, %y131, %y132, %y133, %y134, %y135, %y136, %y137, %y138, %y139, %y140, %y141, %y142, %y143, %y144, %y145, %y146, %y147, %y148, %y149, %y150, %y151, %y152, %y153, %y154, %y155, %y156, %y157, %y158, %y159, %y160, %y161, %y162, %y163, %y164, %y165, %y166, %y167, %y168, %y169, %y170, %y171, %y172, %y173, %y174, %y175, %y176, %y177, %y178, %y179, %y180, %y181, %y182, %y183, %y184, %y185, %y186, %y187, %y188, %y189, %y190, %y191, %y192, %y193, %y194, %y195, %y196, %y197, %y198, %y199, %y200, %y201, %y202, %y203, %y204, %y205, %y206, %y207, %y208, %y209, %y210, %y211, %y212, %y213, %y214, %y215, %y216, %y217, %y218
}
