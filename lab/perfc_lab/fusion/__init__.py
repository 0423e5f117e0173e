"""Compare the fusion of a compiler with the fusion table of its runtime, group by group.

An oracle of ``oracles`` returns the groups of a compiler; `compared` puts them next to "ours", the
kernels of the fusion table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum

from perfc.ir import Kind, Module, Node, record
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.runtimes import Runtime


@record
class OracleRequest:
    """Model that an oracle compiles.

    Args:
        model: path of a model.
        dims: sizes of symbols.
        engine: file of TensorRT's engine inspector; empty without one.
    """

    model: str
    dims: Mapping[str, int] = field(default_factory=dict)
    engine: str = ""


@record
class OracleGroup:
    """Nodes that a compiler runs as one kernel.

    Args:
        name: compiler's name for the kernel.
        operator: compiler's operator, or its kind of kernel.
        nodes: nodes of our module.
    """

    name: str
    operator: str
    nodes: frozenset[Node]


@record
class OracleAnswer:
    """Groups of a compiler, and the module whose nodes they are."""

    module: Module
    groups: tuple[OracleGroup, ...]


class Agreement(Enum):
    """Relations of our kernels to a group of the compiler."""

    SAME = "same"
    JOINS = "ours joins more"
    """One kernel of ours has these nodes and others."""
    SPLITS = "ours splits it"
    """Several kernels of ours have these nodes and no others."""
    CUTS = "ours cuts elsewhere"
    """Some kernels of ours have a part of these nodes and other nodes too."""
    MISSING = "no kernel of ours"


@record
class GroupPair:
    """A group of the compiler, and our kernels of its nodes."""

    group: OracleGroup
    ours: tuple[frozenset[Node], ...]
    agreement: Agreement

    @property
    def difference(self) -> str:
        """Return the operators of both sides, equal for differences of one class."""
        mine = " | ".join(sorted(map(operators, self.ours)))
        return f"{self.group.operator} = {operators(self.group.nodes)}; ours {mine or '-'}"


@record
class FusionComparison:
    """Comparison of a compiler's groups with a fusion table.

    Args:
        runtime: runtime of the table.
        pairs: groups in the order of the compiler.
        ours: number of our kernels with nodes of the groups.
    """

    runtime: Runtime
    pairs: tuple[GroupPair, ...]
    ours: int

    @property
    def same(self) -> int:
        """Return the number of groups that are kernels of ours."""
        return sum(p.agreement is Agreement.SAME for p in self.pairs)

    @property
    def differences(self) -> Counter[tuple[Agreement, str]]:
        """Return the number of differing groups by their class."""
        return Counter(
            (p.agreement, p.difference) for p in self.pairs if p.agreement is not Agreement.SAME
        )


def compared(answer: OracleAnswer, runtime: Runtime) -> FusionComparison:
    """Return the comparison of an answer with the table of a runtime."""
    kernels = Analyses().get(Fuse(runtime.name), answer.module).kernels
    ours = [frozenset(n for n in k.nodes if is_executed(n, runtime)) for k in kernels]
    index_of = {n: i for i, k in enumerate(ours) for n in k}
    seen: set[Node] = set()
    pairs: list[GroupPair] = []
    for group in answer.groups:
        nodes = frozenset(n for n in group.nodes if is_executed(n, runtime))
        # a compiler may compute a node twice: the first group counts
        if not nodes or not nodes.isdisjoint(seen):
            continue
        seen |= nodes
        our_kernels = tuple(ours[i] for i in sorted({index_of[n] for n in nodes if n in index_of}))
        executed_group = OracleGroup(group.name, group.operator, nodes)
        pairs.append(GroupPair(executed_group, our_kernels, agreement_of(nodes, our_kernels)))
    return FusionComparison(runtime, tuple(pairs), sum(not k.isdisjoint(seen) for k in ours))


def agreement_of(nodes: frozenset[Node], ours: tuple[frozenset[Node], ...]) -> Agreement:
    """Return how kernels differ from a group."""
    whole = frozenset[Node]().union(*ours)
    match len(ours):
        case 0:
            return Agreement.MISSING
        case 1 if whole == nodes:
            return Agreement.SAME
        case 1 if whole > nodes:
            return Agreement.JOINS
        case _ if whole == nodes:
            return Agreement.SPLITS
        case _:
            return Agreement.CUTS


def is_executed(node: Node, runtime: Runtime) -> bool:
    """Return True if a node computes or moves something in a runtime.

    Conversions of quantization may be in several kernels and are left out.
    """
    name = node.op.mnemonic
    is_view = node.op.kind in (Kind.VIEW, Kind.SHAPE) or name in runtime.views
    return not is_view and not name.endswith("quantize_linear")


def operators(nodes: frozenset[Node]) -> str:
    """Return the operators of a group in alphabetical order, with their numbers."""
    counts = Counter(n.loc.op_type or n.op.mnemonic for n in nodes)
    return "+".join(f"{n}×{c}" if c > 1 else n for n, c in sorted(counts.items())) or "-"


def leading_to(
    names: Iterator[str], made: Mapping[str, Node], borders: frozenset[str]
) -> set[Node]:
    """Return the nodes that compute values from the values that a compiler stores.

    Args:
        names: values.
        made: node that computes each value.
        borders: values that the compiler stores.
    """
    nodes: set[Node] = set()
    # the search stops at stored values, except at the values that it starts from
    start = [name for name in names if name in made]
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        node = made.get(name)
        if node is None or node in nodes or (name in borders and name not in start):
            continue
        nodes.add(node)
        waiting += [v.name for v in node.inputs if v is not None and v.weight is None]
    return nodes
