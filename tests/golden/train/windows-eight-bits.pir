# RUN: shapes,train{optimizer=adam8bit,checkpointing=selective} | print
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
  %stem_w.state1 = weight {bytes=4704, constant=true, state=true} : u8[32, 3, 7, 7]
  %stem_w.state2 = weight {bytes=4704, constant=true, state=true} : u8[32, 3, 7, 7]
  %stem_w.absmax1 = weight {bytes=76, constant=true, state=true} : f32[19]
  %stem_w.absmax2 = weight {bytes=76, constant=true, state=true} : f32[19]
  %scale.state1 = weight {bytes=128, constant=true, state=true} : f32[32]
  %scale.state2 = weight {bytes=128, constant=true, state=true} : f32[32]
  %shift.state1 = weight {bytes=128, constant=true, state=true} : f32[32]
  %shift.state2 = weight {bytes=128, constant=true, state=true} : f32[32]
  %plain_w.state1 = weight {bytes=18432, constant=true, state=true} : u8[64, 32, 3, 3]
  %plain_w.state2 = weight {bytes=18432, constant=true, state=true} : u8[64, 32, 3, 3]
  %plain_w.absmax1 = weight {bytes=288, constant=true, state=true} : f32[72]
  %plain_w.absmax2 = weight {bytes=288, constant=true, state=true} : f32[72]
  %apart_w.state1 = weight {bytes=2304, constant=true, state=true} : f32[64, 1, 3, 3]
  %apart_w.state2 = weight {bytes=2304, constant=true, state=true} : f32[64, 1, 3, 3]
  %apart_strided_w.state1 = weight {bytes=6400, constant=true, state=true} : f32[64, 1, 5, 5]
  %apart_strided_w.state2 = weight {bytes=6400, constant=true, state=true} : f32[64, 1, 5, 5]
  %point_w.state1 = weight {bytes=8192, constant=true, state=true} : u8[128, 64, 1, 1]
  %point_w.state2 = weight {bytes=8192, constant=true, state=true} : u8[128, 64, 1, 1]
  %point_w.absmax1 = weight {bytes=128, constant=true, state=true} : f32[32]
  %point_w.absmax2 = weight {bytes=128, constant=true, state=true} : f32[32]
  %point_b.state1 = weight {bytes=512, constant=true, state=true} : f32[128]
  %point_b.state2 = weight {bytes=512, constant=true, state=true} : f32[128]
  %strided_point_w.state1 = weight {bytes=4096, constant=true, state=true} : u8[64, 64, 1, 1]
  %strided_point_w.state2 = weight {bytes=4096, constant=true, state=true} : u8[64, 64, 1, 1]
  %strided_point_w.absmax1 = weight {bytes=64, constant=true, state=true} : f32[16]
  %strided_point_w.absmax2 = weight {bytes=64, constant=true, state=true} : f32[16]
  %grouped_w.state1 = weight {bytes=36864, constant=true, state=true} : u8[128, 32, 3, 3]
  %grouped_w.state2 = weight {bytes=36864, constant=true, state=true} : u8[128, 32, 3, 3]
  %grouped_w.absmax1 = weight {bytes=576, constant=true, state=true} : f32[144]
  %grouped_w.absmax2 = weight {bytes=576, constant=true, state=true} : f32[144]
  %holes_w.state1 = weight {bytes=147456, constant=true, state=true} : u8[128, 128, 3, 3]
  %holes_w.state2 = weight {bytes=147456, constant=true, state=true} : u8[128, 128, 3, 3]
  %holes_w.absmax1 = weight {bytes=2304, constant=true, state=true} : f32[576]
  %holes_w.absmax2 = weight {bytes=2304, constant=true, state=true} : f32[576]
  %line_w.state1 = weight {bytes=12288, constant=true, state=true} : f32[16, 64, 3]
  %line_w.state2 = weight {bytes=12288, constant=true, state=true} : f32[16, 64, 3]
  %space_w.state1 = weight {bytes=6912, constant=true, state=true} : f32[4, 16, 3, 3, 3]
  %space_w.state2 = weight {bytes=6912, constant=true, state=true} : f32[4, 16, 3, 3, 3]
  %head_w.state1 = weight {bytes=5120, constant=true, state=true} : f32[128, 10]
  %head_w.state2 = weight {bytes=5120, constant=true, state=true} : f32[128, 10]
  %head_b.state1 = weight {bytes=40, constant=true, state=true} : f32[10]
  %head_b.state2 = weight {bytes=40, constant=true, state=true} : f32[10]
  %constant.grad = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.1 = weight {bytes=16, constant=true} : i64[2] = [batch, 10]
  %constant.grad.2 = weight {bytes=8, constant=true} : i64[1] = [0]
  %constant.grad.3 = weight {bytes=16, constant=true} : i64[2] = [0, 1]
  %constant.grad.4 = weight {bytes=32, constant=true} : i64[4] = [batch, 128, 1, 1]
  %constant.grad.5 = weight {bytes=4, constant=true} : f32[] = 0.015625
  %constant.grad.6 = weight {bytes=32, constant=true} : i64[4] = [batch, 128, 8, 8]
  %constant.grad.7 = weight {bytes=4, constant=true} : f32[] = _
  %constant.grad.8 = weight {bytes=40, constant=true} : i64[5] = [1, 1, 1, 1, 1]
  %constant.grad.9 = weight {bytes=40, constant=true} : i64[5] = [batch, 4, 4, 4, 4]
  %constant.grad.10 = weight {bytes=40, constant=true} : i64[5] = [batch, 16, 4, 4, 4]
  %constant.grad.11 = weight {bytes=40, constant=true} : i64[5] = [4, 16, 3, 3, 3]
  %constant.grad.12 = weight {bytes=24, constant=true} : i64[3] = [batch, 16, 64]
  %constant.grad.13 = weight {bytes=24, constant=true} : i64[3] = [batch, 64, 64]
  %constant.grad.14 = weight {bytes=24, constant=true} : i64[3] = [16, 64, 3]
  %constant.grad.15 = weight {bytes=32, constant=true} : i64[4] = [batch, 64, 8, 8]
  %constant.grad.16 = weight {bytes=32, constant=true} : i64[4] = [128, 128, 3, 3]
  %constant.grad.17 = weight {bytes=32, constant=true} : i64[4] = [128, 32, 3, 3]
  %constant.grad.18 = weight {bytes=32, constant=true} : i64[4] = [128, 64, 1, 1]
  %constant.grad.19 = weight {bytes=24, constant=true} : i64[3] = [0, 2, 3]
  %constant.grad.20 = weight {bytes=32, constant=true} : i64[4] = [batch, 64, 16, 16]
  %constant.grad.21 = weight {bytes=32, constant=true} : i64[4] = [64, 64, 1, 1]
  %constant.grad.22 = weight {bytes=32, constant=true} : i64[4] = [64, 1, 5, 5]
  %constant.grad.23 = weight {bytes=32, constant=true} : i64[4] = [64, 1, 3, 3]
  %constant.grad.24 = weight {bytes=32, constant=true} : i64[4] = [batch, 32, 16, 16]
  %constant.grad.25 = weight {bytes=32, constant=true} : i64[4] = [64, 32, 3, 3]
  %constant.grad.26 = weight {bytes=32, constant=true} : i64[4] = [batch, 32, 32, 32]
  %constant.grad.27 = weight {bytes=32, constant=true} : i64[4] = [32, 3, 7, 7]
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
  %loss = log_softmax(%u) {axis=1} : f32[batch, 10] loc("loss", "LogSoftmax", loss)
  %loss.1 = nll_loss(%loss, %labels) : f32[] loc("loss", "NegativeLogLikelihoodLoss", loss)
  %loss.grad = nll_loss_grad(%constant.grad, %constant.grad.1, %labels) : f32[batch, 10] loc("loss.grad", "NegativeLogLikelihoodLossGrad", backward)
  %loss.grad.1 = log_softmax_grad(%loss.grad, %loss) {axis=1} : f32[batch, 10] loc("loss.grad", "LogSoftmaxGrad_13", backward)
  %head.grad = gemm(%loss.grad.1, %head_w) {transB=1} : f32[batch, 128] loc("head.grad", "Gemm", backward)
  %head.grad.1 = gemm(%t2, %loss.grad.1) {transA=1} : f32[128, 10] loc("head.grad", "Gemm", backward)
  %head.grad.2 = reduce_sum(%loss.grad.1, %constant.grad.2) {keepdims=0} : f32[10] loc("head.grad", "ReduceSum", backward)
  %scaled.grad = mul(%head.grad, %r2) : f32[batch, 128] loc("scaled.grad", "Mul", backward)
  %scaled.grad.1 = mul(%head.grad, %t) : f32[batch, 128] loc("scaled.grad", "Mul", backward)
  %scaled.grad.2 = reduce_sum(%scaled.grad.1, %constant.grad.3) {keepdims=0} : f32[] loc("scaled.grad", "ReduceSum", backward)
  %flat.grad = reshape(%scaled.grad, %constant.grad.4) : f32[batch, 128, 1, 1] loc("flat.grad", "Reshape", backward)
  %pool.grad = mul(%flat.grad, %constant.grad.5) : f32[batch, 128, 1, 1] loc("pool.grad", "Mul", backward)
  %pool.grad.1 = expand(%pool.grad, %constant.grad.6) : f32[batch, 128, 8, 8] loc("pool.grad", "Expand", backward)
  %volume_mean.grad = mul(%scaled.grad.2, %constant.grad.7) : f32[] loc("volume_mean.grad", "Mul", backward)
  %volume_mean.grad.1 = reshape(%volume_mean.grad, %constant.grad.8) : f32[1, 1, 1, 1, 1] loc("volume_mean.grad", "Reshape", backward)
  %volume_mean.grad.2 = expand(%volume_mean.grad.1, %constant.grad.9) : f32[batch, 4, 4, 4, 4] loc("volume_mean.grad", "Expand", backward)
  %volume.grad = conv_data_grad(%volume_mean.grad.2, %space_w, %constant.grad.10, %q) {pads=[1, 1, 1, 1, 1, 1]} : f32[batch, 16, 4, 4, 4] loc("volume.grad", "Conv", backward)
  %volume.grad.1 = conv_filter_grad(%volume_mean.grad.2, %q, %constant.grad.11) {pads=[1, 1, 1, 1, 1, 1]} : f32[4, 16, 3, 3, 3] loc("volume.grad", "Conv", backward)
  %space.grad = reshape(%volume.grad, %constant.grad.12) : f32[batch, 16, 64] loc("space.grad", "Reshape", backward)
  %along.grad = conv_data_grad(%space.grad, %line_w, %constant.grad.13, %o) {pads=[1, 1]} : f32[batch, 64, 64] loc("along.grad", "Conv", backward)
  %along.grad.1 = conv_filter_grad(%space.grad, %o, %constant.grad.14) {pads=[1, 1]} : f32[16, 64, 3] loc("along.grad", "Conv", backward)
  %line.grad = reshape(%along.grad, %constant.grad.15) : f32[batch, 64, 8, 8] loc("line.grad", "Reshape", backward)
  %mean_pool.grad = average_pool_grad(%pool.grad.1, %constant.grad.6, %l) {kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]} : f32[batch, 128, 8, 8] loc("mean_pool.grad", "AveragePoolGrad", backward)
  %holes.grad = conv_data_grad(%mean_pool.grad, %holes_w, %constant.grad.6, %k) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[batch, 128, 8, 8] loc("holes.grad", "Conv", backward)
  %holes.grad.1 = conv_filter_grad(%mean_pool.grad, %k, %constant.grad.16) {dilations=[2, 2], pads=[2, 2, 2, 2]} : f32[128, 128, 3, 3] loc("holes.grad", "Conv", backward)
  %grouped.grad = conv_data_grad(%holes.grad, %grouped_w, %constant.grad.6, %j) {group=4, pads=[1, 1, 1, 1]} : f32[batch, 128, 8, 8] loc("grouped.grad", "Conv", backward)
  %grouped.grad.1 = conv_filter_grad(%holes.grad, %j, %constant.grad.17) {group=4, pads=[1, 1, 1, 1]} : f32[128, 32, 3, 3] loc("grouped.grad", "Conv", backward)
  %point.grad = conv_data_grad(%grouped.grad, %point_w, %constant.grad.15, %i) : f32[batch, 64, 8, 8] loc("point.grad", "Conv", backward)
  %point.grad.1 = conv_filter_grad(%grouped.grad, %i, %constant.grad.18) : f32[128, 64, 1, 1] loc("point.grad", "Conv", backward)
  %point.grad.2 = reduce_sum(%grouped.grad, %constant.grad.19) {keepdims=0} : f32[128] loc("point.grad", "ReduceSum", backward)
  %point.grad.3 = add(%line.grad, %point.grad) : f32[batch, 64, 8, 8] loc("point.grad", "Add", backward)
  %strided_point.grad = conv_data_grad(%point.grad.3, %strided_point_w, %constant.grad.20, %e) {strides=[2, 2]} : f32[batch, 64, 16, 16] loc("strided_point.grad", "Conv", backward)
  %strided_point.grad.1 = conv_filter_grad(%point.grad.3, %e, %constant.grad.21) {strides=[2, 2]} : f32[64, 64, 1, 1] loc("strided_point.grad", "Conv", backward)
  %apart_strided.grad = conv_data_grad(%point.grad.3, %apart_strided_w, %constant.grad.20, %g) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[batch, 64, 16, 16] loc("apart_strided.grad", "Conv", backward)
  %apart_strided.grad.1 = conv_filter_grad(%point.grad.3, %g, %constant.grad.22) {group=64, pads=[2, 2, 2, 2], strides=[2, 2]} : f32[64, 1, 5, 5] loc("apart_strided.grad", "Conv", backward)
  %silu.grad = elementwise_grad(%apart_strided.grad, %f) {of="swish", derivative="sigmoid(1.0 * x) * (1 + 1.0 * x * (1 - sigmoid(1.0 * x)))"} : f32[batch, 64, 16, 16] loc("silu.grad", "SwishGrad", backward)
  %apart.grad = conv_data_grad(%silu.grad, %apart_w, %constant.grad.20, %e) {group=64, pads=[1, 1, 1, 1]} : f32[batch, 64, 16, 16] loc("apart.grad", "Conv", backward)
  %apart.grad.1 = conv_filter_grad(%silu.grad, %e, %constant.grad.23) {group=64, pads=[1, 1, 1, 1]} : f32[64, 1, 3, 3] loc("apart.grad", "Conv", backward)
  %apart.grad.2 = add(%strided_point.grad, %apart.grad) : f32[batch, 64, 16, 16] loc("apart.grad", "Add", backward)
  %plain.grad = conv_data_grad(%apart.grad.2, %plain_w, %constant.grad.24, %d) {pads=[1, 1, 1, 1]} : f32[batch, 32, 16, 16] loc("plain.grad", "Conv", backward)
  %plain.grad.1 = conv_filter_grad(%apart.grad.2, %d, %constant.grad.25) {pads=[1, 1, 1, 1]} : f32[64, 32, 3, 3] loc("plain.grad", "Conv", backward)
  %max_pool.grad = max_pool_grad(%plain.grad, %max_pool.1, %constant.grad.26, %c) : f32[batch, 32, 32, 32] loc("max_pool.grad", "MaxPoolGrad", backward)
  %relu.grad = elementwise_grad(%max_pool.grad, _, _, _, %c) {of="relu", derivative="where(y > 0, 1, 0)"} : f32[batch, 32, 32, 32] loc("relu.grad", "ReluGrad", backward)
  %norm.grad, %norm.grad.1, %norm.grad.2 = batch_norm_grad(%relu.grad, %a, %scale, %norm.3, %norm.4) : f32[batch, 32, 32, 32], f32[32], f32[32] loc("norm.grad", "BatchNormalizationGrad", backward)
  %stem.grad = conv_filter_grad(%norm.grad, %image, %constant.grad.27) {pads=[3, 3, 3, 3], strides=[2, 2]} : f32[32, 3, 7, 7] loc("stem.grad", "Conv", backward)
  %stem_w.next, %stem_w.state1.next, %stem_w.state2.next, %stem_w.absmax1.next, %stem_w.absmax2.next = multi_tensor(%stem_w, %stem.grad, %stem_w.state1, %stem_w.state2, %stem_w.absmax1, %stem_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[32, 3, 7, 7], u8[32, 3, 7, 7], u8[32, 3, 7, 7], f32[19], f32[19] loc("stem_w.adam8bit", "stem_w.adam8bit", optimizer)
  %scale.next, %scale.state1.next, %scale.state2.next = multi_tensor(%scale, %norm.grad.1, %scale.state1, %scale.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[32], f32[32], f32[32] loc("scale.adam8bit", "scale.adam8bit", optimizer)
  %shift.next, %shift.state1.next, %shift.state2.next = multi_tensor(%shift, %norm.grad.2, %shift.state1, %shift.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[32], f32[32], f32[32] loc("shift.adam8bit", "shift.adam8bit", optimizer)
  %plain_w.next, %plain_w.state1.next, %plain_w.state2.next, %plain_w.absmax1.next, %plain_w.absmax2.next = multi_tensor(%plain_w, %plain.grad.1, %plain_w.state1, %plain_w.state2, %plain_w.absmax1, %plain_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[64, 32, 3, 3], u8[64, 32, 3, 3], u8[64, 32, 3, 3], f32[72], f32[72] loc("plain_w.adam8bit", "plain_w.adam8bit", optimizer)
  %apart_w.next, %apart_w.state1.next, %apart_w.state2.next = multi_tensor(%apart_w, %apart.grad.1, %apart_w.state1, %apart_w.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[64, 1, 3, 3], f32[64, 1, 3, 3], f32[64, 1, 3, 3] loc("apart_w.adam8bit", "apart_w.adam8bit", optimizer)
  %apart_strided_w.next, %apart_strided_w.state1.next, %apart_strided_w.state2.next = multi_tensor(%apart_strided_w, %apart_strided.grad.1, %apart_strided_w.state1, %apart_strided_w.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[64, 1, 5, 5], f32[64, 1, 5, 5], f32[64, 1, 5, 5] loc("apart_strided_w.adam8bit", "apart_strided_w.adam8bit", optimizer)
  %point_w.next, %point_w.state1.next, %point_w.state2.next, %point_w.absmax1.next, %point_w.absmax2.next = multi_tensor(%point_w, %point.grad.1, %point_w.state1, %point_w.state2, %point_w.absmax1, %point_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[128, 64, 1, 1], u8[128, 64, 1, 1], u8[128, 64, 1, 1], f32[32], f32[32] loc("point_w.adam8bit", "point_w.adam8bit", optimizer)
  %point_b.next, %point_b.state1.next, %point_b.state2.next = multi_tensor(%point_b, %point.grad.2, %point_b.state1, %point_b.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[128], f32[128], f32[128] loc("point_b.adam8bit", "point_b.adam8bit", optimizer)
  %strided_point_w.next, %strided_point_w.state1.next, %strided_point_w.state2.next, %strided_point_w.absmax1.next, %strided_point_w.absmax2.next = multi_tensor(%strided_point_w, %strided_point.grad.1, %strided_point_w.state1, %strided_point_w.state2, %strided_point_w.absmax1, %strided_point_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[64, 64, 1, 1], u8[64, 64, 1, 1], u8[64, 64, 1, 1], f32[16], f32[16] loc("strided_point_w.adam8bit", "strided_point_w.adam8bit", optimizer)
  %grouped_w.next, %grouped_w.state1.next, %grouped_w.state2.next, %grouped_w.absmax1.next, %grouped_w.absmax2.next = multi_tensor(%grouped_w, %grouped.grad.1, %grouped_w.state1, %grouped_w.state2, %grouped_w.absmax1, %grouped_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[128, 32, 3, 3], u8[128, 32, 3, 3], u8[128, 32, 3, 3], f32[144], f32[144] loc("grouped_w.adam8bit", "grouped_w.adam8bit", optimizer)
  %holes_w.next, %holes_w.state1.next, %holes_w.state2.next, %holes_w.absmax1.next, %holes_w.absmax2.next = multi_tensor(%holes_w, %holes.grad.1, %holes_w.state1, %holes_w.state2, %holes_w.absmax1, %holes_w.absmax2) {function="adam8bit", lists=6, written=[0, 2, 3, 4, 5], alu=18, sfu=2} : f32[128, 128, 3, 3], u8[128, 128, 3, 3], u8[128, 128, 3, 3], f32[576], f32[576] loc("holes_w.adam8bit", "holes_w.adam8bit", optimizer)
  %line_w.next, %line_w.state1.next, %line_w.state2.next = multi_tensor(%line_w, %along.grad.1, %line_w.state1, %line_w.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[16, 64, 3], f32[16, 64, 3], f32[16, 64, 3] loc("line_w.adam8bit", "line_w.adam8bit", optimizer)
  %space_w.next, %space_w.state1.next, %space_w.state2.next = multi_tensor(%space_w, %volume.grad.1, %space_w.state1, %space_w.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[4, 16, 3, 3, 3], f32[4, 16, 3, 3, 3], f32[4, 16, 3, 3, 3] loc("space_w.adam8bit", "space_w.adam8bit", optimizer)
  %head_w.next, %head_w.state1.next, %head_w.state2.next = multi_tensor(%head_w, %head.grad.1, %head_w.state1, %head_w.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[128, 10], f32[128, 10], f32[128, 10] loc("head_w.adam8bit", "head_w.adam8bit", optimizer)
  %head_b.next, %head_b.state1.next, %head_b.state2.next = multi_tensor(%head_b, %head.grad.2, %head_b.state1, %head_b.state2) {function="adam8bit", lists=4, written=[0, 2, 3], alu=18, sfu=2} : f32[10], f32[10], f32[10] loc("head_b.adam8bit", "head_b.adam8bit", optimizer)
  return %loss.1, %stem_w.next, %stem_w.state1.next, %stem_w.state2.next, %stem_w.absmax1.next, %stem_w.absmax2.next, %scale.next, %scale.state1.next, %scale.state2.next, %shift.next, %shift.state1.next, %shift.state2.next, %plain_w.next, %plain_w.state1.next, %plain_w.state2.next, %plain_w.absmax1.next, %plain_w.absmax2.next, %apart_w.next, %apart_w.state1.next, %apart_w.state2.next, %apart_strided_w.next, %apart_strided_w.state1.next, %apart_strided_w.state2.next, %point_w.next, %point_w.state1.next, %point_w.state2.next, %point_w.absmax1.next, %point_w.absmax2.next, %point_b.next, %point_b.state1.next, %point_b.state2.next, %strided_point_w.next, %strided_point_w.state1.next, %strided_point_w.state2.next, %strided_point_w.absmax1.next, %strided_point_w.absmax2.next, %grouped_w.next, %grouped_w.state1.next, %grouped_w.state2.next, %grouped_w.absmax1.next, %grouped_w.absmax2.next, %holes_w.next, %holes_w.state1.next, %holes_w.state2.next, %holes_w.absmax1.next, %holes_w.absmax2.next, %line_w.next, %line_w.state1.next, %line_w.state2.next, %space_w.next, %space_w.state1.next, %space_w.state2.next, %head_w.next, %head_w.state1.next, %head_w.state2.next, %head_b.next, %head_b.state1.next, %head_b.state2.next
}
