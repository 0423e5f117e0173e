"""Fusion of operators into their post-dominators, as TVM's FuseOps does.

The post-dominator of an operator is the nearest operator to which all paths from its result lead.
An operator joins it if every operator on these paths can be in the kernel.

Source: tvm/src/relax/analysis/graph_partitioner.cc (phases 0 and 1), tir_op_pattern_kind.cc.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from perfc.ir import Kind, Node, Value, mutable
from perfc.ir.graphs.groups import root
from perfc.ir.ops.elementwise.random import Dropout
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.ops.movement.view import Identity, Squeeze, Unsqueeze
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.normalization.reduce import ReduceMean
from perfc.ir.ops.resampling.resize import Resampling

from .kernel import HOST
from .neighbourhood import Neighbourhood


class Access(IntEnum):
    """Ways of reading operands, the simplest first: TVM's ``OpPatternKind``."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    ANCHOR = 4
    """Has a main loop, which pointwise operators of its result can follow, as a convolution."""
    OPAQUE = 8


# kinds with a main loop, of which a kernel has one at most
ANCHORS = frozenset({Kind.CONV, Kind.MATMUL, Kind.POOL, Kind.SOFTMAX, Kind.NORMALIZATION})
UNITS = (Squeeze, Unsqueeze)
"""Views that only add or remove axes of one element."""
ALIASES = (Identity, Dropout)
"""Operators that inference drops: their result is their operand."""


@mutable
class FusionStep:
    """An operator, or one of several results of an operator.

    Args:
        node: node of the graph; None for a result.
        access: how the operator reads its operands.
        readers: positions of the steps that read its result.
        is_output: whether the result leaves the graph.
    """

    node: Node | None
    access: Access
    readers: list[int] = field(default_factory=list)
    is_output: bool = False


@mutable
class Dominated:
    """Post-dominator of a step.

    Args:
        parent: position of the post-dominator; None if there is none.
        depth: steps to the root of the tree.
        access: the most complex access on the paths to it.
    """

    parent: int | None
    depth: int
    access: Access


@mutable
class FusionPartition:
    """Steps of a segment in order, and the group of each.

    Args:
        steps: steps in execution order.
        tree: post-dominator of each step.
        into: position of a step that each step joined; its position if it joined none.
        access: for the group that begins at a step, the access that limits further fusion.
    """

    steps: list[FusionStep]
    tree: list[Dominated] = field(init=False)
    into: list[int] = field(init=False)
    access: list[Access] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = [Dominated(None, 1, Access.OPAQUE) for _ in self.steps]
        self.into = list(range(len(self.steps)))
        self.access = [s.access for s in self.steps]
        # in reverse, as the place of a step in the tree follows from the places of its readers
        for i in reversed(range(len(self.steps))):
            if not self.steps[i].is_output:
                self.tree[i] = self.dominated(i)
        # injective steps come second: they join groups, and no other step joins them
        for is_injective in (False, True):
            for i in range(len(self.steps)):
                self.fuse(i, is_injective=is_injective)

    def dominated(self, at: int) -> Dominated:
        """Return the nearest common ancestor of the readers of a step."""
        readers = self.steps[at].readers
        access = max((self.steps[r].access for r in readers), default=Access.ELEMENTWISE)
        parent = readers[0] if readers else None
        # climb from both sides, the deeper one first, until the two paths meet
        for other in readers[1:]:
            left: int | None = parent
            right: int | None = other
            while left is not None and right is not None and left != right:
                a, b = self.tree[left], self.tree[right]
                if a.depth >= b.depth:
                    access, left = max(access, a.access), a.parent
                if b.depth >= a.depth:
                    access, right = max(access, b.access), b.parent
            parent = left if right is not None else None
            if parent is None:
                break
        depth = 1 if parent is None else self.tree[parent].depth + 1
        return Dominated(parent, depth, access)

    def fuse(self, at: int, *, is_injective: bool) -> None:
        """Fuse a step into its post-dominator if all steps between allow it."""
        access, dominated = self.access[at], self.tree[at]
        parent = dominated.parent
        if parent is None or root(self.into, at) == root(self.into, parent):
            return
        # ``inside``: the most complex access of steps between; ``last``: accesses that the joined
        # group may have
        inside, last = Access.INJECTIVE, frozenset(Access) - {Access.OPAQUE}
        match access:
            case Access.ANCHOR:
                inside, last = Access.BROADCAST, frozenset({Access.ELEMENTWISE, Access.BROADCAST})
                allowed = not is_injective and dominated.access is Access.ELEMENTWISE
            case Access.ELEMENTWISE | Access.BROADCAST:
                allowed = dominated.access <= Access.REDUCTION
            case Access.INJECTIVE:
                last = frozenset(a for a in Access if a <= Access.INJECTIVE)
                allowed = is_injective
            case _:
                return
        between = self.between(at, parent) if allowed else None
        if between is None or self.access[root(self.into, parent)] not in last:
            return
        if all(self.access[root(self.into, i)] <= inside for i in between if i != at):
            for i in between:
                self.merge(i, parent)

    def between(self, at: int, parent: int) -> list[int]:
        """Return a step and all steps on its paths to its post-dominator."""
        between, waiting = {at: None}, [at]
        while waiting:
            for r in self.steps[waiting.pop()].readers:
                if r != parent and r not in between:
                    between[r] = None
                    waiting.append(r)
        return list(between)

    def merge(self, at: int, parent: int) -> None:
        """Merge the group of a step into that of its post-dominator ``parent``."""
        group, target = root(self.into, at), root(self.into, parent)
        if group == target:
            return
        self.into[group] = target
        if self.access[group] is Access.ANCHOR:
            self.access[target] = Access.ANCHOR

    def groups(self) -> dict[int, list[Node]]:
        """Return the nodes of each group."""
        members: dict[int, list[Node]] = {}
        for i, step in enumerate(self.steps):
            if step.node is not None:
                members.setdefault(root(self.into, i), []).append(step.node)
        return members


