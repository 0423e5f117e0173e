"""Classes of kernels by the operator above them, and by their names where there is none."""

from __future__ import annotations

import pytest

from perfc.measuring.trace.classes import TracedClass, class_of

BY_NAME = {
    TracedClass.MATMUL: (
        "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT128x224x64",
        "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT",
        "volta_sgemm_128x64_nn",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<128>",
        "void marlin::Marlin<__half, 256>",
    ),
    TracedClass.ATTENTION: (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal",
        "sage_fwd",
        "_fwd_grouped_kernel_stage1",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<Params>",
        "kernel_unified_attention_2d",
        "void qk_int_sv_f8_attn_kernel<128>",
        "aiter::mla_a8w8_qh16_qseqlen1_gqaratio16",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16",
    ),
    TracedClass.EXPERTS: (
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu",
        "vllm::moe::topkGatingSoftmax<8>",
    ),
    TracedClass.COPY: (
        "triton_poi_fused__to_copy_1",
        "Memset (Device)",
        "CatArrayBatchedCopy<c10>",
    ),
    TracedClass.ELEMENTWISE: (
        "triton_poi_fused_add_mul_3",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
        "at::native::elementwise_kernel<128, 4, at::native::(lambda)>",
        "fused_rope_forward_kernel",
        "void transformer_engine::gated_act_kernel<8>",
    ),
    TracedClass.REDUCTION: ("triton_red_fused_mean_0", "void cub::DeviceScanKernel<int>"),
    TracedClass.CONV: (
        "void cudnn::engines_precompiled::nchwToNhwcKernel<float>",
        "volta_scudnn_128x64_relu_v1",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32",
        "SubTensorOpWithScalar1d",
        "cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x128_32x3_nhwc_align4",
    ),
    TracedClass.NORMALIZATION: (
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Quant",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEE",
        "void transformer_engine::normalization::ln_fwd_tuned_kernel<float>",
    ),
    TracedClass.QUANTIZE: (
        "void tensorrt_llm::kernels::quantize_with_block_size<2>(flashinfer::QuantizationSFLayout)",
        "per_token_group_quant_8bit_kernel",
        "void vllm::scaled_fp8_quant_kernel<float>",
    ),
    TracedClass.GATHER: (
        "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>",
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>",
        "vllm::concat_and_cache_mla_kernel<float>",
        "create_flashinfer_kv_indices_triton",
    ),
    TracedClass.OPTIMIZER: ("void at::native::multi_tensor_apply_kernel<FusedAdam>",),
    TracedClass.SORT: ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024>",),
    TracedClass.COMMUNICATION: (
        "void cross_device_reduce_2stage<bf16, 8>",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        "mscclKernel_Sum_half_Simple",
        "userbuffers_fp16_sum_inplace_gpu_rw_ag",
        "kuserbuffers_pushrecv",
        "void pplx::a2a_dispatch_send<8>",
        "nixlUcxPutKernel",
        "_ZN4mori3moe25EpDispatchIntraNodeKernelI13__hip_bfloat16EEvv",
        "void deep_ep::intranode::dispatch<8, 768>",
        "nvshmemi_transfer_rma_on_stream_kernel",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>",
        "void quickreduce::allreduce_prototype_twoshot<Codec>",
        "multimem_all_gather_kernel",
        "void mscclpp::allreduce7<half>",
        "tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel",
        "rcclKernel_SendRecv_RING",
        "void one_shot_all_reduce_kernel<c10::BFloat16, 8>",
    ),
}
BY_OPERATOR = {
    TracedClass.CONV: (
        "aten::cudnn_convolution",
        "aten::miopen_convolution",
        "aten::convolution_backward",
        "mkldnn::_convolution_pointwise",
        "QLinearConv",
        "jit(step)/block/conv_general_dilated",
    ),
    TracedClass.MATMUL: (
        "aten::addmm",
        "aten::_scaled_mm",
        "_C::cutlass_scaled_mm",
        "Gemm",
        "quantized::linear",
        "jit(step)/attention/dot_general",
        "MatMulNBits",
        "_C::gptq_marlin_gemm",
    ),
    TracedClass.NORMALIZATION: (
        "aiter::rmsnorm",
        "_C::fused_add_rms_norm",
        "aten::native_batch_norm_backward",
        "SkipLayerNormalization",
        "aten::_fused_rms_norm",
        "_C::rms_norm_static_fp8_quant",
    ),
    TracedClass.ELEMENTWISE: (
        "sgl_kernel::rotary_embedding",
        "aten::add_",
        "_C::silu_and_mul",
        "aten::native_dropout",
        "aten::threshold_backward",
        "aten::__and__",
    ),
    TracedClass.GATHER: (
        "sglang::store_cache",
        "aten::embedding_dense_backward",
        "aten::index_put_",
        "_C_cache_ops::reshape_and_cache_flash",
        "aten::upsample_bilinear2d",
        "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
    ),
    TracedClass.REDUCTION: (
        "aten::linalg_vector_norm",
        "aten::max_pool2d_with_indices",
        "aten::sum",
    ),
    TracedClass.ATTENTION: (
        "vllm::unified_attention_with_output",
        "aten::_flash_attention_backward",
    ),
    TracedClass.EXPERTS: ("vllm::moe_forward", "aten::_grouped_mm"),
    TracedClass.OPTIMIZER: ("aten::_foreach_add_", "aten::_fused_adamw_"),
    TracedClass.QUANTIZE: ("DequantizeLinear", "_C::dynamic_scaled_int8_quant"),
    TracedClass.COPY: ("aten::copy_", "aten::zero_", "aten::slice_backward", "Concat"),
    TracedClass.SOFTMAX: ("aten::_softmax", "Softmax"),
    TracedClass.SORT: ("aten::topk", "aten::normal_"),
    TracedClass.COMMUNICATION: ("c10d::allreduce_", "record_param_comms"),
}


@pytest.mark.parametrize(("expected", "kernel"), [(c, k) for c in BY_NAME for k in BY_NAME[c]])
def test_kernels_have_the_class_of_their_work(expected: TracedClass, kernel: str) -> None:
    assert class_of(kernel) is expected


@pytest.mark.parametrize(
    ("expected", "operator"), [(c, o) for c in BY_OPERATOR for o in BY_OPERATOR[c]]
)
def test_the_operator_decides_before_the_name(expected: TracedClass, operator: str) -> None:
    for kernel in ("volta_sgemm_128x64_nn", "elementwise_kernel", "Memset (Device)", "nameless"):
        assert class_of(kernel, operator) is expected


def test_the_name_decides_on_communication_and_on_operators_without_a_class() -> None:
    reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    assert class_of(reduce, "aten::mm") is TracedClass.COMMUNICATION
    assert class_of("volta_sgemm_128x64_nn", "CompiledFunction") is TracedClass.MATMUL
    fused = "triton_poi_fused_convolution_relu_5"
    assert class_of(fused, fused) is class_of(fused)
    assert class_of("nameless", "CompiledFunction") is TracedClass.OTHER
