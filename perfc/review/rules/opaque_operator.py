"""PF901: operators with unknown cost."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.passes.roofline.cost import Tier
from perfc.review.lint.rule import Finding, Rule, Saves, Subject


class OpaqueOperator(Rule):
    """An operator with unknown cost.

    What it does:
        Finds operators of which at most the bytes are known: custom domains without a function
        body, and shapes or types that could not be inferred.

    Why is this bad:
        All totals of the model become lower bounds, nothing is fused across the operator, and a
        runtime without a kernel for it cannot run the model.

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
        """Yield one finding per operator name, at its first node."""
        for (name, tier), nodes in subject.report.cost.uncounted.items():
            knowledge = (
                "only its bytes are known" if tier is Tier.BYTES else "not even its bytes are"
            )
            count = f" x{len(nodes)}" if len(nodes) > 1 else ""
            yield self.finding(
                f"unknown cost of {name}{count}: {knowledge}",
                "give it a function body, or write it in standard operators",
                nodes=nodes,
            )
