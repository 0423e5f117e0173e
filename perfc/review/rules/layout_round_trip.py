"""PF103: elementwise operators between a transposition and its inverse."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Node, TensorType, Value
from perfc.review.lint.fixes.edit import Edit, ReadInstead, Rewire
from perfc.review.lint.rule import Finding, Rule, Subject

from .redundant_transpose import permutation

MAX_BETWEEN = 16
"""Maximum operators between both transpositions, which bounds the search."""


class LayoutRoundTrip(Rule):
    """A transposition and its inverse around operators that work in either layout.

    What it does:
        Finds a Transpose, one or more elementwise operators whose other operands are scalars, and
        the Transpose that restores the order of the axes.

    Why is this bad:
        Both transpositions read and write the whole tensor, and elementwise operators give the
        same elements in any order.

    Example:
        y = Transpose(Relu(Transpose(x, perm=[0, 2, 3, 1])), perm=[0, 3, 1, 2])

    Use instead:
        y = Relu(x)

    Source:
        elementwise functions commute with permutations of the elements.
    """

    code = "PF103"
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield round trips among the executed nodes."""
        for last in subject.graph:
            back = permutation(last)
            if back is None or not last.results:
                continue
            between: list[Node] = []
            v = last.inputs[0]
            while v is not None and len(between) <= MAX_BETWEEN:
                node = subject.graph.producers.get(v)
                if node is None or subject.lone_reader(v) is None:
                    break
                first_perm = permutation(node)
                if first_perm is not None:
                    if between and _undoes(first_perm, back):
                        yield self._finding(subject, node, between, last)
                    break
                v = moving_operand(node)
                between.append(node)

    def _finding(self, subject: Subject, first: Node, between: list[Node], last: Node) -> Finding:
        """Return the finding of two transpositions; ``between`` are the operators, last first."""
        source = first.inputs[0]
        assert source is not None
        start = between[-1]
        # it reads the operand of the first transposition; readers of ``last`` read the result of
        # the operator before it
        inputs = tuple(source if v is first.results[0] else v for v in start.inputs)
        edits: tuple[Edit, ...] = (
            Rewire(start, inputs),
            ReadInstead(last.results[0], between[0].results[0]),
        )
        nodes = (last, *between, first)
        names = ", ".join(n.loc.op_type or n.op.mnemonic for n in reversed(between))
        message = f"transposed for {names} by {first.name!r} and back"
        advice = "drop both transpositions"
        return self.rewriting(subject, nodes, edits, message, advice)


def _undoes(there: tuple[int, ...], back: tuple[int, ...]) -> bool:
    """Return True if two permutations of axes, one after the other, are the identity."""
    return len(there) == len(back) and all(there[p] == i for i, p in enumerate(back))


def moving_operand(node: Node) -> Value | None:
    """Return the only non-scalar operand of an elementwise node, or None."""
    if node.op.kind is not Kind.ELEMENTWISE or node.regions or len(node.results) != 1:
        return None
    # one element broadcasts to any order of the axes
    operands = [v for v in node.inputs if v and not (v.shape is not None and set(v.shape) <= {1})]
    if len(operands) != 1 or not isinstance(operands[0].type, TensorType):
        return None
    result = node.results[0].type
    shape = operands[0].type.shape
    is_same = shape is not None and isinstance(result, TensorType) and shape == result.shape
    return operands[0] if is_same else None
