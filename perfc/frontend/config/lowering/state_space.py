"""Lower layers with a state instead of a cache: Mamba, Mamba-2, gated delta nets, convolutions.

Operands have the names of the papers: A decay, B what enters the state (here ``before``), C what
leaves it (``after``), D skip, dt time step.
"""

from __future__ import annotations

from perfc.ir import Dim, DType, Value
from perfc.ir.ops import (
    GatedDeltaNet,
    GatedRMSNorm,
    Mul,
    StateSpaceScan,
    Swish,
    VarlenCausalConvWithState,
)

from ..model import DeltaNet, Mamba, Mamba2, Norm, NormKind, ShortConvolution
from .builder import Builder
from .step import Running

CONV = VarlenCausalConvWithState(activation="silu")
PLAIN_CONV = VarlenCausalConvWithState()
"""Convolution of a gated product, without an activation."""
GATED_NORM = GatedRMSNorm()
MUL, SILU = Mul(), Swish()


def mamba(b: Builder, x: Value, m: Mamba, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after a selective state space, summed over ranks."""
    inner = b.share(m.inner, "channels")
    merged = b.product(x, (hidden, 2 * inner), f"{name}.in", is_biased=m.is_biased)
    channels, gate = b.cut(merged, (inner, inner), f"{name}.halves")
    channels = _convolved(b, channels, (inner, m.taps), run, name, is_biased=m.is_conv_biased)
    parts = (m.rank, m.state, m.state)
    # each rank has some channels, whereas B, C and dt are sums over all channels
    selected = b.all_reduce(
        b.product(channels, (inner, sum(parts)), f"{name}.select"), f"{name}.select.sum"
    )
    time, before, after = b.cut(selected, parts, f"{name}.selected")
    if m.has_norms:
        time, before, after = (
            b.norm(v, Norm(NormKind.RMS, width, m.is_norm_scaled), f"{name}.{what}_norm")
            for v, width, what in zip((time, before, after), parts, ("dt", "b", "c"), strict=True)
        )
    time = b.product(time, (m.rank, inner), f"{name}.time", is_biased=True)
    state = _state(b, f"{name}.state", (run.tokens.sequences, inner, 1, m.state))
    decay = b.weight(f"{name}.A", (inner, m.state), DType.F32)
    skip = b.weight(f"{name}.D", (inner,), DType.F32)
    operands = (channels, time, before, after, run.ends, state, decay, skip)
    # each channel is a head
    return _scanned(b, inner, operands, gate, m, name, (inner, hidden))


def _scanned(
    b: Builder,
    heads: int,
    operands: tuple[Value | None, ...],
    gate: Value,
    m: Mamba | Mamba2,
    name: str,
    shape: tuple[int, int],
) -> Value:
    """Return the output of a scan behind its gate, summed over ranks.

    Args:
        b: builder that collects the nodes.
        heads: heads of this rank, each with a decay.
        operands: operands of the scan, in the order of `StateSpaceScan`.
        gate: gate of the output.
        m: the mixer.
        name: prefix of the names of nodes.
        shape: extents of the last product: contracted, columns.
    """
    op = StateSpaceScan(heads=heads)
    # the new state replaces the old one: it is no result of the module
    mixed, _ = b.several(op, operands, f"{name}.scan", ("result", "state"))
    if isinstance(m, Mamba2) and m.is_normed:
        scale = b.weight(f"{name}.norm.weight", shape[:1])  # as wide as the result
        mixed = b.node(GATED_NORM, (mixed, scale, gate), f"{name}.norm")
    else:
        mixed = b.node(MUL, (mixed, b.node(SILU, (gate,), f"{name}.silu")), f"{name}.gate")
    out = b.product(mixed, shape, f"{name}.out", is_biased=m.is_biased)
    return b.all_reduce(out, f"{name}.sum")


def mamba2(b: Builder, x: Value, m: Mamba2, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after a state space of one decay a head, summed over ranks."""
    heads, groups = b.share(m.heads, "heads"), b.share_at_least(m.groups, "groups")
    inner, state_width = heads * m.head_dim, groups * m.state
    parts = (inner, inner + 2 * state_width, heads)
    projected = b.product(x, (hidden, sum(parts)), f"{name}.in", is_biased=m.is_biased)
    gate, channels, time = b.cut(projected, parts, f"{name}.parts")
    # values, B and C go through one convolution
    channels = _convolved(b, channels, (parts[1], m.taps), run, name, is_biased=m.is_conv_biased)
    values, before, after = b.cut(channels, (inner, state_width, state_width), f"{name}.bc")
    state = _state(b, f"{name}.state", (run.tokens.sequences, heads, m.head_dim, m.state))
    scalars = [b.weight(f"{name}.{what}", (heads,), DType.F32) for what in ("A", "D", "dt_bias")]
    operands = (values, time, before, after, run.ends, state, *scalars)
    return _scanned(b, heads, operands, gate, m, name, (inner, hidden))


def delta_net(b: Builder, x: Value, d: DeltaNet, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after a gated delta rule, summed over ranks."""
    key_heads, heads = b.share(d.key_heads, "key heads"), b.share(d.value_heads, "value heads")
    keys, values = key_heads * d.key_dim, heads * d.value_dim
    width = 2 * keys + values
    # Kimi Linear: a decay for each element of a key, through a narrower width
    if d.gate_rank:
        channels = b.product(x, (hidden, width), f"{name}.qkv")
        gate = _narrowed(b, x, (hidden, d.gate_rank, values), f"{name}.gate")
        decay = _narrowed(b, x, (hidden, d.gate_rank, keys), f"{name}.decay")
        decay = b.shaped(decay, (-1, key_heads, d.key_dim), f"{name}.decays")
        beta = b.product(x, (hidden, heads), f"{name}.beta")
    else:
        merged = b.product(x, (hidden, width + values), f"{name}.qkvz")
        channels, gate = b.cut(merged, (width, values), f"{name}.parts")
        scalars = b.product(x, (hidden, 2 * heads), f"{name}.ba")
        beta, decay = b.cut(scalars, (heads, heads), f"{name}.scalars")
    # queries, keys and values go through one convolution
    channels = _convolved(b, channels, (width, d.taps), run, name, is_biased=False)
    cut = b.cut(channels, (keys, keys, values), f"{name}.qkv")
    shapes = ((key_heads, d.key_dim), (key_heads, d.key_dim), (heads, d.value_dim))
    query, key, value = (
        b.shaped(v, (-1, *shape), f"{name}.{what}")
        for v, shape, what in zip(cut, shapes, ("query", "key", "value"), strict=True)
    )
    shape = (run.tokens.sequences, heads, d.value_dim, d.key_dim)
    state = _state(b, f"{name}.state", shape)
    a_log = b.weight(f"{name}.A", (heads,), DType.F32)
    bias = b.weight(f"{name}.dt_bias", (keys if d.gate_rank else heads,), DType.F32)
    op = GatedDeltaNet(qk_l2_norm=1)
    operands = (query, key, value, run.ends, decay, beta, state, a_log, bias)
    mixed, _ = b.several(op, operands, f"{name}.rule", ("result", "state"))
    scale = b.weight(f"{name}.norm.weight", (d.value_dim,))
    gate = b.shaped(gate, (-1, heads, d.value_dim), f"{name}.gate")
    mixed = b.node(GATED_NORM, (mixed, scale, gate), f"{name}.norm")
    mixed = b.shaped(mixed, (-1, values), f"{name}.flat")
    return b.all_reduce(b.product(mixed, (values, hidden), f"{name}.out"), f"{name}.sum")


def _narrowed(b: Builder, x: Value, extents: tuple[int, int, int], name: str) -> Value:
    """Return two products through a narrower width; extents are of operand, middle and result."""
    hidden, rank, width = extents
    return b.product(b.product(x, (hidden, rank), f"{name}.low"), (rank, width), f"{name}.wide")


def short_convolution(
    b: Builder, x: Value, c: ShortConvolution, run: Running, name: str, hidden: int
) -> Value:
    """Return ``x`` [tokens, hidden] after a gated causal convolution, summed over ranks."""
    inner = b.share(hidden, "channels")
    parts = b.product(x, (hidden, 3 * inner), f"{name}.in", is_biased=c.is_biased)
    before, after, channels = b.cut(parts, (inner,) * 3, f"{name}.parts")
    gated = b.node(MUL, (before, channels), f"{name}.gated")
    extents = (inner, c.taps)
    mixed = _convolved(b, gated, extents, run, name, is_biased=c.is_biased, op=PLAIN_CONV)
    mixed = b.node(MUL, (after, mixed), f"{name}.gate")
    out = b.product(mixed, (inner, hidden), f"{name}.out", is_biased=c.is_biased)
    return b.all_reduce(out, f"{name}.sum")


def _convolved(
    b: Builder,
    x: Value,
    extents: tuple[int, int],
    run: Running,
    name: str,
    *,
    is_biased: bool,
    op: VarlenCausalConvWithState = CONV,
) -> Value:
    """Return the channels after the causal convolution with its state, and its activation."""
    channels, taps = extents
    weight = b.weight(f"{name}.conv.weight", (channels, 1, taps))
    bias = b.weight(f"{name}.conv.bias", (channels,)) if is_biased else None
    # the state has the inputs of all taps but the newest
    state = b.input(f"{name}.conv_state", b.half, (run.tokens.sequences, channels, taps - 1))
    operands = (x, weight, run.ends, bias, state)
    result, _ = b.several(op, operands, f"{name}.conv", ("result", "state"))
    return result


def _state(b: Builder, name: str, shape: tuple[Dim, ...]) -> Value:
    """Return the state of every sequence, an input of the module."""
    return b.input(name, b.precision.state, shape)
