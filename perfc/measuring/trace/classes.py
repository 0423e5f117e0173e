"""Classes of kernels, by the kernel's name and the operator that launched it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache

from perfc.view.report.formats.document import Name

_DECORATION = re.compile(r"\((?!anonymous).*$|^void |\(anonymous namespace\)::|\b(\w+::)+")
"""Parameters and namespaces of a kernel's name."""
LONGEST = 56
HEAD = 20
"""Characters of a kernel's name in text, and those at its begin that remain in narrow text."""


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


_TABLE: Sequence[tuple[TracedClass, str, str]] = (
    (
        TracedClass.COMMUNICATION,
        r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|_a2a|a2a_|nvshmem|cross_device"
        r"|sendrecv|push(send|recv)|deep_?ep|msccl|userbuffers|\bub_|pplx|(?<![a-z])mori|nixl|multimem"
        r"|symm_mem|lamport|quick_?reduce|(one|two)_?shot|oneccl|\bhccl|hcom_|\buc[cpt]_|moe_?comm"
        r"|ep_?(dispatch|combine)",
        r"c10d|symm_mem|nccl|record_param_comms|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
        r"|custom_ar\b|deep_?ep|pplx|mori\b|nvshmem|userbuffers",
    ),
    (TracedClass.COPY, r"^mem(cpy|set)|copyBuffer|fillBuffer|^CUDA mem(cpy|set)|^\[CUDA mem", ""),
    (TracedClass.ELEMENTWISE, r"rotary|(\b|_)rope(_|\b)", r"rotary|(\b|_)rope(_|\b)"),
    (
        TracedClass.GATHER,
        r"split_embedding|embedding_(back|for)ward|(reshape|concat)_and_cache|store_(kv|cache)"
        r"|set_(mla_)?kv|copy_kv|kv_?cache_(store|copy|write)",
        r"embedding|lookup|kv_?cache|store_cache|_and_cache|cache_ops|kv_buffer",
    ),
    (
        TracedClass.ATTENTION,
        r"flash_?(fwd|bwd|decod|mla)|fmha|attn|bwd_kernel_fuse|attention|paged_?att|(\b|_)mla(_|\b)"
        r"|sdpa|\bsage_?\w*_?fwd|Batch(Paged|Ragged)?(Prefill|Decode)|SinglePrefill|MergeStates?\b"
        r"|^_fwd(_grouped)?_kernel|\bpa_(bf|f|i)\d|decode_att",
        r"attention|attn|fmha|\bmha_|mla\b|mla_|sdpa|sage|(batch|single)_(prefill|decode)|paged_",
    ),
    (
        TracedClass.OPTIMIZER,
        r"adam|FusedOptimizer|multi_tensor_apply|_sgd_|\blamb_",
        r"_foreach_|adam|adagrad|\blamb|\blion\b|_sgd_|fused_sgd|multi_tensor|optimizer",
    ),
    (
        TracedClass.EXPERTS,
        r"moe|topk_?gating|matmul_ogs|grouped_?gemm|grouped_?mm|expert|_routing|bmm_\w+E2m1"
        r"|finalize_matmul_scatter",
        r"moe|expert|grouped_?(gemm|mm)|topk_softmax|MixtureOf",
    ),
    (
        TracedClass.CONV,
        r"conv(?!ert)|winograd|implicit_gemm|xdlops_(fwd|bwd)|wgrad|dgrad|fprop|nchwToNhwc|nhwcToNchw"
        r"|scudnn|cudnn_(infer|train)|igemm_(fwd|bwd|wrw)|im2col|col2im|batched_transpose_\d"
        r"|SubTensorOp",
        r"conv(?!ert)|im2col|col2im",
    ),
    (
        TracedClass.NORMALIZATION,
        r"layer_?norm|rms_?norm|batch_?norm|group_?norm|bn_fw|bn_bw|instance_?norm|GammaBeta"
        r"|RowwiseMoments|Norm(alization)?(2d)?(Fwd|Bwd)|_norm_kernel|qk_?norm|::norm::|ln_(fwd|bwd)",
        r"(?<!weight)(?<!linalg)(?<!vector)(?<!matrix)_norm(?!al)|rmsnorm|layernorm|Normalization|normalize\b|\bln_",
    ),
    (TracedClass.SOFTMAX, r"soft_?max", r"softmax"),
    (
        TracedClass.MATMUL,
        r"(?<!fb)gemm|gemv|^Cijk_|nvjet|matmul|cublas|_mm_|\bmm_|xmma|cutlass.*(tensorop|sm\d+_)|wgmma"
        r"|splitKreduce|rocblas|hipblas|^bmm_|dot_kernel|triton_tem_fused|marlin|machete",
        r"\b(addmm|mm|bmm|baddbmm|addmv|mv|linear|einsum|dot|dot_general|ger)_?\b|matmul"
        r"|(?<!fb)gemm|_mm\b|linear_(forward|backward)|MatrixMultiply|FullyConnected",
    ),
    (
        TracedClass.QUANTIZE,
        r"quant(?!il)|scaled_fp8|cvt_fp16_to_fp4|MXFP4|nvfp4|int8_scale|transformer_engine.*cast",
        r"quant(?!il)|scaled_fp8|scaled_fp4|to_fp8|to_fp4",
    ),
    (
        TracedClass.SORT,
        r"sort|top_?k|(?<!up)(?<!grid_)sampl|multinomial|philox|distribution_|argmax|radix|onesweep|partition_kernel",
        r"sort|top_?k|argmax|argmin|\brand|random|normal_?\b|uniform_?\b|multinomial|bernoulli"
        r"|exponential_?\b|(top_p|min_p|_)sampl|sampling|sampler\b",
    ),
    (
        TracedClass.GATHER,
        r"gather|scatter|index|indices|embedding|_and_cache|kv_?cache|kv_buffer|masked_select|slice_"
        r"|upsample|grid_sampl|lookup|permute_2D|unpermute|compute_grad_weight",
        r"index|gather|scatter|masked_select|nonzero|\btake|unique|upsample|grid_sampl|resize|roi_"
        r"|permute_(pooled|sparse)",
    ),
    (
        TracedClass.COPY,
        r"copy|CatArray|transpose|permute|fill(_|Functor)|reorder|reformat|pad_nd|triton_poi_fused_"
        r"(_?to_copy|clone|cat|slice|view|permute|transpose)(_\d+)?(_|$)|_clone_",
        r"copy|clone|contiguous|fill_?\b|zero_?\b|zeros|ones|full\b|arange|\bcat\b|concat|stack"
        r"|transpose|permute|reformat|reshape|\bpad|_pad|\broll\b|repeat|expand|flip|\bto\b|cast"
        r"|(slice|select|split|chunk)(_backward)?\b|item\b|local_scalar_dense",
    ),
    (
        TracedClass.REDUCTION,
        r"reduce|triton_(red|per)_|\bscan|lookback_scan|Scan(Init)?Kernel|cumsum|_sum_|mean|pool",
        r"\b(sum|mean|max|min|amax|amin|aminmax|norm|cumsum|cumprod|prod|var|std|var_mean|any|all|count"
        r"|logsumexp|linalg_vector_norm|linalg_norm|bincount|histc|equal)\b|reduce|loss|pool",
    ),
    (
        TracedClass.ELEMENTWISE,
        r"elementwise|triton_poi_|pointwise|_unary|_binary|act_and_mul|relu|gelu|silu|sigmoid|swiglu"
        r"|dropout|\badd_|\bmul_|masked_scale|loop_(add|mul|multiply|convert|select|fusion)"
        r"|^(input_|loop_)?\w*fusion|gated_act|transform_kernel|op_tensor|OpTensor|ActivationFwd|activ(ation)?_",
        r"\b(add|sub|rsub|mul|div|pow|neg|abs|sqrt|rsqrt|square|reciprocal|relu6?|gelu|silu|sigmoid"
        r"|tanh|exp2?|expm1|log1?p?|log2|where|cos|sin|erf|clamp(_min|_max)?|minimum|maximum|floor"
        r"|ceil|round|sign|eq|ne|lt|le|gt|ge|masked_fill|lerp|addcmul|addcdiv|hard\w+|leaky_relu|elu"
        r"|softplus|mish|glu|tril|triu|isnan|isinf|logical_\w+|bitwise_\w+|remainder|fmod|logit"
        r"|nan_to_num|threshold(_backward)?"
        r"|\w*(relu|gelu|silu|sigmoid|tanh|elu|softplus|mish|glu|swish|logit)_backward)_?\b"
        r"|and_mul|swiglu|geglu|dropout|pointwise|elementwise|__\w+__|activation",
    ),
)
"""Class with patterns of kernels and of operators, in order of precedence.

Sources: kernels of cuBLAS, cuDNN, CUTLASS, hipBLASLt (``Cijk``), MIOpen, Composable Kernel, Triton,
FlashAttention, FlashInfer, TensorRT-LLM, vLLM, SGLang, AITER, TransformerEngine, NCCL, MSCCL++,
NVSHMEM, DeepEP, pplx, MoRI and NIXL; operators of PyTorch, ONNX and XLA."""


