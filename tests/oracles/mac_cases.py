"""Small cases whose multiply-accumulates a plain loop counts; see naive.py for the loops."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracles.sweep_cases.build import Build, Case

from . import naive
from .naive import Array, Scalar, drop, lift

MS = "com.microsoft"
Maker = Callable[[Build], tuple[str, Callable[[], Array | None]]]


@dataclass(frozen=True)
class MacCase:
    """A model of one operator, and the loop that computes the same."""

    case: Case
    compute: Callable[[], Array | None]

    def counted(self) -> tuple[int, Array | None]:
        """Macs the loop did, and what it computed (None where values cannot be compared)."""
        Scalar.count = 0
        value = self.compute()
        return Scalar.count, value


MAKERS: list[tuple[str, int, int, Maker]] = []


def macs(name: str, repeats: int, opset: int = 17) -> Callable[[Maker], Maker]:
    """Register a maker of cases."""

    def register(make: Maker) -> Maker:
        MAKERS.append((name, repeats, opset, make))
        return make

    return register


def cases(seed: int = 0, only: str = "", scale: float = 1.0) -> Iterator[MacCase]:
    """Every case, in a fixed order."""
    importlib.import_module(".mac_cases_sequence", __package__)
    for name, repeats, opset, make in MAKERS:
        for i in range(max(1, round(repeats * scale))):
            case_id = f"{name}/{i}"
            if only and not case_id.startswith(only):
                continue
            b = Build(random.Random(f"{seed}/{case_id}"), opset)
            b.exact = True
            op, compute = make(b)
            yield MacCase(b.case(case_id, name, op), compute)


def ints(b: Build, shape: tuple[int, ...], dtype: str = "u8") -> Array:
    """Small integers."""
    return b.array(shape, dtype, 3)


def operands(b: Build) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes for matmul: broadcast batches, vectors, now and then an empty side."""
    from tests.oracles.sweep_cases.linear import matmul_shapes

    return matmul_shapes(b)


@macs("matmul", 90)
def matmul(b: Build) -> tuple[str, Callable[[], Array | None]]:
    left, right = operands(b)
    x, w = b.array(left), b.array(right)
    b.op("MatMul", b.data(x), b.const(w) if b.chance(0.5) else b.data(w))

    def compute() -> Array | None:
        found = drop(naive.matmul(lift(x), lift(w)))
        # onnxruntime leaves its output unset when the inner extent is zero.
        return found if x.size and w.size else None

    return "MatMul", compute


@macs("matmul_integer", 30)
def matmul_integer(b: Build) -> tuple[str, Callable[[], Array | None]]:
    left, right = operands(b)
    x, w = ints(b, left), ints(b, right)
    b.op("MatMulInteger", b.data(x), b.const(w))

    def compute() -> Array | None:
        found = drop(naive.matmul(lift(x), lift(w)))
        # onnxruntime forgets to broadcast when the inner extent is zero.
        return found if x.size and w.size else None

    return "MatMulInteger", compute


@macs("qlinear_matmul", 15)
def qlinear_matmul(b: Build) -> tuple[str, Callable[[], None]]:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    batch = b.shape(b.rng.randint(0, 2), 2, 3)
    x, w = ints(b, (*batch, m, k)), ints(b, (k, n))
    s, z = b.const(np.array(0.5, np.float32)), b.const(np.array(1, np.uint8))
    b.op("QLinearMatMul", b.data(x), s, z, b.const(w), s, z, s, z)

    def compute() -> None:
        naive.matmul(lift(x), lift(w))

    return "QLinearMatMul", compute


@macs("gemm", 40)
def gemm(b: Build) -> tuple[str, Callable[[], Array]]:
    m, k, n = (b.rng.randint(1, 5) for _ in range(3))
    ta, tb = b.pick(0, 1), b.pick(0, 1)
    x, w = b.array((k, m) if ta else (m, k)), b.array((n, k) if tb else (k, n))
    args = [b.data(x), b.const(w)]
    bias = np.zeros((n,), np.float32)
    if b.chance(0.6):
        bias = b.array(b.pick((n,), (m, n), (1, n), (m, 1), ()))
        args.append(b.const(bias))
    b.op("Gemm", *args, transA=ta, transB=tb)
    return "Gemm", lambda: drop(naive.matmul(lift(x.T if ta else x), lift(w.T if tb else w))) + bias


EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bhid,bhjd->bhij",
    "bhij,bhjd->bhid",
    "ij,jk",
    "...ij,...jk->...ik",
    "...ij,jk->...ik",
    "i,i->",
    "bid,dhk->bihk",
    "bihk,hkd->bid",
    "ij,ij->",
    "ijk,kl->ijl",
    "bij,j->bi",
    " i j , j k -> i k ",
    "nchw,oc->nohw",
    "abc,cd->dab",
    "ibh,hnd->ibnd",
)


@macs("einsum", 60)
def einsum(b: Build) -> tuple[str, Callable[[], Array]]:
    equation = b.pick(*EQUATIONS)
    size = {c: b.rng.randint(1, 3) for c in "abcdefghijklnow"}
    dots = b.shape(b.rng.randint(0, 2), 2, 3)
    arrays = []
    for term in equation.replace(" ", "").split("->")[0].split(","):
        plain = term.replace("...", "")
        lead = dots if "..." in term else ()
        arrays.append(b.array((*lead, *(size[c] for c in plain))))
    b.op("Einsum", *(b.data(a) for a in arrays), equation=equation)
    x, w = arrays
    return "Einsum", lambda: drop(naive.einsum(equation, lift(x), lift(w)))


@macs("fused_matmul", 25)
def fused_matmul(b: Build) -> tuple[str, Callable[[], Array]]:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    batch = b.shape(b.rng.randint(0, 2), 2, 3)
    ta, tb = b.pick(0, 1), b.pick(0, 1)
    x = b.array((*batch, k, m) if ta else (*batch, m, k))
    w = b.array((*batch, n, k) if tb else (*batch, k, n))
    b.op("FusedMatMul", b.data(x), b.data(w), domain=MS, transA=ta, transB=tb)
    left, right = np.swapaxes(x, -1, -2) if ta else x, np.swapaxes(w, -1, -2) if tb else w
    return "FusedMatMul", lambda: drop(naive.matmul(lift(left), lift(right)))


