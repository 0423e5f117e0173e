"""Write analysis results into an ONNX model as metadata properties of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfc.api import Report
from perfc.frontend.reading.onnx_file import dim_param
from perfc.ir import Graph, Node, TensorType, evaluate, walk
from perfc.passes.roofline.cost import NodeCost, Tier
from perfc.passes.roofline.roofline import KernelBound

if TYPE_CHECKING:
    import onnx

    from perfc.analyzers.estimate.estimate import Estimate

PREFIX = "perfc."
FOLDED = "folded: constant before the model runs"
"""Property ``perfc.kernel`` of a node that the analyzed module no longer has."""


@dataclass(slots=True)
class NodeNumbers:
    """Numbers written at one node of the file; a function call sums those of its body."""

    mac: int = 0
    flop: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    coverage: Tier = Tier.EXACT
    kernels: list[int] = field(default_factory=list)
    anchored: list[KernelBound] = field(default_factory=list)
    predictions: list[Estimate] = field(default_factory=list)

    def add(self, cost: NodeCost, env: Mapping[str, int]) -> None:
        """Add the cost of one node of the analyzed module."""
        times = int(evaluate(cost.repeat, env))
        self.mac += times * int(evaluate(cost.work.mac, env))
        self.flop += times * int(evaluate(cost.work.flop, env))
        self.read_bytes += times * int(evaluate(cost.traffic.read_bytes, env))
        self.write_bytes += times * int(evaluate(cost.traffic.write_bytes, env))
        # the least exact tier of all parts: members of Tier are in order of falling exactness
        self.coverage = max(self.coverage, cost.tier, key=list(Tier).index)

    @property
    def sustained_s(self) -> float:
        """Return the time at measured rates of the kernels anchored at this node."""
        return sum(b.time_s for b in self.anchored)

    @property
    def floor_s(self) -> float:
        """Return the lower bound of the time of those kernels."""
        return sum(b.floor_s for b in self.anchored)

    @property
    def predicted(self) -> tuple[float, float, float]:
        """Return the predicted time of those kernels and its interval.

        The ends of intervals are summed too, as if all errors had the same sign.
        """
        times = [(p.time_s, p.low_s, p.high_s) for p in self.predictions]
        time_s, low_s, high_s = (sum(column) for column in zip(*times, strict=True))
        return time_s, low_s, high_s

    @property
    def bound(self) -> str:
        """Return the limiting ceiling of the longest of those kernels."""
        return max(self.anchored, key=lambda b: b.time_s).binding.value if self.anchored else ""


@dataclass(frozen=True)
class NumbersByNode:
    """Numbers by node of the file, indexed by output name or by expanded call."""

    report: Report
    by_output: Mapping[str, Node]
    by_call: Mapping[str, tuple[Node, ...]]
    kernel_of: Mapping[Node, int]
    launches: Mapping[int, Sequence[int]]
    """By kernel: itself and its helper launches."""

    @staticmethod
    def of(report: Report) -> NumbersByNode:
        """Index the report's nodes."""
        by_output: dict[str, Node] = {}
        by_call: dict[str, list[Node]] = {}
        for node in walk(report.module.graph):
            for v in node.results:
                by_output.setdefault(v.name, node)
            if node.loc.is_expanded:
                by_call.setdefault(node.loc.stored_name, []).append(node)
            else:
                prefix, slash, _ = node.loc.stored_name.rpartition("/")
                # names of bodies are paths: a node counts for every call around it
                while slash:
                    by_call.setdefault(prefix + "/", []).append(node)
                    prefix, slash, _ = prefix.rpartition("/")
        kernels = enumerate(report.kernels.kernels)
        kernel_of = {n: i for i, k in kernels for n in k.nodes}
        launches: dict[int, list[int]] = {}
        for i, served in enumerate(report.kernels.served):
            launches.setdefault(served, []).append(i)
        calls = {k: tuple(v) for k, v in by_call.items()}
        return NumbersByNode(report, by_output, calls, kernel_of, launches)

    def at(self, node: onnx.NodeProto, is_call: bool) -> NodeNumbers | None:
        """Return the numbers of one node of the file; None if it does not run."""
        numbers = NodeNumbers()
        nodes = self.nodes(node, is_call)
        for n in nodes:
            cost = self.report.cost.nodes.get(n)
            if cost is not None:
                numbers.add(cost, self.report.env)
            index = self.kernel_of.get(n)
            if index is None:
                continue
            # several nodes of a function may be in one kernel
            if index not in numbers.kernels:
                numbers.kernels.append(index)
            # times are written at one node of a kernel only, so that they add up to the run
            if self.report.kernels.kernels[index].anchor is n:
                for launch in self.launches[index]:
                    numbers.anchored.append(self.report.roofline.kernels[launch])
                    numbers.predictions.append(self.report.prediction.kernels[launch])
        return numbers if nodes else None

    def nodes(self, node: onnx.NodeProto, is_call: bool) -> tuple[Node, ...]:
        """Return the analyzed nodes that a node of the file became."""
        label = node.name or next((o for o in node.output if o), node.op_type)
        # nodes of an expanded function have its call as a prefix of their names
        if is_call and label + "/" in self.by_call:
            return self.by_call[label + "/"]
        producers = (self.by_output.get(o) for o in node.output if o)
        analyzed_nodes = (*self.by_call.get(label, ()), *(n for n in producers if n is not None))
        return tuple(dict.fromkeys(analyzed_nodes))


