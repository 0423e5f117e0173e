"""Operators of ONNX Runtime that are only data: a row each, with shapes as its documents have."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import ClassVar

from ..cost import Traffic, dim_sum
from ..dim import Dim
from ..fresh import data_extent
from ..graph import Inputs
from ..op import Kind, Op, Types, count, each_once, has, tensor
from ..record import frozen
from ..types import DType, Shape, TensorType
from .window import product

_TERM = re.compile(r"(\w+)(\??)(?:\[([^\]]*)\])?")


@frozen
class Described(Op):
    """An operator whose shapes and work are written as text over letters.

    Shapes:  as the row says. ``...`` stands for leading axes; a letter that no operand binds is an
             extent that the data give.
    Work:    formulas of the row over those letters, the attributes, e elements of the first
             result, ``rows`` behind ``...`` and ``has_name`` of operands; unknown without any.
    Traffic: each operand and result once, or the ``parts`` of operands that the row gives.
    Source:  onnxruntime contrib_defs.cc and its siblings, version 1.32.
    """

    patterns: ClassVar[tuple[str, ...]] = ()
    """Axes of each operand, "" where the row says nothing."""
    made: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Of each result the operand or type that gives its element type, and its axes."""
    numbers: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes."""
    parts: ClassVar[Mapping[int, str]] = {}
    """Bytes that are read at least of operands, over letters and w, the bytes of all of it."""

    def bound(self, ins: Inputs) -> tuple[dict[str, Dim], Shape | None]:
        """Letters with their extents, and the axes of ``...``."""
        letters: dict[str, Dim] = {
            f"has_{n}": int(has(ins, i)) for i, n in enumerate(self.operands)
        }
        letters |= {n: v for n in type(self).numbers if isinstance(v := getattr(self, n), int)}
        leading: Shape | None = None
        for i, pattern in enumerate(self.patterns):
            shape, names = tensor(ins, i).shape, pattern.split(",") if pattern else []
            free = len(names) > 0 and names[0] == "..."
            names = names[free:]
            if not pattern or shape is None or len(shape) < len(names):
                continue
            cut = len(shape) - len(names)
            if free and leading is None:
                leading = shape[:cut]
            if free or not cut:
                letters |= dict(zip(names, shape[cut:], strict=True)) | letters
        if leading is not None:
            letters["rows"] = product(leading)
        return letters, leading

    def infer(self, ins: Inputs) -> Types:
        letters, leading = self.bound(ins)
        return tuple(
            TensorType(
                tensor(ins, int(of)).dtype if of.isdigit() else DType[of],
                _shape(axes, letters, leading),
            )
            for of, axes in self.made
        )

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        letters = {**self.bound(ins)[0], "e": count(outs[0])}
        read = set(re.findall(r"[A-Za-z_]\w*", " ".join(self.formulas.values())))
        return {name: letters[name] for name in read} if read <= letters.keys() else {}

    def read_parts(self, ins: Inputs) -> Mapping[int, Dim]:
        letters, _ = self.bound(ins)
        sizes = {i: tensor(ins, i).nbytes or 0 for i, v in enumerate(ins) if v is not None}
        if not self.parts:
            return {}
        return {
            i: _value(self.parts[i], {**letters, "w": w}) if i in self.parts else w
            for i, w in sizes.items()
        }

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        read = dim_sum(self.read_parts(ins).values()) if self.parts else whole.read_bytes
        # a subgraph inside reads more
        return Traffic(read, whole.write_bytes, whole.is_bound or not self.is_counted)


def _value(text: str, letters: Mapping[str, Dim]) -> Dim:
    try:
        found: Dim = eval(text, {"__builtins__": {}}, dict(letters))
    except (NameError, ZeroDivisionError):
        return 0 if "w" in letters else data_extent()
    return found


def _shape(axes: str, letters: Mapping[str, Dim], leading: Shape | None) -> Shape | None:
    names = [a for a in axes.split(",") if a]
    if names[:1] != ["..."]:
        return tuple(_value(n, letters) for n in names)
    return None if leading is None else (*leading, *(_value(n, letters) for n in names[1:]))


def described(
    mnemonic: str,
    source: str,
    operands: str,
    results: str,
    does: str,
    *,
    kind: Kind = Kind.OPAQUE,
    parts: Mapping[int, str] | None = None,
    formulas: Mapping[str, str] | None = None,
    **attributes: float,
) -> type[Op]:
    """An operator of ONNX Runtime as a row of data.

    Args:
        mnemonic: name in the text form.
        source: the ONNX operator, its domain in front.
        operands: names parted by blanks, with the mark and axes: ``X[...,k] bias?[n]``.
        results: the operand or element type whose type each has, with axes: ``0[...,n] I32[b]``.
        does: what it computes.
        kind: of kernel.
        parts: of operands, bytes that are read at least.
        formulas: work by unit; none where it is unknown, or where nothing but data moves.
        attributes: defaults of the attributes.
    """
    terms = _TERM.findall(operands)
    body = {
        "__module__": sys._getframe(1).f_globals["__name__"],
        "__doc__": f"{does}.\n\n    Source:  {source}, onnxruntime 1.32.",
        "__annotations__": {n: type(v).__name__ for n, v in attributes.items()},
        **attributes,
        "mnemonic": mnemonic,
        "onnx": (source,),
        "operands": tuple(name + mark for name, mark, _ in terms),
        "patterns": tuple(axes for _, _, axes in terms),
        "made": tuple((of, axes) for of, _, axes in _TERM.findall(results)),
        "numbers": tuple(attributes),
        "parts": parts or {},
        "kind": kind,
        "formulas": formulas or {},
        "is_counted": bool(formulas) or kind is Kind.MOVEMENT,
    }
    return frozen(type(source.rpartition("::")[2], (Described,), body))


SwiGLU = described(
    "clamped_swiglu", "com.microsoft::SwiGLU", "gate[...,n] up?", "0[...,n*(1+has_up)//2]",
    "Clamped SwiGLU", kind=Kind.ELEMENTWISE, formulas={"alu": "8*e", "sfu": "2*e"},
)  # fmt: skip
MatMulPacked = described(
    "matmul_packed", "com.microsoft::MatMulPacked", "A[...,k] B[n,p] global_scale?", "0[...,n]",
    "Product with rows of packed weights", kind=Kind.MATMUL, formulas={"mac": "rows*n*k"},
)  # fmt: skip
GatherPacked = described(
    "gather_packed", "com.microsoft::GatherPacked", "data[v,p] indices[...]", "UNKNOWN[...,K]",
    "Rows of a packed table", kind=Kind.GATHER, parts={0: "w//v"}, formulas={"alu": "e"}, K=0,
)  # fmt: skip
TorchEmbedding = described(
    "torch_embedding", "com.microsoft::TorchEmbedding",
    "weight[v,h] indices[...] padding_idx? scale_grad_by_freq?", "0[...,h]",
    "Rows of a table", kind=Kind.MOVEMENT, parts={0: "w//v"},
)  # fmt: skip
MoEPacked = described(
    "moe_packed", "com.microsoft::MoEPacked",
    "input[...,i] router_probs[t,x] gate_experts_weights[x,m,a] up_experts_weights?"
    " down_experts_weights router_weights?", "0[...,i]",
    "Experts of packed weights", kind=Kind.MATMUL,
    parts={2: "w*k//x", 3: "w*k//x", 4: "w*k//x"},
    formulas={"mac": "rows*k*i*m*(2 + has_up_experts_weights)"}, k=1,
)  # fmt: skip
RouterGateUpProj = described(
    "router_gate_up_proj", "com.microsoft::RouterGateUpProj", "X[...,k] W[k,n]",
    "0[...,router_size] 0[...,(n-router_size)//2]", "Router and gated layer of a shared expert",
    kind=Kind.MATMUL, formulas={"mac": "rows*k*n"}, router_size=0,
)  # fmt: skip
RemovePadding = described(
    "remove_padding", "com.microsoft::RemovePadding", "input[b,s,h] sequence_token_count[b]",
    "0[t,h] I32[b,s] I32[b+1] I32[1]", "Tokens of a batch without padding",
    kind=Kind.MOVEMENT, parts={0: "0"},
)  # fmt: skip
RestorePadding = described(
    "restore_padding", "com.microsoft::RestorePadding", "input[t,h] token_offset[b,s]",
    "0[b,s,h]", "Padding put back", kind=Kind.MOVEMENT,
)  # fmt: skip
RMSNormRotary = described(
    "rms_norm_rotary", "com.microsoft::RMSNormRotary",
    "X[b,s,n,d] scale[p] position_ids cosine sine prefill_numerics?", "BF16[b,s,n*p] F32[b,s,n,p]",
    "Normalised and rotated heads", kind=Kind.NORMALIZATION, parts={0: "0", 3: "0", 4: "0"},
    formulas={"alu": "5*e", "sfu": "b*s*n"},
)  # fmt: skip
BranchwiseRMSNorm = described(
    "branchwise_rms_norm", "com.microsoft::BranchwiseRMSNorm", "X[...] scale?", "0[...]",
    "RMS normalisation of each branch", kind=Kind.NORMALIZATION,
    formulas={"alu": "(3 + has_scale)*e"},
)  # fmt: skip
EngramGate = described(
    "engram_gate", "com.microsoft::EngramGate",
    "key[b,s,c,h] query value key_norm_scale query_norm_scale conv_norm_scale?",
    "0[b,s,c,h] 0[b,s,c,h]", "Gate of an engram", formulas={"alu": "9*e"}, kind=Kind.NORMALIZATION,
)  # fmt: skip
HyperConnectionPostMix = described(
    "hyper_connection_post_mix", "com.microsoft::HyperConnectionPostMix",
    "streams[...] block_output post_mix stream_mix?", "0[...]", "One branch put into streams",
    kind=Kind.ELEMENTWISE, formulas={"alu": "2*e"},
)  # fmt: skip
QOrderedGelu = described(
    "qordered_gelu", "com.microsoft::QOrderedGelu", "X[...] scale_X scale_Y", "0[...]",
    "GELU of 8-bit integers", kind=Kind.ELEMENTWISE, formulas={"alu": "8*e", "sfu": "e"},
)  # fmt: skip
QOrderedLayerNormalization = described(
    "qordered_layer_norm", "com.microsoft::QOrderedLayerNormalization",
    "X[...] scale_X scale B? scale_Y", "0[...]", "Layer normalisation of 8-bit integers",
    kind=Kind.NORMALIZATION, formulas={"alu": "12*e"},
)  # fmt: skip
QuantizeWithOrder = described(
    "quantize_with_order", "com.microsoft::QuantizeWithOrder", "input[...] scale_input", "I8[...]",
    "Quantisation in an order of elements", kind=Kind.QUANTIZE, formulas={"alu": "3*e"},
)  # fmt: skip
IsAllFinite = described(
    "is_all_finite", "com.microsoft::IsAllFinite", "input", "BOOL[]",
    "Whether every element is finite", kind=Kind.REDUCTION,
)  # fmt: skip
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
    "dynamic_time_warping", "com.microsoft::DynamicTimeWarping", "input", "I32[2,t]",
    "The cheapest path through a matrix",
)  # fmt: skip
Tokenizer = described(
    "tokenizer", "com.microsoft::Tokenizer", "X[...]", "0[...,t]", "Tokens of text"
)
QEmbedLayerNormalization = described(
    "qembed_layer_norm", "com.microsoft::QEmbedLayerNormalization",
    "input_ids[b,s] segment_ids? word_embedding_quant[v,h] position_embedding_quant"
    " segment_embedding? gamma_quant beta_quant mask? word_embedding_scale"
    " position_embedding_scale segment_embedding_scale? gamma_scale beta_scale"
    " word_embedding_zero_point position_embedding_zero_point segment_embedding_zero_point?"
    " gamma_zero_point beta_zero_point", "8[b,s,h] 0[b]",
    "Normalised sums of 8-bit embeddings", parts={2: "w//v", 3: "0", 4: "0"},
)  # fmt: skip
MatMulNBitsQLoRA = described(
    "matmul_nbits_qlora", "com.microsoft::MatMulNBitsQLoRA",
    "X[...,k] W scales lora_A lora_A_scales lora_B lora_B_scales", "0[...,N]",
    "Product with packed weights and packed factors beside them", kind=Kind.MATMUL, N=0,
)  # fmt: skip
MoEGroupRouter = described(
    "moe_group_router", "com.microsoft::MoEGroupRouter",
    "logits[...,y] expert_bias[x] projection_weight?", "0[rows,x] 1[rows,x] 1[rows,x]",
    "Scores of experts chosen in groups",
)  # fmt: skip
DecoderAttention = described(
    "decoder_attention", "com.microsoft::DecoderAttention",
    "query[...] key q_weight kv_weight bias key_padding_mask? key_cache? value_cache? static_kv"
    " use_past has_layer_state has_key_padding_mask", "0[...]",
    "Attention of a decoder whose caches flags choose", kind=Kind.ATTENTION,
    parts={1: "0", 2: "w", 3: "0", 6: "0", 7: "0"},
)  # fmt: skip
ConvStateReplay = described(
    "conv_state_replay", "com.microsoft::ConvStateReplay",
    "source_backing capture_backing destination_backing[...] metadata", "2[...]",
    "States of convolutions brought to an accepted token", parts={0: "0", 1: "0", 2: "0"},
)  # fmt: skip
GatedDeltaNetStateReplay = described(
    "gated_delta_net_state_replay", "com.microsoft::GatedDeltaNetStateReplay",
    "source_backing capsule_backing destination_backing[...] metadata", "2[...]",
    "States of a recurrence brought to an accepted token", parts={0: "0", 1: "0", 2: "0"},
)  # fmt: skip
GreedySearch = described(
    "greedy_search", "com.microsoft::GreedySearch",
    "input_ids[b,s] max_length min_length? repetition_penalty? vocab_mask? prefix_vocab_mask?"
    " attention_mask?", "I32[b,t]", "Tokens of the largest score, by a decoder inside",
)  # fmt: skip
Sampling = described(
    "sampling", "com.microsoft::Sampling",
    "input_ids[b,s] max_length min_length? repetition_penalty? vocab_mask? prefix_vocab_mask?"
    " attention_mask? presence_mask? seed?", "I32[b,t] UNKNOWN[b,v]",
    "Tokens drawn by their scores, by a decoder inside",
)  # fmt: skip
BeamSearch = described(
    "beam_search", "com.microsoft::BeamSearch",
    "input_ids max_length min_length? num_beams num_return_sequences length_penalty?"
    " repetition_penalty? vocab_mask? prefix_vocab_mask? attention_mask? decoder_input_ids?"
    " logits_processor?", "I32[y,n,t]", "Sequences of a beam, by a decoder inside",
)  # fmt: skip
