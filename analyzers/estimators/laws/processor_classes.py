"""Classify kernels on processors: kernels of equal efficiency share a class, which has a law.

The time of a kernel is a sum of terms, each a quantity over a rate: products over the rate of
products, bytes over a bandwidth, and so on. A class has several names, from the most specific to
the most general one, so that a class that was never measured falls back on its family. The kernels
are those of ONNX Runtime's MLAS, whose convolutions store channels in blocks (NCHWc).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from functools import partial
from itertools import pairwise

from perfc.ir import record

from ..subject import KernelSubject

BLOCK = 16
"""Elements of f32 in a 512-bit vector; channels are stored in blocks of this number."""
ALIGNMENT = 4
"""Divisor of the number of channels without which tensors are not copied into blocks."""
TILE = 6
"""Rows that the inner loop of a product sums at once. Source: mlas/lib/x86_64/SgemmKernel*.S."""
POINTWISE_DEPTH = 128
"""Input channels a pointwise convolution sums before it writes. Source: mlas/lib/snchwc.cpp."""
NEAR_BYTES = 1 << 20
"""Capacity of one core's cache (L2), as most server processors have it."""
FAR_BYTES = 1 << 24
"""Capacity of the shared cache (L3) for the tensors of one kernel; larger caches count as this one,
so that classes of kernels do not depend on the machine."""
MAPPED_BYTES = 1 << 25
"""Smallest allocation that the system maps again each time, with page faults on its first writes.
Source: glibc, malloc/malloc.c."""


class Term(Enum):
    """Units of work, with the name of the rate that gives each its seconds."""

    LAUNCH = "launch_s"
    MAC = "mac_per_s"
    ELEMENT = "element_per_s"
    SPECIAL = "special_per_s"  # transcendental functions
    BYTE = "bytes_per_s"
    MID_BYTE = "mid_bytes_per_s"  # bytes beyond one core's cache
    FAR_BYTE = "far_bytes_per_s"  # bytes beyond the shared cache
    WEIGHT_BYTE = "weight_bytes_per_s"
    STORE_BYTE = "store_bytes_per_s"  # partial sums, or columns that are gathered before a product
    ROW = "row_per_s"  # starts of an inner loop
    MAPPED_BYTE = "mapped_bytes_per_s"  # bytes of fresh pages

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower


Terms = dict[Term, float]
"""Amount of each term in one launch."""


@record
class Class:
    """A kernel's class names, most specific first, and its quantities for one launch."""

    names: tuple[str, ...]
    terms: Terms


def classify(s: KernelSubject) -> Class:
    """Return the class of a kernel, by the rules of its family."""
    family = _FAMILIES.get(s.kind, _other)
    kernel = family(s)
    terms = {Term.LAUNCH: 1.0, **{t: q for t, q in kernel.terms.items() if q > 0}}
    # fresh memory of the kernel: its results, except of an optimizer that writes in place (without
    # the attribute "fresh"), and the filters of a convolution, which are copied into blocks
    allocated_bytes = [s.write_bytes * (s.kind != "optimizer" or "fresh" in s.attributes)]
    allocated_bytes += [w.nbytes for w in s.operands[1:2] if w and s.kind == "conv"]
    if max(allocated_bytes) >= MAPPED_BYTES:
        terms[Term.MAPPED_BYTE] = sum(allocated_bytes)
    # operators of integers have separate kernels, not those of quantized models
    start = "integer." if s.op.endswith("_integer") else ""
    names = [f"{start}{n}" for n in kernel.names]
    if is_of_step(s):
        names[:0] = [f"{s.op}.{n}" for n in names]
    return Class(tuple(names), terms)


def is_of_step(s: KernelSubject) -> bool:
    """Return True for kernels that only training steps run."""
    return s.op.endswith("_grad") or "training_mode" in s.attributes


def traffic(nbytes: float) -> Terms:
    """Return all bytes, and the bytes beyond the capacity of one core's and of the shared cache."""
    return {
        Term.BYTE: nbytes,
        Term.MID_BYTE: max(nbytes - NEAR_BYTES, 0.0),
        Term.FAR_BYTE: max(nbytes - FAR_BYTES, 0.0),
    }


