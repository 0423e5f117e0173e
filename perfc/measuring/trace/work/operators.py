"""Table of the operators of traces: roles of their arguments, their results and operations.

`signature_of` looks an operator up; `costs` computes work from its signature and the call's shapes.
The format of ``TABLE`` is described below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from perfc.ir import record

TABLE = """
elementwise
add sub rsub mul maximum minimum fmax fmin remainder fmod bitwise_and bitwise_or : rr > ^ @1
div true_divide floor_divide atan2 xlogy : rr > f @0,1
pow : rr > ^ @1
eq ne lt gt le ge logical_and logical_or logical_xor isclose : rr > b @1
relu neg abs square sign floor ceil round trunc positive clamp clamp_min clamp_max : r > 0 @1
hardtanh hardswish hardsigmoid leaky_relu threshold relu6 nan_to_num bitwise_not : r > 0 @1
logical_not isnan isinf isfinite signbit : r > b @1
sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh atan : r > f @0,1
erf erfc reciprocal sigmoid logit softplus log_sigmoid_forward mish elu celu selu : r > f @0,1
silu : r > 0 @3,2
gelu : r > 0 @4,1
prelu _prelu_kernel _weight_norm : rr > 0 @1
where : rrr > ^ @1
masked_fill : rr > 0 @1
addcmul addcdiv : rrr > ^ @2
lerp : rr > ^ @2
glu : r @2,1
threshold_backward sigmoid_backward tanh_backward gelu_backward silu_backward : rr > 1 @2
hardtanh_backward hardswish_backward hardsigmoid_backward leaky_relu_backward : rr > 1 @2
elu_backward softplus_backward mish_backward logit_backward log_sigmoid_backward : rr > 0 @2
native_dropout_backward _masked_scale : rr > 0 @2
infinitely_differentiable_gelu_backward glu_backward : rr > 1 @2
native_dropout : r > 0,0:b1 @2
_fused_dropout dropout feature_dropout alpha_dropout : r > 0 @1
normal_ uniform_ bernoulli_ random_ exponential_ log_normal_ cauchy_ geometric_ : w
mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy : rr @2
mse_loss_backward smooth_l1_loss_backward huber_loss_backward : rrr > 1 @2
binary_cross_entropy_backward : rrr > 1 @2
nll_loss_forward nll_loss2d_forward : .r
nll_loss_backward nll_loss2d_backward : r.r
cross_entropy_loss : rr @3,1
sum mean amax amin prod logsumexp std var var_mean std_mean : rd > / @1
norm linalg_vector_norm : r.d > / @1
max min argmax argmin median all any : r @1
_local_scalar_dense nonzero count_nonzero isin _unique2 bincount histc : r
cumsum cumprod cummax cummin : r > 0 @1
sort msort argsort : r > 0,0:i64
topk kthvalue mode bucketize : r
searchsorted : .r
copy : wr
clone contiguous flip roll rot90 : r > 0
tril triu : . > 0
fill zero : w
cat stack hstack vstack concat : l > 0
_to_copy repeat : r
scatter scatter_add scatter_reduce : ..r
index_add index_copy : ..rr
index_put _index_put_impl : ..r
masked_select masked_scatter : .r
embedding_dense_backward embedding_backward _embedding_bag_dense_backward : rr
_embedding_bag embedding_bag _embedding_bag_forward_only : .rr
multinomial _fft_r2c _fft_c2r im2col linalg_inv_ex linalg_qr _linalg_svd linalg_lu_factor_ex : r
_fft_c2c logcumsumexp lgamma digamma erfinv frac rad2deg deg2rad : r > 0
_cdist_forward : rr
linalg_cross hypot copysign nextafter : rr > ^ @1
max_pool2d_with_indices_backward max_pool3d_with_indices_backward : r > 1
avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward : r > 1
_adaptive_avg_pool3d_backward adaptive_max_pool2d_backward : r > 1
_adaptive_avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d : rs > s @1
upsample_nearest1d upsample_nearest2d upsample_bilinear2d upsample_bicubic2d : .s > s
upsample_linear1d : .s > s
_upsample_nearest_exact2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa : .s > s
native_batch_norm_backward batch_norm_backward : rrr > 1 @2
native_layer_norm_backward : rr.rrr > 1 @2
native_group_norm_backward : rrr > 1 @2
cudnn_batch_norm_backward miopen_batch_norm_backward : rrr > 0 @2
_softmax_backward_data _log_softmax_backward_data : rr > 0 @2
_fused_rms_norm_backward : rr > 1 @2
_thnn_fused_lstm_cell : rrr > 2,2 @12,5
_thnn_fused_gru_cell : rrr > 2 @8,3
_grouped_mm _scaled_grouped_mm : r ?
_foreach_add _foreach_sub _foreach_mul _foreach_div _foreach_maximum _foreach_minimum : xr @1
_foreach_addcdiv _foreach_addcmul _foreach_lerp : xrr @2
_foreach_neg _foreach_abs _foreach_sqrt _foreach_exp _foreach_reciprocal _foreach_pow : x @1
_foreach_norm _amp_foreach_non_finite_check_and_unscale : r @1
_foreach_zero : w
_foreach_copy : wr
_fused_adam _fused_adamw : xrxx @12,2
_fused_sgd : xrx @3
_fused_adagrad : xrx @3,1
_C::rms_norm _vllm_C::rms_norm sgl_kernel::rmsnorm sgl_kernel::gemma_rmsnorm : wrr @2
_C::fused_add_rms_norm sgl_kernel::fused_add_rmsnorm sgl_kernel::gemma_fused_add_rmsnorm : xxr @3
_C::rms_norm_static_fp8_quant _C::rms_norm_dynamic_per_token_quant : wrr @3
_C::fused_add_rms_norm_static_fp8_quant : wrxr @4
aiter::rms_norm aiter::rms_norm_cu aiter::rmsnorm2d_fwd vllm::rocm_aiter_rms_norm : rr > 0 @2
aiter::rmsnorm2d_fwd_with_add aiter::rmsnorm2d_fwd_with_add_ck : wrrwr @3
aiter::fused_add_rms_norm_cu : xxr @3
vllm::rocm_aiter_rmsnorm2d_fwd_with_add : rrr > 0,0 @3
flashinfer::rmsnorm : wr @2
_C::silu_and_mul _C::gelu_and_mul _C::gelu_tanh_and_mul _C::mul_and_silu : wr @2,1
aiter::silu_and_mul : wr @2,1
_C::swigluoai_and_mul _C::fatrelu_and_mul sgl_kernel::silu_and_mul : wr @2,1
sgl_kernel::gelu_and_mul : wr @2,1
_C::silu_and_mul_quant _C::gelu_new _C::gelu_fast _C::gelu_quick : wr @2,1
_C::silu_and_mul_nvfp4_quant : wr @2,1
_C::static_scaled_fp8_quant _C::static_scaled_int8_quant aiter::static_per_tensor_quant : wr @1
_C::dynamic_scaled_fp8_quant _C::dynamic_per_token_scaled_fp8_quant : wrw @2
_C::dynamic_scaled_int8_quant aiter::dynamic_per_token_scaled_quant : wrw @2
aiter::dynamic_per_tensor_quant : wrw @2
_C::scaled_fp4_quant : wrw @1
_C::per_token_group_fp8_quant sgl_kernel::sgl_per_token_group_quant_fp8 : rww @2
sgl_kernel::sgl_per_token_quant_fp8 sgl_kernel::sgl_per_tensor_quant_fp8 : rww @2
_C_cache_ops::reshape_and_cache_flash _C_cache_ops::reshape_and_cache : rr
aiter::reshape_and_cache aiter::reshape_and_cache_flash : rr
_C_cache_ops::concat_and_cache_mla aiter::concat_and_cache_mla : rr
_moe_C::topk_softmax aiter::topk_softmax vllm::rocm_aiter_topk_softmax : wwwr
sgl_kernel::topk_softmax : wwr
_moe_C::moe_align_block_size sgl_kernel::moe_align_block_size : r
_moe_C::moe_sum sgl_kernel::moe_sum_reduce aiter::moe_sum : rw @1
_C::apply_repetition_penalties_ sgl_kernel::apply_token_bitmask_inplace_cuda : x
c10d::allreduce vllm::all_reduce symm_mem::multimem_all_reduce symm_mem::one_shot_all_reduce : x
::record_param_comms vllm::all_gather vllm::reduce_scatter : r
_C_custom_ar::all_reduce : .rw
vllm::moe_forward vllm::moe_forward_shared : rr > 0 ?
vllm::inplace_fused_experts vllm::outplace_fused_experts vllm::rocm_aiter_fused_moe : r > 0 ?
sglang::inplace_fused_experts sglang::outplace_fused_experts aiter::fused_moe : r > 0 ?
vllm::unified_attention vllm::attention vllm::unified_mla_attention : r > 0 ?
vllm::unified_attention_with_output aiter::unified_attention : r..w ?
sglang::unified_attention_with_output vllm::unified_mla_attention_with_output : r..w ?
::FlashAttnFunc flash_attn_3::_flash_attn_forward : rrr > 0 ?
_vllm_fa2_C::varlen_fwd _vllm_fa3_C::fwd sgl_kernel::fwd flash_attn_3::fwd : r > 0 ?
flash_attn::_flash_attn_varlen_forward aiter::mha_varlen_fwd aiter::fmha_v3_varlen_fwd : r > 0 ?
flash_attn::_flash_attn_varlen_backward : rrrrr > 1 ?
aiter::paged_attention_v1 _C::paged_attention_v1 _rocm_C::paged_attention : w ?
vllm::paged_attention_v1 : w ?
vllm::unified_kv_cache_update : rr
_C::gptq_marlin_gemm _C::marlin_gemm sgl_kernel::gptq_marlin_gemm : r.rrr ?
_C::awq_gemm _C::gptq_gemm trtllm::fp4_gemm trtllm::nvfp4_gemm aiter::gemm_a4w4 : rrrr ?
_C::cutlass_scaled_fp4_mm sgl_kernel::cutlass_scaled_fp4_mm : wrrrr ?
_weight_int4pack_mm : rr.r ?
bitsandbytes::gemv_4bit : rr.r ?
bitsandbytes::dequantize_4bit : rr
::LigerRMSNormFunction ::LigerSiLUMulFunction ::LigerGELUMulFunction : rr > 0 @2
::LigerRMSNormFunctionBackward ::LigerSiLUMulFunctionBackward ::FlashAttnFuncBackward : r > 0 ?
::FusedLayerNormAffineFunction ::FusedRMSNormAffineFunction : rr > 0 @2
split_with_sizes_copy fsdp::split_with_sizes_copy : r
fb::rms_norm : rrr > 0 @2
fbgemm::FloatToFP8RowwiseQuantized fbgemm::FP8RowwiseQuantizedToFloat : r
fbgemm::FloatToHFP8Quantized fbgemm::HFP8QuantizedToFloat fbgemm::bounds_check_indices : r
fbgemm::permute_pooled_embs fbgemm::permute_pooled_embs_auto_grad : r > 0
fbgemm::recat_embedding_grad_output_mixed_D_batch : r > 0
fbgemm::asynchronous_complete_cumsum fb::asynchronous_complete_cumsum : r > 0
fbgemm::permute_sparse_features fbgemm::permute_2D_sparse_data : r
fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function : ...........rr
torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op> : r
torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op_pt2> : r
::Add ::Sub ::Mul ::Max ::Min ::Mod ::And ::Or ::Xor ::Equal ::Less ::Greater ::PRelu : rr > = @1
::LessOrEqual ::GreaterOrEqual ::BitShift ::Pow ::Sum ::Mean : rr > = @1
::Div : rr > = @0,1
::Relu ::Neg ::Abs ::Sign ::Not ::Floor ::Ceil ::Round ::Clip ::LeakyRelu ::HardSigmoid : r > = @1
::HardSwish ::ThresholdedRelu ::IsNaN ::Cast : r > = @1
::Sigmoid ::Tanh ::Erf ::Exp ::Log ::Sqrt ::Reciprocal ::Sin ::Cos : r > = @0,1
::Softplus ::Elu ::Mish ::Celu ::Selu : r > = @0,1
::Gelu ::QuickGelu : r > = @4,1
::BiasGelu ::FastGelu ::BiasAdd : rrr > = @4,1
::Where : rrr > = @1
::Transpose ::Split ::Flip ::ReorderInput ::ReorderOutput ::CumSum ::DynamicQuantizeLinear : r > =
::Concat : rrrrrrrr > =
::Slice ::Expand ::Tile ::Pad ::Resize ::MaxPool ::AveragePool ::ConstantOfShape : . > =
::QuantizeLinear ::DequantizeLinear : rrr > = @2
::ReduceMean ::ReduceSum ::ReduceMax ::ReduceMin ::ReduceProd ::ReduceL2 ::ArgMax : r > = @1
::GlobalAveragePool ::GlobalMaxPool ::ReduceSumSquare : r > = @1
::TopK ::NonZero : r

