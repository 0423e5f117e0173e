"""Last use of every value, and live bytes at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from perfc.ir import (
    Dim,
    Env,
    Graph,
    Kind,
    Module,
    Node,
    Poly,
    Results,
    Value,
    captured,
    dim_max,
    dim_sum,
    evaluate,
    frozen,
    mutable,
)
from perfc.ir.ops.control.control import Loop, Scan, SequenceMap
from perfc.ir.ops.training.multi_tensor import MultiTensor
from perfc.ir.symbolic.dim import Monomial

from .. import Analysis
from ..manager import Analyses
from ..runtimes import Framework, Runtime

IN_PLACE = frozenset({Kind.ELEMENTWISE, Kind.NORMALIZATION, Kind.SOFTMAX})
"""Kinds whose result may overwrite an operand of the same size that is not read afterwards."""
MAX_CANDIDATES = 64
"""Maximum number of formulas in one maximum, as their comparison takes time by pairs.

Beyond it, the bytes of all storages together stand for the maximum, as an upper bound.
"""


@frozen
class LivenessTable:
    """Last uses and live bytes; bytes are formulas in the symbols.

    Args:
        steps: the nodes of the main graph, in execution order.
        last_use: step after which a value is freed; inputs and outputs live to the end.
        owner: the value whose storage a value shares (views, in-place results), without views of
            stored tensors, which need no storage.
        live: live bytes during each step, without weights; a step with regions includes the largest
            need of its regions.
        weight_bytes: all stored tensors together.
        is_bound: whether live bytes are a lower bound, because some sizes are unknown.
    """

    steps: tuple[Node, ...]
    last_use: Mapping[Value, int]
    owner: Mapping[Value, Value]
    live: tuple[Dim, ...]
    weight_bytes: Dim
    is_bound: bool

    def timeline(self, env: Env, inside: AbstractSet[Value] = frozenset()) -> list[int]:
        """Return live activation bytes at every step, without values ``inside`` kernels."""
        # equal formulas are evaluated once
        memo: dict[Dim, int] = {}
        line: list[int] = []
        for d in self.live:
            nbytes = memo.get(d)
            if nbytes is None:
                nbytes = memo[d] = int(evaluate(d, env))
            line.append(nbytes)
        born = {v: step for step, node in enumerate(self.steps) for v in node.results}
        for home, shown in self.by_owner.items() if inside else ():
            # a storage goes only if every value in it is inside a kernel
            if home in born and inside >= {*shown}:
                nbytes = bytes_of(home, env)
                for step in range(born[home], max(map(self.last_use.__getitem__, shown)) + 1):
                    line[step] -= nbytes
        return line

    def peak(self, env: Env, inside: AbstractSet[Value] = frozenset()) -> tuple[int, Node | None]:
        """Return the largest live activation bytes, and the node that runs then.

        Args:
            env: values of the symbols.
            inside: values that stay inside a kernel and need no storage.
        """
        line = self.timeline(env, inside)
        if not line:
            return 0, None
        step = max(range(len(line)), key=line.__getitem__)
        return line[step], self.steps[step]

    @cached_property
    def by_owner(self) -> Mapping[Value, tuple[Value, ...]]:
        """Return the values that share each storage."""
        shared: dict[Value, list[Value]] = {}
        for v, o in self.owner.items():
            shared.setdefault(o, []).append(v)
        return {o: tuple(vs) for o, vs in shared.items()}

    def facts(self) -> dict[Node, dict[str, object]]:
        """Return live bytes printed below each node in the text form."""
        return {n: {"live_bytes": d} for n, d in zip(self.steps, self.live, strict=True)}


@frozen
class Liveness(Analysis[LivenessTable]):
    """Live ranges in execution order, storage shared by views and in-place results.

    A node's operands and results live together while it runs. Inputs belong to the caller: they
    live from the first step to the last and are never overwritten. While a node with
    regions runs, values of its regions live too; of an If, values of the branch that needs more.
    Workspace of kernels, alignment and fragmentation are left out: the peak is what an ideal
    allocator needs.
    """

    in_place: bool = True

    def run(self, module: Module, am: Analyses) -> LivenessTable:
        """Return last uses and live bytes of the main graph."""
        return self.table(module.graph, self.intervals(module.graph))

    def in_kernels(
        self, graph: Graph, inside: AbstractSet[Value], held: Iterable[tuple[Value, Node]]
    ) -> LivenessTable:
        """Return last uses and live bytes of a graph whose nodes run as kernels.

        Args:
            graph: the main graph.
            inside: values that exist inside one kernel alone, which need no storage.
            held: values with the last node of a kernel that reads them, until which they live.
        """
        last = last_uses(graph)
        owner = self.owners(graph, last, inside=inside)
        # a storage goes only if every value in it is inside a kernel
        seen = {home for v, home in owner.items() if v not in inside}
        owner = {v: home for v, home in owner.items() if home in seen}
        step_of = {node: step for step, node in enumerate(graph.nodes)}
        for v, node in held:
            last[v] = max(last.get(v, -1), step_of.get(node, -1))
        return self.table(graph, self.measured(graph, Intervals(last, owner)))

    def table(self, graph: Graph, intervals: Intervals) -> LivenessTable:
        """Return the result for the main graph."""
        return LivenessTable(
            graph.nodes,
            intervals.last,
            intervals.owner,
            tuple(intervals.live),
            dim_sum(w.nbytes or 0 for w in all_weights(graph)),
            intervals.is_bound,
        )

    def intervals(self, graph: Graph) -> Intervals:
        """Return the live ranges of a graph, with the needs of its regions."""
        last = last_uses(graph)
        return self.measured(graph, Intervals(last, self.owners(graph, last)))

    def measured(self, graph: Graph, intervals: Intervals) -> Intervals:
        """Compute the bytes of live ranges, with the needs of regions."""
        intervals.measure()
        inner: dict[int, Dim] = {}
        for step, node in enumerate(graph.nodes):
            if node.regions:
                inner[step] = intervals.largest(self.intervals(r) for r in node.regions)
        intervals.follow(graph, inner)
        return intervals

    def owners(
        self,
        graph: Graph,
        last: Mapping[Value, int],
        is_view: Callable[[Node], bool] = lambda node: node.op.kind is Kind.VIEW,
        inside: AbstractSet[Value] = frozenset(),
    ) -> dict[Value, Value]:
        """Return the value that owns the storage of each value.

        Args:
            graph: the graph of the values.
            last: step after which each is freed.
            is_view: whether a node's first result shows its first operand.
            inside: values without storage, which no result overwrites.
        """
        owner: dict[Value, Value] = {v: v for v in graph.inputs}
        free_after: dict[Value, int] = {v: last[v] for v in graph.inputs}
        for step, node in enumerate(graph.nodes):
            kind = node.op.kind
            over = overwritten_by(node)
            for i, v in enumerate(node.results):
                home = v
                source = node.inputs[0] if node.inputs else None
                written = over[i] if over else None
                if written is not None:
                    if written not in owner:
                        continue  # a stored tensor in its next state
                    home = owner[written]
                # an operator of kind VIEW shows its operand in the first result alone, other views,
                # such as a Split, in every result
                elif is_view(node) and source is not None and (i == 0 or kind is not Kind.VIEW):
                    if source not in owner:
                        continue  # shows a stored tensor, or a value of the graph around
                    home = owner[source]
                elif self.in_place and kind in IN_PLACE and i == 0:
                    home = overwritten(node, v, owner, free_after, step, inside) or v
                owner[v] = home
                free_after[home] = max(free_after.get(home, -1), last.get(v, -1))
        return owner


@mutable
class Intervals:
    """Live ranges of one graph.

    Args:
        last: last step that reads each value.
        owner: value whose storage a value shares.
        sizes: bytes of each storage.
        ends: last step that reads any value of each storage.
        live: live bytes during each step.
        is_bound: whether a size is unknown, so that live bytes are a lower bound.
    """

    last: dict[Value, int]
    owner: dict[Value, Value]
    sizes: dict[Value, Dim]
    ends: dict[Value, int]
    live: list[Dim]
    is_bound: bool

    def __init__(self, last: dict[Value, int], owner: dict[Value, Value]) -> None:
        self.last, self.owner = last, owner
        self.sizes, self.ends, self.live, self.is_bound = {}, {}, [], False

    def measure(self) -> None:
        """Compute the size and the end of every storage."""
        for v, o in self.owner.items():
            end = self.last.get(v, -1)
            if o not in self.sizes:
                self.is_bound |= o.nbytes is None
                self.sizes[o] = o.nbytes or 0
                self.ends[o] = end
            elif end > self.ends[o]:
                self.ends[o] = end

    def largest(self, regions: Iterable[Intervals]) -> Dim:
        """Return the largest need of the regions, of which one runs at a time."""
        candidates: dict[Dim, None] = {}
        total: list[Dim] = []
        for r in regions:
            self.is_bound |= r.is_bound
            candidates.update(dict.fromkeys(r.live))
            total.append(dim_sum(r.sizes.values()))
        if len(candidates) > MAX_CANDIDATES:
            # numbers are quick to compare; formulas are replaced by a bound
            numbers = [d for d in candidates if isinstance(d, int)]
            return max(numbers) if len(numbers) == len(candidates) else dim_sum(total)
        return dim_max(0, *candidates)

    def follow(self, graph: Graph, inner: Mapping[int, Dim]) -> None:
        """Compute live bytes at every step: storages born by then that do not end before it."""
        count = len(graph.nodes)
        stops: list[list[Dim]] = [[] for _ in range(count + 1)]
        current = Sum()
        for v in graph.inputs:
            current.add(self.sizes[v], 1)
        for step, node in enumerate(graph.nodes):
            for nbytes in stops[step]:
                current.add(nbytes, -1)
            before = current.value() if step in inner else 0
            for v in node.results:
                if self.owner.get(v) is v and self.sizes[v] != 0:
                    current.add(self.sizes[v], 1)
                    stops[min(max(self.ends[v], step) + 1, count)].append(self.sizes[v])
            live = current.value()
            # results of a node with regions are allocated once its regions are done, except those
            # that grow with each iteration
            if step in inner:
                stacked = dim_sum(self.sizes[v] for v in stacked_results(node))
                live = dim_max(live, before + inner[step] + stacked)
            self.live.append(live)


def overwritten_by(node: Node) -> Results:
    """Return the operands that an optimizer kernel overwrites; none for other nodes."""
    return node.op.overwritten(node.inputs) if isinstance(node.op, MultiTensor) else ()


class Sum:
    """A running sum of polynomials, by coefficient: a step changes only the terms of one size."""

    __slots__ = ("memo", "number", "terms")

    def __init__(self) -> None:
        self.number = 0
        self.terms: dict[Monomial, int] = {}
        self.memo: dict[tuple[tuple[Monomial, int], ...], Dim] = {}

    def add(self, d: Dim, sign: int) -> None:
        """Add ``d``, or subtract it for a ``sign`` of -1."""
        if not isinstance(d, Poly):
            self.number += sign * d
            return
        for monomial, c in d.terms:
            coefficient = self.terms.get(monomial, 0) + sign * c
            if coefficient:
                self.terms[monomial] = coefficient
            else:
                self.terms.pop(monomial, None)

    def value(self) -> Dim:
        """Return the sum."""
        if not self.terms:
            return self.number
        key = (((), self.number), *self.terms.items())
        total = self.memo.get(key)
        if total is None:
            parts: Sequence[Dim] = [Poly(((m, c),)) if m else c for m, c in self.terms.items()]
            total = self.memo[key] = dim_sum((self.number, *parts))
        return total


def stacked_results(node: Node) -> tuple[Value, ...]:
    """Return a loop's results that grow each iteration, without loop-carried values."""
    match node.op:
        # operands of a Loop are trip count, condition and carried values
        case Loop():
            outs = node.outputs[max(len(node.inputs) - 2, 0) :]
        # those of a Scan are carried values and, last, the ones it scans
        case Scan(num_scan_inputs=count):
            outs = node.outputs[max(len(node.inputs) - count, 0) :]
        case SequenceMap():
            outs = node.outputs
        case _:
            outs = ()
    return tuple(v for v in outs if v is not None)


