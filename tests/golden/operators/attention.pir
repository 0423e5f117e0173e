# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent n in 1..
extent q in 1..
extent d in 1..
extent k in 1..
extent g in 1..
extent v in 1..
extent b in 1..
extent t in 1..
extent h in 1..
extent s in 1..
extent i in 1..
extent j in 1..
extent p in 1..
extent l in 1..

graph @main(%x0: f32[1, 2, 2, 8], %x1: b1[2, 2] = [[false, false], [true, true]], %x2: f16[1, 2, 2, 8], %x3: f32[2, 4, 24], %x4: f32[2, 6, 24], %x5: f32[4, 6], %x6: bf16[2, 4, 24], %x7: bf16[2, 6, 24], %x8: f32[2, 6, 30], %x9: f32[4, 18], %x10: f32[2, 3, 12, 8], %x11: f32[2, 3, 12, 10], %x12: f32[2, 4, 72], %x13: f32[1, 1, 6], %x14: f32[1, 1, 4], %x15: f32[2, 4, 8], %x16: f32[4, 1, 4], %x17: f32[2, 4, 1], %x18: f32[4], %x19: f32[2, 4, 3], %x20: f16[2, 4, 8], %x21: f16[4, 1, 4], %x22: f32[2, 4, 8, 16], %x23: f32[2, 4, 6, 16], %x24: f32[2, 4, 6, 32], %x25: f32[2, 1, 32], %x26: f32[2, 4, 8, 8], %x27: f32[2, 1, 4], %x28: f32[2, 4, 32], %x29: f32[2, 4, 4], %x30: f16[2, 4, 64], %x31: f16[2, 4, 32], %x32: f16[2, 4, 4], %x33: f32[2, 4, 64], %x34: f32[2, 4, 3, 8], %x35: f32[50, 4], %x36: i64[2, 3] = [[9, 47, 36], [24, 11, 12]], %x37: f32[2, 3, 32], %x38: f32[2, 3, 4], %x39: f32[2, 3, 2], %x40: f32[50, 2], %x41: f32[n, q, d], %x42: f32[n, k, d], %x43: f32[n, g, v], %x44: f32[b, g, v, d], %x45: f32[b, t, h], %x46: f32[h], %x47: f32[b, s, i], %x48: f32[i, j], %x49: f32[j], %x50: f32[2, b, h, p, v], %x51: f32[b, s, d*h], %x52: f32[b, l, d*h], %x53: f32[b, l, h*v], %x54: f32[b, h, p, d]) {
  %y0 = attention(%x0, %x0, %x0, %x1) : ?
  %y1, _, _, %y2 = attention(%x0, %x0, %x0, %x1) {qk_matmul_output_mode=3} : ?, _, _, ?
  %y3, _, _, %y4 = attention(%x2, %x2, %x2, %x1) {qk_matmul_output_mode=3, softmax_precision=1} : ?, _, _, ?
  %y5 = attention(%x3, %x4, %x4) {kv_num_heads=3, q_num_heads=3} : ?
  %y6 = attention(%x3, %x4, %x4, %x5) {kv_num_heads=3, q_num_heads=3} : ?
  %y7 = attention(%x3, %x4, %x4) {is_causal=1, kv_num_heads=3, q_num_heads=3} : ?
  %y8 = attention(%x6, %x7, %x7) {is_causal=1, kv_num_heads=3, q_num_heads=3} : ?
  %y9 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3} : ?
  %y10 = attention(%x3, %x4, %x8, %x5) {kv_num_heads=3, q_num_heads=3} : ?
  %y11 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3, scale=0.009999999776482582} : ?
  %y12 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3, softcap=3.0} : ?
  %y13, %y14, %y15 = attention(%x3, %x4, %x8, %x9, %x10, %x11) {kv_num_heads=3, q_num_heads=3} : ?, ?, ?
  %y16 = attention(%x12, %x4, %x4) {kv_num_heads=3, q_num_heads=9} : ?
  %y17 = attention(%x12, %x4, %x4, %x5) {kv_num_heads=3, q_num_heads=9} : ?
  %y18, %y19 = causal_conv_with_state(%x13, %x14) : ?, ?
  %y20, %y21 = causal_conv_with_state(%x15, %x16) : ?, ?
  %y22, %y23 = causal_conv_with_state(%x17, %x16, %x18, %x19) : ?, ?
  %y24, %y25 = causal_conv_with_state(%x15, %x16) {activation="silu"} : ?, ?
  %y26, %y27 = causal_conv_with_state(%x20, %x21) {activation="silu"} : ?, ?
  %y28, %y29 = causal_conv_with_state(%x15, %x16, _, %x19) {activation="silu"} : ?, ?
  %y30, %y31 = causal_conv_with_state(%x15, %x16) {activation="swish"} : ?, ?
  %y32, %y33 = causal_conv_with_state(%x15, %x16, %x18) : ?, ?
  %y34, %y35 = causal_conv_with_state(%x15, %x16, %x18, %x19) : ?, ?
  %y36 = flex_attention(%x22, %x23, %x23) : ?
  %y37 = flex_attention(%x22, %x23, %x24) : ?
  %y38 = flex_attention(%x22, %x23, %x23) {scale=0.10000000149011612} : ?
  %y39, %y40 = linear_attention(%x25, %x25, %x25, %x26, %x25, %x27) {kv_num_heads=4, q_num_heads=4} : ?, ?
  %y41, %y42 = linear_attention(%x28, %x28, %x28, _, _, %x29) {kv_num_heads=4, q_num_heads=4, update_rule="delta"} : ?, ?
  %y43, %y44 = linear_attention(%x28, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=4, scale=0.25} : ?, ?
  %y45, %y46 = linear_attention(%x30, %x31, %x31, _, %x31, %x32) {kv_num_heads=4, q_num_heads=8} : ?, ?
  %y47, %y48 = linear_attention(%x28, %x28, %x28, _, %x28) {kv_num_heads=4, q_num_heads=4, update_rule="gated"} : ?, ?
  %y49, %y50 = linear_attention(%x28, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=4} : ?, ?
  %y51, %y52 = linear_attention(%x33, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=8} : ?, ?
  %y53, %y54 = linear_attention(%x33, %x15, %x15, _, %x15, %x17) {q_num_heads=8} : ?, ?
  %y55, %y56 = linear_attention(%x28, %x28, %x28, _, %x29) {kv_num_heads=4, q_num_heads=4, update_rule="gated"} : ?, ?
  %y57, %y58 = linear_attention(%x28, %x28, %x28) {kv_num_heads=4, q_num_heads=4, update_rule="linear"} : ?, ?
  %y59, %y60 = linear_attention(%x25, %x25, %x25) {kv_num_heads=4, q_num_heads=4, update_rule="linear"} : ?, ?
  %y61 = rotary_embedding(%x34, %x35, %x35, %x36) : ?
  %y62 = rotary_embedding(%x37, %x35, %x35, %x36) {num_heads=4} : ?
  %y63 = rotary_embedding(%x34, %x35, %x35, %x36) {interleaved=1} : ?
  %y64 = rotary_embedding(%x34, %x38, %x38) : ?
  %y65 = rotary_embedding(%x34, %x38, %x38) {interleaved=1} : ?
  %y66 = rotary_embedding(%x34, %x39, %x39) {rotary_embedding_dim=4} : ?
  %y67 = rotary_embedding(%x34, %x40, %x40, %x36) {interleaved=1, rotary_embedding_dim=4} : ?
  %y68 = rotary_embedding(%x34, %x40, %x40, %x36) {rotary_embedding_dim=4} : ?
  %y69 = gated_delta_net(%x41, %x42, %x43, _, _, _, %x44) : ?
  %y70 = linear_attention_gate(%x45, %x46, %x46, %x45) : ?
  %y71 = ms_attention(%x47, %x48, %x49, _, %x50) : ?
  %y72 = multi_head_attention(%x51, %x52, %x53, _, _, _, %x54) : ?
  %y73 = decoder_masked_multi_head_attention(%x51, %x52, %x53, _, _, %x54) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73
}
# ---- expect
perfir 1
module @main
extent n in 1..
extent q in 1..
extent d in 1..
extent k in 1..
extent g in 1..
extent v in 1..
extent b in 1..
extent t in 1..
extent h in 1..
extent s in 1..
extent i in 1..
extent j in 1..
extent p in 1..
extent l in 1..

