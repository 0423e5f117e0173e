"""Elements of a tensor that views of it show, and how many of them several views show together."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from perfc.ir import Node, TensorType, Value, evaluate, normal_axis, record
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.movement import Expand, Transpose
from perfc.ir.ops.movement.slice import Slice, Split, positions

if TYPE_CHECKING:
    from fractions import Fraction

Extents = tuple[int, ...]
Axes = tuple[Sequence[int], ...]
"""Offsets, in elements, along each axis of a view; an element lies at the sum of its offsets.

An axis that is broadcast has one offset.
"""
FEATURE_MAP = 4
"""Rank of feature maps of images, which frameworks may store with channels last."""
MOST_PLACES = 1 << 22
"""Maximum places in one set, which is an integer of one bit per place: 512 KiB."""


class ExtentsOfSymbols(dict[str, int]):
    """Extents for symbols: all different, and multiples of 64, which heads and halves divide.

    Another step also changes the ratios between the extents: 64 and 128, or 576 and 768.
    """

    def __init__(self, step: int) -> None:
        """Let successive symbols differ by ``step``."""
        super().__init__()
        self.step = step

    def __contains__(self, name: object) -> bool:
        """Return True: every symbol has an extent, created when `evaluate` first reads it."""
        return True

    def __missing__(self, name: str) -> int:
        self[name] = extent = 64 * self.step * (len(self) + self.step)
        return extent


class Placements:
    """Elements that views show, at extents that stand for the symbols."""

    def __init__(self, makers: Mapping[Value, Node], step: int) -> None:
        """Store the node that makes each view; another ``step`` gives other extents."""
        self.makers, self.env = makers, ExtentsOfSymbols(step)
        self.axes: dict[tuple[Value, Value], Axes | None] = {}

    def shape(self, v: Value) -> Extents | None:
        """Return extents as numbers; None for an unknown rank."""
        if not isinstance(v.type, TensorType) or v.type.shape is None:
            return None
        return tuple([int(evaluate(d, self.env)) for d in v.type.shape])

    def of(self, v: Value, root: Value) -> Axes | None:
        """Return the elements of ``root`` that ``v`` shows; None if they are not known."""
        path: list[Value] = []
        axes, view, shape = self.axes, v, self.shape(root)
        if shape is not None:
            axes[root, root] = laid(shape, contiguous(shape))
        # from the view up to a value whose elements are known, then down again
        while (view, root) not in axes:
            path.append(view)
            node = self.makers.get(view)
            source = node.inputs[0] if node is not None and node.inputs else None
            if source is None:
                return None
            view = source
        for result in reversed(path):
            axes[result, root] = self._of(result, root)
        return axes[v, root]

    def _of(self, v: Value, root: Value) -> Axes | None:
        """Return the elements that a value shows, given those of its source."""
        node = self.makers[v]
        source = node.inputs[0]
        axes = self.axes.get((source, root)) if source is not None else None
        old, shape = self.shape(source) if source is not None else None, self.shape(v)
        if axes is None or old is None or shape is None:
            return None
        return self._shown(node, node.outputs.index(v), old, axes, shape)

    def _shown(
        self, node: Node, position: int, old: Extents, axes: Axes, shape: Extents
    ) -> Axes | None:
        """Return the elements that a result shows.

        Args:
            node: node that makes the view.
            position: position of the result.
            old: extents of the first operand.
            axes: elements that the first operand shows.
            shape: extents of the result.
        """
        rank = len(old)
        match node.op:
            case Transpose(perm=perm):
                # without ``perm`` all axes are reversed
                return tuple(axes[a] for a in perm or range(rank)[::-1])
            case Expand():
                # an axis that is expanded in place has one offset already
                return (range(1),) * (len(shape) - rank) + axes
            case Slice() as op:
                ranges = op.ranges(node.inputs, rank)
                parts = dict[int, Sequence[int]]()
                for axis, bounds in (ranges or {}).items():
                    if None in bounds:
                        return None
                    start, end, step = (int(evaluate(b or 0, self.env)) for b in bounds)
                    parts[axis] = positions(old[axis], start, end, step)
                return None if ranges is None else narrowed(old, axes, parts)
            case Split(axis=given) as op:
                axis = normal_axis(given, rank)
                sizes = [int(evaluate(d, self.env)) for d in op.sizes(node.inputs, old[axis])]
                first = sum(sizes[:position])
                return narrowed(old, axes, {axis: range(first, first + shape[axis])})
            case Gather(axis=given):
                axis, index = normal_axis(given, rank), node.inputs[1]
                items = index.known.items if index is not None and index.known is not None else ()
                chosen = [i % old[axis] for i in items if isinstance(i, int)]
                if not chosen or len(chosen) < len(items):
                    return None
                # the chosen positions stand in a line, then take the shape of the indices
                line = (*old[:axis], len(chosen), *old[axis + 1 :])
                return reshaped(line, narrowed(old, axes, {axis: progression(chosen)}), shape)
            # the other views keep the order of elements
            case _:
                return reshaped(old, axes, shape)


def laid(shape: Extents, strides: Extents, offset: int = 0) -> Axes:
    """Return the offsets along axes with these strides; a stride of 0 is a broadcast.

    The first axis takes ``offset`` in addition, as the offsets of all axes add up.
    """
    axes = [
        range(0, n * s, s) if s else range(min(n, 1)) for n, s in zip(shape, strides, strict=True)
    ]
    first = axes[0] if axes else range(1)
    shifted = range(first.start + offset, first.stop + offset, first.step)
    return (shifted, *axes[1:])


def narrowed(shape: Extents, axes: Axes, parts: Mapping[int, Sequence[int]]) -> Axes:
    """Return the offsets along all axes, with only the positions in ``parts`` of some of them."""
    result = list(axes)
    for axis, chosen in parts.items():
        offsets = axes[axis]
        if not chosen:
            result[axis] = range(0)
        elif len(offsets) < shape[axis]:
            continue  # broadcast: every position shows the same
        elif isinstance(offsets, range) and isinstance(chosen, range):
            first, step = offsets[chosen[0]], offsets.step * chosen.step
            result[axis] = range(first, first + step * len(chosen), step)
        else:
            result[axis] = progression([offsets[i] for i in chosen])
    return tuple(result)


def progression(numbers: Sequence[int]) -> Sequence[int]:
    """Return whole numbers as a range where they have equal steps."""
    # a range has no step of 0, so that equal numbers stay a tuple
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    equal_steps = range(numbers[0], numbers[0] + step * len(numbers), step) if step else range(0)
    return equal_steps if [*equal_steps] == [*numbers] else tuple(numbers)


def reshaped(old: Extents, axes: Axes, shape: Extents) -> Axes | None:
    """Return the offsets of the same elements under another shape; None without strides."""
    if old == shape:
        return axes
    if math.prod(old) != math.prod(shape):
        return None
    # an axis without offsets: the view shows no element
    if not all(axes):
        return (range(0),) * max(len(shape), 1)
    # axes without equal steps have no stride, and then there are fewer strides than axes
    steps = [a.step if len(a) > 1 else 0 for a in axes if isinstance(a, range)]
    strides = viewed(old, tuple(steps), shape) if len(steps) == len(old) else None
    return None if strides is None else laid(shape, strides, sum(a[0] for a in axes))


def contiguous(shape: Sequence[int]) -> Extents:
    """Return the strides of a dense tensor in row-major order.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    return _dense(tuple(shape))


