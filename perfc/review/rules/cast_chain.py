"""PF404: chained type conversions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perfc.common.fitted import data_next_to
from perfc.ir import DType, Node, Value
from perfc.ir.ops import Cast
from perfc.review.lint.fixes.edit import Edit, ReadInstead, Rewire
from perfc.review.lint.rule import Finding, Rule, Subject

HOLDS: Mapping[str, str] = data_next_to(__file__)
"""By an element type, the types that represent all of its values, separated by spaces: a conversion
through one of them is exact."""


class CastChain(Rule):
    """A type conversion of another conversion, or one to the same type.

    What it does:
        Finds a Cast to the type of its operand, and a Cast whose operand is the result of a Cast.

    Why is this bad:
        Each conversion that is not fused reads and writes the whole tensor. If the intermediate
        type represents every value of the first one, one conversion gives the same bits.

    Example:
        y = Cast(Cast(x_f16, to=FLOAT), to=FLOAT16)

    Use instead:
        y = x_f16

    Source:
        ONNX Cast-25; IEEE 754-2019 section 5.4.2: widening conversions are exact.
    """

    code = "PF404"
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield conversion chains among the executed nodes."""
        for node in subject.graph:
            source, to = operand(node), dtype_of(node.results[0]) if node.results else None
            if source is None or to is None:
                continue
            edits: tuple[Edit, ...]
            if dtype_of(source) is to:
                edits = (ReadInstead(node.results[0], source),)
                chain = f"Cast to {to}, the type of its operand"
                yield self.rewriting(subject, (node,), edits, chain, "drop it")
                continue
            before = subject.graph.producers.get(source)
            first = operand(before) if before is not None else None
            if before is None or first is None:
                continue
            old, between = dtype_of(first), dtype_of(source)
            if old is None or between is None or old is between:
                continue
            # a float out of an integer's range becomes another number for each pair of types: one
            # conversion may give another result than two
            widened = between.code in HOLDS.get(old.code, "").split()
            is_exact = widened and not (old.is_float and to.is_integer)
            if not is_exact:
                continue
            edits, advice = (ReadInstead(node.results[0], first),), "drop it"
            if old is not to:
                edits, advice = (Rewire(node, (first, *node.inputs[1:])),), "convert once"
            chain = f"Cast {old} → {between} → {to}"
            yield self.rewriting(subject, (node, before), edits, chain, advice)


def operand(node: Node) -> Value | None:
    """Return the operand of a Cast; None for any other node."""
    return node.inputs[0] if isinstance(node.op, Cast) and node.inputs else None


def dtype_of(v: Value) -> DType | None:
    """Return the element type of a tensor, None if unknown."""
    dtype = v.dtype
    return None if dtype is DType.UNKNOWN else dtype
