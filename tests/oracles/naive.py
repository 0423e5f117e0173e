"""Operators as plain loops over scalars that count their own multiplications.

No formula stands in this file: a loop visits every multiply-accumulate that a dense kernel does,
padded taps included, and the scalar counts. The values computed are compared with a runtime's, so
that the loops are known to be the operators they say they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class Scalar:
    """A number that counts, over all its kind, how often two of them were multiplied."""

    __slots__ = ("v",)
    count = 0

    def __init__(self, v: float) -> None:
        self.v = v

    def __mul__(self, other: Scalar) -> Scalar:
        Scalar.count += 1
        return Scalar(self.v * other.v)

    def __add__(self, other: Scalar) -> Scalar:
        return Scalar(self.v + other.v)


Array = np.ndarray


def lift(array: Array) -> Array:
    """The same array of counting scalars."""
    out = np.empty(array.shape, dtype=object)
    for i in np.ndindex(*array.shape):
        out[i] = Scalar(float(array[i]))
    return out


def zeros(shape: Sequence[int]) -> Array:
    """Zeros of counting scalars."""
    return lift(np.zeros(tuple(shape)))


def drop(array: Array) -> Array:
    """Plain floats again."""
    out = np.empty(array.shape, dtype=np.float64)
    for i in np.ndindex(*array.shape):
        out[i] = array[i].v
    return out


def grid(extents: Iterable[int]) -> Iterable[tuple[int, ...]]:
    """All index tuples below the extents."""
    return itertools.product(*(range(e) for e in extents))


def matmul(a: Array, b: Array) -> Array:
    """NumPy's matmul: vectors are promoted, batches broadcast."""
    a1, b1 = a.ndim == 1, b.ndim == 1
    a = a[None, :] if a1 else a
    b = b[:, None] if b1 else b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    out = zeros((*batch, a.shape[-2], b.shape[-1]))
    for at in np.ndindex(*batch):
        for i in range(a.shape[-2]):
            for j in range(b.shape[-1]):
                total = Scalar(0.0)
                for k in range(a.shape[-1]):
                    total = total + a[(*at, i, k)] * b[(*at, k, j)]
                out[(*at, i, j)] = total
    if a1:
        out = out[..., 0, :]
    return out[..., 0] if b1 else out


def same_pads(size: int, kernel: int, stride: int, dilation: int, upper: bool) -> tuple[int, int]:
    """Padding for which there is an output at every stride."""
    windows = math.ceil(size / stride)
    need = max(0, (windows - 1) * stride + (kernel - 1) * dilation + 1 - size)
    small = need // 2
    return (small, need - small) if upper else (need - small, small)


def geometry(space: Sequence[int], kernel: Sequence[int], attrs: dict[str, Any]) -> tuple:
    """Strides, dilations and (begin, end) pads of each axis."""
    n = len(space)
    strides = attrs.get("strides", [1] * n)
    dilations = attrs.get("dilations", [1] * n)
    pads = attrs.get("pads", [0] * 2 * n)
    begin_end = [(pads[i], pads[n + i]) for i in range(n)]
    auto = attrs.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        begin_end = [
            same_pads(space[i], kernel[i], strides[i], dilations[i], auto == "SAME_UPPER")
            for i in range(n)
        ]
    return strides, dilations, begin_end