graph @main(%x0: f32[1, 2, 2, 8], %x1: b1[2, 2] = [[false, false], [true, true]], %x2: f16[1, 2, 2, 8], %x3: f32[2, 4, 24], %x4: f32[2, 6, 24], %x5: f32[4, 6], %x6: bf16[2, 4, 24], %x7: bf16[2, 6, 24], %x8: f32[2, 6, 30], %x9: f32[4, 18], %x10: f32[2, 3, 12, 8], %x11: f32[2, 3, 12, 10], %x12: f32[2, 4, 72], %x13: f32[1, 1, 6], %x14: f32[1, 1, 4], %x15: f32[2, 4, 8], %x16: f32[4, 1, 4], %x17: f32[2, 4, 1], %x18: f32[4], %x19: f32[2, 4, 3], %x20: f16[2, 4, 8], %x21: f16[4, 1, 4], %x22: f32[2, 4, 8, 16], %x23: f32[2, 4, 6, 16], %x24: f32[2, 4, 6, 32], %x25: f32[2, 1, 32], %x26: f32[2, 4, 8, 8], %x27: f32[2, 1, 4], %x28: f32[2, 4, 32], %x29: f32[2, 4, 4], %x30: f16[2, 4, 64], %x31: f16[2, 4, 32], %x32: f16[2, 4, 4], %x33: f32[2, 4, 64], %x34: f32[2, 4, 3, 8], %x35: f32[50, 4], %x36: i64[2, 3] = [[9, 47, 36], [24, 11, 12]], %x37: f32[2, 3, 32], %x38: f32[2, 3, 4], %x39: f32[2, 3, 2], %x40: f32[50, 2], %x41: f32[n, q, d], %x42: f32[n, k, d], %x43: f32[n, g, v], %x44: f32[b, g, v, d], %x45: f32[b, t, h], %x46: f32[h], %x47: f32[b, s, i], %x48: f32[i, j], %x49: f32[j], %x50: f32[2, b, h, p, v], %x51: f32[b, s, d*h], %x52: f32[b, l, d*h], %x53: f32[b, l, h*v], %x54: f32[b, h, p, d]) {
  %y0 = attention(%x0, %x0, %x0, %x1) : f32[1, 2, 2, 8]
    ! cost {mac=128, alu=72, sfu=12, read_bytes=132, write_bytes=128}
  %y1, _, _, %y2 = attention(%x0, %x0, %x0, %x1) {qk_matmul_output_mode=3} : f32[1, 2, 2, 8], _, _, f32[1, 2, 2, 2]
    ! cost {mac=128, alu=72, sfu=12, read_bytes=132, write_bytes=160}
  %y3, _, _, %y4 = attention(%x2, %x2, %x2, %x1) {qk_matmul_output_mode=3, softmax_precision=1} : f16[1, 2, 2, 8], _, _, f16[1, 2, 2, 2]
    ! cost {mac=128, alu=72, sfu=12, read_bytes=68, write_bytes=80}
  %y5 = attention(%x3, %x4, %x4) {kv_num_heads=3, q_num_heads=3} : f32[2, 4, 24]
    ! cost {mac=2304, alu=768, sfu=168, read_bytes=1920, write_bytes=768}
  %y6 = attention(%x3, %x4, %x4, %x5) {kv_num_heads=3, q_num_heads=3} : f32[2, 4, 24]
    ! cost {mac=2304, alu=912, sfu=168, read_bytes=2016, write_bytes=768}
  %y7 = attention(%x3, %x4, %x4) {is_causal=1, kv_num_heads=3, q_num_heads=3} : f32[2, 4, 24]
    ! cost {mac=2304, alu=432, sfu=84, read_bytes=1536, write_bytes=768}
  %y8 = attention(%x6, %x7, %x7) {is_causal=1, kv_num_heads=3, q_num_heads=3} : bf16[2, 4, 24]
    ! cost {mac=2304, alu=432, sfu=84, read_bytes=768, write_bytes=384}
  %y9 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3} : f32[2, 4, 30]
    ! cost {mac=2592, alu=816, sfu=168, read_bytes=3360, write_bytes=960}
  %y10 = attention(%x3, %x4, %x8, %x5) {kv_num_heads=3, q_num_heads=3} : f32[2, 4, 30]
    ! cost {mac=2592, alu=960, sfu=168, read_bytes=3456, write_bytes=960}
  %y11 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3, scale=0.009999999776482582} : f32[2, 4, 30]
    ! cost {mac=2592, alu=816, sfu=168, read_bytes=3360, write_bytes=960}
  %y12 = attention(%x3, %x4, %x8) {kv_num_heads=3, q_num_heads=3, softcap=3.0} : f32[2, 4, 30]
    ! cost {mac=2592, alu=1104, sfu=312, read_bytes=3360, write_bytes=960}
  %y13, %y14, %y15 = attention(%x3, %x4, %x8, %x9, %x10, %x11) {kv_num_heads=3, q_num_heads=3} : f32[2, 4, 30], f32[2, 3, 18, 8], f32[2, 3, 18, 10]
    ! cost {mac=7776, alu=2400, sfu=456, read_bytes=8832, write_bytes=8736}
  %y16 = attention(%x12, %x4, %x4) {kv_num_heads=3, q_num_heads=9} : f32[2, 4, 72]
    ! cost {mac=6912, alu=2304, sfu=504, read_bytes=3456, write_bytes=2304}
  %y17 = attention(%x12, %x4, %x4, %x5) {kv_num_heads=3, q_num_heads=9} : f32[2, 4, 72]
    ! cost {mac=6912, alu=2736, sfu=504, read_bytes=3552, write_bytes=2304}
  %y18, %y19 = causal_conv_with_state(%x13, %x14) : f32[1, 1, 6], f32[1, 1, 3]
    ! cost {mac=24, read_bytes=40, write_bytes=36}
  %y20, %y21 = causal_conv_with_state(%x15, %x16) : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, read_bytes=320, write_bytes=352}
  %y22, %y23 = causal_conv_with_state(%x17, %x16, %x18, %x19) : f32[2, 4, 1], f32[2, 4, 3]
    ! cost {mac=32, alu=8, read_bytes=208, write_bytes=128}
  %y24, %y25 = causal_conv_with_state(%x15, %x16) {activation="silu"} : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, alu=192, sfu=128, read_bytes=320, write_bytes=352}
  %y26, %y27 = causal_conv_with_state(%x20, %x21) {activation="silu"} : f16[2, 4, 8], f16[2, 4, 3]
    ! cost {mac=256, alu=192, sfu=128, read_bytes=160, write_bytes=176}
  %y28, %y29 = causal_conv_with_state(%x15, %x16, _, %x19) {activation="silu"} : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, alu=192, sfu=128, read_bytes=416, write_bytes=352}
  %y30, %y31 = causal_conv_with_state(%x15, %x16) {activation="swish"} : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, alu=192, sfu=128, read_bytes=320, write_bytes=352}
  %y32, %y33 = causal_conv_with_state(%x15, %x16, %x18) : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, alu=64, read_bytes=336, write_bytes=352}
  %y34, %y35 = causal_conv_with_state(%x15, %x16, %x18, %x19) : f32[2, 4, 8], f32[2, 4, 3]
    ! cost {mac=256, alu=64, read_bytes=432, write_bytes=352}
  %y36 = flex_attention(%x22, %x23, %x23) : f32[2, 4, 8, 16]
    ! cost {mac=12288, alu=2560, sfu=448, read_bytes=7168, write_bytes=4096}
  %y37 = flex_attention(%x22, %x23, %x24) : f32[2, 4, 8, 32]
    ! cost {mac=18432, alu=3584, sfu=448, read_bytes=13312, write_bytes=8192}
  %y38 = flex_attention(%x22, %x23, %x23) {scale=0.10000000149011612} : f32[2, 4, 8, 16]
    ! cost {mac=12288, alu=2560, sfu=448, read_bytes=7168, write_bytes=4096}
  %y39, %y40 = linear_attention(%x25, %x25, %x25, %x26, %x25, %x27) {kv_num_heads=4, q_num_heads=4} : f32[2, 1, 32], f32[2, 4, 8, 8]
    ! cost {mac=1536, alu=704, sfu=64, read_bytes=2336, write_bytes=2304}
  %y41, %y42 = linear_attention(%x28, %x28, %x28, _, _, %x29) {kv_num_heads=4, q_num_heads=4, update_rule="delta"} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=6144, alu=768, read_bytes=1152, write_bytes=3072}
  %y43, %y44 = linear_attention(%x28, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=4, scale=0.25} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=6144, alu=2816, sfu=256, read_bytes=1152, write_bytes=3072}
  %y45, %y46 = linear_attention(%x30, %x31, %x31, _, %x31, %x32) {kv_num_heads=4, q_num_heads=8} : f16[2, 4, 64], f16[2, 4, 8, 8]
    ! cost {mac=8192, alu=3072, sfu=256, read_bytes=1600, write_bytes=2048}
  %y47, %y48 = linear_attention(%x28, %x28, %x28, _, %x28) {kv_num_heads=4, q_num_heads=4, update_rule="gated"} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=4096, alu=2304, sfu=256, read_bytes=1024, write_bytes=3072}
  %y49, %y50 = linear_attention(%x28, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=4} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=6144, alu=2816, sfu=256, read_bytes=1152, write_bytes=3072}
  %y51, %y52 = linear_attention(%x33, %x28, %x28, _, %x28, %x29) {kv_num_heads=4, q_num_heads=8} : f32[2, 4, 64], f32[2, 4, 8, 8]
    ! cost {mac=8192, alu=3072, sfu=256, read_bytes=3200, write_bytes=4096}
  %y53, %y54 = linear_attention(%x33, %x15, %x15, _, %x15, %x17) {q_num_heads=8} : f32[2, 4, 64], f32[2, 1, 8, 8]
    ! cost {mac=5120, alu=1152, sfu=64, read_bytes=2336, write_bytes=2560}
  %y55, %y56 = linear_attention(%x28, %x28, %x28, _, %x29) {kv_num_heads=4, q_num_heads=4, update_rule="gated"} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=4096, alu=2304, sfu=32, read_bytes=1152, write_bytes=3072}
  %y57, %y58 = linear_attention(%x28, %x28, %x28) {kv_num_heads=4, q_num_heads=4, update_rule="linear"} : f32[2, 4, 32], f32[2, 4, 8, 8]
    ! cost {mac=4096, alu=256, read_bytes=1024, write_bytes=3072}
  %y59, %y60 = linear_attention(%x25, %x25, %x25) {kv_num_heads=4, q_num_heads=4, update_rule="linear"} : f32[2, 1, 32], f32[2, 4, 8, 8]
    ! cost {mac=1024, alu=64, read_bytes=256, write_bytes=2304}
  %y61 = rotary_embedding(%x34, %x35, %x35, %x36) : f32[2, 4, 3, 8]
    ! cost {alu=576, read_bytes=1008, write_bytes=768}
  %y62 = rotary_embedding(%x37, %x35, %x35, %x36) {num_heads=4} : f32[2, 3, 32]
    ! cost {alu=576, read_bytes=1008, write_bytes=768}
  %y63 = rotary_embedding(%x34, %x35, %x35, %x36) {interleaved=1} : f32[2, 4, 3, 8]
    ! cost {alu=576, read_bytes=1008, write_bytes=768}
  %y64 = rotary_embedding(%x34, %x38, %x38) : f32[2, 4, 3, 8]
    ! cost {alu=576, read_bytes=960, write_bytes=768}
  %y65 = rotary_embedding(%x34, %x38, %x38) {interleaved=1} : f32[2, 4, 3, 8]
    ! cost {alu=576, read_bytes=960, write_bytes=768}
  %y66 = rotary_embedding(%x34, %x39, %x39) {rotary_embedding_dim=4} : f32[2, 4, 3, 8]
    ! cost {alu=288, read_bytes=864, write_bytes=768}
  %y67 = rotary_embedding(%x34, %x40, %x40, %x36) {interleaved=1, rotary_embedding_dim=4} : f32[2, 4, 3, 8]
    ! cost {alu=288, read_bytes=912, write_bytes=768}
  %y68 = rotary_embedding(%x34, %x40, %x40, %x36) {rotary_embedding_dim=4} : f32[2, 4, 3, 8]
    ! cost {alu=288, read_bytes=912, write_bytes=768}
  %y69 = gated_delta_net(%x41, %x42, %x43, _, _, _, %x44) : f32[n, max(g, q), v]
    ! cost {mac=2*d*g*n*v + d*max(g, q)*n*v, alu=d*g*n*v + 2*g*n*v + max(g, q)*n*v, sfu=g*n, read_bytes=4*b*d*g*v + 4*d*k*n + 4*d*n*q + 4*g*n*v, write_bytes=4*max(g, q)*n*v}
  %y70 = linear_attention_gate(%x45, %x46, %x46, %x45) : f32[b, t, h]
    ! cost {alu=5*b*h*t, sfu=4*b*h*t, read_bytes=4*b*h*t + 4*h, write_bytes=4*b*h*t}
  %y71 = ms_attention(%x47, %x48, %x49, _, %x50) : f32[b, s, (j//3)]
    ! cost {mac=2*(j//3)*b*p*s + 2*(j//3)*b*s*s + b*i*j*s, alu=(j//3)*b*s + b*j*s + 4*b*p*s + 4*b*s*s, sfu=b*p*s + b*s*s + b*s, read_bytes=8*b*h*p*v + 4*b*i*s + 4*i*j + 4*j, write_bytes=4*(j//3)*b*s}
  %y72 = multi_head_attention(%x51, %x52, %x53, _, _, _, %x54) : f32[b, s, h*v]
    ! cost {mac=b*d*h*l*s + b*d*h*p*s + b*h*l*s*v + b*h*p*s*v, alu=b*h*s*v + 4*b*l*s + 4*b*p*s, sfu=b*l*s + b*p*s + b*s, read_bytes=4*b*d*h*l + 4*b*d*h*p + 4*b*d*h*s + 4*b*h*l*v, write_bytes=4*b*h*s*v}
  %y73 = decoder_masked_multi_head_attention(%x51, %x52, %x53, _, _, %x54) : f32[b, s, h*v]
    ! cost {mac=b*d*h*l*s + b*d*h*p*s + b*h*l*s*v + b*h*p*s*v, alu=b*h*s*v + 4*b*l*s + 4*b*p*s, sfu=b*l*s + b*p*s + b*s, read_bytes=4*b*d*h*l + 4*b*d*h*p + 4*b*d*h*s + 4*b*h*l*v, write_bytes=4*b*h*s*v}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63, %y64, %y65, %y66, %y67, %y68, %y69, %y70, %y71, %y72, %y73
}
