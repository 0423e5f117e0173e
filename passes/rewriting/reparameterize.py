"""Folds parallel linear branches into one convolution, as in deployed RepVGG-style models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from perfc.ir import Graph, Module, Node, TensorType, Value, Weight, frozen
from perfc.ir.graphs.rewrite import Rewriter
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.normalization.normalization import BatchNormalization

from .. import Transform
from ..manager import Analyses

MAX_BRANCHES = 64
"""Sums of more branches are not folded, so that the search stays linear in the nodes."""


@frozen
class Reparameterize(Transform):
    """Convolutions and normalisations between one tensor and one sum become one convolution.

    Both are linear, so their sum is a convolution with the largest of the windows. Filters are
    summed before the model runs; a tensor that is added as it is counts as a filter of one element.
    Here filters have no content, so that the largest stands for the sum. A sum is folded where all
    branches begin at one tensor, have equal strides, are centred, and the largest has no more
    groups than any other. Branches with two convolutions in a row stay, as their product has a
    wider window. Nodes that nothing reads any more are left to ``canonicalize``.

    Source: Ding et al., "RepVGG: Making VGG-style ConvNets Great Again", CVPR 2021, section 3.3;
    Vasu et al., "MobileOne", CVPR 2023, section 3.2.

    Args:
        norms: fold the normalisation behind a convolution into it, too.
    """

    norms: bool = False

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with fewer nodes; needs inferred types."""
        graph = _settled(module.graph, fold_sums)
        if self.norms:
            graph = _settled(graph, fold_norms)
        if graph is module.graph:
            return module
        return Module(graph, module.symbols, module.origin)


def _settled(graph: Graph, fold: Callable[[Graph], Graph]) -> Graph:
    """Fold until nothing is left: a folded sum may be a branch of the next."""
    while True:
        folded = fold(graph)
        if folded is graph:
            return graph
        graph = folded


class LinearBranch(NamedTuple):
    """Path from a tensor to an operand of a sum: one convolution, or the identity.

    Args:
        origin: tensor at which the path begins.
        convolution: convolution on the path; None for the identity.
    """

    origin: Value
    convolution: Node | None


def fold_sums(graph: Graph) -> Graph:
    """Return the graph with one convolution in place of each sum of branches."""
    changes = Rewriter(graph)
    folded: set[Node] = set()
    # the last addition of a chain first, so that it takes all summands
    for node in reversed(graph.nodes):
        if not isinstance(node.op, Add) or node in folded:
            continue
        sums, summands = _summands(graph, node)
        merged = _merged([_branch(graph, v) for v in summands], node.results[0])
        if merged is not None:
            folded |= sums
            _replace(changes, node, merged)
    return changes.result()


def fold_norms(graph: Graph) -> Graph:
    """Return the graph with norms folded into convolutions whose result nothing else reads."""
    changes = Rewriter(graph)
    for node in graph.nodes:
        if not _is_norm(node) or node.inputs[0] is None:
            continue
        before = graph.producers.get(node.inputs[0])
        if before is not None and type(before.op) is Conv and _is_lone(graph, node.inputs[0]):
            _replace(changes, node, before)
    return changes.result()


def _replace(changes: Rewriter, node: Node, convolution: Node) -> None:
    """Replace ``node`` by the convolution with a bias."""
    x, w = convolution.inputs[:2]
    bias = convolution.inputs[2] if len(convolution.inputs) > 2 else None
    result = node.results[0]
    if bias is None and w is not None and w.shape:
        bias_type = TensorType(w.dtype, w.shape[:1])
        bias = Value(f"{result.name}.bias", bias_type, None, Weight(bias_type.known_nbytes))
        changes.add_weight(bias)
    folded = Node(convolution.op, (x, w, bias), (result,), (), convolution.loc)
    changes.replace_node(node, folded)


