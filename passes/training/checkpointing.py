"""Activation checkpointing: what is saved of the forward pass, and what is recomputed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from perfc.ir import Env, Kind, Node, Phase, Value, entity, evaluate, record
from perfc.ir.complex_work import real_work
from perfc.ir.gradients.tape import Tape
from perfc.ir.graph import CHECKPOINTED

from ..roofline.cost import FLOP_PER_BYTE
from .blocks import Block, blocks_of
from .differentiate import active
from .implementation import RecomputePolicy

MATRIX = frozenset({Kind.MATMUL, Kind.CONV, Kind.ATTENTION, Kind.RECURRENT})
"""Kinds whose results are saved by selective checkpointing, as they take longest to recompute."""
LEVELS = 512
"""Number of sizes that the search distinguishes, which limits its time."""


@record
class Choice:
    """One way of treating a block.

    Args:
        policy: policy of the block.
        kept_bytes: bytes of its results that are saved.
        cost_bytes: time of recomputing the other results, as bytes of traffic that take as long.
    """

    policy: RecomputePolicy
    kept_bytes: int
    cost_bytes: int


@record
class CurvePosition:
    """A point of the time-memory curve.

    Args:
        kept_bytes: saved bytes of all blocks.
        cost_bytes: cost of recomputation, in bytes of traffic.
        policies: policy of each block so far.
    """

    kept_bytes: int
    cost_bytes: int
    policies: tuple[RecomputePolicy, ...]


@entity
class Checkpoints:
    """Forward nodes by blocks, what the backward pass reads of them, and what is trained."""

    blocks: list[Block]
    read: set[Value]
    trained: set[Value]
    env: Env

    @staticmethod
    def of(
        forward: Sequence[Node],
        backward: Sequence[Node],
        parameters: Sequence[Value],
        env: Env,
    ) -> Checkpoints:
        """Return the blocks of a step that trains some parameters."""
        trained = active(forward, parameters)
        makers = {v: node for node in forward for v in node.results}
        read = {v for n in backward for v in n.inputs if v is not None and v in makers}
        return Checkpoints(blocks_of(forward, trained), read, trained, env)

    def kept_in(self, block: Block, policy: RecomputePolicy) -> set[Value]:
        """Return the results of a block that a policy saves.

        The tensor that leaves the block is always saved, and so are masks and positions, which are
        computed once from inputs alone and read by every block.
        """
        results = {v for n in block.nodes for v in n.results}
        always = {v for v in results if v is block.boundary or self.is_shared(v)}
        match policy:
            case RecomputePolicy.NONE:
                return results
            case RecomputePolicy.SELECTIVE:
                return {v for n in block.nodes if n.op.kind in MATRIX for v in n.results} | always
            case _:
                return always

    def is_shared(self, v: Value) -> bool:
        """Return True for a floating-point tensor that depends on no trained parameter."""
        return v.is_real and v not in self.trained

    def choices(self, block: Block) -> list[Choice]:
        """Return each policy of a block with its saved bytes and its cost."""
        options: list[Choice] = []
        for policy in (RecomputePolicy.NONE, RecomputePolicy.SELECTIVE, RecomputePolicy.BLOCK):
            saved = self.kept_in(block, policy)
            # results that the backward pass or the recomputation reads are stored
            rerun = needed(block.nodes, self.read - saved, saved)
            read = [v for n in block.nodes for v in n.results if v in self.read & saved]
            inputs = [v for n in rerun for v in n.inputs if v and v in saved]
            # the boundary, saved under every policy, makes no difference
            stored = {v for v in (*read, *inputs) if v is not block.boundary}
            options.append(
                Choice(policy, sum(map(self.size, stored)), sum(self.cost(n) for n in rerun))
            )
        return options

    def size(self, v: Value) -> int:
        """Return the bytes of a value; 0 if its size is unknown."""
        nbytes = v.nbytes
        return 0 if nbytes is None else int(evaluate(nbytes, self.env))

    def cost(self, node: Node) -> int:
        """Return the cost of recomputing a node, in bytes."""
        if node.op.kind is Kind.VIEW:
            return 0
        types = tuple(node.op.infer(node.inputs))[: len(node.outputs)]
        work = real_work(node.op, node.inputs, types)
        moved = int(evaluate(node.op.traffic(node.inputs, types).nbytes, self.env))
        flop = 0 if work is None else int(evaluate(work.flop, self.env))
        # a node takes as long as its traffic, or as its operations if these take longer
        return max(moved, flop // FLOP_PER_BYTE)

    def curve(self) -> list[CurvePosition]:
        """Return the least cost for each size, by a choice for each block.

        Dynamic programming over blocks and sizes, exact to one part in ``LEVELS``.
        Source: Checkmate, arXiv:1910.02653, and Rotor, arXiv:1911.13214, for chains of blocks.
        """
        options = [self.choices(b) for b in self.blocks]
        most_bytes = sum(max(c.kept_bytes for c in block_choices) for block_choices in options)
        unit = max(most_bytes // LEVELS, 1)
        best: dict[int, CurvePosition] = {0: CurvePosition(0, 0, ())}
        for block_choices in options:
            after: dict[int, CurvePosition] = {}
            for prefix in best.values():
                for choice in block_choices:
                    point = CurvePosition(
                        prefix.kept_bytes + choice.kept_bytes,
                        prefix.cost_bytes + choice.cost_bytes,
                        (*prefix.policies, choice.policy),
                    )
                    # of all points whose size is in one level, only the cheapest is extended
                    level = -(-point.kept_bytes // unit)
                    best_there = after.get(level)
                    if best_there is None or point.cost_bytes < best_there.cost_bytes:
                        after[level] = point
            best = pareto(after)
        return sorted(best.values(), key=lambda p: p.kept_bytes)

    def policies(self, policy: RecomputePolicy, share: float) -> tuple[RecomputePolicy, ...]:
        """Return the policy of each block.

        Without a policy, only blocks for which the program itself calls ``torch.utils.checkpoint``
        are checkpointed. A fixed policy applies to the blocks with a name, the layers of the model,
        or without any name to all that have a boundary. The search may choose any policy for each.

        Args:
            policy: the policy of the step.
            share: share of the saved bytes that may stay, for the search.
        """
        if policy is RecomputePolicy.NONE:
            marks = (b.name.startswith(CHECKPOINTED) for b in self.blocks)
            return tuple(RecomputePolicy.BLOCK if is_marked else policy for is_marked in marks)
        if policy is not RecomputePolicy.OPTIMAL:
            named = [b.name != "" for b in self.blocks]
            chosen = named if any(named) else [b.boundary is not None for b in self.blocks]
            return tuple(policy if is_chosen else RecomputePolicy.NONE for is_chosen in chosen)
        curve = self.curve()
        limit = share * curve[-1].kept_bytes
        fitting = [p for p in curve if p.kept_bytes <= limit] or curve[:1]
        return min(fitting, key=lambda p: p.cost_bytes).policies


def pareto(points: Mapping[int, CurvePosition]) -> dict[int, CurvePosition]:
    """Return the points that cost less than every smaller point, by level of size."""
    best: dict[int, CurvePosition] = {}
    least: int | None = None
    for level in sorted(points):
        point = points[level]
        if least is None or point.cost_bytes < least:
            best[level], least = point, point.cost_bytes
    return best


def needed(
    nodes: Sequence[Node], wanted: Iterable[Value], saved: Collection[Value] = ()
) -> list[Node]:
    """Return the nodes that compute ``wanted`` from ``saved``, in their order."""
    open_values = set(wanted)
    nodes_needed: list[Node] = []
    for node in reversed(nodes):
        if any(v in open_values for v in node.results):
            nodes_needed.append(node)
            open_values.update(v for v in node.inputs if v is not None and v not in saved)
    return nodes_needed[::-1]


def recomputed(
    forward: Sequence[Node],
    backward: Sequence[Node],
    plan: tuple[Checkpoints, tuple[RecomputePolicy, ...]],
    tape: Tape,
) -> list[Node]:
    """Return the backward pass with each block recomputed before the first read of its results.

    ``plan`` has the blocks and the policy of each.
    """
    points, policies = plan
    saved: set[Value] = set()
    block_of: dict[Value, int] = {}
    for i, (block, policy) in enumerate(zip(points.blocks, policies, strict=True)):
        saved |= points.kept_in(block, policy)
        block_of.update((v, i) for n in block.nodes for v in n.results)
    copy_of: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in backward:
        for v in node.inputs:
            if v is None or v not in block_of or v in saved or v in copy_of:
                continue
            # all results of the block that the backward pass reads, so that it is rerun once
            wanted = {w for w in points.read - saved if block_of[w] == block_of[v]}
            for old in needed(forward, wanted, saved | copy_of.keys()):
                nodes.append(repeated(old, copy_of, saved, tape))
        nodes.append(replace(node, inputs=tuple(v and copy_of.get(v, v) for v in node.inputs)))
    return nodes


def repeated(node: Node, copy_of: dict[Value, Value], saved: set[Value], tape: Tape) -> Node:
    """Return a copy of a forward node, with its new results added to ``copy_of``."""
    inputs = tuple(v and copy_of.get(v, v) for v in node.inputs)
    for v in node.results:
        copy_of[v] = Value(tape.fresh(f"{v.name}.again"), v.type, v.known)
    outputs = tuple(v and copy_of[v] for v in node.outputs)
    # a node recomputes all its results, but readers of saved ones still read the saved tensors
    for v in node.results:
        if v in saved:
            copy_of.pop(v)
    loc = replace(node.loc, name=f"{node.name}.again", phase=Phase.RECOMPUTE)
    return replace(node, inputs=inputs, outputs=outputs, loc=loc)