def steps_of(near: Neighbourhood) -> list[FusionStep]:
    """Return the steps of a segment; operators on stored tensors alone run at load time."""
    steps: list[FusionStep] = []
    # position of the step that computes a value
    step_of: dict[Value, int] = {}
    constant: set[Value] = set()
    for node in near.graph.nodes:
        if node not in near.inside:
            continue
        read = [v for v in node.inputs if v is not None and v.weight is None]
        if node.op.kind in HOST or all(v in constant for v in read):
            constant.update(node.results)
            continue
        if isinstance(node.op, ALIASES) and read[0] in step_of:
            step_of[node.results[0]] = step_of[read[0]]
            continue
        position = len(steps)
        steps.append(FusionStep(node, access_of(node)))
        for i in dict.fromkeys(step_of[v] for v in read if v in step_of):
            steps[i].readers.append(position)
        for v in node.results:
            step_of[v] = position
            # each of several results is a step, as TVM selects it from a tuple
            if len(node.results) > 1:
                step_of[v] = len(steps)
                steps[position].readers.append(step_of[v])
                steps.append(FusionStep(None, Access.INJECTIVE))
            is_read_outside = any(r not in near.inside for r in near.graph.users.get(v, ()))
            steps[step_of[v]].is_output = v in near.outputs or is_read_outside
    return steps


def access_of(node: Node) -> Access:
    """Return how a node reads its operands."""
    kind = node.op.kind
    # TVM tags the loops of a resize as injective (topi/image/resize.py); what Relax fuses with a
    # batch normalization at inference shows the same
    if isinstance(node.op, BatchNormalization | Resampling):
        return Access.INJECTIVE
    if isinstance(node.op, ReduceMean) or kind in ANCHORS:
        return Access.ANCHOR
    shape = node.results[0].shape
    # an operand of the result's shape is read element by element, without broadcast
    has_whole = any(v is not None and v.shape == shape for v in node.inputs)
    if has_whole and isinstance(node.op, Pad):
        return Access.ELEMENTWISE
    match kind:
        case Kind.ELEMENTWISE | Kind.QUANTIZE:
            return Access.ELEMENTWISE if has_whole else Access.BROADCAST
        case Kind.VIEW:
            return Access.BROADCAST if isinstance(node.op, UNITS) else Access.INJECTIVE
        case Kind.MOVEMENT:
            return Access.INJECTIVE
        case Kind.REDUCTION:
            return Access.REDUCTION
        case _:
            return Access.OPAQUE


def fused_with(node: Node, near: Neighbourhood) -> list[Node] | None:
    """Match the nodes of a node's group, without views."""
    if near.fused is None:
        near.fused = {}
        for nodes in FusionPartition(steps_of(near)).groups().values():
            executed = [n for n in nodes if not near.table.is_view(n)]
            near.fused.update(dict.fromkeys(executed, executed))
    return near.fused.get(node)
