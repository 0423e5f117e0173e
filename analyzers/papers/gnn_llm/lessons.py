"""What stages 0 and 2 may practise on beside graphs: drawn summaries, rooflines of data sheets.

The thesis has no such pairs. Ours stand beside its summaries, and only where a graph is read with
a token for each number. A drawn summary is of no graph: it says every kind of layer, and numbers
that do not follow from each other, so that what is learned is to say what the tokens hold. With
rooflines, few rows of a new machine need not teach what a latency is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from perfc.machine import list_machines

from ...graph.datasets import sheet
from ...graph.model_graph import ModelGraph
from ...graph.rows import GraphRow
from ...steps.setting import Precision, Setting
from ..networks.node_features import OTHER
from ..operators import VOCABULARY
from .descriptions import GraphSummary, LayerSummary, QuestionAnswer, latency_question
from .numbers import latency_text

TRAINING_PASSES = 3.0
"""Forward, and gradients by inputs and by weights."""
STORED_BITS = 32
"""Of an element of the graphs that nobody measured."""
CUDA = "sm_"
NAMES = tuple(name for name in VOCABULARY if name != OTHER)
SHARE_OF_NONE = 0.3


def drawn_summary(draw: random.Random, most: int) -> GraphSummary:
    """Numbers and kinds of layer that are drawn, by all magnitudes alike.

    Args:
        draw: of the numbers.
        most: kinds of layer.
    """
    kinds = draw.sample(NAMES, min(draw.choice((1, 1, 2, most)), most))
    layers = tuple(
        LayerSummary(kind, _number(draw, 3), _some(draw, 13), _some(draw, 13), _some(draw, 9))
        for kind in kinds
    )
    return GraphSummary(
        _number(draw, 4), _number(draw, 4), 2 ** draw.randint(0, 10), _number(draw, 15),
        _number(draw, 10), _number(draw, 15), layers,
    )  # fmt: skip


def _number(draw: random.Random, digits: int) -> int:
    """Of at most so many digits."""
    return max(int(10 ** (digits * draw.random())), 1)


def _some(draw: random.Random, digits: int) -> int:
    """Many kinds of layer have none."""
    return 0 if draw.random() < SHARE_OF_NONE else _number(draw, digits)


@cache
def graphics_processors() -> tuple[str, ...]:
    """Names of the machines that lessons are about."""
    names = (listing.name for listing in list_machines())
    return tuple(name for name in names if sheet(name).machine.arch.startswith(CUDA))


def drawn_setting(draw: random.Random) -> Setting:
    """A way of running."""
    return Setting(
        draw.choice(list(Precision)), draw.random() < 0.3, draw.random() < 0.3, (2, 9),
        draw.random() < 0.2,
    )  # fmt: skip


def roofline_s(graph: ModelGraph, row: GraphRow) -> float:
    """Sum over operators of the longest of arithmetic, traffic and, where eager, the launch.

    Williams et al., "Roofline", Communications of the ACM 2009, at rates that data sheets state.
    """
    facts, machine, precision = graph.ops.at(row.batch), sheet(row.target), row.setting.precision
    rate = machine.matrix_flop_per_s(precision.dtype)
    nbytes = (facts["read_bytes"] + facts["write_bytes"]) * precision.bits / STORED_BITS
    launch_s = 0.0 if row.setting.compiled else machine.launch_s
    longest = np.maximum(2 * facts["mac"] / rate, nbytes / machine.device_bytes_per_s)
    passes = TRAINING_PASSES if row.setting.training else 1.0
    return float(np.maximum(longest, launch_s).sum()) * passes


def lessons(graph: ModelGraph, batch: int, most: int) -> Iterator[QuestionAnswer]:
    """Questions of stage 3 on drawn machines and ways of running, answered by rooflines."""
    draw = random.Random(f"{graph.name} {batch} lessons")
    for _ in range(most):
        target = draw.choice(graphics_processors())
        row = GraphRow("", "", drawn_setting(draw), target, batch, 0.0)
        told = replace(row, time_s=roofline_s(graph, row))
        if told.time_s > 0:
            yield QuestionAnswer(f" {latency_question(told)}", latency_text(told.time_s))
