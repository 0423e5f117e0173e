"""PF302: weights in device memory that a run hardly reads."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind, Value
from perfc.review.lint.rule import Finding, GainBasis, Rule, Saves, Severity, Subject
from perfc.view.report.units import share, size_text

LEAST_SHARE = 0.1
"""Minimum unread bytes of one tensor as a fraction of all weights."""
LEAST_BYTES = 1 << 20
"""Minimum unread bytes of one tensor; less memory is not worth a change of the model."""


class UntouchedWeights(Rule):
    """A stored tensor of which a run reads only a part.

    What it does:
        Compares the bytes of each weight with the maximum that any of its readers can read in a
        run: rows that a Gather looks up, experts that a router chooses. Reports it if the unread
        part is at least a tenth of all weights.

    Why is this bad:
        The unread part occupies device memory that a larger batch or a longer context could use.

    Example:
        Gather(embedding[250002, 768], ids[1, 128])    # 128 rows of 250,002

    Use instead:
        store the table in host memory, in a narrower type, or reduced to the vocabulary in use

    Source:
        Shazeer et al. 2017, arXiv:1701.06538: total and active parameters.
    """

    code = "PF302"
    saves = Saves.MEMORY
    severity = Severity.NOTE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield weights that are only read partially."""
        total = subject.extent(subject.report.weight_bytes)
        read_bytes: dict[Value, int] = {}
        first: dict[Value, int] = {}
        for i, bound in enumerate(subject.kernels):
            kernel = bound.kernel
            for v, part in zip(kernel.reads, kernel.read_parts, strict=True):
                if v.weight is not None:
                    # at most: launches in a loop may read the same rows
                    nbytes = int(subject.extent(part) * max(bound.launches, 1.0))
                    if kernel.anchor.op.kind in (Kind.OPAQUE, Kind.CLASSICAL):
                        # what an operator without a definition reads is not known, nor which of
                        # its trees' nodes a row visits: all, perhaps
                        nbytes = subject.nbytes(v) or nbytes
                    read_bytes[v] = read_bytes.get(v, 0) + nbytes
                    first.setdefault(v, i)
        for v, touched in read_bytes.items():
            size = subject.nbytes(v)
            if size is None or size - touched < max(LEAST_SHARE * total, LEAST_BYTES):
                continue
            anchor = subject.kernels[first[v]].kernel.anchor
            read, whole = size_text(touched), size_text(size)
            message = (
                f"a run reads at most {read} of the {whole} of {v.type} "
                f"({share((size - touched) / total)} of all weights unread)"
            )
            yield self.finding(
                message,
                "keep it in host memory or in a narrower type, or cut it to what is used",
                nodes=(anchor,),
                tensor=v.name,
                gain=subject.nothing(GainBasis.MEMORY),
                saved_bytes=size - touched,
            )
