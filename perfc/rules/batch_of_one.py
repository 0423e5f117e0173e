"""PF107: a batch that may be larger runs with one item."""

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

BATCH = 8


class BatchOfOne(Rule):
    """A symbolic first extent of the inputs that is 1.

    What it does:
        Finds the symbol that is the first extent of every input that has one, where its value was
        given as 1. Compares the time of one item with an eighth of the time of eight. A
        batch that nobody stated is assumed to be 1, which is no fault of the model's.

    Why is this bad:
        With one item weights are fetched for a single use, matrix products have few rows, and
        launches take longer than what they launch.

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
        """The batch symbol of the module, if it is 1."""
        report = subject.report
        firsts = {_first(v.type) for v in subject.graph.inputs} - {None}
        if len(firsts) != 1:
            return
        name = firsts.pop()
        given = {symbol_key(k): n for k, n in report.given.items()}
        if name is None or given.get(name) != 1:
            return
        env = {**report.env, name: BATCH}
        many = bounds(report.kernels, report.machine, env, tf32=report.tf32)
        whole = subject.gain_of(many, report.kernels, report.module, Basis.BOUNDS)
        now_s, floor_s = subject.now
        then = ((now_s - whole.time_s) / BATCH, many.floor_s / BATCH)
        gain = Gain.of((now_s, floor_s), then, Basis.BOUNDS)
        part = share(1 - gain.share)
        message = f"{name} = 1; in a batch of {BATCH} an item costs {part} of it"
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