normalization
::LayerNormalization ::SimplifiedLayerNormalization ::GroupNorm ::GroupNormalization : rrr > = @2
::InstanceNormalization ::RMSNormalization : rrr > = @2
::BatchNormalization : rrrrr > = @2
::SkipLayerNormalization ::SkipSimplifiedLayerNormalization : rrrrr > = @3
native_layer_norm layer_norm : r.rr > 0 @2
group_norm : r.rr > 0 @2
_fused_rms_norm rms_norm : r.r > 0 @2
native_group_norm : rrr > 0 @2
native_batch_norm batch_norm instance_norm cudnn_batch_norm : rrrrr > 0 @2
miopen_batch_norm _native_batch_norm_legit : rrrrr > 0 @2
_native_batch_norm_legit_no_training _batch_norm_with_update : rrrrr > 0 @2

softmax
_softmax _log_softmax _safe_softmax softmax log_softmax ::Softmax ::LogSoftmax : r > 0 @2,1

recurrent
_cudnn_rnn miopen_rnn : aW
lstm gru rnn_tanh rnn_relu : a.W
_cudnn_rnn_backward miopen_rnn_backward : aW

fused
::triton_poi ::triton_red ::triton_per : *

product
mm bmm matmul _int_mm mv dot vdot ::MatMul ::FusedMatMul : ab
_weight_int8pack_mm : atr
addmm baddbmm addmv _addmm_activation : cabB
linear : atc
::Gemm ::FusedGemm : abc
_scaled_mm : abrrrrD
_C::cutlass_scaled_mm : Oabrrc
sgl_kernel::fp8_scaled_mm sgl_kernel::int8_scaled_mm : abrr.c
vllm::rocm_unquantized_gemm vllm::rocm_unquantized_gemm_impl vllm::unquantized_gemm : atc
aiter::tuned_gemm aiter::gemm_a16w16 : at
aiter::gemm_a8w8 aiter::gemm_a8w8_ck aiter::gemm_a8w8_bpreshuffle : atrrO
aiter::gemm_a8w8_blockscale : atrrO
vllm::rocm_aiter_gemm_w8a8 vllm::rocm_aiter_gemm_w8a8_blockscale : atrr
_rocm_C::wvSplitK _rocm_C::LLMM1 : ta
deep_gemm::fp8_gemm_nt vllm::w8a8_block_fp8_matmul_func : at

