"""ONNX Runtime arithmetic without an operator in the default domain."""

from __future__ import annotations

from dataclasses import replace

from ... import (
    DType,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positive,
    Shape,
    TensorType,
    Types,
    Work,
    count,
    element_count,
    first_counted,
    first_dtype,
    frozen,
    has,
    shape_at,
    single,
    tensor,
)
from ...problem import Product
from ...tensors.broadcast import broadcast
from ..classical.signal import log2_floor
from ..elementwise.elementwise import Elementwise, pointwise
from ..elementwise.exact import checked
from ..normalization.reduce import reduced_axes, reduced_shape

ROOTED = ("euclidean", "minkowski")
"""Metrics of `CDist` with a root."""
EXPANDED = ("euclidean", "sqeuclidean")
"""Metrics of `CDist` that are computed by a product of matrices: |a|**2 + |b|**2 - 2*a*b."""


class Inverse(Op):
    """Inverses of square matrices by elimination.

    Shapes:  X[b..., m, m] -> same shape.
    Work:    {alu}: products and differences; {sfu} reciprocals of the pivots.
    Traffic: X and result once.
    Source:  ONNX Runtime contrib Inverse-1; Golub and Van Loan, Matrix Computations, section 3.4.
    """

    mnemonic = "inverse"
    onnx = "com.microsoft::Inverse"
    operands = "X"
    kind = Kind.OPAQUE
    formulas = {"alu": "2*b*m*m*m", "sfu": "b*m"}

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = shape_at(ins, 0)
        if not shape:
            return {"b": 0, "m": 0}
        return {"b": element_count(shape[:-2]), "m": shape[-1]}


@frozen
class CDist(Op):
    """Distances of all pairs of rows.

    Shapes:  A[l..., m, k], B[l..., n, k] broadcast -> C[l..., m, n], with b pairs of matrices.
    Work:    {mac}: the product of A and B; {alu}: squared norms, and
             their combination with the product; {sfu}: a root for euclidean distances. Other
             metrics have no product: a difference, its magnitude and a sum for each of its macs.
             q is 1 with a product and r is 1 with a root, else 0.
    Traffic: A, B and C once.
    Source:  ONNX Runtime contrib CDist-1; cdist.h expands |a - b|**2. torch.cdist of batches.
    """

    mnemonic = "cdist"
    onnx = "com.microsoft::CDist"
    operands = "A B"
    kind = Kind.MATMUL
    formulas = {
        "mac": "b*m*n*k*q",
        # squares and sums of both norms, then three operations per pair; else three per element
        "alu": "b*(2*(m + n)*k + 3*m*n)*q + 3*b*m*n*k*(1 - q)",
        "sfu": "b*m*n*r",
    }
    metric: str = "sqeuclidean"

    def infer(self, ins: Inputs) -> Types:
        a, b = shape_at(ins, 0), shape_at(ins, 1)
        if not (a and b and a[1:] and b[1:]):
            return single(first_dtype(ins, 0, 1), None)
        lead = broadcast([a[:-2], b[:-2]]) or ()
        return single(first_dtype(ins, 0, 1), (*lead, a[-2], b[-2]))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape, a = outs[0], shape_at(ins, 0)
        if not a or not isinstance(shape, TensorType) or not shape.shape:
            return {"b": 0, "m": 0, "n": 0, "k": 0, "q": 0, "r": 0}
        *lead, m, n = shape.shape
        root, product = (int(self.metric in names) for names in (ROOTED, EXPANDED))
        return {
            "b": element_count(tuple(lead)),
            "m": m,
            "n": n,
            "k": a[-1],
            "q": product,
            "r": root,
        }

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        # in the order of `extents`
        b, m, n, k, is_product, _ = self.extents(ins, outs).values()
        # metrics that are not expanded run no product of matrices
        return Product(b, m, n, k) if is_product else None


class ComplexMul(Op):
    """Products of complex numbers stored as pairs along the last axis.

    Shapes:  A[s..., 2], B broadcast -> C.
    Work:    {alu} for e elements: four products, a difference and an addition per pair.
    Traffic: A, B and C once.
    Source:  ONNX Runtime contrib ComplexMul-1.
    """

    mnemonic = "complex_mul"
    onnx = "com.microsoft::ComplexMul"
    operands = "A B"
    formulas = {"alu": "3*e"}

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([shape_at(ins, 0), shape_at(ins, 1)])
        return single(first_dtype(ins, 0, 1), shape)


class ComplexMulConj(ComplexMul):
    """Products with the conjugate of B. Source: ONNX Runtime contrib ComplexMulConj-1."""

    mnemonic = "complex_mul_conj"
    onnx = "com.microsoft::ComplexMulConj"


