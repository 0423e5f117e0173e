"""PF107: a batch that does not fill the machine."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.dim import Poly
from perfc.ir.names import symbol_key
from perfc.ir.types import TensorType
from perfc.lint.finding import Basis, Finding, Gain, Severity
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.passes.roofline import bounds
from perfc.report.units import share

TIMES = 8
LEAST_SHARE = 0.2
"""Of the time of an item that a larger batch must save; a machine that is full saves little."""


class SmallBatch(Rule):
    """A stated batch whose items would be much cheaper in a larger one.

    What it does:
        Finds the symbol that is the first extent of every input that has one, where its value was
        given. Compares the time of one item with that in a batch eight times as large, and reports
        it where a fifth is saved at least. A batch that nobody stated is no fault of the model's.

    Why is this bad:
        With few items weights are fetched for little use, matrix products have few rows, waves are
        part full, and launches take longer than what they launch.

    Example:
        perfc lint model.onnx --dim batch=1

    Use instead:
        perfc lint model.onnx --dim batch=8    # where requests can be gathered

    Source:
        Williams et al. 2009, roofline: intensity grows with the reuse of weights.
    """

    code = "PF107"
    severity = Severity.NOTE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """The batch symbol of the module, if it is small."""
        report = subject.report
        firsts = {_first(v.type) for v in subject.graph.inputs} - {None}
        if len(firsts) != 1:
            return
        name = firsts.pop()
        given = {symbol_key(k): n for k, n in report.given.items()}
        if name is None or given.get(name, 0) < 1:
            return
        size = given[name]
        many_items = size * TIMES
        env = {**report.env, name: many_items}
        many = bounds(report.kernels, report.machine, env, tf32=report.tf32)
        whole = subject.gain_of(many, report.kernels, report.module, Basis.BOUNDS)
        now_s, floor_s = subject.now
        then = ((now_s - whole.time_s) / TIMES, many.floor_s / TIMES)
        gain = Gain.of((now_s, floor_s), then, Basis.BOUNDS)
        if gain.share < LEAST_SHARE:
            return
        part = share(1 - gain.share)
        label = report.source.labels.get(name, name)
        message = f"{label} = {size}; in a batch of {many_items} an item costs {part} of it"
        yield self.finding(
            message, "gather requests into batches", tensor=_holder(subject, name), gain=gain
        )


def _first(type_: object) -> str | None:
    if not isinstance(type_, TensorType) or not type_.shape:
        return None
    d = type_.shape[0]
    return str(d) if isinstance(d, Poly) and str(d).isidentifier() else ""


def _holder(subject: Subject, name: str) -> str:
    return next(v.name for v in subject.graph.inputs if _first(v.type) == name)
