"""Stored copies of the table of an embedding: the head that a converter wrote a second time.

The matrices are not read as a whole. A few elements at the same places are enough to distinguish a
copy, also a transposed one, from a different matrix of the same extents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from perfc.ir.tensors.types import BY_ONNX

from ..reading.external import opened, read_part
from ..reading.proto import ProtoGraph, ProtoTensor

SAMPLES = 48
"""Elements compared: trained ones agree in a few by chance, never in all."""
STEP = 0x9E3779B1
"""Distance of the elements, prime to any extent but its multiples; 2^32 over the golden ratio."""
MOST_COPIES = 16
"""Maximum matrices compared with a table."""
Element = Callable[[int], bytes | None]
"""Function that reads an element by its number."""


def copies(graph: ProtoGraph, path: str) -> Iterator[tuple[str, str]]:
    """Yield the names of each stored matrix that copies an embedding's table, and of the table.

    Args:
        graph: the graph.
        path: its file; empty for bytes, of which only small contents are compared.
    """
    stored = {t.name: t for t in graph.initializer if len(t.dims) == 2}
    # an embedding is a gather of rows; a dictionary, as a set has no order
    tables = {n.input[0]: None for n in graph.node if n.op_type == "Gather" and n.input}
    for name in tables:
        table = stored.get(name)
        if table is None:
            continue
        same = [
            t
            for t in stored.values()
            if t.name not in tables
            and t.data_type == table.data_type
            and sorted(t.dims) == sorted(table.dims)
        ]
        for other in same[:MOST_COPIES]:
            if is_copy(table, other, path):
                yield other.name, name


def is_copy(table: ProtoTensor, other: ProtoTensor, path: str) -> bool:
    """Return True if elements of two matrices agree, in the same order or transposed."""
    rows, columns = table.dims
    numbers = [i * STEP % (rows * columns) for i in range(SAMPLES)] if rows * columns > 1 else []
    with ExitStack() as files:
        first, second = (element_of(t, path, files) for t in (table, other))
        of_table = [first(n) for n in numbers]
        if len(set(of_table)) < 2 or None in of_table:
            return False  # one number everywhere: not trained yet
        # numbers of the same elements in the transposed matrix
        transposed = [n % columns * rows + n // columns for n in numbers]
        layouts = [(table.dims, numbers), ((columns, rows), transposed)]
        return any(
            all(second(n) == element for n, element in zip(layout, of_table, strict=True))
            for dims, layout in layouts
            if dims == other.dims
        )


def element_of(tensor: ProtoTensor, path: str, files: ExitStack) -> Element:
    """Return a function that reads elements of a tensor, from memory or from its file."""
    dtype = BY_ONNX.get(tensor.data_type)
    # 0 for an unknown type, or one below a byte, whose elements are not compared
    size = dtype.bits // 8 if dtype is not None else 0
    count = tensor.element_count or 0
    payload = tensor.payload
    if payload is not None and size * count == len(payload):
        return lambda n: payload[n * size : (n + 1) * size]
    offset, location = tensor.offset, ""
    if tensor.external:
        text = tensor.external.get("offset") or "0"
        offset = int(text) if text.isdecimal() else None
        location = tensor.external.get("location", "")
    # in the model's file, elements may stand in a field of another width
    if not size or offset is None or not path or (not location and tensor.nbytes != size * count):
        return lambda n: None
    folder, name = os.path.split(path)
    file = files.enter_context(opened(folder or ".", location or name))

    def read(n: int) -> bytes | None:
        return None if file is None else read_part(file, offset + n * size, size)

    return read