def conv(x: Array, w: Array, attrs: dict[str, Any]) -> Array:
    """Convolution of the input with its padding written out."""
    group = attrs.get("group", 1)
    kernel = w.shape[2:]
    strides, dilations, pads = geometry(x.shape[2:], kernel, attrs)
    padded = zeros(
        (*x.shape[:2], *(s + a + b for s, (a, b) in zip(x.shape[2:], pads, strict=True)))
    )
    for i in np.ndindex(*x.shape):
        padded[(*i[:2], *(p + a for p, (a, _) in zip(i[2:], pads, strict=True)))] = x[i]
    out_space = []
    for i, size in enumerate(padded.shape[2:]):
        starts = range(0, size, strides[i])
        out_space.append(sum(p + (kernel[i] - 1) * dilations[i] < size for p in starts))
    out = zeros((x.shape[0], w.shape[0], *out_space))
    per_group_in, per_group_out = w.shape[1], w.shape[0] // group
    for at in np.ndindex(*out.shape):
        n, m, *o = at
        first = (m // per_group_out) * per_group_in
        total = Scalar(0.0)
        for c in range(per_group_in):
            for k in grid(kernel):
                tap = (p * s + t * d for p, s, t, d in zip(o, strides, k, dilations, strict=True))
                total = total + padded[(n, first + c, *tap)] * w[(m, c, *k)]
        out[at] = total
    return out


def conv_transpose(x: Array, w: Array, attrs: dict[str, Any]) -> Array:
    """Every input element times every tap, added into the output; then the pads are cut off."""
    group = attrs.get("group", 1)
    kernel = w.shape[2:]
    strides, dilations, pads = geometry(x.shape[2:], kernel, attrs)
    more = attrs.get("output_padding", [0] * len(kernel))
    full = [
        (s - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + more[i]
        for i, s in enumerate(x.shape[2:])
    ]
    out = zeros((x.shape[0], w.shape[1] * group, *full))
    per_group = x.shape[1] // group
    for at in np.ndindex(*x.shape):
        n, c, *p = at
        g = c // per_group
        for m in range(w.shape[1]):
            for k in grid(kernel):
                to = (q * s + t * d for q, s, t, d in zip(p, strides, k, dilations, strict=True))
                where = (n, g * w.shape[1] + m, *to)
                out[where] = out[where] + x[at] * w[(c, m, *k)]
    cut = tuple(slice(a, size - b) for (a, b), size in zip(pads, full, strict=True))
    return out[(slice(None), slice(None), *cut)]


def bilinear(image: Array, y: float, x: float) -> float:
    """Value between pixels, zero outside; its own arithmetic is not a matrix unit's."""
    h, w = image.shape
    y0, x0 = math.floor(y), math.floor(x)
    total = 0.0
    for yy, wy in ((y0, 1 - (y - y0)), (y0 + 1, y - y0)):
        for xx, wx in ((x0, 1 - (x - x0)), (x0 + 1, x - x0)):
            if 0 <= yy < h and 0 <= xx < w:
                total += float(image[yy, xx]) * wy * wx
    return total


def deform_conv(x: Array, w: Array, offset: Array, attrs: dict[str, Any]) -> Array:
    """Convolution whose taps are moved by offsets; one mac a tap, after interpolation."""
    group = attrs.get("group", 1)
    kernel = w.shape[2:]
    strides, dilations, pads = geometry(x.shape[2:], kernel, attrs)
    out = zeros((x.shape[0], w.shape[0], *offset.shape[2:]))
    weights = lift(w)
    for at in np.ndindex(*out.shape):
        n, m, *o = at
        first = (m // (w.shape[0] // group)) * w.shape[1]
        total = Scalar(0.0)
        for c in range(w.shape[1]):
            for j, k in enumerate(grid(kernel)):
                spot = [
                    o[a] * strides[a]
                    - pads[a][0]
                    + k[a] * dilations[a]
                    + float(offset[(n, 2 * j + a, *o)])
                    for a in range(2)
                ]
                total = total + Scalar(bilinear(x[n, first + c], *spot)) * weights[(m, c, *k)]
        out[at] = total
    return out


def einsum(equation: str, a: Array, b: Array) -> Array:
    """Two operands, every index a loop; an ellipsis broadcasts."""
    left, _, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [t.replace("...", "") for t in terms]
    dots = [
        x.ndim - len(f) if "..." in t else 0 for x, f, t in zip((a, b), free, terms, strict=True)
    ]
    letters = "ABCDEFGH"[: max(dots)]
    spelled = [
        t.replace("...", letters[len(letters) - n :]) for t, n in zip(terms, dots, strict=True)
    ]
    if "->" in equation:
        result = result.replace("...", letters)
    else:
        both = "".join(free)
        result = letters + "".join(sorted(c for c in set(both) if both.count(c) == 1))
    size: dict[str, int] = {}
    for term, x in zip(spelled, (a, b), strict=True):
        for c, d in zip(term, x.shape, strict=True):
            size[c] = max(size.get(c, 1), d)
    out = zeros([size[c] for c in result])
    order = list(size)
    for index in grid(size[c] for c in order):
        at = dict(zip(order, index, strict=True))
        picks = [
            x[tuple(at[c] if d > 1 else 0 for c, d in zip(term, x.shape, strict=True))]
            for term, x in zip(spelled, (a, b), strict=True)
        ]
        to = tuple(at[c] for c in result)
        out[to] = out[to] + picks[0] * picks[1]
    return out


def softmax(scores: Array) -> Array:
    """Along the last axis, on floats."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Array, k: Array, v: Array, causal: bool = False) -> Array:
    """Heads in axis 1; the dense product with all keys, masked afterwards.

    A query head reads the key head of its group; the scale is not a mac.
    """
    n, heads, s, d = q.shape
    per = heads // k.shape[1]
    out = np.zeros((n, heads, s, v.shape[-1]))
    for i in range(n):
        for h in range(heads):
            keys, values = lift(k[i, h // per]), lift(v[i, h // per])
            scores = drop(matmul(lift(q[i, h]), keys.T)) / math.sqrt(d)
            if causal:
                past = k.shape[2] - s
                for a in range(s):
                    scores[a, a + past + 1 :] = -np.inf
            out[i, h] = drop(matmul(lift(softmax(scores)), values))
    return out


def sigmoid(x: Array) -> Array:
    """On floats."""
    return 1 / (1 + np.exp(-x))


def recurrent(op: str, x: Array, w: Array, r: Array, reverse: bool, after: bool) -> Array:
    """One direction of an LSTM, GRU or RNN from a state of zeros; no bias; y is [seq, batch, hid].

    The products with W and R at every step are macs, the gating of element by element is not.
    """
    hid = r.shape[-1]
    h = np.zeros((x.shape[1], hid))
    c = np.zeros_like(h)
    out = np.zeros((x.shape[0], x.shape[1], hid))
    wt, rt = lift(w.T), lift(r.T)
    steps = reversed(range(x.shape[0])) if reverse else range(x.shape[0])
    for t in steps:
        xw = drop(matmul(lift(x[t]), wt))
        if op == "GRU":
            gates = drop(matmul(lift(h), rt[:, : 2 * hid]))
            z, g = np.split(sigmoid(xw[:, : 2 * hid] + gates), 2, axis=1)
            inner = h if after else g * h
            new = drop(matmul(lift(inner), rt[:, 2 * hid :]))
            h = (1 - z) * np.tanh(xw[:, 2 * hid :] + (g * new if after else new)) + z * h
        else:
            both = xw + drop(matmul(lift(h), rt))
            if op == "RNN":
                h = np.tanh(both)
            else:
                i, o, f, g = np.split(both, 4, axis=1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
        out[t] = h
    return out