convolution
convolution _convolution ::Conv ::FusedConv : ikrSPLT.G
conv1d conv2d conv3d : ikrSPLG
cudnn_convolution : ikPSLG
miopen_convolution miopen_depthwise_convolution mkldnn_convolution : ikrPSLG
cudnn_convolution_relu miopen_convolution_relu : ikrSPLG
cudnn_convolution_add_relu miopen_convolution_add_relu : ikr.rSPLG
_conv_depthwise2d conv_depthwise3d : ik.rSPL

gradients
convolution_backward : gik.S.....M
convolution_backward_overrideable : gikS.....M

pool
max_pool2d_with_indices max_pool3d_with_indices : iKSPL > 0,0:i64
max_pool2d max_pool3d : iKSPL > 0
avg_pool2d avg_pool3d : iKSP > 0

attention
_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu : qkv.C
scaled_dot_product_attention _scaled_dot_product_attention_math : qkvr.C
_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention : qkvr..C
_scaled_dot_product_fused_attention_overrideable : qkvr.C
_cudnn_attention_forward : qkvrNN....C
::MultiHeadAttention ::GroupQueryAttention : qkv
_scaled_dot_product_flash_attention_for_cpu_backward : rqkvrr.C
_scaled_dot_product_flash_attention_backward : rqkvrr.....C
_scaled_dot_product_efficient_attention_backward : rqkvrrr....C
_scaled_dot_product_cudnn_attention_backward : rqkvrr..r.....C

