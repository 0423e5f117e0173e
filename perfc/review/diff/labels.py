"""Labels of nodes at several levels of strictness; nodes with equal labels may match."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields

from perfc.ir import Node, Numbers, Op, Poly, TensorType, Type, Value
from perfc.passes.roofline.cost import NodeCost


@dataclass(frozen=True)
class DiffSide:
    """One of the two models: values of symbols and costs of nodes."""

    env: Mapping[str, int]
    costs: Mapping[Node, NodeCost]


class Labels:
    """Cached labels of the nodes of one side.

    ``strict``: operator, attributes, types of operands and results, number of regions.
    ``shapeless``: operator, attributes other than extents, ranks. ``product``: class of product,
    multiply-accumulates, weights. ``size``: class and weights. ``kind``: class.
    """

    def __init__(self, side: DiffSide) -> None:
        self.side = side
        self._at = Numbers(side.env)
        self._types: dict[Type, Hashable] = {}
        self._ops: dict[Op, tuple[Hashable, Hashable]] = {}

    def strict(self, node: Node) -> Hashable:
        """Return everything that determines the cost of a node, without names and weight values."""
        exact, _ = self._op(node.op)
        ins = [self._operand(v) for v in node.inputs]
        if node.op.is_commutative:
            ins.sort(key=str)  # by text, as absent operands are None
        outs = tuple([v and self.type(v.type) for v in node.outputs])
        return exact, tuple(ins), outs, len(node.regions)

    def shapeless(self, node: Node) -> Hashable:
        """Return operator, attributes and ranks, which extents and element types do not change."""
        _, rough = self._op(node.op)
        ins = tuple([v and (rank(v.type), v.weight is not None) for v in node.inputs])
        return rough, ins, tuple([v and rank(v.type) for v in node.outputs])

    def mac(self, node: Node) -> float:
        """Return the multiply-accumulates in one run."""
        cost = self.side.costs.get(node)
        return self._at(cost.work.mac * cost.repeat) if cost is not None else 0.0

    def product(self, node: Node) -> Hashable:
        """Return class, work and weight elements, equal for equivalent products."""
        return node.op.kind, self.mac(node), self.weights(node)

    def size(self, node: Node) -> Hashable:
        """Return class and weight elements, independent of other extents."""
        return node.op.kind, self.weights(node)

    def kind(self, node: Node) -> Hashable:
        """Return the class of kernel."""
        return node.op.kind

    def weights(self, node: Node) -> float:
        """Return the number of elements of the largest stored tensor that the node reads."""
        stored = (v.type for v in node.inputs if v is not None and v.weight is not None)
        return max((self._at(t.numel or 0) for t in stored if isinstance(t, TensorType)), default=0)

    def type(self, type_: Type) -> Hashable:
        """Return a type with numbers for symbols, which two files may name differently."""
        label = self._types.get(type_)
        if label is None:
            label = self._types[type_] = self._type(type_)
        return label

    def _type(self, type_: Type) -> Hashable:
        """Return element type and extents of a tensor, the text of another type."""
        if isinstance(type_, TensorType) and type_.shape is not None:
            extents = [int(self._at(d)) if isinstance(d, Poly) else d for d in type_.shape]
            return type_.dtype, tuple(extents)
        return str(type_)

    def _operand(self, v: Value | None) -> Hashable:
        """Return the type of an operand, and whether it is stored."""
        if v is None:
            return None
        return self.type(v.type), v.weight is not None

    def _op(self, op: Op) -> tuple[Hashable, Hashable]:
        """Return an operator with all attributes, and with those that no extent changes."""
        labels = self._ops.get(op)
        if labels is None:
            values = [(f.name, getattr(op, f.name)) for f in fields(op)]
            # integers may be extents or follow them, as `group`; booleans are flags
            rough = [(n, v) for n, v in values if not isinstance(v, int) or isinstance(v, bool)]
            labels = self._ops[op] = (
                (op.mnemonic, tuple([(n, str(v)) for n, v in values])),
                (op.mnemonic, tuple([(n, str(v)) for n, v in rough])),
            )
        return labels


def rank(type_: Type) -> Hashable:
    """Return the number of axes of a tensor, or the class of another type."""
    return type_.rank if isinstance(type_, TensorType) else type(type_).__name__