@macs("matmul_nbits", 20)
def matmul_nbits(b: Build) -> tuple[str, Callable[[], None]]:
    k, n, block = b.pick(16, 32), b.rng.randint(1, 4), 16
    x = b.array((*b.shape(b.rng.randint(1, 2), 1, 3), k))
    blocks = k // block
    args = [b.data(x), b.const(ints(b, (n, blocks, block // 2)))]
    args.append(b.const(b.array((n * blocks,))))
    b.op("MatMulNBits", *args, domain=MS, K=k, N=n, bits=4, block_size=block)

    def compute() -> None:
        naive.matmul(lift(x), naive.zeros((k, n)))

    return "MatMulNBits", compute


@macs("quantized_gemm", 20)
def quantized_gemm(b: Build) -> tuple[str, Callable[[], None]]:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    x, w = ints(b, (m, k)), ints(b, (k, n))
    op = b.pick("QGemm", "MatMulIntegerToFloat")
    s, z = b.const(np.array(0.5, np.float32)), b.const(np.array(1, np.uint8))
    if op == "QGemm":
        b.op(op, b.data(x), s, z, b.const(w), s, z, "", s, z, domain=MS)
    else:
        b.op(op, b.data(x), b.const(w), s, s, z, z, domain=MS)

    def compute() -> None:
        naive.matmul(lift(x), lift(w))

    return op, compute


@macs("fused_gemm", 10)
def fused_gemm(b: Build) -> tuple[str, Callable[[], Array]]:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    tb = b.pick(0, 1)
    x, w = b.array((m, k)), b.array((n, k) if tb else (k, n))
    bias = b.const(b.array((n,)) * 0)
    b.op("FusedGemm", b.data(x), b.const(w), bias, domain=MS, activation="Relu", transB=tb)
    return "FusedGemm", lambda: drop(naive.matmul(lift(x), lift(w.T if tb else w)))


@macs("dynamic_quantize_matmul", 10)
def dynamic_quantize_matmul(b: Build) -> tuple[str, Callable[[], None]]:
    m, k, n = (b.rng.randint(1, 4) for _ in range(3))
    x, w = b.array((2, m, k)), ints(b, (k, n))
    scale, zero = b.const(np.array(0.1, np.float32)), b.const(np.array(1, np.uint8))
    b.op("DynamicQuantizeMatMul", b.data(x), b.const(w), scale, zero, domain=MS)

    def compute() -> None:
        naive.matmul(lift(x), lift(w))

    return "DynamicQuantizeMatMul", compute


def conv_case(b: Build, n: int | None = None) -> tuple[Array, Array, dict[str, Any]]:
    """Input, weight and attributes of a convolution."""
    from tests.oracles.sweep_cases.vision import effective, window

    n = n or b.pick(1, 2, 2, 3)
    group = b.rng.randint(1, 3)
    kernel = [b.rng.randint(1, 3 if n < 3 else 2) for _ in range(n)]
    attrs = window(b, n, kernel)
    attrs["group"] = group
    cin, cout = group * b.rng.randint(1, 2), group * b.rng.randint(1, 2)
    space = [e + b.rng.randint(0, 3 if n < 3 else 1) for e in effective(kernel, attrs)]
    x = b.array((b.rng.randint(1, 2), cin, *space))
    return x, b.array((cout, cin // group, *kernel)), attrs


@macs("conv", 130)
def conv(b: Build) -> tuple[str, Callable[[], Array]]:
    x, w, attrs = conv_case(b)
    bias = b.array((w.shape[0],)) if b.chance(0.5) else np.zeros((w.shape[0],), np.float32)
    args = [b.data(x), b.const(w)] + ([b.const(bias)] if bias.any() else [])
    b.op("Conv", *args, **attrs)
    shape = (1, -1, *[1] * (x.ndim - 2))
    return "Conv", lambda: drop(naive.conv(lift(x), lift(w), attrs)) + bias.reshape(shape)


@macs("fused_conv", 15)
def fused_conv(b: Build) -> tuple[str, Callable[[], Array]]:
    x, w, attrs = conv_case(b, 2)
    args = [b.data(x), b.const(w)]
    b.op("FusedConv", *args, domain=MS, activation="Relu", **attrs)
    return "FusedConv", lambda: np.maximum(drop(naive.conv(lift(x), lift(w), attrs)), 0)


@macs("conv_integer", 25)
def conv_integer(b: Build) -> tuple[str, Callable[[], Array]]:
    x, w, attrs = conv_case(b, 2)
    xi, wi = ints(b, x.shape), ints(b, w.shape)
    b.op("ConvInteger", b.data(xi), b.const(wi), **attrs)
    return "ConvInteger", lambda: drop(naive.conv(lift(xi), lift(wi), attrs))


@macs("qlinear_conv", 25)
def qlinear_conv(b: Build) -> tuple[str, Callable[[], None]]:
    x, w, attrs = conv_case(b, 2)
    xi, wi = ints(b, x.shape), ints(b, w.shape)
    s, z = b.const(np.array(0.5, np.float32)), b.const(np.array(1, np.uint8))
    b.op("QLinearConv", b.data(xi), s, z, b.const(wi), s, z, s, z, **attrs)

    def compute() -> None:
        naive.conv(lift(xi), lift(wi), attrs)

    return "QLinearConv", compute


@macs("conv_transpose", 60)
def conv_transpose(b: Build) -> tuple[str, Callable[[], Array]]:
    n, group = b.pick(1, 2, 2, 3), b.rng.randint(1, 2)
    kernel = [b.rng.randint(1, 3 if n < 3 else 2) for _ in range(n)]
    attrs: dict[str, Any] = {"group": group}
    strides = [b.rng.randint(1, 2) for _ in range(n)]
    attrs["strides"] = strides
    if b.chance(0.4):
        attrs["dilations"] = [b.rng.randint(1, 2) for _ in range(n)]
    if b.chance(0.4):
        attrs["pads"] = [b.rng.randint(0, (k - 1) // 2) for k in kernel * 2]
    if b.chance(0.3):
        attrs["output_padding"] = [b.rng.randint(0, s - 1) for s in strides]
    cin, cout = group * b.rng.randint(1, 2), group * b.rng.randint(1, 2)
    x = b.array((b.rng.randint(1, 2), cin, *(b.rng.randint(2, 3) for _ in range(n))))
    w = b.array((cin, cout // group, *kernel))
    b.op("ConvTranspose", b.data(x), b.const(w), **attrs)
    return "ConvTranspose", lambda: drop(naive.conv_transpose(lift(x), lift(w), attrs))


@macs("deform_conv", 20, opset=19)
def deform_conv(b: Build) -> tuple[str, Callable[[], Array]]:
    x, w, attrs = conv_case(b, 2)
    attrs = {k: v for k, v in attrs.items() if k != "auto_pad"}
    out = naive.conv(lift(x), lift(w), attrs).shape
    offset = b.array((x.shape[0], 2 * w.shape[2] * w.shape[3], *out[2:]))
    b.op("DeformConv", b.data(x), b.const(w), b.data(offset), **attrs)
    return "DeformConv", lambda: drop(naive.deform_conv(x, w, offset, attrs))
