"""List the differences between aligned nodes of two graphs and group them into edits by cause.

A user makes one edit (another kernel size); many nodes then change with it (shapes after it). Such
nodes are carried: they belong to the edit that changed their operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from itertools import zip_longest

from perfc.ir import Kind, Node, TensorType, Type, Value
from perfc.ir.graphs.groups import root
from perfc.ir.op import attribute_text
from perfc.ir.ops import Cast, DequantizeLinear, QuantizeLinear

from .align import Alignment
from .labels import Labels


class Status(Enum):
    """Status of a node in the comparison."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    DUPLICATED = "duplicated"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@dataclass(frozen=True, eq=False, slots=True)
class Change:
    """A node that differs between the graphs.

    Args:
        status: what happened to the node.
        old: old node; None if added.
        new: new node; None if removed.
        details: differences, ``pads [0, 0] -> [1, 1]``.
        is_carried: True if it only follows from changed operand types.
    """

    status: Status
    old: Node | None
    new: Node | None
    details: tuple[str, ...] = ()
    is_carried: bool = False

    @property
    def node(self) -> Node:
        """Return the new node, or the old one if it was removed."""
        node = self.new or self.old
        assert node is not None
        return node

    @property
    def op_type(self) -> str:
        """Return the operator, or both operators if it changed."""
        names = [n.loc.op_type or n.op.mnemonic for n in (self.old, self.new) if n is not None]
        return " -> ".join(dict.fromkeys(names))


PRODUCTS = frozenset({Kind.CONV, Kind.MATMUL, Kind.ATTENTION})
"""Kinds of kernels with multiply-accumulates; the first of them represents a block of nodes."""
MANY = 8
"""Number of changes above which an edit counts as a block of nodes, described by their numbers."""
CONVERSIONS = (Cast, QuantizeLinear, DequantizeLinear)
"""Operators that exist for their readers, so that an edit is named by the reader instead."""


def changes(alignment: Alignment, left: Labels, right: Labels) -> list[Change]:
    """Return changed pairs in the new order, then removed nodes, then added ones."""
    all_changes: list[Change] = []
    differ = {
        b: a
        for a, b in alignment.pairs
        if b in alignment.moved or left.strict(a) != right.strict(b)
    }
    for new, old in differ.items():
        details = tuple(_details(old, new, left, right))
        if new in alignment.moved:
            all_changes.append(Change(Status.MOVED, old, new, (f"from {old.name}",)))
        elif details:
            carried = is_carried(old, new, left, right)
            all_changes.append(Change(Status.CHANGED, old, new, details, carried))
    all_changes += [Change(Status.REMOVED, n, None) for n in alignment.removed]
    for n in alignment.added:
        origin = alignment.copied.get(n)
        status = Status.DUPLICATED if origin else Status.ADDED
        details = (f"from {origin}",) if origin else _made(n, right)
        all_changes.append(Change(status, None, n, details))
    return all_changes


def is_carried(old: Node, new: Node, left: Labels, right: Labels) -> bool:
    """Return True if a node changed only because of its operands.

    This holds if an operand that is no weight has another type, and the node itself is unchanged.
    An attribute that was an extent of such an operand and still is follows too, as the groups of a
    depthwise convolution follow its channels. So do weights, unless their output extent changed,
    which no operand has.
    """
    fed = [
        (a, b)
        for a, b in zip(old.inputs, new.inputs, strict=False)
        if a is not None and b is not None and a.weight is None and b.weight is None
    ]
    retyped = [(a, b) for a, b in fed if left.type(a.type) != right.type(b.type)]
    if not retyped:
        return False
    before = _extents(left, [a for a, _ in retyped])
    after = _extents(right, [b for _, b in retyped])
    changed = [
        (f, x, y)
        for f, x, y in _attributes(old, new)
        if not (isinstance(x, int) and x in before and isinstance(y, int) and y in after)
    ]
    return old.op.mnemonic == new.op.mnemonic and not changed and not _wider(old, new, left, right)


