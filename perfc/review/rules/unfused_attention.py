"""PF503: attention of a trace that runs as products and a softmax."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from perfc.measuring.trace.classes import TracedClass
from perfc.passes.roofline.ceilings import LaunchCounts
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedExecution, TracedSubject, TraceRule, amount, total_ns

BETWEEN = 6
"""Maximum operators between a product and the softmax, as scale, mask and conversion."""
_INNER = (TracedClass.ELEMENTWISE, TracedClass.COPY, TracedClass.GATHER)
"""Classes of the operators between a product and the softmax."""


class UnfusedAttention(TraceRule):
    """Attention of a trace that runs as two products and a softmax.

    What it does:
        Finds a batched product, a softmax and a batched product on a stream with at most six
        elementwise operators or copies before and after the softmax. They save at most their time
        less the lower bound of one kernel that does both products, reads queries and keys and
        writes the result.

    Why is this bad:
        The scores are as large as the square of the length, and pass memory after each operator.

    Example:
        torch.softmax(q @ k.mT * scale, -1) @ v

    Use instead:
        torch.nn.functional.scaled_dot_product_attention(q, k, v)

    Source:
        Dao et al., FlashAttention (2022).
    """

    code = "PF503"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield a finding for each pair of products."""
        places: dict[tuple[str, ...], list[list[TracedExecution]]] = {}
        for stream in subject.streams:
            softmaxes = (
                at for at, e in enumerate(stream) if e.what.class_name is TracedClass.SOFTMAX
            )
            for at in softmaxes:
                first, last = product(stream, at, -1), product(stream, at, 1)
                if first is not None and last is not None:
                    part = stream[first : last + 1]
                    places.setdefault(tuple(e.what.name for e in part), []).append(part)
        for names, parts in places.items():
            rows = [(1, total_ns(part), part[0].what.shapes) for part in parts]
            floor_s = math.fsum(subject.fused_s(part, fused) for part in parts)
            yield self.at(
                " → ".join(names),
                f"attention as {len(names)} operators: {amount(rows)}",
                "use scaled_dot_product_attention, or another fused kernel",
                subject.saves(sum(ns for _, ns, _ in rows), floor_s),
            )


def product(stream: list[TracedExecution], at: int, way: int) -> int | None:
    """Return the place of the batched product before or after a softmax; None without one.

    ``at`` is the place of the softmax; ``way`` is -1 to look before it, 1 to look after it.
    """
    for step in range(1, BETWEEN + 2):
        place = at + way * step
        if not 0 <= place < len(stream):
            return None
        operator = stream[place].what
        if operator.class_name is TracedClass.MATMUL:
            # the product of a linear layer is none: its weights have two axes
            return place if sum(len(t.sizes) > 2 for t in operator.tensors) > 1 else None
        if operator.class_name not in _INNER:
            return None
    return None


def fused(a: LaunchCounts, b: LaunchCounts) -> LaunchCounts:
    """Return the counts of one kernel with both products.

    It reads what the first product reads and writes what the second one writes.
    """
    return replace(
        a, mac=a.mac + b.mac, floor_mac=a.floor_mac + b.floor_mac, write_bytes=b.write_bytes
    )
