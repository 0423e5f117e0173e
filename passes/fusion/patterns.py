"""Patterns of several operators that runtimes run as one kernel, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from perfc.ir import Kind, Node, entity, record

from ..runtimes import Runtime
from . import attention_patterns as attention
from . import movement_patterns as movement
from . import pointwise_patterns as pointwise
from . import post_dominators
from . import product_patterns as product
from .neighbourhood import Neighbourhood


@entity
class FusionUnit:
    """Nodes that fuse into one kernel, or stay separate.

    Args:
        tag: name of the result, such as ``gelu``; the mnemonic of a single node.
        kind: class of kernel.
        members: all nodes.
        folded: members that are merged into stored tensors at load time: no work, no traffic.
    """

    tag: str
    kind: Kind
    members: frozenset[Node]
    folded: frozenset[Node] = frozenset()


Members = Collection[Node]
Finder = Callable[[Node, Neighbourhood], "Members | None"]


@record
class Pattern:
    """A pattern and the search for it.

    Args:
        starts: mnemonics or kinds of nodes at which a search begins, in order.
        find: returns the members around a node, None without a match.
        tag: name of the unit.
        kind: kind of kernel of the unit.
        folds: whether all members but the first are merged into stored tensors.
    """

    starts: tuple[str | Kind, ...]
    find: Finder
    tag: str
    kind: Kind
    folds: bool = False


def _pattern(
    starts: Iterable[str | Kind], find: Finder, tag: str, kind: Kind, *, folds: bool = False
) -> Pattern:
    return Pattern(tuple(starts), find, tag, kind, folds)


SLICE_UPDATE = "slice_update"
ADD_RELU = "add_relu"
"""One kernel only with the convolution before it."""
JOINED = "joined_products"
GELU = ("erf",)
OTHER = ("tanh", "sigmoid", "hard_sigmoid", "clip", "softplus")
NORMS = (Kind.NORMALIZATION, "reduce_mean")
SKIP = partial(pointwise.with_residual, find=pointwise.any_norm)
BIAS_FAST_GELU = partial(pointwise.with_bias, find=pointwise.fast_gelu)
BIAS_GELU = partial(pointwise.with_bias, find=pointwise.gelu_half_outside)

PATTERNS: Mapping[str, Pattern] = {
    "attention": _pattern([Kind.SOFTMAX], attention.attention, "attention", Kind.ATTENTION),
    "sdpa": _pattern([Kind.SOFTMAX], attention.scaled_attention, "attention", Kind.ATTENTION),
    "activation": _pattern([*GELU, *OTHER], pointwise.activation, "activation", Kind.ELEMENTWISE),
    "gelu": _pattern(GELU, pointwise.gelu_half_outside, "gelu", Kind.ELEMENTWISE),
    "bias_fast_gelu": _pattern(["tanh"], BIAS_FAST_GELU, "fast_gelu", Kind.ELEMENTWISE),
    "fast_gelu": _pattern(["tanh"], pointwise.fast_gelu, "fast_gelu", Kind.ELEMENTWISE),
    "quick_gelu": _pattern(["sigmoid"], pointwise.activation, "quick_gelu", Kind.ELEMENTWISE),
    "bias_gelu": _pattern([*GELU, "gelu"], BIAS_GELU, "bias_gelu", Kind.ELEMENTWISE),
    "layer_norm": _pattern(["reduce_mean"], pointwise.layer_norm, "layer_norm", Kind.NORMALIZATION),
    "rms_norm": _pattern(["reduce_mean"], pointwise.rms_norm, "rms_norm", Kind.NORMALIZATION),
    "library_rms_norm": _pattern(
        ["reduce_mean"], pointwise.library_rms_norm, "rms_norm", Kind.NORMALIZATION
    ),
    "rsqrt": _pattern(["reciprocal"], pointwise.rsqrt, "rsqrt", Kind.ELEMENTWISE),
    "skip_norm": _pattern(NORMS, SKIP, "skip_norm", Kind.NORMALIZATION),
    "affine_norm": _pattern(
        ["instance_norm"], pointwise.affine_norm, "group_norm", Kind.NORMALIZATION
    ),
    "linear_bias": _pattern([Kind.MATMUL], product.linear_bias, "linear", Kind.MATMUL),
    "gemm": _pattern(["matmul"], product.gemm, "gemm", Kind.MATMUL),
    "gemm_activation": _pattern(["matmul", "gemm"], product.gemm_activation, "gemm", Kind.MATMUL),
    JOINED: _pattern([Kind.MATMUL], product.joined, JOINED, Kind.MATMUL),
    "integer_product": _pattern(["matmul_integer"], product.integer_product, "matmul", Kind.MATMUL),
    "scaled_product": _pattern(["matmul"], product.scaled, "matmul", Kind.MATMUL),
    "conv_affine": _pattern([Kind.CONV], product.conv_affine, "conv", Kind.CONV, folds=True),
    "padded_conv": _pattern([Kind.CONV], product.padded_conv, "conv", Kind.CONV),
    ADD_RELU: _pattern(["relu"], product.add_relu, ADD_RELU, Kind.ELEMENTWISE),
    "slice_update": _pattern(["scatter_nd"], movement.slice_update, SLICE_UPDATE, Kind.MOVEMENT),
    "post_dominators": _pattern(Kind, post_dominators.fused_with, "", Kind.OPAQUE),
    "quantized": _pattern(
        ["quantize_linear", Kind.CONV, Kind.MATMUL], product.quantized, "quantized", Kind.QUANTIZE
    ),
}
"""Every pattern by the name that the tables of the runtimes use."""


def find_patterns(
    nodes: Sequence[Node], near: Neighbourhood, names: Sequence[str]
) -> dict[Node, FusionUnit]:
    """Return the unit of every node in a pattern; patterns earlier in ``names`` win."""
    starting: dict[str | Kind, list[Node]] = {}
    wanted = {s for name in names for s in PATTERNS[name].starts}
    for node in nodes:
        for key in (node.op.mnemonic, node.op.kind):
            if key in wanted:
                starting.setdefault(key, []).append(node)
    units: dict[Node, FusionUnit] = {}
    for name in names:
        pattern = PATTERNS[name]
        for key in pattern.starts:
            for node in starting.get(key, ()):
                if node not in units:
                    unit = _unit(pattern, node, near, units)
                    units.update(dict.fromkeys(unit.members, unit) if unit else {})
    return units


def _unit(
    pattern: Pattern, node: Node, near: Neighbourhood, units: Mapping[Node, FusionUnit]
) -> FusionUnit | None:
    members = pattern.find(node, near)
    # one node is no fusion, but as an assignment to a slice it costs less than a scatter
    if members is None or len(members) < (1 if pattern.tag == SLICE_UPDATE else 2):
        return None
    whole = frozenset(members)
    if any(m in units for m in whole) or any(m not in near.inside for m in whole):
        return None
    folded = whole - {node} if pattern.folds else frozenset[Node]()
    # patterns of any operators have the kind of the one with the main loop
    kind = pattern.kind
    if kind in (Kind.QUANTIZE, Kind.OPAQUE):
        kind = max(whole, key=Runtime.rank).op.kind
    return FusionUnit(pattern.tag, kind, whole, folded)
