"""PF901: operators whose cost nobody knows."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.graph import Node
from perfc.lint.finding import Finding, Saves
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.passes.cost import Tier


class OpaqueOperator(Rule):
    """An operator whose cost is not known.

    What it does:
        Finds operators of which only the bytes are known, or not even these: custom domains
        without a function body, shapes and types that could not be inferred.

    Why is this bad:
        All totals of the model become lower bounds, no fusion reaches across the operator, and
        a runtime without its kernel does not run the model.

    Example:
        acme::FancyNorm(x)

    Use instead:
        the standard operators it is made of, or a model-local function with that body

    Source:
        ONNX IR specification, functions.
    """

    code = "PF901"
    saves = Saves.KNOWLEDGE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Operators by name, each with its first node."""
        found: dict[tuple[str, Tier], list[Node]] = {}
        for node, cost in subject.report.cost.nodes.items():
            if cost.tier in (Tier.BYTES, Tier.UNKNOWN):
                name = node.loc.op_type or node.op.mnemonic
                found.setdefault((name, cost.tier), []).append(node)
        for (name, tier), nodes in found.items():
            known = "only its bytes are known" if tier is Tier.BYTES else "not even its bytes are"
            count = f" x{len(nodes)}" if len(nodes) > 1 else ""
            yield self.finding(
                f"nobody knows what {name}{count} costs: {known}",
                "give it a function body, or write it in standard operators",
                nodes=nodes,
            )