tokens
flash_attn::_flash_attn_forward : qkv..CZ
flash_attn::_flash_attn_backward : rqkvrrOOO..CZ
_flash_attention_forward : qkvNN...C
_efficient_attention_forward : qkvrNN
xformers::efficient_attention_forward_cutlass : qkvrNN......Z
aiter::mha_fwd aiter::fmha_v3_fwd aiter::wrapper_fmha_v3_fwd : qkv..CZ

rows
embedding ::Gather : wj
index_select : wdj
index : wj

elements
gather : wdj
take take_along_dim : wj

rotary
_C::rotary_embedding : rxxHt
"""
"""A section per cost model, a line per signature: names, roles of arguments, results, operations.

Names without a colon are those of ``aten``, in place or not; behind ``::`` those of no namespace,
as of ONNX. Roles: ``.`` not read, ``r`` read, ``l`` a list read, ``w`` written, ``x`` both, ``d``
axes, ``s`` extents of the result; products ``a · b``, ``t`` is ``b`` transposed, ``c`` added
unless ``B`` is 0, ``O`` the result, ``D`` its type; windows: input ``i``, filter ``k``, gradient
``g``, extents ``K``, stride ``S``, padding ``P``, dilation ``L``, transposed ``T``, groups ``G``,
mask ``M`` of gradients; attention ``q k v``, causal ``C``, lengths of sequences ``N``, window
``Z``; rows of ``w`` at ``j``; heads of extent ``H`` rotated by the table ``t``; ``W`` matrices of a
recurrence; ``*`` pointers and then extents of a generated kernel. Results: ``i`` like argument i,
``^`` broadcast, ``=`` recorded, ``f`` broadcast as real numbers, ``b`` as truth values, ``/``
without its axes, ``s`` those extents; an element type may follow after a colon.
``@x,y``: operations per element on the vector unit and special functions; ``?``: the operations
depend on data. Arguments after the roles are not read.
Sources: native_functions.yaml of PyTorch; ``TORCH_LIBRARY`` of vLLM, SGLang, AITER, FlashAttention.
"""
_GENERATED = re.compile(r"triton_(poi|red|per)(?=_fused)")
"""Kernels of Inductor: pointwise, reduction, persistent reduction."""
_PARTIAL = re.compile(r"cat|pad|gather|scatter|index|embedding|slice|select|masked|split")
"""Names of generated kernels that may read or write parts of their operands."""


@record
class OperatorSignature:
    """Roles of the arguments, results and operations of an operator.

    Args:
        model: cost model.
        roles: role of each argument.
        results: results, as index of an argument or a sign, with an element type after a colon.
        alu: operations of the vector unit per element.
        sfu: special functions per element.
        is_counted: False if the operations depend on data.
        is_backward: True for gradients.
    """

    model: str
    roles: str
    results: tuple[str, ...] = ()
    alu: int = 0
    sfu: int = 0
    is_counted: bool = True
    is_backward: bool = False


@cache
def signatures() -> Mapping[str, OperatorSignature]:
    """Return the signatures by operator, without the underscore of its in-place form."""
    by_name: dict[str, OperatorSignature] = {}
    model = ""
    # a line without a colon names the cost model of those after it
    for line in filter(None, TABLE.split("\n")):
        names, _, rest = line.partition(" : ")
        if not rest:
            model = names
            continue
        # ``rr > ^ @1``: roles, results behind ``>``, operations behind ``@``
        roles, *others = rest.split()
        counts = next((w[1:].split(",") for w in others if w[0] == "@"), [])
        alu, sfu = (*map(int, counts), 0, 0)[:2]  # 0 if left out
        results = others[others.index(">") + 1].split(",") if ">" in others else ()
        for name in names.split():
            # without a colon a name is of PyTorch; the underscore marks the in-place form
            space = "" if "::" in name else "aten::"
            by_name[space + name.removeprefix("::").rstrip("_")] = OperatorSignature(
                model,
                roles,
                tuple(results),
                alu,
                sfu,
                is_counted="?" not in others,
                is_backward="backward" in name,
            )
    return by_name


def signature_of(operator: str) -> OperatorSignature | None:
    """Return the signature of an operator, in place or not; None if it has none.

    Kernels that Inductor generates are one operator for each kind.
    """
    generated = _GENERATED.match(operator)
    if generated is not None:
        return None if _PARTIAL.search(operator) else signatures().get(generated[0])
    return signatures().get(operator.rstrip("_"))
