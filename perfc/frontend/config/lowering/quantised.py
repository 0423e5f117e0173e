"""Lower products of linear layers: weights in few bits, and low-rank adapters of each token.

Operators and layouts of weights are those of ONNX Runtime's contrib operators; engines store the
same number of bytes in other orders. Operators take optional operands by position: None stands for
an absent operand. A ``unit_scale`` is one number for a whole operand, where the format has no other
scales of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir import DType, Inputs, Value
from perfc.ir.ops import (
    Add,
    Concat,
    Gemm,
    GemmFloat8,
    GroupedGemm,
    MatMulBlockQuantizedFp4Weight,
    MatMulBnb4,
    MatMulIntegerToFloat,
    MatMulNBits,
    Mul,
    QuantizeLinear,
)

from ...checkpoints.stored import StoredWeight
from ..precision import WeightFormat

if TYPE_CHECKING:
    from .builder import Builder


LINEAR, MUL, JOIN = Gemm(transB=1), Mul(), Concat(axis=-1)


def quantised_product(
    b: Builder,
    x: Value,
    extents: tuple[int, int],
    name: str,
    bias: Value | None,
    form: WeightFormat,
) -> Value:
    """Return ``x`` [rows, contracted] times a weight of ``extents``: contracted, columns.

    Formats that multiply in few bits quantise ``x`` first, once for all products that read it.
    """
    k, n = extents
    weight = f"{name}.weight"
    if (type_ := form.ggml) is not None:
        nbytes = -(-k * n // type_.elements) * type_.nbytes
        return block_product(b, x, extents, name, bias, StoredWeight(type_, k * n, nbytes))
    match form:
        case WeightFormat.I2 | WeightFormat.I3 | WeightFormat.I4 | WeightFormat.W8:
            block, bits = b.precision.block(form, k, name), form.bits
            blocks = -(-k // block)
            # packed whole numbers, each block of a column with a scale and a zero point
            packed = b.weight(weight, (n, blocks, -(-block * bits // 8)), DType.U8)
            scales = b.scales(f"{name}.scales", (n * blocks,), b.half)
            zeros = b.scales(f"{name}.zeros", (n * -(-blocks * bits // 8),), DType.U8)
            n_bits = MatMulNBits(K=k, N=n, bits=bits, block_size=block)
            return b.node(n_bits, trimmed(x, packed, scales, zeros, None, bias), name)
        case WeightFormat.NF4 | WeightFormat.NF4_NESTED:
            # bitsandbytes: 4-bit codes of a table, two in a byte
            packed = b.weight(weight, (-(-n * k // 2),), DType.U8)
            scales = b.scales(f"{name}.absmax", (-(-n * k // form.block),), SCALES[form])
            bnb4 = MatMulBnb4(K=k, N=n, block_size=form.block, quant_type=1)  # 1: NF4, 0: FP4
            y = b.node(bnb4, (x, packed, scales), name)
            return y if bias is None else b.node(Add(), (y, bias), f"{name}.biased")
        case WeightFormat.MXFP4 | WeightFormat.MXFP4_F8:
            # 4-bit floats, two in a byte, widened on the way into the product
            block = b.precision.block(form, k, name)
            packed = b.weight(weight, (n, -(-k // 2)), DType.U8)
            of_blocks = scales_of(b, form, extents, name)
            unit_scale = b.buffer("scale", (1,), DType.F32)
            fp4 = MatMulBlockQuantizedFp4Weight(block_size=block)
            return b.node(fp4, trimmed(x, packed, of_blocks, unit_scale, None, bias), name)
        case WeightFormat.I8:
            # both operands are whole numbers: W8A8, with a scale per column
            whole = b.weight(weight, (k, n), DType.I8)
            scales = b.scales(f"{name}.scales", (n,), b.half)
            narrow = quantised(b, x, form)
            unit_scale = b.buffer("scale.half", (1,), b.half)
            int8 = MatMulIntegerToFloat()
            return b.node(int8, trimmed(narrow, whole, unit_scale, scales, None, None, bias), name)
        case _:
            assert form.multiplied is not None
            # 8- and 4-bit floats: both operands are narrow, with a scale per block or for all
            whole = b.weight(weight, (n, k), form.multiplied)
            narrow = quantised(b, x, form)
            unit_scale = b.buffer("scale", (1,), DType.F32)
            of_blocks = scales_of(b, form, extents, name)
            scales = of_blocks or b.scales(f"{name}.scale", (1,), DType.F32)
            float8 = GemmFloat8(transB=1, beta=1.0, dtype=b.half)
            return b.node(float8, (narrow, whole, bias, unit_scale, scales), name)


def block_product(
    b: Builder,
    x: Value,
    extents: tuple[int, int],
    name: str,
    bias: Value | None,
    stored: StoredWeight,
    table: Value | None = None,
) -> Value:
    """Return ``x`` times a weight in blocks that hold their scales, as those of a GGUF file.

    Args:
        b: builder that collects the nodes.
        x: [rows, contracted].
        extents: contracted, columns.
        name: name of the weight and of the node.
        bias: bias that is added; None for none.
        stored: the whole weight, of which this rank has a share.
        table: table of the embedding that is also this weight; None for a separate weight.
    """
    k, n = extents
    packed = table or b.weight(f"{name}.weight", (stored.part(k * n),), DType.U8)
    op = MatMulNBits(
        K=k,
        N=n,
        bits=stored.type.bits,
        # 0 elements share a scale if most bytes of a weight of several types are floats
        block_size=max(stored.type.scaled, 1),
        stored_bits=stored.bits,
    )
    # the blocks hold their scales: the operator's operand of scales is a single number
    unit_scale = b.buffer("scale.half", (1,), b.half)
    return b.node(op, trimmed(x, packed, unit_scale, None, None, bias), name)


SCALES = {
    WeightFormat.F8_BLOCK: DType.F32,
    WeightFormat.NVFP4: DType.F8E4M3FN,
    WeightFormat.MXFP4: DType.F8E8M0,
    WeightFormat.MXFP4_F8: DType.F8E8M0,
    WeightFormat.MXFP4_A4: DType.F8E8M0,
    WeightFormat.NF4: DType.F32,
    WeightFormat.NF4_NESTED: DType.U8,
}
"""Element types of scales; in other formats scales have the type of activations."""


def scales_of(
    b: Builder, form: WeightFormat, extents: tuple[int, int], name: str, *outer: int
) -> Value | None:
    """Return the scales of a weight of blocks; None for a format with one scale for the weight.

    Args:
        b: builder that collects the nodes.
        form: format of the weight.
        extents: contracted, columns.
        name: name of the weight.
        outer: extents before these, as the number of experts.
    """
    k, n = extents
    if not form.block:
        return None
    block = b.precision.block(form, k, name)
    # DeepSeek's blocks are square; all others lie along the contracted axis
    rows = -(-n // form.block) if form is WeightFormat.F8_BLOCK else n
    return b.scales(f"{name}.scales", (*outer, rows, -(-k // block)), SCALES.get(form, b.half))


def quantised(b: Builder, x: Value, form: WeightFormat) -> Value:
    """Return ``x`` in the type of the product; all products that read ``x`` share the result."""
    value = b.quantised.get((x, form))
    if value is None:
        assert form.multiplied is not None
        unit_scale = b.buffer("scale", (1,), DType.F32)
        op = QuantizeLinear(output_dtype=form.multiplied, block_size=form.block, axis=-1)
        value = b.quantised[x, form] = b.node(op, (x, unit_scale), f"{x.name}.{form.value}")
    return value


def trimmed(*operands: Value | None) -> Inputs:
    """Return the operands without those left out at the end."""
    present = list(operands)
    while present and present[-1] is None:
        present.pop()
    return tuple(present)


def low_rank_product(
    b: Builder, x: Value, whole: Value, extents: tuple[int, int], name: str, slices: int
) -> Value:
    """Return ``whole`` plus ``(x @ A) @ B`` of each layer's trained adapter, arXiv:2106.09685.

    Args:
        b: builder that collects the nodes.
        x: [tokens, contracted].
        whole: [tokens, columns], the product with the frozen weight.
        extents: contracted, columns.
        name: name of the layer.
        slices: layers with adjacent columns; each has one adapter.
    """
    k, n = extents
    rank = b.lora_rank
    narrow = b.node(LINEAR, (x, b.adapter(f"{name}.lora_a", (slices * rank, k))), f"{name}.low")
    parts = b.cut(narrow, (rank,) * slices, f"{name}.lows") if slices > 1 else [narrow]
    # times depend only on the sum of the widths: slices are equally wide, the last has the rest
    columns = [n // slices] * (slices - 1)
    columns.append(n - sum(columns))
    wide = [
        b.node(LINEAR, (part, b.adapter(f"{name}.lora_b.{i}", (width, rank))), f"{name}.wide.{i}")
        for i, (part, width) in enumerate(zip(parts, columns, strict=True))
    ]
    added = b.node(JOIN, tuple(wide), f"{name}.lora") if slices > 1 else wide[0]
    # the factor is alpha over the rank, whose value changes no time
    added = b.node(MUL, (added, b.number(0.5)), f"{name}.lora_scaled")
    return b.node(Add(), (whole, added), f"{name}.adapted")


def adapted_product(
    b: Builder, x: Value, whole: Value, extents: tuple[int, int], name: str, slices: int
) -> Value:
    """Return ``whole``, the product of ``x``, with ``(x @ A) @ B`` of each token's adapter added.

    Ranks that divide columns have the whole of A, ranks that divide the contracted axis the whole
    of B, as engines have it where adapters are not sharded further.

    Args:
        b: builder that collects the nodes.
        x: [tokens, contracted].
        whole: [tokens, columns], to which the adapters add.
        extents: extents of this rank's share of the layer's weight: contracted, columns.
        name: name of the layer.
        slices: layers whose columns lie side by side, each with an A of its own.
    """
    adapters, of_token = b.adapters, b.adapter_of
    assert adapters is not None
    assert of_token is not None
    k, n = extents
    narrow = b.scales(f"{name}.lora_a", (adapters.count, slices * adapters.rank, k), b.half)
    wide = b.scales(f"{name}.lora_b", (adapters.count, n, adapters.rank), b.half)
    shrunk = b.node(GroupedGemm(), (x, narrow, of_token), f"{name}.shrunk")
    return b.node(GroupedGemm(slices=slices), (shrunk, wide, of_token, whole), f"{name}.adapted")
