"""PF501: elementwise kernels of a trace that follow each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from perfc.measuring.trace.classes import TracedClass
from perfc.passes.roofline.ceilings import LaunchCounts
from perfc.review.lint.finding import Finding, Gain
from perfc.review.lint.settings import LEAST_GAIN
from perfc.review.lint.traced import (
    LaunchedOperator,
    TracedExecution,
    TracedSubject,
    TraceRule,
    amount,
    total_ns,
)

ADVICE = "fuse them (torch.compile, or a fused operator)"
"""Advice about chains of kernels."""
LONGEST = 6
"""Operators of a chain that a message names."""


class UnfusedKernels(TraceRule):
    """Chains of elementwise kernels of a trace that one kernel could replace.

    What it does:
        Finds elementwise operators that follow each other on a stream over the same number of
        elements. They save at most their time less the lower bound of one kernel that reads the
        operands of the first and writes the result of the last.

    Why is this bad:
        Each kernel reads from memory what the one before it wrote, and is one more launch.

    Example:
        y = torch.relu(x * scale + shift)                  # three kernels

    Use instead:
        f = torch.compile(lambda x: torch.relu(x * scale + shift))

    Source:
        The lower bounds of `perfc trace`. A trace does not record which operator reads which
        result: neighbours that do not depend on each other can be fused too.
    """

    code = "PF501"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield a finding for each sequence of operators."""
        chains: dict[tuple[str, ...], list[list[TracedExecution]]] = {}
        for stream in subject.streams:
            for elements, group in groupby(stream, lambda e: elements_of(e.what)):
                chain = list(group)
                if elements and len(chain) > 1:
                    chains.setdefault(tuple(e.what.name for e in chain), []).append(chain)
        short = [n for n, same in chains.items() if self.gain(subject, same).share < LEAST_GAIN]
        if len(short) > 1:
            others = [chain for names in short for chain in chains.pop(names)]
            yield self.at(
                "",
                f"{len(short)} other sequences of elementwise kernels: {amount(sizes_of(others))}",
                ADVICE,
                self.gain(subject, others),
            )
        for names, same in chains.items():
            more = f" → … ({len(names)})" if len(names) > LONGEST else ""
            yield self.at(
                " → ".join(names[:LONGEST]) + more,
                f"{len(names)} elementwise kernels in sequence: {amount(sizes_of(same))}",
                ADVICE,
                self.gain(subject, same),
            )

    @staticmethod
    def gain(subject: TracedSubject, chains: list[list[TracedExecution]]) -> Gain:
        """Return the most that fusing chains saves."""
        floor_s = math.fsum(subject.fused_s(chain, fused) for chain in chains)
        return subject.saves(sum(map(total_ns, chains)), floor_s)


def sizes_of(chains: list[list[TracedExecution]]) -> list[tuple[int, int, str]]:
    """Return a row of each chain for `amount`: count, time and extents of the first operator."""
    return [(1, total_ns(chain), chain[0].what.shapes) for chain in chains]


def elements_of(what: LaunchedOperator) -> int:
    """Return the elements of the largest operand of an elementwise operator; 0 for others."""
    if what.class_name is not TracedClass.ELEMENTWISE:
        return 0
    return max((math.prod(t.sizes) for t in what.tensors), default=0)


def fused(first: LaunchCounts, last: LaunchCounts) -> LaunchCounts:
    """Return the counts of one kernel that only moves the bytes of a chain's ends."""
    # the first five are operations, which a lower bound may leave out
    return LaunchCounts(0.0, 0.0, 0.0, 0.0, 0.0, first.read_bytes, last.write_bytes)
