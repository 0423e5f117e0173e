# RUN: shapes,train{optimizer=momentum} | print
perfir 1
module @g {source="pools.onnx", digest="92dacb3aad2492f76d0239c2ff8da7f1cb0a61021ac6f82ae4ba9a9e2f82e377", ir_version=8, opset=18}

graph @main(%x: f32[2, 4, 8, 8], %ids: i64[2, 3]) {
  %zero = weight {bytes=8, digest="70964f326cbe424fb3a163dca433f917fe3a92cb011106cac501ea79c4eef492"} : i64[1] = [0]
  %ratio = weight {bytes=4, digest="6d73d7cf0188c2dca2730a78e6cf7b0c094de4733b649647e827e7934e5c79ef"} : f32[] = 0.5
  %scales = weight {bytes=16, digest="17a4e9123d7c4b19c1a0ff0016119b58a9af4b6c187433a74f2f44755b95ba84"} : f32[4] = [1.0, 1.0, 2.0, 2.0]
  %flat = weight {bytes=16, digest="cd7ce0d210e7250f00d22a9009b8669f4a220494a91710981c005c6cb61f51c4"} : i64[2] = [-1, 8]
  %pads = weight {bytes=32, digest="7ce69ccd1d2fb9e67cde06f3e2afb144baed95d1857c52d3e4dd6abcebc125c6"} : i64[4] = [0, 0, 1, 1]
  %axes23 = weight {bytes=16, digest="744f17cb016f33fe1bc6f4776443f55ad25ec8752efe1ffafa51cb3dce4cd8ad"} : i64[2] = [2, 3]
  %w = weight {bytes=576, digest="db9fc77aaa0b2a7aa18f0b70885d955ae7b20e82afbad532e4719ad650e15a37"} : f32[4, 4, 3, 3] = [[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]]
  %scale = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %bias = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %mean = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %var = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %head = weight {bytes=512, digest="4c1ee1302d8bfd6e426e30a7b2cd7da76c3839a1362de0d8be738704dd5f2545"} : f32[16, 8] = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
  %wi = weight {bytes=512, digest="473f3e62cf11000e9de372d33613dfa36daa27056fb54778eb1b68bfd49e7cf1"} : f32[1, 32, 4] = [[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]]
  %wr = weight {bytes=1024, digest="118d332e1165d217760514ce9401d43d28ebce7856f73317649b039bbbc51ab6"} : f32[1, 32, 8] = [[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]]
  %table = weight {bytes=144, digest="fe50ab2b8453c60bdf4775b295dd3700b1363c1aa87d399c19c4bf5b78294d39"} : f32[9, 4] = [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
  %c = conv(%x, %w) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : f32[2, 4, 8, 8] loc("", "Conv")
  %b = batch_norm(%c, %scale, %bias, %mean, %var) : f32[2, 4, 8, 8] loc("", "BatchNormalization")
  %s = sigmoid(%b) : f32[2, 4, 8, 8] loc("", "Sigmoid")
  %a = mul(%b, %s) : f32[2, 4, 8, 8] loc("", "Mul")
  %d = dropout(%a, %ratio) : f32[2, 4, 8, 8] loc("", "Dropout")
  %p = max_pool(%d) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 4, 4] loc("", "MaxPool")
  %q = average_pool(%p) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 2, 2] loc("", "AveragePool")
  %up = resize(%q, _, %scales) : f32[2, 4, 4, 4] loc("", "Resize")
  %both = add(%up, %p) : f32[2, 4, 4, 4] loc("", "Add")
  %pd = pad(%both, %pads, _, %axes23) : f32[2, 4, 5, 5] loc("", "Pad")
  %cat = concat(%pd, %pd) {axis=1} : f32[2, 8, 5, 5] loc("", "Concat")
  %gm = global_max_pool(%cat) : f32[2, 8, 1, 1] loc("", "GlobalMaxPool")
  %ga = global_average_pool(%cat) : f32[2, 8, 1, 1] loc("", "GlobalAveragePool")
  %m = sub(%gm, %ga) : f32[2, 8, 1, 1] loc("", "Sub")
  %f = reshape(%m, %flat) : f32[2, 8] loc("", "Reshape")
  %e = gather(%table, %ids) : f32[2, 3, 4] loc("", "Gather")
  %et = transpose(%e) {perm=[1, 0, 2]} : f32[3, 2, 4] loc("", "Transpose")
  %l, %lh, %lc = lstm(%et, %wi, %wr) {hidden_size=8} : f32[3, 1, 2, 8], f32[1, 2, 8], f32[1, 2, 8] loc("", "LSTM")
  %ls = squeeze(%lh, %zero) : f32[2, 8] loc("", "Squeeze")
  %z = add(%f, %ls) : f32[2, 8] loc("", "Add")
  %y = gemm(%z, %head) {transB=1} : f32[2, 16] loc("", "Gemm")
  return %y
}
# ---- expect
perfir 1
module @g {source="pools.onnx", digest="92dacb3aad2492f76d0239c2ff8da7f1cb0a61021ac6f82ae4ba9a9e2f82e377", ir_version=8, opset=18}

