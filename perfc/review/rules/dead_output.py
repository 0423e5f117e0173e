"""PF105: unused results."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Node, captured
from perfc.ir.ops import GRU, LSTM, RNN, BatchNormalization, Dropout, LayerNormalization, MaxPool
from perfc.review.lint.fixes.edit import Remove, Unname
from perfc.review.lint.rule import Finding, Rule, Saves, Subject

WITH_OPTIONAL = (MaxPool, Dropout, LayerNormalization, BatchNormalization, LSTM, GRU, RNN)
"""Operators with optional outputs."""


class DeadOutput(Rule):
    """A node with unused results, or an optional output that nothing reads.

    What it does:
        Finds nodes that lead to no output of the graph, and named optional outputs (indices of a
        MaxPool, mask of a Dropout, statistics of a normalization) without a reader.

    Why is this bad:
        A runtime removes dead nodes at load time, but it computes and writes a named optional
        output, and fused kernels often cannot produce it.

    Example:
        y, indices = MaxPool(x)        # indices is never read

    Use instead:
        y = MaxPool(x)

    Source:
        ONNX IR specification, optional outputs.
    """

    code = "PF105"
    is_fixable = True

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield dead nodes of the file, and unread outputs of the executed nodes."""
        yield from self._nodes(subject)
        graph = subject.graph
        for node in graph:
            if not isinstance(node.op, WITH_OPTIONAL) or node.op.kind is Kind.CONTROL:
                continue
            for i, v in enumerate(node.outputs):
                is_read = v is None or v in graph.users or v in graph.outputs
                # of a node with one result, that result is needed, or the node is dead
                if i < node.op.least_results or v is None or is_read or len(node.results) < 2:
                    continue
                edits = (Unname(node, i),)
                gain = subject.rewriting(edits, (self.code, i, subject.shape_key((node,))))
                message = f"output {i} of {node.loc.op_type or node.op.mnemonic} is never read"
                advice = "do not ask for it"
                yield self.finding(
                    message, advice, nodes=(node,), tensor=v.name, gain=gain, edits=edits
                )

    def _nodes(self, subject: Subject) -> Iterator[Finding]:
        """Yield nodes of the file that lead to no output, the last first."""
        graph = subject.file
        needed = set(graph.outputs)
        dead: list[Node] = []
        for node in reversed(graph.nodes):
            if any(v in needed for v in node.results):
                needed.update(v for v in node.inputs if v is not None)
                needed |= captured(node) if node.regions else set()
            elif not node.loc.is_expanded:
                dead.append(node)
        for node in dead:
            message = f"{node.loc.op_type or node.op.mnemonic} leads to no output"
            yield self.finding(
                message,
                "remove it",
                nodes=(node,),
                gain=subject.nothing(),
                saves=Saves.LOADING,
                edits=(Remove(node),),
            )
