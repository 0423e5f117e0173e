# RUN: shapes,train{optimizer=adafactor,checkpointing=optimal,keep=0.3} | print
perfir 1
module @tokens {source="tests/golden/estimates/tokens.onnxtxt", digest="f94184495e449dc447137a12894a90ff976203e333ce86e62edb78c07e2b50cf", ir_version=10, opset=[["", 23], ["com.microsoft", 1]]}
dim batch in 1.. = 1
dim s in 1.. = 128
dim past in 0.. = 128

graph @main(%ids: i64[batch, s], %keys: f32[batch, 4, past, 64], %values: f32[batch, 4, past, 64], %query: f32[batch, 1, 512]) {
  %table = weight {location="w.bin"} : f32[1000, 512]
  %g1 = weight {location="w.bin"} : f32[512]
  %b1 = weight {location="w.bin"} : f32[512]
  %qkv_w = weight {location="w.bin"} : f32[512, 1536]
  %out_w = weight {location="w.bin"} : f32[512, 512]
  %up_w = weight {location="w.bin"} : f32[512, 2048]
  %up_b = weight {location="w.bin"} : f32[2048]
  %down_w = weight {location="w.bin"} : f32[2048, 512]
  %g2 = weight {location="w.bin"} : f32[512]
  %head_w = weight {location="w.bin"} : f32[512, 1000]
  %narrow_w = weight {location="w.bin"} : f32[512, 64]
  %rec_w = weight {location="w.bin"} : f32[1, 256, 64]
  %rec_r = weight {location="w.bin"} : f32[1, 256, 64]
  %heads = weight {bytes=32, digest="600853f2ff61b6e18b534c71301550fa2d49cca287a1886758470e9a98e3ad5c"} : i64[4] = [0, 0, 8, 64]
  %merged = weight {bytes=24, digest="f4dc96afe2ed9568c5c94ae77a1fe9e8d95507d14e5d6d4c21c4ffd3fe7313fa"} : i64[3] = [0, 0, 512]
  %thirds = weight {bytes=24, digest="8a80f11f664a7225f8d3c777434df1f5e163493e7db5ddde788bf592230c4583"} : i64[3] = [512, 512, 512]
  %eighth = weight {bytes=4, digest="bcea9e5bbaad4b280d6123845eedc468d1038cd6e8f5fa51a1d1341518ed914b"} : f32[] = 0.125
  %last = weight {bytes=8, digest="d14b8bcb7bc6f15194e83ab5199f25e3d76cc1313298fbec375ba6c943edd516"} : i64[1] = [-1]
  %lengths_of = weight {bytes=16, digest="45272ad7d757a7e5d6ac8b01a7e68cf7b89f5928b3965f2166bccab7509aeb68"} : i64[2] = [0, 0]
  %x = gather(%table, %ids) : f32[batch, s, 512] loc("embed", "Gather")
  %n = layer_norm(%x, %g1, %b1) : f32[batch, s, 512] loc("norm", "LayerNormalization")
  %p = matmul(%n, %qkv_w) : f32[batch, s, 1536] loc("qkv", "MatMul")
  %q0, %k0, %v0 = split(%p, %thirds) {axis=-1, num_outputs=3} : f32[batch, s, 512], f32[batch, s, 512], f32[batch, s, 512] loc("split", "Split")
  %q1 = reshape(%q0, %heads) : f32[batch, s, 8, 64] loc("q1", "Reshape")
  %k1 = reshape(%k0, %heads) : f32[batch, s, 8, 64] loc("k1", "Reshape")
  %v1 = reshape(%v0, %heads) : f32[batch, s, 8, 64] loc("v1", "Reshape")
  %q2 = transpose(%q1) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("q2", "Transpose")
  %k2 = transpose(%k1) {perm=[0, 2, 3, 1]} : f32[batch, 8, 64, s] loc("k2", "Transpose")
  %v2 = transpose(%v1) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("v2", "Transpose")
  %w0 = matmul(%q2, %k2) : f32[batch, 8, s, s] loc("products", "MatMul")
  %w1 = mul(%w0, %eighth) : f32[batch, 8, s, s] loc("scaled", "Mul")
  %w2 = softmax(%w1) : f32[batch, 8, s, s] loc("shares", "Softmax")
  %w3 = matmul(%w2, %v2) : f32[batch, 8, s, 64] loc("mixed", "MatMul")
  %w4 = transpose(%w3) {perm=[0, 2, 1, 3]} : f32[batch, s, 8, 64] loc("back", "Transpose")
  %w5 = reshape(%w4, %merged) : f32[batch, s, 512] loc("merge", "Reshape")
  %w6 = matmul(%w5, %out_w) : f32[batch, s, 512] loc("out", "MatMul")
  %y = add(%x, %w6) : f32[batch, s, 512] loc("residual", "Add")
  %y1 = rms_norm(%y, %g2) : f32[batch, s, 512] loc("rms", "RMSNormalization")
  %y2 = matmul(%y1, %up_w) : f32[batch, s, 2048] loc("up", "MatMul")
  %y3 = add(%y2, %up_b) : f32[batch, s, 2048] loc("bias", "Add")
  %y4 = gelu(%y3) : f32[batch, s, 2048] loc("gelu", "Gelu")
  %y5 = matmul(%y4, %down_w) : f32[batch, s, 512] loc("down", "MatMul")
  %y6 = add(%y, %y5) : f32[batch, s, 512] loc("residual2", "Add")
  %y7 = attention(%y6, %y6, %y6) {is_causal=1, kv_num_heads=8, q_num_heads=8} : f32[batch, s, 512] loc("causal", "Attention")
  %logits = matmul(%y7, %head_w) : f32[batch, s, 1000] loc("logits", "MatMul")
  %narrow_k0 = matmul(%query, %narrow_w) : f32[batch, 1, 64] loc("narrow_k", "MatMul")
  %means = reduce_mean(%y6, %last) {keepdims=0} : f32[batch, s] loc("means", "ReduceMean")
  %z = transpose(%y6) {perm=[1, 0, 2]} : f32[s, batch, 512] loc("swap", "Transpose")
  %narrow_k = concat(%narrow_k0, %narrow_k0, %narrow_k0, %narrow_k0) {axis=-1} : f32[batch, 1, 256] loc("narrow_k2", "Concat")
  %z1 = matmul(%z, %narrow_w) : f32[s, batch, 64] loc("narrow", "MatMul")
  %narrow_v = tanh(%narrow_k) : f32[batch, 1, 256] loc("narrow_v", "Tanh")
  %states = lstm(%z1, %rec_w, %rec_r) {hidden_size=64} : f32[s, 1, batch, 64] loc("recurrent", "LSTM")
  %step = attention(%query, %narrow_k, %narrow_v, _, %keys, %values) {kv_num_heads=4, q_num_heads=8} : f32[batch, 1, 512] loc("step", "Attention")
  return %logits, %step, %means, %states
}
# ---- expect
perfir 1
module @tokens {source="tests/golden/estimates/tokens.onnxtxt", digest="f94184495e449dc447137a12894a90ff976203e333ce86e62edb78c07e2b50cf", ir_version=10, opset=[["", 23], ["com.microsoft", 1]]}
dim batch in 1.. = 1
dim s in 1.. = 128
dim past in 0.. = 128