def annotate(model: onnx.ModelProto, report: Report) -> None:
    """Write the report into ``model``: properties of nodes and of the model, and missing shapes.

    Properties of a node: ``perfc.mac``, ``perfc.flop``, ``perfc.read_bytes``,
    ``perfc.write_bytes``, ``perfc.coverage`` and ``perfc.kernel``. The anchor node of a kernel also
    has the predicted time with its interval, ``perfc.predicted_s``, ``perfc.predicted_low_s`` and
    ``perfc.predicted_high_s``, its share of the predicted run, ``perfc.share``, its time at
    measured rates, ``perfc.sustained_s``, ``perfc.floor_s`` and ``perfc.bound``, each with the
    kernel's helper launches. The nodes and the model's ``perfc.fixed_s`` sum up to the run.
    Earlier ``perfc.`` properties are replaced; nothing else changes.
    """
    numbers = NumbersByNode.of(report)
    functions = {(f.domain, f.name) for f in model.functions}
    for node in every_node(model.graph):
        if node.op_type == "Constant":  # no property, as it is a stored tensor
            _set(node, {})
            continue
        at_node = numbers.at(node, (node.domain, node.op_type) in functions)
        _set(node, properties(report, at_node) if at_node else {"kernel": FOLDED})
    _set(model, model_properties(report))
    add_value_info(model.graph, report.source.graph)


def every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of subgraphs in their attributes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from every_node(attribute.g)
            for inner in attribute.graphs:
                yield from every_node(inner)


def properties(report: Report, n: NodeNumbers) -> dict[str, str]:
    """Return the properties of a node by name, without the prefix."""
    values = {
        "mac": str(n.mac),
        "flop": str(n.flop),
        "read_bytes": str(n.read_bytes),
        "write_bytes": str(n.write_bytes),
        "coverage": n.coverage.value,
    }
    if n.kernels:
        table = report.kernels.kernels
        values["kernel"] = "; ".join(f"{i}: {table[i].label}" for i in n.kernels)
    if n.anchored:
        total_s, time_s = report.prediction.total.time_s, n.predicted[0]
        values |= {
            "sustained_s": f"{n.sustained_s:.6g}",
            "floor_s": f"{n.floor_s:.6g}",
            "bound": n.bound,
            "share": f"{time_s / total_s if total_s else 0.0:.4f}",
            **predicted(*n.predicted),
        }
    return values


def predicted(time_s: float, low_s: float, high_s: float) -> dict[str, str]:
    """Return a prediction and its interval as properties."""
    return {
        "predicted_s": f"{time_s:.12g}",  # more digits: nodes add up to the run
        "predicted_low_s": f"{low_s:.6g}",
        "predicted_high_s": f"{high_s:.6g}",
    }


def model_properties(report: Report) -> dict[str, str]:
    """Return the properties of the model: setting and totals."""
    import perfc

    total = report.prediction.total
    return {
        "version": perfc.__version__,
        "target": report.machine.name,
        "runtime": report.kernels.runtime.name,
        "dtype": report.dtype or "as stored",
        "dims": ", ".join(f"{n}={v}" for n, v in sorted(report.env.items())),
        "sustained_s": f"{report.roofline.time_s:.6g}",
        "floor_s": f"{report.roofline.floor_s:.6g}",
        **predicted(total.time_s, total.low_s, total.high_s),
        "fixed_s": f"{total.fixed_s:.12g}",
        "mac": str(int(evaluate(report.cost.work.mac, report.env))),
    }


def _set(holder: onnx.NodeProto | onnx.ModelProto, values: Mapping[str, str]) -> None:
    """Write properties, which replace earlier ones with `PREFIX`."""
    others = [(p.key, p.value) for p in holder.metadata_props if not p.key.startswith(PREFIX)]
    # protobuf cannot remove single entries by value: all are written again
    if len(others) < len(holder.metadata_props):
        del holder.metadata_props[:]
        for key, value in others:
            holder.metadata_props.add(key=key, value=value)
    for key, value in values.items():
        holder.metadata_props.add(key=PREFIX + key, value=value)


def add_value_info(graph: onnx.GraphProto, source: Graph) -> None:
    """Add inferred types of the main graph where the file has no type or no shape."""
    declared = {v.name for v in (*graph.input, *graph.output)}
    infos = {v.name: v for v in graph.value_info}
    for node in source.nodes:
        for v in node.results:
            if v.name in declared or not isinstance(v.type, TensorType) or v.type.shape is None:
                continue
            info = infos.get(v.name)
            # ONNX has no number for some types of perfc
            if v.type.dtype.onnx > 0 and (info is None or not _has_shape(info)):
                _fill(info or graph.value_info.add(name=v.name), v.type)


def _has_shape(info: onnx.ValueInfoProto) -> bool:
    """Return True if a type is complete; that of a sequence or an optional stays as it is."""
    kind = info.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or info.type.tensor_type.HasField("shape"))


def _fill(info: onnx.ValueInfoProto, type_: TensorType) -> None:
    """Write element type and shape of a tensor into an entry of a file."""
    tensor = info.type.tensor_type
    tensor.elem_type = type_.dtype.onnx
    tensor.shape.SetInParent()  # a scalar has a shape without dimensions
    for d in type_.shape or ():
        if isinstance(d, int):
            tensor.shape.dim.add(dim_value=d)
        else:
            tensor.shape.dim.add(dim_param=dim_param(d))
