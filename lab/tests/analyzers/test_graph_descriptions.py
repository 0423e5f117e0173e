"""Graphs in words and back; numbers that language models write."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perfc_lab.papers.gnn_llm.descriptions import (
    GraphSummary,
    LayerSummary,
    as_json,
    as_stated,
    as_text,
    exact_fields,
    fields_of,
    hardware_text,
    latency_question,
    summary,
)
from perfc_lab.papers.gnn_llm.numbers import (
    count_of,
    count_text,
    flop_of,
    flop_text,
    latencies,
    latency_of,
    latency_text,
    significant,
)

from .graph_rows import measurements

COUNTS = st.integers(0, 10**18)
KINDS = st.from_regex(r"[a-z][a-z_0-9]{0,12}", fullmatch=True)
LAYERS = st.lists(
    st.builds(LayerSummary, KINDS, COUNTS, COUNTS, COUNTS, COUNTS),
    unique_by=lambda layer: layer.kind,
    max_size=6,
)
SUMMARIES = st.builds(
    GraphSummary,
    COUNTS,
    COUNTS,
    st.integers(1, 9999),
    COUNTS,
    COUNTS,
    COUNTS,
    LAYERS.map(tuple),
)


@given(SUMMARIES)
def test_a_summary_is_read_back_to_the_digits_it_states(stated: GraphSummary) -> None:
    assert fields_of(stated.text()) == as_stated(stated.fields())
    assert all(exact_fields(stated.fields(), stated.text()).values())


@given(COUNTS)
@example(999_499)
@example(999_500)
@example(1_000)
def test_counts_are_read_back(number: int) -> None:
    assert count_of(count_text(number)) == flop_of(flop_text(number)) == significant(number)
    assert abs(significant(number) - number) * 200 <= number


@given(st.floats(1e-9, 9e5))
def test_latencies_are_read_back_within_their_digits(time_s: float) -> None:
    read = latency_of(latency_text(time_s))
    assert read is not None
    assert math.isclose(read, time_s, rel_tol=6e-4)


@given(st.text(max_size=60))
def test_no_answer_is_guessed(text: str) -> None:
    read = latency_of(text)
    assert read is None or read > 0
    assert all(value >= 0 for value in fields_of(text).values())


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "12.35",
        "12.35 s",
        "-1 ms",
        "0 ms",
        "nan ms",
        "inf ms",
        "1 ms 2 ms",
        "12.3.5 ms",
        "about 12 ms",
        "1e3 ms",
        "1234567890 ms",
        "٣ ms",
    ],
)
def test_malformed_latencies_are_failures(answer: str) -> None:
    assert latency_of(answer) is None
    read = latencies([answer, " 12.35 ms.\n"])
    assert (read.failures, read.failure_rate) == (1, 0.5)
    assert np.isnan(read.time_s[0])
    assert read.time_s[1] == pytest.approx(0.01235)


def test_a_field_stated_twice_or_wrongly_is_not_answered() -> None:
    line = "Layer: conv, Implemented: 2 times, FLOPs: 3 million, MACs: 1.5 million, Parameters: 7"
    assert fields_of(line)["conv.mac"] == 1_500_000
    assert fields_of(f"{line}\n{line}") == {}
    assert fields_of(line.replace("3 million", "many")).keys() == {
        "conv.count",
        "conv.mac",
        "conv.parameters",
    }
    assert exact_fields({"conv.flop": 3_001_000, "edges": 4}, line) == {
        "conv.flop": True,
        "edges": False,
    }


def test_a_graph_is_summed_as_it_is() -> None:
    graph = next(iter(measurements().graphs.values()))
    stated = summary(graph, 64)
    facts = graph.ops.at(64)
    assert stated.nodes == len(graph.ops) == sum(layer.count for layer in stated.layers)
    assert stated.edges == graph.ops.edges.shape[1]
    assert stated.mac == facts["mac"].sum() == sum(layer.mac for layer in stated.layers)
    assert stated.flop >= 2 * stated.mac
    flops = [layer.flop for layer in stated.layers]
    assert flops == sorted(flops, reverse=True)
    assert summary(graph, 1).mac * 64 == stated.mac
    assert len(fields_of(as_text(graph, 64, kinds=2))) == 6 + 2 * 4


def test_json_holds_operators_and_what_they_read() -> None:
    graph = next(iter(measurements().graphs.values()))
    listed = json.loads(as_json(graph, 8))["nodes"]
    assert [node["op"] for node in listed] == list(graph.ops.ops)
    edges = {(source, node["id"]) for node in listed for source in node["from"]}
    assert edges == set(map(tuple, graph.ops.edges.T.tolist()))
    assert sum(node.get("mac", 0) for node in listed) == summary(graph, 8).mac
    convolution = next(node for node in listed if node["op"] == "conv")
    assert convolution["in"][0] == convolution["out"][0] == 8
    assert len(convolution["kernel"]) == 2
    assert len(json.loads(as_json(graph, 8, nodes=3))["nodes"]) == 3


def test_a_machine_is_stated_by_its_sheet() -> None:
    row = measurements().rows[0]
    assert hardware_text(row).startswith("gtx1080ti: ")
    assert "batch 1" in hardware_text(row)
    assert "batch 1, on gtx1080ti, f32, eager" in latency_question(row)