graph @main(%ids: i64[batch, s], %keys: f32[batch, 4, past, 64], %values: f32[batch, 4, past, 64], %query: f32[batch, 1, 512], %labels: i64[batch*s]) {
  %table = weight {location="w.bin"} : f32[1000, 512]
  %g1 = weight {location="w.bin"} : f32[512]
  %b1 = weight {location="w.bin"} : f32[512]
  %qkv_w = weight {location="w.bin"} : f32[512, 1536]
  %out_w = weight {location="w.bin"} : f32[512, 512]
  %up_w = weight {location="w.bin"} : f32[512, 2048]
  %up_b = weight {location="w.bin"} : f32[2048]
  %down_w = weight {location="w.bin"} : f32[2048, 512]
  %g2 = weight {location="w.bin"} : f32[512]
  %head_w = weight {location="w.bin"} : f32[512, 1000]
  %heads = weight {bytes=32, digest="600853f2ff61b6e18b534c71301550fa2d49cca287a1886758470e9a98e3ad5c"} : i64[4] = [0, 0, 8, 64]
  %merged = weight {bytes=24, digest="f4dc96afe2ed9568c5c94ae77a1fe9e8d95507d14e5d6d4c21c4ffd3fe7313fa"} : i64[3] = [0, 0, 512]
  %thirds = weight {bytes=24, digest="8a80f11f664a7225f8d3c777434df1f5e163493e7db5ddde788bf592230c4583"} : i64[3] = [512, 512, 512]
  %eighth = weight {bytes=4, digest="bcea9e5bbaad4b280d6123845eedc468d1038cd6e8f5fa51a1d1341518ed914b"} : f32[] = 0.125
  %table.row_var = weight {bytes=4000, constant=true, state=true} : f32[1000, 1]
  %qkv_w.row_var = weight {bytes=2048, constant=true, state=true} : f32[512, 1]
  %out_w.row_var = weight {bytes=2048, constant=true, state=true} : f32[512, 1]
  %up_w.row_var = weight {bytes=2048, constant=true, state=true} : f32[512, 1]
  %down_w.row_var = weight {bytes=8192, constant=true, state=true} : f32[2048, 1]
  %head_w.row_var = weight {bytes=2048, constant=true, state=true} : f32[512, 1]
  %table.col_var = weight {bytes=2048, constant=true, state=true} : f32[1, 512]
  %qkv_w.col_var = weight {bytes=6144, constant=true, state=true} : f32[1, 1536]
  %out_w.col_var = weight {bytes=2048, constant=true, state=true} : f32[1, 512]
  %up_w.col_var = weight {bytes=8192, constant=true, state=true} : f32[1, 2048]
  %down_w.col_var = weight {bytes=2048, constant=true, state=true} : f32[1, 512]
  %head_w.col_var = weight {bytes=4000, constant=true, state=true} : f32[1, 1000]
  %g1.variance = weight {bytes=2048, constant=true, state=true} : f32[512]
  %b1.variance = weight {bytes=2048, constant=true, state=true} : f32[512]
  %up_b.variance = weight {bytes=8192, constant=true, state=true} : f32[2048]
  %g2.variance = weight {bytes=2048, constant=true, state=true} : f32[512]
  %eighth.variance = weight {bytes=4, constant=true, state=true} : f32[]
  %constant.grad = weight {bytes=16, constant=true} : i64[2] = [batch*s, 1000]
  %constant.grad.1 = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.2 = weight {bytes=24, constant=true} : i64[3] = [batch, s, 1000]
  %constant.grad.3 = weight {bytes=16, constant=true} : i64[2] = [batch*s, 512]
  %constant.grad.4 = weight {bytes=16, constant=true} : i64[2] = [batch*s, 2048]
  %constant.grad.5 = weight {bytes=16, constant=true} : i64[2] = [0, 1]
  %constant.grad.6 = weight {bytes=32, constant=true} : i64[4] = [batch, s, 8, 64]
  %constant.grad.7 = weight {bytes=32, constant=true} : i64[4] = [0, 1, 2, 3]
  %constant.grad.8 = weight {bytes=24, constant=true} : i64[3] = [batch, s, 512]
  %constant.grad.9 = weight {bytes=16, constant=true} : i64[2] = [batch*s, 1536]
  %constant.grad.10 = weight {bytes=16, constant=true} : i64[2] = [1000, 512]
  %x = gather(%table, %ids) : f32[batch, s, 512] loc("embed", "Gather")
  %n, %norm.1, %norm.2 = layer_norm(%x, %g1, %b1) : f32[batch, s, 512], f32[batch, s, 1], f32[batch, s, 1] loc("norm", "LayerNormalization")
  %p = matmul(%n, %qkv_w) : f32[batch, s, 1536] loc("qkv", "MatMul")
  %q0, %k0, %v0 = split(%p, %thirds) {axis=-1, num_outputs=3} : f32[batch, s, 512], f32[batch, s, 512], f32[batch, s, 512] loc("split", "Split")
  %q1 = reshape(%q0, %heads) : f32[batch, s, 8, 64] loc("q1", "Reshape")
  %k1 = reshape(%k0, %heads) : f32[batch, s, 8, 64] loc("k1", "Reshape")
  %v1 = reshape(%v0, %heads) : f32[batch, s, 8, 64] loc("v1", "Reshape")
  %q2 = transpose(%q1) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("q2", "Transpose")
  %k2 = transpose(%k1) {perm=[0, 2, 3, 1]} : f32[batch, 8, 64, s] loc("k2", "Transpose")
  %v2 = transpose(%v1) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("v2", "Transpose")
  %w0 = matmul(%q2, %k2) : f32[batch, 8, s, s] loc("products", "MatMul")
  %w1 = mul(%w0, %eighth) : f32[batch, 8, s, s] loc("scaled", "Mul")
  %w2 = softmax(%w1) : f32[batch, 8, s, s] loc("shares", "Softmax")
  %w3 = matmul(%w2, %v2) : f32[batch, 8, s, 64] loc("mixed", "MatMul")
  %w4 = transpose(%w3) {perm=[0, 2, 1, 3]} : f32[batch, s, 8, 64] loc("back", "Transpose")
  %w5 = reshape(%w4, %merged) : f32[batch, s, 512] loc("merge", "Reshape")
  %w6 = matmul(%w5, %out_w) : f32[batch, s, 512] loc("out", "MatMul")
  %y = add(%x, %w6) : f32[batch, s, 512] loc("residual", "Add")
  %y1, %rms.1 = rms_norm(%y, %g2) : f32[batch, s, 512], f32[batch, s, 1] loc("rms", "RMSNormalization")
  %y2 = matmul(%y1, %up_w) : f32[batch, s, 2048] loc("up", "MatMul")
  %y3 = add(%y2, %up_b) : f32[batch, s, 2048] loc("bias", "Add")
  %y4 = gelu(%y3) : f32[batch, s, 2048] loc("gelu", "Gelu")
  %y5 = matmul(%y4, %down_w) : f32[batch, s, 512] loc("down", "MatMul")
  %y6 = add(%y, %y5) : f32[batch, s, 512] loc("residual2", "Add")
  %y7 = attention(%y6, %y6, %y6) {is_causal=1, kv_num_heads=8, q_num_heads=8} : f32[batch, s, 512] loc("causal", "Attention")
  %logits = matmul(%y7, %head_w) : f32[batch, s, 1000] loc("logits", "MatMul")
  %loss = reshape(%logits, %constant.grad) : f32[batch*s, 1000] loc("loss", "Reshape", loss)
  %loss.1 = log_softmax(%loss) {axis=1} : f32[batch*s, 1000] loc("loss", "LogSoftmax", loss)
  %loss.2 = nll_loss(%loss.1, %labels) : f32[] loc("loss", "NegativeLogLikelihoodLoss", loss)
  %loss.grad = nll_loss_grad(%constant.grad.1, %constant.grad, %labels) : f32[batch*s, 1000] loc("loss.grad", "NegativeLogLikelihoodLossGrad", backward)
  %x.again = gather(%table, %ids) : f32[batch, s, 512] loc("embed.again", "Gather", recompute)
  %n.again, %norm.1.again, %norm.2.again = layer_norm(%x.again, %g1, %b1) : f32[batch, s, 512], f32[batch, s, 1], f32[batch, s, 1] loc("norm.again", "LayerNormalization", recompute)
  %p.again = matmul(%n.again, %qkv_w) : f32[batch, s, 1536] loc("qkv.again", "MatMul", recompute)
  %q0.again, %k0.again, %v0.again = split(%p.again, %thirds) {axis=-1, num_outputs=3} : f32[batch, s, 512], f32[batch, s, 512], f32[batch, s, 512] loc("split.again", "Split", recompute)
  %q1.again = reshape(%q0.again, %heads) : f32[batch, s, 8, 64] loc("q1.again", "Reshape", recompute)
  %k1.again = reshape(%k0.again, %heads) : f32[batch, s, 8, 64] loc("k1.again", "Reshape", recompute)
  %v1.again = reshape(%v0.again, %heads) : f32[batch, s, 8, 64] loc("v1.again", "Reshape", recompute)
  %q2.again = transpose(%q1.again) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("q2.again", "Transpose", recompute)
  %k2.again = transpose(%k1.again) {perm=[0, 2, 3, 1]} : f32[batch, 8, 64, s] loc("k2.again", "Transpose", recompute)
  %v2.again = transpose(%v1.again) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("v2.again", "Transpose", recompute)
  %w0.again = matmul(%q2.again, %k2.again) : f32[batch, 8, s, s] loc("products.again", "MatMul", recompute)
  %w1.again = mul(%w0.again, %eighth) : f32[batch, 8, s, s] loc("scaled.again", "Mul", recompute)
  %w2.again = softmax(%w1.again) : f32[batch, 8, s, s] loc("shares.again", "Softmax", recompute)
  %w3.again = matmul(%w2.again, %v2.again) : f32[batch, 8, s, 64] loc("mixed.again", "MatMul", recompute)
  %w4.again = transpose(%w3.again) {perm=[0, 2, 1, 3]} : f32[batch, s, 8, 64] loc("back.again", "Transpose", recompute)
  %w5.again = reshape(%w4.again, %merged) : f32[batch, s, 512] loc("merge.again", "Reshape", recompute)
  %w6.again = matmul(%w5.again, %out_w) : f32[batch, s, 512] loc("out.again", "MatMul", recompute)
  %y.again = add(%x.again, %w6.again) : f32[batch, s, 512] loc("residual.again", "Add", recompute)
  %y1.again, %rms.1.again = rms_norm(%y.again, %g2) : f32[batch, s, 512], f32[batch, s, 1] loc("rms.again", "RMSNormalization", recompute)
  %y2.again = matmul(%y1.again, %up_w) : f32[batch, s, 2048] loc("up.again", "MatMul", recompute)
  %y3.again = add(%y2.again, %up_b) : f32[batch, s, 2048] loc("bias.again", "Add", recompute)
  %y4.again = gelu(%y3.again) : f32[batch, s, 2048] loc("gelu.again", "Gelu", recompute)
  %y5.again = matmul(%y4.again, %down_w) : f32[batch, s, 512] loc("down.again", "MatMul", recompute)
  %y6.again = add(%y.again, %y5.again) : f32[batch, s, 512] loc("residual2.again", "Add", recompute)
  %y7.again = attention(%y6.again, %y6.again, %y6.again) {is_causal=1, kv_num_heads=8, q_num_heads=8} : f32[batch, s, 512] loc("causal.again", "Attention", recompute)
  %logits.again = matmul(%y7.again, %head_w) : f32[batch, s, 1000] loc("logits.again", "MatMul", recompute)
  %loss.again = reshape(%logits.again, %constant.grad) : f32[batch*s, 1000] loc("loss.again", "Reshape", recompute)
  %loss.1.again = log_softmax(%loss.again) {axis=1} : f32[batch*s, 1000] loc("loss.again", "LogSoftmax", recompute)
  %loss.grad.1 = log_softmax_grad(%loss.grad, %loss.1.again) {axis=1} : f32[batch*s, 1000] loc("loss.grad", "LogSoftmaxGrad_13", backward)
  %loss.grad.2 = reshape(%loss.grad.1, %constant.grad.2) : f32[batch, s, 1000] loc("loss.grad", "Reshape", backward)
  %logits.grad = fused_matmul(%loss.grad.2, %head_w) {transB=1} : f32[batch, s, 512] loc("logits.grad", "FusedMatMul", backward)
  %logits.grad.1 = reshape(%y7.again, %constant.grad.3) : f32[batch*s, 512] loc("logits.grad", "Reshape", backward)
  %logits.grad.2 = reshape(%loss.grad.2, %constant.grad) : f32[batch*s, 1000] loc("logits.grad", "Reshape", backward)
  %logits.grad.3 = gemm(%logits.grad.1, %logits.grad.2) {transA=1} : f32[512, 1000] loc("logits.grad", "Gemm", backward)
  %causal.grad, %causal.grad.1, %causal.grad.2 = attention_grad(%logits.grad, %y7.again, %y6.again, %y6.again, %y6.again) {is_causal=1, kv_num_heads=8, q_num_heads=8} : f32[batch, s, 512], f32[batch, s, 512], f32[batch, s, 512] loc("causal.grad", "AttentionGrad", backward)
  %causal.grad.3 = add(%causal.grad, %causal.grad.1) : f32[batch, s, 512] loc("causal.grad", "Add", backward)
  %causal.grad.4 = add(%causal.grad.3, %causal.grad.2) : f32[batch, s, 512] loc("causal.grad", "Add", backward)
  %down.grad = fused_matmul(%causal.grad.4, %down_w) {transB=1} : f32[batch, s, 2048] loc("down.grad", "FusedMatMul", backward)
  %down.grad.1 = reshape(%y4.again, %constant.grad.4) : f32[batch*s, 2048] loc("down.grad", "Reshape", backward)
  %down.grad.2 = reshape(%causal.grad.4, %constant.grad.3) : f32[batch*s, 512] loc("down.grad", "Reshape", backward)
  %down.grad.3 = gemm(%down.grad.1, %down.grad.2) {transA=1} : f32[2048, 512] loc("down.grad", "Gemm", backward)
  %gelu.grad = elementwise_grad(%down.grad, %y3.again) {of="gelu", derivative="0.5*(1 + erf(x*0.7071067811865476)) + x*0.3989422804014327*exp(-0.5*(x*x))"} : f32[batch, s, 2048] loc("gelu.grad", "GeluGrad", backward)
  %bias.grad = reduce_sum(%gelu.grad, %constant.grad.5) {keepdims=0} : f32[2048] loc("bias.grad", "ReduceSum", backward)
  %up.grad = fused_matmul(%gelu.grad, %up_w) {transB=1} : f32[batch, s, 512] loc("up.grad", "FusedMatMul", backward)
  %up.grad.1 = reshape(%y1.again, %constant.grad.3) : f32[batch*s, 512] loc("up.grad", "Reshape", backward)
  %up.grad.2 = reshape(%gelu.grad, %constant.grad.4) : f32[batch*s, 2048] loc("up.grad", "Reshape", backward)
  %up.grad.3 = gemm(%up.grad.1, %up.grad.2) {transA=1} : f32[512, 2048] loc("up.grad", "Gemm", backward)
  %rms.grad, %rms.grad.1 = rms_norm_grad(%up.grad, %y.again, %g2, %rms.1.again) : f32[batch, s, 512], f32[512] loc("rms.grad", "SimplifiedLayerNormalizationGrad", backward)
  %rms.grad.2 = add(%causal.grad.4, %rms.grad) : f32[batch, s, 512] loc("rms.grad", "Add", backward)
  %out.grad = fused_matmul(%rms.grad.2, %out_w) {transB=1} : f32[batch, s, 512] loc("out.grad", "FusedMatMul", backward)
  %out.grad.1 = reshape(%w5.again, %constant.grad.3) : f32[batch*s, 512] loc("out.grad", "Reshape", backward)
  %out.grad.2 = reshape(%rms.grad.2, %constant.grad.3) : f32[batch*s, 512] loc("out.grad", "Reshape", backward)
  %out.grad.3 = gemm(%out.grad.1, %out.grad.2) {transA=1} : f32[512, 512] loc("out.grad", "Gemm", backward)
  %merge.grad = reshape(%out.grad, %constant.grad.6) : f32[batch, s, 8, 64] loc("merge.grad", "Reshape", backward)
  %back.grad = transpose(%merge.grad) {perm=[0, 2, 1, 3]} : f32[batch, 8, s, 64] loc("back.grad", "Transpose", backward)
  %mixed.grad = fused_matmul(%back.grad, %v2.again) {transB=1} : f32[batch, 8, s, s] loc("mixed.grad", "FusedMatMul", backward)
  %mixed.grad.1 = fused_matmul(%w2.again, %back.grad) {transA=1} : f32[batch, 8, s, 64] loc("mixed.grad", "FusedMatMul", backward)
  %shares.grad = softmax_grad(%mixed.grad, %w2.again) : f32[batch, 8, s, s] loc("shares.grad", "SoftmaxGrad_13", backward)
  %scaled.grad = mul(%shares.grad, %eighth) : f32[batch, 8, s, s] loc("scaled.grad", "Mul", backward)
  %scaled.grad.1 = mul(%shares.grad, %w0.again) : f32[batch, 8, s, s] loc("scaled.grad", "Mul", backward)
  %scaled.grad.2 = reduce_sum(%scaled.grad.1, %constant.grad.7) {keepdims=0} : f32[] loc("scaled.grad", "ReduceSum", backward)
  %products.grad = fused_matmul(%scaled.grad, %k2.again) {transB=1} : f32[batch, 8, s, 64] loc("products.grad", "FusedMatMul", backward)
  %products.grad.1 = fused_matmul(%q2.again, %scaled.grad) {transA=1} : f32[batch, 8, 64, s] loc("products.grad", "FusedMatMul", backward)
  %v2.grad = transpose(%mixed.grad.1) {perm=[0, 2, 1, 3]} : f32[batch, s, 8, 64] loc("v2.grad", "Transpose", backward)
  %k2.grad = transpose(%products.grad.1) {perm=[0, 3, 1, 2]} : f32[batch, s, 8, 64] loc("k2.grad", "Transpose", backward)
  %q2.grad = transpose(%products.grad) {perm=[0, 2, 1, 3]} : f32[batch, s, 8, 64] loc("q2.grad", "Transpose", backward)
  %v1.grad = reshape(%v2.grad, %constant.grad.8) : f32[batch, s, 512] loc("v1.grad", "Reshape", backward)
  %k1.grad = reshape(%k2.grad, %constant.grad.8) : f32[batch, s, 512] loc("k1.grad", "Reshape", backward)
  %q1.grad = reshape(%q2.grad, %constant.grad.8) : f32[batch, s, 512] loc("q1.grad", "Reshape", backward)
  %split.grad = concat(%q1.grad, %k1.grad, %v1.grad) {axis=2} : f32[batch, s, 1536] loc("split.grad", "Concat", backward)
  %qkv.grad = fused_matmul(%split.grad, %qkv_w) {transB=1} : f32[batch, s, 512] loc("qkv.grad", "FusedMatMul", backward)
  %qkv.grad.1 = reshape(%n.again, %constant.grad.3) : f32[batch*s, 512] loc("qkv.grad", "Reshape", backward)
  %qkv.grad.2 = reshape(%split.grad, %constant.grad.9) : f32[batch*s, 1536] loc("qkv.grad", "Reshape", backward)
  %qkv.grad.3 = gemm(%qkv.grad.1, %qkv.grad.2) {transA=1} : f32[512, 1536] loc("qkv.grad", "Gemm", backward)
  %norm.grad, %norm.grad.1, %norm.grad.2 = layer_norm_grad(%qkv.grad, %x.again, %g1, %norm.1.again, %norm.2.again) : f32[batch, s, 512], f32[512], f32[512] loc("norm.grad", "LayerNormalizationGrad", backward)
  %norm.grad.3 = add(%rms.grad.2, %norm.grad) : f32[batch, s, 512] loc("norm.grad", "Add", backward)
  %embed.grad = gather_grad(%constant.grad.10, %ids, %norm.grad.3) : f32[1000, 512] loc("embed.grad", "GatherGrad", backward)
  %table.row_var.next, %qkv_w.row_var.next, %out_w.row_var.next, %up_w.row_var.next, %down_w.row_var.next, %head_w.row_var.next = multi_tensor(%embed.grad, %qkv.grad.3, %out.grad.3, %up.grad.3, %down.grad.3, %logits.grad.3, %table.row_var, %qkv_w.row_var, %out_w.row_var, %up_w.row_var, %down_w.row_var, %head_w.row_var) {function="row means", lists=2, written=[1], alu=2} : f32[1000, 1], f32[512, 1], f32[512, 1], f32[512, 1], f32[2048, 1], f32[512, 1] loc("row means", "row means", optimizer)
  %table.col_var.next, %qkv_w.col_var.next, %out_w.col_var.next, %up_w.col_var.next, %down_w.col_var.next, %head_w.col_var.next = multi_tensor(%embed.grad, %qkv.grad.3, %out.grad.3, %up.grad.3, %down.grad.3, %logits.grad.3, %table.col_var, %qkv_w.col_var, %out_w.col_var, %up_w.col_var, %down_w.col_var, %head_w.col_var) {function="column means", lists=2, written=[1], alu=2} : f32[1, 512], f32[1, 1536], f32[1, 512], f32[1, 2048], f32[1, 512], f32[1, 1000] loc("column means", "column means", optimizer)
  %update.0, %update.1, %update.2, %update.3, %update.4, %update.5 = multi_tensor(%embed.grad, %qkv.grad.3, %out.grad.3, %up.grad.3, %down.grad.3, %logits.grad.3, %table.row_var.next, %qkv_w.row_var.next, %out_w.row_var.next, %up_w.row_var.next, %down_w.row_var.next, %head_w.row_var.next, %table.col_var.next, %qkv_w.col_var.next, %out_w.col_var.next, %up_w.col_var.next, %down_w.col_var.next, %head_w.col_var.next) {function="update", lists=3, written=[], fresh=1, alu=3, sfu=1} : f32[1000, 512], f32[512, 1536], f32[512, 512], f32[512, 2048], f32[2048, 512], f32[512, 1000] loc("update", "update", optimizer)
  %table.next, %qkv_w.next, %out_w.next, %up_w.next, %down_w.next, %head_w.next = multi_tensor(%table, %qkv_w, %out_w, %up_w, %down_w, %head_w, %update.0, %update.1, %update.2, %update.3, %update.4, %update.5) {function="_foreach_add_", lists=2, alu=4} : f32[1000, 512], f32[512, 1536], f32[512, 512], f32[512, 2048], f32[2048, 512], f32[512, 1000] loc("_foreach_add_", "_foreach_add_", optimizer)
  %g1.variance.next, %b1.variance.next, %up_b.variance.next, %g2.variance.next, %eighth.variance.next = multi_tensor(%g1.variance, %b1.variance, %up_b.variance, %g2.variance, %eighth.variance, %norm.grad.1, %norm.grad.2, %bias.grad, %rms.grad.1, %scaled.grad.2) {function="_foreach_lerp_", lists=2, alu=4} : f32[512], f32[512], f32[2048], f32[512], f32[] loc("_foreach_lerp_", "_foreach_lerp_", optimizer)
  %g1.next, %b1.next, %up_b.next, %g2.next, %eighth.next = multi_tensor(%g1, %b1, %up_b, %g2, %eighth, %norm.grad.1, %norm.grad.2, %bias.grad, %rms.grad.1, %scaled.grad.2, %g1.variance.next, %b1.variance.next, %up_b.variance.next, %g2.variance.next, %eighth.variance.next) {function="_foreach_addcdiv_", lists=3, alu=3, sfu=2} : f32[512], f32[512], f32[2048], f32[512], f32[] loc("_foreach_addcdiv_", "_foreach_addcdiv_", optimizer)
  return %loss.2, %table.next, %qkv_w.next, %out_w.next, %up_w.next, %down_w.next, %head_w.next, %table.row_var.next, %qkv_w.row_var.next, %out_w.row_var.next, %up_w.row_var.next, %down_w.row_var.next, %head_w.row_var.next, %table.col_var.next, %qkv_w.col_var.next, %out_w.col_var.next, %up_w.col_var.next, %down_w.col_var.next, %head_w.col_var.next, %g1.next, %b1.next, %up_b.next, %g2.next, %eighth.next, %g1.variance.next, %b1.variance.next, %up_b.variance.next, %g2.variance.next, %eighth.variance.next
}
