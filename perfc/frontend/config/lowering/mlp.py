"""Lower feed-forward layers: dense layers, and experts of which a router chooses some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.ir import DType, Inputs, Op, Value
from perfc.ir.ops import (
    NARROW,
    Add,
    AllGather,
    Elu,
    FastGelu,
    GatedActivation,
    Gelu,
    MoE,
    Mul,
    QMoE,
    QuickGelu,
    ReduceScatter,
    Relu,
    Sigmoid,
    Swish,
    Tanh,
)

from ...checkpoints.stored import StoredWeight
from ..model import Activation, Experts, Mlp, Norm, NormKind
from ..precision import WEIGHT_FORMATS, WeightFormat
from .builder import Builder
from .quantised import scales_of, trimmed
from .written_out import gelu_by_tanh, quick_gelu

ADD, MUL, SIGMOID = Add(), Mul(), Sigmoid()


def mlp(b: Builder, x: Value, m: Mlp, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after both products, summed over ranks."""
    return b.all_reduce(dense(b, x, m, name, hidden), f"{name}.sum")


def dense(b: Builder, x: Value, m: Mlp, name: str, hidden: int) -> Value:
    """Return one rank's part of an MLP's result."""
    inner = b.share(m.inner, "inner columns")
    # modules have two products and a multiplication, engines one product and one fused kernel
    if m.is_gated and b.writes_out:
        gate = b.product(x, (hidden, inner), f"{name}.gate", is_biased=m.is_biased)
        up = b.product(x, (hidden, inner), f"{name}.up", is_biased=m.is_biased)
        active = activated(b, gate, m.activation, f"{name}.activation")
        between = b.node(MUL, (active, up), f"{name}.gated")
    elif m.is_gated:
        merged = b.product(
            x, (hidden, 2 * inner), f"{name}.gate_up", is_biased=m.is_biased, slices=2
        )
        op = GatedActivation(activation=m.activation.kernel)
        between = b.node(op, (merged,), f"{name}.gated")
    else:
        first = b.product(x, (hidden, inner), f"{name}.up", is_biased=m.is_biased)
        between = activated(b, first, m.activation, f"{name}.activation")
    return b.product(between, (inner, hidden), f"{name}.down", is_biased=m.is_biased)


GATHERED_RANKS = 8
"""Maximum ranks of which each gathers all rows; among more ranks, engines send a row only to the
ranks of its experts."""


