"""Multi-operator patterns that runtimes know as one kernel: activations, norms, attention, Q/DQ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfc.ir.graph import Graph, Node, Value
from perfc.ir.op import Kind

MAX_MEMBERS = 16
POINTWISE = frozenset({Kind.ELEMENTWISE, Kind.VIEW})
TRANSCENDENTAL = frozenset({"erf", "tanh", "sigmoid", "exp", "softplus", "hard_sigmoid"})


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Who makes and who reads values, within the nodes under consideration."""

    graph: Graph
    inside: frozenset[Node]

    def maker(self, v: Value | None) -> Node | None:
        """The node that makes ``v``, views skipped."""
        node = self.graph.producers.get(v) if v is not None else None
        while node is not None and node.op.kind is Kind.VIEW and node.inputs:
            v = node.inputs[0]
            node = self.graph.producers.get(v) if v is not None else None
        return node if node in self.inside else None

    def readers(self, v: Value) -> Iterator[Node]:
        """The nodes that read ``v``, views skipped."""
        for node in self.graph.users.get(v, ()):
            if node.op.kind is Kind.VIEW:
                for out in node.results:
                    yield from self.readers(out)
            else:
                yield node

    def operands(self, node: Node) -> list[Value]:
        """Operands that are computed, each as the value behind its views."""
        found: list[Value] = []
        for v in node.inputs:
            while v is not None and v.weight is None and v.known is None:
                maker = self.graph.producers.get(v)
                if maker is None or maker.op.kind is not Kind.VIEW or not maker.inputs:
                    found.append(v)
                    break
                v = maker.inputs[0]
        return found


Finder = Callable[[Node, Neighbourhood], "set[Node] | None"]


def find_patterns(
    nodes: Sequence[Node], graph: Graph, names: Sequence[str]
) -> Mapping[Node, Node]:
    """Member to first member, for every instance of the patterns ``names`` among ``nodes``."""
    near = Neighbourhood(graph, frozenset(nodes))
    order = {n: i for i, n in enumerate(nodes)}
    taken: dict[Node, Node] = {}
    for name in sorted(names, key=list(FINDERS).index):
        starts, finder = FINDERS[name]
        for node in nodes:
            if node in taken or not starts(node):
                continue
            members = finder(node, near)
            if members is None or len(members) < 2 or not members.isdisjoint(taken):
                continue
            head = min(members, key=order.__getitem__)
            for m in members:
                taken[m] = head
    return {m: h for m, h in taken.items() if m is not h}


def _grown(
    seeds: Sequence[Node],
    source: Value,
    near: Neighbourhood,
    kinds: frozenset[Kind],
    stop: Callable[[Node], bool] = lambda _: False,
) -> set[Node]:
    """Nodes computed from ``source`` and constants alone, grown forward from ``seeds``."""
    members: set[Node] = set(seeds)
    made = {source, *(v for n in members for v in n.results)}
    frontier = list(seeds)
    while frontier and len(members) < MAX_MEMBERS:
        node = frontier.pop(0)
        if stop(node):
            continue
        for v in node.results:
            for reader in near.readers(v):
                if reader in members or reader not in near.inside or reader.op.kind not in kinds:
                    continue
                if all(o in made for o in near.operands(reader)):
                    members.add(reader)
                    made.update(reader.results)
                    frontier.append(reader)
    return members


def _activation(node: Node, near: Neighbourhood) -> set[Node] | None:
    """``x * f(x)`` written out: GELU by erf or tanh, SiLU, hard-swish, Mish."""
    behind: list[Node] = []
    source = (near.operands(node) or [None])[0]
    made_here: Node | None = near.maker(source)
    while source is not None and len(behind) < 7:
        readers = set(near.readers(source))
        if len(readers) > 1 and any(r.op.mnemonic == "mul" for r in readers):
            break
        made_here = near.maker(source)
        operands = near.operands(made_here) if made_here else []
        if made_here is None or made_here.op.kind is not Kind.ELEMENTWISE or not operands:
            return None
        behind.append(made_here)
        source = operands[0] if len(set(operands)) == 1 else _shared(operands, near)
    if source is None:
        return None
    seeds = [r for r in near.readers(source) if r in near.inside and _only(r, source, near)]
    members = _grown(seeds, source, near, frozenset({Kind.ELEMENTWISE}), _is_outer_product)
    return members if node in members and any(n.op.mnemonic == "mul" for n in members) else None