def padded(extent: int, block: int = BLOCK) -> int:
    """Return an extent rounded up to whole blocks."""
    return -(-extent // block) * block


def _conv(s: KernelSubject) -> Class:
    """Return the class of a convolution, one per algorithm of MLAS; w is [filters, depth, ...]."""
    y, w, problem = s.result, s.operand(1), s.window
    if problem is None or y is None or w is None:
        return Class(("conv",), {Term.MAC: s.mac, **traffic(s.nbytes)})
    if problem.is_transposed:
        return Class(("conv.transposed", "conv"), {Term.MAC: s.mac, **traffic(s.nbytes)})
    filters, depth, window, groups = w.shape[0], w.shape[1], math.prod(w.shape[2:]), problem.groups
    batch = y.shape[0]
    sites = batch * math.prod(y.shape[2:])  # output positions
    rows = batch * math.prod(y.shape[2:-1])  # output rows, each an inner loop
    terms: Terms = {**traffic(s.nbytes - w.nbytes), Term.WEIGHT_BYTE: w.nbytes}
    terms[Term.FAR_BYTE] += max(w.nbytes - FAR_BYTES, 0.0)
    if len(w.shape) != 4:
        terms[Term.MAC] = s.mac
        return Class((f"conv.{len(w.shape) - 2}d", "conv"), terms)
    if problem.is_depthwise and filters == groups:
        if filters % ALIGNMENT:
            # channels that cannot be blocked: one row of one channel at a time
            terms[Term.MAC] = s.mac
            terms[Term.ROW] = float(rows * filters)
            return Class(("conv.depthwise.plain", "conv.plain", "conv"), terms)
        terms[Term.MAC] = sites * window * padded(filters)
        terms[Term.ROW] = rows * padded(filters) / BLOCK
        return Class((f"conv.depthwise.{w.shape[2]}", "conv.depthwise", "conv"), terms)
    if groups > 1:
        terms[Term.MAC] = s.mac
        if depth % BLOCK or (filters // groups) % BLOCK:
            # channels are not blocked: a product for each group, of f32 columns gathered before it
            terms[Term.MAC] = float(
                sites * groups * padded(filters // groups, TILE) * depth * window
            )
            terms[Term.ROW] = float(batch * groups)
            terms[Term.STORE_BYTE] = 4.0 * sites * window * depth * groups
            return Class(("conv.narrow", "conv"), terms)
        terms[Term.ROW] = rows * groups * -(-depth // BLOCK)
        terms[Term.STORE_BYTE] = 4.0 * sites * filters * -(-depth // BLOCK)
        return Class(("conv.grouped", "conv"), terms)
    terms[Term.MAC] = sites * window * padded(filters) * padded(depth)
    if depth >= BLOCK and depth % ALIGNMENT:
        # channels are not blocked: a product of columns that are gathered before (im2col)
        terms[Term.MAC] = s.mac
        terms[Term.STORE_BYTE] = 4.0 * sites * window * depth
        return Class(("conv.plain", "conv"), terms)
    if depth < BLOCK:  # the image as input: its few channels are read unblocked
        terms[Term.MAC] = sites * window * padded(filters) * depth
        terms[Term.ROW] = rows * padded(filters) / BLOCK
        return Class(("conv.first", "conv"), terms)
    if sites == batch:  # one output position for each image: a product of a vector
        return Class(("conv.vector", "conv"), terms)
    if window == 1:
        # after each part of the depth but the last, partial sums (f32) are written and read back
        terms[Term.STORE_BYTE] = 4.0 * sites * padded(filters) * (-(-depth // POINTWISE_DEPTH) - 1)
        strided = ["conv.pointwise.strided"] * (problem.stride != 1)
        return Class((*strided, "conv.pointwise", "conv"), terms)
    # direct convolution sums one block of input channels at a time, into four blocks of filters
    terms[Term.STORE_BYTE] = 4.0 * sites * padded(filters) * -(-depth // BLOCK)
    terms[Term.ROW] = rows * -(-padded(filters) // (4 * BLOCK)) * -(-depth // BLOCK)
    return Class(("conv.direct", "conv"), terms)


def _matmul(s: KernelSubject) -> Class:
    """Return the class of a product: by stored or computed right operand, and by few rows."""
    a, b, y = s.operand(0), s.operand(1), s.result
    if a is None or b is None or y is None or not y.shape or not a.numel or not y.numel:
        return Class(("gemm",), {Term.MAC: s.mac, **traffic(s.nbytes)})
    columns = y.shape[-1]
    depth = s.mac / y.numel
    is_stored = b.is_stored
    is_shared = is_stored or len(b.shape) < 3  # one right operand for the whole batch
    batch = 1 if is_shared else max(math.prod(y.shape[:-2]), 1)
    rows = y.numel / columns / batch
    mac = batch * rows * padded(columns) * depth
    terms: Terms = {
        Term.MAC: mac,
        Term.WEIGHT_BYTE: b.nbytes,
        Term.STORE_BYTE: y.nbytes * max(depth / 256, 1.0),  # results are updated every 256 of depth
        Term.ROW: batch,
        **traffic(a.nbytes + y.nbytes),
    }
    source = "stored" if is_stored else "dynamic"
    if rows < 4:  # too few rows to reuse weights in registers: bound by reading them
        # f16 weights are those of language models: a decode step reads all of them from memory
        terms[Term.FAR_BYTE] += b.nbytes * (s.dtype == "f16")
        bits = 8 * b.nbytes / (columns * depth)
        narrow = [f"gemm.{bits:.3g} bits"] * (s.op == "matmul_nbits")
        return Class((*narrow, f"gemm.{source}.vector", f"gemm.{source}", "gemm"), terms)
    shared = ["gemm.shared"] * (is_shared and not is_stored)
    return Class((*shared, f"gemm.{source}", "gemm"), terms)


def _elementwise(s: KernelSubject) -> Class:
    """Return the class of an element-wise kernel, by its operators and how operands broadcast."""
    form, spans = broadcast(s)
    terms = {
        Term.ELEMENT: s.elements,
        Term.SPECIAL: s.sfu,
        Term.ROW: spans if form != "same" else 0.0,
        **traffic(s.nbytes),
    }
    names = (f"elementwise.{s.name}.{form}", f"elementwise.{s.name}", f"elementwise.{form}")
    return Class((*names, "elementwise", "memory"), terms)


def broadcast(s: KernelSubject) -> tuple[str, float]:
    """Return how operands of an elementwise kernel broadcast, and the number of its spans.

    A span is the longest run of elements that one vector loop computes: in it all operands vary
    (``vector``), or one is constant (``scalar``); ``same`` if nothing is broadcast. Of several
    broadcast operands the one with most spans decides.
    """
    y = s.result
    shapes = [o.shape for o in s.operands if o is not None and o.numel > 1]
    if y is None or len(s.operands) < 2 or not y.shape:
        return "same", 1.0
    forms: list[tuple[str, float]] = []
    for shape in shapes:
        full = (1,) * (len(y.shape) - len(shape)) + shape
        axes = [(a, b) for a, b in zip(full, y.shape, strict=False) if b > 1]
        # an operand of higher rank than the result, or one that is not broadcast
        if len(full) != len(y.shape) or all(a == b for a, b in axes):
            continue
        is_constant = axes[-1][0] == 1
        # innermost axes up to the first that changes between broadcast and full
        span = 1
        for a, b in reversed(axes):
            if (a == 1) != is_constant:
                break
            span *= b
        forms.append(("scalar" if is_constant else "vector", y.numel / span))
    return max(forms, key=lambda f: f[1], default=("same", 1.0))


def _rows(s: KernelSubject, name: str) -> Class:
    """Return the class of softmax, normalization or reduction, which work row by row."""
    x = s.operand(0)
    elements = float(x.numel) if x is not None else s.read_bytes / 4
    # a row is the last axis; batch normalization in training runs over one channel of one image at
    # a time, so that its row is all axes from the third
    start = 2 if s.op.startswith("batch_norm") and is_of_step(s) else -1
    inner = math.prod(x.shape[start:]) if x is not None else 1
    y = s.result
    terms = {
        Term.ELEMENT: elements,
        Term.ROW: elements / max(inner, 1),
        **traffic(s.nbytes),
    }
    if name != "reduction":
        # such a row may be shorter than a vector
        short = [f"{name}.{s.name}.short"] * (start == 2 and inner < BLOCK)
        return Class((*short, f"{name}.{s.name}", name, "memory"), terms)
    form = reduced(x.shape, y.shape) if x and y else "r"
    if s.is_last and x:
        # channels last: all axes but batch and channels are reduced
        form = "k" * (x.shape[0] > 1) + "rk"
    return Class((f"{name}.{s.name}.{form}", f"{name}.{form}", name, "memory"), terms)


def reduced(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """Return the pattern of kept (``k``) and reduced (``r``) axes, without extents of 1.

    Adjacent axes of one letter are merged. If two axes of equal extents could be the reduced one,
    it is the later of them.

    Args:
        before: extents of the operand.
        after: extents of the result; reduced axes have extent 1 or are absent.
    """
    pattern = ""
    remaining = list(after)
    for i, extent in enumerate(before):
        # extents of the result are taken from the left; more of them than axes remain cannot be
        is_kept = bool(remaining) and remaining[0] == extent and len(remaining) <= len(before) - i
        if is_kept or (remaining and remaining[0] == 1 and len(remaining) == len(before) - i):
            remaining.pop(0)
        letter = "k" if is_kept else "r"
        if extent > 1 and not pattern.endswith(letter):
            pattern += letter
    return pattern or "k"


def _pool(s: KernelSubject) -> Class:
    """Return the class of pooling or resizing, by operator and mode."""
    x, y = s.operand(0), s.result
    window = math.prod(s.attributes.get("kernel_shape", (1,)))
    elements = float(y.numel) if y is not None else 0.0
    terms = traffic(s.nbytes)
    name = f"pool.{s.op}" + (f".{s.words['mode']}" if "mode" in s.words else "")
    names = [name, "pool", "memory"]
    if y is not None and len(y.shape) > 2 and s.op != "resize":
        # channels that do not fill blocks are pooled one by one, others a block at a time
        is_plain = y.shape[1] % BLOCK > 0
        terms[Term.ROW] = elements / y.shape[-1] / (1 if is_plain else BLOCK)
        terms[Term.STORE_BYTE] = 4 * elements
        names[:0] = [f"{name}.plain"] * is_plain
    if s.op.startswith("global"):  # one window, all of the operand
        window, elements = 1, float(x.numel) if x is not None else 0.0
    return Class(tuple(names), {Term.ELEMENT: elements * window, **terms})


def permutation(shape: tuple[int, ...], perm: tuple[int, ...]) -> tuple[str, int]:
    """Return a transposition without axes of extent one, and with adjacent axes merged.

    Args:
        shape: extents of the operand.
        perm: for each axis of the result, the axis of the operand.

    Returns:
        The pattern, such as ``0213``, and the number of contiguous elements that move as one piece
        (1 if the last axis moves).
    """
    permuted = [p for p in perm if shape[p] != 1]
    if not permuted:
        return "0", 1
    runs: list[list[int]] = []  # axes that stay adjacent and in order
    ascending = sorted(permuted)
    next_axis = dict(pairwise(ascending))
    for p in permuted:
        if runs and next_axis.get(runs[-1][-1]) == p:
            runs[-1].append(p)
        else:
            runs.append([p])
    order = {r[0]: i for i, r in enumerate(sorted(runs))}
    pattern = "".join(str(order[r[0]]) for r in runs)
    last = runs[-1]
    inner = math.prod(shape[p] for p in last) if last[-1] == ascending[-1] else 1
    return pattern, inner


def _movement(s: KernelSubject) -> Class:
    """Return the class of a copy; a transposition by its pattern of axes."""
    x = s.operand(0)
    op, elements = s.name, s.elements
    terms: Terms = {Term.ELEMENT: elements, **traffic(s.nbytes)}
    if s.op == "transpose" and x is not None and x.shape:
        perm = s.attributes.get("perm") or tuple(reversed(range(len(x.shape))))
        if len(perm) == len(x.shape):
            pattern, inner = permutation(x.shape, perm)
            terms[Term.ROW] = elements / max(inner, 1)
            form = "block" if inner > 1 else "scatter"
            name = f"movement.{op}.{pattern}"
            general = (name, f"movement.{op}.{form}", f"movement.{op}", "movement", "memory")
            return Class((f"{name}.rank{len(perm)}", *general), terms)
    terms[Term.ROW] = copies(s)
    return Class((f"movement.{op}", "movement", "memory"), terms)


def copies(s: KernelSubject) -> float:
    """Return the number of contiguous pieces that a kernel copies.

    A slice, a concatenation or a split has as many as the product of the extents before the last
    axis that differs between operand and result, for each operand of a concatenation or each result
    of others. A broadcast copies the extents behind that axis as one piece.
    """
    x, y = s.operand(0), s.result
    if x is None or y is None or not y.shape:
        return 1.0
    if len(x.shape) != len(y.shape):  # axes cannot be compared: rows of the result
        return y.numel / max(y.shape[-1], 1)
    cut = [i for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if a != b]
    if not cut:
        return 1.0
    shape = x.shape if x.numel > y.numel else y.shape
    tensors = sum(o is not None for o in (s.operands if s.op == "concat" else s.results))
    if s.op == "expand":
        inner = math.prod(y.shape[cut[-1] + 1 :])
        return y.numel / max(inner, 1)
    return float(math.prod(shape[: cut[-1]]) * tensors)


def _other(s: KernelSubject) -> Class:
    """Return the class of any other kernel, by kind and name."""
    # a row of trees takes many steps for each element of the result
    steps = s.alu if s.kind == "classical" else 0.0
    terms = {Term.ELEMENT: max(s.elements, steps), Term.MAC: s.mac, **traffic(s.nbytes)}
    if s.kind == "gather":
        index = s.operand(1)
        terms[Term.ROW] = float(index.numel) if index is not None else 0.0
    return Class((f"{s.kind}.{s.name}", s.kind, "memory"), terms)


_FAMILIES: dict[str, Callable[[KernelSubject], Class]] = {
    "conv": _conv,
    "matmul": _matmul,
    "elementwise": _elementwise,
    "quantize": _elementwise,
    "softmax": partial(_rows, name="softmax"),
    "normalization": partial(_rows, name="normalization"),
    "reduction": partial(_rows, name="reduction"),
    "pool": _pool,
    "movement": _movement,
}
