"""Describe a kernel for laws of processors: operators, extents and counts as plain numbers.

Laws are fitted to rows of datasets and applied to analyzed kernels. `of_texts` reads a row,
`of_bound` an analyzed kernel; for the same kernel both return an equal `KernelSubject`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING

from perfc.ir import Kind, Numbers, Op, TensorType, Value, record
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad, ConvGrad
from perfc.ir.problem import SlidingWindow
from perfc.ir.problem.window import WindowOperation
from perfc.passes.layout.blocks import LAST

if TYPE_CHECKING:
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.roofline.roofline import KernelBound

LONGEST_OP = 400
"""Maximum characters of an operator in a row; datasets store no more of its text."""
MOST_OPERANDS = 8
"""Number of operands of which a subject has the extents. A concatenation may have many more; they
count in its bytes only."""

# patterns of a row's cells, such as ``f32[64,64]w``, ``pads=[0, 0]`` and ``group=1``; they are
# text, so that `re` compiles them on first use: few runs read rows
_TYPE = r"([a-z0-9?]+)\[([\d,]*)\](w?)"
_INTEGERS = r"(\w+)=\[([-\d, ]*)\]"
_SCALARS = r"(\w+)=(-?\d+|true|false|\"[^\"]*\")"


@record
class Operand:
    """A tensor's element type and extents; whether it is stored in the model."""

    dtype: str
    shape: tuple[int, ...]
    is_stored: bool

    @property
    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the size in bytes, with at least one byte per element."""
        # the first number of a name is its width in bits: 8 of f8e4m3, 16 of bf16; a bool has no
        # number and takes one byte
        digits = re.sub(r"\D.*", "", self.dtype.lstrip("abcdefiu") or "8")
        return self.numel * max(int(digits or 8), 8) // 8


@record
class KernelSubject:
    """One kernel in the terms of laws of processors.

    Args:
        kind: kind of the kernel by the analysis; ``host`` for nodes that launch no kernel.
        op: mnemonic of the anchor, the node with the main loop.
        ops: ONNX operators that are not views.
        views: number of nodes that move no data.
        dtype: element type of the multiply-accumulates.
        attributes: attributes of the operator that differ from the default; a single number is a
            tuple of one.
        operands: operands of the operator; None for a missing one.
        results: results of the kernel; None for one of unknown type.
        launches: launches in one run.
        mac: multiply-accumulates of one launch.
        sfu: transcendental functions of one launch.
        read_bytes: bytes that one launch reads.
        write_bytes: bytes that one launch writes.
        words: attributes that are text, such as ``auto_pad``.
        is_last: True if a reduction runs over tensors with channels last.
        alu: vector operations of one launch; 0 in rows.
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
    words: Mapping[str, str] = field(default_factory=dict)
    is_last: bool = False
    alu: float = 0.0

    @property
    def nbytes(self) -> float:
        """Return the compulsory bytes of one launch."""
        return self.read_bytes + self.write_bytes

    @property
    def name(self) -> str:
        """Return the names of all operators, or the mnemonic of the anchor if there are none.

        Names of long chains are cut to 60 characters.
        """
        return "+".join(self.ops)[:60] or self.op

    @property
    def elements(self) -> float:
        """Return the elements of the first result; if its type is unknown, written bytes as f32."""
        return self.write_bytes / 4 if self.result is None else float(self.result.numel)

    def operand(self, index: int) -> Operand | None:
        """Return the operand at a position; None where it is missing."""
        return self.operands[index] if index < len(self.operands) else None

    @property
    def window(self) -> SlidingWindow | None:
        """Return the window of a convolution; None if operands or attributes do not define one."""
        x, w, y = self.operand(0), self.operand(1), self.result
        if (
            x is None
            or w is None
            or y is None
            or not 3 <= len(w.shape) == len(x.shape) == len(y.shape)
        ):
            return None
        rank, of = len(w.shape) - 2, self.attributes
        strides, dilations = (of.get(n) or (1,) * rank for n in ("strides", "dilations"))
        pads, groups = of.get("pads") or (0,) * 2 * rank, of.get("group", (1,))[0]
        # rows of a data set may contradict themselves
        if {len(strides), len(dilations), len(pads) - rank} != {rank} or groups < 1:
            return None
        form = (
            WindowOperation.TRANSPOSED
            if self.op == "conv_transpose"
            else WindowOperation.CONVOLUTION
        )
        # filters have the channels of the result first, transposed ones those of the operand
        out_channels, in_channels = w.shape[0], w.shape[1] * groups
        if form is WindowOperation.TRANSPOSED:
            out_channels, in_channels = w.shape[1] * groups, w.shape[0]
        return SlidingWindow(
            y.shape[0],
            in_channels,
            out_channels,
            x.shape[2:],
            y.shape[2:],
            w.shape[2:],
            strides,
            dilations,
            tuple(zip(pads[:rank], pads[rank:], strict=True)),
            self.words.get("auto_pad", "NOTSET"),
            groups,
            form,
        )

    @property
    def result(self) -> Operand | None:
        """Return the first result."""
        return self.results[0] if self.results else None


