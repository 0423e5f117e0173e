"""When each buffer of a run is allocated and freed: what an allocator sees, kernel by kernel.

Values that stay inside a kernel take no buffer. A buffer lives from the kernel that first writes it
to the last one that reads it. A view shares the buffer of its operand, and a value written in place
shares the buffer of the value it replaces. Stored tensors exist before the run and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from perfc.ir import (
    Dim,
    Env,
    Graph,
    Kind,
    Module,
    Node,
    Phase,
    TensorType,
    Value,
    captured,
    evaluate,
    frozen,
    record,
)

from .. import Analysis
from ..fusion.fuse import Fuse
from ..fusion.kernel import Kernel
from ..inference.strides import Strides
from ..manager import Analyses
from ..runtimes import DEFAULT, Framework, Runtime, runtime
from .liveness import Liveness, LivenessTable, all_weights, in_memory, last_uses

FORWARD = (Phase.FORWARD, Phase.LOSS)
"""Phases of the forward pass; what later phases read of them is saved."""


class BufferRole(Enum):
    """Purpose of a buffer."""

    PARAMETER = "parameters"
    """Stored tensors of the model, constants and statistics among them."""
    STATE = "optimizer"
    """Optimizer state."""
    GRADIENT = "gradients"
    """Gradients of parameters, which the optimizer reads."""
    SAVED = "saved"
    """Made by the forward pass and read by the backward pass."""
    CACHE = "cache"
    """Keys and values of earlier tokens."""
    INPUT = "inputs"
    """Inputs of the model."""
    ACTIVATION = "activations"
    """Results that are read soon after they are computed."""
    WORKSPACE = "workspace"
    """Temporary memory of a kernel."""
    COPY = "copies"
    """Copies of stored tensors, made while a model loads."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@record
class Buffer:
    """Memory that is allocated and freed as a whole.

    Args:
        value: value that owns the memory.
        nbytes: size; None if unknown.
        born: kernel before which it is allocated; -1 if before the run.
        dies: kernel after which it is freed; the number of kernels if it outlives the run.
        role: purpose of the memory.
    """

    value: Value
    nbytes: Dim | None
    born: int
    dies: int
    role: BufferRole


