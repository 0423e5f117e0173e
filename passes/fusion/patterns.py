"""Patterns of several operators that runtimes run as one kernel, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import cast

from perfc.ir import Kind, Node, entity, record

from ..runtimes import Runtime
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
        place: module and name of the function that returns the members around a node, None without
            a match; it is imported for models with such nodes only.
        tag: name of the unit.
        kind: kind of kernel of the unit.
        folds: whether all members but the first are merged into stored tensors.
    """

    starts: Iterable[str | Kind]
    place: str
    tag: str
    kind: Kind
    folds: bool = False


@cache
def finder(place: str) -> Finder:
    """Return the function at ``module.name`` of this package."""
    module, _, name = place.partition(".")
    return cast("Finder", getattr(import_module(f".{module}", __package__), name))


SLICE_UPDATE = "slice_update"
"""An assignment to a slice, written as a scatter."""
ADD_RELU = "add_relu"
"""One kernel only with the convolution before it."""
JOINED = "joined_products"
"""Products of one tensor with several matrices, as of Q, K and V."""
GELU = ("erf",)
"""Transcendental function at which the search for a GELU begins."""
# transcendental functions at which the search for any other activation begins
OTHER = ("tanh", "sigmoid", "hard_sigmoid", "clip", "softplus")
NORMS = (Kind.NORMALIZATION, "reduce_mean")
"""Nodes at which a normalization begins: one operator, or the mean of one that is written out."""

PATTERNS: Mapping[str, Pattern] = {
    "attention": Pattern(
        [Kind.SOFTMAX], "attention_patterns.attention", "attention", Kind.ATTENTION
    ),
    "sdpa": Pattern(
        [Kind.SOFTMAX], "attention_patterns.scaled_attention", "attention", Kind.ATTENTION
    ),
    "activation": Pattern(
        [*GELU, *OTHER], "pointwise_patterns.activation", "activation", Kind.ELEMENTWISE
    ),
    "gelu": Pattern(GELU, "pointwise_patterns.gelu_half_outside", "gelu", Kind.ELEMENTWISE),
    "bias_fast_gelu": Pattern(
        ["tanh"], "pointwise_patterns.bias_fast_gelu", "fast_gelu", Kind.ELEMENTWISE
    ),
    "fast_gelu": Pattern(["tanh"], "pointwise_patterns.fast_gelu", "fast_gelu", Kind.ELEMENTWISE),
    "quick_gelu": Pattern(
        ["sigmoid"], "pointwise_patterns.activation", "quick_gelu", Kind.ELEMENTWISE
    ),
    "bias_gelu": Pattern(
        [*GELU, "gelu"], "pointwise_patterns.bias_gelu", "bias_gelu", Kind.ELEMENTWISE
    ),
    "layer_norm": Pattern(
        ["reduce_mean"], "pointwise_patterns.layer_norm", "layer_norm", Kind.NORMALIZATION
    ),
    "rms_norm": Pattern(
        ["reduce_mean"], "pointwise_patterns.rms_norm", "rms_norm", Kind.NORMALIZATION
    ),
    "library_rms_norm": Pattern(
        ["reduce_mean"], "pointwise_patterns.library_rms_norm", "rms_norm", Kind.NORMALIZATION
    ),
    "rsqrt": Pattern(["reciprocal"], "pointwise_patterns.rsqrt", "rsqrt", Kind.ELEMENTWISE),
    "skip_norm": Pattern(NORMS, "pointwise_patterns.skip_norm", "skip_norm", Kind.NORMALIZATION),
    "affine_norm": Pattern(
        ["instance_norm"], "pointwise_patterns.affine_norm", "group_norm", Kind.NORMALIZATION
    ),
    "linear_bias": Pattern([Kind.MATMUL], "product_patterns.linear_bias", "linear", Kind.MATMUL),
    "gemm": Pattern(["matmul"], "product_patterns.gemm", "gemm", Kind.MATMUL),
    "gemm_activation": Pattern(
        ["matmul", "gemm"], "product_patterns.gemm_activation", "gemm", Kind.MATMUL
    ),
    JOINED: Pattern([Kind.MATMUL], "product_patterns.joined", JOINED, Kind.MATMUL),
    "integer_product": Pattern(
        ["matmul_integer"], "product_patterns.integer_product", "matmul", Kind.MATMUL
    ),
    "scaled_product": Pattern(["matmul"], "product_patterns.scaled", "matmul", Kind.MATMUL),
    "conv_affine": Pattern(
        [Kind.CONV], "product_patterns.conv_affine", "conv", Kind.CONV, folds=True
    ),
    "padded_conv": Pattern([Kind.CONV], "product_patterns.padded_conv", "conv", Kind.CONV),
    ADD_RELU: Pattern(["relu"], "product_patterns.add_relu", ADD_RELU, Kind.ELEMENTWISE),
    "slice_update": Pattern(
        ["scatter_nd"], "movement_patterns.slice_update", SLICE_UPDATE, Kind.MOVEMENT
    ),
    "post_dominators": Pattern(Kind, "post_dominators.fused_with", "", Kind.OPAQUE),
    "quantized": Pattern(
        ["quantize_linear", Kind.CONV, Kind.MATMUL],
        "product_patterns.quantized",
        "quantized",
        Kind.QUANTIZE,
    ),
}
"""Every pattern by the name that the tables of the runtimes use."""


def find_patterns(
    nodes: Sequence[Node], near: Neighbourhood, names: Sequence[str]
) -> dict[Node, FusionUnit]:
    """Return the unit of every node in a pattern; patterns earlier in ``names`` win."""
    starting: dict[str | Kind, list[Node]] = {}
    # nodes by mnemonic and by kind, so that each search looks only where it can begin
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
    """Return the match of a pattern at a node; None if it has no member that is still free."""
    members = finder(pattern.place)(node, near)
    # one node is no fusion, but as an assignment to a slice it costs less than a scatter
    if members is None or len(members) < (1 if pattern.tag == SLICE_UPDATE else 2):
        return None
    nodes = frozenset(members)
    if any(m in units for m in nodes) or any(m not in near.inside for m in nodes):
        return None
    folded = nodes - {node} if pattern.folds else frozenset[Node]()
    # patterns of any operators have the kind of the one with the main loop
    kind = pattern.kind
    if kind in (Kind.QUANTIZE, Kind.OPAQUE):
        kind = max(nodes, key=Runtime.rank).op.kind
    return FusionUnit(pattern.tag, kind, nodes, folded)
