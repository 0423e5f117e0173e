"""Describe graphs in words, as summaries, and in JSON (Section 7.4.1).

A summary has the totals of the graph and a line for each kind of layer. It is the answer of stage
2, and the high-level text of the thesis. It differs from the sample of Section 7.7.3 in one point:
each number has three digits and the word that suits it, where the sample has billions for every
total.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.ir.record import record

from .numbers import count_of, count_text, flop_of, flop_text, significant

SUMMARIZE = "Summarize the graph"
"""The question of stage 2."""
# patterns of `GraphSummary.text` in the answer of a model, of which MAX_CHARACTERS are read
_HEAD = re.compile(
    r"The graph contains (?P<nodes>.+?) nodes and (?P<edges>.+?) edges\. "
    r"The batch size is (?P<batch>[0-9]{1,9})\. "
    r"The graph has (?P<flop>.+?FLOPs), (?P<parameters>.+?) parameters, and (?P<mac>.+?) MACs\."
)
_LAYER = re.compile(
    r"Layer: (?P<kind>\w+), Implemented: (?P<count>.+?) times, FLOPs: (?P<flop>[^,\n]+), "
    r"MACs: (?P<mac>[^,\n]+), Parameters: (?P<parameters>[^,\n]+)"
)
TOTALS = ("nodes", "edges", "batch", "flop", "parameters", "mac")
"""Fields of the first lines of a summary, in their order."""
# fields of the line of a kind of layer, in their order
LAYER_FIELDS = ("count", "flop", "mac", "parameters")
MAX_CHARACTERS = 100_000
"""Maximum characters of an answer that are read."""


@record
class LayerSummary:
    """All layers of one kind.

    Args:
        kind: mnemonic of the operator.
        count: number of such layers.
        flop: floating-point operations of all of them.
        mac: multiply-accumulates of all of them.
        parameters: stored elements of all of them.
    """

    kind: str
    count: int
    flop: int
    mac: int
    parameters: int


@record
class GraphSummary:
    """Numbers of a graph at a batch size, as its summary has them.

    Args:
        nodes: number of operators.
        edges: number of tensors that one operator writes and another reads.
        batch: batch size.
        flop: floating-point operations; a multiply-accumulate is two.
        mac: multiply-accumulates.
        parameters: stored elements.
        layers: kinds of layers, those with the most FLOP first.
    """

    nodes: int
    edges: int
    batch: int
    flop: int
    mac: int
    parameters: int
    layers: tuple[LayerSummary, ...]

    def fields(self) -> dict[str, int]:
        """Return every number by name: ``nodes``, or ``conv.flop`` for a kind of layer."""
        named = {name: int(getattr(self, name)) for name in TOTALS}
        for layer in self.layers:
            for name in LAYER_FIELDS:
                named[f"{layer.kind}.{name}"] = int(getattr(layer, name))
        return named

    def text(self) -> str:
        """Return the summary in the words of the thesis, with numbers of three digits."""
        lines = [
            f"The graph contains {count_text(self.nodes)} nodes and {count_text(self.edges)} "
            f"edges. The batch size is {self.batch}. The graph has {flop_text(self.flop)}, "
            f"{count_text(self.parameters)} parameters, and {count_text(self.mac)} MACs.",
            *(["Layer Stats Summary:"] if self.layers else []),
        ]
        lines += [
            f"Layer: {layer.kind}, Implemented: {count_text(layer.count)} times, "
            f"FLOPs: {count_text(layer.flop)}, MACs: {count_text(layer.mac)}, "
            f"Parameters: {count_text(layer.parameters)}"
            for layer in self.layers
        ]
        return "\n".join(lines)


def node_counts(graph: ModelGraph, batch: float) -> dict[str, Array]:
    """Return FLOP, MACs and stored elements of every operator, each an array ``[nodes]``."""
    facts = graph.ops.at(batch)
    flop = 2 * facts["mac"] + facts["alu"] + facts["sfu"]
    return {"flop": flop, "mac": facts["mac"], "parameters": facts["weight_elements"]}


def summary(graph: ModelGraph, batch: int, *, kinds: int | None = None) -> GraphSummary:
    """Return the summary of a graph at a batch size.

    Args:
        graph: graph to describe.
        batch: batch size.
        kinds: maximum kinds of layers, those with the most FLOP; all by default.
    """
    counts = node_counts(graph, batch)
    names = np.array(graph.ops.ops)
    layers = []
    for kind in sorted(set(graph.ops.ops)):
        of_kind = names == kind
        sums = {name: round(float(column[of_kind].sum())) for name, column in counts.items()}
        layers.append(LayerSummary(kind, int(of_kind.sum()), **sums))
    # kinds with equal FLOP, as with none, are sorted by further keys, so that the order is fixed
    layers.sort(key=lambda layer: (-layer.flop, -layer.parameters, -layer.count, layer.kind))
    return GraphSummary(
        len(graph.ops),
        int(graph.ops.edges.shape[1]),
        batch,
        round(float(counts["flop"].sum())),
        round(float(counts["mac"].sum())),
        round(graph.ops.whole_at(batch)["parameters"]),
        tuple(layers[:kinds]),
    )


def as_text(graph: ModelGraph, batch: int, *, kinds: int | None = None) -> str:
    """Return the summary of a graph as text, the high-level text of Table 7.2."""
    return summary(graph, batch, kinds=kinds).text()


def fields_of(text: str) -> dict[str, int]:
    """Return the numbers in a summary as text, by the names of `GraphSummary.fields`.

    A malformed or duplicate field is left out, as a missing one: the model did not answer it.
    """
    answered: dict[str, int | None] = {}
    text = text[:MAX_CHARACTERS]
    head = _HEAD.search(text)
    if head is not None:
        answered |= {name: _number(name, words) for name, words in head.groupdict().items()}
    repeated: set[str] = set()
    for line in _LAYER.finditer(text):
        for name in LAYER_FIELDS:
            key = f"{line['kind']}.{name}"
            # with two lines of a kind it is unclear which is the answer
            repeated |= {key} & answered.keys()
            answered[key] = count_of(line[name].strip())
    return {n: v for n, v in answered.items() if v is not None and n not in repeated}


def _number(name: str, words: str) -> int | None:
    """Return the number of a field from its text: FLOP have a unit, all others are counts."""
    return flop_of(words) if name == "flop" else count_of(words)


def as_stated(fields: Mapping[str, int]) -> dict[str, int]:
    """Return the fields as a summary writes them: with three digits, the batch size exactly."""
    return {n: v if n == "batch" else significant(v) for n, v in fields.items()}


def exact_fields(expected: Mapping[str, int], answer: str) -> dict[str, bool]:
    """Return True for each expected field whose rounded value is in an answer."""
    answered = fields_of(answer)
    return {n: answered.get(n) == v for n, v in as_stated(expected).items()}


ATTRIBUTES = ("kernel", "stride", "dilation", "pad")
"""Attributes of an operator with a window, each with a value for height and one for width."""


def as_json(graph: ModelGraph, batch: int, *, nodes: int | None = None) -> str:
    """Return the semi-structured text of Table 7.2: operators with inputs, in compact JSON.

    Args:
        graph: graph to describe.
        batch: batch size.
        nodes: number of first operators that are listed; all by default.
    """
    listed = list(_nodes(graph, batch))
    return json.dumps({"batch": batch, "nodes": listed[:nodes]}, separators=(",", ":"))


def _nodes(graph: ModelGraph, batch: int) -> Iterator[dict[str, Any]]:
    """Yield the entry of each operator in JSON, in the order of the graph."""
    facts, counts = graph.ops.at(batch), node_counts(graph, batch)
    # positions of the operators that each operator reads from
    sources: dict[int, list[int]] = {}
    for source, target in graph.ops.edges.T.tolist():
        sources.setdefault(target, []).append(source)
    for i, op in enumerate(graph.ops.ops):
        node: dict[str, Any] = {"id": i, "op": op, "from": sources.get(i, [])}
        for side, rank in (("in", "rank_in"), ("out", "rank_out")):
            # tables of operators have columns for six axes
            axes = min(round(float(facts[rank][i])), 6)
            node[side] = [round(float(facts[f"{side}_{axis}"][i])) for axis in range(axes)]
        if facts["kernel_h"][i] > 0:  # convolutions and pooling have a window
            for name in ATTRIBUTES:
                node[name] = [round(float(facts[f"{name}_{side}"][i])) for side in "hw"]
            node["groups"] = round(float(facts["groups"][i]))
        node |= {n: round(float(c[i])) for n, c in counts.items() if c[i] > 0}
        yield node


def hardware_text(row: GraphRow) -> str:
    """Return machine, data sheet, precision, mode and batch size of a row, in words."""
    machine, setting = sheet(row.target), row.setting
    rate = machine.matrix_flop_per_s(setting.precision.dtype)
    return (
        f"{row.target}: {rate / 1e12:.1f} TFLOP/s {setting.precision.value}, "
        f"{machine.device_bytes_per_s / 1e9:.0f} GB/s, "
        f"{machine.l2_bytes / 2**20:.0f} MiB L2 cache, "
        f"{machine.sm_count} multiprocessors, {machine.clock_hz / 1e9:.2f} GHz; "
        f"PyTorch {setting.version[0]}.{setting.version[1]} {setting.mode.value}, "
        f"batch {row.batch}"
    )


def latency_question(row: GraphRow) -> str:
    """Return the question of stage 3 (Section 7.4.2), which names machine, precision and mode."""
    setting = row.setting
    return (
        f"Predict the inference time of DL model, batch {row.batch}, on {row.target}, "
        f"{setting.precision.value}, {setting.mode.value}"
    )
