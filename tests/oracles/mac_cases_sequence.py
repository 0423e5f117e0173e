"""Attention, mixtures of experts and recurrent networks among the counted cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracles.sweep_cases.build import Build

from . import naive
from .mac_cases import MS, ints, macs
from .naive import Array, drop, lift


def heads(x: Array, n: int) -> Array:
    """[batch, seq, heads*size] to [batch, heads, seq, size]."""
    return x.reshape(*x.shape[:2], n, -1).swapaxes(1, 2)


def unheads(x: Array) -> Array:
    """[batch, heads, seq, size] to [batch, seq, heads*size]."""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


@macs("attention", 45, opset=23)
def attention(b: Build) -> tuple[str, Callable[[], Array]]:
    n, s, t = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 3)
    kv = b.rng.randint(1, 2)
    hq, d, dv = kv * b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 3)
    causal, past = b.chance(0.3), b.pick(0, 0, 2)
    t = s if causal else t
    q, k, v = b.array((n, hq, s, d)), b.array((n, kv, t, d)), b.array((n, kv, t, dv))
    flat = b.chance(0.4)
    attrs: dict[str, Any] = {"is_causal": 1} if causal else {}
    if flat:
        attrs |= {"q_num_heads": hq, "kv_num_heads": kv}
    args = [b.data(unheads(a) if flat else a) for a in (q, k, v)]
    keys, values = k, v
    if past:
        pk, pv = b.array((n, kv, past, d)), b.array((n, kv, past, dv))
        args += ["", b.data(pk), b.data(pv)]
        keys, values = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
    b.op("Attention", *args, n=3 if past else 1, **attrs)

    def compute() -> Array:
        y = naive.attention(q, keys, values, causal)
        return unheads(y) if flat else y

    return "Attention", compute


@macs("ms_attention", 15)
def ms_attention(b: Build) -> tuple[str, Callable[[], Array]]:
    n, s, h, d = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 2), 4
    x, w = b.array((n, s, h * d)), b.array((h * d, 3 * h * d))
    bias = np.zeros(3 * h * d, np.float32)
    b.op("Attention", b.data(x), b.const(w), b.const(bias), domain=MS, num_heads=h)

    def compute() -> Array:
        q, k, v = np.split(drop(naive.matmul(lift(x), lift(w))), 3, axis=-1)
        return unheads(naive.attention(heads(q, h), heads(k, h), heads(v, h)))

    return "com.microsoft::Attention", compute


@macs("multi_head_attention", 20)
def multi_head_attention(b: Build) -> tuple[str, Callable[[], Array]]:
    n, s, t, h, d = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 3), 2, 4
    q, k, v = b.array((n, s, h * d)), b.array((n, t, h * d)), b.array((n, t, h * d))
    args = [b.data(a) for a in (q, k, v)]
    b.op("MultiHeadAttention", *args, domain=MS, num_heads=h)
    return "MultiHeadAttention", lambda: unheads(
        naive.attention(heads(q, h), heads(k, h), heads(v, h))
    )


@macs("recurrent", 75)
def recurrent(b: Build) -> tuple[str, Callable[[], Array]]:
    op = b.pick("LSTM", "GRU", "RNN")
    seq, batch, inp, hid = (b.rng.randint(1, 3) for _ in range(4))
    direction = b.pick("forward", "reverse", "bidirectional")
    dirs = 2 if direction == "bidirectional" else 1
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    x = b.array((seq, batch, inp))
    w, r = b.array((dirs, gates * hid, inp)), b.array((dirs, gates * hid, hid))
    after = op == "GRU" and b.chance(0.5)
    attrs = {"linear_before_reset": 1} if after else {}
    b.op(op, b.data(x), b.const(w), b.const(r), n=2, hidden_size=hid, direction=direction, **attrs)

    def compute() -> Array:
        each = [
            naive.recurrent(op, x, w[i], r[i], direction == "reverse" or i == 1, after)
            for i in range(dirs)
        ]
        return np.stack(each, axis=1)

    return op, compute


@macs("causal_conv", 10, opset=27)
def causal_conv(b: Build) -> tuple[str, Callable[[], Array]]:
    n, c, t, k = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 4), b.rng.randint(2, 3)
    x, w = b.array((n, c, t)), b.array((c, 1, k))
    b.op("CausalConvWithState", b.data(x), b.const(w), n=2)
    attrs = {"group": c, "pads": [k - 1, 0]}
    return "CausalConvWithState", lambda: drop(naive.conv(lift(x), lift(w), attrs))


@macs("group_query_attention", 20)
def group_query_attention(b: Build) -> tuple[str, Callable[[], None]]:
    n, kv, d = b.rng.randint(1, 2), b.rng.randint(1, 2), 16
    hq, past = kv * b.rng.randint(1, 2), b.pick(0, 0, 3)
    s = 1 if past else b.rng.randint(1, 4)
    q, k = b.array((n, s, hq * d)), b.array((n, s, kv * d))
    args = [b.data(q), b.data(k), b.data(k)]
    args += [b.data(b.array((n, kv, past, d))) for _ in range(2)]
    args += [b.const(np.full(n, s + past - 1, np.int32)), b.const(np.array(s + past, np.int32))]
    b.op("GroupQueryAttention", *args, n=3, domain=MS, num_heads=hq, kv_num_heads=kv)

    def compute() -> None:
        keys = np.concatenate([np.zeros((n, kv, past, d)), heads(k, kv)], 2)
        naive.attention(heads(q, hq), keys, keys, True)

    return "GroupQueryAttention", compute


@macs("qattention", 10)
def qattention(b: Build) -> tuple[str, Callable[[], None]]:
    n, s, h, d = b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(1, 2), 4
    x, w = ints(b, (n, s, h * d)), ints(b, (h * d, 3 * h * d))
    scale, zero = b.const(np.array(0.1, np.float32)), b.const(np.array(1, np.uint8))
    bias = b.const(np.zeros(3 * h * d, np.float32))
    args = [b.data(x), b.const(w), bias, scale, scale, "", zero, zero]
    b.op("QAttention", *args, domain=MS, num_heads=h)

    def compute() -> None:
        q, k, v = np.split(drop(naive.matmul(lift(x), lift(w))), 3, axis=-1)
        naive.attention(heads(q, h), heads(k, h), heads(v, h))

    return "QAttention", compute


@macs("moe", 15)
def moe(b: Build) -> tuple[str, Callable[[], None]]:
    """Each row goes through its k experts: two products each; routing is an input."""
    rows, width, inner, experts = b.rng.randint(1, 3), 4, 8, b.rng.randint(2, 3)
    k = b.rng.randint(1, 2)
    x, routing = b.array((rows, width)), b.array((rows, experts))
    up, down = b.array((experts, inner, width)), b.array((experts, width, inner))
    args = [b.data(x), b.data(routing), b.const(up), "", b.const(down), ""]
    b.op("MoE", *args, domain=MS, k=k, activation_type="relu")

    def compute() -> None:
        for row in range(rows):
            for expert in np.argsort(-routing[row])[:k]:
                between = drop(naive.matmul(lift(x[row]), lift(up[expert].T)))
                naive.matmul(lift(np.maximum(between, 0)), lift(down[expert].T))

    return "MoE", compute
