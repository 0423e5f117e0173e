"""Attribution of a runtime's kernel times to ONNX nodes and analyzed kernels.

A runtime's kernel may execute nodes of several analyzed kernels, and an analyzed kernel may run as
several of the runtime. `attribute` joins what overlaps in this way to one part, with its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfc.ir import Node, record, walk
from perfc.ir.graphs.groups import root

from ..profile import Profile, RuntimeKernel
from ..runtimes.tensorrt import RANGE
from ..trace import How, NameIndex, SourceNodes

if TYPE_CHECKING:
    from perfc.api import Report


@record
class MatchedKernels:
    """Analyzed kernels and runtime kernels that execute the same nodes.

    Args:
        kernels: indices of analyzed kernels; empty for nodes that launch no analyzed kernel.
        runtime: the runtime's kernels, in order.
        nodes: names of the ONNX nodes, in order.
        time_s: measured time of the runtime's kernels together.
        iqr_s: interquartile range of that.
        best_s: sum of the shortest times of the runtime's kernels.
        inserted_s: time of the runtime's kernels that the runtime inserted between nodes: copies
            and changes of layout.
    """

    kernels: tuple[int, ...]
    runtime: tuple[RuntimeKernel, ...]
    nodes: tuple[str, ...]
    time_s: float
    iqr_s: float
    best_s: float = 0.0
    inserted_s: float = 0.0


@record
class Attribution:
    """Attribution of the measured time.

    Args:
        parts: groups of analyzed kernels with the runtime kernels that ran for them, in the order
            of the analysis; then one part for each runtime kernel whose nodes launch no analyzed
            kernel.
        lost: kernels of the runtime without an ONNX node.
        total_s: time of all kernels.
    """

    parts: tuple[MatchedKernels, ...]
    lost: tuple[RuntimeKernel, ...]
    total_s: float

    @property
    def share(self) -> float:
        """Return the fraction of the measured kernel time attributed to ONNX nodes."""
        return 1 - sum(k.time_s for k in self.lost) / self.total_s if self.total_s > 0 else 0.0


def by_names(profile: Profile, report: Report) -> dict[str, SourceNodes]:
    """Return the nodes behind kernels by name, for a profile without a graph."""
    names = NameIndex.of(report.source.graph)
    order = list(walk(report.source.graph))
    origins: dict[str, SourceNodes] = {}
    for k in profile.kernels:
        # three ways, the most certain first: nodes and ranges of nodes that the runtime lists, the
        # kernel's name as that of one node, and its name as that of a module
        members = [n for m in k.members for n in nodes_called(names, m)]
        members += [n for m in k.members if RANGE in m for n in nodes_from(names, m, order)]
        single = names.find(k.name)
        if not members and single is not None:
            members = [single]
        if not members:
            members = nodes_called(names, k.name)
        if members:
            origins[k.name] = SourceNodes(frozenset(members), How.NAMED)
    return origins


def nodes_from(names: NameIndex, text: str, order: Sequence[Node]) -> list[Node]:
    """Return the nodes from a to b of a TensorRT range ``a...b``; none if a name is unknown."""
    first, _, last = text.partition(RANGE)
    ends = [order.index(n) for name in (first, last) for n in nodes_called(names, name)]
    return list(order[min(ends) : max(ends) + 1]) if len(ends) > 1 else []


def nodes_called(names: NameIndex, name: str) -> list[Node]:
    """Return the nodes with this name, or those below a call or module with this name."""
    node = names.by_name.get(name) or names.makers.get(name)
    if node is not None:
        return [node]
    if name in names.below:
        return list(names.below[name])
    return []


def attribute(profile: Profile, origins: Mapping[str, SourceNodes], report: Report) -> Attribution:
    """Assign each runtime kernel's time to the analyzed kernels that share nodes with it."""
    home = kernel_of(report)
    order = {n: i for i, n in enumerate(walk(report.source.graph))}
    # parents in a union-find forest: kernels that share a runtime kernel get one root
    union = list(range(len(report.kernels.kernels)))
    analyzed = report.kernels.kernels
    owners = {a.anchor.name: i for i, a in enumerate(analyzed) if a.helper is None}
    for i, a in enumerate(analyzed):
        if a.helper is not None and a.anchor.name in owners:
            # helpers are launches that a runtime inserts around a kernel, as copies and casts;
            # profiles do not distinguish them from each other, so they share the kernel's root
            join(union, owners[a.anchor.name], i)
    # each runtime kernel with its nodes, and an analyzed kernel with one of these nodes, if any
    reached: list[tuple[RuntimeKernel, SourceNodes, int | None]] = []
    lost: list[RuntimeKernel] = []
    # roots are looked up only after the last join, so runtime kernels are grouped in a second pass
    for k in profile.kernels:
        origin = origins.get(k.name)
        if origin is None:
            lost.append(k)
            continue
        homes = sorted({home[n] for n in origin.nodes if n in home})
        for other in homes[1:]:
            join(union, homes[0], other)
        reached.append((k, origin, homes[0] if homes else None))
    groups: dict[int, list[tuple[RuntimeKernel, SourceNodes]]] = {}
    hosts: list[MatchedKernels] = []
    for k, origin, first in reached:
        if first is None:
            hosts.append(part((), [(k, origin)], order))
        else:
            groups.setdefault(root(union, first), []).append((k, origin))
    members: dict[int, list[int]] = {}
    for i in range(len(union)):
        members.setdefault(root(union, i), []).append(i)
    parts = [part(tuple(members[r]), groups.get(r, []), order) for r in sorted(members)]
    total = sum(k.time_s for k in profile.kernels)
    return Attribution((*parts, *hosts), tuple(lost), total)


def part(
    kernels: tuple[int, ...],
    timed: Sequence[tuple[RuntimeKernel, SourceNodes]],
    order: Mapping[Node, int],
) -> MatchedKernels:
    """Return the part of analyzed kernels, with the nodes of its runtime kernels in file order.

    Args:
        kernels: indices of the analyzed kernels.
        timed: runtime kernels and the nodes that each executes.
        order: position of each node in the file.
    """
    nodes = sorted({n for _, o in timed for n in o.nodes}, key=lambda n: order.get(n, 0))
    names = tuple(dict.fromkeys(n.name for n in nodes))
    time_s = sum(k.time_s for k, _ in timed)
    # spreads of kernels are taken as independent: their squares add
    iqr_s = sum(k.iqr_s**2 for k, _ in timed) ** 0.5
    best_s = sum(k.best_s for k, _ in timed)
    inserted_s = sum(k.time_s for k, o in timed if o.how is How.INSERTED)
    runtime = tuple(k for k, _ in timed)
    return MatchedKernels(kernels, runtime, names, time_s, iqr_s, best_s, inserted_s)


def kernel_of(report: Report) -> dict[Node, int]:
    """Return the analyzed kernel by node of the file.

    Passes rewrite the nodes of kernels, but results keep their names: nodes match by those.
    """
    producers = {v.name: n for n in walk(report.source.graph) for v in n.results}
    kernels_of: dict[Node, int] = {}
    for i, kernel in enumerate(report.kernels.kernels):
        for node in kernel.nodes:
            for v in node.results:
                if v.name in producers:
                    kernels_of.setdefault(producers[v.name], i)
    return kernels_of


def join(parent: list[int], a: int, b: int) -> None:
    """Merge two groups; the root of a group is its smallest member, so roots sort by execution."""
    least, most = sorted((root(parent, a), root(parent, b)))
    parent[most] = least
