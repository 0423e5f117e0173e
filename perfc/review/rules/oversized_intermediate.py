"""PF301: a large tensor that is written and read once."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Value
from perfc.passes.memory.residency import capacity
from perfc.review.lint.rule import Finding, Rule, Subject
from perfc.view.report.units import size_text

RATIO = 2.0
"""Minimum ratio of an intermediate to the bytes around it: at 2, writing and reading it are four
fifths of the traffic."""


class OversizedIntermediate(Rule):
    """An intermediate that exceeds the L2 cache and dominates the traffic around it.

    What it does:
        Follows a tensor that one kernel writes and one other reads, through kernels that pass on
        as many bytes, and compares it with the other traffic of the first and the last kernel.
        Reports it if the L2 cache cannot hold it and it is more than twice as large as that
        traffic. The gain is that of one kernel that keeps it on chip, without recomputation at
        the borders of tiles.

    Why is this bad:
        It is written to device memory and read back although its parts are used once and in
        order; computed in tiles it stays on chip.

    Example:
        y = MatMul(Softmax(MatMul(q, k)), v)   # scores [batch, heads, n, n]

    Use instead:
        y = Attention(q, k, v)                 # opset 23; tiled, with an online softmax

    Source:
        Dao et al. 2022, arXiv:2205.14135 (FlashAttention), section 3.1.
    """

    code = "PF301"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the chain of kernels around each large tensor."""
        l2_bytes = capacity(subject.report.machine, "l2")
        seen: set[Value] = set()
        for i, bound in enumerate(subject.kernels):
            for v in bound.kernel.writes:
                size = subject.nbytes(v)
                if v in seen or size is None or size <= l2_bytes:
                    continue
                chain, passed = followed(subject, i, v, size)
                seen.update(passed)
                around = surroundings(subject, chain, passed)
                if len(chain) < 2 or around is None or size <= RATIO * around:
                    continue
                nodes = [n for j in chain for n in subject.kernels[j].kernel.nodes]
                gain = subject.fusing([chain], (self.code, subject.shape_key(nodes)))
                ratio = f"{size / around:.0f}x" if around else "more than"
                message = (
                    f"{v.type} takes {size_text(size)}, {ratio} what the "
                    f"{len(chain)} kernels around it read and write otherwise"
                )
                is_attention = any(n.op.kind is Kind.SOFTMAX for n in nodes)
                fused = "a fused operator (Attention, opset 23)" if is_attention else ""
                advice = f"{fused or 'computing it in tiles'} keeps it on chip"
                yield self.finding(message, advice, nodes=nodes, tensor=v.name, gain=gain)


def followed(subject: Subject, start: int, v: Value, size: int) -> tuple[list[int], list[Value]]:
    """Return the kernels that produce a tensor, pass it on in equal size, and read it last."""
    chain, passed = [start], [v]
    while True:
        readers = subject.readers.get(v, ())
        # a reader that is not later, as in a loop, would make the chain endless
        if v in subject.outputs or len(readers) != 1 or readers[0] <= chain[-1]:
            return chain, passed
        chain.append(readers[0])
        kernel = subject.kernels[readers[0]].kernel
        passed_on = [w for w in kernel.writes if subject.nbytes(w) == size]
        if len(kernel.writes) != 1 or not passed_on:
            return chain, passed
        v = passed_on[0]
        passed.append(v)


def surroundings(subject: Subject, chain: list[int], passed: list[Value]) -> int | None:
    """Return the bytes that kernels read and write besides the tensors passed between them.

    None if the size of one is unknown.
    """
    inside = set(passed)
    around: set[Value] = set()
    for i in chain:
        kernel = subject.kernels[i].kernel
        around.update(v for v in (*kernel.reads, *kernel.writes) if v not in inside)
    # a last tensor that is a result of the model leaves the chain, so that it is traffic too
    last = passed[-1]
    if not subject.readers.get(last) or last in subject.outputs:
        around.add(last)
    sizes = [subject.nbytes(v) for v in around]
    return None if None in sizes else sum(s for s in sizes if s is not None)