def parse_types(text: str) -> tuple[Operand | None, ...]:
    """Return the operands of a cell that `types` wrote."""
    result: list[Operand | None] = []
    for word in text.split():
        match = re.fullmatch(_TYPE, word)
        if match is None:
            result.append(None)
            continue
        dtype, extents, stored = match.groups()
        shape = tuple(int(d) for d in extents.split(",") if d)
        result.append(Operand(dtype, shape, bool(stored)))
    return tuple(result)


def of_bound(bound: KernelBound, at: Numbers) -> KernelSubject:
    """Return an analyzed kernel; a gradient has the tensors of the forward convolution."""
    kernel, n, op = bound.kernel, bound.counts, bound.kernel.anchor.op
    attributes, words = attributes_of(op)
    read, written = (operands(values, at) for values in (kernel.anchor.inputs, kernel.writes))
    if isinstance(op, ConvGrad):
        # the gradient reads dY and either filters or maps, and writes the gradient of the other:
        # with dY as the result, they are the operands (maps, filters) of the forward convolution
        sides = (written[0], read[1]) if isinstance(op, ConvDataGrad) else (read[1], written[0])
        read, written = sides, read[:1]
    return KernelSubject(
        kernel.kind.value,
        op.mnemonic,
        operators(kernel),
        views(kernel),
        bound.dtype.code,
        attributes,
        read,
        written,
        bound.launches,
        n.mac,
        n.sfu,
        n.read_bytes,
        n.write_bytes,
        words,
        kernel.pattern == LAST,
        n.alu,
    )


def attributes_of(op: Op) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Return the attributes that differ from the default: first numbers and lists, then text."""
    attributes: dict[str, tuple[int, ...]] = {}
    words: dict[str, str] = {}
    for f in fields(op):
        value = getattr(op, f.name)
        if value == f.default:
            continue
        match value:
            case int():
                attributes[f.name] = (int(value),)
            case tuple() if all(isinstance(v, int) for v in value):
                attributes[f.name] = tuple(map(int, value))
            case str():
                words[f.name] = value
    return attributes, words


@record
class LaunchAmounts:
    """Counts of a kernel, as `KernelSubject` has them: launches in a run, work of one launch."""

    launches: float
    mac: float
    sfu: float
    read_bytes: float
    write_bytes: float


def of_texts(
    kind: str,
    op: str,
    ops: str,
    view_count: int,
    dtype: str,
    operands: str,
    results: str,
    n: LaunchAmounts,
) -> KernelSubject:
    """Return the kernel of a dataset's row, whose operator and types are text.

    Args:
        kind: kind of the kernel.
        op: mnemonic and attributes of the anchor, as ``str`` of an operator has them.
        ops: ONNX operators that are not views, joined by ``+``.
        view_count: number of nodes that move no data.
        dtype: element type of the multiply-accumulates.
        operands: operands of the anchor, as `types` wrote them.
        results: results of the kernel, as `types` wrote them.
        n: launches, and work of one launch.
    """
    name, _, rest = op[:LONGEST_OP].partition(" ")
    attributes = {
        k: tuple(int(x) for x in v.replace(" ", "").split(",") if x)
        for k, v in re.findall(_INTEGERS, rest)
    }
    words: dict[str, str] = {}
    for key, value in re.findall(_SCALARS, rest):
        if value.startswith('"'):
            words[key] = value.strip('"')
        else:
            attributes[key] = (int(value) if value.lstrip("-").isdigit() else int(value == "true"),)
    return KernelSubject(
        kind,
        name,
        tuple(o for o in ops.split("+") if o),
        view_count,
        dtype,
        attributes,
        parse_types(operands),
        parse_types(results),
        n.launches,
        n.mac,
        n.sfu,
        n.read_bytes,
        n.write_bytes,
        words,
    )


def views(kernel: Kernel) -> int:
    """Return the number of nodes of a kernel that move no data."""
    return sum(n.op.kind is Kind.VIEW for n in kernel.nodes)


def operators(kernel: Kernel) -> tuple[str, ...]:
    """Return the ONNX operators of a kernel that are neither views nor folded into others."""
    real = [n for n in kernel.nodes if n.op.kind is not Kind.VIEW and n not in kernel.folded]
    return tuple([n.loc.op_type or n.op.mnemonic for n in real])


def operands(values: Sequence[Value | None], at: Numbers) -> tuple[Operand | None, ...]:
    """Return the first `MOST_OPERANDS` tensors; None for one that is missing or has no shape."""
    result: list[Operand | None] = []
    for v in values[:MOST_OPERANDS]:
        if v is None or not isinstance(v.type, TensorType) or v.type.shape is None:
            result.append(None)
            continue
        shape = tuple([int(at(d)) for d in v.type.shape])
        # constants of the graph are stored with the weights
        is_stored = v.weight is not None or v.known is not None
        result.append(Operand(v.type.dtype.code, shape, is_stored))
    return tuple(result)


def types(values: Sequence[Operand | None]) -> str:
    """Return operands as text of one cell, such as ``f32[1,64,56,56] f32[64,64,3,3]w``.

    A missing operand is ``-``; ``w`` marks a tensor that is stored in the model.
    """
    cells = [
        "-"
        if o is None
        else f"{o.dtype}[{','.join(map(str, o.shape))}]{'w' if o.is_stored else ''}"
        for o in values
    ]
    return " ".join(cells)
