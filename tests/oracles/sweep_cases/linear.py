"""Matrix products, attention and recurrent networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import sweep
from .build import Build, NoCaseError

REAL = ("f32", "f64", "f16")


def matmul_shapes(b: Build) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes NumPy's matmul takes: batches broadcast, either side may be a vector."""
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    if b.chance(0.05):
        m, k = b.pick((0, k), (m, 0))
    batch = b.shape(b.rng.randint(0, 3), 2, 3)
    left = [1 if b.chance(0.25) else d for d in batch]
    right = [1 if b.chance(0.25) else d for d in batch[b.rng.randint(0, len(batch)) :]]
    a, c = (*left, m, k), (*right, k, n)
    match b.pick(0, 0, 0, 0, 0, 1, 2, 3):
        case 1:
            a = (k,)
        case 2:
            c = (k,)
        case 3:
            a, c = (k,), (k,)
    return a, c


@sweep("MatMul", repeats=16)
def matmul(b: Build, op: str) -> None:
    left, right = matmul_shapes(b)
    kind = b.dtype(op, 0, (*REAL, "i32", "i64", "u32", "bf16"))
    b.op(op, b.rand(left, kind), b.rand(right, kind))


@sweep("MatMulInteger", repeats=16)
def matmul_integer(b: Build, op: str) -> None:
    left, right = matmul_shapes(b)
    a, c = b.pick("u8", "i8"), b.pick("u8", "i8")
    args = [b.rand(left, a), b.rand(right, c)]
    if b.chance(0.5):
        args.append(b.const(b.array((), a)))
        if b.chance(0.5):
            args.append(b.const(b.array((), c)))
    b.op(op, *args)


@sweep("Gemm", repeats=10)
def gemm(b: Build, op: str) -> None:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    if b.chance(0.05):
        m = 0
    ta, tb = b.pick(0, 1), b.pick(0, 1)
    kind = b.dtype(op, 0, REAL)
    args = [b.rand((k, m) if ta else (m, k), kind), b.rand((n, k) if tb else (k, n), kind)]
    if b.opset < 11 or b.chance(0.7):
        bias = b.pick((n,), (m, n), (1, n), (m, 1), (), (1,))
        args.append(b.rand(bias, kind))
    b.op(op, *args, transA=ta, transB=tb, alpha=0.5)


EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ii->i",
    "ii",
    "i,i->",
    "i,j->ij",
    "bhid,bhjd->bhij",
    "...ij,...jk->...ik",
    "ij,jk",
    "ijk->",
    "bij->bj",
    " i j , j k -> i k ",
    "...->...",
    "...i->...",
    "ij,kj,kl->il",
    "bij,bkj->bik",
    "i->i",
    "ijk,jil->kl",
    "...ii->...i",
    "ab,cd->abcd",
    "b i d, d k -> b i k",
)


@sweep("Einsum", repeats=24)
def einsum(b: Build, op: str) -> None:
    equation = b.pick(*EQUATIONS)
    sizes = {c: b.rng.randint(1, 4) for c in "abcdefghijkl"}
    dots = b.shape(b.rng.randint(0, 2), 2, 3)
    args = []
    kind = b.dtype(op, 0, (*REAL, "i32", "i64"))
    for term in equation.replace(" ", "").split("->")[0].split(","):
        dims: list[int] = []
        head, _, tail = term.partition("...")
        dims += [sizes[c] for c in head]
        if "..." in term:
            dims += dots
        dims += [sizes[c] for c in tail]
        args.append(b.rand(dims, kind))
    b.op(op, *args, equation=equation)


@sweep("Det", repeats=6)
def det(b: Build, op: str) -> None:
    n = b.rng.randint(1, 4)
    b.op(op, b.rand((*b.shape(b.rng.randint(0, 2)), n, n), b.dtype(op, 0, REAL)))


