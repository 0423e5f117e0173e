"""Operators that reorder or repeat elements."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.errors import ShapeError

from ... import (
    Dim,
    Folded,
    Inputs,
    Kind,
    Known,
    Naturals,
    Op,
    Poly,
    Positive,
    Positives,
    Shape,
    TensorType,
    Traffic,
    Types,
    element_count,
    first_counted,
    frozen,
    has,
    interval,
    known,
    normal_axis,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.broadcast import broadcast_extent
from ...tensors.contents import arranged, elements, or_data, small_shape
from ...tensors.known import broadcast_to
from ...traffic import first_once, moved, stored


class Movement(Op):
    """Base of operators that copy elements to other positions.

    Shapes:  as each operator says.
    Work:    none.
    Traffic: the operand read once, the result written once; shapes and axes stay on the host.
    Source:  ONNX.
    """

    kind = Kind.MOVEMENT

    traffic = first_once


class Contiguous(Movement):
    """The operand in the order of its axes, copied where a view left another order.

    Shapes:  as the operand.
    Source:  torch.Tensor.contiguous.
    """

    mnemonic = "contiguous"
    operands = "input"


def unknown_extents(rank: int) -> Shape:
    """Return extents of which only the number is known."""
    return tuple(data_extent() for _ in range(rank))


@frozen
class Transpose(Movement):
    """Permutation of axes.

    Shapes:  result axis i is axis ``perm[i]``; by default the order is reversed.
    Source:  ONNX Transpose-25.
    """

    mnemonic = "transpose"
    onnx = "Transpose"
    operands = "data"
    perm: tuple[int, ...] | None = None

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            rank = None if self.perm is None else len(self.perm)
            return single(data.dtype, None if rank is None else unknown_extents(rank))
        order = self._order(len(data.shape))
        return single(data.dtype, tuple(data.shape[a] for a in order))

    def _order(self, rank: int) -> Sequence[int]:
        """Return the axis of the operand for each axis of the result."""
        if self.perm is None:
            return range(rank - 1, -1, -1)
        if sorted(self.perm) != list(range(rank)):
            raise ShapeError(f"perm {list(self.perm)} is no order of {rank} axes")
        return self.perm

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = known(ins, 0)
        if data is None:
            return ()
        order = self._order(len(data.shape))
        result_axis_of = [order.index(axis) for axis in range(len(order))]
        shape = [data.shape[a] for a in order]
        return (arranged(data, shape, lambda i: [i[t] for t in result_axis_of]),)


def expanded_extent(extent: Dim, wanted: int | Poly | None) -> Dim:
    """Return the extent of an axis of ``extent`` broadcast to ``wanted``; None means unknown.

    Raises:
        ShapeError: the two extents do not broadcast, or ``wanted`` is negative.
    """
    if isinstance(wanted, int) and wanted < 0:
        raise ShapeError(f"an extent of {extent} expands to {wanted}")
    if wanted is not None:
        return broadcast_extent(extent, wanted)
    lo = interval(extent)[0]
    # an extent that cannot be 1 stays, whatever the unknown one is
    if (isinstance(extent, int) and extent != 1) or (lo is not None and lo > 1):
        return extent
    return data_extent()


class Expand(Movement):
    """Broadcast to a shape.

    Shapes:  the operand's shape and ``shape``, broadcast in both directions.
    Traffic: the operand read once, the result written.
    Source:  ONNX Expand-13.
    """

    mnemonic = "expand"
    onnx = "Expand"
    operands = "input shape"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        target = elements(ins, 1)
        if data.shape is None or target is None:
            return single(data.dtype, None)
        rank = max(len(data.shape), len(target))
        # leading axes that either side lacks have extent 1
        padded: Shape = (1,) * (rank - len(data.shape)) + data.shape
        to: tuple[int | Poly | None, ...] = (1,) * (rank - len(target)) + target
        dims = tuple(expanded_extent(d, w) for d, w in zip(padded, to, strict=True))
        return single(data.dtype, dims)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, shape = known(ins, 0), small_shape(outs[0])
        if data is None or shape is None:
            return ()
        return (Known.of(shape, broadcast_to(data, shape)),)


class Tile(Movement):
    """Repetition of the operand along each axis.

    Shapes:  extent i times ``repeats[i]``.
    Traffic: the operand read once, the result written.
    Source:  ONNX Tile-13.
    """

    mnemonic = "tile"
    onnx = "Tile"
    operands = "input repeats"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        repeats = elements(ins, 1)
        if data.shape is None:
            shape = None if repeats is None else unknown_extents(len(repeats))
            return single(data.dtype, shape)
        if repeats is None:
            repeats = (None,) * len(data.shape)
        if len(repeats) != len(data.shape):
            raise ShapeError(f"{len(repeats)} repeats for rank {len(data.shape)}")
        dims = tuple(
            # nothing repeated is nothing, however often
            or_data(0 if d == 0 else None if r is None else d * r)
            for d, r in zip(data.shape, repeats, strict=True)
        )
        return single(data.dtype, dims)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data, shape = known(ins, 0), small_shape(outs[0])
        if data is None or shape is None:
            return ()
        extents = data.shape
        return (arranged(data, shape, lambda i: [k % d for k, d in zip(i, extents, strict=True)]),)


def _four(op: Op, shape: Shape) -> tuple[Dim, Dim, Dim, Dim]:
    """Return the extents N, C, H, W; another rank is a ShapeError."""
    if len(shape) != 4:
        raise ShapeError(f"{op.mnemonic} needs rank 4, not {len(shape)}")
    n, c, h, w = shape
    return n, c, h, w


def _exactly(total: Dim, by: int, what: str) -> Dim:
    """Return ``total / by``, which must divide; ``what`` names it in the error."""
    if isinstance(total, int) and total % by:
        raise ShapeError(f"{what} {total} does not divide by {by}")
    return total // by


@frozen
class _Blocks(Movement):
    """Exchange of channels and blocks of pixels."""

    operands = "input"
    blocksize: Positive = 1
    # order of depth, column and row in the channels (DCR or CRD); extents are the same in both
    mode: str = "DCR"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return single(data.dtype, unknown_extents(4))
        return single(data.dtype, self.moved(*_four(self, data.shape)))

    def moved(self, n: Dim, c: Dim, h: Dim, w: Dim) -> tuple[Dim, ...]:
        """Return the extents of the result."""
        raise NotImplementedError(f"{type(self).__name__}.moved")


@frozen
class DepthToSpace(_Blocks):
    """Channels to blocks of pixels.

    Shapes:  [n, c, h, w] -> [n, c // b**2, h*b, w*b] with b the block size.
    Source:  ONNX DepthToSpace-28.
    """

    mnemonic = "depth_to_space"
    onnx = "DepthToSpace"

    def moved(self, n: Dim, c: Dim, h: Dim, w: Dim) -> tuple[Dim, ...]:
        b = self.blocksize
        return n, _exactly(c, b * b, "depth"), h * b, w * b


@frozen
class SpaceToDepth(_Blocks):
    """Blocks of pixels to channels.

    Shapes:  [n, c, h, w] -> [n, c * b**2, h // b, w // b] with b the block size.
    Source:  ONNX SpaceToDepth-28.
    """

    mnemonic = "space_to_depth"
    onnx = "SpaceToDepth"

    def moved(self, n: Dim, c: Dim, h: Dim, w: Dim) -> tuple[Dim, ...]:
        b = self.blocksize
        return n, c * b * b, _exactly(h, b, "height"), _exactly(w, b, "width")


@frozen
class ReverseSequence(Movement):
    """Sequences of a batch reversed up to their lengths.

    Shapes:  the operand's.
    Source:  ONNX ReverseSequence-28.
    """

    mnemonic = "reverse_sequence"
    onnx = "ReverseSequence"
    operands = "input sequence_lens"
    batch_axis: int = 1
    time_axis: int = 0


@frozen
class Trilu(Movement):
    """Upper or lower triangle of matrices, the rest zero.

    Shapes:  the operand's.
    Traffic: the operand read once as a whole, though a triangle would do; the result written.
    Source:  ONNX Trilu-14.
    """

    mnemonic = "trilu"
    onnx = "Trilu com.microsoft::Trilu"
    operands = "input k?"
    upper: int = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is not None and len(data.shape) < 2:
            raise ShapeError(f"a triangle needs rank 2 or more, not {len(data.shape)}")
        return (data,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        data = known(ins, 0)
        offset = known(ins, 1)
        k = 0 if not has(ins, 1) else offset.item if offset is not None else None
        if data is None or len(data.shape) < 2 or not isinstance(k, int):
            return ()
        rows, columns = data.shape[-2:]
        # the zero of a Boolean matrix is False
        zero = False if any(isinstance(i, bool) for i in data.items) else 0

        def inside(flat: int) -> bool:
            # column minus row; the row is counted within its matrix of the batch
            diagonal = flat % columns - flat // columns % rows
            return diagonal >= k if self.upper else diagonal <= k

        items = [item if inside(flat) else zero for flat, item in enumerate(data.items)]
        return (Known.of(data.shape, items),)


@frozen
class Col2Im(Movement):
    """Columns of image patches added back into an image.

    Shapes:  input[n, c * prod(block_shape), l] -> output[n, c, *image_shape].
    Work:    {alu}, one addition per input element.
    Traffic: input once, output once.
    Source:  ONNX Col2Im-18.
    """

    mnemonic = "col2im"
    onnx = "Col2Im"
    operands = "input image_shape block_shape"
    formulas = {"alu": "e"}
    dilations: Positives | None = None
    pads: Naturals | None = None
    strides: Positives | None = None

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        image, block = elements(ins, 1), elements(ins, 2)
        if image is None:
            return single(data.dtype, None)
        if data.shape is not None and len(data.shape) != 3:
            raise ShapeError(f"col2im needs rank 3, not {len(data.shape)}")
        batch, rows = data.shape[:2] if data.shape is not None else (None, None)
        channels: Dim | None = None
        if rows is not None and block is not None and None not in block:
            channels = rows // element_count(tuple(b for b in block if b is not None))
        # of an unknown block only this is certain: there are at most as many channels as rows
        dims = (or_data(batch), or_data(channels, rows), *(or_data(d) for d in image))
        return single(data.dtype, dims)

    extents = first_counted


@frozen
class UnfoldTensor(Movement):
    """Windows of ``size`` along an axis, every ``step`` elements, as slices along a new last axis.

    Shapes:  input[a..., d, b...] -> output[a..., (d - size)//step + 1, b..., size].
    Work:    none.
    Traffic: the positions of the axis that some window holds are read, the result is written.
    Source:  ONNX Runtime contrib UnfoldTensor-1.
    """

    mnemonic = "unfold_tensor"
    onnx = "com.microsoft::UnfoldTensor"
    operands = "input"
    size: Positive
    dim: int = -1
    step: Positive = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return single(data.dtype, None)
        axis = normal_axis(self.dim, len(data.shape), "dim")
        extent = data.shape[axis]
        # shorter than a window for all values of the symbols
        if (interval(extent - self.size)[1] or 0) < 0:
            raise ShapeError(f"windows of {self.size} do not fit {extent} along axis {axis}")
        windows = (extent - self.size) // self.step + 1
        shape = (*data.shape[:axis], windows, *data.shape[axis + 1 :], self.size)
        return single(data.dtype, shape)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        data, out = tensor(ins, 0), outs[0]
        if data.shape is None or not isinstance(out, TensorType) or out.shape is None:
            return moved([None], [None])
        axis = normal_axis(self.dim, len(data.shape), "dim")
        # windows overlap if the step is below their size, so that each but the last adds ``step``
        # positions; a larger step leaves gaps, and each window adds all its positions
        n_read = (out.shape[axis] - 1) * min(self.step, self.size) + self.size
        read = TensorType(data.dtype, (*data.shape[:axis], n_read, *data.shape[axis + 1 :]))
        return moved([stored(read)], [stored(out)])
