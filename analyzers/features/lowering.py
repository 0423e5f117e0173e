"""Lower kernels of the IR to rows of the operator predictor: class, element type, extents.

A row may have more parameters than its class; `table.complete` leaves out the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from perfc.ir import Env, Kind, Numbers, TensorType, Value
from perfc.ir.ops.attention.rotary import GemmaRotaryEmbedding, RotaryEmbedding
from perfc.ir.problem import (
    Attention,
    Collective,
    Experts,
    LinearAttention,
    MixedAttention,
    Product,
    Rows,
    SlidingWindow,
    Span,
    forward_of,
)

if TYPE_CHECKING:
    from perfc.passes.roofline.roofline import KernelBound

TOLERANCE = 0.01
"""Relative difference between the product of the extents and the counted multiply-accumulates above
which a kernel is not a plain matrix product."""
LATENT = (576.0, 512.0)
"""Extents of a key and a value where all heads share one latent (DeepSeek's latent attention)."""
EXPANDED = (192.0, 128.0)
"""Extents of a key and a value of DeepSeek's models where each head has separate ones."""
ABSORBED = ((512.0, 128.0), (128.0, 512.0))
"""Columns and depth of the products, one per head, that convert heads to latents and back."""
TWIN = {"f16": "bf16"}
"""Element type whose rows stand for those of the key, as libraries build the same kernels of
attention and experts for both types, at equal rates."""
ROTARY = (RotaryEmbedding, GemmaRotaryEmbedding)
"""Operators that rotate queries and keys by their position."""
MEASURED_STATES = frozenset({"bf16", "f16"})
"""Element types in which linear attention and the convolutions before it were measured."""
MAPPING = {
    Kind.ELEMENTWISE: "elementwise",
    Kind.QUANTIZE: "elementwise",
    Kind.MOVEMENT: "movement",
    Kind.GATHER: "embedding",
}
"""Classes of kernels that write one element for each that they read; a gather is a look-up."""
ROWWISE = {Kind.SOFTMAX: "softmax", Kind.NORMALIZATION: "normalization"}
"""Classes of kernels that reduce each row and then write it."""
STREAMING = frozenset({Kind.REDUCTION, Kind.POOL})
"""Kinds without measured rows. Rows of elementwise kernels stand for them, as for gradients of
normalizations: all stream their operands once."""


class Lowered(NamedTuple):
    """A kernel as a row of the operator predictor.

    Args:
        class_name: class name of `perfc.analyzers.features.classes`.
        dtype: element type of the arithmetic, or of stored tensors for kernels that stream them.
        parameters: extents of one launch.
    """

    class_name: str
    dtype: str
    parameters: Mapping[str, float]


def lower(bound: KernelBound, env: Env | Numbers) -> Lowered | None:
    """Return the row of a kernel; a gradient has the row of the forward kernel.

    The result is None if the kernel has no class, or an extent is zero.
    """
    if bound.counts.write_bytes <= 0:
        return None
    at, kind = env if isinstance(env, Numbers) else Numbers(env), bound.kernel.kind
    match forward_of(bound.kernel.problem):
        case Product() as problem:
            return _product(problem, bound, at)
        case LinearAttention() as problem:
            return _linear_attention(problem, bound, at)
        # a window with a carried state is a causal convolution over each sequence
        case SlidingWindow() as problem if problem.carried != 0:
            return _causal_convolution(problem, bound, at)
        case SlidingWindow() as problem if kind is Kind.CONV:
            extents = convolution(problem, at)
            return None if extents is None else Lowered("convolution", bound.dtype.code, extents)
        case Attention() as problem:
            return _attention(problem, bound, at)
        case MixedAttention() as problem:
            return _mixed_attention(problem, bound, at)
        case Experts() as problem:
            return _experts(problem, bound, at)
        case Rows() if bound.is_gradient:
            return _streaming(bound, at)
        case Rows() as problem if kind in ROWWISE:
            return _rowwise(problem, bound, at)
        case Collective() as problem:
            return _collective(problem, bound, at)
    if kind in MAPPING:
        return _mapping(bound, at)
    return _streaming(bound, at) if kind in STREAMING else None


def _product(problem: Product, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of a product; None if its extents do not give the counted operations."""
    batch, m, n, k = (float(at(d)) for d in (problem.products, problem.rows, problem.n, problem.k))
    if problem.is_grouped:
        # groups of different sizes count as groups of their mean size
        m = float(at(problem.m)) / max(batch, 1.0)
    mac, anchor = bound.counts.mac, bound.kernel.anchor
    if mac <= 0 or abs(batch * m * n * k - mac) > TOLERANCE * mac:
        return None
    parameters = {"m": m, "n": n, "k": k, "batch": batch}
    right = anchor.inputs[1] if len(anchor.inputs) > 1 else None
    # if a view or cast inside the kernel produces the right operand, the stored tensor is its input
    sources = [n.inputs[0] for n in bound.kernel.nodes if right in n.results and n is not anchor]
    right = sources[0] if sources else right
    if right is not None and right.weight is not None and not bound.is_gradient:
        parameters["transposed"] = 1.0  # frameworks store weights of linear layers as [n, k]
    if problem.weight_bits or problem.scale_block:
        parameters["weight_bits"] = float(problem.weight_bits)
        parameters["scale_block"] = float(problem.scale_block)
    dtype = bound.dtype.code
    if batch > 1 and (n, k) in ABSORBED and right is not None and right.weight is not None:
        return Lowered("batched_matmul", TWIN.get(dtype, dtype), parameters)
    return Lowered("matmul", dtype, parameters)


def _causal_convolution(problem: SlidingWindow, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return a row of mean tokens per sequence and channels; a plain convolution in other types."""
    sequences, channels = float(at(problem.carried)), float(at(problem.in_channels))
    positions = float(at(problem.positions))
    dtype = stored_type(bound.kernel.writes[0])
    if min(sequences, channels, positions) < 1:
        return None
    if dtype not in MEASURED_STATES:
        extents = convolution(problem, at)
        return None if extents is None else Lowered("convolution", bound.dtype.code, extents)
    parameters = {
        "batch": sequences,
        "query_len": max(positions / sequences, 1.0),
        "channels": channels,
        "taps": float(at(problem.taps)),
    }
    return Lowered("causal_convolution", TWIN.get(dtype, dtype), parameters)


def _linear_attention(problem: LinearAttention, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of linear attention; None for unmeasured types and extents below 1."""
    sequences, tokens = float(at(problem.sequences)), float(at(problem.tokens))
    parameters = {
        "batch": sequences,
        "query_len": max(tokens / max(sequences, 1.0), 1.0),
        "heads": float(at(problem.heads)),
        "key_heads": float(at(problem.key_heads)),
        "key_dim": float(at(problem.key_dim)),
        "value_dim": float(at(problem.value_dim)),
        "delta": float(problem.is_delta),
    }
    dtype = stored_type(bound.kernel.writes[0])
    extents = ("heads", "key_heads", "key_dim", "value_dim")
    least = min(sequences, tokens, *(parameters[n] for n in extents))
    if least < 1 or dtype not in MEASURED_STATES:
        return None
    return Lowered("linear_attention", TWIN.get(dtype, dtype), parameters)


def convolution(problem: SlidingWindow, at: Numbers) -> dict[str, float] | None:
    """Return extents in two directions, all before the last folded into one; None if one is 0."""
    spatial = [int(at(d)) for d in problem.in_extents]
    (out_h, out_w), (kernel_h, kernel_w) = (
        (math.prod(sizes[:-1]), sizes[-1] if sizes else 0)
        for sizes in ([at(d) for d in ds] for ds in (problem.out_extents, problem.extents))
    )
    batch, filters, depth = (
        at(d) for d in (problem.batch, problem.out_channels, problem.in_channels)
    )
    if not spatial or not all((batch, filters, depth, out_h, out_w, kernel_h, kernel_w)):
        return None
    pads = problem.pads_before(spatial)
    parameters = {
        "batch": batch,
        "in_channels": depth,
        "out_channels": filters,
        "in_h": math.prod(spatial[:-1]),
        "in_w": spatial[-1],
        "out_h": out_h,
        "out_w": out_w,
        "kernel_h": kernel_h,
        "kernel_w": kernel_w,
        "stride_h": math.prod(problem.strides[:-1]),
        "stride_w": problem.strides[-1],
        "pad_h": pads[0] if len(spatial) == 2 else 0,  # folded directions differ in padding
        "pad_w": pads[-1],
        "dilation_h": math.prod(problem.dilations[:-1]),
        "dilation_w": problem.dilations[-1],
        "groups": problem.groups,
        "transposed": problem.is_transposed,
    }
    return {name: float(value) for name, value in parameters.items()}


def _attention(problem: Attention, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of an attention; one with one query per sequence is a decode step."""
    counted = {
        "batch": float(at(problem.batch)),
        "heads": float(at(problem.heads)),
        "query_len": float(at(problem.query_len)),
        "kv_len": float(at(problem.kv_len)),
        "head_dim": float(at(problem.head_dim)),
    }
    if min(counted.values()) < 1:
        return None
    parameters = counted | {
        "kv_heads": float(at(problem.kv_heads)),
        "value_dim": float(at(problem.value_dim)),
        "causal": float(problem.is_causal),
        "window": float(problem.window),
        "cache_bits": float(problem.cache_bits),
    }
    dtype = TWIN.get(bound.dtype.code, bound.dtype.code)
    if is_latent(parameters):
        return Lowered("latent_attention", dtype, parameters)
    if parameters["query_len"] > 1:
        return Lowered("attention_prefill", dtype, parameters)
    cached_len = parameters["kv_len"] - 1  # without the new token
    for name in ("query_len", "kv_len", "causal"):
        del parameters[name]
    return Lowered("attention_decode", dtype, {**parameters, "cached_len": cached_len})


def is_latent(parameters: Mapping[str, float]) -> bool:
    """Return True if keys and values are latents or computed from them, judged by their extents."""
    extents, shared = (parameters["head_dim"], parameters["value_dim"]), parameters["kv_heads"]
    if extents == LATENT:
        return shared == 1
    return extents == EXPANDED and shared == parameters["heads"] and bool(parameters["causal"])


def _mixed_attention(problem: MixedAttention, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of a kernel of prompts and decode steps, or of one if the other is empty."""
    chunk = _attention(problem.prefill, bound, at)
    tokens = _attention(problem.decode, bound, at)
    if chunk is None or tokens is None:
        return chunk or tokens
    if (chunk.class_name, tokens.class_name) != ("attention_prefill", "attention_decode"):
        return None  # latent attention has no mixed kernel
    parameters = {
        **chunk.parameters,
        "decodes": tokens.parameters["batch"],
        "cached_len": tokens.parameters["cached_len"],
    }
    return Lowered("mixed_attention", chunk.dtype, parameters)


def _experts(problem: Experts, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of routed experts, with the distribution of tokens over them."""
    from .classes.experts import choice_of

    counted = {
        "tokens": float(at(problem.tokens)),
        "hidden": float(at(problem.hidden)),
        "inner": float(at(problem.inner)),
        "chosen": float(at(problem.chosen)),
        "experts": float(at(problem.experts)),
        "ranks": float(problem.ranks),
        "matrices": float(problem.matrices),
    }
    if min(counted.values()) < 1:
        return None
    stored = ("weight_bits", "scale_block")
    parameters = counted | {name: float(getattr(problem, name)) for name in stored}
    parameters |= choice_of(counted["tokens"], problem.skew)
    return Lowered("experts", TWIN.get(bound.dtype.code, bound.dtype.code), parameters)


def _collective(problem: Collective, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of a collective; None if nothing is exchanged."""
    parameters = exchange(problem, at)
    if parameters is None:
        return None
    return Lowered("collective", stored_type(bound.kernel.writes[0]), parameters)


def exchange(problem: Collective, at: Numbers) -> dict[str, float] | None:
    """Return the parameters of a collective; None without bytes or for a single rank."""
    from .networks import Operation

    nbytes = float(at(problem.nbytes))
    if nbytes < 1 or problem.ranks < 2:
        return None
    return {
        "operation": float(Operation[problem.exchange.name]),
        "ranks": float(problem.ranks),
        "nbytes": nbytes,
        "nodes": float(problem.nodes),
    }


def _rowwise(problem: Rows, bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of a kernel of rows; with statistics per channel, those of the last axis."""
    kernel = bound.kernel
    rows, elements = float(at(problem.rows)), float(at(problem.elements))
    if problem.span is Span.CHANNEL:
        extents = shape(kernel.anchor.inputs[0], at) or (1,)
        rows = elements / max(extents[-1], 1)
    if not rows or not elements:
        return None
    dtype = stored_type(kernel.writes[0]) if kernel.writes else bound.dtype.code
    row = {"rows": rows, "cols": elements / rows, **_tokens(bound, rows)}
    return Lowered(ROWWISE[kernel.kind], dtype, row)


def _mapping(bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of an elementwise kernel, a copy or a look-up, of the elements it writes."""
    kernel = bound.kernel
    extents = shape(kernel.writes[0] if kernel.writes else None, at)
    if extents is None or not math.prod(extents):
        return None
    numel, columns = math.prod(extents), float(extents[-1]) if extents else 1.0
    # operands that are not broadcast
    whole = [v for v in kernel.reads if math.prod(shape(v, at) or (0,)) >= numel]
    parameters = {
        "rows": numel / columns,
        "cols": columns,
        "operands": float(len(kernel.reads)),
        "tensor_operands": float(len(whole)),
    }
    parameters |= _stream(bound, numel) | _tokens(bound, numel / columns)
    return Lowered(MAPPING[kernel.kind], stored_type(kernel.writes[0]), parameters)


def _tokens(bound: KernelBound, tokens: float) -> dict[str, float]:
    """Return the parameters of a kernel on tokens; each row of the last axis is a token."""
    from .classes.tokenwise import TokenOperation

    kind, anchor, n = bound.kernel.kind, bound.kernel.anchor, bound.counts
    operation = TokenOperation.POINTWISE
    match kind:
        case Kind.NORMALIZATION:
            operation = TokenOperation.NORMALIZATION
        case Kind.GATHER:
            operation = TokenOperation.LOOKUP
        case _ if isinstance(anchor.op, ROTARY):
            operation = TokenOperation.ROTATION
        case Kind.ELEMENTWISE if n.sfu > 0:
            operation = TokenOperation.ACTIVATION
    return {
        "tokens": tokens,
        "operation": float(operation),
        "read_bytes": n.read_bytes,
        "write_bytes": n.write_bytes,
    }


def _streaming(bound: KernelBound, at: Numbers) -> Lowered | None:
    """Return the row of a kernel of `STREAMING` or a gradient, as elementwise over an operand."""
    kernel = bound.kernel
    if not kernel.reads or not kernel.writes:
        return None
    extents = shape(kernel.anchor.inputs[0] if kernel.anchor.inputs else None, at)
    if extents is None or not math.prod(extents):
        return None
    numel = math.prod(extents)
    full = sum(math.prod(shape(v, at) or (0,)) >= numel for v in kernel.reads)
    operands = dict.fromkeys(("operands", "tensor_operands"), full if bound.is_gradient else 1.0)
    row = {**operands, **_stream(bound, numel)}
    return Lowered("elementwise", stored_type(kernel.writes[0]), row)


def _stream(bound: KernelBound, numel: int) -> dict[str, float]:
    """Return the elements, traffic and operations of a kernel of ``numel`` elements."""
    n = bound.counts
    return {
        "elements": float(numel),
        "read_bytes": n.read_bytes,
        "write_bytes": n.write_bytes,
        "alu": n.alu,
        "sfu": n.sfu,
    }


def stored_type(value: Value) -> str:
    """Return the element type of a tensor; f32 if it has no tensor type."""
    return value.type.dtype.code if isinstance(value.type, TensorType) else "f32"


def shape(value: Value | None, at: Numbers) -> tuple[int, ...] | None:
    """Return the extents of a tensor as numbers; None if its rank is unknown."""
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    return tuple(int(at(d)) for d in value.type.shape)
