"""Classes of kernels, by the kernel's name and the operator that launched it."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache


class TracedClass(Enum):
    """Classes of kernels by their work."""

    MATMUL = "matrix product"
    CONV = "convolution"
    ATTENTION = "attention"
    EXPERTS = "experts"
    NORMALIZATION = "normalization"
    SOFTMAX = "softmax"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    GATHER = "gather, scatter"
    SORT = "sort, sampling"
    QUANTIZE = "quantization"
    OPTIMIZER = "optimizer"
    COPY = "copy"
    COMMUNICATION = "communication"
    OTHER = "other"

    __hash__ = object.__hash__


_BY_KERNEL: tuple[tuple[TracedClass, str], ...] = (
    (TracedClass.COMMUNICATION,
     r"nccl|rccl|all_?reduce|allgather|all_gather|reduce_?scatter|all_?to_?all|nvshmem"
     r"|cross_device_reduce|sendrecv|deep_?ep"),
    (TracedClass.COPY, r"^mem(cpy|set)|copyBuffer|fillBuffer|^CUDA mem(cpy|set)|^\[CUDA mem"),
    (TracedClass.QUANTIZE, r"::quantize_|^quantize_|_quant_kernel"),
    (TracedClass.ATTENTION,
     r"flash_?(fwd|bwd|attn|attention|decod|infer|mla)|fmha|attn_fwd|attn_bwd|bwd_kernel_fuse"
     r"|attention|paged_?att|\bmla_|_mla\b|sdpa"),
    (TracedClass.OPTIMIZER, r"adam|FusedOptimizer|multi_tensor_apply|_sgd_|\blamb_"),
    (TracedClass.EXPERTS,
     r"moe|topk_?gating|matmul_ogs|grouped_?gemm|grouped_?mm|expert|_routing|bmm_\w+E2m1"
     r"|finalize_matmul_scatter"),
    (TracedClass.CONV,
     r"conv(?!ert)|winograd|implicit_gemm|xdlops_(fwd|bwd)|wgrad|dgrad|nchwToNhwc|nhwcToNchw"),
    (TracedClass.NORMALIZATION,
     r"layer_?norm|rms_?norm|batch_?norm|group_?norm|bn_fw|bn_bw|instance_?norm|GammaBeta"
     r"|RowwiseMoments|Norm(alization)?(2d)?Fwd"),
    (TracedClass.QUANTIZE,
     r"quant(?!il)|scaled_fp8|cvt_fp16_to_fp4|MXFP4|nvfp4|int8_scale"),
    (TracedClass.SOFTMAX, r"soft_?max"),
    (TracedClass.MATMUL,
     r"gemm|gemv|^Cijk_|nvjet|matmul|cublas|_mm_|\bmm_|xmma|cutlass.*(tensorop|sm\d+_)|wgmma"
     r"|splitKreduce|rocblas|hipblas|^bmm_|dot_kernel|triton_tem_fused"),
    (TracedClass.SORT, r"sort|top_?k|sampl|multinomial|philox|distribution_|argmax|radix|onesweep"),
    (TracedClass.GATHER, r"gather|scatter|index|embedding|reshape_and_cache|masked_select|slice_"),
    (TracedClass.COPY,
     r"copy|CatArray|transpose|permute|fill(_|Functor)|reorder|reformat|pad_nd|triton_poi_fused_"
     r"(_?to_copy|clone|cat|slice|view|permute|transpose)(_\d+)?(_|$)|_clone_|im2col"),
    (TracedClass.REDUCTION, r"reduce|triton_(red|per)_|\bscan|cumsum|_sum_|mean"),
    (TracedClass.ELEMENTWISE,
     r"elementwise|triton_poi_|pointwise|_unary|_binary|act_and_mul|rotary|relu|gelu|silu|sigmoid"
     r"|dropout|\badd_|\bmul_|masked_scale|loop_(add|mul|multiply|convert|select|fusion)"
     r"|^(input_|loop_)?\w*fusion"),
)  # fmt: skip
"""Patterns of names in order of precedence. Sources: names of kernels of cuBLAS, cuDNN, CUTLASS,
hipBLASLt (``Cijk``), Composable Kernel, FlashAttention, Triton and TensorRT-LLM in their traces."""
_BY_OPERATOR: tuple[tuple[TracedClass, str], ...] = (
    (TracedClass.COMMUNICATION, r"c10d::|symm_mem::|nccl:|\ball_reduce|all_gather"),
    (TracedClass.ATTENTION, r"attention|flash_attn|fmha"),
    (TracedClass.EXPERTS, r"moe|expert"),
    (TracedClass.CONV, r"conv"),
    (TracedClass.NORMALIZATION, r"_norm|Normalization"),
    (TracedClass.SOFTMAX, r"softmax"),
    (TracedClass.MATMUL, r"\b(addmm|mm|bmm|baddbmm|matmul|linear|gemm|einsum|_scaled_mm|dot)\b"),
    (TracedClass.GATHER, r"index|gather|scatter|embedding"),
    (TracedClass.SORT, r"sort|topk|argmax|random|normal_|uniform_|multinomial"),
    (TracedClass.COPY, r"copy|clone|contiguous|fill_|zero_|\bcat\b|concat|transpose|reformat"),
    (TracedClass.REDUCTION, r"\b(sum|mean|max|min|amax|amin|norm|cumsum)\b|reduce"),
    (TracedClass.ELEMENTWISE,
     r"\b(add|sub|mul|div|pow|neg|sqrt|rsqrt|relu|gelu|silu|sigmoid|tanh|exp|where|cos|sin)_?\b"),
)  # fmt: skip


@cache
def _patterns() -> tuple[tuple[tuple[TracedClass, re.Pattern[str]], ...], ...]:
    return tuple(
        tuple((which, re.compile(pattern, re.IGNORECASE)) for which, pattern in table)
        for table in (_BY_KERNEL, _BY_OPERATOR)
    )


def class_of(kernel: str, operator: str = "") -> TracedClass:
    """Return the class of a kernel by its name, or by its operator if no pattern has the name.

    >>> class_of("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64").value
    'matrix product'
    >>> class_of("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>").value
    'elementwise'
    """
    for table, name in zip(_patterns(), (kernel, operator), strict=True):
        for class_, pattern in table:
            if pattern.search(name):
                return class_
    return TracedClass.OTHER
