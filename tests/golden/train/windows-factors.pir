# RUN: shapes,train{optimizer=muon,lora_rank=2,loss_scaling=true,implementation=fused} | print
perfir 1
module @windows {source="tests/golden/estimates/windows.onnxtxt", digest="0b0e3a4dddc77de5365796632c2e5736b41c6063d364fb1a7f442c91c8c0fbfb", ir_version=10, opset=21}
dim batch in 1.. = 1

graph @main(%image: f32[batch, 3, 64, 64]) {
  %stem_w = weight {location="w.bin"} : f32[32, 3, 7, 7]
  %scale = weight {location="w.bin"} : f32[32]
  %shift = weight {location="w.bin"} : f32[32]
  %mean = weight {location="w.bin"} : f32[32]
  %variance = weight {location="w.bin"} : f32[32]
  %plain_w = weight {location="w.bin"} : f32[64, 32, 3, 3]
  %apart_w = weight {location="w.bin"} : f32[64, 1, 3, 3]
  %apart_strided_w = weight {location="w.bin"} : f32[64, 1, 5, 5]
  %point_w = weight {location="w.bin"} : f32[128, 64, 1, 1]
  %point_b = weight {location="w.bin"} : f32[128]
  %strided_point_w = weight {location="w.bin"} : f32[64, 64, 1, 1]
  %grouped_w = weight {location="w.bin"} : f32[128, 32, 3, 3]
  %holes_w = weight {location="w.bin"} : f32[128, 128, 3, 3]
  %up_w = weight {location="w.bin"} : f32[128, 8, 4, 4]
  %line_w = weight {location="w.bin"} : f32[16, 64, 3]
  %space_w = weight {location="w.bin"} : f32[4, 16, 3, 3, 3]
  %head_w = weight {location="w.bin"} : f32[128, 10]
  %head_b = weight {location="w.bin"} : f32[10]
  %line = weight {bytes=24, digest="c29bf4f3be7401660c970509c2eddbf5b6d0f402f4f3bfb0696a7a6e49612b4e"} : i64[3] = [0, 64, 64]
  %space = weight {bytes=40, digest="cba9a716636d00a5d844324ba1cdcdecc74dfae566cf44c95119d10e91a7b842"} : i64[5] = [0, 16, 4, 4, 4]
  %a = conv(%image, %stem_w) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[batch, 32, 32, 32] loc("stem", "Conv")
  %b = batch_norm(%a, %scale, %shift, %mean, %variance) : f32[batch, 32, 32, 32] loc("norm", "BatchNormalization")
  %c = relu(%b) : f32[batch, 32, 32, 32] loc("relu", "Relu")
  %d = max_pool(%c) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[batch, 32, 16, 16] loc("max_pool", "MaxPool")
  %e = conv(%d, %plain_w) {pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("plain", "Conv")
  %f = conv(%e, %apart_w) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart", "Conv")
  %g0 = sigmoid(%f) : f32[batch, 64, 16, 16] loc("silu_of", "Sigmoid")
  %g = mul(%f, %g0) : f32[batch, 64, 16, 16] loc("silu", "Mul")
  %h = conv(%g, %apart_strided_w) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 8, 8] loc("apart_strided", "Conv")
  %h2 = conv(%e, %strided_point_w) {strides=[2, 2]} : f32[batch, 64, 8, 8] loc("strided_point", "Conv")
  %i = add(%h, %h2) : f32[batch, 64, 8, 8] loc("residual", "Add")
  %j = conv(%i, %point_w, %point_b) : f32[batch, 128, 8, 8] loc("point", "Conv")
  %k = conv(%j, %grouped_w) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped", "Conv")
  %l = conv(%k, %holes_w) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes", "Conv")
  %m = average_pool(%l) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool", "AveragePool")
  %n = conv_transpose(%m, %up_w) {output_padding=[4, 4], pads=[0, 0, 0, 0], strides=[8, 8]} : f32[batch, 8, 64, 64] loc("up", "ConvTranspose")
  %map = identity(%n) : f32[batch, 8, 64, 64] loc("enlarge", "Identity")
  %o = reshape(%i, %line) : f32[batch, 64, 64] loc("line", "Reshape")
  %p = conv(%o, %line_w) {pads=[1, 1]} : f32[batch, 16, 64] loc("along", "Conv")
  %q = reshape(%p, %space) : f32[batch, 16, 4, 4, 4] loc("space", "Reshape")
  %r = conv(%q, %space_w) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 4, 4, 4, 4] loc("volume", "Conv")
  %r2 = reduce_mean(%r) {keepdims=0} : f32[] loc("volume_mean", "ReduceMean")
  %s = global_average_pool(%m) : f32[batch, 128, 1, 1] loc("pool", "GlobalAveragePool")
  %t = flatten(%s) : f32[batch, 128] loc("flat", "Flatten")
  %t2 = mul(%t, %r2) : f32[batch, 128] loc("scaled", "Mul")
  %u = gemm(%t2, %head_w, %head_b) : f32[batch, 10] loc("head", "Gemm")
  %scores = softmax(%u) : f32[batch, 10] loc("scores", "Softmax")
  return %scores, %map
}
# ---- expect
perfir 1
module @windows {source="tests/golden/estimates/windows.onnxtxt", digest="0b0e3a4dddc77de5365796632c2e5736b41c6063d364fb1a7f442c91c8c0fbfb", ir_version=10, opset=21}
dim batch in 1.. = 1

