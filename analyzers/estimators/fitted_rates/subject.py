"""What efficiency is fitted on: one kernel with its operators, extents and counts as numbers.

Made from an analysed kernel, or from a row of a dataset: both give the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Value
from perfc.ir.op import Kind
from perfc.ir.types import TensorType

if TYPE_CHECKING:
    from perfc.passes.fuse import Kernel
    from perfc.passes.roofline import KernelBound

LONGEST_OP = 400
MOST_OPERANDS = 8

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
    """Types as ``types`` writes them."""
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


def of_bound(bound: KernelBound, env: Mapping[str, int], moved_bytes: float = 0.0) -> Subject:
    """The kernel of an analysis."""
    kernel, n = bound.kernel, bound.counts
    return of_texts(
        kernel.kind.value, str(kernel.anchor.op), operators(kernel), views(kernel),
        bound.dtype.code, types(kernel.anchor.inputs, env), types(kernel.writes, env),
        Amounts(bound.launches, n.mac, n.sfu, n.read_bytes, n.write_bytes, moved_bytes),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amounts:
    """Numbers of a kernel: launches in a run, and what one launch does."""

    launches: float
    mac: float
    sfu: float
    read_bytes: float
    write_bytes: float
    moved_bytes: float


def of_texts(
    kind: str,
    op: str,
    ops: str,
    view_count: int,
    dtype: str,
    operands: str,
    results: str,
    n: Amounts,
) -> Subject:
    """The kernel that a row of a dataset states: operator and types as text."""
    name, _, rest = op[:LONGEST_OP].partition(" ")
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
    return Subject(
        kind, name, tuple(o for o in ops.split("+") if o), view_count, dtype, attributes,
        parse_types(operands), parse_types(results), n.launches, n.mac, n.sfu, n.read_bytes,
        n.write_bytes, n.moved_bytes, words,
    )  # fmt: skip


def views(kernel: Kernel) -> int:
    """Nodes of a kernel that move nothing."""
    return sum(n.op.kind is Kind.VIEW for n in kernel.nodes)


def operators(kernel: Kernel) -> str:
    """ONNX operators of a kernel that are not views."""
    real = [n for n in kernel.nodes if n.op.kind is not Kind.VIEW and n not in kernel.folded]
    return "+".join(n.loc.op_type or n.op.mnemonic for n in real)


def types(values: Iterable[Value | None], env: Mapping[str, int]) -> str:
    """Types in one cell, ``f32[1,64,56,56] f32[64,64,3,3]w``; ``-`` for what is missing."""
    cells: list[str] = []
    for v in list(values)[:MOST_OPERANDS]:
        if v is None or not isinstance(v.type, TensorType) or v.type.shape is None:
            cells.append("-")
            continue
        shape = ",".join(str(int(evaluate(d, env))) for d in v.type.shape)
        is_stored = v.weight is not None or v.known is not None
        cells.append(f"{v.type.dtype.code}[{shape}]{'w' if is_stored else ''}")
    return " ".join(cells)
