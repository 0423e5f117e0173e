"""Fusion group under construction: nodes that `Grouping` joins until they are one kernel."""

from __future__ import annotations

from perfc.ir import Kind, Node

from .kernel import HOST


class Group:
    """A fusion group under construction.

    ``level`` is always above that of every group it reads; so if one group can be reached from
    another, directly or through other groups, it has the higher level of the two.

    ``index`` counts groups in the order of the file. ``anchor`` is the node that gives the kernel
    its name, ``kind`` the kind by which it fuses further: that of the anchor or of the matched
    pattern. ``pattern`` is the name of the match, "" if none.

    ``reads`` has the groups that compute the operands, ``is_read`` is True once another group reads
    it, ``into`` is the group that it was merged into. ``is_host`` is True if it launches nothing.

    ``folded`` are nodes that merge into stored tensors at load time, as a normalization into the
    filters of a convolution. ``assigned`` are scatters that assign to a slice in place.
    """

    __slots__ = (
        "anchor",
        "assigned",
        "folded",
        "index",
        "into",
        "is_host",
        "is_read",
        "kind",
        "level",
        "nodes",
        "pattern",
        "reads",
    )

    def __init__(self, index: int, kind: Kind, anchor: Node, level: int, pattern: str) -> None:
        self.index, self.kind, self.anchor, self.level = index, kind, anchor, level
        self.pattern = pattern
        self.nodes: list[Node] = []
        self.reads: set[Group] = set()
        self.folded: frozenset[Node] = frozenset()
        self.assigned: frozenset[Node] = frozenset()
        self.is_host = anchor.op.kind in HOST
        self.is_read = False
        self.into: Group | None = None

    def final(self) -> Group:
        """Return the group into which this one was merged; itself if it was not merged."""
        group = self
        while group.into is not None:
            group = group.into
        return group