graph @main(%image: f32[batch, 3, 64, 64], %labels: i64[batch]) {
  %stem_w = weight {location="w.bin"} : f32[32, 3, 7, 7]
  %scale = weight {location="w.bin"} : f32[32]
  %shift = weight {location="w.bin"} : f32[32]
  %mean = weight {location="w.bin"} : f32[32]
  %variance = weight {location="w.bin"} : f32[32]
  %plain_w = weight {location="w.bin"} : f32[64, 32, 3, 3]
  %apart_w = weight {location="w.bin"} : f32[64, 1, 3, 3]
  %apart_strided_w = weight {location="w.bin"} : f32[64, 1, 5, 5]
  %point_w = weight {location="w.bin"} : f32[128, 64, 1, 1]
  %point_b = weight {location="w.bin"} : f32[128]
  %strided_point_w = weight {location="w.bin"} : f32[64, 64, 1, 1]
  %grouped_w = weight {location="w.bin"} : f32[128, 32, 3, 3]
  %holes_w = weight {location="w.bin"} : f32[128, 128, 3, 3]
  %line_w = weight {location="w.bin"} : f32[16, 64, 3]
  %space_w = weight {location="w.bin"} : f32[4, 16, 3, 3, 3]
  %head_w = weight {location="w.bin"} : f32[128, 10]
  %head_b = weight {location="w.bin"} : f32[10]
  %line = weight {bytes=24, digest="c29bf4f3be7401660c970509c2eddbf5b6d0f402f4f3bfb0696a7a6e49612b4e"} : i64[3] = [0, 64, 64]
  %space = weight {bytes=40, digest="cba9a716636d00a5d844324ba1cdcdecc74dfae566cf44c95119d10e91a7b842"} : i64[5] = [0, 16, 4, 4, 4]
  %head_w.lora_A = weight {bytes=1024} : f32[128, 2]
  %head_w.lora_B = weight {bytes=80} : f32[2, 10]
  %head_w.lora_A.momentum_buffer = weight {bytes=1024, constant=true, state=true} : f32[128, 2]
  %head_w.lora_B.momentum_buffer = weight {bytes=80, constant=true, state=true} : f32[2, 10]
  %constant.grad = weight {bytes=4, constant=true} : f32[] = 8.0
  %constant.grad.1 = weight {bytes=4, constant=true} : f32[] = 65536.0
  %constant.grad.2 = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.3 = weight {bytes=16, constant=true} : i64[2] = [batch, 10]
  %a = conv(%image, %stem_w) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[batch, 32, 32, 32] loc("stem", "Conv")
  %b = batch_norm(%a, %scale, %shift, %mean, %variance) {training_mode=1} : f32[batch, 32, 32, 32] loc("norm", "BatchNormalization")
  %c = relu(%b) : f32[batch, 32, 32, 32] loc("relu", "Relu")
  %d = max_pool(%c) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[batch, 32, 16, 16] loc("max_pool", "MaxPool")
  %e = conv(%d, %plain_w) {pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("plain", "Conv")
  %f = conv(%e, %apart_w) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart", "Conv")
  %g = swish(%f) : f32[batch, 64, 16, 16] loc("silu", "Swish")
  %h = conv(%g, %apart_strided_w) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 8, 8] loc("apart_strided", "Conv")
  %h2 = conv(%e, %strided_point_w) {strides=[2, 2]} : f32[batch, 64, 8, 8] loc("strided_point", "Conv")
  %i = add(%h, %h2) : f32[batch, 64, 8, 8] loc("residual", "Add")
  %j = conv(%i, %point_w, %point_b) : f32[batch, 128, 8, 8] loc("point", "Conv")
  %k = conv(%j, %grouped_w) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped", "Conv")
  %l = conv(%k, %holes_w) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes", "Conv")
  %m = average_pool(%l) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool", "AveragePool")
  %o = reshape(%i, %line) : f32[batch, 64, 64] loc("line", "Reshape")
  %p = conv(%o, %line_w) {pads=[1, 1]} : f32[batch, 16, 64] loc("along", "Conv")
  %q = reshape(%p, %space) : f32[batch, 16, 4, 4, 4] loc("space", "Reshape")
  %r = conv(%q, %space_w) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 4, 4, 4, 4] loc("volume", "Conv")
  %r2 = reduce_mean(%r) {keepdims=0} : f32[] loc("volume_mean", "ReduceMean")
  %s = global_average_pool(%m) : f32[batch, 128, 1, 1] loc("pool", "GlobalAveragePool")
  %t = flatten(%s) : f32[batch, 128] loc("flat", "Flatten")
  %t2 = mul(%t, %r2) : f32[batch, 128] loc("scaled", "Mul")
  %u.base = gemm(%t2, %head_w, %head_b) : f32[batch, 10] loc("head", "Gemm")
  %head.lora = matmul(%t2, %head_w.lora_A) : f32[batch, 2] loc("head.lora", "MatMul")
  %head.lora.1 = matmul(%head.lora, %head_w.lora_B) : f32[batch, 10] loc("head.lora", "MatMul")
  %head.lora.2 = mul(%head.lora.1, %constant.grad) : f32[batch, 10] loc("head.lora", "Mul")
  %u = add(%u.base, %head.lora.2) : f32[batch, 10] loc("head.lora", "Add")
  %loss = log_softmax(%u) {axis=1} : f32[batch, 10] loc("loss", "LogSoftmax", loss)
  %loss.1 = nll_loss(%loss, %labels) : f32[] loc("loss", "NegativeLogLikelihoodLoss", loss)
  %loss.2 = mul(%loss.1, %constant.grad.1) : f32[] loc("loss", "Mul", loss)
  %loss.grad = mul(%constant.grad.2, %constant.grad.1) : f32[] loc("loss.grad", "Mul", backward)
  %loss.grad.1 = nll_loss_grad(%loss.grad, %constant.grad.3, %labels) : f32[batch, 10] loc("loss.grad", "NegativeLogLikelihoodLossGrad", backward)
  %loss.grad.2 = log_softmax_grad(%loss.grad.1, %loss) {axis=1} : f32[batch, 10] loc("loss.grad", "LogSoftmaxGrad_13", backward)
  %head.lora.grad = mul(%loss.grad.2, %constant.grad) : f32[batch, 10] loc("head.lora.grad", "Mul", backward)
  %head.lora.grad.1 = fused_matmul(%head.lora.grad, %head_w.lora_B) {transB=1} : f32[batch, 2] loc("head.lora.grad", "FusedMatMul", backward)
  %head.lora.grad.2 = fused_matmul(%head.lora, %head.lora.grad) {transA=1} : f32[2, 10] loc("head.lora.grad", "FusedMatMul", backward)
  %head.lora.grad.3 = fused_matmul(%t2, %head.lora.grad.1) {transA=1} : f32[128, 2] loc("head.lora.grad", "FusedMatMul", backward)
  %head.lora.grad.3.next, %head.lora.grad.2.next = multi_tensor(%head.lora.grad.3, %head.lora.grad.2) {function="_amp_foreach_non_finite_check_and_unscale_", alu=2} : f32[128, 2], f32[2, 10] loc("_amp_foreach_non_finite_check_and_unscale_", "_amp_foreach_non_finite_check_and_unscale_", optimizer)
  %head_w.lora_A.momentum_buffer.next, %head_w.lora_B.momentum_buffer.next = multi_tensor(%head_w.lora_A.momentum_buffer, %head_w.lora_B.momentum_buffer, %head.lora.grad.3.next, %head.lora.grad.2.next) {function="lerp_", lists=2, alu=3} : f32[128, 2], f32[2, 10] loc("lerp_", "lerp_", optimizer)
  %head.lora.grad.3.next.next, %head.lora.grad.2.next.next = multi_tensor(%head.lora.grad.3.next, %head.lora.grad.2.next, %head_w.lora_A.momentum_buffer.next, %head_w.lora_B.momentum_buffer.next) {function="lerp", lists=2, alu=3} : f32[128, 2], f32[2, 10] loc("lerp", "lerp", optimizer)
  %head_w.lora_A.muon = cast(%head.lora.grad.3.next.next) {to="bf16"} : bf16[128, 2] loc("head_w.lora_A.muon", "Cast", optimizer)
  %head_w.lora_A.muon.1 = gemm(%head_w.lora_A.muon, %head_w.lora_A.muon) {transA=1} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.2 = gemm(%head_w.lora_A.muon.1, %head_w.lora_A.muon.1, %head_w.lora_A.muon.1) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.3 = gemm(%head_w.lora_A.muon, %head_w.lora_A.muon.2, %head_w.lora_A.muon) {beta=3.4445} : bf16[128, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.4 = gemm(%head_w.lora_A.muon.3, %head_w.lora_A.muon.3) {transA=1} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.5 = gemm(%head_w.lora_A.muon.4, %head_w.lora_A.muon.4, %head_w.lora_A.muon.4) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.6 = gemm(%head_w.lora_A.muon.3, %head_w.lora_A.muon.5, %head_w.lora_A.muon.3) {beta=3.4445} : bf16[128, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.7 = gemm(%head_w.lora_A.muon.6, %head_w.lora_A.muon.6) {transA=1} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.8 = gemm(%head_w.lora_A.muon.7, %head_w.lora_A.muon.7, %head_w.lora_A.muon.7) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.9 = gemm(%head_w.lora_A.muon.6, %head_w.lora_A.muon.8, %head_w.lora_A.muon.6) {beta=3.4445} : bf16[128, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.10 = gemm(%head_w.lora_A.muon.9, %head_w.lora_A.muon.9) {transA=1} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.11 = gemm(%head_w.lora_A.muon.10, %head_w.lora_A.muon.10, %head_w.lora_A.muon.10) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.12 = gemm(%head_w.lora_A.muon.9, %head_w.lora_A.muon.11, %head_w.lora_A.muon.9) {beta=3.4445} : bf16[128, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.13 = gemm(%head_w.lora_A.muon.12, %head_w.lora_A.muon.12) {transA=1} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.14 = gemm(%head_w.lora_A.muon.13, %head_w.lora_A.muon.13, %head_w.lora_A.muon.13) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.15 = gemm(%head_w.lora_A.muon.12, %head_w.lora_A.muon.14, %head_w.lora_A.muon.12) {beta=3.4445} : bf16[128, 2] loc("head_w.lora_A.muon", "Gemm", optimizer)
  %head_w.lora_A.muon.16 = cast(%head_w.lora_A.muon.15) {to="f32"} : f32[128, 2] loc("head_w.lora_A.muon", "Cast", optimizer)
  %head_w.lora_B.muon = cast(%head.lora.grad.2.next.next) {to="bf16"} : bf16[2, 10] loc("head_w.lora_B.muon", "Cast", optimizer)
  %head_w.lora_B.muon.1 = gemm(%head_w.lora_B.muon, %head_w.lora_B.muon) {transB=1} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.2 = gemm(%head_w.lora_B.muon.1, %head_w.lora_B.muon.1, %head_w.lora_B.muon.1) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.3 = gemm(%head_w.lora_B.muon.2, %head_w.lora_B.muon, %head_w.lora_B.muon) {beta=3.4445} : bf16[2, 10] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.4 = gemm(%head_w.lora_B.muon.3, %head_w.lora_B.muon.3) {transB=1} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.5 = gemm(%head_w.lora_B.muon.4, %head_w.lora_B.muon.4, %head_w.lora_B.muon.4) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.6 = gemm(%head_w.lora_B.muon.5, %head_w.lora_B.muon.3, %head_w.lora_B.muon.3) {beta=3.4445} : bf16[2, 10] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.7 = gemm(%head_w.lora_B.muon.6, %head_w.lora_B.muon.6) {transB=1} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.8 = gemm(%head_w.lora_B.muon.7, %head_w.lora_B.muon.7, %head_w.lora_B.muon.7) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.9 = gemm(%head_w.lora_B.muon.8, %head_w.lora_B.muon.6, %head_w.lora_B.muon.6) {beta=3.4445} : bf16[2, 10] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.10 = gemm(%head_w.lora_B.muon.9, %head_w.lora_B.muon.9) {transB=1} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.11 = gemm(%head_w.lora_B.muon.10, %head_w.lora_B.muon.10, %head_w.lora_B.muon.10) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.12 = gemm(%head_w.lora_B.muon.11, %head_w.lora_B.muon.9, %head_w.lora_B.muon.9) {beta=3.4445} : bf16[2, 10] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.13 = gemm(%head_w.lora_B.muon.12, %head_w.lora_B.muon.12) {transB=1} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.14 = gemm(%head_w.lora_B.muon.13, %head_w.lora_B.muon.13, %head_w.lora_B.muon.13) {alpha=2.0315, beta=-4.775} : bf16[2, 2] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.15 = gemm(%head_w.lora_B.muon.14, %head_w.lora_B.muon.12, %head_w.lora_B.muon.12) {beta=3.4445} : bf16[2, 10] loc("head_w.lora_B.muon", "Gemm", optimizer)
  %head_w.lora_B.muon.16 = cast(%head_w.lora_B.muon.15) {to="f32"} : f32[2, 10] loc("head_w.lora_B.muon", "Cast", optimizer)
  %head_w.lora_A.next, %head_w.lora_B.next = multi_tensor(%head_w.lora_A, %head_w.lora_B) {function="mul_"} : f32[128, 2], f32[2, 10] loc("mul_", "mul_", optimizer)
  %head_w.lora_A.next.next, %head_w.lora_B.next.next = multi_tensor(%head_w.lora_A.next, %head_w.lora_B.next, %head_w.lora_A.muon.16, %head_w.lora_B.muon.16) {function="add_", lists=2, alu=2} : f32[128, 2], f32[2, 10] loc("add_", "add_", optimizer)
  return %loss.2, %head_w.lora_A.next.next, %head_w.lora_B.next.next, %head_w.lora_A.momentum_buffer.next, %head_w.lora_B.momentum_buffer.next
}
