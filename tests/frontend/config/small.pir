perfir 1
module @small
dim batch in 1.. = 1
dim seq in 1.. = 2048
dim past in 0.. = 2048
dim decodes in 1.. = 1
dim context in 0.. = 2048

graph @main(%layers.positions: i64[batch*seq + decodes], %layers.lengths: i32[batch], %layers.tokens: i64[batch*seq + decodes], %layers.0.0.attention.past_key: bf16[batch, 2, min(31, past), 16], %layers.0.0.attention.past_value: bf16[batch, 2, min(31, past), 16], %layers.0.0.attention.cache_key: bf16[decodes, 2, min(31, context), 16], %layers.0.0.attention.cache_value: bf16[decodes, 2, min(31, context), 16], %layers.last_tokens: i64[batch + decodes]) {
  %layers.embedding.weight = weight : bf16[512, 64]
  %layers.0.0.norm.weight = weight : bf16[64]
  %layers.0.0.attention.qkv.weight = weight : bf16[128, 64]
  %extents.0 = weight {constant=true} : i64[2] = [96, 32]
  %cos.16 = weight {constant=true} : bf16[1, 8]
  %sin.16 = weight {constant=true} : bf16[1, 8]
  %layers.0.0.attention.output.weight = weight : bf16[64, 64]
  %layers.0.1.norm.weight = weight : bf16[64]
  %layers.0.1.moe.router.weight = weight : bf16[4, 64]
  %layers.0.1.moe.experts.gate_up.weight = weight : bf16[4, 192, 64]
  %layers.0.1.moe.experts.down.weight = weight : bf16[4, 64, 96]
  %layers.norm.weight = weight : bf16[64]
  %layers.head.weight = weight : bf16[512, 64]
  %layers.embedding = gather(%layers.embedding.weight, %layers.tokens) : ? loc("layers.embedding")
  %layers.0.0.norm = rms_norm(%layers.embedding, %layers.0.0.norm.weight) : ? loc("layers.0.0.norm")
  %layers.0.0.attention.qkv = gemm(%layers.0.0.norm, %layers.0.0.attention.qkv.weight) {transB=1} : ? loc("layers.0.0.attention.qkv")
  %layers.0.0.attention.heads.0, %layers.0.0.attention.heads.1 = split(%layers.0.0.attention.qkv, %extents.0) {axis=-1} : ?, ? loc("layers.0.0.attention.heads")
  %layers.0.0.attention.rotary = rotary_embedding(%layers.0.0.attention.heads.0, %cos.16, %sin.16, %layers.positions) {num_heads=6, rotary_embedding_dim=16} : ? loc("layers.0.0.attention.rotary")
  %layers.0.0.attention.result, %layers.0.0.attention.new_key, %layers.0.0.attention.new_value = ragged_attention(%layers.0.0.attention.rotary, _, %layers.0.0.attention.heads.1, %layers.lengths, %layers.0.0.attention.past_key, %layers.0.0.attention.past_value, %layers.0.0.attention.cache_key, %layers.0.0.attention.cache_value) {num_heads=4, kv_heads=2, head_dim=16, value_dim=16, window=32} : ?, ?, ? loc("layers.0.0.attention")
  %layers.0.0.attention.output = gemm(%layers.0.0.attention.result, %layers.0.0.attention.output.weight) {transB=1} : ? loc("layers.0.0.attention.output")
  %layers.0.0.residual = add(%layers.embedding, %layers.0.0.attention.output) : ? loc("layers.0.0.residual")
  %layers.0.1.norm = rms_norm(%layers.0.0.residual, %layers.0.1.norm.weight) : ? loc("layers.0.1.norm")
  %layers.0.1.moe.router = gemm(%layers.0.1.norm, %layers.0.1.moe.router.weight) {transB=1} : ? loc("layers.0.1.moe.router")
  %layers.0.1.moe.experts = moe(%layers.0.1.norm, %layers.0.1.moe.router, %layers.0.1.moe.experts.gate_up.weight, _, %layers.0.1.moe.experts.down.weight) {activation_type="swiglu", k=2, swiglu_fusion=1} : ? loc("layers.0.1.moe.experts")
  %layers.0.1.residual = add(%layers.0.0.residual, %layers.0.1.moe.experts) : ? loc("layers.0.1.residual")
  %layers.norm = rms_norm(%layers.0.1.residual, %layers.norm.weight) : ? loc("layers.norm")
  %layers.last = gather(%layers.norm, %layers.last_tokens) : ? loc("layers.last")
  %layers.head = gemm(%layers.last, %layers.head.weight) {transB=1} : ? loc("layers.head")
  return %layers.head, %layers.0.0.attention.new_key, %layers.0.0.attention.new_value
}
