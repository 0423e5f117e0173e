"""com.microsoft operators that real exports contain, where onnxruntime's CPU has a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import sweep
from .build import Build

MS = "com.microsoft"
OPSETS = (13, 17, 21)


def hidden(b: Build) -> tuple[int, int, int, int]:
    """Batch, sequence, heads and head size."""
    return b.rng.randint(1, 2), b.rng.randint(1, 4), b.rng.randint(1, 3), b.pick(4, 8)


@sweep("Attention", repeats=8, opsets=OPSETS)
def attention(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    x = b.rand((n, s, h * d))
    args = [x, b.const(b.array((h * d, 3 * h * d))), b.const(b.array((3 * h * d,)))]
    outputs = 1
    if b.chance(0.4):
        args.append(b.data(np.full(n, s, np.int32)))
    if b.chance(0.4):
        past = b.rng.randint(1, 3)
        args += [""] * (4 - len(args))
        args.append(b.rand((2, n, h, past, d)))
        args[3] = ""
        outputs = 2
    b.op(op, *args, n=outputs, domain=MS, num_heads=h)


@sweep("MultiHeadAttention", repeats=9, opsets=OPSETS)
def multi_head_attention(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    t = b.rng.randint(1, 4)
    args = [b.rand((n, s, h * d))]
    match b.pick(0, 1, 2):
        case 0:
            args += [b.rand((n, t, h * d)), b.rand((n, t, h * d))]
        case 1:
            args += [b.rand((n, h, t, d)), b.rand((n, h, t, d))]
        case _:
            args += [b.rand((n, s, h * d)), b.rand((n, s, h * d))]
    past = len(b.feeds[args[1]].shape) == 3 and b.chance(0.4)
    if past:
        args += ["", "", "", b.rand((n, h, 2, d)), b.rand((n, h, 2, d))]
    b.op(op, *args, n=3 if past else 1, domain=MS, num_heads=h)


@sweep("GroupQueryAttention", repeats=9, opsets=OPSETS)
def group_query_attention(b: Build, op: str) -> None:
    n, kv, d = b.rng.randint(1, 2), b.rng.randint(1, 2), b.pick(8, 16)
    q = kv * b.rng.randint(1, 2)
    past = b.pick(0, 3, 5)
    s = b.rng.randint(1, 3) if past == 0 else 1
    packed = b.chance(0.4)
    if packed:
        args = [b.rand((n, s, (q + 2 * kv) * d)), "", ""]
    else:
        args = [b.rand((n, s, q * d)), b.rand((n, s, kv * d)), b.rand((n, s, kv * d))]
    if past:
        args += [b.rand((n, kv, past, d)), b.rand((n, kv, past, d))]
    else:
        args += [b.rand((n, kv, 0, d)), b.rand((n, kv, 0, d))] if b.chance(0.5) else ["", ""]
    args.append(b.data(np.full(n, s + past - 1, np.int32)))
    args.append(b.drive(np.array(s + past), "i32"))
    attrs: dict[str, Any] = {"num_heads": q, "kv_num_heads": kv}
    if b.chance(0.4):
        attrs["do_rotary"] = 1
        args += [b.const(b.array((32, d // 2))) for _ in range(2)]
    b.op(op, *args, n=3, domain=MS, **attrs)


@sweep("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", repeats=5, opsets=OPSETS)
def skip_layer_normalization(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    width = h * d
    args = [b.rand((n, s, width)), b.rand((n, s, width)), b.const(b.array((width,)))]
    if op == "SkipLayerNormalization":
        args.append(b.const(b.array((width,))) if b.chance(0.7) else "")
    if b.chance(0.4):
        args.append(b.const(b.array((width,))))
    outputs = b.pick(1, 4)
    b.op(op, *args, n=outputs, domain=MS)
    if outputs == 4:
        # Outputs 1 and 2 are for training: no kernel on the CPU fills them.
        for i in (1, 2):
            b.nodes[-1].output[i] = ""


@sweep("LayerNormalization", "SimplifiedLayerNormalization", repeats=4, opsets=(13, 15))
def early_layer_normalization(b: Build, op: str) -> None:
    """ORT's own, registered in the standard domain before the operator was standard."""
    n, s, h, d = hidden(b)
    args = [b.rand((n, s, h * d)), b.const(b.array((h * d,)))]
    b.op(op, *args, axis=-1)


