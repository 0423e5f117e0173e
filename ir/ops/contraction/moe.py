"""Mixtures of experts: all weights are resident, but only those of chosen experts are read."""

from __future__ import annotations

from typing import ClassVar

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Parts,
    Positive,
    TensorType,
    Traffic,
    Types,
    dim_min,
    dim_sum,
    each_once,
    element_count,
    frozen,
    has,
    same,
    shape_at,
    tensor,
)
from ...problem import Experts
from .epilogue import activation_cost

NARROW = "wfp4afp8"
"""Quantization type with 4-bit float weights and 8-bit activations."""
FUSED_ROWS = 2
"""Value of ``keeps_rows`` for trainers, which weigh rows before the last product. Source:
Megatron-LM, experts.py, `TEGroupedMLP`."""
ROUTING_ALU = 4
"""Operations of routing: comparison, and maximum, subtraction and sum of the softmax over
experts."""


@frozen
class MoE(Op):
    """Mixture of experts: weighted sums of each token's results from its ``k`` chosen experts.

    Shapes:  input[n, i] or [b, s, i], router_probs[n, e], fc1[e, f, i], fc2[e, i, m],
             fc3[e, m, i] -> output like input; f = 2*m where a SwiGLU is fused, else m.
    Work:    {mac} with o = m where fc3 is given; alu = 4*n*e for routing,
             n*k*m*x for the activation and its gate, 2*n*k*i for weighting;
             {sfu}. Biases are left out. The router's own product is not included.
             If experts are divided among r ``ranks``, the tensors hold one rank's experts and n
             tokens are those of all ranks: the mean work per rank, a lower bound of the busiest.
             MACs are in the type of fc1 where that is narrower, as tokens are then quantized too.
             ``skew`` is that of `perfc.ir.problem.Experts` and changes no count. ``keeps_rows``
             gives a second result for the backward pass, without traffic: the rows stored by
             experts in separate operators (1) or by trainers (2).
    Traffic: activations once; of each expert tensor k experts of e, what one token touches: the
             compulsory floor, since all tokens may prefer the same experts. With independent,
             uniform choices n tokens touch e*(1 - (1 - k/e)**n) of them, never more than
             min(e, n*k); resident are all e.
    Source:  ONNX Runtime ContribOperators, MoE; arXiv:2101.03961, arXiv:2401.04088.
    """

    mnemonic = "moe"
    onnx = "com.microsoft::MoE"
    operands = (
        "input router_probs fc1_experts_weights fc1_experts_bias? fc2_experts_weights "
        "fc2_experts_bias? fc3_experts_weights? fc3_experts_bias? fc1_scales? fc2_scales?"
    )
    kind = Kind.MATMUL
    formulas = {
        # per token and expert i*f for fc1, m*i for fc2, i*o for fc3; each of r ranks does an r-th
        # of these, but routes over the e*r experts of all
        "mac": "n*k*i*(f + m + o)//r",
        "alu": f"{ROUTING_ALU}*n*e*r + (n*k*m*x + 2*n*k*i)//r",
        "sfu": "n*e*r + n*k*m*y//r",
    }
    fc_at: ClassVar[tuple[int, int, int]] = (2, 4, 6)
    """Positions of the weights of the three layers."""
    whole: ClassVar[tuple[int, ...]] = (0, 1)
    """Positions of the operands that are not divided among experts."""

    activation_alpha: float = 1.0
    activation_beta: float = 0.0
    activation_type: str = "relu"
    k: Positive = 1
    normalize_routing_weights: int = 0
    ranks: Positive = 1
    scale_block: Natural = 0
    skew: float | None = None
    swiglu_fusion: int = 0
    swiglu_limit: float | None = None
    use_sparse_mixer: int = 0
    keeps_rows: int = 0

    def mac_dtype(self, ins: Inputs) -> DType | None:
        weight_dtype = tensor(ins, self.fc_at[0]).dtype
        # ONNX stores packed weights, which are dequantized, as unsigned bytes
        return weight_dtype if 0 < weight_dtype.bits <= 8 and weight_dtype.is_signed else None

    def infer(self, ins: Inputs) -> Types:
        sizes = self.extents(ins, ()) if self.keeps_rows else {}
        if not sizes:
            return (tensor(ins, 0),)
        # stored per row: the token and its result (i each), the result of fc1 (f), and m values
        # after the activation, twice if a gate in fc1 multiplies them; where trainers weigh rows
        # before the last product, nothing reads its results again
        n, k, i, f, m = (sizes[letter] for letter in "nkifm")
        copies = 1 if self.keeps_rows == FUSED_ROWS or same(f, m) is not False else 2
        width = (1 if self.keeps_rows == FUSED_ROWS else 2) * i + f + copies * m
        return tensor(ins, 0), TensorType(tensor(ins, 0).dtype, (n * k // self.ranks, width))

    def widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim] | None:
        """Return experts, f and m; None if fc1 is unknown."""
        fc1, fc2 = (shape_at(ins, index) for index in self.fc_at[:2])
        if fc1 is None or len(fc1) != 3:
            return None
        inner = fc2[2] if fc2 is not None and len(fc2) == 3 else fc1[1]
        return fc1[0], fc1[1], inner

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        x, widths = shape_at(ins, 0), self.widths(ins)
        if not x or widths is None:
            return {}
        e, f, m = widths
        # the product of a SwiGLU with its gate is in `gated`
        name = "silu" if self.activation_type == "swiglu" else self.activation_type
        alu, sfu = activation_cost(name)
        # the gate is a third layer, or in fc1, which is then wider than m
        gated = int(has(ins, self.fc_at[2]) or same(f, m) is False)
        other = m if has(ins, self.fc_at[2]) else 0
        return {
            "n": element_count(x[:-1]),
            "k": self.k,
            "i": x[-1],
            "f": f,
            "m": m,
            "o": other,
            "e": e,
            "x": alu + gated,
            "y": sfu,
            "r": self.ranks,
        }

    def packing(self) -> tuple[float, int]:
        """Return bits of a dequantized weight, 0 if none is, and the weights that share a scale."""
        return 0, self.scale_block

    def problem(self, ins: Inputs, outs: Types) -> Experts | None:
        e = self.extents(ins, outs)
        if not e:
            return None
        gated = has(ins, self.fc_at[2]) or same(e["f"], e["m"]) is False
        bits, block = self.packing()
        tokens, chosen, experts = e["n"], self.k, e["e"] * self.ranks
        if isinstance(experts, int) and 0 < experts < chosen:
            # a rank with fewer experts than a token chooses gets tokens of other ranks for them
            tokens, chosen = tokens * chosen // experts, experts
        return Experts(
            tokens=tokens,
            hidden=e["i"],
            inner=e["m"],
            chosen=chosen,
            experts=experts,
            ranks=self.ranks,
            matrices=3 if gated else 2,
            weight_bits=bits,
            scale_block=block,
            skew=self.skew,
        )

    def read_parts(self, ins: Inputs) -> Parts:
        parts: dict[int, Dim] = {}
        for index in range(len(ins)):
            if ins[index] is None:
                continue
            operand = tensor(ins, index)
            nbytes = operand.nbytes or 0
            if index not in self.whole and operand.shape and operand.shape[0] != 0:
                # the k experts of one token are divided among the ranks, rounded up
                touched = dim_min(-(-self.k // self.ranks), operand.shape[0])
                nbytes = nbytes // operand.shape[0] * touched
            parts[index] = nbytes
        return parts

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # the rows that `keeps_rows` adds as a second result have no traffic
        whole = each_once(ins, outs[:1])
        return Traffic(dim_sum(self.read_parts(ins).values()), whole.write_bytes, whole.is_bound)


@frozen
class QMoE(MoE):
    """Mixture of experts with weights of 2, 4 or 8 bits.

    Shapes:  as MoE; the last axis of a weight is packed into bytes, with its scales if an element
             has ``stored_bits``.
    Work:    mac as MoE, in the element type of the input, in 8-bit floats where ``quant_type`` says
             that activations have these; unpacking a weight (zero point and scale) is left out: it
             happens on touched experts only, whose number is not known.
    Traffic: as MoE, weights in their packed size, scales and zero points of touched experts.
    Source:  ONNX Runtime ContribOperators, QMoE.
    """

    mnemonic = "qmoe"
    onnx = "com.microsoft::QMoE"
    operands = (
        "input router_probs fc1_experts_weights fc1_scales? fc1_experts_bias? "
        "fc2_experts_weights fc2_scales? fc2_experts_bias? fc3_experts_weights? fc3_scales? "
        "fc3_experts_bias? fc1_zero_points? fc2_zero_points? fc3_zero_points? router_weights? "
        "fc1_global_scale? fc2_global_scale? fc1_act_scale? fc2_act_scale? fc1_act_block_scale? "
        "fc2_act_block_scale?"
    )
    fc_at = (2, 5, 8)
    # input, router and the scales of activations
    whole = (0, 1, 14, 17, 18, 19, 20)

    accuracy_level: int = 0
    block_size: Natural = 0
    expert_weight_bits: Positive = 4
    fc1_expert_weight_bits: Positive | None = None
    fc2_expert_weight_bits: Positive | None = None
    fc3_expert_weight_bits: Positive | None = None
    quant_type: str = "int"
    weights_prepacked: int = -1
    stored_bits: float = 0.0

    def mac_dtype(self, ins: Inputs) -> DType | None:
        return DType.F8E4M3FN if self.quant_type == NARROW else super().mac_dtype(ins)

    def packing(self) -> tuple[float, int]:
        return self.stored_bits or self.expert_weight_bits, self.block_size

    def logical_elements(self, ins: Inputs) -> Parts:
        elements: dict[int, Dim] = {}
        for layer, i in enumerate(self.fc_at, 1):
            bits, stored = getattr(self, f"fc{layer}_expert_weight_bits"), tensor(ins, i)
            widths, x = self.widths(ins), shape_at(ins, 0)
            # where scales are stored among the elements, the size in bytes does not give their
            # number: it is the product of the widths
            if self.stored_bits and has(ins, i) and widths is not None and x:
                count, first, inner = widths
                elements[i] = count * x[-1] * (inner if layer == 2 else first)
                continue
            if has(ins, i) and stored.numel is not None and stored.dtype.is_integer:
                elements[i] = stored.numel * stored.dtype.bits // (bits or self.expert_weight_bits)
        return elements

    def widths(self, ins: Inputs) -> tuple[Dim, Dim, Dim] | None:
        fc1 = shape_at(ins, self.fc_at[0])
        if fc1 is None or len(fc1) != 3:
            return None
        # the last axis of a packed fc2 is not m: it follows from fc1, which holds a gate as well
        fused = 2 if self.activation_type == "swiglu" and not has(ins, self.fc_at[2]) else 1
        return fc1[0], fc1[1], fc1[1] // fused
