"""Latencies that nobody measured, which stage 2 may practise on: rooflines of data sheets.

The thesis has no such pairs. Ours stand beside its summaries, and only where a graph is read with
a token for each number: so few rows of a new machine need not teach what a latency is.
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
from .descriptions import QuestionAnswer, latency_question
from .numbers import latency_text

TRAINING_PASSES = 3.0
"""Forward, and gradients by inputs and by weights."""
STORED_BITS = 32
"""Of an element of the graphs that nobody measured."""
CUDA = "sm_"


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
