"""Patterns of several operators that runtimes run as one kernel, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import cast

from perfc.common.fitted import data_next_to
from perfc.ir import Kind, Node, entity, record

from ..runtimes import Runtime
from .neighbourhood import Neighbourhood


@entity
class FusionUnit:
    """Nodes that fuse into one kernel, or stay separate.

    Args:
        tag: name of the result, such as ``gelu``; the mnemonic of a single node.
        kind: class of kernel.
        members: all nodes.
        folded: members that are merged into stored tensors at load time: no work, no traffic.
    """

    tag: str
    kind: Kind
    members: frozenset[Node]
    folded: frozenset[Node] = frozenset()

    @property
    def is_one_call(self) -> bool:
        """Return True if all members are parts of one call of a PyTorch program."""
        return len({node.loc.call for node in self.members}) == 1


Members = Collection[Node]
Finder = Callable[[Node, Neighbourhood], "Members | None"]


@record
class Pattern:
    """A pattern and the search for it.

    Args:
        starts: mnemonics or kinds of nodes at which a search begins, in order.
        place: module and name of the function that returns the members around a node, or None
            without a match; the function is only imported for models with a node in ``starts``.
        tag: name of the unit.
        kind: kind of kernel of the unit.
        folds: whether all members but the first are merged into stored tensors.
    """

    starts: Iterable[str | Kind]
    place: str
    tag: str
    kind: Kind
    folds: bool = False


@cache
def finder(place: str) -> Finder:
    """Return the function at ``module.name`` of this package."""
    module, _, name = place.partition(".")
    return cast("Finder", getattr(import_module(f".{module}", __package__), name))


SLICE_UPDATE = "slice_update"
"""An assignment to a slice, written as a scatter."""
ADD_RELU = "add_relu"
"""An addition and a ReLU, which are one kernel only together with the convolution before."""
JOINED = "joined_products"
"""Products of one tensor with several matrices, as of Q, K and V."""


def _pattern(
    name: str, starts: str, find: str, kind: str, *, tag: str | None = None, folds: bool = False
) -> Pattern:
    """Return the pattern of a row of ``patterns.toml``."""
    # without ``starts``, a search begins at nodes of every kind
    nodes = [Kind[word] if word.isupper() else word for word in starts.split()]
    tag = name if tag is None else tag
    return Pattern(nodes or list(Kind), find, tag, Kind[kind.upper()], folds)


PATTERNS: Mapping[str, Pattern] = {
    name: _pattern(name, **row) for name, row in data_next_to(__file__).items()
}
"""Every pattern by the name that the tables of the runtimes use."""


def find_patterns(
    nodes: Sequence[Node], near: Neighbourhood, names: Sequence[str], by_call: bool = False
) -> dict[Node, FusionUnit]:
    """Return the unit of every node in a pattern; patterns earlier in ``names`` win.

    Args:
        nodes: nodes that may be in a pattern, in order.
        near: their producers and readers.
        names: patterns to look for.
        by_call: whether all nodes of a pattern must be parts of one call of a program, as for a
            runtime that launches every call; an assignment to a slice is of several.
    """
    starting: dict[str | Kind, list[Node]] = {}
    # nodes by mnemonic and by kind, so that each search looks only where it can begin
    wanted = {s for name in names for s in PATTERNS[name].starts}
    for node in nodes:
        for key in (node.op.mnemonic, node.op.kind):
            if key in wanted:
                starting.setdefault(key, []).append(node)
    units: dict[Node, FusionUnit] = {}
    for name in names:
        pattern = PATTERNS[name]
        for key in pattern.starts:
            for node in starting.get(key, ()):
                if node not in units:
                    unit = _unit(pattern, node, near, units)
                    if unit and by_call and name != SLICE_UPDATE and not unit.is_one_call:
                        continue
                    units.update(dict.fromkeys(unit.members, unit) if unit else {})
    return units


def _unit(
    pattern: Pattern, node: Node, near: Neighbourhood, units: Mapping[Node, FusionUnit]
) -> FusionUnit | None:
    """Return the match of a pattern at a node; None if a member is not free, or there is none."""
    members = finder(pattern.place)(node, near)
    # a single node is no fusion, but an assignment to a slice costs less than the scatter it is
    if members is None or len(members) < (1 if pattern.tag == SLICE_UPDATE else 2):
        return None
    nodes = frozenset(members)
    if any(m in units for m in nodes) or any(m not in near.inside for m in nodes):
        return None
    folded = nodes - {node} if pattern.folds else frozenset[Node]()
    # a pattern of these kinds may have any operators, and takes the kind of the heaviest
    kind = pattern.kind
    if kind in (Kind.QUANTIZE, Kind.OPAQUE):
        kind = max(nodes, key=Runtime.rank).op.kind
    return FusionUnit(pattern.tag, kind, nodes, folded)
