# RUN: shapes,backward | print
perfir 1
module @layer

graph @main(%hidden: f32[8, 8], %places: i64[8], %lengths: i32[2]) {
  %cos = weight {constant=true} : f32[8, 2]
  %sin = weight {constant=true} : f32[8, 2]
  %scale = weight : f32[8]
  %qkv = weight : f32[8, 16]
  %out = weight : f32[8, 8]
  %router = weight : f32[8, 4]
  %first = weight : f32[4, 12, 8]
  %second = weight : f32[4, 8, 6]
  %n = rms_norm(%hidden, %scale) : f32[8, 8]
  %p = gemm(%n, %qkv) : f32[8, 16]
  %r = rotary_embedding(%p, %cos, %sin, %places) {num_heads=4, rotary_embedding_dim=4} : f32[8, 16]
  %a = ragged_attention(%r, _, _, %lengths) {num_heads=2, kv_heads=1, head_dim=4, value_dim=4} : f32[8, 8]
  %o = gemm(%a, %out) : f32[8, 8]
  %s = all_reduce(%o) {ranks=2} : f32[8, 8]
  %x = add(%hidden, %s) : f32[8, 8]
  %scores = gemm(%x, %router) : f32[8, 4]
  %e = moe(%x, %scores, %first, _, %second) {activation_type="swiglu", k=2, swiglu_fusion=1} : f32[8, 8]
  %y = add(%x, %e) : f32[8, 8]
  return %y
}
# ---- expect
perfir 1
module @layer

graph @main(%hidden: f32[8, 8], %places: i64[8], %lengths: i32[2], %y.seed: f32[8, 8]) {
  %cos = weight {constant=true} : f32[8, 2]
  %sin = weight {constant=true} : f32[8, 2]
  %scale = weight : f32[8]
  %qkv = weight : f32[8, 16]
  %out = weight : f32[8, 8]
  %router = weight : f32[8, 4]
  %first = weight : f32[4, 12, 8]
  %second = weight : f32[4, 8, 6]
  %n, %n.1 = rms_norm(%hidden, %scale) : f32[8, 8], f32[8, 1]
  %p = gemm(%n, %qkv) : f32[8, 16]
  %r = rotary_embedding(%p, %cos, %sin, %places) {num_heads=4, rotary_embedding_dim=4} : f32[8, 16]
  %a = ragged_attention(%r, _, _, %lengths) {num_heads=2, head_dim=4, value_dim=4} : f32[8, 8]
  %o = gemm(%a, %out) : f32[8, 8]
  %s = all_reduce(%o) {ranks=2} : f32[8, 8]
  %x = add(%hidden, %s) : f32[8, 8]
  %scores = gemm(%x, %router) : f32[8, 4]
  %e = moe(%x, %scores, %first, _, %second) {activation_type="swiglu", k=2, skew=0.0, swiglu_fusion=1} : f32[8, 8]
  %y = add(%x, %e) : f32[8, 8]
  %e.grad, %e.grad.1 = moe_input_grad(%y.seed, %x, %scores, %first, _, %second) {activation_type="swiglu", k=2, skew=0.0, swiglu_fusion=1} : f32[8, 8], f32[8, 4] loc("e.grad", "MoEInputGrad", backward)
  %e.grad.2, %e.grad.3, %e.grad.4 = moe_weight_grad(%y.seed, %x, %scores, %first, _, %second) {activation_type="swiglu", k=2, skew=0.0, swiglu_fusion=1} : f32[4, 12, 8], ?[0], f32[4, 8, 6] loc("e.grad", "MoEWeightGrad", backward)
  %e.grad.5 = add(%y.seed, %e.grad) : f32[8, 8] loc("e.grad", "Add", backward)
  %scores.grad = gemm(%e.grad.1, %router) {transB=1} : f32[8, 8] loc("scores.grad", "Gemm", backward)
  %scores.grad.1 = gemm(%x, %e.grad.1) {transA=1} : f32[8, 4] loc("scores.grad", "Gemm", backward)
  %scores.grad.2 = add(%e.grad.5, %scores.grad) : f32[8, 8] loc("scores.grad", "Add", backward)
  %o.grad = gemm(%scores.grad.2, %out) {transB=1} : f32[8, 8] loc("o.grad", "Gemm", backward)
  %o.grad.1 = gemm(%a, %scores.grad.2) {transA=1} : f32[8, 8] loc("o.grad", "Gemm", backward)
  %a.grad = ragged_attention_grad(%o.grad, %a, %r, _, _, %lengths) {num_heads=2, head_dim=4, value_dim=4} : f32[8, 16] loc("a.grad", "RaggedAttentionGrad", backward)
  %r.grad = rotary_embedding_grad(%a.grad, %cos, %sin, %places) {num_heads=4, rotary_embedding_dim=4} : f32[8, 16] loc("r.grad", "RotaryEmbeddingGrad", backward)
  %p.grad = gemm(%r.grad, %qkv) {transB=1} : f32[8, 8] loc("p.grad", "Gemm", backward)
  %p.grad.1 = gemm(%n, %r.grad) {transA=1} : f32[8, 16] loc("p.grad", "Gemm", backward)
  %n.grad, %n.grad.1 = rms_norm_grad(%p.grad, %hidden, %scale, %n.1) : f32[8, 8], f32[8] loc("n.grad", "SimplifiedLayerNormalizationGrad", backward)
  %n.grad.2 = add(%scores.grad.2, %n.grad) : f32[8, 8] loc("n.grad", "Add", backward)
  return %y, %n.grad.2, %n.grad.1, %p.grad.1, %o.grad.1, %scores.grad.1, %e.grad.2, %e.grad.4
}
