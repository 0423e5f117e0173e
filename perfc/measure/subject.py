"""What efficiency is fitted on: one kernel with its operators, extents and counts as numbers.

Made from an analysed kernel, or from a row of a dataset: both give the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .rows import KernelRow, operators, types

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

_TYPE = re.compile(r"([a-z0-9?]+)\[([\d,]*)\](w?)")
_INTEGERS = re.compile(r"(\w+)=\[([-\d, ]*)\]")
_SCALARS = re.compile(r"(\w+)=(-?\d+|true|false|\"[^\"]*\")")


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor's element type and extents; whether it is stored in the model."""

    dtype: str
    shape: tuple[int, ...]
    is_stored: bool

    @property
    def numel(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes, for elements of at least one."""
        digits = re.sub(r"\D.*", "", self.dtype.lstrip("abcdefiu") or "8")
        return self.numel * max(int(digits or 8), 8) // 8


@dataclass(frozen=True, slots=True)
class Subject:
    """One kernel.

    Args:
        kind: class by our analysis; ``host`` for what launches nothing there.
        op: operator it is named after.
        ops: ONNX operators that are not views.
        views: nodes that move nothing.
        dtype: element type of the multiply-accumulates.
        attributes: of the operator, those that differ from the default.
        operands: of the operator; None for what is missing.
        results: of the kernel.
        launches: in one run.
        moved_bytes: that change layout beside it.
    """

    kind: str
    op: str
    ops: tuple[str, ...]
    views: int
    dtype: str
    attributes: Mapping[str, tuple[int, ...]]
    operands: tuple[Operand | None, ...]
    results: tuple[Operand | None, ...]
    launches: float
    mac: float
    alu: float
    sfu: float
    read_bytes: float
    write_bytes: float
    moved_bytes: float = 0.0
    words: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def nbytes(self) -> float:
        """Compulsory bytes of one launch."""
        return self.read_bytes + self.write_bytes

    def operand(self, index: int) -> Operand | None:
        """An operand, None where it is missing."""
        return self.operands[index] if index < len(self.operands) else None

    @property
    def result(self) -> Operand | None:
        """The first result."""
        return self.results[0] if self.results else None


def parse_types(text: str) -> tuple[Operand | None, ...]:
    """Types as ``rows.types`` writes them."""
    found: list[Operand | None] = []
    for word in text.split():
        match = _TYPE.fullmatch(word)
        if match is None:
            found.append(None)
            continue
        dtype, extents, stored = match.groups()
        shape = tuple(int(d) for d in extents.split(",") if d)
        found.append(Operand(dtype, shape, bool(stored)))
    return tuple(found)


def of_row(row: KernelRow) -> Subject:
    """The kernel of a row."""
    name, _, rest = row.op.partition(" ")
    attributes = {
        k: tuple(int(x) for x in v.replace(" ", "").split(",") if x)
        for k, v in _INTEGERS.findall(rest)
    }
    words: dict[str, str] = {}
    for key, value in _SCALARS.findall(rest):
        if value.startswith('"'):
            words[key] = value.strip('"')
        else:
            attributes[key] = (int(value) if value.lstrip("-").isdigit() else int(value == "true"),)
    ops = tuple(o for o in row.ops.split("+") if o)
    return Subject(
        row.kind, name, ops, row.views, row.dtype, attributes, parse_types(row.operands),
        parse_types(row.results), row.launches, row.mac, row.alu, row.sfu, row.read_bytes,
        row.write_bytes, row.moved_bytes, words,
    )  # fmt: skip


def of_bound(bound: KernelBound, env: Mapping[str, int], moved_bytes: float) -> Subject:
    """The kernel of an analysis; through the text of a row, so that the two cannot differ."""
    kernel, n = bound.kernel, bound.counts
    text = str(kernel.anchor.op)[:400]
    from perfc.ir.op import Kind

    row = KernelRow(
        schema=0, digest="", model="", runtime="", version="", device="", threads=0, dims="",
        kernel=0, part=0, part_s=0.0, time_s=0.0, iqr_s=0.0, best_s=0.0, inserted_s=0.0,
        floor_s=0.0, sustained_s=0.0, target="", label="", kind=kernel.kind.value,
        dtype=bound.dtype.code, ops=operators(kernel),
        views=sum(o.op.kind is Kind.VIEW for o in kernel.nodes), runtime_ops="", nodes="",
        launches=bound.launches, mac=n.mac, alu=n.alu, sfu=n.sfu, integer=n.integer,
        read_bytes=n.read_bytes, write_bytes=n.write_bytes, moved_bytes=moved_bytes, op=text,
        operands=types(kernel.anchor.inputs, env), results=types(kernel.writes, env),
    )  # fmt: skip
    return of_row(row)
