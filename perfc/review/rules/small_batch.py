"""PF107: a batch too small for the device."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.deployment.extents import batch_symbol
from perfc.errors import PerfcError
from perfc.ir import TensorType
from perfc.ir.syntax.names import symbol_key
from perfc.review.lint.rule import Finding, Gain, GainBasis, Rule, Severity, Subject
from perfc.view.report.units import share

TIMES = 8
"""Factor between the batches that are compared, the "eight times" of the rule's page."""
LEAST_SHARE = 0.2
"""Minimum fraction of the time per item that a larger batch saves."""


class SmallBatch(Rule):
    """A given batch size that wastes much time per item.

    What it does:
        Compares the time per item at the given batch size with that at eight times the size, and
        reports it if at least a fifth is saved. The batch is a symbol of all inputs.
        A default batch size is not reported.

    Why is this bad:
        With few items, weights are read for little work, matrix products have few rows, waves are
        partially full, and launches take longer than kernels.

    Example:
        perfc lint model.onnx --batch 1

    Use instead:
        perfc lint model.onnx --batch 8    # if requests can be batched

    Source:
        Williams et al. 2009, roofline: intensity grows with the reuse of weights.
    """

    code = "PF107"
    severity = Severity.NOTE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a finding if the batch size is too small."""
        report = subject.report
        name = batch_symbol(report.source)
        # an input without the symbol has no batch to change
        if any(name not in axes for v in subject.graph.inputs if (axes := _axes(v.type))):
            return
        given = {symbol_key(k): n for k, n in report.given.items()}
        if name is None or given.get(name, 0) < 1:
            return
        size = given[name]
        many_items = size * TIMES
        label = report.source.labels.get(name, name)
        try:
            many = report.at({name: many_items})
        except PerfcError:
            # the model is fixed to its batch
            return
        # time and lower bound of as many items as in the given batch
        per_item = many.prediction.total.time_s / TIMES, many.roofline.floor_s / TIMES
        gain = Gain.of(subject.now, per_item, GainBasis.DEPLOYMENT)
        if gain.share < LEAST_SHARE:
            return
        part = share(1 - gain.share)
        message = f"{label} = {size}; at {many_items} an item takes {part} of the time"
        holder = next(v.name for v in subject.graph.inputs if name in _axes(v.type))
        yield self.finding(message, "gather requests into batches", tensor=holder, gain=gain)


def _axes(type_: object) -> list[str]:
    """Return the extents of a tensor as text."""
    return [*map(str, (type_.shape or ()) if isinstance(type_, TensorType) else ())]
