"""Tensors of a file of weights, and which of them make up each weight of a lowered model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from perfc.ir import DType, cached_entity, record

from .ggml_types import GgmlType

LAYERED = re.compile(r"layers\.(?:(\d+)\.(\d+)\.(?:\d+\.)*)?(.+)")
"""Weights of a lowered model: layer, residual branch and module, or a module outside of layers."""


@record
class FileTensor:
    """A tensor of a file.

    Args:
        name: as the file has it.
        type: element type.
        elements: number of elements.
        nbytes: bytes of its data.
        shape: extents, the contracted one first; empty where tensors of single experts were added.
    """

    name: str
    type: GgmlType
    elements: int
    nbytes: int
    shape: tuple[int, ...] = ()


@record
class StoredWeight:
    """One weight of a lowered model as a file has it, in one tensor or several.

    Args:
        type: type of most of its bytes.
        elements: number of elements.
        nbytes: bytes of all elements.
        names: names of the tensors.
        is_uniform: whether all tensors have this type.
    """

    type: GgmlType
    elements: int
    nbytes: int
    names: tuple[str, ...] = ()
    is_uniform: bool = True

    @property
    def dtype(self) -> DType | None:
        """Return the element type; None for blocks of codes, or several types."""
        return self.type.dtype if self.is_uniform else None

    @property
    def bits(self) -> float:
        """Return the mean bits of an element, scales included."""
        return 8 * self.nbytes / max(self.elements, 1)

    def part(self, elements: int) -> int:
        """Return the bytes of one rank's share of the elements."""
        return -(-self.nbytes * elements // max(self.elements, 1))


@cached_entity
class WeightFile:
    """All tensors of a file.

    Args:
        tensors: by name, without the data.
        table: names of tensors, by the name of the weight that consists of them.
    """

    tensors: Mapping[str, FileTensor]
    table: Mapping[str, Sequence[str]]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the data of all tensors."""
        return sum(t.nbytes for t in self.tensors.values())

    @cached_property
    def types(self) -> Mapping[GgmlType, int]:
        """Return the bytes of each type, the largest first."""
        sums: dict[GgmlType, int] = {}
        for tensor in self.tensors.values():
            sums[tensor.type] = sums.get(tensor.type, 0) + tensor.nbytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def weight(self, name: str) -> StoredWeight | None:
        """Return a weight of the lowered model as the file stores it; None without its tensors."""
        tensors = [self.tensors[n] for n in self._names(name)]
        if not tensors:
            return None
        # the tensors of one weight may have several types
        largest = max(tensors, key=lambda t: t.nbytes).type
        return StoredWeight(
            largest,
            elements=sum(t.elements for t in tensors),
            nbytes=sum(t.nbytes for t in tensors),
            names=tuple(t.name for t in tensors),
            is_uniform=all(t.type is largest for t in tensors),
        )

    def _names(self, name: str) -> Iterator[str]:
        """Yield the names of the tensors of a weight that are in the file."""
        parts = LAYERED.fullmatch(name)
        if parts is None:
            return
        layer, residual, module = parts.groups()
        # a layer has several norms, by the number of the residual branch
        if layer is not None and module.startswith(("norm.", "after.")):
            module = f"{residual}.{module}"
        scope = "" if layer is None else f"blk.{layer}."
        # the table has either the weight itself, or its module, as ``mlp.up`` of ``mlp.up.weight``
        before, dot, last = module.rpartition(".")
        stem, suffix = (module, "") if module in self.table else (before, dot + last)
        is_found = False
        for listed in self.table.get(stem, ()):
            plain = listed.removeprefix("?")
            full = scope + plain + ("" if plain.endswith((".weight", ".bias")) else suffix)
            tensor_name = full if full in self.tensors else scope + plain
            # a mark "?" is for tensors that count only if none listed before is in the file
            if tensor_name in self.tensors and not (is_found and listed.startswith("?")):
                is_found = True
                yield tensor_name
