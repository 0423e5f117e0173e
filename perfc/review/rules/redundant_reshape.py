"""PF102: redundant reshapes."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Node, Value, same
from perfc.ir.ops import Flatten, Reshape, Squeeze, Unsqueeze
from perfc.review.lint.fixes.edit import ReadInstead, Rewire
from perfc.review.lint.rule import Finding, Rule, Subject

VIEWS = (Reshape, Flatten, Squeeze, Unsqueeze)
"""Operators that move nothing, so that only the last of a chain counts."""


class RedundantReshape(Rule):
    """A reshape of a reshape, or one to the same shape.

    What it does:
        Finds Reshape, Flatten, Squeeze and Unsqueeze whose result has the shape of their operand,
        or of the operand of the views before them. Also finds a Reshape of a Reshape whose target
        shape copies no extent of the operand.

    Why is this bad:
        A reshape moves no data, but runtimes still schedule it, and it prevents fusion patterns
        from matching adjacent operators.

    Example:
        y = Reshape(Unsqueeze(x, [1]), shape_of_x)

    Use instead:
        y = x

    Source:
        ONNX Reshape-25; a reshape preserves the row-major order of elements.
    """

    code = "PF102"
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield redundant views among the executed nodes; one finding per chain."""
        reported: set[Node] = set()
        for node in reversed(subject.graph.nodes):
            if node in reported or not is_view(node):
                continue
            chain = views_before(subject, node)
            finding = self._undone(subject, chain) or self._repeated(subject, chain)
            if finding is not None:
                reported.update(chain)
                yield finding

    def _undone(self, subject: Subject, chain: list[Node]) -> Finding | None:
        """Return the finding of views that restore the shape of an operand, the longest run."""
        last = chain[0].results[0]
        for i in reversed(range(len(chain))):
            source = chain[i].inputs[0]
            if source is None or not is_same_shape(last, source):
                continue
            edits = (ReadInstead(last, source),)
            nodes = chain[: i + 1]
            what = "does not change the shape" if i == 0 else f"and {i} before it cancel out"
            message = f"{nodes[0].loc.op_type or nodes[0].op.mnemonic} {what}: {source.type}"
            advice = "drop it" if i == 0 else "drop them"
            return self.rewriting(subject, nodes, edits, message, advice)
        return None

    def _repeated(self, subject: Subject, chain: list[Node]) -> Finding | None:
        """Return the finding of a Reshape after views that it makes superfluous."""
        node = chain[0]
        if len(chain) < 2 or not isinstance(node.op, Reshape) or not states_shape(node):
            return None
        source, target = chain[-1].inputs[0], node.inputs[1]
        if any(subject.lone_reader(n.results[0]) is None for n in chain[1:]):
            return None
        edits = (Rewire(node, (source, target)),)
        message = f"Reshape of {len(chain) - 1} view{'s' if len(chain) > 2 else ''}"
        return self.rewriting(subject, chain, edits, message, "reshape once")


def is_view(node: Node) -> bool:
    """Return True if a node only changes the shape."""
    return isinstance(node.op, VIEWS) and node.op.kind is Kind.VIEW and bool(node.results)


def views_before(subject: Subject, node: Node) -> list[Node]:
    """Return the node and the chain of views before it, last first."""
    chain = [node]
    while (source := chain[-1].inputs[0]) is not None:
        maker = subject.graph.producers.get(source)
        if maker is None or not is_view(maker):
            break
        chain.append(maker)
    return chain


def states_shape(node: Node) -> bool:
    """Return True if a reshape's target is a stored tensor that copies no extent."""
    target = node.inputs[1] if len(node.inputs) > 1 else None
    if target is None or target.weight is None or target.known is None:
        return False
    ints = target.known.ints
    return ints is not None and 0 not in ints  # 0 copies the extent of the operand


def is_same_shape(a: Value, b: Value) -> bool:
    """Return True if two values have the same shape for all symbol values."""
    left, right = a.shape, b.shape
    if left is None or right is None or len(left) != len(right):
        return False
    return all(same(x, y) is True for x, y in zip(left, right, strict=True))