def _shared(operands: list[Value], near: Neighbourhood) -> Value | None:
    """The operand behind the others: ``x`` in ``x + c * x ** 3``."""
    for v in operands:
        others = [o for o in operands if o is not v]
        if all(_reaches(o, v, near, 4) for o in others):
            return v
    return None


def _reaches(v: Value, target: Value, near: Neighbourhood, depth: int) -> bool:
    if v is target:
        return True
    maker = near.maker(v)
    if maker is None or not depth or maker.op.kind is not Kind.ELEMENTWISE:
        return False
    return any(_reaches(o, target, near, depth - 1) for o in near.operands(maker))


def _only(node: Node, source: Value, near: Neighbourhood) -> bool:
    return node.op.kind is Kind.ELEMENTWISE and set(near.operands(node)) == {source}


def _is_outer_product(node: Node) -> bool:
    return node.op.mnemonic == "mul" and all(v is not None and v.weight is None for v in node.inputs)


def _norm(node: Node, near: Neighbourhood) -> set[Node] | None:
    """Layer or RMS normalisation written out around a mean over the last axes."""
    operands = near.operands(node)
    source = operands[0] if operands else None
    maker = near.maker(source)
    if maker is not None and maker.op.mnemonic in ("pow", "mul"):
        inner = set(near.operands(maker))
        source = inner.pop() if len(inner) == 1 else source
    if source is None:
        return None
    kinds = frozenset({Kind.ELEMENTWISE, Kind.REDUCTION})
    seeds = [
        r
        for r in near.readers(source)
        if r in near.inside and r.op.kind in kinds and set(near.operands(r)) == {source}
    ]
    members = _grown(seeds, source, near, kinds)
    has_root = any(n.op.mnemonic in ("sqrt", "rsqrt", "pow") for n in members)
    return members if node in members and has_root else None


def _skip_norm(node: Node, near: Neighbourhood) -> set[Node] | None:
    """A residual addition right before a normalisation."""
    operands = near.operands(node)
    maker = near.maker(operands[0]) if operands else None
    return {maker, node} if maker is not None and maker.op.mnemonic == "add" else None


def _attention(node: Node, near: Neighbourhood) -> set[Node] | None:
    """Softmax between two batched products, with scale and mask around it."""
    members: set[Node] = {node}
    operands = near.operands(node)
    v: Value | None = operands[0] if operands else None
    for _ in range(6):
        maker = near.maker(v)
        if maker is None:
            return None
        members.add(maker)
        if maker.op.kind is Kind.MATMUL:
            break
        if maker.op.kind is not Kind.ELEMENTWISE:
            return None
        v = _toward_product(maker, near)
    else:
        return None
    out = node.results[0]
    for _ in range(4):
        readers = [r for r in near.readers(out) if r in near.inside]
        if len(readers) != 1:
            return None
        members.add(readers[0])
        if readers[0].op.kind is Kind.MATMUL:
            return members
        if readers[0].op.kind is not Kind.ELEMENTWISE or not readers[0].results:
            return None
        out = readers[0].results[0]
    return None


def _toward_product(node: Node, near: Neighbourhood) -> Value | None:
    """The operand on the way to the product: of scores and mask, the scores."""
    best: Value | None = None
    for v in near.operands(node):
        maker = near.maker(v)
        if maker is not None and maker.op.kind is Kind.MATMUL:
            return v
        if maker is not None and maker.op.kind is Kind.ELEMENTWISE and best is None:
            best = v
    return best


def _quantized(node: Node, near: Neighbourhood) -> set[Node] | None:
    """Dequantise, product or convolution, quantise: one 8-bit kernel."""
    members: set[Node] = {node}
    for v in node.inputs:
        maker = near.maker(v)
        if maker is not None and maker.op.mnemonic == "dequantize_linear":
            if sum(1 for out in maker.results for _ in near.readers(out)) == 1:
                members.add(maker)
    return members if len(members) > 1 else None


FINDERS: Mapping[str, tuple[Callable[[Node], bool], Finder]] = {
    "attention": (lambda n: n.op.kind is Kind.SOFTMAX, _attention),
    "layer_norm": (lambda n: n.op.mnemonic == "reduce_mean", _norm),
    "rms_norm": (lambda n: n.op.mnemonic == "reduce_mean", _norm),
    "activation": (lambda n: n.op.mnemonic in TRANSCENDENTAL, _activation),
    "skip_layer_norm": (lambda n: n.op.kind is Kind.NORMALIZATION, _skip_norm),
    "quantized": (lambda n: n.op.kind in (Kind.CONV, Kind.MATMUL), _quantized),
}
"""Pattern name to what starts a search and the search; the order is that of preference."""
