"""Writes small TensorFlow Lite models: tables of a FlatBuffer by the index of their fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from perfc.frontend.tflite.schema import OPERATORS, OPTIONS

Fields = Mapping[int, Any]
"""Fields of a table: a pair of a format and a number, a pair of a format and a list of them, a
text, a table, or a list of tables."""


def written(root: Fields) -> bytes:
    """Return the file of a table."""
    data = bytearray(struct.pack("<I4s", 0, b"TFL3"))
    data[:4] = struct.pack("<I", _table(data, root))
    return bytes(data)


def _table(data: bytearray, fields: Fields) -> int:
    """Append a table and what it refers to; return its position."""
    offsets: dict[int, int] = {}
    body, references = bytearray(4), []
    for index, value in fields.items():
        offsets[index] = len(body)
        match value:
            case (str(code), int() | float() as number):
                body += struct.pack("<" + code, number)
            case _:
                references.append((len(body), value))
                body += bytes(4)
    count = max(fields, default=-1) + 1
    directory = struct.pack(
        f"<HH{count}H", 4 + 2 * count, len(body), *(offsets.get(i, 0) for i in range(count))
    )
    start = len(data) + len(directory)
    body[:4] = struct.pack("<i", len(directory))
    data += directory + body
    for at, value in references:
        place = start + at
        data[place : place + 4] = struct.pack("<I", _target(data, value) - place)
    return start


def _target(data: bytearray, value: Any) -> int:
    match value:
        case str():
            position, text = len(data), value.encode()
            data += struct.pack("<I", len(text)) + text
            return position
        case (str(code), list(numbers)):
            position = len(data)
            data += struct.pack(f"<I{len(numbers)}{code}", len(numbers), *numbers)
            return position
        case list():
            position = len(data)
            data += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for at, fields in enumerate(value):
                place = position + 4 + 4 * at
                data[place : place + 4] = struct.pack("<I", _table(data, fields) - place)
            return position
        case _:
            return _table(data, value)


class Model:
    """Model with one or more graphs."""

    def __init__(self) -> None:
        self.codes: list[Fields] = []
        self.buffers: list[Fields] = [{}]
        self.graphs: list[dict[int, Any]] = []
        self.graph()

    def graph(self) -> int:
        """Begin a graph and return its index."""
        self.graphs.append({0: [], 1: ("i", []), 2: ("i", []), 3: []})
        return len(self.graphs) - 1

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        *,
        dtype: int = 0,
        data: bytes = b"",
        signature: Sequence[int] = (),
        scales: Sequence[float] = (),
        axis: int = 0,
    ) -> int:
        """Add a tensor to the last graph and return its index."""
        fields: dict[int, Any] = {0: ("i", list(shape)), 1: ("B", dtype), 3: name}
        if data:
            self.buffers.append({0: ("B", list(data))})
            fields[2] = ("I", len(self.buffers) - 1)
        if signature:
            fields[7] = ("i", list(signature))
        if scales:
            zeros = [0] * len(scales)
            fields[4] = {2: ("f", list(scales)), 3: ("q", zeros), 6: ("i", axis)}
        tensors = self.graphs[-1][0]
        tensors.append(fields)
        return len(tensors) - 1

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: float
    ) -> None:
        """Add an operator to the last graph; an unknown name is that of a custom one."""
        is_known = name in OPERATORS
        number = OPERATORS.index(name) if is_known else OPERATORS.index("CUSTOM")
        code: dict[int, Any] = {0: ("b", min(number, 127)), 3: ("i", number)}
        self.codes.append(code if is_known else {**code, 1: name})
        listed = [o.partition(":") for o in OPTIONS.get(name, "").split()]
        given = {i: (code, options[o]) for i, (o, _, code) in enumerate(listed) if o in options}
        fields = {0: ("I", len(self.codes) - 1), 1: ("i", list(inputs)), 2: ("i", list(outputs))}
        self.graphs[-1][3].append({**fields, 4: given})

    def ends(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Set the inputs and results of the last graph."""
        self.graphs[-1][1], self.graphs[-1][2] = ("i", list(inputs)), ("i", list(outputs))

    def file(self) -> bytes:
        """Return the file."""
        return written({0: ("I", 3), 1: self.codes, 2: self.graphs, 3: "test", 4: self.buffers})


def network(*, is_quantized: bool = False) -> Model:
    """Return a convolution, an addition, a mean and a product, of a dynamic batch."""
    model = Model()
    dtype, scale = (9, (0.5,)) if is_quantized else (0, ())

    def map_(name: str, *shape: int) -> int:
        return model.tensor(name, (1, *shape), dtype=dtype, signature=(-1, *shape), scales=scale)

    width = 1 if is_quantized else 4
    x = map_("image", 8, 8, 3)
    filters = model.tensor(
        "conv/kernel",
        (16, 3, 3, 3),
        dtype=dtype,
        data=bytes(432 * width),
        scales=(0.5,) * 16 if is_quantized else (),
    )
    bias = model.tensor(
        "conv/bias",
        (16,),
        dtype=2 if is_quantized else 0,
        data=bytes(64),
        scales=(0.25,) * 16 if is_quantized else (),
    )
    conv, added, mean = map_("conv/out", 4, 4, 16), map_("add", 4, 4, 16), map_("mean", 16)
    shift = model.tensor("shift", (16,), dtype=dtype, data=bytes(16 * width), scales=scale)
    axes = model.tensor("axes", (2,), dtype=2, data=struct.pack("<2i", 1, 2))
    weight = model.tensor(
        "head/kernel", (10, 16), dtype=dtype, data=bytes(160 * width), scales=scale
    )
    y = map_("head", 10)
    model.operator(
        "CONV_2D",
        (x, filters, bias),
        (conv,),
        stride_w=2,
        stride_h=2,
        activation=1,
        dilation_w=1,
        dilation_h=1,
    )
    model.operator("ADD", (conv, shift), (added,))
    model.operator("MEAN", (added, axes), (mean,), keep=0)
    model.operator("FULLY_CONNECTED", (mean, weight, -1), (y,))
    model.ends((x,), (y,))
    return model