def experts(b: Builder, x: Value, e: Experts, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after the experts that a router chooses, summed over ranks."""
    # Gemma 4: the router normalises its operand with another scale than the branch does
    norm = Norm(NormKind.RMS, hidden) if e.is_router_scaled else None
    of_router = b.norm(x, norm, f"{name}.norm")
    routed = b.product(
        of_router,
        (hidden, e.count),
        f"{name}.router",
        is_biased=e.is_router_biased,
        weights=WeightFormat.HALF,
    )
    if e.is_router_scaled:
        scale = b.weight(f"{name}.expert_scale", (e.count,))
        routed = b.node(MUL, (routed, scale), f"{name}.scaled")
    if e.is_choice_biased:
        # DeepSeek-V3: the correction changes the choice, not the weights; its cost is one addition
        correction = b.scales(f"{name}.correction", (e.count,), DType.F32)
        routed = b.node(ADD, (routed, correction), f"{name}.corrected")
    mixed = chosen_experts(b, x, routed, e, name, hidden)
    if e.shared is None:
        return b.all_reduce(mixed, f"{name}.sum")
    shared = dense(b, x, e.shared, f"{name}.shared", hidden)
    if e.is_shared_gated:
        weight = b.product(x, (hidden, 1), f"{name}.shared_gate", weights=WeightFormat.HALF)
        share = b.node(SIGMOID, (weight,), f"{name}.shared_weight")
        shared = b.node(MUL, (shared, share), f"{name}.shared_gated")
    return b.all_reduce(b.node(ADD, (mixed, shared), f"{name}.both"), f"{name}.sum")


def chosen_experts(
    b: Builder, x: Value, routed: Value, e: Experts, name: str, hidden: int
) -> Value:
    """Return the result of the routed experts of this rank.

    With attention data parallelism, ranks exchange rows before the experts and results after them.

    Where experts are not divided among ranks, each rank has a part of every expert.
    """
    parallel = b.parallel
    ranks = parallel.expert
    if e.count < ranks:
        b.refuse(f"{e.count} experts do not divide among {ranks} ranks")
    # engines for racks copy experts until their number divides by the ranks (num_slots,
    # num_redundant_experts); in training, ``expert_groups`` groups of ranks with separate tokens
    # divide the experts as well
    count = -(-e.count // (ranks * b.expert_groups))
    data = parallel.attention_data
    # without expert parallelism all ranks divide the columns of every expert
    all_ranks = replace(parallel, tensor=parallel.tensor * data)
    inner = e.inner if ranks > 1 else all_ranks.share(e.inner, "inner columns", b.name)
    # a row goes only to the ranks of its experts if these ranks are many and are the ranks that
    # exchange rows; with 0, every rank gets every row
    chosen = e.chosen if data > GATHERED_RANKS and data == ranks else 0
    if data > 1:
        gather = AllGather(data, parallel.nodes, axis=0, chosen=chosen)
        x = b.node(gather, (x,), f"{name}.gathered")
        routed = b.node(gather, (routed,), f"{name}.gathered_scores")
    mixed = fused_experts(b, x, routed, e, (count, inner, hidden), name)
    if data > 1:
        scatter = ReduceScatter(data, parallel.nodes, axis=0, chosen=chosen)
        mixed = b.node(scatter, (mixed,), f"{name}.scattered")
    return mixed


def fused_experts(
    b: Builder, x: Value, routed: Value, e: Experts, extents: tuple[int, int, int], name: str
) -> Value:
    """Return one kernel of all experts of this rank; ``extents``: their number, inner, hidden."""
    count, inner, hidden = extents
    first_name = f"{name}.experts.gate_up"
    form = b.precision.format_of(first_name, b.precision.of_experts)
    of_file = b.stored(f"{first_name}.weight")
    # The format of the file decides. Blocks of codes have no element type and the format of their
    # GGML type; plain elements of any other type are multiplied in the type of activations (HALF).
    if of_file is not None:
        is_packed = of_file.dtype is None
        form = WEIGHT_FORMATS[of_file.type.name] if is_packed else WeightFormat.HALF
    up_columns = 2 * inner if e.is_gated else inner
    # the operator names gated SiLU "swiglu"; other gated functions set its fusion flag
    activation = "swiglu" if e.is_gated and e.activation is Activation.SILU else e.activation.kernel
    up, up_scales = stored(b, form, (count, up_columns, hidden), first_name)
    down, down_scales = stored(b, form, (count, hidden, inner), f"{name}.experts.down")
    up_bias, down_bias = (
        b.weight(f"{name}.experts.{what}.bias", (count, width)) if e.is_biased else None
        for what, width in (("gate_up", up_columns), ("down", hidden))
    )
    k, ranks = e.chosen, b.parallel.expert
    if form in PACKED or form.ggml is not None:
        op: Op = QMoE(
            activation_type=activation,
            k=k,
            ranks=ranks,
            swiglu_fusion=int(e.is_gated),
            expert_weight_bits=form.bits,
            block_size=b.precision.block(form, hidden, first_name),
            quant_type=NARROW if form is WeightFormat.MXFP4_F8 else "int",
            skew=b.expert_skew,
            stored_bits=bits_of(form, of_file),
        )
        # ONNX Runtime: QMoE has a scale and a bias after each matrix
        operands: Inputs = (x, routed, up, up_scales, up_bias, down, down_scales, down_bias)
    else:
        op = MoE(
            activation_type=activation,
            k=k,
            ranks=ranks,
            swiglu_fusion=int(e.is_gated),
            scale_block=form.block,
            skew=b.expert_skew,
            keeps_rows=b.keeps_rows,
        )
        # MoE has the scales behind a third matrix and its bias, which no model here has
        operands = (x, routed, up, up_bias, down, down_bias, None, None, up_scales, down_scales)
    return b.node(op, trimmed(*operands), f"{name}.experts")


def bits_of(form: WeightFormat, of_file: StoredWeight | None) -> float:
    """Return the bits of an element as the file stores it, else as a GGML format does.

    Scales are included. 0 means that the bits follow from the format, which is none of GGML.
    """
    if of_file is not None:
        return of_file.bits
    return 0.0 if form.ggml is None else form.ggml.bits_per_weight


OPERATORS: Mapping[Activation, Op] = {
    Activation.RELU: Relu(),
    Activation.GELU: Gelu(),
    Activation.FAST_GELU: FastGelu(),
    Activation.NEW_GELU: FastGelu(),
    Activation.QUICK_GELU: QuickGelu(),
    Activation.SILU: Swish(),
    Activation.TANH: Tanh(),
}
"""Operators of activations that have one; `activated` lowers the others to several, or to none."""
WRITTEN_OUT = {Activation.NEW_GELU: gelu_by_tanh, Activation.QUICK_GELU: quick_gelu}
"""Activations that transformers writes with elementary operators."""
PACKED = frozenset(
    {
        WeightFormat.W8,
        WeightFormat.I4,
        WeightFormat.I3,
        WeightFormat.I2,
        WeightFormat.NF4,
        WeightFormat.NF4_NESTED,
        WeightFormat.MXFP4,
        WeightFormat.MXFP4_F8,
    }
)
"""Formats whose weights are widened on the way into a product."""


def stored(
    b: Builder, form: WeightFormat, shape: tuple[int, int, int], name: str
) -> tuple[Value, Value | None]:
    """Return the weights of experts, [experts, columns, contracted], and their scales."""
    count, columns, contracted = shape
    of_file = b.stored(f"{name}.weight")
    if of_file is not None and of_file.dtype is None:
        # bytes of a row of blocks, in this rank's share of the tensor
        row = -(-of_file.part(count * columns * contracted) // (count * columns))
        return b.weight(f"{name}.weight", (count, columns, row), DType.U8), None
    if form.ggml is not None:
        row = -(-contracted // form.ggml.elements) * form.ggml.nbytes
        return b.weight(f"{name}.weight", (count, columns, row), DType.U8), None
    if form is WeightFormat.HALF:
        return b.weight(f"{name}.weight", shape), None
    if form in PACKED:
        packed = -(-contracted * form.bits // 8)
        weight = b.weight(f"{name}.weight", (count, columns, packed), DType.U8)
    else:
        # ``multiplied`` is the element type of both factors of the product
        weight = b.weight(f"{name}.weight", shape, form.multiplied)
    return weight, scales_of(b, form, (contracted, columns), name, count)


def activated(b: Builder, x: Value, activation: Activation, name: str) -> Value:
    """Return ``x`` after an activation."""
    if b.writes_out and activation in WRITTEN_OUT:
        return WRITTEN_OUT[activation](b, x, name)
    if activation is Activation.SQUARED_RELU:
        positive = b.node(OPERATORS[Activation.RELU], (x,), f"{name}.relu")
        return b.node(MUL, (positive, positive), name)
    if activation is Activation.XIELU:
        return _xielu(b, x, name)
    if activation is Activation.IDENTITY:
        return x
    return b.node(OPERATORS[activation], (x,), name)


def _xielu(b: Builder, x: Value, name: str) -> Value:
    """Return xIELU: the square where positive, else the exponential, each times a parameter."""
    positive = b.node(OPERATORS[Activation.RELU], (x,), f"{name}.relu")
    # x times its positive part: the square where positive, else 0
    square = b.node(MUL, (x, positive), f"{name}.square")
    up = b.node(MUL, (square, b.weight(f"{name}.alpha_p", (1,))), f"{name}.up")
    down = b.node(Elu(), (x,), f"{name}.elu")
    down = b.node(MUL, (down, b.weight(f"{name}.alpha_n", (1,))), f"{name}.down")
    return b.node(ADD, (up, down), name)
