# RUN: shapes,train{optimizer=adam,checkpointing=block,accumulate=2,loss=mse} | print
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

graph @main(%image: f32[batch, 3, 64, 64], %target: f32[batch, 10], %image.batch2: f32[batch, 3, 64, 64], %target.batch2: f32[batch, 10]) {
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
  %stem_w.exp_avg = weight {bytes=18816, constant=true, state=true} : f32[32, 3, 7, 7]
  %scale.exp_avg = weight {bytes=128, constant=true, state=true} : f32[32]
  %shift.exp_avg = weight {bytes=128, constant=true, state=true} : f32[32]
  %plain_w.exp_avg = weight {bytes=73728, constant=true, state=true} : f32[64, 32, 3, 3]
  %apart_w.exp_avg = weight {bytes=2304, constant=true, state=true} : f32[64, 1, 3, 3]
  %apart_strided_w.exp_avg = weight {bytes=6400, constant=true, state=true} : f32[64, 1, 5, 5]
  %point_w.exp_avg = weight {bytes=32768, constant=true, state=true} : f32[128, 64, 1, 1]
  %point_b.exp_avg = weight {bytes=512, constant=true, state=true} : f32[128]
  %strided_point_w.exp_avg = weight {bytes=16384, constant=true, state=true} : f32[64, 64, 1, 1]
  %grouped_w.exp_avg = weight {bytes=147456, constant=true, state=true} : f32[128, 32, 3, 3]
  %holes_w.exp_avg = weight {bytes=589824, constant=true, state=true} : f32[128, 128, 3, 3]
  %line_w.exp_avg = weight {bytes=12288, constant=true, state=true} : f32[16, 64, 3]
  %space_w.exp_avg = weight {bytes=6912, constant=true, state=true} : f32[4, 16, 3, 3, 3]
  %head_w.exp_avg = weight {bytes=5120, constant=true, state=true} : f32[128, 10]
  %head_b.exp_avg = weight {bytes=40, constant=true, state=true} : f32[10]
  %stem_w.exp_avg_sq = weight {bytes=18816, constant=true, state=true} : f32[32, 3, 7, 7]
  %scale.exp_avg_sq = weight {bytes=128, constant=true, state=true} : f32[32]
  %shift.exp_avg_sq = weight {bytes=128, constant=true, state=true} : f32[32]
  %plain_w.exp_avg_sq = weight {bytes=73728, constant=true, state=true} : f32[64, 32, 3, 3]
  %apart_w.exp_avg_sq = weight {bytes=2304, constant=true, state=true} : f32[64, 1, 3, 3]
  %apart_strided_w.exp_avg_sq = weight {bytes=6400, constant=true, state=true} : f32[64, 1, 5, 5]
  %point_w.exp_avg_sq = weight {bytes=32768, constant=true, state=true} : f32[128, 64, 1, 1]
  %point_b.exp_avg_sq = weight {bytes=512, constant=true, state=true} : f32[128]
  %strided_point_w.exp_avg_sq = weight {bytes=16384, constant=true, state=true} : f32[64, 64, 1, 1]
  %grouped_w.exp_avg_sq = weight {bytes=147456, constant=true, state=true} : f32[128, 32, 3, 3]
  %holes_w.exp_avg_sq = weight {bytes=589824, constant=true, state=true} : f32[128, 128, 3, 3]
  %line_w.exp_avg_sq = weight {bytes=12288, constant=true, state=true} : f32[16, 64, 3]
  %space_w.exp_avg_sq = weight {bytes=6912, constant=true, state=true} : f32[4, 16, 3, 3, 3]
  %head_w.exp_avg_sq = weight {bytes=5120, constant=true, state=true} : f32[128, 10]
  %head_b.exp_avg_sq = weight {bytes=40, constant=true, state=true} : f32[10]
  %constant.grad = weight {bytes=4, constant=true} : f32[] = 0.5
  %constant.grad.1 = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.2 = weight {bytes=4, constant=true} : f32[] = _
  %constant.grad.3 = weight {bytes=16, constant=true} : i64[2] = [1, 1]
  %constant.grad.4 = weight {bytes=16, constant=true} : i64[2] = [batch, 10]
  %constant.grad.5 = weight {bytes=8, constant=true} : i64[1] = [0]
  %constant.grad.6 = weight {bytes=16, constant=true} : i64[2] = [0, 1]
  %constant.grad.7 = weight {bytes=32, constant=true} : i64[4] = [batch, 128, 1, 1]
  %constant.grad.8 = weight {bytes=4, constant=true} : f32[] = 0.015625
  %constant.grad.9 = weight {bytes=32, constant=true} : i64[4] = [batch, 128, 8, 8]
  %constant.grad.10 = weight {bytes=40, constant=true} : i64[5] = [1, 1, 1, 1, 1]
  %constant.grad.11 = weight {bytes=40, constant=true} : i64[5] = [batch, 4, 4, 4, 4]
  %constant.grad.12 = weight {bytes=40, constant=true} : i64[5] = [batch, 16, 4, 4, 4]
  %constant.grad.13 = weight {bytes=40, constant=true} : i64[5] = [4, 16, 3, 3, 3]
  %constant.grad.14 = weight {bytes=24, constant=true} : i64[3] = [batch, 16, 64]
  %constant.grad.15 = weight {bytes=24, constant=true} : i64[3] = [batch, 64, 64]
  %constant.grad.16 = weight {bytes=24, constant=true} : i64[3] = [16, 64, 3]
  %constant.grad.17 = weight {bytes=32, constant=true} : i64[4] = [batch, 64, 8, 8]
  %constant.grad.18 = weight {bytes=32, constant=true} : i64[4] = [128, 128, 3, 3]
  %constant.grad.19 = weight {bytes=32, constant=true} : i64[4] = [128, 32, 3, 3]
  %constant.grad.20 = weight {bytes=32, constant=true} : i64[4] = [128, 64, 1, 1]
  %constant.grad.21 = weight {bytes=24, constant=true} : i64[3] = [0, 2, 3]
  %constant.grad.22 = weight {bytes=32, constant=true} : i64[4] = [batch, 64, 16, 16]
  %constant.grad.23 = weight {bytes=32, constant=true} : i64[4] = [64, 64, 1, 1]
  %constant.grad.24 = weight {bytes=32, constant=true} : i64[4] = [64, 1, 5, 5]
  %constant.grad.25 = weight {bytes=32, constant=true} : i64[4] = [64, 1, 3, 3]
  %constant.grad.26 = weight {bytes=32, constant=true} : i64[4] = [batch, 32, 16, 16]
  %constant.grad.27 = weight {bytes=32, constant=true} : i64[4] = [64, 32, 3, 3]
  %constant.grad.28 = weight {bytes=32, constant=true} : i64[4] = [batch, 32, 32, 32]
  %constant.grad.29 = weight {bytes=32, constant=true} : i64[4] = [32, 3, 7, 7]
  %a = conv(%image, %stem_w) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[batch, 32, 32, 32] loc("stem", "Conv")
  %b, _, _, %norm.3, %norm.4 = batch_norm(%a, %scale, %shift, %mean, %variance) {training_mode=1} : f32[batch, 32, 32, 32], _, _, f32[32], f32[32] loc("norm", "BatchNormalization")
  %c = relu(%b) : f32[batch, 32, 32, 32] loc("relu", "Relu")
  %d, %max_pool.1 = max_pool(%c) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[batch, 32, 16, 16], i64[batch, 32, 16, 16] loc("max_pool", "MaxPool")
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
  %u = gemm(%t2, %head_w, %head_b) : f32[batch, 10] loc("head", "Gemm")
  %scores = softmax(%u) : f32[batch, 10] loc("scores", "Softmax")
  %loss = sub(%scores, %target) : f32[batch, 10] loc("loss", "Sub", loss)
  %loss.1 = mul(%loss, %loss) : f32[batch, 10] loc("loss", "Mul", loss)
  %loss.2 = reduce_mean(%loss.1) {keepdims=0} : f32[] loc("loss", "ReduceMean", loss)
  %loss.3 = mul(%loss.2, %constant.grad) : f32[] loc("loss", "Mul", loss)
  %loss.grad = mul(%constant.grad.1, %constant.grad) : f32[] loc("loss.grad", "Mul", backward)
  %loss.grad.1 = mul(%loss.grad, %constant.grad.2) : f32[] loc("loss.grad", "Mul", backward)
  %loss.grad.2 = reshape(%loss.grad.1, %constant.grad.3) : f32[1, 1] loc("loss.grad", "Reshape", backward)
  %loss.grad.3 = expand(%loss.grad.2, %constant.grad.4) : f32[batch, 10] loc("loss.grad", "Expand", backward)
  %loss.grad.4 = mul(%loss.grad.3, %loss) : f32[batch, 10] loc("loss.grad", "Mul", backward)
  %loss.grad.5 = mul(%loss.grad.3, %loss) : f32[batch, 10] loc("loss.grad", "Mul", backward)
  %loss.grad.6 = add(%loss.grad.4, %loss.grad.5) : f32[batch, 10] loc("loss.grad", "Add", backward)
  %scores.grad = softmax_grad(%loss.grad.6, %scores) : f32[batch, 10] loc("scores.grad", "SoftmaxGrad_13", backward)
  %head.grad = gemm(%scores.grad, %head_w) {transB=1} : f32[batch, 128] loc("head.grad", "Gemm", backward)
  %head.grad.1 = gemm(%t2, %scores.grad) {transA=1} : f32[128, 10] loc("head.grad", "Gemm", backward)
  %head.grad.2 = reduce_sum(%scores.grad, %constant.grad.5) {keepdims=0} : f32[10] loc("head.grad", "ReduceSum", backward)
  %scaled.grad = mul(%head.grad, %r2) : f32[batch, 128] loc("scaled.grad", "Mul", backward)
  %scaled.grad.1 = mul(%head.grad, %t) : f32[batch, 128] loc("scaled.grad", "Mul", backward)
  %scaled.grad.2 = reduce_sum(%scaled.grad.1, %constant.grad.6) {keepdims=0} : f32[] loc("scaled.grad", "ReduceSum", backward)
  %flat.grad = reshape(%scaled.grad, %constant.grad.7) : f32[batch, 128, 1, 1] loc("flat.grad", "Reshape", backward)
  %pool.grad = mul(%flat.grad, %constant.grad.8) : f32[batch, 128, 1, 1] loc("pool.grad", "Mul", backward)
  %pool.grad.1 = expand(%pool.grad, %constant.grad.9) : f32[batch, 128, 8, 8] loc("pool.grad", "Expand", backward)
  %volume_mean.grad = mul(%scaled.grad.2, %constant.grad.2) : f32[] loc("volume_mean.grad", "Mul", backward)
  %volume_mean.grad.1 = reshape(%volume_mean.grad, %constant.grad.10) : f32[1, 1, 1, 1, 1] loc("volume_mean.grad", "Reshape", backward)
  %volume_mean.grad.2 = expand(%volume_mean.grad.1, %constant.grad.11) : f32[batch, 4, 4, 4, 4] loc("volume_mean.grad", "Expand", backward)
  %volume.grad = conv_data_grad(%volume_mean.grad.2, %space_w, %constant.grad.12, %q) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 16, 4, 4, 4] loc("volume.grad", "Conv", backward)
  %volume.grad.1 = conv_filter_grad(%volume_mean.grad.2, %q, %constant.grad.13) {pads=[1, 1, 1, 1, 1, 1]} : f32[4, 16, 3, 3, 3] loc("volume.grad", "Conv", backward)
  %space.grad = reshape(%volume.grad, %constant.grad.14) : f32[batch, 16, 64] loc("space.grad", "Reshape", backward)
  %along.grad = conv_data_grad(%space.grad, %line_w, %constant.grad.15, %o) {pads=[1, 1]} : f32[batch, 64, 64] loc("along.grad", "Conv", backward)
  %along.grad.1 = conv_filter_grad(%space.grad, %o, %constant.grad.16) {pads=[1, 1]} : f32[16, 64, 3] loc("along.grad", "Conv", backward)
  %line.grad = reshape(%along.grad, %constant.grad.17) : f32[batch, 64, 8, 8] loc("line.grad", "Reshape", backward)
  %mean_pool.grad = average_pool_grad(%pool.grad.1, %constant.grad.9, %l) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool.grad", "AveragePoolGrad", backward)
  %holes.grad = conv_data_grad(%mean_pool.grad, %holes_w, %constant.grad.9, %k) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes.grad", "Conv", backward)
  %holes.grad.1 = conv_filter_grad(%mean_pool.grad, %k, %constant.grad.18) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[128, 128, 3, 3] loc("holes.grad", "Conv", backward)
  %grouped.grad = conv_data_grad(%holes.grad, %grouped_w, %constant.grad.9, %j) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped.grad", "Conv", backward)
  %grouped.grad.1 = conv_filter_grad(%holes.grad, %j, %constant.grad.19) {group=4, pads=[1, 1, 1, 1]} : f32[128, 32, 3, 3] loc("grouped.grad", "Conv", backward)
  %point.grad = conv_data_grad(%grouped.grad, %point_w, %constant.grad.17, %i) : f32[batch, 64, 8, 8] loc("point.grad", "Conv", backward)
  %point.grad.1 = conv_filter_grad(%grouped.grad, %i, %constant.grad.20) : f32[128, 64, 1, 1] loc("point.grad", "Conv", backward)
  %point.grad.2 = reduce_sum(%grouped.grad, %constant.grad.21) {keepdims=0} : f32[128] loc("point.grad", "ReduceSum", backward)
  %point.grad.3 = add(%line.grad, %point.grad) : f32[batch, 64, 8, 8] loc("point.grad", "Add", backward)
  %strided_point.grad = conv_data_grad(%point.grad.3, %strided_point_w, %constant.grad.22, %e) {strides=[2, 2]} : f32[batch, 64, 16, 16] loc("strided_point.grad", "Conv", backward)
  %strided_point.grad.1 = conv_filter_grad(%point.grad.3, %e, %constant.grad.23) {strides=[2, 2]} : f32[64, 64, 1, 1] loc("strided_point.grad", "Conv", backward)
  %apart_strided.grad = conv_data_grad(%point.grad.3, %apart_strided_w, %constant.grad.22, %g) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 16, 16] loc("apart_strided.grad", "Conv", backward)
  %apart_strided.grad.1 = conv_filter_grad(%point.grad.3, %g, %constant.grad.24) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[64, 1, 5, 5] loc("apart_strided.grad", "Conv", backward)
  %silu.grad = elementwise_grad(%apart_strided.grad, %f) {of="swish", derivative="sigmoid(1.0 * x) * (1 + 1.0 * x * (1 - sigmoid(1.0 * x)))"} : f32[batch, 64, 16, 16] loc("silu.grad", "SwishGrad", backward)
  %apart.grad = conv_data_grad(%silu.grad, %apart_w, %constant.grad.22, %e) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart.grad", "Conv", backward)
  %apart.grad.1 = conv_filter_grad(%silu.grad, %e, %constant.grad.25) {group=64, pads=[1, 1, 1, 1]} : f32[64, 1, 3, 3] loc("apart.grad", "Conv", backward)
  %apart.grad.2 = add(%strided_point.grad, %apart.grad) : f32[batch, 64, 16, 16] loc("apart.grad", "Add", backward)
  %plain.grad = conv_data_grad(%apart.grad.2, %plain_w, %constant.grad.26, %d) {pads=[1, 1, 1, 1]} : f32[batch, 32, 16, 16] loc("plain.grad", "Conv", backward)
  %plain.grad.1 = conv_filter_grad(%apart.grad.2, %d, %constant.grad.27) {pads=[1, 1, 1, 1]} : f32[64, 32, 3, 3] loc("plain.grad", "Conv", backward)
  %max_pool.grad = max_pool_grad(%plain.grad, %max_pool.1, %constant.grad.28, %c) : f32[batch, 32, 32, 32] loc("max_pool.grad", "MaxPoolGrad", backward)
  %relu.grad = elementwise_grad(%max_pool.grad, _, _, _, %c) {of="relu", derivative="where(y > 0, 1, 0)"} : f32[batch, 32, 32, 32] loc("relu.grad", "ReluGrad", backward)
  %norm.grad, %norm.grad.1, %norm.grad.2 = batch_norm_grad(%relu.grad, %a, %scale, %norm.3, %norm.4) : f32[batch, 32, 32, 32], f32[32], f32[32] loc("norm.grad", "BatchNormalizationGrad", backward)
  %stem.grad = conv_filter_grad(%norm.grad, %image, %constant.grad.29) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[32, 3, 7, 7] loc("stem.grad", "Conv", backward)
  %a.batch2 = conv(%image.batch2, %stem_w) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[batch, 32, 32, 32] loc("stem.batch2", "Conv")
  %b.batch2, _, _, %norm.3.batch2, %norm.4.batch2 = batch_norm(%a.batch2, %scale, %shift, %mean, %variance) {training_mode=1} : f32[batch, 32, 32, 32], _, _, f32[32], f32[32] loc("norm.batch2", "BatchNormalization")
  %c.batch2 = relu(%b.batch2) : f32[batch, 32, 32, 32] loc("relu.batch2", "Relu")
  %d.batch2, %max_pool.1.batch2 = max_pool(%c.batch2) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]} : f32[batch, 32, 16, 16], i64[batch, 32, 16, 16] loc("max_pool.batch2", "MaxPool")
  %e.batch2 = conv(%d.batch2, %plain_w) {pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("plain.batch2", "Conv")
  %f.batch2 = conv(%e.batch2, %apart_w) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart.batch2", "Conv")
  %g.batch2 = swish(%f.batch2) : f32[batch, 64, 16, 16] loc("silu.batch2", "Swish")
  %h.batch2 = conv(%g.batch2, %apart_strided_w) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 8, 8] loc("apart_strided.batch2", "Conv")
  %h2.batch2 = conv(%e.batch2, %strided_point_w) {strides=[2, 2]} : f32[batch, 64, 8, 8] loc("strided_point.batch2", "Conv")
  %i.batch2 = add(%h.batch2, %h2.batch2) : f32[batch, 64, 8, 8] loc("residual.batch2", "Add")
  %j.batch2 = conv(%i.batch2, %point_w, %point_b) : f32[batch, 128, 8, 8] loc("point.batch2", "Conv")
  %k.batch2 = conv(%j.batch2, %grouped_w) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped.batch2", "Conv")
  %l.batch2 = conv(%k.batch2, %holes_w) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes.batch2", "Conv")
  %m.batch2 = average_pool(%l.batch2) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool.batch2", "AveragePool")
  %o.batch2 = reshape(%i.batch2, %line) : f32[batch, 64, 64] loc("line.batch2", "Reshape")
  %p.batch2 = conv(%o.batch2, %line_w) {pads=[1, 1]} : f32[batch, 16, 64] loc("along.batch2", "Conv")
  %q.batch2 = reshape(%p.batch2, %space) : f32[batch, 16, 4, 4, 4] loc("space.batch2", "Reshape")
  %r.batch2 = conv(%q.batch2, %space_w) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 4, 4, 4, 4] loc("volume.batch2", "Conv")
  %r2.batch2 = reduce_mean(%r.batch2) {keepdims=0} : f32[] loc("volume_mean.batch2", "ReduceMean")
  %s.batch2 = global_average_pool(%m.batch2) : f32[batch, 128, 1, 1] loc("pool.batch2", "GlobalAveragePool")
  %t.batch2 = flatten(%s.batch2) : f32[batch, 128] loc("flat.batch2", "Flatten")
  %t2.batch2 = mul(%t.batch2, %r2.batch2) : f32[batch, 128] loc("scaled.batch2", "Mul")
  %u.batch2 = gemm(%t2.batch2, %head_w, %head_b) : f32[batch, 10] loc("head.batch2", "Gemm")
  %scores.batch2 = softmax(%u.batch2) : f32[batch, 10] loc("scores.batch2", "Softmax")
  %loss.batch2 = sub(%scores.batch2, %target.batch2) : f32[batch, 10] loc("loss.batch2", "Sub", loss)
  %loss.grad.batch2 = mul(%constant.grad.1, %constant.grad) : f32[] loc("loss.grad.batch2", "Mul", backward)
  %loss.grad.1.batch2 = mul(%loss.grad.batch2, %constant.grad.2) : f32[] loc("loss.grad.batch2", "Mul", backward)
  %loss.grad.2.batch2 = reshape(%loss.grad.1.batch2, %constant.grad.3) : f32[1, 1] loc("loss.grad.batch2", "Reshape", backward)
  %loss.grad.3.batch2 = expand(%loss.grad.2.batch2, %constant.grad.4) : f32[batch, 10] loc("loss.grad.batch2", "Expand", backward)
  %loss.grad.4.batch2 = mul(%loss.grad.3.batch2, %loss.batch2) : f32[batch, 10] loc("loss.grad.batch2", "Mul", backward)
  %loss.grad.5.batch2 = mul(%loss.grad.3.batch2, %loss.batch2) : f32[batch, 10] loc("loss.grad.batch2", "Mul", backward)
  %loss.grad.6.batch2 = add(%loss.grad.4.batch2, %loss.grad.5.batch2) : f32[batch, 10] loc("loss.grad.batch2", "Add", backward)
  %scores.grad.batch2 = softmax_grad(%loss.grad.6.batch2, %scores.batch2) : f32[batch, 10] loc("scores.grad.batch2", "SoftmaxGrad_13", backward)
  %head.grad.batch2 = gemm(%scores.grad.batch2, %head_w) {transB=1} : f32[batch, 128] loc("head.grad.batch2", "Gemm", backward)
  %head.grad.1.batch2 = gemm(%t2.batch2, %scores.grad.batch2) {transA=1} : f32[128, 10] loc("head.grad.batch2", "Gemm", backward)
  %accumulate.2 = add(%head.grad.1, %head.grad.1.batch2) : f32[128, 10] loc("accumulate.2", "Add", backward)
  %head.grad.2.batch2 = reduce_sum(%scores.grad.batch2, %constant.grad.5) {keepdims=0} : f32[10] loc("head.grad.batch2", "ReduceSum", backward)
  %accumulate.2.1 = add(%head.grad.2, %head.grad.2.batch2) : f32[10] loc("accumulate.2", "Add", backward)
  %scaled.grad.batch2 = mul(%head.grad.batch2, %r2.batch2) : f32[batch, 128] loc("scaled.grad.batch2", "Mul", backward)
  %scaled.grad.1.batch2 = mul(%head.grad.batch2, %t.batch2) : f32[batch, 128] loc("scaled.grad.batch2", "Mul", backward)
  %scaled.grad.2.batch2 = reduce_sum(%scaled.grad.1.batch2, %constant.grad.6) {keepdims=0} : f32[] loc("scaled.grad.batch2", "ReduceSum", backward)
  %flat.grad.batch2 = reshape(%scaled.grad.batch2, %constant.grad.7) : f32[batch, 128, 1, 1] loc("flat.grad.batch2", "Reshape", backward)
  %pool.grad.batch2 = mul(%flat.grad.batch2, %constant.grad.8) : f32[batch, 128, 1, 1] loc("pool.grad.batch2", "Mul", backward)
  %pool.grad.1.batch2 = expand(%pool.grad.batch2, %constant.grad.9) : f32[batch, 128, 8, 8] loc("pool.grad.batch2", "Expand", backward)
  %volume_mean.grad.batch2 = mul(%scaled.grad.2.batch2, %constant.grad.2) : f32[] loc("volume_mean.grad.batch2", "Mul", backward)
  %volume_mean.grad.1.batch2 = reshape(%volume_mean.grad.batch2, %constant.grad.10) : f32[1, 1, 1, 1, 1] loc("volume_mean.grad.batch2", "Reshape", backward)
  %volume_mean.grad.2.batch2 = expand(%volume_mean.grad.1.batch2, %constant.grad.11) : f32[batch, 4, 4, 4, 4] loc("volume_mean.grad.batch2", "Expand", backward)
  %volume.grad.batch2 = conv_data_grad(%volume_mean.grad.2.batch2, %space_w, %constant.grad.12, %q.batch2) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 16, 4, 4, 4] loc("volume.grad.batch2", "Conv", backward)
  %volume.grad.1.batch2 = conv_filter_grad(%volume_mean.grad.2.batch2, %q.batch2, %constant.grad.13) {pads=[1, 1, 1, 1, 1, 1]} : f32[4, 16, 3, 3, 3] loc("volume.grad.batch2", "Conv", backward)
  %accumulate.2.2 = add(%volume.grad.1, %volume.grad.1.batch2) : f32[4, 16, 3, 3, 3] loc("accumulate.2", "Add", backward)
  %space.grad.batch2 = reshape(%volume.grad.batch2, %constant.grad.14) : f32[batch, 16, 64] loc("space.grad.batch2", "Reshape", backward)
  %along.grad.batch2 = conv_data_grad(%space.grad.batch2, %line_w, %constant.grad.15, %o.batch2) {pads=[1, 1]} : f32[batch, 64, 64] loc("along.grad.batch2", "Conv", backward)
  %along.grad.1.batch2 = conv_filter_grad(%space.grad.batch2, %o.batch2, %constant.grad.16) {pads=[1, 1]} : f32[16, 64, 3] loc("along.grad.batch2", "Conv", backward)
  %accumulate.2.3 = add(%along.grad.1, %along.grad.1.batch2) : f32[16, 64, 3] loc("accumulate.2", "Add", backward)
  %line.grad.batch2 = reshape(%along.grad.batch2, %constant.grad.17) : f32[batch, 64, 8, 8] loc("line.grad.batch2", "Reshape", backward)
  %mean_pool.grad.batch2 = average_pool_grad(%pool.grad.1.batch2, %constant.grad.9, %l.batch2) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool.grad.batch2", "AveragePoolGrad", backward)
  %holes.grad.batch2 = conv_data_grad(%mean_pool.grad.batch2, %holes_w, %constant.grad.9, %k.batch2) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes.grad.batch2", "Conv", backward)
  %holes.grad.1.batch2 = conv_filter_grad(%mean_pool.grad.batch2, %k.batch2, %constant.grad.18) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[128, 128, 3, 3] loc("holes.grad.batch2", "Conv", backward)
  %accumulate.2.4 = add(%holes.grad.1, %holes.grad.1.batch2) : f32[128, 128, 3, 3] loc("accumulate.2", "Add", backward)
  %grouped.grad.batch2 = conv_data_grad(%holes.grad.batch2, %grouped_w, %constant.grad.9, %j.batch2) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped.grad.batch2", "Conv", backward)
  %grouped.grad.1.batch2 = conv_filter_grad(%holes.grad.batch2, %j.batch2, %constant.grad.19) {group=4, pads=[1, 1, 1, 1]} : f32[128, 32, 3, 3] loc("grouped.grad.batch2", "Conv", backward)
  %accumulate.2.5 = add(%grouped.grad.1, %grouped.grad.1.batch2) : f32[128, 32, 3, 3] loc("accumulate.2", "Add", backward)
  %point.grad.batch2 = conv_data_grad(%grouped.grad.batch2, %point_w, %constant.grad.17, %i.batch2) : f32[batch, 64, 8, 8] loc("point.grad.batch2", "Conv", backward)
  %point.grad.1.batch2 = conv_filter_grad(%grouped.grad.batch2, %i.batch2, %constant.grad.20) : f32[128, 64, 1, 1] loc("point.grad.batch2", "Conv", backward)
  %accumulate.2.6 = add(%point.grad.1, %point.grad.1.batch2) : f32[128, 64, 1, 1] loc("accumulate.2", "Add", backward)
  %point.grad.2.batch2 = reduce_sum(%grouped.grad.batch2, %constant.grad.21) {keepdims=0} : f32[128] loc("point.grad.batch2", "ReduceSum", backward)
  %accumulate.2.7 = add(%point.grad.2, %point.grad.2.batch2) : f32[128] loc("accumulate.2", "Add", backward)
  %point.grad.3.batch2 = add(%line.grad.batch2, %point.grad.batch2) : f32[batch, 64, 8, 8] loc("point.grad.batch2", "Add", backward)
  %strided_point.grad.batch2 = conv_data_grad(%point.grad.3.batch2, %strided_point_w, %constant.grad.22, %e.batch2) {strides=[2, 2]} : f32[batch, 64, 16, 16] loc("strided_point.grad.batch2", "Conv", backward)
  %strided_point.grad.1.batch2 = conv_filter_grad(%point.grad.3.batch2, %e.batch2, %constant.grad.23) {strides=[2, 2]} : f32[64, 64, 1, 1] loc("strided_point.grad.batch2", "Conv", backward)
  %accumulate.2.8 = add(%strided_point.grad.1, %strided_point.grad.1.batch2) : f32[64, 64, 1, 1] loc("accumulate.2", "Add", backward)
  %apart_strided.grad.batch2 = conv_data_grad(%point.grad.3.batch2, %apart_strided_w, %constant.grad.22, %g.batch2) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 16, 16] loc("apart_strided.grad.batch2", "Conv", backward)
  %apart_strided.grad.1.batch2 = conv_filter_grad(%point.grad.3.batch2, %g.batch2, %constant.grad.24) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[64, 1, 5, 5] loc("apart_strided.grad.batch2", "Conv", backward)
  %accumulate.2.9 = add(%apart_strided.grad.1, %apart_strided.grad.1.batch2) : f32[64, 1, 5, 5] loc("accumulate.2", "Add", backward)
  %silu.grad.batch2 = elementwise_grad(%apart_strided.grad.batch2, %f.batch2) {of="swish", derivative="sigmoid(1.0 * x) * (1 + 1.0 * x * (1 - sigmoid(1.0 * x)))"} : f32[batch, 64, 16, 16] loc("silu.grad.batch2", "SwishGrad", backward)
  %apart.grad.batch2 = conv_data_grad(%silu.grad.batch2, %apart_w, %constant.grad.22, %e.batch2) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart.grad.batch2", "Conv", backward)
  %apart.grad.1.batch2 = conv_filter_grad(%silu.grad.batch2, %e.batch2, %constant.grad.25) {group=64, pads=[1, 1, 1, 1]} : f32[64, 1, 3, 3] loc("apart.grad.batch2", "Conv", backward)
  %accumulate.2.10 = add(%apart.grad.1, %apart.grad.1.batch2) : f32[64, 1, 3, 3] loc("accumulate.2", "Add", backward)
  %apart.grad.2.batch2 = add(%strided_point.grad.batch2, %apart.grad.batch2) : f32[batch, 64, 16, 16] loc("apart.grad.batch2", "Add", backward)
  %plain.grad.batch2 = conv_data_grad(%apart.grad.2.batch2, %plain_w, %constant.grad.26, %d.batch2) {pads=[1, 1, 1, 1]} : f32[batch, 32, 16, 16] loc("plain.grad.batch2", "Conv", backward)
  %plain.grad.1.batch2 = conv_filter_grad(%apart.grad.2.batch2, %d.batch2, %constant.grad.27) {pads=[1, 1, 1, 1]} : f32[64, 32, 3, 3] loc("plain.grad.batch2", "Conv", backward)
  %accumulate.2.11 = add(%plain.grad.1, %plain.grad.1.batch2) : f32[64, 32, 3, 3] loc("accumulate.2", "Add", backward)
  %max_pool.grad.batch2 = max_pool_grad(%plain.grad.batch2, %max_pool.1.batch2, %constant.grad.28, %c.batch2) : f32[batch, 32, 32, 32] loc("max_pool.grad.batch2", "MaxPoolGrad", backward)
  %relu.grad.batch2 = elementwise_grad(%max_pool.grad.batch2, _, _, _, %c.batch2) {of="relu", derivative="where(y > 0, 1, 0)"} : f32[batch, 32, 32, 32] loc("relu.grad.batch2", "ReluGrad", backward)
  %norm.grad.batch2, %norm.grad.1.batch2, %norm.grad.2.batch2 = batch_norm_grad(%relu.grad.batch2, %a.batch2, %scale, %norm.3.batch2, %norm.4.batch2) : f32[batch, 32, 32, 32], f32[32], f32[32] loc("norm.grad.batch2", "BatchNormalizationGrad", backward)
  %accumulate.2.12 = add(%norm.grad.1, %norm.grad.1.batch2) : f32[32] loc("accumulate.2", "Add", backward)
  %accumulate.2.13 = add(%norm.grad.2, %norm.grad.2.batch2) : f32[32] loc("accumulate.2", "Add", backward)
  %stem.grad.batch2 = conv_filter_grad(%norm.grad.batch2, %image.batch2, %constant.grad.29) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[32, 3, 7, 7] loc("stem.grad.batch2", "Conv", backward)
  %accumulate.2.14 = add(%stem.grad, %stem.grad.batch2) : f32[32, 3, 7, 7] loc("accumulate.2", "Add", backward)
  %stem_w.exp_avg.next, %scale.exp_avg.next, %shift.exp_avg.next, %plain_w.exp_avg.next, %apart_w.exp_avg.next, %apart_strided_w.exp_avg.next, %point_w.exp_avg.next, %point_b.exp_avg.next, %strided_point_w.exp_avg.next, %grouped_w.exp_avg.next, %holes_w.exp_avg.next, %line_w.exp_avg.next, %space_w.exp_avg.next, %head_w.exp_avg.next, %head_b.exp_avg.next = multi_tensor(%stem_w.exp_avg, %scale.exp_avg, %shift.exp_avg, %plain_w.exp_avg, %apart_w.exp_avg, %apart_strided_w.exp_avg, %point_w.exp_avg, %point_b.exp_avg, %strided_point_w.exp_avg, %grouped_w.exp_avg, %holes_w.exp_avg, %line_w.exp_avg, %space_w.exp_avg, %head_w.exp_avg, %head_b.exp_avg, %accumulate.2.14, %accumulate.2.12, %accumulate.2.13, %accumulate.2.11, %accumulate.2.10, %accumulate.2.9, %accumulate.2.6, %accumulate.2.7, %accumulate.2.8, %accumulate.2.5, %accumulate.2.4, %accumulate.2.3, %accumulate.2.2, %accumulate.2, %accumulate.2.1) {function="_foreach_lerp_", lists=2, alu=3} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_lerp_", "_foreach_lerp_", optimizer)
  %stem_w.exp_avg_sq.next, %scale.exp_avg_sq.next, %shift.exp_avg_sq.next, %plain_w.exp_avg_sq.next, %apart_w.exp_avg_sq.next, %apart_strided_w.exp_avg_sq.next, %point_w.exp_avg_sq.next, %point_b.exp_avg_sq.next, %strided_point_w.exp_avg_sq.next, %grouped_w.exp_avg_sq.next, %holes_w.exp_avg_sq.next, %line_w.exp_avg_sq.next, %space_w.exp_avg_sq.next, %head_w.exp_avg_sq.next, %head_b.exp_avg_sq.next = multi_tensor(%stem_w.exp_avg_sq, %scale.exp_avg_sq, %shift.exp_avg_sq, %plain_w.exp_avg_sq, %apart_w.exp_avg_sq, %apart_strided_w.exp_avg_sq, %point_w.exp_avg_sq, %point_b.exp_avg_sq, %strided_point_w.exp_avg_sq, %grouped_w.exp_avg_sq, %holes_w.exp_avg_sq, %line_w.exp_avg_sq, %space_w.exp_avg_sq, %head_w.exp_avg_sq, %head_b.exp_avg_sq) {function="_foreach_mul_"} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_mul_", "_foreach_mul_", optimizer)
  %stem_w.exp_avg_sq.next.next, %scale.exp_avg_sq.next.next, %shift.exp_avg_sq.next.next, %plain_w.exp_avg_sq.next.next, %apart_w.exp_avg_sq.next.next, %apart_strided_w.exp_avg_sq.next.next, %point_w.exp_avg_sq.next.next, %point_b.exp_avg_sq.next.next, %strided_point_w.exp_avg_sq.next.next, %grouped_w.exp_avg_sq.next.next, %holes_w.exp_avg_sq.next.next, %line_w.exp_avg_sq.next.next, %space_w.exp_avg_sq.next.next, %head_w.exp_avg_sq.next.next, %head_b.exp_avg_sq.next.next = multi_tensor(%stem_w.exp_avg_sq.next, %scale.exp_avg_sq.next, %shift.exp_avg_sq.next, %plain_w.exp_avg_sq.next, %apart_w.exp_avg_sq.next, %apart_strided_w.exp_avg_sq.next, %point_w.exp_avg_sq.next, %point_b.exp_avg_sq.next, %strided_point_w.exp_avg_sq.next, %grouped_w.exp_avg_sq.next, %holes_w.exp_avg_sq.next, %line_w.exp_avg_sq.next, %space_w.exp_avg_sq.next, %head_w.exp_avg_sq.next, %head_b.exp_avg_sq.next, %accumulate.2.14, %accumulate.2.12, %accumulate.2.13, %accumulate.2.11, %accumulate.2.10, %accumulate.2.9, %accumulate.2.6, %accumulate.2.7, %accumulate.2.8, %accumulate.2.5, %accumulate.2.4, %accumulate.2.3, %accumulate.2.2, %accumulate.2, %accumulate.2.1, %accumulate.2.14, %accumulate.2.12, %accumulate.2.13, %accumulate.2.11, %accumulate.2.10, %accumulate.2.9, %accumulate.2.6, %accumulate.2.7, %accumulate.2.8, %accumulate.2.5, %accumulate.2.4, %accumulate.2.3, %accumulate.2.2, %accumulate.2, %accumulate.2.1) {function="_foreach_addcmul_", lists=3, alu=3} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_addcmul_", "_foreach_addcmul_", optimizer)
  %_foreach_sqrt.0, %_foreach_sqrt.1, %_foreach_sqrt.2, %_foreach_sqrt.3, %_foreach_sqrt.4, %_foreach_sqrt.5, %_foreach_sqrt.6, %_foreach_sqrt.7, %_foreach_sqrt.8, %_foreach_sqrt.9, %_foreach_sqrt.10, %_foreach_sqrt.11, %_foreach_sqrt.12, %_foreach_sqrt.13, %_foreach_sqrt.14 = multi_tensor(%stem_w.exp_avg_sq.next.next, %scale.exp_avg_sq.next.next, %shift.exp_avg_sq.next.next, %plain_w.exp_avg_sq.next.next, %apart_w.exp_avg_sq.next.next, %apart_strided_w.exp_avg_sq.next.next, %point_w.exp_avg_sq.next.next, %point_b.exp_avg_sq.next.next, %strided_point_w.exp_avg_sq.next.next, %grouped_w.exp_avg_sq.next.next, %holes_w.exp_avg_sq.next.next, %line_w.exp_avg_sq.next.next, %space_w.exp_avg_sq.next.next, %head_w.exp_avg_sq.next.next, %head_b.exp_avg_sq.next.next) {function="_foreach_sqrt", written=[], fresh=1, alu=0, sfu=1} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_sqrt", "_foreach_sqrt", optimizer)
  %_foreach_sqrt.0.next, %_foreach_sqrt.1.next, %_foreach_sqrt.2.next, %_foreach_sqrt.3.next, %_foreach_sqrt.4.next, %_foreach_sqrt.5.next, %_foreach_sqrt.6.next, %_foreach_sqrt.7.next, %_foreach_sqrt.8.next, %_foreach_sqrt.9.next, %_foreach_sqrt.10.next, %_foreach_sqrt.11.next, %_foreach_sqrt.12.next, %_foreach_sqrt.13.next, %_foreach_sqrt.14.next = multi_tensor(%_foreach_sqrt.0, %_foreach_sqrt.1, %_foreach_sqrt.2, %_foreach_sqrt.3, %_foreach_sqrt.4, %_foreach_sqrt.5, %_foreach_sqrt.6, %_foreach_sqrt.7, %_foreach_sqrt.8, %_foreach_sqrt.9, %_foreach_sqrt.10, %_foreach_sqrt.11, %_foreach_sqrt.12, %_foreach_sqrt.13, %_foreach_sqrt.14) {function="_foreach_div_", alu=0, sfu=1} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_div_", "_foreach_div_", optimizer)
  %_foreach_sqrt.0.next.next, %_foreach_sqrt.1.next.next, %_foreach_sqrt.2.next.next, %_foreach_sqrt.3.next.next, %_foreach_sqrt.4.next.next, %_foreach_sqrt.5.next.next, %_foreach_sqrt.6.next.next, %_foreach_sqrt.7.next.next, %_foreach_sqrt.8.next.next, %_foreach_sqrt.9.next.next, %_foreach_sqrt.10.next.next, %_foreach_sqrt.11.next.next, %_foreach_sqrt.12.next.next, %_foreach_sqrt.13.next.next, %_foreach_sqrt.14.next.next = multi_tensor(%_foreach_sqrt.0.next, %_foreach_sqrt.1.next, %_foreach_sqrt.2.next, %_foreach_sqrt.3.next, %_foreach_sqrt.4.next, %_foreach_sqrt.5.next, %_foreach_sqrt.6.next, %_foreach_sqrt.7.next, %_foreach_sqrt.8.next, %_foreach_sqrt.9.next, %_foreach_sqrt.10.next, %_foreach_sqrt.11.next, %_foreach_sqrt.12.next, %_foreach_sqrt.13.next, %_foreach_sqrt.14.next) {function="_foreach_add_"} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_add_", "_foreach_add_", optimizer)
  %stem_w.next, %scale.next, %shift.next, %plain_w.next, %apart_w.next, %apart_strided_w.next, %point_w.next, %point_b.next, %strided_point_w.next, %grouped_w.next, %holes_w.next, %line_w.next, %space_w.next, %head_w.next, %head_b.next = multi_tensor(%stem_w, %scale, %shift, %plain_w, %apart_w, %apart_strided_w, %point_w, %point_b, %strided_point_w, %grouped_w, %holes_w, %line_w, %space_w, %head_w, %head_b, %stem_w.exp_avg.next, %scale.exp_avg.next, %shift.exp_avg.next, %plain_w.exp_avg.next, %apart_w.exp_avg.next, %apart_strided_w.exp_avg.next, %point_w.exp_avg.next, %point_b.exp_avg.next, %strided_point_w.exp_avg.next, %grouped_w.exp_avg.next, %holes_w.exp_avg.next, %line_w.exp_avg.next, %space_w.exp_avg.next, %head_w.exp_avg.next, %head_b.exp_avg.next, %_foreach_sqrt.0.next.next, %_foreach_sqrt.1.next.next, %_foreach_sqrt.2.next.next, %_foreach_sqrt.3.next.next, %_foreach_sqrt.4.next.next, %_foreach_sqrt.5.next.next, %_foreach_sqrt.6.next.next, %_foreach_sqrt.7.next.next, %_foreach_sqrt.8.next.next, %_foreach_sqrt.9.next.next, %_foreach_sqrt.10.next.next, %_foreach_sqrt.11.next.next, %_foreach_sqrt.12.next.next, %_foreach_sqrt.13.next.next, %_foreach_sqrt.14.next.next) {function="_foreach_addcdiv_", lists=3, alu=2, sfu=1} : f32[32, 3, 7, 7], f32[32], f32[32], f32[64, 32, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 5, 5], f32[128, 64, 1, 1], f32[128], f32[64, 64, 1, 1], f32[128, 32, 3, 3], f32[128, 128, 3, 3], f32[16, 64, 3], f32[4, 16, 3, 3, 3], f32[128, 10], f32[10] loc("_foreach_addcdiv_", "_foreach_addcdiv_", optimizer)
  return %loss.3, %stem_w.next, %scale.next, %shift.next, %plain_w.next, %apart_w.next, %apart_strided_w.next, %point_w.next, %point_b.next, %strided_point_w.next, %grouped_w.next, %holes_w.next, %line_w.next, %space_w.next, %head_w.next, %head_b.next, %stem_w.exp_avg.next, %scale.exp_avg.next, %shift.exp_avg.next, %plain_w.exp_avg.next, %apart_w.exp_avg.next, %apart_strided_w.exp_avg.next, %point_w.exp_avg.next, %point_b.exp_avg.next, %strided_point_w.exp_avg.next, %grouped_w.exp_avg.next, %holes_w.exp_avg.next, %line_w.exp_avg.next, %space_w.exp_avg.next, %head_w.exp_avg.next, %head_b.exp_avg.next, %stem_w.exp_avg_sq.next.next, %scale.exp_avg_sq.next.next, %shift.exp_avg_sq.next.next, %plain_w.exp_avg_sq.next.next, %apart_w.exp_avg_sq.next.next, %apart_strided_w.exp_avg_sq.next.next, %point_w.exp_avg_sq.next.next, %point_b.exp_avg_sq.next.next, %strided_point_w.exp_avg_sq.next.next, %grouped_w.exp_avg_sq.next.next, %holes_w.exp_avg_sq.next.next, %line_w.exp_avg_sq.next.next, %space_w.exp_avg_sq.next.next, %head_w.exp_avg_sq.next.next, %head_b.exp_avg_sq.next.next
}
