"""Protocols that hold rows out: fixed before anything is trained, the same for every class.

- Unseen shapes: rows are grouped by some of their shape parameters, and a group is held out when
  ``zlib.crc32(repr(group)) % 5`` is the fold. Fold 0 is reported; 1 and 2 are checks. For small
  tables one figure over all five folds is reported, each fold tested by a training without it.
- Unseen groups: all rows that share parameters, such as those of one model, are held out whole.
  Groups are dealt out in their order to a few parts, each of which is tested.
- Leave one machine out: no row of that machine is seen; a second figure also leaves out the other
  machines of its chip.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.record import frozen

from ..data.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDS = 5
"""Folds of unseen shapes, each of which is tested once."""
TWINS: tuple[frozenset[str], ...] = (
    frozenset({"h100-sxm5-80gb", "h200-sxm-141gb"}),
    frozenset({"b200-sxm-180gb", "gb200"}),
    frozenset({"a100-sxm4-80gb", "a100-sxm4-40gb", "a100-pcie-80gb", "a100-pcie-40gb"}),
)
"""Groups of machines with the same chip."""


@frozen
class UnseenShapes:
    """One fold of groups of shapes.

    Args:
        group: shape parameters; rows with equal values of them are one group.
        fold: number of the tested fold.
        parts: number of folds.
    """

    group: tuple[str, ...]
    fold: int = 0
    parts: int = FOLDS

    @property
    def name(self) -> str:
        """Return the name of the protocol in cards and tables."""
        of = "" if self.parts == FOLDS else f" of {self.parts}"
        return shapes_name(self.group, f"fold {self.fold}{of}")

    def held_out(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are not trained on."""
        mask: NDArray[np.bool_] = folds(rows, self.group, self.parts) == self.fold
        return mask


def shapes_name(group: tuple[str, ...], which: str) -> str:
    """Return the name of one or all folds of unseen shapes, for cards and tables.

    >>> shapes_name(("n", "k"), "every fold")
    'unseen (n, k), every fold'
    """
    return f"unseen ({', '.join(group)}), {which}"


def every_fold(group: tuple[str, ...]) -> tuple[UnseenShapes, ...]:
    """Return all folds, so that every row is tested once."""
    return tuple(UnseenShapes(group, fold) for fold in range(FOLDS))


@frozen
class UnseenGroups:
    """Whole groups of rows that share parameters.

    Args:
        group: names of the parameters.
        values: values of the parameters in each held-out group.
    """

    group: tuple[str, ...]
    values: frozenset[tuple[float, ...]]

    @property
    def name(self) -> str:
        """Return the name of the protocol in messages."""
        return f"{len(self.values)} unseen ({', '.join(self.group)})"

    def held_out(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are not trained on."""
        is_held_out: NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
        for values in self.values:
            each = zip(self.group, values, strict=True)
            is_held_out |= np.logical_and.reduce(
                [rows.columns[name] == value for name, value in each]
            )
        return is_held_out


def dealt(blocks: Sequence[Rows], group: tuple[str, ...], parts: int) -> tuple[UnseenGroups, ...]:
    """Return the groups of all rows, sorted and dealt in turn to at most ``parts`` parts."""
    keys = [np.stack([block.columns[name] for name in group], axis=1) for block in blocks]
    each = np.unique(np.concatenate(keys), axis=0).tolist()
    return tuple(
        UnseenGroups(group, frozenset(tuple(values) for values in each[part::parts]))
        for part in range(min(parts, len(each)))
    )


@frozen
class UnseenMachine:
    """One tested machine; with ``twins``, other machines of its chip are not trained on either."""

    target: str
    twins: bool = False

    @property
    def name(self) -> str:
        """Return the name of the protocol in cards and tables."""
        return f"unseen machine {self.target}{' and its twins' if self.twins else ''}"

    def held_out(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are not trained on, but tested."""
        return np.full(len(rows), rows.target == self.target)

    def dropped(self, rows: Rows) -> bool:
        """Return True if a block is neither trained on nor tested."""
        return self.twins and rows.target != self.target and rows.target in same_chip(self.target)


# ways of holding rows out
Holdout = UnseenShapes | UnseenGroups | UnseenMachine


@frozen
class BlockSplit:
    """Blocks to train on, and blocks to test on."""

    train: list[Rows] = field(default_factory=list)
    test: list[Rows] = field(default_factory=list)


def same_chip(target: str) -> frozenset[str]:
    """Return a machine and all others with its chip."""
    return next((group for group in TWINS if target in group), frozenset({target}))


def split(blocks: Sequence[Rows], holdout: Holdout) -> BlockSplit:
    """Return the blocks cut into rows to train on and rows to test; empty parts are left out."""
    result = BlockSplit()
    for block in blocks:
        if isinstance(holdout, UnseenMachine) and holdout.dropped(block):
            continue
        # a block may have rows on both sides
        out = holdout.held_out(block)
        if not out.all():
            result.train.append(block.take(~out))
        if out.any():
            result.test.append(block.take(out))
    return result


def folds(rows: Rows, group: tuple[str, ...], parts: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of every row, by the shape parameters that make its group.

    Args:
        rows: rows of one block.
        group: names of the parameters.
        parts: number of folds; another number than five gives folds that are independent of the
            five folds of tests.
    """
    keys = np.stack([rows.columns[name] for name in group], axis=1).astype(np.int64)
    unique, back = np.unique(keys, axis=0, return_inverse=True)
    checksums = [zlib.crc32(repr(tuple(map(int, key))).encode()) for key in unique]
    # the remainder is the fold of five that tests a group; the quotient is independent of it
    result = [c % FOLDS if parts == FOLDS else c // FOLDS % parts for c in checksums]
    return np.array(result, np.int64)[back.reshape(-1)]


def targets(blocks: Sequence[Rows]) -> tuple[str, ...]:
    """Return the machines, sorted."""
    return tuple(sorted({block.target for block in blocks}))