def _wider(old: Node, new: Node, left: Labels, right: Labels) -> bool:
    """Return True if a product with stored weights has another number of output channels."""
    if new.op.kind not in (Kind.CONV, Kind.MATMUL) or not old.results or not new.results:
        return False
    a, b = old.results[0].type, new.results[0].type
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return False
    # the second operand is the weight; a product of two activations has extents of operands only
    if all(v is None or v.weight is None for v in new.inputs[1:2]):
        return False
    # channels follow the batch axis; columns of a matrix product are last
    axis = 1 if new.op.kind is Kind.CONV else -1
    return _axis(left.type(a), axis) != _axis(right.type(b), axis)


def _axis(label: object, axis: int) -> object:
    """Return the extent of an axis from the label of a tensor type: element type and extents."""
    match label:
        case (_, tuple(extents)) if len(extents) >= 2:
            return extents[axis]
        case _:
            return None


def _extents(labels: Labels, values: Sequence[Value]) -> set[int]:
    """Return the extents of all axes of values."""
    numbers: set[int] = set()
    for v in values:
        match labels.type(v.type):
            case (_, tuple(extents)):
                numbers.update(extents)
            case _:
                pass
    return numbers


def _attributes(old: Node, new: Node) -> Iterator[tuple[str, object, object]]:
    """Yield attributes that differ: name, old and new value; none between unlike operators."""
    if type(old.op) is not type(new.op):
        return
    for f in fields(new.op):
        x, y = getattr(old.op, f.name), getattr(new.op, f.name)
        if x != y:
            yield f.name, x, y


def _details(old: Node, new: Node, left: Labels, right: Labels) -> Iterator[str]:
    """Yield the differences of a changed node, most important first."""
    if old.op.mnemonic != new.op.mnemonic:
        yield f"{old.loc.op_type or old.op.mnemonic} -> {new.loc.op_type or new.op.mnemonic}"
    for name, x, y in _attributes(old, new):
        yield f"{name} {attribute_text(x)} -> {attribute_text(y)}"
    names = new.op.signature.names
    # operands that both have, then those that one of them lacks
    for k, (a, b) in enumerate(zip(old.inputs, new.inputs, strict=False)):
        if a is not None and b is not None and left.type(a.type) != right.type(b.type):
            name = names[k] if k < len(names) else f"operand {k}"
            yield f"{name} {shown(left, a.type)} -> {shown(right, b.type)}"
    for k, (a, b) in enumerate(zip_longest(old.inputs, new.inputs)):
        if (a is None) != (b is None):
            name = names[k] if k < len(names) else f"operand {k}"
            yield f"{name} {'added' if a is None else 'removed'}"
    for a, b in zip(old.outputs, new.outputs, strict=False):
        if a is not None and b is not None and left.type(a.type) != right.type(b.type):
            yield f"result {shown(left, a.type)} -> {shown(right, b.type)}"


def _made(node: Node, labels: Labels) -> tuple[str, ...]:
    """Return the details of an added node: the type of its first result."""
    return tuple(f"result {shown(labels, v.type)}" for v in node.results[:1])


def shown(labels: Labels, type_: Type) -> str:
    """Format a type with numbers for symbols."""
    match labels.type(type_):
        case (dtype, tuple(extents)):
            return f"{dtype}[{', '.join(map(str, extents))}]"
        case other:
            return str(other)


@dataclass(frozen=True, eq=False, slots=True)
class Edit:
    """Changes with one cause.

    Args:
        head: change that represents the edit.
        changes: all changes of the edit, including ``head``.
    """

    head: Change
    changes: tuple[Change, ...]


def edits(
    changed: Sequence[Change], alignment: Alignment, order: Mapping[Node, int]
) -> tuple[Edit, ...]:
    """Group changes by cause.

    A node that only follows its operands belongs to the change that produced them. Adjacent added
    or removed nodes, or one in place of another, are one edit. Casts and quantizations belong to
    their readers, so a reader is the head of the edit.
    """
    return Causes(changed, alignment, order).edits()


