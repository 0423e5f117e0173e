"""Matrix products whose weights are stored in few bits and dequantized in the kernel."""

from __future__ import annotations

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Known,
    Op,
    Parts,
    Positive,
    Shape,
    TensorType,
    Types,
    element_count,
    first_dtype,
    frozen,
    has,
    known,
    shape_at,
    single,
    tensor,
)
from ...problem import Product
from ..contraction.epilogue import activation_cost
from ..contraction.matmul import contract


@frozen
class WeightOnly(Op):
    """A product of activations with weights that are dequantized to the activations' type.

    Shapes:  A[b, k] with b the product of the leading axes, a weight of k by n -> Y[b, n].
    Work:    {mac} in the element type of A; {alu}: u operations to unpack a
             weight (its zero point and its scale), x for the bias.
    Traffic: each operand once, the weight in its packed size; Y once.
    Source:  ONNX Runtime ContribOperators.
    """

    kind = Kind.MATMUL
    formulas = {"mac": "b*n*k", "alu": "n*k*u + b*n*x"}
    unpacking = 2
    """Operations that dequantize one stored weight."""

    def weight(self, ins: Inputs) -> tuple[Dim, Dim] | None:
        """Return the contracted extent and the columns of the weight, None if unknown."""
        raise NotImplementedError(f"{type(self).__name__}.weight")

    def bias(self, ins: Inputs) -> int:
        """Return the additions of a bias per element of the product: 1, or 0 without a bias."""
        return 0

    def infer(self, ins: Inputs) -> Types:
        a, weight = tensor(ins, 0), self.weight(ins)
        if a.shape is None or weight is None or not a.shape:
            return single(a.dtype, None)
        contract(a.shape[-1], weight[0])
        return single(a.dtype, (*a.shape[:-1], weight[1]))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        a, weight = shape_at(ins, 0), self.weight(ins)
        if a is None or weight is None:
            return {}
        k, n = weight
        rows = element_count(a[:-1])
        return {"b": rows, "n": n, "k": k, "u": self.unpacking, "x": self.bias(ins)}

    def logical_elements(self, ins: Inputs) -> Parts:
        weight = self.weight(ins)
        return {} if weight is None else {1: weight[0] * weight[1]}

    def packing(self) -> tuple[float, int]:
        """Return bits of a stored weight, and the weights that share a scale; 0 if unknown."""
        raise NotImplementedError(f"{type(self).__name__}.packing")

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        e, (bits, block) = self.extents(ins, outs), self.packing()
        # one product of all rows
        product = Product(batch=1, m=e["b"], n=e["n"], k=e["k"]) if e else None
        return product and product._replace(weight_bits=bits, scale_block=block)


@frozen
class MatMulNBits(WeightOnly):
    """Product with a weight of 2, 4 or 8 bits in blocks along k, each with a scale.

    Shapes:  A[b, k], B[n, k/block, block*bits/8] -> Y[b, n]. Blocks that hold their scales, as
             those of GGML, have ``stored_bits`` for an element; B is flat then.
    Work:    {mac} in the element type of A, or int8 at ``accuracy_level`` 4;
             alu = 2*n*k to unpack and b*n for the bias.
    Traffic: each operand once, the weight in its packed size; Y once.
    Source:  ONNX Runtime ContribOperators, MatMulNBits.
    """

    mnemonic = "matmul_nbits"
    onnx = "com.microsoft::MatMulNBits"
    operands = "A B scales zero_points? g_idx? bias?"

    K: Positive = 0
    N: Positive = 0
    bits: Positive = 4
    block_size: Positive = 32
    accuracy_level: int = 0
    weight_prepacked: int = 0
    stored_bits: float = 0.0

    def weight(self, ins: Inputs) -> tuple[Dim, Dim]:
        return self.K, self.N

    def packing(self) -> tuple[float, int]:
        return self.stored_bits or self.bits, self.block_size

    def bias(self, ins: Inputs) -> int:
        return int(has(ins, 5))

    def mac_dtype(self, ins: Inputs) -> DType | None:
        # of the levels of ONNX Runtime, 4 computes in int8
        return DType.I8 if self.accuracy_level == 4 else None


