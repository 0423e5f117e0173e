"""Graph of a model for other programs: GraphML, DOT and networkx."""

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
GRAPHML = "http://graphml.graphdrawing.org/xmlns"
KINDS = {str: "string", int: "long", float: "double", bool: "boolean"}
"""Types of attributes in GraphML."""


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


def graph_of(
    module: Module, env: Mapping[str, int] | None = None, facts: NodeFacts | None = None
) -> GraphForm:
    """Return the graph of a module; nodes in regions are nodes of the same graph.

    Args:
        module: module; weights are no nodes.
        env: values of symbols; without it, shapes stay formulas.
        facts: further attributes of a node.
    """
    graph = module.graph
    keys = UniqueNames()
    nodes = [GraphNode(keys.of(v), {"operator": "input"}) for v in graph.inputs]
    makers: dict[Value, str] = dict(zip(graph.inputs, (n.key for n in nodes), strict=True))
    every = list(walk(graph))
    for node in every:
        key = keys.of(node)
        more = facts(node) if facts else {}
        nodes.append(GraphNode(key, {**node_attributes(node), **more}))
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


def value_attributes(v: Value, env: Mapping[str, int] | None) -> Attributes:
    """Return name, element type, shape and bytes of a value."""
    made: dict[str, str | int | float | bool] = {"value": printable(v.name)}
    if isinstance(v.type, TensorType):
        made["dtype"] = v.type.dtype.value[0]
        if v.type.shape is not None:
            shape = [d if env is None else int(evaluate(d, env)) for d in v.type.shape]
            made["shape"] = ", ".join(map(str, shape))
            if env is not None and v.type.nbytes is not None:
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


def to_graphml(form: GraphForm) -> str:
    """Return a graph as GraphML, which networkx, Gephi and yEd read."""
    from xml.sax.saxutils import escape, quoteattr

    keys: dict[tuple[str, str], str] = {}
    lines: list[str] = []

    def data(owner: str, attributes: Attributes) -> Iterator[str]:
        for name, value in attributes.items():
            key = keys.setdefault((owner, name), f"d{len(keys)}")
            types.setdefault(key, KINDS[type(value)])
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield f'<data key="{key}">{escape(text)}</data>'

    types: dict[str, str] = {}
    for n in form.nodes:
        lines.append(f"<node id={quoteattr(n.key)}>{''.join(data('node', n.attributes))}</node>")
    for e in form.edges:
        ends = f"source={quoteattr(e.source)} target={quoteattr(e.target)}"
        lines.append(f"<edge {ends}>{''.join(data('edge', e.attributes))}</edge>")
    declared = [
        f'<key id="{key}" for="{owner}" attr.name="{name}" attr.type="{types[key]}"/>'
        for (owner, name), key in keys.items()
    ]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{GRAPHML}">'
    graph = f'<graph id={quoteattr(form.name)} edgedefault="directed">'
    return "\n".join([head, *declared, graph, *lines, "</graph>", "</graphml>", ""])


def to_dot(form: GraphForm) -> str:
    """Return a graph in the language of Graphviz."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def listed(attributes: Attributes) -> str:
        return ", ".join(f"{name}={quoted(str(value))}" for name, value in attributes.items())

    nodes = (
        f"  {quoted(n.key)} [label={quoted(str(n.attributes['operator']))}, "
        f"{listed(n.attributes)}];"
        for n in form.nodes
    )
    edges = (
        f"  {quoted(e.source)} -> {quoted(e.target)} [{listed(e.attributes)}];" for e in form.edges
    )
    return "\n".join([f"digraph {quoted(form.name)} {{", *nodes, *edges, "}", ""])
