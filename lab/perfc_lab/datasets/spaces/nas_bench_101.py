"""NAS-Bench-101: three stacks of three equal cells, a cell any graph of few vertices.

Source: Ying et al., "NAS-Bench-101", ICML 2019, section 2 and its supplement S2: a 3×3 convolution
to 128 channels; between stacks a 2×2 max pooling, and twice the channels; every convolution is
followed by batch normalisation and ReLU. Vertices that end in the output are concatenated and
share its channels; an input of the cell reaches a vertex through a 1×1 convolution.
"""

from __future__ import annotations

import json

from perfc.ir.graph import Module, Value

from .builder import ArchitectureError, NetworkBuilder

CHANNELS = 128
"""Channels of the first stack; each further one has twice as many."""
STACKS = CELLS = 3
IMAGE = (3, 32, 32)
"""Image and classes of CIFAR-10."""
CLASSES = 10
MOST_VERTICES = 7
"""Maximum vertices of a cell, of which two are input and output."""
INPUT, OUTPUT, CONV3, CONV1, POOL = -1, -2, 0, 1, 2
"""Labels of vertices in the tables."""

# adjacency of a cell, a row a vertex
Matrix = tuple[tuple[int, ...], ...]


def parse(adjacency: str, labels: str) -> tuple[Matrix, tuple[int, ...]]:
    """Return the edges (upper triangular) and operators of a cell, both as JSON.

    Raises:
        ArchitectureError: they are none.
    """
    try:
        matrix = tuple(tuple(map(int, row)) for row in json.loads(adjacency))
        names = tuple(map(int, json.loads(labels)))
    except (ValueError, TypeError):
        matrix, names = (), ()
    count = len(names)
    # nothing on or below the diagonal
    forward = all(not row[j] for i, row in enumerate(matrix) for j in range(min(i + 1, len(row))))
    if (
        not 2 <= count <= MOST_VERTICES
        or len(matrix) != count
        or any(len(row) != count for row in matrix)
        or not forward
        or names[0] != INPUT
        or names[-1] != OUTPUT
        or any(n not in (CONV3, CONV1, POOL) for n in names[1:-1])
    ):
        raise ArchitectureError("no cell of NAS-Bench-101", where=f"{adjacency} {labels}"[:120])
    return matrix, names


def network(adjacency: str, labels: str) -> Module:
    """Return the network of a cell, for images of CIFAR.

    Raises:
        ArchitectureError: it is none.
    """
    matrix, names = pruned(*parse(adjacency, labels))
    b = NetworkBuilder(f"{adjacency} {labels}", IMAGE)
    channels = CHANNELS
    x = _unit(b, b.x, channels, 3)
    for stack in range(STACKS):
        if stack:
            x = b.max_pool(x, 2, 2)
            channels *= 2
        for _ in range(CELLS):
            x = _cell(b, x, channels, matrix, names)
    return b.module(b.classify(x, CLASSES))


def pruned(matrix: Matrix, names: tuple[int, ...]) -> tuple[Matrix, tuple[int, ...]]:
    """Return a cell without vertices that no path from the input to the output visits."""
    count = len(names)
    # vertices that the input reaches, and those that reach the output; edges only lead forward
    after, before = {0}, {count - 1}
    for i in range(count):
        if i in after:
            after |= {j for j in range(count) if matrix[i][j]}
    for i in reversed(range(count)):
        if any(matrix[i][j] and j in before for j in range(count)):
            before.add(i)
    reached = [i for i in range(count) if i in after & before]
    if not {0, count - 1} <= set(reached):
        raise ArchitectureError("a cell whose input does not reach its output", where=str(names))
    return tuple(tuple(matrix[i][j] for j in reached) for i in reached), tuple(
        names[i] for i in reached
    )


def vertex_channels(inputs: int, outputs: int, matrix: Matrix) -> list[int]:
    """Return the channels of every vertex (its supplement S2, "channel counts").

    Vertices that the output reads share its channels, the first ones get one more where they do
    not divide; any other has the most of those that read it.
    """
    count = len(matrix)
    channels = [0] * count
    channels[0], channels[-1] = inputs, outputs
    if count == 2:
        return channels
    ends = sum(matrix[i][-1] for i in range(1, count))
    share, extra = divmod(outputs, max(ends, 1))
    for i in range(1, count - 1):
        if matrix[i][-1]:
            channels[i] = share + (extra > 0)
            extra -= extra > 0
    for i in range(count - 3, 0, -1):
        if not matrix[i][-1]:
            channels[i] = max(channels[j] for j in range(i + 1, count - 1) if matrix[i][j])
    return channels


def _unit(b: NetworkBuilder, x: Value, channels: int, window: int) -> Value:
    return b.relu(b.batch_norm(b.conv(x, channels, window)))


def _cell(
    b: NetworkBuilder, x: Value, outputs: int, matrix: Matrix, names: tuple[int, ...]
) -> Value:
    """Return the output of a cell: its vertices in order, those that end in the output joined."""
    count = len(names)
    channels = vertex_channels(b.channels(x), outputs, matrix)
    values = [x]
    ends: list[Value] = []
    for t in range(1, count - 1):
        terms = [_cut(b, values[s], channels[t]) for s in range(1, t) if matrix[s][t]]
        if matrix[0][t]:
            terms.append(_unit(b, x, channels[t], 1))
        total = b.add(*terms)
        match names[t]:
            case 0:  # CONV3
                value = _unit(b, total, channels[t], 3)
            case 1:  # CONV1
                value = _unit(b, total, channels[t], 1)
            case _:
                value = b.max_pool(total, 3, 1, 1)
        values.append(value)
        if matrix[t][-1]:
            ends.append(value)
    if not ends:
        return _unit(b, x, outputs, 1)
    joined = ends[0] if len(ends) == 1 else b.concat(ends)
    return b.add(joined, _unit(b, x, outputs, 1)) if matrix[0][-1] else joined


def _cut(b: NetworkBuilder, x: Value, channels: int) -> Value:
    """Return the first channels; at most one less than there are."""
    return x if b.channels(x) == channels else b.first_channels(x, channels)
