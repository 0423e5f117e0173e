"""Operators that only change the shape of the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.errors import ShapeError

from ... import (
    Dim,
    Folded,
    Inputs,
    Kind,
    Op,
    Poly,
    Shape,
    Type,
    Types,
    dim_max,
    element_count,
    frozen,
    has,
    interval,
    known,
    normal_axis,
    same,
    single,
    tensor,
)
from ...op import UNRANKED
from ...symbolic.fresh import data_extent
from ...tensors.contents import elements, or_data, reshaped


class View(Op):
    """The operand's bytes under another type.

    Shapes:  as each view says.
    Work:    none.
    Traffic: none; the result shares the operand's buffer.
    Source:  ONNX; every runtime executes these without a copy.
    """

    kind = Kind.VIEW

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (reshaped(known(ins, 0), outs[0]),)


def _lowest(d: Dim) -> int:
    """Return the minimum of an extent, 0 if unknown."""
    return max(interval(d)[0] or 0, 0)


def _divided(total: Dim, others: Dim) -> Dim | None:
    """Return ``total / others``, as a polynomial if it divides; None if it cannot be known.

    Raises:
        ShapeError: the numbers do not divide.
    """
    if isinstance(others, int):
        if others == 0:
            # any extent fits zero elements, and runtimes choose zero
            return 0 if total == 0 else None
        if isinstance(total, int) and total % others:
            raise ShapeError(f"{total} elements do not divide into groups of {others}")
        return total // others
    # a symbolic quotient is right if it divides, or if ``others`` cannot be 0
    quotient = total // others
    if quotient * others == total or _lowest(others) >= 1:
        return quotient
    # where ``others`` is 0, so is ``total``, or the model is ill-formed: any divisor will do
    return total // dim_max(1, others)


def _free_extents(dims: Sequence[Dim | None], total: Dim | None) -> Shape:
    """Return extents, unknown ones computed from the number of elements or bounded by it."""
    others = element_count(tuple(d for d in dims if d is not None))
    n_unknown = sum(d is None for d in dims)
    if n_unknown == 1 and total is not None:
        exact = _divided(total, others)
        return tuple(or_data(exact, total) if d is None else d for d in dims)
    # a tensor with elements has no extent of 0, and none above the number of elements
    filled = total is not None and _lowest(total) >= 1
    upper = total if filled else None
    if upper is not None and _lowest(others) >= 1:
        upper = upper // others
    return tuple(data_extent(upper, 1 if filled else 0) if d is None else d for d in dims)


@frozen
class Reshape(View):
    """Another shape for the same elements.

    Shapes:  ``shape``, in which one -1 takes what is left and 0 copies the operand's extent, unless
             ``allowzero``. An extent not known beforehand follows from the number of elements if
             it is the only one.
    Source:  ONNX Reshape-25.
    """

    mnemonic = "reshape"
    onnx = "Reshape"
    operands = "data shape"
    allowzero: int = 0

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        target = elements(ins, 1)
        if target is None:
            return single(data.dtype, None)
        if sum(w == -1 for w in target) > 1:
            raise ShapeError(f"shape {list(target)} has more than one -1")
        dims = [self._extent(w, axis, data.shape) for axis, w in enumerate(target)]
        total = data.numel
        shape = (
            _free_extents(dims, total) if None in dims else tuple(d for d in dims if d is not None)
        )
        if total is not None and same(total, element_count(shape)) is False:
            raise ShapeError(f"{total} elements do not fit shape [{', '.join(map(str, target))}]")
        return single(data.dtype, shape)

    def _extent(self, wanted: int | Poly | None, axis: int, data: Shape | None) -> Dim | None:
        """Return the extent that an entry of ``shape`` stands for, None if it must be computed."""
        if wanted == -1 or wanted is None:
            return None
        if wanted == 0 and not self.allowzero:
            if data is None:
                return data_extent()
            if axis >= len(data):
                raise ShapeError(f"0 at axis {axis} copies an extent that rank {len(data)} has not")
            return data[axis]
        if isinstance(wanted, int) and wanted < 0:
            raise ShapeError(f"shape has an extent of {wanted}")
        return wanted


@frozen
class Flatten(View):
    """A matrix: the product of extents before ``axis``, and that of the others.

    Shapes:  data[a..., b...] -> output[prod(a), prod(b)].
    Source:  ONNX Flatten-25.
    """

    mnemonic = "flatten"
    onnx = "Flatten"
    operands = "input"
    axis: int = 1

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        if data.shape is None:
            return single(data.dtype, (data_extent(), data_extent()))
        rank = len(data.shape)
        # the axis may equal the rank: all extents are rows then
        axis = rank if self.axis == rank else normal_axis(self.axis, rank) if rank else 0
        rows, columns = element_count(data.shape[:axis]), element_count(data.shape[axis:])
        return single(data.dtype, (rows, columns))


class Squeeze(View):
    """Removal of axes with extent 1.

    Shapes:  without ``axes``, or with none in it, every axis of extent 1 goes; the rank is not
             known if an extent may or may not be 1.
    Source:  ONNX Squeeze-25; onnxruntime reads empty ``axes`` as all.
    """

    mnemonic = "squeeze"
    onnx = "Squeeze"
    operands = "data axes?"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        content = elements(ins, 1) if has(ins, 1) else ()
        if data.shape is None or content is None:
            return single(data.dtype, None)
        if not content:
            # an extent that may or may not be 1 leaves the rank unknown
            are_one = [same(d, 1) for d in data.shape]
            if None in are_one:
                return single(data.dtype, None)
            remaining = tuple(
                d for d, is_one in zip(data.shape, are_one, strict=True) if not is_one
            )
            return single(data.dtype, remaining)
        rank = len(data.shape)
        if not all(isinstance(a, int) for a in content):
            # runtimes accept an axis named twice, so the number of removed axes may be smaller
            some = self._any_of(data.shape) if len(content) == 1 else None
            return single(data.dtype, some)
        axes = {normal_axis(a, rank) for a in content if isinstance(a, int)}
        for axis in axes:
            if same(data.shape[axis], 1) is False:
                raise ShapeError(f"axis {axis} has extent {data.shape[axis]}, not 1")
        remaining = tuple(d for i, d in enumerate(data.shape) if i not in axes)
        return single(data.dtype, remaining)

    def _any_of(self, shape: Shape) -> Shape:
        """Return the extents after one unknown axis is removed: each may be that of any axis."""
        if not shape:
            raise ShapeError("no axis to leave out of a scalar")
        lo = min(map(_lowest, shape), default=0)
        return tuple(data_extent(dim_max(*shape), lo) for _ in shape[1:])


class Unsqueeze(View):
    """New axes of extent 1.

    Shapes:  ``axes`` are positions in the result.
    Source:  ONNX Unsqueeze-25.
    """

    mnemonic = "unsqueeze"
    onnx = "Unsqueeze com.microsoft::ExpandDims"
    operands = "data axes"

    def infer(self, ins: Inputs) -> Types:
        data = tensor(ins, 0)
        content = elements(ins, 1)
        if data.shape is None or content is None:
            return single(data.dtype, None)
        rank = len(data.shape) + len(content)
        axes = {normal_axis(a, rank) for a in content if isinstance(a, int)}
        if len(axes) < len(content):
            if all(isinstance(a, int) for a in content):
                raise ShapeError(f"axes {list(content)} repeat")
            # unknown positions: any axis of the result has extent 1 or an extent of the data
            shape: Shape = (1,) * rank
            if any(d != 1 for d in data.shape):
                hi, lo = dim_max(1, *data.shape), min(1, *map(_lowest, data.shape))
                shape = tuple(data_extent(hi, lo) for _ in range(rank))
            return single(data.dtype, shape)
        rest = iter(data.shape)
        return single(data.dtype, tuple(1 if i in axes else next(rest) for i in range(rank)))


class Identity(View):
    """The operand itself, of whatever type. Source: ONNX Identity-25."""

    mnemonic = "identity"
    onnx = "Identity"
    operands = "input"

    def infer(self, ins: Inputs) -> Types:
        first: Type = ins[0].type if ins and ins[0] is not None else UNRANKED
        return (first,)

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        return (known(ins, 0),)


class InPlace(View):
    """A tensor after a part of it was written in place.

    Shapes:  base, and the part, in any shape -> like base.
    Source:  PyTorch, operators in place on views; the operator that wrote the part has its traffic.
    """

    mnemonic = "in_place"
    onnx = "aten::in_place"
    operands = "base part"

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        # unlike other views, the content is no longer that of the first operand
        return ()


class ToContiguous(Identity):
    """The operand in the order of its axes.

    Traffic: none where it lies so already; a framework with strided tensors copies any other.
    Source:  torch.Tensor.contiguous.
    """

    mnemonic = "dense"
    onnx = "aten::contiguous"


@frozen
class Clone(Identity):
    """Another tensor with the operand's elements, in its order in memory unless ``dense``.

    Traffic: none where it is removed; a framework that runs operators one by one copies.
    Source:  torch.Tensor.clone.
    """

    mnemonic = "clone"
    onnx = "aten::clone"
    dense: int = 0
