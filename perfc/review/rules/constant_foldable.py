"""PF104: nodes with the same result in every run."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Node, TensorType, Value
from perfc.ir.ops import Identity
from perfc.passes.rewriting.canonicalize import NEVER_FOLDED
from perfc.review.lint.fixes.edit import ReadInstead, Store
from perfc.review.lint.rule import Finding, Rule, Saves, Severity, Subject
from perfc.view.report.units import plural

MAX_BYTES = 1 << 16
"""Maximum bytes of a result that a fix stores; a larger one would make the file grow."""


class ConstantFoldable(Rule):
    """A subgraph that depends on stored tensors only.

    What it does:
        Finds nodes whose results depend only on stored tensors or on constant extents, and groups
        connected ones.

    Why is this bad:
        Runtimes fold such nodes at load time, so removing them does not make a run faster. But
        every load pays for them, the graph is harder to read, and tools without constant folding
        count their operations.

    Example:
        scale = Sqrt(Constant(64.0))
        y = Div(x, scale)

    Use instead:
        y = Div(x, 8.0)

    Source:
        ONNX Runtime graph optimizations, constant folding.
    """

    code = "PF104"
    saves = Saves.LOADING
    severity = Severity.NOTE
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield connected groups of constant nodes in the main graph."""
        graph = subject.file
        constant: set[Value] = set()
        order: dict[Node, int] = {}
        group_of: dict[Node, list[Node]] = {}
        for node in graph:
            if node.loc.is_expanded or not is_constant(node, constant, subject.has_values):
                continue
            constant.update(node.results)
            order[node] = len(order)
            joined = group_of[node] = [node]
            for v in node.inputs:
                maker = graph.producers.get(v) if v is not None else None
                other = group_of.get(maker) if maker is not None else None
                if other is not None and other is not joined:
                    # the smaller group moves, so that a node moves log(n) times at most
                    is_longer = len(joined) > len(other)
                    joined, smaller = (joined, other) if is_longer else (other, joined)
                    joined.extend(smaller)
                    group_of.update(dict.fromkeys(smaller, joined))
        groups = list({id(g): g for g in group_of.values()}.values())
        aliases = [g[0] for g in groups if is_alias(g)]
        if aliases:
            yield self._aliases(subject, aliases)
        for group in groups:
            if not is_alias(group):
                yield self._finding(subject, sorted(group, key=order.__getitem__))

    def _aliases(self, subject: Subject, nodes: list[Node]) -> Finding:
        """Report all renamed stored tensors in one finding."""
        given_back = set(subject.file.outputs)
        pairs = ((n.results[0], n.inputs[0]) for n in nodes)
        edits = [ReadInstead(v, w) for v, w in pairs if w is not None and v not in given_back]
        count = f"{len(nodes)} Identity node{'s' if len(nodes) > 1 else ''}"
        return self.finding(
            f"{count} only rename stored tensors",
            "read the stored tensors themselves",
            nodes=nodes,
            gain=subject.nothing(),
            edits=edits,
        )

    def _finding(self, subject: Subject, group: list[Node]) -> Finding:
        """Return the finding of one group, whose nodes are in the order of the file."""
        members = set(group)
        given_back = set(subject.file.outputs)
        ends = [
            v
            for n in group
            for v in n.results
            if v in given_back or any(u not in members for u in subject.file.users.get(v, ()))
        ]
        sizes = [subject.nbytes(v) for v in ends]
        is_small = all(s is not None and s <= MAX_BYTES for s in sizes)
        read = {v.weight for n in group for v in n.inputs if v is not None and v.weight is not None}
        # external weights are never read, so nothing can be computed from them
        is_inside = not any(w.location for w in read)
        is_safe = is_small and is_inside and bool(ends) and not any(v in given_back for v in ends)
        names = list(dict.fromkeys(n.loc.op_type or n.op.mnemonic for n in group))
        # four operators are enough to recognize the place
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        compute = "computes" if len(group) == 1 else "compute"
        return self.finding(
            f"{plural(len(group), 'node')} ({shown}) {compute} the same in every run",
            "store the result",
            nodes=group[::-1],  # the place of the finding is the last node, which has the result
            gain=subject.nothing(),
            edits=(Store(tuple(ends)),) if is_safe else (),
        )


def is_alias(group: list[Node]) -> bool:
    """Return True if a group is one Identity, which only renames a stored tensor."""
    return len(group) == 1 and isinstance(group[0].op, Identity)


def is_constant(node: Node, constant: set[Value], has_values: bool) -> bool:
    """Return True if a node's results depend only on stored tensors or constant extents."""
    if node.op.kind in NEVER_FOLDED or node.regions or not node.results:
        return False
    if not all(isinstance(v.type, TensorType) and v.type.is_static for v in node.results):
        return False
    present = [v for v in node.inputs if v is not None]
    if present and all(v.weight is not None or v in constant for v in present):
        return True
    # with given contents of inputs, an extent is known but not the same in every run
    if node.op.kind is not Kind.SHAPE or has_values:
        return False
    return all(v.known is not None and v.known.ints is not None for v in node.results)