@frozen
class StorageTable:
    """The buffers of a run in the order of its kernels.

    Args:
        steps: the first node of every kernel, with its phase.
        names: names of the kernels.
        buffers: buffers of the run, stored tensors first.
        is_bound: whether sums are lower bounds, as some buffer has no known size.
        shards: number of devices that divide the buffers of a role; each device holds buffers of
            all other roles whole.
    """

    steps: tuple[Node, ...]
    names: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    is_bound: bool
    shards: Mapping[BufferRole, int] = field(default_factory=dict)

    def sizes(self, env: Env) -> list[int]:
        """Return the bytes of every buffer on one device; 0 if unknown."""
        memo: dict[Dim, int] = {}
        result: list[int] = []
        for b in self.buffers:
            if b.nbytes is None:
                result.append(0)
                continue
            if b.nbytes not in memo:
                memo[b.nbytes] = int(evaluate(b.nbytes, env))
            result.append(-(-memo[b.nbytes] // self.shards.get(b.role, 1)))
        return result

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Return the phase of every kernel."""
        return tuple(n.loc.phase for n in self.steps)

    def live_bytes(self, env: Env) -> list[int]:
        """Return the bytes alive while each kernel runs."""
        count = len(self.steps)
        changes = [0] * (count + 1)
        for b, nbytes in zip(self.buffers, self.sizes(env), strict=True):
            changes[max(b.born, 0)] += nbytes
            changes[min(b.dies + 1, count)] -= nbytes
        return list(accumulate(changes[:count]))

    def live_at(self, env: Env, step: int) -> dict[BufferRole, int]:
        """Return the bytes alive while a kernel runs by role, the earliest role first."""
        firsts: dict[BufferRole, int] = {}
        alive: dict[BufferRole, int] = {}
        count = len(self.steps)
        for b, nbytes in zip(self.buffers, self.sizes(env), strict=True):
            born = max(b.born, 0)
            firsts[b.role] = min(born, firsts.get(b.role, born))
            if born <= step < min(b.dies + 1, count):
                alive[b.role] = alive.get(b.role, 0) + nbytes
        return {
            role: alive[role] for role in sorted(firsts, key=firsts.__getitem__) if alive.get(role)
        }

    def events(self, env: Env) -> Iterator[tuple[int, int, int]]:
        """Yield an allocator's requests in order: kernel, number of the buffer, bytes.

        Bytes are negative when the buffer is freed. Stored tensors come first, at kernel -1.
        Buffers that outlive the run are never freed.
        """
        count = len(self.steps)
        born: list[list[int]] = [[] for _ in range(count + 1)]
        dead: list[list[int]] = [[] for _ in range(count + 1)]
        sizes = self.sizes(env)
        for i, b in enumerate(self.buffers):
            # in a graph without kernels, as of sequences on the host, the only position is 0
            born[min(b.born + 1, count)].append(i)
            if b.dies < count:
                dead[b.dies + 1].append(i)
        for step in range(count + 1):
            for i in born[step]:
                yield step - 1, i, sizes[i]
            for i in dead[step]:
                yield step - 1, i, -sizes[i]


@frozen
class Storages(Analysis[StorageTable]):
    """Buffers of a run under a runtime's fusion table; only optimizers write in place."""

    requires: ClassVar = (Fuse, Strides)
    runtime: str = DEFAULT

    def run(self, module: Module, am: Analyses) -> StorageTable:
        """Return the buffers of the main graph."""
        kernels, table = am.get(Fuse(self.runtime), module).kernels, runtime(self.runtime)
        copies: frozenset[Node] = frozenset()
        # only tensors of PyTorch have strides; views of other runtimes are free or kernels
        if table.framework is Framework.TORCH:
            copies = frozenset(am.get(Strides(self.runtime), module).copies)
        return _Walk(module, kernels, table, copies).table()


@record
class _Walk:
    """One module with the kernels it runs as.

    Args:
        module: module of the buffers.
        kernels: kernels in execution order.
        runtime: runtime of the kernels.
        copies: views that strides cannot express, which take a buffer.
    """

    module: Module
    kernels: Sequence[Kernel]
    runtime: Runtime
    copies: frozenset[Node]

    def is_view(self, node: Node) -> bool:
        """Return True if a node is a view of its operand."""
        shows = node.op.kind is Kind.VIEW or node.op.mnemonic in self.runtime.views
        return shows and node not in self.copies

    def table(self) -> StorageTable:
        """Return the buffers: stored tensors, inputs, then what kernels write."""
        graph = self.module.graph
        kernel_of = {n: i for i, k in enumerate(self.kernels) for n in (*k.nodes, *k.folded)}
        owner = Liveness(in_place=False).owners(graph, last_uses(graph), self.is_view)
        count = len(self.kernels)
        born: dict[Value, int] = {}
        dies: dict[Value, int] = {}
        step = -1
        for node in graph.nodes:
            # a node in no kernel, such as a view, runs with the kernel before it
            step = kernel_of.get(node, step)
            for v in node.inputs:
                home = owner.get(v) if v is not None else None
                if home is not None:
                    # a trainer's fused loss writes over its operand, whose buffer ends with
                    # the kernel before
                    last = step - (self.runtime.is_trainer and is_loss(node))
                    dies[home] = max(dies.get(home, last), last)
            for v in node.results:
                home = owner.get(v)
                if home is not None:
                    born.setdefault(home, max(step, 0))
                    dies.setdefault(home, max(step, 0))
        for v in graph.outputs:
            if (home := owner.get(v)) is not None:
                dies[home] = count
        buffers = [*self.stored(), *self.given(count)]
        buffers += self.made(owner, born, dies)
        steps = tuple(k.anchor for k in self.kernels)
        names = tuple(k.anchor.name for k in self.kernels)
        is_bound = any(b.nbytes is None for b in buffers)
        return StorageTable(steps, names, tuple(buffers), is_bound)

    def stored(self) -> Iterator[Buffer]:
        """Yield the stored tensors."""
        count = len(self.kernels)
        for w in in_memory(all_weights(self.module.graph), self.runtime):
            is_state = w.weight is not None and w.weight.is_state
            role = BufferRole.STATE if is_state else BufferRole.PARAMETER
            yield Buffer(w, w.nbytes, -1, count, role)

    def given(self, count: int) -> Iterator[Buffer]:
        """Yield the buffers of inputs; those named ``past…`` are a cache of keys and values."""
        for v in self.module.graph.inputs:
            role = BufferRole.CACHE if v.name.startswith("past") else BufferRole.INPUT
            yield Buffer(v, v.nbytes, -1, count, role)

    def made(
        self, owner: Mapping[Value, Value], born: Mapping[Value, int], dies: Mapping[Value, int]
    ) -> Iterator[Buffer]:
        """Yield buffers that kernels write, without values inside one kernel."""
        graph = self.module.graph
        used = {owner[v] for v in outside(graph, self.kernels) if v in owner}
        phases = [k.anchor.loc.phase for k in self.kernels]
        optimizer = [n for n in graph.nodes if n.loc.phase is Phase.OPTIMIZER]
        # the optimizer may read a gradient through a view, so its owner is compared
        read = {v for n in optimizer for v in n.inputs if v is not None}
        updated = {owner[v] for v in read if v in owner}
        inputs = set(graph.inputs)
        for home, start in born.items():
            if home in inputs or home not in used:
                continue
            end = dies[home]
            role = role_of(home, start, end, phases, updated)
            nbytes = home.nbytes
            if role is BufferRole.GRADIENT and self.runtime.is_trainer:
                # trainers add up micro-batches in a 32-bit buffer that exists for the whole run
                start, end = -1, len(phases)
                assert isinstance(home.type, TensorType)
                nbytes = None if nbytes is None else nbytes * 32 // home.type.dtype.bits
            elif role is BufferRole.GRADIENT:
                end = len(phases) - 1  # PyTorch frees it before the next step (zero_grad)
            yield Buffer(home, nbytes, start, end, role)


def outside(graph: Graph, kernels: Iterable[Kernel]) -> set[Value]:
    """Return the values that kernels exchange with one another and with the caller."""
    exchanged = set(graph.outputs)
    for k in kernels:
        exchanged.update(k.reads)
        exchanged.update(k.writes)
    return exchanged


def liveness_of(graph: Graph, kernels: Sequence[Kernel]) -> LivenessTable:
    """Return the live bytes of a graph that runs as kernels, node by node in their order.

    Values inside one kernel need no memory; what a kernel reads lives until its last node that
    computes, which views may follow.
    """
    made = {v for k in kernels for n in k.nodes for v in n.results}
    read = {v for n in graph.nodes for v in n.inputs if v is not None}
    captures = (v for n in graph.nodes if n.regions for v in captured(n))
    inside = (made & read) - outside(graph, kernels) - {*captures}
    held = (
        (v, next((n for n in reversed(k.nodes) if n.op.kind is not Kind.VIEW), k.anchor))
        for k in kernels
        for v in k.reads
    )
    return Liveness().in_kernels(in_order(graph, kernels), inside, held)


def in_order(graph: Graph, kernels: Sequence[Kernel]) -> Graph:
    """Return a graph with the nodes of each kernel side by side, in the order of the kernels."""
    kernel_of = {n: i for i, k in enumerate(kernels) for n in (*k.nodes, *k.folded)}
    made_by: dict[Value | None, int] = {}
    place: dict[Node, int] = {}
    for node in graph.nodes:
        # a node in no kernel, such as a view, stands behind the kernels that it reads from
        read = (*node.inputs, *(captured(node) if node.regions else ()))
        behind = max((made_by.get(v, -1) for v in read), default=-1)
        place[node] = kernel_of.get(node, behind)
        made_by |= dict.fromkeys(node.results, place[node])
    return replace(graph, nodes=tuple(sorted(graph.nodes, key=place.__getitem__)))


def role_of(
    home: Value, start: int, end: int, phases: Sequence[Phase], updated: set[Value]
) -> BufferRole:
    """Return the role of a buffer that a kernel writes.

    Args:
        home: value that owns the buffer.
        start: first kernel that writes it.
        end: last kernel that reads it.
        phases: phase of each kernel.
        updated: owners of the values that the optimizer reads.
    """
    # nothing runs on the device, as in a graph of sequences alone
    if not phases:
        return BufferRole.ACTIVATION
    writing, last_reading = phases[start], phases[min(end, len(phases) - 1)]
    if writing in (Phase.BACKWARD, Phase.LOSS) and home in updated:
        return BufferRole.GRADIENT
    if writing in FORWARD and last_reading not in FORWARD:
        return BufferRole.SAVED
    return BufferRole.ACTIVATION


def is_loss(node: Node) -> bool:
    """Return True for the operators that a trainer fuses into one loss kernel."""
    from perfc.ir.ops.normalization import softmax, softmax_grad

    return isinstance(
        node.op,
        softmax.LogSoftmax
        | softmax.NegativeLogLikelihoodLoss
        | softmax_grad.LogSoftmaxGrad
        | softmax_grad.NegativeLogLikelihoodLossGrad,
    )