@frozen
class MatMulBnb4(WeightOnly):
    """Product with a weight of 4-bit FP4 or NF4 codes.

    Shapes:  A[b, k], B flat with n*k codes -> Y[b, n]; without ``transB`` the weight is [k, n].
    Work:    {mac}; alu = n*k, one product with the block's scale; the table look-up of a
             code is left out.
    Traffic: each operand once, the weight in its packed size; Y once.
    Source:  ONNX Runtime ContribOperators, MatMulBnb4; arXiv:2305.14314.
    """

    mnemonic = "matmul_bnb4"
    onnx = "com.microsoft::MatMulBnb4"
    operands = "A B absmax"
    unpacking = 1

    K: Positive = 0
    N: Positive = 0
    block_size: Positive = 16
    quant_type: int = 0
    training_mode: int = 0
    transB: int = 1  # noqa: N815

    def weight(self, ins: Inputs) -> tuple[Dim, Dim]:
        return (self.K, self.N) if self.transB else (self.N, self.K)

    def packing(self) -> tuple[int, int]:
        return 4, self.block_size


@frozen
class MatMulFpQ4(WeightOnly):
    """Product with a pre-packed 4-bit weight whose shape is an operand.

    Shapes:  A[b, k], B a flat blob, B_shape = [k, n] -> Y[b, n].
    Work:    {mac}; alu = 2*n*k to unpack.
    Source:  ONNX Runtime ContribOperators, MatMulFpQ4.
    """

    mnemonic = "matmul_fpq4"
    onnx = "com.microsoft::MatMulFpQ4"
    operands = "A B B_shape"

    blk_quant_type: int = 1

    def weight(self, ins: Inputs) -> tuple[Dim, Dim] | None:
        # B_shape is content: without it the weight is a blob of bytes
        dims = (known(ins, 2) or Known((0,), ())).dims
        k, n = dims if len(dims) == 2 else (None, None)
        return None if k is None or n is None else (k, n)

    def packing(self) -> tuple[int, int]:
        return 4, 0  # the block follows from `blk_quant_type`, whose codes are not read here