@frozen
class Rfft(Op):
    """One-sided Fourier transform of real signals along the last ``signal_ndim`` axes.

    Shapes:  X[b..., n] -> [b..., n//2 + 1, 2].
    Work:    {alu}: as DFT, with e elements of the signal and l the floor of log2 of
             the elements of one transform; half of it since the signal is real.
    Traffic: X and result once.
    Source:  ONNX Runtime contrib Rfft-1; Cooley and Tukey 1965.
    """

    mnemonic = "rfft"
    onnx = "com.microsoft::Rfft"
    operands = "X"
    kind = Kind.SIGNAL
    formulas = {"alu": "5*e*l//2"}
    signal_ndim: Positive = 1
    normalized: int = 0
    onesided: int = 1

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = (*x.shape[:-1], x.shape[-1] // 2 + 1, 2) if x.shape else None
        return single(x.dtype, shape)

    def signal(self, ins: Inputs, outs: Types) -> Shape | None:
        """Return the shape of the real signal."""
        return shape_at(ins, 0)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = self.signal(ins, outs)
        if not shape:
            return {"e": 0, "l": 0}
        transform = element_count(shape[-self.signal_ndim :])
        return {"e": element_count(shape), "l": log2_floor(transform)}


class Irfft(Rfft):
    """Real signals from their one-sided transform.

    Shapes:  X[b..., m, 2] -> [b..., 2*(m - 1)].
    Work:    as Rfft, of the result.
    Traffic: X and result once.
    Source:  ONNX Runtime contrib Irfft-1.
    """

    mnemonic = "irfft"
    onnx = "com.microsoft::Irfft"

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        shape = None
        if x.shape is not None and len(x.shape) > 1:
            # n//2 + 1 bins: the even one of two possible lengths
            shape = (*x.shape[:-2], checked((x.shape[-2] - 1) * 2, "length"))
        return single(x.dtype, shape)

    def signal(self, ins: Inputs, outs: Types) -> Shape | None:
        out = outs[0]
        return out.shape if isinstance(out, TensorType) else None


@frozen
class ReduceSumInteger(Op):
    """Sum of 8-bit integers in 32 bits.

    Shapes:  data -> the axes have extent 1, or are left out without ``keepdims``.
    Work:    {integer}: an addition per element.
    Traffic: data and result once.
    Source:  ONNX Runtime contrib ReduceSumInteger-1.
    """

    mnemonic = "reduce_sum_integer"
    onnx = "com.microsoft::ReduceSumInteger"
    operands = "data"
    kind = Kind.REDUCTION
    formulas = {"integer": "e"}
    axes: tuple[int, ...] = ()
    keepdims: int = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        dtype = {DType.I8: DType.I32, DType.U8: DType.U32}.get(data.dtype, DType.UNKNOWN)
        if data.shape is None:
            return single(dtype, None)
        # without axes all are reduced
        axes = reduced_axes(self.axes or range(len(data.shape)), len(data.shape))
        return single(dtype, reduced_shape(data.shape, axes, self.keepdims))

    extents = first_counted


class MulInteger(Op):
    """Products of quantized operands without their zero points, in 32 bits.

    Shapes:  A, B broadcast -> i32.
    Work:    {integer}: a product, and a difference for each zero point.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib MulInteger-1.
    """

    mnemonic = "mul_integer"
    onnx = "com.microsoft::MulInteger"
    operands = "A A_zero_point? B B_zero_point?"
    formulas = {"integer": "a*e"}

    def infer(self, ins: Inputs) -> Types:
        shape = broadcast([shape_at(ins, 0), shape_at(ins, 2)])
        return single(DType.I32, shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "a": 1 + has(ins, 1) + has(ins, 3)}


GatedAdd = pointwise(
    "gated_add",
    "com.microsoft::GatedAdd-1",
    "X Y gate",
    "``X + Y * gate``",
    alu=2,
    derivative=("1", "c", "b"),  # by X, Y and gate; b and c stand for Y and gate
)


@frozen
class ScaledSiLU(Elementwise):
    """``z * sigmoid(z)`` of ``z = scale * x``.

    Shapes:  X -> same shape; scale is a scalar.
    Work:    products and the sigmoid: 4 operations and 2 special functions per element.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib ScaledSiLU-1.
    """

    mnemonic = "scaled_silu"
    onnx = "com.microsoft::ScaledSiLU"
    operands = "X scale?"
    # a product by the scale, one by the sigmoid, and in the sigmoid 2 operations and 2 special
    # functions: the negative and the sum, the exponential and the reciprocal
    alu_per_element, sfu_per_element = 4, 2
    alpha: float = 1.0

    # like X: the base class would broadcast the operands
    infer = Op.infer


@frozen
class MurmurHash3(Op):
    """A 32-bit hash of every element.

    Shapes:  X -> u32, or i32 if not ``positive``, of the same shape.
    Work:    {integer}: two factors, two rotations, and three operations that mix for
             each of the w words of an element, nine at the end; of text the nine alone, a bound.
    Traffic: X and result once.
    Source:  ONNX Runtime contrib MurmurHash3-1; MurmurHash3_x86_32 by Austin Appleby.
    """

    mnemonic = "murmur_hash3"
    onnx = "com.microsoft::MurmurHash3"
    operands = "X"
    formulas = {"integer": "e*(7*w + 9)"}
    positive: int = 1
    seed: int = 0

    def result_dtype(self, ins: Inputs) -> DType:
        return DType.U32 if self.positive else DType.I32

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        hashing = super().work(ins, outs)
        return hashing and replace(hashing, is_bound=tensor(ins, 0).dtype.bits == 0)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # w is 0 for text, which has no fixed width
        return {"e": count(outs[0]), "w": tensor(ins, 0).dtype.bits // 32}


@frozen
class HyperConnectionPreMix(Op):
    """Weighted sum of streams, with a gate for each.

    Shapes:  streams[r..., c, h], or flat [r..., c*h] with ``num_branches`` -> [r..., h].
    Work:    {alu}: a product and an addition for each element of the streams.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime contrib HyperConnectionPreMix-1.
    """

    mnemonic = "hyper_connection_pre_mix"
    onnx = "com.microsoft::HyperConnectionPreMix"
    operands = "streams pre_mix"
    formulas = {"alu": "2*e"}

    num_branches: Natural = 0
    reduction_scale: float = 1.0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape is None or len(x.shape) < (1 if self.num_branches else 2):
            return single(x.dtype, None)
        # flat streams lie one after the other in the last axis
        if self.num_branches:
            shape = (*x.shape[:-1], x.shape[-1] // self.num_branches)
        else:
            shape = (*x.shape[:-2], x.shape[-1])
        return single(x.dtype, shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 0))} if shape_at(ins, 0) is not None else {}