def channels_last(shape: Extents) -> Extents:
    """Return the strides of a dense feature map whose channels are the densest axis.

    >>> channels_last((2, 3, 4, 5))
    (60, 1, 15, 3)
    """
    batch, *pixels, channels = contiguous((shape[0], *shape[2:], shape[1]))
    return batch, channels, *pixels


@lru_cache(maxsize=1 << 12)
def _dense(shape: Extents) -> Extents:
    """Return the strides of `contiguous`, cached by shape."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=1 << 12)
def viewed(shape: Extents, strides: Extents, new: Extents) -> Extents | None:
    """Return the strides of the same elements under another shape, None if no strides express it.

    Scalars and empty tensors, and shapes of different sizes, as of a guessed extent, give the
    strides of a dense tensor.

    >>> viewed((2, 3, 4), (12, 4, 1), (6, 4))
    (4, 1)
    >>> viewed((3, 2), (1, 3), (6,)) is None
    True
    """
    if not shape or 0 in shape or math.prod(shape) != math.prod(new):
        return contiguous(new)
    # both shapes are walked from the innermost axis outward
    steps = [0] * len(new)
    # of the dense block at hand: the stride of its innermost axis, its elements so far, and the
    # elements that new axes cover
    new_axis, step, block, covered = len(new) - 1, strides[-1], 1, 1
    for axis in range(len(shape) - 1, -1, -1):
        block *= shape[axis]
        outer = axis - 1
        if axis and (shape[outer] == 1 or strides[outer] == block * step):
            continue
        # a block of axes that are dense among themselves must be made of whole new axes
        while new_axis >= 0 and (covered < block or new[new_axis] == 1):
            steps[new_axis] = covered * step
            covered *= new[new_axis]
            new_axis -= 1
        if covered != block:
            return None
        if axis:
            step, block, covered = strides[outer], 1, 1
    return tuple(steps) if new_axis < 0 else None


@record
class Lattice:
    """Offsets of the elements of a view: ``first`` plus one offset of each axis.

    Args:
        first: the least offset.
        steps: number and distance of the offsets of each axis with a stride, the densest first.
        lists: offsets of each axis without a stride, from 0.
    """

    first: int
    steps: tuple[tuple[int, int], ...]
    lists: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(axes: Axes) -> Lattice:
        """Return the offsets of a view; dense axes become one."""
        steps: list[tuple[int, int]] = []
        ranges = [(abs(a.step), len(a)) for a in axes if isinstance(a, range) and len(a) > 1]
        for stride, count in sorted(ranges):
            # a step of this axis is as long as the whole denser axis: both are one
            if steps and stride == math.prod(steps[-1]):
                count, stride = count * steps[-1][0], steps.pop()[1]
            steps.append((count, stride))
        lists = [a for a in axes if not isinstance(a, range)]
        relative = tuple(tuple(i - min(a) for i in a) for a in lists)
        # an axis with a stride has its least offset at one of its ends
        least = [min(a[0], a[-1]) if isinstance(a, range) else min(a) for a in axes]
        return Lattice(sum(least), tuple(steps), relative)

    @property
    def last(self) -> int:
        """Return the greatest offset."""
        return self.first + sum((n - 1) * s for n, s in self.steps) + sum(map(max, self.lists))

    @property
    def block(self) -> int:
        """Return the largest block size such that the view consists of whole, aligned blocks."""
        is_dense = bool(self.steps) and self.steps[0][1] == 1
        inner = self.steps[0][0] if is_dense else 1
        # the innermost axis counts by its extent, not by its stride, if it is dense
        rest = [s for _, s in self.steps[is_dense:]]
        return math.gcd(inner, self.first, *rest, *(i for a in self.lists for i in a))

    def places(self, block: int) -> int:
        """Return the set of the view's blocks of this size, as bits."""
        mask = 1
        for count, stride in self.steps:
            if stride == 1:
                count, stride = count // block, block
            mask = repeated(mask, count, stride // block)
        for offsets in self.lists:
            base, mask = mask, 0
            for offset in offsets:
                mask |= base << (offset // block)
        return mask << (self.first // block)


def repeated(mask: int, count: int, step: int) -> int:
    """Return a set of bits with ``count`` copies of ``mask``, ``step`` bits from one another."""
    # by the bits of ``count``: doubling takes log2(count) shifts
    result, shift = 0, 0
    while count:
        if count & 1:
            result |= mask << shift
            shift += step
        mask |= mask << step
        step, count = 2 * step, count >> 1
    return result


def united(views: Collection[Axes]) -> int | None:
    """Return the number of elements that any of several views of a tensor shows.

    None if there are too many places to compare.
    """
    # views without elements add nothing
    lattices = [Lattice.of(axes) for axes in views if all(axes)]
    factor = 1
    while lattices and all(x.steps for x in lattices):
        outer = {x.steps[-1] for x in lattices}
        inner = [Lattice(x.first, x.steps[:-1], x.lists) for x in lattices]
        if len(outer) > 1 or any(x.last >= s for x in inner for _, s in outer):
            break
        # the outermost axis is the same in all views, and its repetitions do not overlap: each
        # shows as much as the first
        lattices, factor = inner, factor * outer.pop()[0]
    # one bit stands for a block that every view shows whole or not at all
    block = math.gcd(*(x.block for x in lattices))
    if any(x.last // max(block, 1) >= MOST_PLACES for x in lattices):
        return None
    mask = 0
    for x in lattices:
        mask |= x.places(block)
    return mask.bit_count() * block * factor


class Unions:
    """Shares of tensors that several views show."""

    def __init__(self, makers: Mapping[Value, Node]) -> None:
        """Store the nodes that make views."""
        # a share that differs between two choices of extents depends on them
        self.probes = Placements(makers, 1), Placements(makers, 3)

    def is_repeated(self, v: Value, root: Value) -> bool:
        """Return True if a view may show elements several times."""
        while v is not root:
            node = self.probes[0].makers.get(v)
            source = node.inputs[0] if node is not None and node.inputs else None
            if node is None or source is None or isinstance(node.op, Expand | Gather):
                return True
            v = source
        return False

    def share(self, root: Value, views: Collection[Value]) -> Fraction | None:
        """Return the share of the elements of ``root`` that views show together.

        None where it is not known, or depends on extents.
        """
        # its import takes decimal arithmetic along, which only models with such views need
        from fractions import Fraction

        shares = set[Fraction]()
        for probe in self.probes:
            try:
                axes = [probe.of(v, root) for v in views]
            except (ArithmeticError, LookupError, TypeError, ValueError):
                return None  # operands that do not fit their operator
            shape, placed = probe.shape(root), [a for a in axes if a is not None]
            count = united(placed) if len(placed) == len(axes) else None
            if shape is None or count is None:
                return None
            shares.add(Fraction(count, math.prod(shape) or 1))
            # no symbol was met: the second probe would give the same
            if not probe.env:
                break
        return shares.pop() if len(shares) == 1 else None