@sweep("LSTM", "GRU", "RNN", repeats=9)
def recurrent(b: Build, op: str) -> None:
    seq, batch, inp, hid = (b.rng.randint(1, 4) for _ in range(4))
    direction = b.pick("forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    layout = 1 if b.opset >= 14 and b.chance(0.3) else 0
    kind = "f32"
    x = b.rand((batch, seq, inp) if layout else (seq, batch, inp), kind)
    args = [x, b.const(b.array((d, gates * hid, inp))), b.const(b.array((d, gates * hid, hid)))]
    args.append(b.const(b.array((d, 2 * gates * hid))) if b.chance(0.5) else "")
    args.append(b.data(np.full(batch, seq, np.int32)) if b.chance(0.3) else "")
    state = (batch, d, hid) if layout else (d, batch, hid)
    args.append(b.rand(state, kind) if b.chance(0.4) else "")
    if op == "LSTM":
        args.append(b.rand(state, kind) if b.chance(0.4) else "")
        args.append(b.const(b.array((d, 3 * hid))) if b.chance(0.2) else "")
    attrs: dict[str, Any] = {"hidden_size": hid}
    if direction != "forward" or b.chance(0.4):
        attrs["direction"] = direction
    if layout:
        attrs["layout"] = 1
    b.op(op, *args, n=b.rng.randint(1, 3 if op == "LSTM" else 2), **attrs)


@sweep("Attention", repeats=14)
def attention(b: Build, op: str) -> None:
    n, s, t = b.rng.randint(1, 2), b.rng.randint(1, 4), b.rng.randint(1, 4)
    kv = b.rng.randint(1, 2)
    q = kv * b.rng.randint(1, 2)
    d, dv = b.rng.randint(1, 4) * 2, b.rng.randint(1, 4) * 2
    kind = b.dtype(op, 0, ("f32", "f16"))
    attrs: dict[str, Any] = {}
    if b.chance(0.4):
        shapes = [(n, s, q * d), (n, t, kv * d), (n, t, kv * dv)]
        attrs = {"q_num_heads": q, "kv_num_heads": kv}
    else:
        shapes = [(n, q, s, d), (n, kv, t, d), (n, kv, t, dv)]
    args = [b.rand(x, kind) for x in shapes]
    past = b.rng.randint(1, 3) if b.chance(0.4) else 0
    mask = b.chance(0.4)
    args.append(b.rand((s, t + past), kind) if mask else "")
    if past:
        args += [b.rand((n, kv, past, d), kind), b.rand((n, kv, past, dv), kind)]
    if b.chance(0.3):
        attrs["is_causal"] = 1
    if b.chance(0.2):
        attrs["softcap"] = 2.0
    outputs = 3 if past else 1
    if past and b.chance(0.4):
        outputs = 4
        attrs["qk_matmul_output_mode"] = b.pick(0, 1, 2, 3)
    b.op(op, *args, n=outputs, **attrs)


@sweep("RotaryEmbedding", repeats=14)
def rotary_embedding(b: Build, op: str) -> None:
    n, h, s, d = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 4), b.pick(4, 8)
    kind = b.dtype(op, 0, ("f32", "f16"))
    attrs: dict[str, Any] = {}
    shape: tuple[int, ...] = (n, h, s, d)
    if b.chance(0.5):
        shape, attrs = (n, s, h * d), {"num_heads": h}
    if b.chance(0.3):
        attrs["interleaved"] = 1
    if b.chance(0.6):
        caches = [b.const(b.array((16, d // 2), kind)) for _ in range(2)]
        b.op(op, b.rand(shape, kind), *caches, b.data(np.zeros((n, s), np.int64)), **attrs)
    else:
        caches = [b.rand((n, s, d // 2), kind) for _ in range(2)]
        b.op(op, b.rand(shape, kind), *caches, **attrs)


@sweep("LinearAttention", repeats=14)
def linear_attention(b: Build, op: str) -> None:
    if b.opset < 27:
        raise NoCaseError(op)
    n, t, h = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 3)
    d, dv = b.rng.randint(1, 4), b.rng.randint(1, 4)
    args = [b.rand((n, t, h * d)), b.rand((n, t, h * d)), b.rand((n, t, h * dv))]
    attrs: dict[str, Any] = {"q_num_heads": h, "kv_num_heads": h, "update_rule": "linear"}
    if b.chance(0.4):
        args.append(b.rand((n, h, d, dv)))
    b.op(op, *args, n=2, **attrs)
