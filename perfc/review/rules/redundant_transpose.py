"""PF101: redundant transpositions."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Node, TensorType
from perfc.ir.ops import Transpose
from perfc.review.lint.fixes.edit import Edit, ReadInstead, Rewire
from perfc.review.lint.rule import Finding, Rule, Subject


class RedundantTranspose(Rule):
    """A transposition of a transposition, or the identity.

    What it does:
        Finds a Transpose that does not change the order of the axes, and a Transpose whose operand
        is the result of a Transpose.

    Why is this bad:
        Each transposition that the runtime does not remove reads and writes the whole tensor. Two
        consecutive ones can be merged into at most one.

    Example:
        y = Transpose(Transpose(x, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2])

    Use instead:
        y = x

    Source:
        ONNX Transpose-25; permutations compose.
    """

    code = "PF101"
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield pairs and identities among the executed nodes."""
        for node in subject.graph:
            perm = permutation(node)
            source = node.inputs[0] if node.inputs else None
            if perm is None or source is None or not node.results:
                continue
            before = subject.graph.producers.get(source)
            first = permutation(before) if before is not None else None
            if perm == tuple(range(len(perm))):
                edits: tuple[Edit, ...] = (ReadInstead(node.results[0], source),)
                what = "Transpose keeps the order of the axes"
                yield self.rewriting(subject, (node,), edits, what, "drop it")
            elif before is not None and first is not None and len(first) == len(perm):
                yield self._pair(subject, before, node, tuple(first[p] for p in perm))

    def _pair(self, subject: Subject, first: Node, second: Node, both: tuple[int, ...]) -> Finding:
        """Return the finding of two transpositions, which compose to the permutation ``both``."""
        source = first.inputs[0]
        edits: tuple[Edit, ...]
        if both == tuple(range(len(both))) and source is not None:
            edits = (ReadInstead(second.results[0], source),)
            what, advice = "undoes", "drop both"
        else:
            edits = (Rewire(second, (source,), {"perm": both}),)
            what, advice = "follows", f"transpose once with perm={list(both)}"
        message = f"Transpose {what} the transposition {first.name!r}"
        return self.rewriting(subject, (second, first), edits, message, advice)


def permutation(node: Node) -> tuple[int, ...] | None:
    """Return the permutation of a Transpose; None for any other node."""
    if not isinstance(node.op, Transpose) or not node.inputs or node.inputs[0] is None:
        return None
    if node.op.perm:
        return node.op.perm
    type_ = node.inputs[0].type
    rank = type_.rank if isinstance(type_, TensorType) else None
    return None if rank is None else tuple(range(rank))[::-1]  # the default reverses the axes