def _summands(graph: Graph, root: Node) -> tuple[set[Node], list[Value]]:
    """Return the additions whose results only ``root`` uses, and their operands."""
    sums, summands = {root}, list[Value]()
    stack = [root]
    while stack and len(summands) <= MAX_BRANCHES:
        for v in stack.pop().inputs:
            maker = graph.producers.get(v) if v is not None else None
            if maker is not None and isinstance(maker.op, Add) and v and _is_lone(graph, v):
                sums.add(maker)
                stack.append(maker)
            elif v is not None:
                summands.append(v)
    return sums, summands


def _branch(graph: Graph, v: Value) -> LinearBranch:
    """Return the longest linear path that ends in ``v``, with one convolution at most."""
    convolution: Node | None = None
    # back from the summand while nothing else reads a value
    while _is_lone(graph, v):
        node = graph.producers.get(v)
        x = node.inputs[0] if node is not None and node.inputs else None
        if node is None or x is None:
            break
        if type(node.op) is Conv and convolution is None:
            convolution = node
        elif not _is_norm(node):
            break
        v = x
    return LinearBranch(v, convolution)


def _merged(branches: Sequence[LinearBranch], result: Value) -> Node | None:
    """Return the convolution that the sum of the branches is; None if they have no such form."""
    convolutions = [b.convolution for b in branches if b.convolution is not None]
    if len(branches) < 2 or len(branches) > MAX_BRANCHES or not convolutions:
        return None
    if len({b.origin for b in branches}) != 1:
        return None
    windows = [_window(c) for c in convolutions]
    symmetric = [w for w in windows if w is not None]
    if len(symmetric) != len(windows) or len({w.strides for w in symmetric}) != 1:
        return None
    # of equally large windows the one with the fewest groups, as it can also hold the filters of
    # convolutions with more groups
    largest = max(range(len(symmetric)), key=lambda i: (symmetric[i].taps, -symmetric[i].groups))
    chosen = symmetric[largest]
    # an identity among the branches is a filter of one element only if nothing is strided
    if len(symmetric) < len(branches):
        origin = branches[0].origin.type
        if set(chosen.strides) != {1} or origin != result.type:
            return None
    fits = all(
        w.groups % chosen.groups == 0
        and all(a <= b for a, b in zip(w.extents, chosen.extents, strict=True))
        for w in symmetric
    )
    return convolutions[largest] if fits else None


class FilterExtents(NamedTuple):
    """Extents of a centred filter, its strides and groups."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    groups: int

    @property
    def taps(self) -> int:
        """Return the elements of the window."""
        count = 1
        for extent in self.extents:
            count *= extent
        return count


def _window(node: Node) -> FilterExtents | None:
    """Return the window of a convolution with stored, dense, centred filters, else None."""
    op, w = node.op, node.inputs[1] if len(node.inputs) > 1 else None
    if not isinstance(op, Conv) or w is None or w.weight is None:
        return None
    if not isinstance(w.type, TensorType) or w.type.shape is None:
        return None
    extents = [d for d in w.type.shape[2:] if isinstance(d, int)]
    rank = len(w.type.shape) - 2
    if len(extents) != rank or op.auto_pad not in ("", "NOTSET"):
        return None
    if any(d != 1 for d in op.dilations) or any(e % 2 == 0 for e in extents):
        return None
    # centred: as much padding on both sides as the window reaches beyond its middle
    half = tuple([e // 2 for e in extents])
    if (op.pads or (0,) * (2 * rank)) != half + half:
        return None
    return FilterExtents(tuple(extents), op.strides or (1,) * rank, op.group)


def _is_norm(node: Node) -> bool:
    """Return True for a batch normalization of inference, which is linear."""
    return isinstance(node.op, BatchNormalization) and len(node.results) == 1


def _is_lone(graph: Graph, v: Value) -> bool:
    """Return True if a value has exactly one reader and is not a result of the graph."""
    return len(graph.users.get(v, ())) == 1 and v not in graph.outputs