def overwritten(
    node: Node,
    result: Value,
    owner: Mapping[Value, Value],
    free_after: Mapping[Value, int],
    step: int,
    inside: AbstractSet[Value],
) -> Value | None:
    """Return the storage of an operand that the result can overwrite; none of those ``inside``."""
    for v in node.inputs:
        home = owner.get(v) if v is not None else None
        # an operand that is read later, or belongs to the caller, stays
        if home is None or home in inside or free_after[home] > step:
            continue
        if home.type == result.type or home.nbytes == result.nbytes:
            return home if home.nbytes is not None else None
    return None


def bytes_of(v: Value, env: Env) -> int:
    """Return the bytes of a value; 0 where its shape is unknown."""
    return int(evaluate(v.nbytes or 0, env))


def last_uses(graph: Graph) -> dict[Value, int]:
    """Return the last step that reads each value; the end for inputs and outputs."""
    last: dict[Value, int] = {}
    for step, node in enumerate(graph.nodes):
        for v in node.inputs:
            if v is not None:
                last[v] = step
        if node.regions:
            last.update(dict.fromkeys(captured(node), step))
    # the caller reads outputs after the run, and owns inputs
    end = len(graph.nodes)
    last.update(dict.fromkeys(graph.outputs, end))
    last.update(dict.fromkeys(graph.inputs, end))
    return last


def all_weights(graph: Graph) -> list[Value]:
    """Return stored tensors of a graph and of its regions, each once.

    Tensors of 0 bytes are left out: kernels compute them, and a file need not store them.
    """
    weights: dict[Value, None] = dict.fromkeys(graph.weights)
    waiting = [r for n in graph.nodes for r in n.regions]
    while waiting:
        region = waiting.pop()
        weights.update(dict.fromkeys(region.weights))
        waiting += [r for n in region.nodes for r in n.regions]
    return [w for w in weights if w.weight is None or w.weight.nbytes != 0]


def in_memory(weights: Iterable[Value], table: Runtime) -> list[Value]:
    """Return the stored tensors that a runtime holds in memory.

    PyTorch's kernels read transposed tensors in place, such as the weight of a linear layer;
    other runtimes store a transposed copy.
    """
    shows_layouts = table.framework is Framework.TORCH
    homes: dict[str, Value] = {}
    for w in weights:
        shares = w.weight.shares if w.weight is not None and shows_layouts else ""
        homes.setdefault(shares or w.name, w)
    return list(homes.values())
