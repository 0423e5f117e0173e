"""NAS-Bench-101's search space: three stacks of three equal cells, each a small graph.

Source: Ying et al., "NAS-Bench-101", ICML 2019, section 2 and supplement S2: a 3×3 convolution
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
"""Number of stacks, and of cells in each."""
IMAGE = (3, 32, 32)
"""Image of CIFAR-10."""
CLASSES = 10
"""Classes of CIFAR-10."""
MOST_VERTICES = 7
"""Maximum vertices of a cell, of which two are input and output."""
INPUT, OUTPUT, CONV3, CONV1, POOL = -1, -2, 0, 1, 2
"""Labels of vertices in the tables."""

# adjacency of a cell: 1 in row i and column j for an edge from vertex i to vertex j
Matrix = tuple[tuple[int, ...], ...]


def parse(adjacency: str, labels: str) -> tuple[Matrix, tuple[int, ...]]:
    """Return the edges (upper triangular) and the labels of a cell, which the table has as JSON.

    Raises:
        ArchitectureError: the texts are no cell of NAS-Bench-101.
    """
    try:
        matrix = tuple(tuple(map(int, row)) for row in json.loads(adjacency))
        names = tuple(map(int, json.loads(labels)))
    except (ValueError, TypeError):
        matrix, names = (), ()
    count = len(names)
    # edges lead forward: no entry on or below the diagonal
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
    """Return the network of a cell, for images of CIFAR-10.

    Raises:
        ArchitectureError: the texts are no cell, or one whose input does not reach its output.
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
    """Return the channels of every vertex of a cell (supplement S2, "channel counts").

    Vertices with an edge to the output divide its channels among them, and the first ones have one
    more if that leaves a remainder. Any other vertex has the maximum of the vertices that read it.
    """
    count = len(matrix)
    channels = [0] * count
    channels[0], channels[-1] = inputs, outputs
    if count == 2:  # input and output alone
        return channels
    # number of vertices with an edge to the output
    ends = sum(matrix[i][-1] for i in range(1, count))
    share, extra = divmod(outputs, max(ends, 1))
    for i in range(1, count - 1):
        if matrix[i][-1]:
            channels[i] = share + (extra > 0)
            extra -= extra > 0
    # backwards, as a vertex depends on those after it
    for i in range(count - 3, 0, -1):
        if not matrix[i][-1]:
            channels[i] = max(channels[j] for j in range(i + 1, count - 1) if matrix[i][j])
    return channels


def _unit(b: NetworkBuilder, x: Value, channels: int, window: int) -> Value:
    """Append a convolution with batch normalisation and ReLU."""
    return b.relu(b.batch_norm(b.conv(x, channels, window)))


def _cell(
    b: NetworkBuilder, x: Value, outputs: int, matrix: Matrix, names: tuple[int, ...]
) -> Value:
    """Append a cell, and return its output: the vertices with an edge to the output, joined."""
    count = len(names)
    channels = vertex_channels(b.channels(x), outputs, matrix)
    values = [x]
    ends: list[Value] = []
    for t in range(1, count - 1):
        # a vertex reads the sum of its sources
        terms = [_cut(b, values[s], channels[t]) for s in range(1, t) if matrix[s][t]]
        if matrix[0][t]:
            terms.append(_unit(b, x, channels[t], 1))
        total = b.add(*terms)
        match names[t]:
            case 0:  # CONV3
                value = _unit(b, total, channels[t], 3)
            case 1:  # CONV1
                value = _unit(b, total, channels[t], 1)
            case _:  # POOL
                value = b.max_pool(total, 3, 1, 1)
        values.append(value)
        if matrix[t][-1]:
            ends.append(value)
    # the input alone has an edge to the output
    if not ends:
        return _unit(b, x, outputs, 1)
    joined = ends[0] if len(ends) == 1 else b.concat(ends)
    return b.add(joined, _unit(b, x, outputs, 1)) if matrix[0][-1] else joined


def _cut(b: NetworkBuilder, x: Value, channels: int) -> Value:
    """Return the first channels; sources have as many or one more."""
    return x if b.channels(x) == channels else b.first_channels(x, channels)
