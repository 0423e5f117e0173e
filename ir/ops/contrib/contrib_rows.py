"""ONNX Runtime operators defined only by data: products, normalizations, packed weights."""

from __future__ import annotations

from ... import Kind
from .described import described

SwiGLU = described(
    "clamped_swiglu",
    "com.microsoft::SwiGLU",
    "gate[...,n] up?",
    "0[...,n*(1+has_up)//2]",
    "Clamped SwiGLU",
    kind=Kind.ELEMENTWISE,
    formulas={"alu": "8*e", "sfu": "2*e"},
)
MatMulPacked = described(
    "matmul_packed",
    "com.microsoft::MatMulPacked",
    "A[...,k] B[n,p] global_scale?",
    "0[...,n]",
    "Product with rows of packed weights",
    kind=Kind.MATMUL,
    logical={1: "n*k"},
    formulas={"mac": "rows*n*k"},
)
GatherPacked = described(
    "gather_packed",
    "com.microsoft::GatherPacked",
    "data[v,p] indices[...]",
    "output_dtype[...,K]",
    "Rows of a packed table",
    kind=Kind.GATHER,
    parts={0: "w//v"},
    logical={0: "v*K"},
    formulas={"alu": "e"},
    K=0,
    output_dtype=16,
)
TorchEmbedding = described(
    "torch_embedding",
    "com.microsoft::TorchEmbedding",
    "weight[v,h] indices[...] padding_idx? scale_grad_by_freq?",
    "0[...,h]",
    "Rows of a table",
    kind=Kind.MOVEMENT,
    parts={0: "w//v"},
)
MoEPacked = described(
    "moe_packed",
    "com.microsoft::MoEPacked",
    "input[...,i] router_probs[t,x] gate_experts_weights[x,m,a] up_experts_weights?"
    " down_experts_weights router_weights?",
    "0[...,i]",
    "Experts of packed weights",
    kind=Kind.MATMUL,
    parts={2: "w*k//x", 3: "w*k//x", 4: "w*k//x"},
    logical={2: "x*m*i", 3: "x*m*i", 4: "x*m*i"},
    formulas={"mac": "rows*k*i*m*(2 + has_up_experts_weights)"},
    k=1,
)
RouterGateUpProj = described(
    "router_gate_up_proj",
    "com.microsoft::RouterGateUpProj",
    "X[...,k] W[k,n]",
    "0[...,router_size] 0[...,(n-router_size)//2]",
    "Router and gated layer of a shared expert",
    kind=Kind.MATMUL,
    formulas={"mac": "rows*k*n"},
    router_size=0,
)
RemovePadding = described(
    "remove_padding",
    "com.microsoft::RemovePadding",
    "input[b,s,h] sequence_token_count[b]",
    "0[t,h] I32[b,s] I32[b+1] I32[1]",
    "Tokens of a batch without padding",
    kind=Kind.MOVEMENT,
    parts={0: "0"},
)
RestorePadding = described(
    "restore_padding",
    "com.microsoft::RestorePadding",
    "input[t,h] token_offset[b,s]",
    "0[b,s,h]",
    "Padding put back",
    kind=Kind.MOVEMENT,
)
RMSNormRotary = described(
    "rms_norm_rotary",
    "com.microsoft::RMSNormRotary",
    "X[b,s,n,d] scale[p] position_ids cosine sine prefill_numerics?",
    "16-6*output_fp16[1 if flatten_batch else b,b*s if flatten_batch else s,n*p] F32[b,s,n,p]",
    "Normalized and rotated heads",
    kind=Kind.NORMALIZATION,
    parts={0: "0", 3: "0", 4: "0"},
    formulas={"alu": "4*e + 3*b*s*n*rotary_embedding_dim", "sfu": "b*s*n"},
    rotary_embedding_dim=0,
    output_fp16=0,
    flatten_batch=0,
)
BranchwiseRMSNorm = described(
    "branchwise_rms_norm",
    "com.microsoft::BranchwiseRMSNorm",
    "X[...] scale?",
    "0[...]",
    "RMS normalization of each branch",
    kind=Kind.NORMALIZATION,
    formulas={"alu": "(3 + has_scale)*e"},
)
EngramGate = described(
    "engram_gate",
    "com.microsoft::EngramGate",
    "key[b,s,c,h] query value key_norm_scale query_norm_scale conv_norm_scale?",
    "0[b,s,c,h] 0[b,s,c,h]",
    "Gate of an engram",
    formulas={"alu": "9*e"},
    kind=Kind.NORMALIZATION,
)
HyperConnectionPostMix = described(
    "hyper_connection_post_mix",
    "com.microsoft::HyperConnectionPostMix",
    "streams[...] block_output post_mix stream_mix?[...,c,k]",
    "0[...]",
    "One branch put into streams",
    kind=Kind.ELEMENTWISE,
    formulas={"alu": "e*(2 + has_stream_mix*(2*c - 1))"},
)
QOrderedGelu = described(
    "qordered_gelu",
    "com.microsoft::QOrderedGelu",
    "X[...] scale_X scale_Y",
    "0[...]",
    "GELU of 8-bit integers",
    kind=Kind.ELEMENTWISE,
    formulas={"alu": "8*e", "sfu": "e"},
)
QOrderedLayerNormalization = described(
    "qordered_layer_norm",
    "com.microsoft::QOrderedLayerNormalization",
    "X[...] scale_X scale B? scale_Y",
    "0[...]",
    "Layer normalization of 8-bit integers",
    kind=Kind.NORMALIZATION,
    formulas={"alu": "12*e"},
)
QuantizeWithOrder = described(
    "quantize_with_order",
    "com.microsoft::QuantizeWithOrder",
    "input[...] scale_input",
    "I8[...]",
    "Quantization in an order of elements",
    kind=Kind.QUANTIZE,
    formulas={"alu": "3*e"},
)
IsAllFinite = described(
    "is_all_finite",
    "com.microsoft::IsAllFinite",
    "input+",
    "BOOL[]",
    "Whether every element is finite",
    kind=Kind.REDUCTION,
)
NGramRepeatBlock = described(
    "ngram_repeat_block",
    "com.microsoft::NGramRepeatBlock",
    "input_ids scores[...]",
    "1[...]",
    "Scores of tokens that would repeat taken out",
)
SampleOp = described(
    "sample_op", "com.microsoft::SampleOp", "X[...]", "0[...]", "An example", kind=Kind.MOVEMENT
)
DynamicTimeWarping = described(
    "dynamic_time_warping",
    "com.microsoft::DynamicTimeWarping",
    "input",
    "I32[2,t]",
    "The cheapest path through a matrix",
)
Tokenizer = described(
    "tokenizer", "com.microsoft::Tokenizer", "X[...]", "0[...,t]", "Tokens of text"
)
QEmbedLayerNormalization = described(
    "qembed_layer_norm",
    "com.microsoft::QEmbedLayerNormalization",
    "input_ids[b,s] segment_ids? word_embedding_quant[v,h] position_embedding_quant"
    " segment_embedding? gamma_quant beta_quant mask? word_embedding_scale"
    " position_embedding_scale segment_embedding_scale? gamma_scale beta_scale"
    " word_embedding_zero_point position_embedding_zero_point segment_embedding_zero_point?"
    " gamma_zero_point beta_zero_point",
    "8[b,s,h] 0[b]",
    "Normalized sums of 8-bit embeddings",
    kind=Kind.NORMALIZATION,
    parts={2: "w//v", 3: "0", 4: "0"},
    formulas={"alu": "(12 + 3*has_segment_embedding)*e", "sfu": "b*s"},
)
MatMulNBitsQLoRA = described(
    "matmul_nbits_qlora",
    "com.microsoft::MatMulNBitsQLoRA",
    "X[...,k] W scales lora_A[r,g,p] lora_A_scales lora_B lora_B_scales",
    "0[...,N]",
    "Product with packed weights and with packed low-rank factors",
    kind=Kind.MATMUL,
    logical={1: "N*k", 3: "r*k", 5: "r*N"},
    formulas={"mac": "rows*(N*k + r*(N + k))", "alu": "2*(N*k + r*(N + k)) + rows*N"},
    N=0,
)
MoEGroupRouter = described(
    "moe_group_router",
    "com.microsoft::MoEGroupRouter",
    "logits[...,y] expert_bias[x] projection_weight?",
    "0[rows,x] 1[rows,x] 1[rows,x]",
    "Scores of experts chosen in groups",
)
QuantizeBFP = described(
    "quantize_bfp",
    "com.microsoft::QuantizeBFP",
    "x[...]",
    "U8[z] I64[rank] I64[rank]",
    "Blocks of numbers with a shared exponent",
    kind=Kind.QUANTIZE,
)
DequantizeBFP = described(
    "dequantize_bfp",
    "com.microsoft::DequantizeBFP",
    "x shape strides",
    "dtype[*]",
    "Numbers of blocks with a shared exponent",
    kind=Kind.QUANTIZE,
    dtype=1,
)
DequantizeWithOrder = described(
    "dequantize_with_order",
    "com.microsoft::DequantizeWithOrder",
    "input[...] scale_input",
    "to[...]",
    "Dequantization from an order of elements",
    kind=Kind.QUANTIZE,
    formulas={"alu": "e"},
    to=1,
)
HyperConnectionLowRankMix = described(
    "hyper_connection_low_rank_mix",
    "com.microsoft::HyperConnectionLowRankMix",
    "streams[...,f] norm_scale down_weight[f,r] up_weight inject_weight prev_block_output?"
    " prev_post_gate?",
    "0[...,f//num_branches] 0[...,num_branches] 0[...,f]",
    "Streams normalized, gated by a network of low rank and summed",
    kind=Kind.MATMUL,
    formulas={
        "mac": "rows*f*(2*r + num_branches)",
        "alu": "rows*(f*(8 + 2*has_prev_block_output) + 4*r + 4*num_branches)",
        "sfu": "rows*(2*f + 2*r + 3*num_branches)",
    },
    num_branches=1,
)
