"""Text that a small decoder learns from: graphs in words, in JSON, and questions with answers.

Stage 0 trains on it; stages 1 and 2 take the batch of a graph from here too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.machine import list_machines

from .counts import KINDS
from .descriptions import SUMMARISE, as_json, as_text, latency_question
from .lessons import drawn_setting, drawn_summary
from .numbers import latency_text

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Batches that texts speak of: powers of two, as in measurements."""
JSON_NODES = 16
"""Nodes of a graph that are written as JSON, a run of them."""
LEAST_S, MOST_S = 1e-4, 10.0
"""Ends of drawn latencies: 0.1 ms to 10 s, evenly in their logarithm."""
LATENCIES = 24
"""Questions on latencies in one text."""


def drawn_batch(name: str) -> int:
    """Return the batch that a graph is described at, the same in every stage and process."""
    return random.Random(f"0 {name}").choice(BATCHES)


def text_of(graph: ModelGraph, seed: int) -> str:
    """Return one document on a graph: its summary, its first operators as JSON, or numbers.

    Latencies are drawn, not measured: what is learned is how numbers are written.
    """
    draw = random.Random(f"{seed} {graph.name} text")
    batch = draw.choice(BATCHES)
    match draw.randrange(4):
        case 0:
            return as_json(graph, batch, nodes=draw.randint(2, JSON_NODES))
        case 1:
            return "\n".join(_latency(draw) for _ in range(LATENCIES))
        case 2:
            return f"{SUMMARISE}\n{as_text(graph, batch, kinds=KINDS)}"
        case _:
            # the same summary twice: numbers are copied from what stands before
            counts = drawn_summary(draw, KINDS).text()
            return f"{counts}\n{SUMMARISE}\n{counts}"


@cache
def machines() -> tuple[str, ...]:
    """Return the names that questions are about."""
    return tuple(listing.name for listing in list_machines())


def _latency(draw: random.Random) -> str:
    """Return a drawn question on a latency, and a drawn answer."""
    setting = drawn_setting(draw)
    time_s = LEAST_S * (MOST_S / LEAST_S) ** draw.random()
    row = GraphRow("", "", setting, draw.choice(machines()), draw.choice(BATCHES), time_s)
    return f" {latency_question(row)}\n{latency_text(time_s)}"


def corpus(graphs: Mapping[str, ModelGraph], names: list[str], seed: int) -> list[str]:
    """Return two documents on every graph."""
    return [text_of(graphs[name], 2 * seed + i) for name in names for i in range(2)]
