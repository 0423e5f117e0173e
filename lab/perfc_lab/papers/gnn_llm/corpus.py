"""Texts that the small decoder learns from in stage 0: graphs in words and in JSON, and questions.

Stages 1 and 2 also take the batch size of a graph from here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.machine import list_machines

from .counts import KINDS
from .descriptions import SUMMARIZE, as_json, as_text, latency_question
from .lessons import drawn_setting, drawn_summary
from .numbers import latency_text

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Batch sizes in texts: powers of two, as in measurements."""
JSON_NODES = 16
"""Maximum consecutive nodes of a graph in a text in JSON."""
LEAST_S, MOST_S = 1e-4, 10.0
"""Range of random latencies, 0.1 ms to 10 s; their logarithms are uniform."""
LATENCIES = 24
"""Number of questions on latencies in a text of such questions."""


def drawn_batch(name: str) -> int:
    """Return the batch size that a graph is described at, the same in every stage and process."""
    return random.Random(f"0 {name}").choice(BATCHES)


def text_of(graph: ModelGraph, seed: int) -> str:
    """Return one text: a graph as JSON or in words, questions on latencies, or a random summary.

    Latencies are random, not measured: the decoder learns how numbers are written.
    """
    draw = random.Random(f"{seed} {graph.name} text")
    batch = draw.choice(BATCHES)
    match draw.randrange(4):
        case 0:
            return as_json(graph, batch, nodes=draw.randint(2, JSON_NODES))
        case 1:
            return "\n".join(_latency(draw) for _ in range(LATENCIES))
        case 2:
            return f"{SUMMARIZE}\n{as_text(graph, batch, kinds=KINDS)}"
        case _:
            # the same summary twice, so that the decoder learns to copy numbers from the text
            # before
            counts = drawn_summary(draw, KINDS).text()
            return f"{counts}\n{SUMMARIZE}\n{counts}"


@cache
def machines() -> tuple[str, ...]:
    """Return the names of machines in questions."""
    return tuple(listing.name for listing in list_machines())


def _latency(draw: random.Random) -> str:
    """Return a question on a latency with a random setting, and a random answer."""
    setting = drawn_setting(draw)
    time_s = LEAST_S * (MOST_S / LEAST_S) ** draw.random()
    row = GraphRow("", "", setting, draw.choice(machines()), draw.choice(BATCHES), time_s)
    return f" {latency_question(row)}\n{latency_text(time_s)}"


def corpus(graphs: Mapping[str, ModelGraph], names: list[str], seed: int) -> list[str]:
    """Return two texts for every graph."""
    return [text_of(graphs[name], 2 * seed + i) for name in names for i in range(2)]
