# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent n in 1..
extent k in 1..

graph @main(%q: i8[2, 5, 12], %s: f32[], %w: i8[12, 16], %v: i8[12, 24], %b: f32[16], %c: f32[24], %m: i32[2, 5], %g: i8[12, 36], %h: f32[36], %a: i8[2, 7, 10], %e: i8[10, 6], %f: f32[6], %x: f16[n, k], %w4: u8[6, 8], %w8: f8e4m3[6, k], %d: f32[6, 1], %t: f32[3, 10], %p: f32[10, 4], %r: f32[2, 3, 32], %i: i64[2, 3], %o: f32[50, 4], %j: i64[3, 2, 3], %l: f32[2, 4, 3, 8], %z: u8[], %u: u8[1, 5, 5, 4], %y: i8[4, 3, 2, 2], %bi: i32[3], %n: f32[1, 8, 4, 4], %k1: f32[7, 2], %k2: f32[7, 3], %gq: f32[2, 5, 12], %gb: f32[12], %gr: f32[1, 3, 5, 5], %gw: f32[4, 8], %gd: f32[8], %ge: f32[1, 3, 1, 1], %lx: f32[5, 2, 6], %lw: f32[1, 16, 9], %lr: f32[1, 16, 4], %bs: i64[2] = [32, 6], %ak: f32[2, 32], %blob: u8[120], %st: str[4], %hh: f32[32]) {
  %y0 = qordered_attention(%q, %s, %s, %s, %s, %w, %w, %v, %s, %s, %s, %b, %b, %c, %s, %s, %s, %m) {num_heads=4} : ?
  %y1 = qordered_longformer_attention(%q, %s, %g, %s, %h, %s, %s, %m, %g, %s, %h, %s, %m, %s) {num_heads=4, window=2} : ?
  %y2 = qordered_matmul(%a, %s, %e, %s, %s) : ?
  %y3 = qordered_matmul(%a, %s, %e, %s, %s, %f) : ?
  %y4 = matmul_block_fp4_weight(%x, %w4, %d, %s) : ?
  %y5 = matmul_block_fp8_weight(%x, %w8, %d) : ?
  %y6 = matmul_fpq4(%ak, %blob, %bs) : ?
  %y7 = sparse_to_dense_matmul(%t, %p) : ?
  %y8 = ms_rotary_embedding(%r, %i, %o, %o) {num_heads=4} : ?
  %y9 = ms_rotary_embedding(%l, %i, %o, %o) : ?
  %y10 = multimodal_rotary_embedding(%r, %j, %o, %o) {num_heads=4} : ?
  %y11 = qlinear_conv_transpose(%u, %s, %z, %y, %s, %z, %s, %z) {strides=[2, 2]} : ?
  %y12 = qlinear_conv_transpose(%u, %s, %z, %y, %s, %z, %s, %z, %bi) : ?
  %y13, _, _, %y14 = skip_rms_norm(%r, %r, %hh) : ?, _, _, ?
  %y15 = blocked_upsample(%n) {scales=[1, 1, 2, 3]} : ?
  %y16 = feature_vectorizer(%k1, %k2) {inputdimensions=[2, 3]} : ?
  %y17 = category_mapper(%st) : ?
  %y18 = category_mapper(%i) : ?
  %y19 = gated_relative_position_bias(%gq, %gb, %gr, %gw, %gd, %ge) {num_heads=3} : ?
  %y20, %y21, %y22 = attn_lstm(%lx, %lw, %lr) {hidden_size=4} : ?, ?, ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22
}
# ---- expect
perfir 1
module @main
extent n in 1..
extent k in 1..