@sweep("FastGelu", "BiasGelu", "Gelu", "QuickGelu", repeats=4, opsets=OPSETS)
def gelu(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 4)))
    args = [b.rand(dims)]
    if op == "BiasGelu" or (op == "FastGelu" and b.chance(0.5)):
        args.append(b.const(b.array(dims[-1:])))
    b.op(op, *args, domain=MS)


@sweep("EmbedLayerNormalization", repeats=8, opsets=OPSETS)
def embed_layer_normalization(b: Build, op: str) -> None:
    n, s, width = b.rng.randint(1, 2), b.rng.randint(1, 4), 8
    ids = b.data(b.array((n, s), "i32"))
    segments = b.data(b.array((n, s), "i32", 1)) if b.chance(0.7) else ""
    args = [ids, segments, b.const(b.array((9, width))), b.const(b.array((8, width)))]
    args.append(b.const(b.array((2, width))) if segments else "")
    args += [b.const(b.array((width,))), b.const(b.array((width,)))]
    if b.chance(0.4):
        args.append(b.data(b.array((n, s), "i32", 1)))
    b.op(op, *args, n=b.pick(2, 3), domain=MS)


@sweep("MatMulNBits", repeats=9, opsets=OPSETS)
def matmul_nbits(b: Build, op: str) -> None:
    k, n, bits, block = b.pick(16, 32, 40), b.rng.randint(1, 5), b.pick(4, 4, 8), b.pick(16, 32)
    blocks = -(-k // block)
    blob = block * bits // 8
    lead = b.shape(b.rng.randint(1, 2))
    args = [b.rand((*lead, k)), b.const(b.array((n, blocks, blob), "u8"))]
    args.append(b.const(b.array((n, blocks) if b.chance(0.5) else (n * blocks,))))
    if b.chance(0.4):
        args.append(b.const(b.array((n, -(-blocks * bits // 8)), "u8")))
    b.op(op, *args, domain=MS, K=k, N=n, bits=bits, block_size=block)


@sweep("RotaryEmbedding", repeats=6, opsets=OPSETS)
def rotary_embedding(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    shape = b.pick((n, s, h * d), (n, h, s, d))
    where = b.data(np.zeros((n, s), np.int64)) if b.chance(0.5) else b.data(np.array([0]))
    caches = [b.const(b.array((16, d // 2))) for _ in range(2)]
    b.op(op, b.rand(shape), where, *caches, domain=MS, interleaved=b.pick(0, 1))


@sweep("FusedMatMul", "TransposeMatMul", repeats=8, opsets=OPSETS)
def fused_matmul(b: Build, op: str) -> None:
    batch = b.shape(b.rng.randint(0, 2), 2, 3)
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    ta, tb = b.pick(0, 1), b.pick(0, 1)
    left = (*batch, k, m) if ta else (*batch, m, k)
    right = (*batch, n, k) if tb else (*batch, k, n)
    b.op(op, b.rand(left), b.rand(right), domain=MS, transA=ta, transB=tb, alpha=0.5)


@sweep("FusedConv", repeats=6, opsets=OPSETS)
def fused_conv(b: Build, op: str) -> None:
    c, k = b.rng.randint(1, 3), b.rng.randint(1, 3)
    args = [b.rand((1, c, 5, 6)), b.const(b.array((2, c, k, k))), b.const(b.array((2,)))]
    pads = [b.rng.randint(0, k - 1)] * 4
    b.op(op, *args, domain=MS, activation="Relu", pads=pads, strides=[b.pick(1, 2)] * 2)


@sweep("FusedGemm", repeats=4, opsets=OPSETS)
def fused_gemm(b: Build, op: str) -> None:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    tb = b.pick(0, 1)
    args = [b.rand((m, k)), b.rand((n, k) if tb else (k, n)), b.rand((n,))]
    b.op(op, *args, domain=MS, activation="Relu", transB=tb)


def scale(b: Build, kind: str = "u8") -> list[str]:
    """A scale and a zero point."""
    return [b.const(np.array(0.1, np.float32)), b.const(b.array((), kind))]


@sweep("QAttention", repeats=5, opsets=OPSETS)
def qattention(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    w = b.const(b.array((h * d, 3 * h * d), "u8"))
    xs, xz = scale(b)
    ws, wz = scale(b)
    args = [b.rand((n, s, h * d), "u8"), w, b.const(b.array((3 * h * d,))), xs, ws]
    b.op(op, *args, "", xz, wz, domain=MS, num_heads=h)


@sweep("DynamicQuantizeMatMul", "MatMulIntegerToFloat", repeats=5, opsets=OPSETS)
def dynamic_quantize_matmul(b: Build, op: str) -> None:
    k, n = b.rng.randint(1, 4), b.rng.randint(1, 4)
    lead = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 2)))
    kind = b.pick("u8", "i8")
    ws, wz = scale(b, kind)
    w = b.const(b.array((k, n), kind))
    if op == "DynamicQuantizeMatMul":
        bias = b.const(b.array((n,))) if b.chance(0.5) else ""
        b.op(op, b.rand((*lead, k)), w, ws, wz, bias, domain=MS)
    else:
        xs, xz = scale(b)
        b.op(op, b.rand((*lead, k), "u8"), w, xs, ws, xz, wz, domain=MS)


@sweep("QLinearAdd", "QLinearMul", repeats=5, opsets=OPSETS)
def qlinear_binary(b: Build, op: str) -> None:
    full = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 4)))
    other = [1 if b.chance(0.3) else d for d in full[b.rng.randint(0, len(full)) :]]
    args = [b.rand(full, "u8"), *scale(b), b.rand(other, "u8"), *scale(b), *scale(b)]
    b.op(op, *args, domain=MS)


@sweep("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", repeats=4, opsets=OPSETS)
def qlinear_unary(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 4)))
    args = [b.rand(dims, "u8"), *scale(b), *scale(b)]
    b.op(op, *args, domain=MS, **({"axis": -1, "opset": 13} if op == "QLinearSoftmax" else {}))


@sweep("QLinearAveragePool", "QLinearGlobalAveragePool", repeats=5, opsets=OPSETS)
def qlinear_pool(b: Build, op: str) -> None:
    args = [b.rand((1, b.rng.randint(1, 3), 5, 6), "u8"), *scale(b), *scale(b)]
    if op == "QLinearAveragePool":
        attrs = {"kernel_shape": [2, 3], "strides": [b.pick(1, 2)] * 2, "ceil_mode": b.pick(0, 1)}
    else:
        attrs = {"channels_last": 0}
    b.op(op, *args, domain=MS, **attrs)


@sweep("QLinearConcat", repeats=5, opsets=OPSETS)
def qlinear_concat(b: Build, op: str) -> None:
    args = scale(b)
    for _ in range(b.rng.randint(1, 3)):
        args += [b.rand((2, b.rng.randint(1, 3), 4), "u8"), *scale(b)]
    b.op(op, *args, domain=MS, axis=1)


@sweep("QGemm", repeats=4, opsets=OPSETS)
def qgemm(b: Build, op: str) -> None:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    args = [b.rand((m, k), "u8"), *scale(b), b.const(b.array((k, n), "u8")), *scale(b), ""]
    b.op(op, *args, *(scale(b) if b.chance(0.5) else []), domain=MS)


@sweep("QuantizeLinear", "DequantizeLinear", repeats=4, opsets=OPSETS)
def quantize(b: Build, op: str) -> None:
    dims = tuple(max(1, d) for d in b.shape(b.rng.randint(1, 4)))
    kind = b.pick("u8", "i8", "u16", "i16")
    x = b.rand(dims, "f32" if op == "QuantizeLinear" else kind)
    b.op(op, x, *scale(b, kind), domain=MS)


@sweep("MoE", "QMoE", repeats=5, opsets=OPSETS)
def mixture_of_experts(b: Build, op: str) -> None:
    rows, width, inner, experts = b.rng.randint(1, 4), 32, 64, b.rng.randint(2, 4)
    dims = b.pick((rows, width), (1, rows, width))
    args = [b.rand(dims), b.rand((rows, experts))]
    if op == "MoE":
        args += [
            b.const(b.array((experts, inner, width))),
            "",
            b.const(b.array((experts, width, inner))),
            "",
        ]
    else:
        args += [b.const(b.array((experts, inner, width // 2), "u8"))]
        args += [b.const(b.array((experts, inner))), ""]
        args += [b.const(b.array((experts, width, inner // 2), "u8"))]
        args += [b.const(b.array((experts, width))), ""]
    b.op(op, *args, domain=MS, k=b.rng.randint(1, 2), activation_type="relu")


@sweep("GatherBlockQuantized", repeats=4, opsets=(21,))
def gather_block_quantized(b: Build, op: str) -> None:
    rows = b.rng.randint(2, 5)
    where = b.array(b.shape(b.rng.randint(0, 2), 1, 3), "i64", 1)
    args = [b.const(b.array((rows, 32), "u4")), b.data(where), b.const(b.array((rows, 2)))]
    b.op(op, *args, domain=MS, block_size=16, gather_axis=0, quantize_axis=1)


@sweep("Inverse", "Trilu", "NhwcMaxPool", "ExpandDims", "CDist", repeats=3, opsets=OPSETS)
def other(b: Build, op: str) -> None:
    match op:
        case "Inverse":
            b.op(op, b.data(np.eye(3, dtype=np.float32)), domain=MS)
        case "Trilu":
            b.op(op, b.rand((2, 3, 4)), domain=MS)
        case "NhwcMaxPool":
            b.op(op, b.rand((1, 5, 6, 2), "u8"), domain=MS, kernel_shape=[2, 2])
        case "ExpandDims":
            axis = b.const(np.array(b.pick(0, 1, -1), np.int32))
            b.op(op, b.rand((2, 3)), axis, domain=MS)
        case "CDist":
            k = b.rng.randint(1, 4)
            args = [b.rand((b.rng.randint(1, 4), k)), b.rand((b.rng.randint(1, 4), k))]
            b.op(op, *args, domain=MS, metric="euclidean")


@sweep("UnfoldTensor", "MurmurHash3", "WordConvEmbedding", "Unique", repeats=6, opsets=OPSETS)
def small(b: Build, op: str) -> None:
    match op:
        case "UnfoldTensor":
            size, dims = b.rng.randint(1, 3), b.shape(b.rng.randint(1, 4), 3, 9)
            at = b.axis(len(dims))
            b.op(op, b.rand(dims), domain=MS, size=size, dim=at, step=b.rng.randint(1, 4))
        case "MurmurHash3":
            kind = b.pick("i32", "i64", "f32", "f64", "u32", "u64")
            b.op(op, b.rand(b.shape(b.rng.randint(1, 3)), kind), domain=MS, positive=b.pick(0, 1))
        case "WordConvEmbedding":
            words, filters, width, wide = (b.rng.randint(1, 4) for _ in range(4))
            letters = b.data(np.full((words, 5), 1, np.int32))
            args = [b.const(b.array((filters, 1, width, wide))), b.const(b.array((filters,)))]
            b.op(op, letters, *args, b.const(b.array((9, wide))), domain=MS)
        case _:
            x = np.array([b.rng.randint(0, 3) for _ in range(6)], np.float32)
            b.op(op, b.const(x) if b.chance(0.4) else b.data(x), domain=MS, n=b.rng.randint(1, 3))


@sweep("Attention", repeats=4, opsets=OPSETS)
def attention_of_wider_values(b: Build, op: str) -> None:
    n, s, h, d = hidden(b)
    wide = d * b.rng.randint(2, 3)
    q, v = h * d, h * wide
    args = [b.const(b.array((q, 2 * q + v))), b.const(b.array((2 * q + v,)))]
    sizes = [q, q, v]
    b.op(op, b.rand((n, s, q)), *args, n=2, domain=MS, num_heads=h, qkv_hidden_sizes=sizes)