graph @main(%x: f32[2, 4, 8, 8], %ids: i64[2, 3], %labels: i64[2]) {
  %zero = weight {bytes=8, digest="70964f326cbe424fb3a163dca433f917fe3a92cb011106cac501ea79c4eef492"} : i64[1] = [0]
  %ratio = weight {bytes=4, digest="6d73d7cf0188c2dca2730a78e6cf7b0c094de4733b649647e827e7934e5c79ef"} : f32[] = 0.5
  %scales = weight {bytes=16, digest="17a4e9123d7c4b19c1a0ff0016119b58a9af4b6c187433a74f2f44755b95ba84"} : f32[4] = [1.0, 1.0, 2.0, 2.0]
  %flat = weight {bytes=16, digest="cd7ce0d210e7250f00d22a9009b8669f4a220494a91710981c005c6cb61f51c4"} : i64[2] = [-1, 8]
  %pads = weight {bytes=32, digest="7ce69ccd1d2fb9e67cde06f3e2afb144baed95d1857c52d3e4dd6abcebc125c6"} : i64[4] = [0, 0, 1, 1]
  %axes23 = weight {bytes=16, digest="744f17cb016f33fe1bc6f4776443f55ad25ec8752efe1ffafa51cb3dce4cd8ad"} : i64[2] = [2, 3]
  %w = weight {bytes=576, digest="db9fc77aaa0b2a7aa18f0b70885d955ae7b20e82afbad532e4719ad650e15a37"} : f32[4, 4, 3, 3] = [[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]]
  %scale = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %bias = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %mean = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %var = weight {bytes=16, digest="66ad020fe94bfd5d1b21e59a15132469f0244b8814c97afcc672dec9cd6b4363"} : f32[4] = [1.0, 1.0, 1.0, 1.0]
  %head = weight {bytes=512, digest="4c1ee1302d8bfd6e426e30a7b2cd7da76c3839a1362de0d8be738704dd5f2545"} : f32[16, 8] = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
  %wi = weight {bytes=512, digest="473f3e62cf11000e9de372d33613dfa36daa27056fb54778eb1b68bfd49e7cf1"} : f32[1, 32, 4] = [[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]]
  %wr = weight {bytes=1024, digest="118d332e1165d217760514ce9401d43d28ebce7856f73317649b039bbbc51ab6"} : f32[1, 32, 8] = [[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]]
  %table = weight {bytes=144, digest="fe50ab2b8453c60bdf4775b295dd3700b1363c1aa87d399c19c4bf5b78294d39"} : f32[9, 4] = [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
  %w.momentum_buffer = weight {bytes=576, constant=true, state=true} : f32[4, 4, 3, 3]
  %scale.momentum_buffer = weight {bytes=16, constant=true, state=true} : f32[4]
  %bias.momentum_buffer = weight {bytes=16, constant=true, state=true} : f32[4]
  %head.momentum_buffer = weight {bytes=512, constant=true, state=true} : f32[16, 8]
  %wi.momentum_buffer = weight {bytes=512, constant=true, state=true} : f32[1, 32, 4]
  %wr.momentum_buffer = weight {bytes=1024, constant=true, state=true} : f32[1, 32, 8]
  %table.momentum_buffer = weight {bytes=144, constant=true, state=true} : f32[9, 4]
  %constant.grad = weight {bytes=1, constant=true} : b1[] = true
  %constant.grad.1 = weight {bytes=4, constant=true} : f32[] = 1.0
  %constant.grad.2 = weight {bytes=16, constant=true} : i64[2] = [2, 16]
  %constant.grad.3 = weight {bytes=24, constant=true} : i64[3] = [1, 2, 8]
  %constant.grad.4 = weight {bytes=16, constant=true} : i64[2] = [9, 4]
  %constant.grad.5 = weight {bytes=32, constant=true} : i64[4] = [2, 8, 1, 1]
  %constant.grad.6 = weight {bytes=4, constant=true} : f32[] = 0.04
  %constant.grad.7 = weight {bytes=32, constant=true} : i64[4] = [2, 8, 5, 5]
  %constant.grad.8 = weight {bytes=4, constant=true} : f32[] = 0.0
  %constant.grad.9 = weight {bytes=16, constant=true} : i64[2] = [2, 3]
  %constant.grad.10 = weight {bytes=8, constant=true} : i64[1] = [0]
  %constant.grad.11 = weight {bytes=8, constant=true} : i64[1] = [4]
  %constant.grad.12 = weight {bytes=8, constant=true} : i64[1] = [1]
  %constant.grad.13 = weight {bytes=8, constant=true} : i64[1] = [8]
  %constant.grad.14 = weight {bytes=16, constant=true} : i64[2] = [0, 0]
  %constant.grad.15 = weight {bytes=16, constant=true} : i64[2] = [4, 4]
  %constant.grad.16 = weight {bytes=32, constant=true} : i64[4] = [2, 4, 2, 2]
  %constant.grad.17 = weight {bytes=32, constant=true} : i64[4] = [2, 4, 4, 4]
  %constant.grad.18 = weight {bytes=32, constant=true} : i64[4] = [2, 4, 8, 8]
  %constant.grad.19 = weight {bytes=32, constant=true} : i64[4] = [4, 4, 3, 3]
  %c = conv(%x, %w) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : f32[2, 4, 8, 8] loc("", "Conv")
  %b, _, _, %b.3, %b.4 = batch_norm(%c, %scale, %bias, %mean, %var) {training_mode=1} : f32[2, 4, 8, 8], _, _, f32[4], f32[4] loc("", "BatchNormalization")
  %a = swish(%b) : f32[2, 4, 8, 8] loc("", "Swish")
  %d, %d.1 = native_dropout(%a, %ratio, %constant.grad) : f32[2, 4, 8, 8], b1[2, 4, 8, 8] loc("", "Dropout")
  %p, %p.1 = max_pool(%d) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 4, 4], i64[2, 4, 4, 4] loc("", "MaxPool")
  %q = average_pool(%p) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 2, 2] loc("", "AveragePool")
  %up = resize(%q, _, %scales) : f32[2, 4, 4, 4] loc("", "Resize")
  %both = add(%up, %p) : f32[2, 4, 4, 4] loc("", "Add")
  %pd = pad(%both, %pads, _, %axes23) : f32[2, 4, 5, 5] loc("", "Pad")
  %cat = concat(%pd, %pd) {axis=1} : f32[2, 8, 5, 5] loc("", "Concat")
  %gm = global_max_pool(%cat) : f32[2, 8, 1, 1] loc("", "GlobalMaxPool")
  %ga = global_average_pool(%cat) : f32[2, 8, 1, 1] loc("", "GlobalAveragePool")
  %m = sub(%gm, %ga) : f32[2, 8, 1, 1] loc("", "Sub")
  %f = reshape(%m, %flat) : f32[2, 8] loc("", "Reshape")
  %e = gather(%table, %ids) : f32[2, 3, 4] loc("", "Gather")
  %et = transpose(%e) {perm=[1, 0, 2]} : f32[3, 2, 4] loc("", "Transpose")
  %l, %lh, %lc = lstm(%et, %wi, %wr) {hidden_size=8} : f32[3, 1, 2, 8], f32[1, 2, 8], f32[1, 2, 8] loc("", "LSTM")
  %ls = squeeze(%lh, %zero) : f32[2, 8] loc("", "Squeeze")
  %z = add(%f, %ls) : f32[2, 8] loc("", "Add")
  %y = gemm(%z, %head) {transB=1} : f32[2, 16] loc("", "Gemm")
  %loss = log_softmax(%y) {axis=1} : f32[2, 16] loc("loss", "LogSoftmax", loss)
  %loss.1 = nll_loss(%loss, %labels) : f32[] loc("loss", "NegativeLogLikelihoodLoss", loss)
  %loss.grad = nll_loss_grad(%constant.grad.1, %constant.grad.2, %labels) : f32[2, 16] loc("loss.grad", "NegativeLogLikelihoodLossGrad", backward)
  %loss.grad.1 = log_softmax_grad(%loss.grad, %loss) {axis=1} : f32[2, 16] loc("loss.grad", "LogSoftmaxGrad_13", backward)
  %y.grad = gemm(%loss.grad.1, %head) : f32[2, 8] loc("y.grad", "Gemm", backward)
  %y.grad.1 = gemm(%loss.grad.1, %z) {transA=1} : f32[16, 8] loc("y.grad", "Gemm", backward)
  %ls.grad = reshape(%y.grad, %constant.grad.3) : f32[1, 2, 8] loc("ls.grad", "Reshape", backward)
  %l.grad, %l.grad.1, %l.grad.2 = recurrent_grad(_, %ls.grad, _, %l, %et, %wi, %wr) {gates=4} : f32[3, 2, 4], f32[1, 32, 4], f32[1, 32, 8] loc("l.grad", "RecurrentGrad", backward)
  %et.grad = transpose(%l.grad) {perm=[1, 0, 2]} : f32[2, 3, 4] loc("et.grad", "Transpose", backward)
  %e.grad = gather_grad(%constant.grad.4, %ids, %et.grad) : f32[9, 4] loc("e.grad", "GatherGrad", backward)
  %f.grad = reshape(%y.grad, %constant.grad.5) : f32[2, 8, 1, 1] loc("f.grad", "Reshape", backward)
  %m.grad = neg(%f.grad) : f32[2, 8, 1, 1] loc("m.grad", "Neg", backward)
  %ga.grad = mul(%m.grad, %constant.grad.6) : f32[2, 8, 1, 1] loc("ga.grad", "Mul", backward)
  %ga.grad.1 = expand(%ga.grad, %constant.grad.7) : f32[2, 8, 5, 5] loc("ga.grad", "Expand", backward)
  %gm.grad = equal(%cat, %gm) : b1[2, 8, 5, 5] loc("gm.grad", "Equal", backward)
  %gm.grad.1 = where(%gm.grad, %constant.grad.1, %constant.grad.8) : f32[2, 8, 5, 5] loc("gm.grad", "Where", backward)
  %gm.grad.2 = reduce_sum(%gm.grad.1, %constant.grad.9) : f32[2, 8, 1, 1] loc("gm.grad", "ReduceSum", backward)
  %gm.grad.3 = div(%f.grad, %gm.grad.2) : f32[2, 8, 1, 1] loc("gm.grad", "Div", backward)
  %gm.grad.4 = mul(%gm.grad.1, %gm.grad.3) : f32[2, 8, 5, 5] loc("gm.grad", "Mul", backward)
  %gm.grad.5 = add(%ga.grad.1, %gm.grad.4) : f32[2, 8, 5, 5] loc("gm.grad", "Add", backward)
  %cat.grad = slice(%gm.grad.5, %constant.grad.10, %constant.grad.11, %constant.grad.12) : f32[2, 4, 5, 5] loc("cat.grad", "Slice", backward)
  %cat.grad.1 = slice(%gm.grad.5, %constant.grad.11, %constant.grad.13, %constant.grad.12) : f32[2, 4, 5, 5] loc("cat.grad", "Slice", backward)
  %cat.grad.2 = add(%cat.grad, %cat.grad.1) : f32[2, 4, 5, 5] loc("cat.grad", "Add", backward)
  %pd.grad = slice(%cat.grad.2, %constant.grad.14, %constant.grad.15, %constant.grad.9) : f32[2, 4, 4, 4] loc("pd.grad", "Slice", backward)
  %up.grad = resize_grad(%pd.grad, %constant.grad.16) {scales=[1.0, 1.0, 2.0, 2.0]} : f32[2, 4, 2, 2] loc("up.grad", "ResizeGrad", backward)
  %q.grad = average_pool_grad(%up.grad, %constant.grad.17, %p) {kernel_shape=[2, 2], strides=[2, 2]} : f32[2, 4, 4, 4] loc("q.grad", "AveragePoolGrad", backward)
  %q.grad.1 = add(%pd.grad, %q.grad) : f32[2, 4, 4, 4] loc("q.grad", "Add", backward)
  %p.grad = max_pool_grad(%q.grad.1, %p.1, %constant.grad.18, %d) : f32[2, 4, 8, 8] loc("p.grad", "MaxPoolGrad", backward)
  %d.grad = dropout_grad(%p.grad, %d.1, %ratio) : f32[2, 4, 8, 8] loc("d.grad", "DropoutGrad", backward)
  %a.grad = elementwise_grad(%d.grad, %b) {of="swish", derivative="sigmoid(1.0 * x) * (1 + 1.0 * x * (1 - sigmoid(1.0 * x)))"} : f32[2, 4, 8, 8] loc("a.grad", "SwishGrad", backward)
  %b.grad, %b.grad.1, %b.grad.2 = batch_norm_grad(%a.grad, %c, %scale, %b.3, %b.4) : f32[2, 4, 8, 8], f32[4], f32[4] loc("b.grad", "BatchNormalizationGrad", backward)
  %c.grad = conv_filter_grad(%b.grad, %x, %constant.grad.19) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : f32[4, 4, 3, 3] loc("c.grad", "Conv", backward)
  %w.momentum_buffer.next, %scale.momentum_buffer.next, %bias.momentum_buffer.next, %head.momentum_buffer.next, %wi.momentum_buffer.next, %wr.momentum_buffer.next, %table.momentum_buffer.next = multi_tensor(%w.momentum_buffer, %scale.momentum_buffer, %bias.momentum_buffer, %head.momentum_buffer, %wi.momentum_buffer, %wr.momentum_buffer, %table.momentum_buffer) {function="_foreach_mul_"} : f32[4, 4, 3, 3], f32[4], f32[4], f32[16, 8], f32[1, 32, 4], f32[1, 32, 8], f32[9, 4] loc("_foreach_mul_", "_foreach_mul_", optimizer)
  %w.momentum_buffer.next.next, %scale.momentum_buffer.next.next, %bias.momentum_buffer.next.next, %head.momentum_buffer.next.next, %wi.momentum_buffer.next.next, %wr.momentum_buffer.next.next, %table.momentum_buffer.next.next = multi_tensor(%w.momentum_buffer.next, %scale.momentum_buffer.next, %bias.momentum_buffer.next, %head.momentum_buffer.next, %wi.momentum_buffer.next, %wr.momentum_buffer.next, %table.momentum_buffer.next, %c.grad, %b.grad.1, %b.grad.2, %y.grad.1, %l.grad.1, %l.grad.2, %e.grad) {function="_foreach_add_", lists=2} : f32[4, 4, 3, 3], f32[4], f32[4], f32[16, 8], f32[1, 32, 4], f32[1, 32, 8], f32[9, 4] loc("_foreach_add_", "_foreach_add_", optimizer)
  %w.next, %scale.next, %bias.next, %head.next, %wi.next, %wr.next, %table.next = multi_tensor(%w, %scale, %bias, %head, %wi, %wr, %table, %w.momentum_buffer.next.next, %scale.momentum_buffer.next.next, %bias.momentum_buffer.next.next, %head.momentum_buffer.next.next, %wi.momentum_buffer.next.next, %wr.momentum_buffer.next.next, %table.momentum_buffer.next.next) {function="_foreach_add_", lists=2, alu=2} : f32[4, 4, 3, 3], f32[4], f32[4], f32[16, 8], f32[1, 32, 4], f32[1, 32, 8], f32[9, 4] loc("_foreach_add_.1", "_foreach_add_", optimizer)
  return %loss.1, %w.next, %scale.next, %bias.next, %head.next, %wi.next, %wr.next, %table.next, %w.momentum_buffer.next.next, %scale.momentum_buffer.next.next, %bias.momentum_buffer.next.next, %head.momentum_buffer.next.next, %wi.momentum_buffer.next.next, %wr.momentum_buffer.next.next, %table.momentum_buffer.next.next
}