graph @main(%q: i8[2, 5, 12], %s: f32[], %w: i8[12, 16], %v: i8[12, 24], %b: f32[16], %c: f32[24], %m: i32[2, 5], %g: i8[12, 36], %h: f32[36], %a: i8[2, 7, 10], %e: i8[10, 6], %f: f32[6], %x: f16[n, k], %w4: u8[6, 8], %w8: f8e4m3[6, k], %d: f32[6, 1], %t: f32[3, 10], %p: f32[10, 4], %r: f32[2, 3, 32], %i: i64[2, 3], %o: f32[50, 4], %j: i64[3, 2, 3], %l: f32[2, 4, 3, 8], %z: u8[], %u: u8[1, 5, 5, 4], %y: i8[4, 3, 2, 2], %bi: i32[3], %n: f32[1, 8, 4, 4], %k1: f32[7, 2], %k2: f32[7, 3], %gq: f32[2, 5, 12], %gb: f32[12], %gr: f32[1, 3, 5, 5], %gw: f32[4, 8], %gd: f32[8], %ge: f32[1, 3, 1, 1], %lx: f32[5, 2, 6], %lw: f32[1, 16, 9], %lr: f32[1, 16, 4], %bs: i64[2] = [32, 6], %ak: f32[2, 32], %blob: u8[120], %st: str[4], %hh: f32[32]) {
  %y0 = qordered_attention(%q, %s, %s, %s, %s, %w, %w, %v, %s, %s, %s, %b, %b, %c, %s, %s, %s, %m) {num_heads=4} : i8[2, 5, 24]
    ! cost {mac=8720, alu=1800, sfu=240, read_bytes=804, write_bytes=240}
  %y1 = qordered_longformer_attention(%q, %s, %g, %s, %h, %s, %s, %m, %g, %s, %h, %s, %m, %s) {num_heads=4, window=2} : i8[2, 5, 12]
    ! cost {mac=5520, alu=1240, sfu=192, read_bytes=740, write_bytes=120}
  %y2 = qordered_matmul(%a, %s, %e, %s, %s) : i8[2, 7, 6]
    ! cost {mac=840, alu=336, read_bytes=204, write_bytes=84}
  %y3 = qordered_matmul(%a, %s, %e, %s, %s, %f) : i8[2, 7, 6]
    ! cost {mac=840, alu=420, read_bytes=228, write_bytes=84}
  %y4 = matmul_block_fp4_weight(%x, %w4, %d, %s) : f16[n, 6]
    ! cost {mac=96*n, alu=192, read_bytes=2*k*n + 76, write_bytes=12*n}
  %y5 = matmul_block_fp8_weight(%x, %w8, %d) : f16[n, 6]
    ! cost {mac=6*k*n, alu=6*k, read_bytes=2*k*n + 6*k + 24, write_bytes=12*n}
  %y6 = matmul_fpq4(%ak, %blob, %bs) : f32[2, 6]
    ! cost {mac=384, alu=384, read_bytes=392, write_bytes=48}
  %y7 = sparse_to_dense_matmul(%t, %p) : f32[3, 4]
    ! cost {read_bytes=280, write_bytes=48}
  %y8 = ms_rotary_embedding(%r, %i, %o, %o) {num_heads=4} : f32[2, 3, 32]
    ! cost {alu=576, read_bytes=1008, write_bytes=768}
  %y9 = ms_rotary_embedding(%l, %i, %o, %o) : f32[2, 4, 3, 8]
    ! cost {alu=576, read_bytes=1008, write_bytes=768}
  %y10 = multimodal_rotary_embedding(%r, %j, %o, %o) {num_heads=4} : f32[2, 3, 32]
    ! cost {alu=576, read_bytes=1104, write_bytes=768}
  %y11 = qlinear_conv_transpose(%u, %s, %z, %y, %s, %z, %s, %z) {strides=[2, 2]} : u8[1, 10, 10, 3]
    ! cost {mac=1200, alu=1200, read_bytes=153, write_bytes=300}
  %y12 = qlinear_conv_transpose(%u, %s, %z, %y, %s, %z, %s, %z, %bi) : u8[1, 6, 6, 3]
    ! cost {mac=1200, alu=540, read_bytes=165, write_bytes=108}
  %y13, _, _, %y14 = skip_rms_norm(%r, %r, %hh) : f32[2, 3, 32], _, _, f32[2, 3, 32]
    ! cost {alu=960, sfu=6, read_bytes=896, write_bytes=1536}
  %y15 = blocked_upsample(%n) {scales=[1, 1, 2, 3]} : f32[1, 8, 8, 12]
    ! cost {read_bytes=512, write_bytes=3072}
  %y16 = feature_vectorizer(%k1, %k2) {inputdimensions=[2, 3]} : f32[7, 5]
    ! cost {read_bytes=140, write_bytes=140}
  %y17 = category_mapper(%st) : i64[4]
    ! cost {integer=4, write_bytes=32}
  %y18 = category_mapper(%i) : str[2, 3]
    ! cost {integer=6, read_bytes=48}
  %y19 = gated_relative_position_bias(%gq, %gb, %gr, %gw, %gd, %ge) {num_heads=3} : f32[2, 3, 5, 5]
    ! cost {mac=960, alu=750, sfu=120, read_bytes=1000, write_bytes=600}
  %y20, %y21, %y22 = attn_lstm(%lx, %lw, %lr) {hidden_size=4} : f32[5, 1, 2, 4], f32[1, 2, 4], f32[1, 2, 4]
    ! cost {mac=2080, alu=560, sfu=320, read_bytes=1072, write_bytes=224}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22
}