class Causes:
    """Union of changes with their causes, as a forest: ``parent`` of each change by its number.

    ``made`` is the node that produces each value.
    """

    def __init__(
        self, changed: Sequence[Change], alignment: Alignment, order: Mapping[Node, int]
    ) -> None:
        self.changed = changed
        self.order = order
        self.parent = list(range(len(changed)))
        self.by_new = {c.new: k for k, c in enumerate(changed) if c.new is not None}
        self.by_old = {c.old: k for k, c in enumerate(changed) if c.old is not None}
        self.new_of = dict(alignment.pairs)
        self.made: dict[Value, Node] = {}
        for a, b in alignment.pairs:
            self.made.update((v, n) for n in (a, b) for v in n.results)
        for n in (*alignment.added, *alignment.removed):
            self.made.update((v, n) for v in n.results)

    def unite(self, cause: int, k: int) -> None:
        """Add ``k`` to the group of its cause."""
        self.parent[root(self.parent, k)] = root(self.parent, cause)

    def makers(self, node: Node) -> Iterator[int]:
        """Yield the changes of the producers of a node's operands."""
        for v in node.inputs:
            maker = self.made.get(v) if v is not None else None
            if maker is not None:
                k = self.by_new.get(maker, self.by_old.get(maker))
                if k is not None:
                    yield k

    def edits(self) -> tuple[Edit, ...]:
        """Return the edits, in execution order of their heads."""
        for k, c in enumerate(self.changed):
            for maker in self.makers(c.node):
                other = self.changed[maker]
                # a carried node joins the change of its first changed operand; a moved node joins
                # moved producers; an added, removed or duplicated node joins such producers, and if
                # it is a conversion also changed ones
                loose = c.status is not Status.CHANGED
                if c.is_carried or (
                    loose
                    and (c.status is Status.MOVED) is (other.status is Status.MOVED)
                    and (other.status is not Status.CHANGED or isinstance(c.node.op, CONVERSIONS))
                ):
                    self.unite(maker, k)
                    if c.is_carried:
                        break
        self.replacements()
        groups: dict[int, list[Change]] = {}
        for k, c in enumerate(self.changed):
            groups.setdefault(root(self.parent, k), []).append(c)
        edits = [Edit(self.head(g), tuple(g)) for g in groups.values()]
        # nodes of regions have no place in the order and stand first
        return tuple(sorted(edits, key=lambda e: self.order.get(e.head.node, 0)))

    def replacements(self) -> None:
        """Unite removed and added nodes between the same neighbors."""
        removed: dict[Node, int] = {}
        for k, c in enumerate(self.changed):
            if c.status is Status.REMOVED and c.old is not None:
                # keyed by the new partner of the producer, as added nodes read from new nodes
                for v in c.old.inputs:
                    maker = self.made.get(v) if v is not None else None
                    if maker in self.new_of:
                        removed.setdefault(self.new_of[maker], k)
        for k, c in enumerate(self.changed):
            if c.status is Status.ADDED and c.new is not None:
                for v in c.new.inputs:
                    maker = self.made.get(v) if v is not None else None
                    if maker in removed:
                        self.unite(removed[maker], k)

    def head(self, group: Sequence[Change]) -> Change:
        """Return the first change that is not carried, preferring readers of conversions.

        In a whole added or removed block it is the first product.
        """
        ordered = sorted(group, key=lambda c: self.order.get(c.node, 0))
        caused = [c for c in ordered if not c.is_carried]
        plain = [c for c in caused if not isinstance(c.node.op, CONVERSIONS)]
        if len(plain) > MANY:
            plain = [c for c in plain if c.node.op.kind in PRODUCTS] or plain
        if plain:
            return plain[0]
        carried = [c for c in ordered if not isinstance(c.node.op, CONVERSIONS)]
        products = [c for c in carried if c.node.op.kind in PRODUCTS]
        return (products or carried or caused or ordered)[0]