@cache
def _patterns() -> tuple[tuple[TracedClass, re.Pattern[str], re.Pattern[str]], ...]:
    never = "(?!)"
    return tuple(
        (which, *(re.compile(p or never, re.IGNORECASE) for p in patterns))  # type: ignore[misc]
        for which, *patterns in _TABLE
    )


@cache
def class_of(kernel: str, operator: str = "") -> TracedClass:
    """Return the class of a kernel.

    Kernels of communication are known by their name; for others the operator decides, and the name
    where no pattern has the operator. Operators of Triton are the kernel itself.

    >>> class_of("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64").value
    'matrix product'
    >>> class_of("volta_scudnn_128x64_relu_medium_nn_v1", "aten::relu").value
    'elementwise'
    """
    name = "" if operator.startswith("triton_") else operator.rpartition("/")[2]
    (communication, sends, _), *_ = _patterns()
    if sends.search(kernel):
        return communication
    by_operator = (which for which, _, pattern in _patterns() if pattern.search(name))
    by_kernel = (which for which, pattern, _ in _patterns() if pattern.search(kernel))
    return next(by_operator, next(by_kernel, TracedClass.OTHER))


def kernel_name(kernel: str) -> Name:
    """Return the name of a kernel, in text without its namespaces and parameters."""
    short = _DECORATION.sub("", kernel) or kernel
    return Name(kernel, short[:LONGEST], HEAD)


def called(operator: str) -> str | None:
    """Return an operator without its namespace; None if the trace has none."""
    return operator.removeprefix("aten::") or None


def abbreviated(text: str) -> Name | None:
    """Return a name that narrow text shortens in its middle; None for an empty one."""
    return Name(text, text, HEAD) if text else None
