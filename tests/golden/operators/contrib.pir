# RUN: shapes,cost | print --facts cost
perfir 1
module @contrib
dim n in 1..64 = 2
dim s in 1..4096 = 16

graph @main(%x: f32[n, s, 64], %image: u8[n, 8, 14, 14], %nhwc: f32[n, 14, 14, 8], %nchw: f32[n, 8, 14, 14], %filter: u8[16, 4, 3, 3], %turned: u8[8, 8, 3, 3], %scale: f32[], %zero: u8[], %a8: u8[n, 32], %b8: u8[32, 48], %c32: i32[48], %scales48: f32[48], %zeros48: u8[48], %rows: f32[s, 64], %gate: f32[s, 8], %bias64: f32[64], %x8: u8[n, s, 64], %up: f32[8, 256, 64], %down: f32[8, 64, 256], %packed_up: u8[8, 256, 32], %packed_down: u8[8, 64, 128], %up_scales: f32[8, 256], %down_scales: f32[8, 64], %packed: u8[96, 2, 16], %packed_scales: f32[96, 2], %bnb: u8[3072], %absmax: f32[384], %table: u8[1000, 64], %table_scales: f32[1000, 4], %ids: i64[n, s], %heads: f32[64, 192], %heads8: u8[64, 192], %bias192: f32[192], %buckets: f32[32, 4], %length: i64[] = 16, %complex: f32[n, 16, 2], %integers: i32[n, 32], %rois: f32[5, 5], %boxes: f32[6, 4], %which: i32[6], %crop: i32[2] = [7, 7], %xs: f32[s, n, 12], %w4: i8[1, 12, 80], %r4: i8[1, 20, 80], %b4: f32[1, 160], %wscale: f32[1, 80], %wzero: i8[1, 80], %cond: b1[n, 32], %wave: f32[n, 100], %rope: f32[n, s, 8], %qh: f32[n, 4, s, 16], %mask: i32[n, 8, 14, 14], %q3: f32[n, s, 64], %kv: f32[n, s, 32], %pastk: f32[n, 2, 16, 16], %lens: i32[n], %all: i32[] = 32, %cos: f32[64, 8], %gain: f32[16], %tokens: f32[40, 64], %offset: i32[n, s], %cumulative: i32[n], %small: f32[64], %i32ids: i32[n, s], %pos: f32[128, 64], %v8: u8[n, 10], %keypast: f32[n, 4, 8, 16], %odd: f32[n, 33], %qp: f16[40, 64], %kp: f16[40, 32], %kc: f16[20, 16, 2, 16], %cum: i32[3], %past: i32[2], %blocks: i32[2, 10], %ax: i64[1], %eight: f32[8], %cachet: f32[n, 4, 128, 16], %updatet: f32[n, 4, 5, 16], %where: i64[n], %labels: i64[n, 3], %group: i64[s]) {
  %u = unfold_tensor(%wave) {size=10, dim=1, step=5} : ?
  %roi = max_roi_pool(%nchw, %rois) {pooled_shape=[3, 3], spatial_scale=0.5} : ?
  %cropped = crop_and_resize(%nchw, %boxes, %which, %crop) : ?
  %mi = matmul_integer_to_float(%a8, %b8, %scale, %scales48, %zero, %zeros48) : ?
  %qg = qgemm(%a8, %scale, %zero, %b8, %scale, %zero, %c32, %scale, %zero) : ?
  %qgf = qgemm(%a8, %scale, %zero, %b8, %scale, %zero, %c32) {alpha=0.5} : ?
  %hm = nhwc_max_pool(%nhwc) {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]} : ?
  %mm = max_pool_with_mask(%nchw, %mask) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %ha = nhwc_average_pool(%nhwc) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %qa = qlinear_average_pool(%image, %scale, %zero, %scale, %zero) {kernel_shape=[2, 2], strides=[2, 2]} : ?
  %rn = random_normal() {shape=[3, 5]} : ?
  %ru = random_uniform() {shape=[4], dtype="f16"} : ?
  %bd, %bm = bias_dropout(%rows, %bias64) : ?, ?
  %qc = qlinear_conv(%image, %scale, %zero, %filter, %scale, %zero, %scale, %zero) {group=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : ?
  %dl, %dh, %dc = dynamic_quantize_lstm(%xs, %w4, %r4, %b4, _, _, _, _, %wscale, %wzero, %wscale, %wzero) {hidden_size=20} : ?, ?, ?
  %gr, %gk = gemma_rotary_embedding(%rope, %qh, %qh, %qh, %qh) : ?, ?
  %ro = reorder_input(%nchw) : ?
  %at = qattention(%x8, %heads8, %bias192, %scale, %scale) {num_heads=4} : ?
  %cm = complex_mul(%complex, %complex) : ?
  %cc = complex_mul_conj(%complex, %complex) : ?
  %ri = reduce_sum_integer(%integers) {axes=[1], keepdims=0} : ?
  %mu = mul_integer(%a8, %zero, %a8, %zero) : ?
  %mo = moe(%rows, %gate, %up, _, %down) {k=2, activation_type="gelu"} : ?
  %qm = qmoe(%rows, %gate, %packed_up, %up_scales, _, %packed_down, %down_scales) {k=1} : ?
  %ga = grouped_gemm(%rows, %up, %group) : ?
  %gb = grouped_gemm(%ga, %down, %group, %rows) : ?
  %la = qlinear_add(%a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : ?
  %lm = qlinear_mul(%a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : ?
  %lw = qlinear_where(%cond, %a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : ?
  %lc = qlinear_concat(%scale, %zero, %a8, %scale, %zero, %a8, %scale, %zero) {axis=1} : ?
  %gq = gather_block_quantized(%table, %ids, %table_scales) {bits=8, block_size=16} : ?
  %rp = relative_position_bias(%buckets, %length, %length) {max_distance=64} : ?
  %nb = matmul_nbits(%x, %packed, %packed_scales) {K=64, N=96, block_size=32} : ?
  %b4m = matmul_bnb4(%x, %bnb, %absmax) {K=64, N=96, block_size=16} : ?
  %drop, %bits = bitmask_dropout(%odd) {mask_is_bool=false} : ?, ?
  %gqa, %gk1, %gv1 = group_query_attention(%q3, %kv, %kv, %pastk, %pastk, %lens, %all) {num_heads=4, kv_num_heads=2} : ?, ?, ?
  %gqb, %gk2, %gv2 = group_query_attention(%q3, %kv, %kv, %pastk, %pastk, %lens, %all, %cos, %cos, _, _, _, _, _, %gain, %gain) {num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=8, softcap=30.0} : ?, ?, ?
  %pa = packed_attention(%tokens, %heads, %bias192, %offset, %cumulative) {num_heads=4} : ?
  %pm = packed_multi_head_attention(%tokens, %tokens, %tokens, _, %offset, %cumulative) {num_heads=4} : ?
  %mh, %mk, %mv = multi_head_attention(%q3, %q3, %q3, _, _, _, %keypast, %keypast) {num_heads=4} : ?, ?, ?
  %mha = multi_head_attention(%q3, %q3, %q3) {num_heads=4, unidirectional=1} : ?
  %el, %em = embed_layer_norm(%i32ids, %i32ids, %pos, %pos, %pos, %small, %small) : ?, ?
  %gn = gated_rms_norm(%q3, %small, %q3) : ?
  %gns = gated_rms_norm(%q3, %small, %q3) {activation="sigmoid"} : ?
  %qs = qlinear_sigmoid(%v8, %scale, %zero, %scale, %zero) : ?
  %ql = qlinear_leaky_relu(%v8, %scale, %zero, %scale, %zero) : ?
  %qx = qlinear_softmax(%image, %scale, %zero, %scale, %zero) {axis=1} : ?
  %qy = qlinear_softmax(%image, %scale, %zero, %scale, %zero) {axis=1, opset=11} : ?
  %qr = qlinear_reduce_mean(%image, %scale, %zero, %scale, %zero) {axes=[2, 3]} : ?
  %pga, %pgk, %pgv = paged_attention(%qp, %kp, %kp, %kc, %kc, %cum, %past, %blocks) {num_heads=4, kv_num_heads=2} : ?, ?, ?
  %open = slice(%nchw, %ax, %ax, %ax) : ?
  %grn = group_norm_nhwc(%nhwc, %eight, %eight) {groups=2, activation=1} : ?
  %gro = group_norm_nhwc(%nhwc, %eight, %eight) {groups=2} : ?
  %sgn, %sgs = skip_group_norm(%nhwc, %eight, %eight, %nhwc, %eight) {groups=4, activation=1} : ?, ?
  %bs = bias_softmax(%cachet, %updatet) {axis=3} : ?
  %bss = bias_softmax(%cachet, %cachet) {axis=2} : ?
  %ts = tensor_scatter(%cachet, %updatet, %where) : ?
  %tsn = tensor_scatter(%cachet, %updatet) : ?
  %ohe = one_hot_encoder(%labels) {categories=7} : ?
  %le = label_encoder(%labels) : ?
  %oh = one_hot_encoder(%a8) {categories=3} : ?
  return %u, %roi
}
# ---- expect
perfir 1
module @contrib
dim n in 1..64 = 2
dim s in 1..4096 = 16
extent u1 in 8..16
extent u2 in 0..n
extent u3 in 0..8
extent u4 in 0..14
extent u5 in 0..14

graph @main(%x: f32[n, s, 64], %image: u8[n, 8, 14, 14], %nhwc: f32[n, 14, 14, 8], %nchw: f32[n, 8, 14, 14], %filter: u8[16, 4, 3, 3], %turned: u8[8, 8, 3, 3], %scale: f32[], %zero: u8[], %a8: u8[n, 32], %b8: u8[32, 48], %c32: i32[48], %scales48: f32[48], %zeros48: u8[48], %rows: f32[s, 64], %gate: f32[s, 8], %bias64: f32[64], %x8: u8[n, s, 64], %up: f32[8, 256, 64], %down: f32[8, 64, 256], %packed_up: u8[8, 256, 32], %packed_down: u8[8, 64, 128], %up_scales: f32[8, 256], %down_scales: f32[8, 64], %packed: u8[96, 2, 16], %packed_scales: f32[96, 2], %bnb: u8[3072], %absmax: f32[384], %table: u8[1000, 64], %table_scales: f32[1000, 4], %ids: i64[n, s], %heads: f32[64, 192], %heads8: u8[64, 192], %bias192: f32[192], %buckets: f32[32, 4], %length: i64[] = 16, %complex: f32[n, 16, 2], %integers: i32[n, 32], %rois: f32[5, 5], %boxes: f32[6, 4], %which: i32[6], %crop: i32[2] = [7, 7], %xs: f32[s, n, 12], %w4: i8[1, 12, 80], %r4: i8[1, 20, 80], %b4: f32[1, 160], %wscale: f32[1, 80], %wzero: i8[1, 80], %cond: b1[n, 32], %wave: f32[n, 100], %rope: f32[n, s, 8], %qh: f32[n, 4, s, 16], %mask: i32[n, 8, 14, 14], %q3: f32[n, s, 64], %kv: f32[n, s, 32], %pastk: f32[n, 2, 16, 16], %lens: i32[n], %all: i32[] = 32, %cos: f32[64, 8], %gain: f32[16], %tokens: f32[40, 64], %offset: i32[n, s], %cumulative: i32[n], %small: f32[64], %i32ids: i32[n, s], %pos: f32[128, 64], %v8: u8[n, 10], %keypast: f32[n, 4, 8, 16], %odd: f32[n, 33], %qp: f16[40, 64], %kp: f16[40, 32], %kc: f16[20, 16, 2, 16], %cum: i32[3], %past: i32[2], %blocks: i32[2, 10], %ax: i64[1], %eight: f32[8], %cachet: f32[n, 4, 128, 16], %updatet: f32[n, 4, 5, 16], %where: i64[n], %labels: i64[n, 3], %group: i64[s]) {
  %u = unfold_tensor(%wave) {size=10, dim=1, step=5} : f32[n, 19, 10]
    ! cost {read_bytes=400*n, write_bytes=760*n}
  %roi = max_roi_pool(%nchw, %rois) {pooled_shape=[3, 3], spatial_scale=0.5} : f32[5, 8, 3, 3]
    ! cost {alu=360, read_bytes=1540, write_bytes=1440}
  %cropped = crop_and_resize(%nchw, %boxes, %which, %crop) : f32[6, 8, 7, 7]
    ! cost {alu=16464, read_bytes=4*min(1568*n, 9408) + 120, write_bytes=9408}
  %mi = matmul_integer_to_float(%a8, %b8, %scale, %scales48, %zero, %zeros48) : f32[n, 48]
    ! cost {mac=1536*n, alu=48*n, read_bytes=32*n + 1781, write_bytes=192*n}
  %qg = qgemm(%a8, %scale, %zero, %b8, %scale, %zero, %c32, %scale, %zero) : u8[n, 48]
    ! cost {mac=1536*n, alu=240*n, read_bytes=32*n + 1733, write_bytes=48*n}
  %qgf = qgemm(%a8, %scale, %zero, %b8, %scale, %zero, %c32) {alpha=0.5} : f32[n, 48]
    ! cost {mac=1536*n, alu=96*n, read_bytes=32*n + 1733, write_bytes=192*n}
  %hm = nhwc_max_pool(%nhwc) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[n, 7, 7, 8]
    ! cost {alu=3136*n, read_bytes=6272*n, write_bytes=1568*n}
  %mm = max_pool_with_mask(%nchw, %mask) {kernel_shape=[2, 2], strides=[2, 2]} : f32[n, 8, 7, 7]
    ! cost {alu=2744*n, read_bytes=12544*n, write_bytes=1568*n}
  %ha = nhwc_average_pool(%nhwc) {kernel_shape=[2, 2], strides=[2, 2]} : f32[n, 7, 7, 8]
    ! cost {alu=1568*n, read_bytes=6272*n, write_bytes=1568*n}
  %qa = qlinear_average_pool(%image, %scale, %zero, %scale, %zero) {kernel_shape=[2, 2], strides=[2, 2]} : u8[n, 8, 7, 7]
    ! cost {alu=3136*n, read_bytes=1568*n + 5, write_bytes=392*n}
  %rn = random_normal() {shape=[3, 5]} : f32[3, 5]
    ! cost {integer=15, write_bytes=60}
  %ru = random_uniform() {dtype="f16", shape=[4]} : f16[4]
    ! cost {integer=4, write_bytes=8}
  %bd, %bm = bias_dropout(%rows, %bias64) : f32[s, 64], b1[s, 64]
    ! cost {alu=64*s, read_bytes=256*s + 256, write_bytes=320*s}
  %qc = qlinear_conv(%image, %scale, %zero, %filter, %scale, %zero, %scale, %zero) {group=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : u8[n, 16, 14, 14]
    ! cost {mac=112896*n, alu=12544*n, read_bytes=1568*n + 581, write_bytes=3136*n}
  %dl, %dh, %dc = dynamic_quantize_lstm(%xs, %w4, %r4, %b4, _, _, _, _, %wscale, %wzero, %wscale, %wzero) {hidden_size=20} : f32[s, 1, n, 20], f32[1, n, 20], f32[1, n, 20]
    ! cost {mac=2560*n*s, alu=360*n*s, sfu=160*n*s, read_bytes=48*n*s + 3600, write_bytes=80*n*s + 160*n}
  %gr, %gk = gemma_rotary_embedding(%rope, %qh, %qh, %qh, %qh) : f32[n, 4, s, 16], f32[n, 4, s, 16]
    ! cost {alu=384*n*s, sfu=16*n*s, read_bytes=288*n*s, write_bytes=512*n*s}
  %ro = reorder_input(%nchw) : f32[n, u1, 14, 14]
    ! cost {read_bytes=6272*n, write_bytes=784*n*u1}
  %at = qattention(%x8, %heads8, %bias192, %scale, %scale) {num_heads=4} : f32[n, s, 64]
    ! cost {mac=128*n*s*s + 12288*n*s, alu=16*n*s*s + 256*n*s, sfu=4*n*s*s + 4*n*s, read_bytes=64*n*s + 13060, write_bytes=256*n*s}
  %cm = complex_mul(%complex, %complex) : f32[n, 16, 2]
    ! cost {alu=96*n, read_bytes=128*n, write_bytes=128*n}
  %cc = complex_mul_conj(%complex, %complex) : f32[n, 16, 2]
    ! cost {alu=96*n, read_bytes=128*n, write_bytes=128*n}
  %ri = reduce_sum_integer(%integers) {axes=[1], keepdims=0} : ?[n]
    ! cost {integer=32*n, read_bytes=128*n}
  %mu = mul_integer(%a8, %zero, %a8, %zero) : i32[n, 32]
    ! cost {integer=96*n, read_bytes=32*n + 1, write_bytes=128*n}
  %mo = moe(%rows, %gate, %up, _, %down) {activation_type="gelu", k=2} : f32[s, 64]
    ! cost {mac=65536*s, alu=2336*s, sfu=520*s, read_bytes=288*s + 262144, write_bytes=256*s}
  %qm = qmoe(%rows, %gate, %packed_up, %up_scales, _, %packed_down, %down_scales) : f32[s, 64]
    ! cost {mac=32768*s, alu=416*s, sfu=8*s, read_bytes=288*s + 17664, write_bytes=256*s}
  %ga = grouped_gemm(%rows, %up, %group) : f32[s, 256]
    ! cost {mac=16384*s, read_bytes=264*s + 65536, write_bytes=1024*s}
  %gb = grouped_gemm(%ga, %down, %group, %rows) : f32[s, 64]
    ! cost {mac=16384*s, alu=64*s, read_bytes=1288*s + 65536, write_bytes=256*s}
  %la = qlinear_add(%a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : u8[n, 32]
    ! cost {alu=288*n, read_bytes=32*n + 5, write_bytes=32*n}
  %lm = qlinear_mul(%a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : u8[n, 32]
    ! cost {alu=288*n, read_bytes=32*n + 5, write_bytes=32*n}
  %lw = qlinear_where(%cond, %a8, %scale, %zero, %a8, %scale, %zero, %scale, %zero) : u8[n, 32]
    ! cost {alu=288*n, read_bytes=64*n + 5, write_bytes=32*n}
  %lc = qlinear_concat(%scale, %zero, %a8, %scale, %zero, %a8, %scale, %zero) {axis=1} : u8[n, 64]
    ! cost {integer=64*n, read_bytes=32*n + 5, write_bytes=64*n}
  %gq = gather_block_quantized(%table, %ids, %table_scales) {bits=8, block_size=16} : f32[n, s, 64]
    ! cost {alu=64*n*s, read_bytes=8*n*s + 80*min(1000, n*s), write_bytes=256*n*s}
  %rp = relative_position_bias(%buckets, %length, %length) {max_distance=64} : f32[1, 4, 16, 16]
    ! cost {integer=1536, read_bytes=528, write_bytes=4096}
  %nb = matmul_nbits(%x, %packed, %packed_scales) {K=64, N=96} : f32[n, s, 96]
    ! cost {mac=6144*n*s, alu=12288, read_bytes=256*n*s + 3840, write_bytes=384*n*s}
  %b4m = matmul_bnb4(%x, %bnb, %absmax) {K=64, N=96} : f32[n, s, 96]
    ! cost {mac=6144*n*s, alu=6144, read_bytes=256*n*s + 4608, write_bytes=384*n*s}
  %drop, %bits = bitmask_dropout(%odd) {mask_is_bool=false} : f32[n, 33], u32[((33*n + 31)//32)]
    ! cost {write_bytes=4*((33*n + 31)//32)}
  %gqa, %gk1, %gv1 = group_query_attention(%q3, %kv, %kv, %pastk, %pastk, %lens, %all) {num_heads=4, kv_num_heads=2} : f32[n, s, 64], f32[n, 2, 32, 16], f32[n, 2, 32, 16]
    ! cost {mac=4096*n*s, alu=-16*n*s*s + 16*((s*s + s)//2)*n + 576*n*s, sfu=-4*n*s*s + 4*((s*s + s)//2)*n + 132*n*s, read_bytes=128*max(-s + 32, 0)*n + 384*n*s + 4*n + 4, write_bytes=512*n*s}
  %gqb, %gk2, %gv2 = group_query_attention(%q3, %kv, %kv, %pastk, %pastk, %lens, %all, %cos, %cos, _, _, _, _, _, %gain, %gain) {num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=8, softcap=30.0} : f32[n, s, 64], f32[n, 2, 32, 16], f32[n, 2, 32, 16]
    ! cost {mac=4096*n*s, alu=24*((max(-s + 24, 0)*max(-s + 24, 0) + max(-s + 24, 0))//2)*n - 24*((max(-s + 32, 0)*max(-s + 32, 0) + max(-s + 32, 0))//2)*n + 736*n*s + 5472*n, sfu=8*((max(-s + 24, 0)*max(-s + 24, 0) + max(-s + 24, 0))//2)*n - 8*((max(-s + 32, 0)*max(-s + 32, 0) + max(-s + 32, 0))//2)*n + 4*n*s + 1824*n, read_bytes=128*max(-s + 32, 0)*n - 128*max(0, max(-s + 32, 0) - 7)*n + 384*n*s + 32*min(64, s) + 4*n + 68, write_bytes=512*n*s}
  %pa = packed_attention(%tokens, %heads, %bias192, %offset, %cumulative) {num_heads=4} : f32[40, 64]
    ! cost {mac=5120*(40//n) + 491520, alu=640*(40//n) + 10240, sfu=160*(40//n) + 160, read_bytes=4*n*s + 4*n + 60160, write_bytes=10240}
  %pm = packed_multi_head_attention(%tokens, %tokens, %tokens, _, %offset, %cumulative) {num_heads=4} : f32[40, 64]
    ! cost {mac=5120*(40//n), alu=640*(40//n) + 2560, sfu=160*(40//n) + 160, read_bytes=4*n*s + 4*n + 10240, write_bytes=10240}
  %mh, %mk, %mv = multi_head_attention(%q3, %q3, %q3, _, _, _, %keypast, %keypast) {num_heads=4} : f32[n, s, 64], f32[n, 4, s + 8, 16], f32[n, 4, s + 8, 16]
    ! cost {mac=128*n*s*s + 1024*n*s, alu=16*n*s*s + 192*n*s, sfu=4*n*s*s + 36*n*s, read_bytes=256*n*s + 2048*n, write_bytes=768*n*s + 4096*n}
  %mha = multi_head_attention(%q3, %q3, %q3) {num_heads=4, unidirectional=1} : f32[n, s, 64]
    ! cost {mac=128*n*s*s, alu=16*((s*s + s)//2)*n + 64*n*s, sfu=4*((s*s + s)//2)*n + 4*n*s, read_bytes=256*n*s, write_bytes=256*n*s}
  %el, %em = embed_layer_norm(%i32ids, %i32ids, %pos, %pos, %pos, %small, %small) : f32[n, s, 64], i32[n]
    ! cost {alu=576*n*s, sfu=n*s, read_bytes=4*n*s + 512*min(128, n*s) + 256*min(128, s) + 256, write_bytes=256*n*s + 4*n}
  %gn = gated_rms_norm(%q3, %small, %q3) : f32[n, s, 64]
    ! cost {alu=512*n*s, sfu=129*n*s, read_bytes=256*n*s + 256, write_bytes=256*n*s}
  %gns = gated_rms_norm(%q3, %small, %q3) {activation="sigmoid"} : f32[n, s, 64]
    ! cost {alu=512*n*s, sfu=129*n*s, read_bytes=256*n*s + 256, write_bytes=256*n*s}
  %qs = qlinear_sigmoid(%v8, %scale, %zero, %scale, %zero) : u8[n, 10]
    ! cost {integer=10*n, read_bytes=10*n + 5, write_bytes=10*n}
  %ql = qlinear_leaky_relu(%v8, %scale, %zero, %scale, %zero) : u8[n, 10]
    ! cost {integer=10*n, read_bytes=10*n + 5, write_bytes=10*n}
  %qx = qlinear_softmax(%image, %scale, %zero, %scale, %zero) {axis=1} : u8[n, 8, 14, 14]
    ! cost {alu=9408*n, sfu=196*n, integer=1568*n, read_bytes=1568*n + 5, write_bytes=1568*n}
  %qy = qlinear_softmax(%image, %scale, %zero, %scale, %zero) {axis=1, opset=11} : u8[n, 8, 14, 14]
    ! cost {alu=9408*n, sfu=n, integer=1568*n, read_bytes=1568*n + 5, write_bytes=1568*n}
  %qr = qlinear_reduce_mean(%image, %scale, %zero, %scale, %zero) {axes=[2, 3]} : u8[n, 8, 1, 1]
    ! cost {alu=4736*n, sfu=8*n, read_bytes=1568*n + 5, write_bytes=8*n}
  %pga, %pgk, %pgv = paged_attention(%qp, %kp, %kp, %kc, %kc, %cum, %past, %blocks) {num_heads=4, kv_num_heads=2} : f16[40, 64], f16[20, 16, 2, 16], f16[20, 16, 2, 16]
    ! cost {mac=5120, alu=3200, sfu=320, read_bytes=7780, write_bytes=10240}
  %open = slice(%nchw, %ax, %ax, %ax) : f32[u2, u3, u4, u5]
    ! cost {read_bytes=4*u2*u3*u4*u5, write_bytes=4*u2*u3*u4*u5}
  %grn = group_norm_nhwc(%nhwc, %eight, %eight) {activation=1, groups=2} : f32[n, 14, 14, 8]
    ! cost {alu=15680*n, sfu=3138*n, read_bytes=6272*n + 32, write_bytes=6272*n}
  %gro = group_norm_nhwc(%nhwc, %eight, %eight) {groups=2} : f32[n, 14, 14, 8]
    ! cost {alu=10976*n, sfu=2*n, read_bytes=6272*n + 32, write_bytes=6272*n}
  %sgn, %sgs = skip_group_norm(%nhwc, %eight, %eight, %nhwc, %eight) {activation=1, groups=4} : f32[n, 14, 14, 8], f32[n, 14, 14, 8]
    ! cost {alu=18816*n, sfu=3140*n, read_bytes=6272*n + 32, write_bytes=12544*n}
  %bs = bias_softmax(%cachet, %updatet) {axis=3} : f32[n, 4, 128, 16]
    ! cost {alu=40960*n, sfu=8704*n, read_bytes=34048*n, write_bytes=32768*n}
  %bss = bias_softmax(%cachet, %cachet) {axis=2} : f32[n, 4, 128, 16]
    ! cost {alu=40960*n, sfu=8196*n, read_bytes=32768*n, write_bytes=32768*n}
  %ts = tensor_scatter(%cachet, %updatet, %where) : f32[n, 4, 128, 16]
    ! cost {read_bytes=1288*n, write_bytes=1280*n}
  %tsn = tensor_scatter(%cachet, %updatet) : f32[n, 4, 128, 16]
    ! cost {read_bytes=1280*n, write_bytes=1280*n}
  %ohe = one_hot_encoder(%labels) {categories=7} : f32[n, 3, 7]
    ! cost {integer=21*n, read_bytes=24*n, write_bytes=84*n}
  %le = label_encoder(%labels) : str[n, 3]
    ! cost {integer=3*n, read_bytes=24*n}
  %oh = one_hot_encoder(%a8) {categories=3} : f32[n, 32, 3]
    ! cost {integer=96*n, read_bytes=32*n, write_bytes=384*n}
  return %u, %roi
}