@frozen
class MatMulBlockQuantizedFp8Weight(WeightOnly):
    """Product with an 8-bit float weight scaled by blocks.

    Shapes:  A[b, k], B[n, k] -> Y[b, n].
    Work:    {mac} in the element type of A; alu = n*k for the scale and b*n for the bias.
             With ``a_scale`` the macs may be in 8 bits; they are counted in the type of A.
    Source:  ONNX Runtime ContribOperators, MatMulBlockQuantizedFp8Weight.
    """

    mnemonic = "matmul_block_fp8_weight"
    onnx = "com.microsoft::MatMulBlockQuantizedFp8Weight"
    operands = "A B b_scale a_scale? bias?"
    unpacking = 1

    block_size: Positive = 128

    def weight(self, ins: Inputs) -> tuple[Dim, Dim] | None:
        # a byte holds 8 // bits weights along k
        b, bits = shape_at(ins, 1), self.packing()[0]
        return None if b is None or len(b) != 2 else (b[1] * (8 // bits), b[0])

    def packing(self) -> tuple[int, int]:
        return 8, self.block_size

    def bias(self, ins: Inputs) -> int:
        # the last operand, also of the subclass
        return int(has(ins, len(self.signature.names) - 1))


@frozen
class MatMulBlockQuantizedFp4Weight(MatMulBlockQuantizedFp8Weight):
    """Product with a 4-bit float weight, two in a byte, scaled by blocks and as a whole.

    Shapes:  A[b, k], B[n, k/2] -> Y[b, n].
    Work:    {mac} in the element type of A; alu = 2*n*k for the scales and b*n for the bias.
    Source:  ONNX Runtime ContribOperators, MatMulBlockQuantizedFp4Weight.
    """

    mnemonic = "matmul_block_fp4_weight"
    onnx = "com.microsoft::MatMulBlockQuantizedFp4Weight"
    operands = "A B weight_scale weight_scale_2 input_scale? bias?"

    unpacking = 2  # products with the scale of the block and with that of the whole weight

    block_size: Positive = 16

    def packing(self) -> tuple[int, int]:
        return 4, self.block_size


RMS_NORM = 4
"""Square and addition, product with the reciprocal root, product with the scale."""


@frozen
class MatMulNBitsMlp(Op):
    """Gate and up projections in few bits, ``activation(gate) * up``, after an optional norm.

    Shapes:  A[b, k], two weights of k by n -> Y[b, n]; the sum of A and skip[b, k].
    Work:    {mac}; alu = 4*n*k to unpack, b*n*x for biases, activation and product,
             b*k*z for skip and norm; {sfu}.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, MatMulNBitsMlp.
    """

    mnemonic = "matmul_nbits_mlp"
    onnx = "com.microsoft::MatMulNBitsMlp"
    operands = "A skip? norm_scale? gate_B gate_scales gate_bias? up_B up_scales up_bias?"
    kind = Kind.MATMUL
    formulas = {"mac": "2*b*n*k", "alu": "4*n*k + b*n*x + b*k*z", "sfu": "b*n*y"}

    K: Positive = 0
    N: Positive = 0
    bits: Positive = 4
    block_size: Positive = 32
    accuracy_level: int = 0
    activation: str = ""
    epsilon: float = 1e-5

    def infer(self, ins: Inputs) -> Types:
        a = tensor(ins, 0)
        shape: Shape | None = None if a.shape is None else (*a.shape[:-1], self.N)
        # the second result, the sum of A and skip, has the type of A
        return TensorType(a.dtype, shape), a

    def logical_elements(self, ins: Inputs) -> Parts:
        # positions of the gate and up weights
        return dict.fromkeys((3, 6), self.N * self.K)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        a = shape_at(ins, 0)
        if a is None:
            return {}
        alu, sfu = activation_cost(self.activation)
        # one for the product of gate and up, then both biases
        x = alu + 1 + int(has(ins, 5)) + int(has(ins, 8))
        z = int(has(ins, 1)) + RMS_NORM * int(has(ins, 2))
        return {"b": element_count(a[:-1]), "n": self.N, "k": self.K, "x": x, "y": sfu, "z": z}


@frozen
class MatMulNBitsQkv(Op):
    """Norm, then the query, key and value projections in few bits.

    Shapes:  A[b, k] -> Q[b, n], K[b, l], V[b, l], the sum of A and skip[b, k].
    Work:    {mac}; alu = 2*k*(n + 2*l) to unpack and b*k*z for skip and norm;
             biases are left out.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, MatMulNBitsQkv.
    """

    mnemonic = "matmul_nbits_qkv"
    onnx = "com.microsoft::MatMulNBitsQkv"
    operands = "A skip? norm_scale q_B q_scales q_bias? k_B k_scales k_bias? v_B v_scales v_bias?"
    kind = Kind.MATMUL
    # biases would add one operation per element of a result, against k multiply-accumulates
    formulas = {"mac": "b*k*(n + 2*l)", "alu": "2*k*(n + 2*l) + b*k*z"}

    K: Positive = 0
    Nq: Positive = 0
    Nkv: Positive = 0
    bits: Positive = 4
    block_size: Positive = 32
    accuracy_level: int = 0
    epsilon: float = 1e-6

    def infer(self, ins: Inputs) -> Types:
        a, dtype = tensor(ins, 0), first_dtype(ins, 0)
        rows = None if a.shape is None else a.shape[:-1]
        widths = (self.Nq, self.Nkv, self.Nkv)
        return (*(TensorType(dtype, None if rows is None else (*rows, w)) for w in widths), a)

    def logical_elements(self, ins: Inputs) -> Parts:
        # positions of the weights of query, key and value
        return {3: self.Nq * self.K, 6: self.Nkv * self.K, 9: self.Nkv * self.K}

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        a = shape_at(ins, 0)
        if a is None:
            return {}
        # ``norm_scale`` is a required operand here, unlike that of `MatMulNBitsMlp`, so the norm
        # always counts; skip is one addition
        z = RMS_NORM + int(has(ins, 1))
        return {"b": element_count(a[:-1]), "k": self.K, "n": self.Nq, "l": self.Nkv, "z": z}
