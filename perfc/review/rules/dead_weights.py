"""PF303: unused stored tensors."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import captured
from perfc.review.lint.fixes.edit import Unstore
from perfc.review.lint.rule import Finding, Rule, Saves, Subject


class DeadWeights(Rule):
    """An initializer that nothing reads.

    What it does:
        Finds stored tensors that no node, no subgraph and no output of the graph refers to.

    Why is this bad:
        They make the file larger, every load reads them, and some runtimes keep them in memory.

    Example:
        an initializer "classifier.weight" that remains after the head was removed

    Use instead:
        the model without it

    Source:
        ONNX IR specification, graphs: initializers are values that nodes may read.
    """

    code = "PF303"
    saves = Saves.MEMORY
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield unread weights of the main graph."""
        graph = subject.file
        read = {v for n in graph for v in n.inputs} | set(graph.outputs)
        for node in graph:
            if node.regions:
                read |= captured(node)
        for v in graph.weights:
            if v in read or not v.is_parameter:
                continue
            size = subject.nbytes(v)
            nbytes = "of unknown size" if size is None else f"of {size:,} bytes"
            message = f"no node reads the stored tensor {nbytes}, {v.type}"
            yield self.finding(
                message,
                "remove it",
                tensor=v.name,
                gain=subject.nothing(),
                saved_bytes=size,
                edits=(Unstore(v),),
            )
