"""Graphs in words: the requested summary, the high-level text, JSON (Section 7.4.1).

The summary is the answer of stage 2 and the high-level text at once: both state the totals and a
line for each kind of layer. It differs from the sample of Section 7.7.3 in one point: numbers of
three digits take the word that suits them, where the sample has billions for every total.
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

SUMMARISE = "Summarise the graph"
"""The question of stage 2."""
# answers of the model in the words of `GraphSummary.text`; lengths are bounded by MAX_CHARACTERS
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
"""Fields of the head, in the order of a summary."""
# fields of a line, in its order
LAYER_FIELDS = ("count", "flop", "mac", "parameters")
MAX_CHARACTERS = 100_000
"""Length of an answer that is read."""


@record
class LayerSummary:
    """All layers of one kind.

    Args:
        kind: mnemonic of the operator.
        count: number of descriptions.
        flop: number of FLOPs of all of them at the batch.
        mac: number of MACs of all of them at the batch.
        parameters: elements that they have stored.
    """

    kind: str
    count: int
    flop: int
    mac: int
    parameters: int


@record
class GraphSummary:
    """Numbers of a graph at a batch in its summary.

    Args:
        nodes: operators.
        edges: tensors that one operator hands to another.
        batch: images.
        flop: two for each multiply-accumulate, and those of other operations.
        mac: multiply-accumulates.
        parameters: stored elements.
        layers: by FLOP, the most first.
    """

    nodes: int
    edges: int
    batch: int
    flop: int
    mac: int
    parameters: int
    layers: tuple[LayerSummary, ...]

    def fields(self) -> dict[str, int]:
        """Return every number by name: ``nodes``, ``conv.flop``."""
        named = {name: int(getattr(self, name)) for name in TOTALS}
        for layer in self.layers:
            for name in LAYER_FIELDS:
                named[f"{layer.kind}.{name}"] = int(getattr(layer, name))
        return named

    def text(self) -> str:
        """Return the description in the words of the thesis, with numbers of three digits."""
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
    """Return FLOP, MACs and stored elements of every operator, ``[nodes]`` each."""
    facts = graph.ops.at(batch)
    flop = 2 * facts["mac"] + facts["alu"] + facts["sfu"]
    return {"flop": flop, "mac": facts["mac"], "parameters": facts["weight_elements"]}


def summary(graph: ModelGraph, batch: int, *, kinds: int | None = None) -> GraphSummary:
    """Return the counted summary of a graph at a batch.

    Args:
        graph: operators and what they count.
        batch: images.
        kinds: number of kinds of layers that get a line, those of most FLOP; all by default.
    """
    counts = node_counts(graph, batch)
    names = np.array(graph.ops.ops)
    layers = []
    for kind in sorted(set(graph.ops.ops)):
        of_kind = names == kind
        sums = {name: round(float(column[of_kind].sum())) for name, column in counts.items()}
        layers.append(LayerSummary(kind, int(of_kind.sum()), **sums))
    # further keys decide between layers without FLOP, so that the order is always the same
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
    """Return the high-level text of Table 7.2."""
    return summary(graph, batch, kinds=kinds).text()


def fields_of(text: str) -> dict[str, int]:
    """Return the numbers of a summary in words, by the names of `GraphSummary.fields`.

    A field that is malformed, missing or duplicate is left out: it was not answered.
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
            # a kind with two lines has no one answer
            repeated |= {key} & answered.keys()
            answered[key] = count_of(line[name].strip())
    return {n: v for n, v in answered.items() if v is not None and n not in repeated}


def _number(name: str, words: str) -> int | None:
    """Return the number of a field: FLOP have a unit, all others are counts."""
    return flop_of(words) if name == "flop" else count_of(words)


def as_stated(fields: Mapping[str, int]) -> dict[str, int]:
    """Return the fields rounded as in a summary: to three significant digits, the batch exactly."""
    return {n: v if n == "batch" else significant(v) for n, v in fields.items()}


def exact_fields(expected: Mapping[str, int], answer: str) -> dict[str, bool]:
    """Return for each expected field whether an answer has its rounded value."""
    answered = fields_of(answer)
    return {n: answered.get(n) == v for n, v in as_stated(expected).items()}


ATTRIBUTES = ("kernel", "stride", "dilation", "pad")
"""Attributes of an operator with a window, each in two directions."""


def as_json(graph: ModelGraph, batch: int, *, nodes: int | None = None) -> str:
    """Return the semi-structured text of Table 7.2: operators with inputs, in compact JSON.

    Args:
        graph: operators in order.
        batch: images.
        nodes: that are listed, the first ones; all by default.
    """
    listed = list(_nodes(graph, batch))
    return json.dumps({"batch": batch, "nodes": listed[:nodes]}, separators=(",", ":"))


def _nodes(graph: ModelGraph, batch: int) -> Iterator[dict[str, Any]]:
    """Yield the mapping of each operator, in the order of the graph."""
    facts, counts = graph.ops.at(batch), node_counts(graph, batch)
    # operators that each one reads from, by position
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
    """Return machine, data sheet, precision, way of running and batch of a row, in words."""
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
