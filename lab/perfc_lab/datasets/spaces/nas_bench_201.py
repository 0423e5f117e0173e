"""NAS-Bench-201's search space: 15 equal cells of four nodes, with an operator between each two.

Source: Dong and Yang, "NAS-Bench-201", ICLR 2020, section 2.1 and figure 1: a 3×3 convolution to
16 channels, three stages of five cells with 16, 32 and 64 channels, a residual block of stride 2
between stages, batch normalisation, ReLU, mean of each map, a dense layer. Operators whose result
is not used run as well, and sums begin with 0: by the measured times every edge costs an addition,
and the operator "none" costs a product.
"""

from __future__ import annotations

import re

from perfc.ir.graph import Module, Value

from .builder import ArchitectureError, NetworkBuilder

CHANNELS = 16
"""Channels of the first stage; each further one has twice as many."""
CELLS = 5
"""Equal cells of each of three stages."""
NODES = 4
"""Nodes of a cell."""
IMAGE = (3, 32, 32)
"""Image of CIFAR-10."""
CLASSES = 10
"""Classes of CIFAR-10."""
# operators of an edge by their names in the text of an architecture
OPERATORS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")

Cell = tuple[tuple[tuple[str, int], ...], ...]
"""One entry per node after the first: pairs of operator and index of the node it reads."""


def parse(arch: str) -> Cell:
    """Return the cell that an architecture string describes.

    Raises:
        ArchitectureError: the string is no cell of NAS-Bench-201.

    >>> parse("|none~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|")[0]
    (('none', 0),)
    """
    nodes: list[tuple[tuple[str, int], ...]] = []
    for text in arch.split("+"):
        # an edge ends with the bar that the next one begins with
        edges = re.findall(r"\|([a-z_0-9]+)~(\d)(?=\|)", text)
        nodes.append(tuple((name, int(source)) for name, source in edges))
    # each of three nodes reads all nodes before it, in their order
    sizes = [len(edges) for edges in nodes]
    sources = [[source for _, source in edges] for edges in nodes]
    is_listed = all(name in OPERATORS for edges in nodes for name, _ in edges)
    if sizes != [1, 2, 3] or sources != [[0], [0, 1], [0, 1, 2]] or not is_listed:
        raise ArchitectureError("no cell of NAS-Bench-201", where=arch[:120])
    return tuple(nodes)


def network(arch: str) -> Module:
    """Return the network of an architecture string, for CIFAR images.

    Raises:
        ArchitectureError: the string is no cell of NAS-Bench-201.
    """
    cell = parse(arch)
    b = NetworkBuilder(arch, IMAGE)
    x = b.batch_norm(b.conv(b.x, CHANNELS, 3))
    for stage in range(3):
        if stage:
            x = _reduced(b, x)
        for _ in range(CELLS):
            x = _cell(b, x, cell)
    return b.module(b.classify(b.relu(b.batch_norm(x)), CLASSES))


def _cell(b: NetworkBuilder, x: Value, cell: Cell) -> Value:
    """Append a cell, and return its last node; each node is the sum of its edges."""
    nodes = [x]
    for edges in cell:
        terms = [_edge(b, nodes[source], name) for name, source in edges]
        nodes.append(b.add(b.plus_zero(terms[0]), *terms[1:]))
    return nodes[-1]


def _edge(b: NetworkBuilder, x: Value, name: str) -> Value:
    """Append the operator of an edge; a convolution gets ReLU before and normalisation after."""
    match name:
        case "none":
            return b.zero(x)
        case "skip_connect":
            return x
        case "avg_pool_3x3":
            return b.average_pool(x, 3, 1, 1)
        case _:
            window = 3 if name == "nor_conv_3x3" else 1
            return b.batch_norm(b.conv(b.relu(x), b.channels(x), window))


def _reduced(b: NetworkBuilder, x: Value) -> Value:
    """Append the residual block between stages: half the height and width, twice the channels."""
    channels = 2 * b.channels(x)
    first = b.batch_norm(b.conv(b.relu(x), channels, 3, 2))
    second = b.batch_norm(b.conv(b.relu(first), channels, 3))
    return b.add(b.conv(b.average_pool(x, 2, 2), channels), second)
