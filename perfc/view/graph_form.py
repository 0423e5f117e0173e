"""Graph of a report for networkx, which writes GraphML and DOT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from perfc.common.plain_text import printable
from perfc.ir import Module, Node, TensorType, Value, evaluate, record, walk

if TYPE_CHECKING:
    import networkx

    from perfc.api import Report

Attributes = Mapping[str, "str | int | float | bool"]
NodeFacts = Callable[[Node], Attributes]


@record
class GraphNode:
    """An operator, input or output of the model.

    Args:
        key: its name; with its position where the name is not unique.
        attributes: ``operator``, and whatever else is known.
    """

    key: str
    attributes: Attributes


@record
class GraphEdge:
    """A value from the node that makes it to one that reads it."""

    source: str
    target: str
    attributes: Attributes


@record
class GraphForm:
    """Nodes in the order of execution, and the values between them."""

    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def graph_of(module: Module, env: Mapping[str, int], facts: NodeFacts) -> GraphForm:
    """Return the graph of a module; nodes in regions are nodes of the same graph.

    Args:
        module: module; weights are no nodes.
        env: values of symbols.
        facts: further attributes of a node.
    """
    graph = module.graph
    keys = UniqueNames()
    nodes = [GraphNode(keys.of(v), {"operator": "input"}) for v in graph.inputs]
    makers: dict[Value, str] = dict(zip(graph.inputs, (n.key for n in nodes), strict=True))
    every = list(walk(graph))
    for node in every:
        key = keys.of(node)
        nodes.append(GraphNode(key, {**node_attributes(node), **facts(node)}))
        makers.update(dict.fromkeys(node.results, key))
    for node in every:
        for region in node.regions:
            makers.update(dict.fromkeys(region.inputs, keys.known[node]))
    reads = ((node, v) for node in every for v in (*node.inputs, *results_inside(node)))
    edges = [
        GraphEdge(makers[v], keys.known[node], value_attributes(v, env))
        for node, v in reads
        if v is not None and v in makers
    ]
    for v in graph.outputs:
        key = keys.of(("output", v), f"{v.name} (output)")
        nodes.append(GraphNode(key, {"operator": "output"}))
        if v in makers:
            edges.append(GraphEdge(makers[v], key, value_attributes(v, env)))
    return GraphForm(printable(module.name), tuple(nodes), tuple(edges))


def results_inside(node: Node) -> Iterator[Value]:
    """Yield the results of the regions of a node, which it passes on."""
    for region in node.regions:
        yield from region.outputs


class UniqueNames:
    """Unique names of nodes."""

    def __init__(self) -> None:
        self.known: dict[object, str] = {}
        self.taken: set[str] = set()

    def of(self, item: object, name: str = "") -> str:
        """Return the name of a node, and remember it."""
        name = printable(name or getattr(item, "name", "")) or "node"
        key = name if name not in self.taken else f"{name}#{len(self.known)}"
        self.taken.add(key)
        self.known[item] = key
        return key


def node_attributes(node: Node) -> Attributes:
    """Return operator, kind, phase and number of weights of a node."""
    return {
        "operator": node.op.mnemonic,
        "kind": node.op.kind.value,
        "phase": node.loc.phase.value,
        "weight_count": sum(v is not None and v.weight is not None for v in node.inputs),
    }


def value_attributes(v: Value, env: Mapping[str, int]) -> Attributes:
    """Return name, element type, shape and bytes of a value."""
    made: dict[str, str | int | float | bool] = {"value": printable(v.name)}
    if isinstance(v.type, TensorType):
        made["dtype"] = v.type.dtype.value[0]
        if v.type.shape is not None:
            made["shape"] = ", ".join(str(int(evaluate(d, env))) for d in v.type.shape)
            if v.type.nbytes is not None:
                made["bytes"] = int(evaluate(v.type.nbytes, env))
    return made


def executed_graph(report: Report) -> GraphForm:
    """Return the graph that a report analyzes, with the numbers of its kernels.

    Every node has the number of its ``kernel``. The work and the times of a kernel and its helper
    launches are those of the node that names it, so that sums over the nodes are those of the run.
    """
    kernel_of: dict[Node, int] = {}
    numbers: dict[Node, dict[str, float]] = {}
    bounds, estimates = report.roofline.kernels, report.prediction.kernels
    for at, served in enumerate(report.kernels.served):
        bound = bounds[at]
        kernel_of.update(dict.fromkeys(bound.kernel.nodes, at))
        sums = numbers.setdefault(bounds[served].kernel.anchor, {})
        for name, value in (
            ("flop", bound.counts.flop),
            ("bytes", bound.counts.nbytes),
            ("floor_s", bound.floor_s),
            ("time_s", estimates[at].time_s),
        ):
            sums[name] = sums.get(name, 0.0) + value

    def facts(node: Node) -> Attributes:
        kernel = {"kernel": kernel_of[node]} if node in kernel_of else {}
        return {**kernel, **numbers.get(node, {})}

    return graph_of(report.module, report.env, facts)


def to_networkx(report: Report) -> networkx.MultiDiGraph:
    """Return the graph of a report as a graph of networkx.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    try:
        import networkx
    except ImportError:
        from perfc.common.extras import install_package
        from perfc.errors import MissingExtraError

        hint = install_package("networkx")
        raise MissingExtraError("a graph needs networkx", hint=hint) from None
    form = executed_graph(report)
    made = networkx.MultiDiGraph(name=form.name)
    made.add_nodes_from((n.key, dict(n.attributes)) for n in form.nodes)
    made.add_edges_from((e.source, e.target, dict(e.attributes)) for e in form.edges)
    return made
