"""How the prediction of one kernel is made: who says it, from what, and what moved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfc.analyzers.prediction import Predictor

if TYPE_CHECKING:
    from perfc.analyzers.energy import Energy
    from perfc.analyzers.prediction import KernelPrediction
    from perfc.analyzers.reasons import Reasons
    from perfc.api import Report


@dataclass(frozen=True, slots=True)
class TermTime:
    """A term of a fitted time: so many units at so many seconds each."""

    name: str
    amount: float
    second_per_unit: float
    time_s: float


@dataclass(frozen=True, slots=True)
class SpreadPart:
    """A roofline and what such kernels usually take of it."""

    sustained_s: float
    low: float
    mid: float
    high: float


@dataclass(frozen=True, slots=True)
class PredictionPart:
    """The prediction of a kernel and its reasons; exactly one of the last three is there."""

    prediction: KernelPrediction
    energy: Energy | None
    notes: tuple[str, ...]
    terms: tuple[TermTime, ...]
    learned: Reasons | None
    roofline: SpreadPart | None


def prediction_part(report: Report, index: int) -> PredictionPart:
    """The prediction of the kernel at ``index`` of the roofline."""
    table = report.prediction
    found = table.kernels[index]
    bound = report.roofline.kernels[index]
    energy = table.energies[index] if table.energies else None
    terms: tuple[TermTime, ...] = ()
    learned: Reasons | None = None
    roofline: SpreadPart | None = None
    match found.predictor:
        case Predictor.FITTED:
            terms = fitted_terms(report, index)
        case Predictor.LEARNED:
            from perfc.analyzers.reasons import reasons

            how = report.kernels.runtime.launch
            learned = reasons(report.roofline, index, tf32=report.tf32, launch=how)
        case Predictor.STEPS:
            pass
        case Predictor.ROOFLINE:
            from perfc.analyzers.spread import spread_of

            s = spread_of(report.machine.kind, bound.kernel.kind)
            roofline = SpreadPart(bound.sustained_s, s.low, s.mid, s.high)
    return PredictionPart(found, energy, table.notes, terms, learned, roofline)


def fitted_terms(report: Report, index: int) -> tuple[TermTime, ...]:
    """The terms that a fitted time is the sum of, largest first; of one launch."""
    from perfc.passes.fitted import of_machine
    from perfc.passes.fitted.classes import classify
    from perfc.passes.fitted.layout import moved_bytes
    from perfc.passes.fitted.subject import of_bound

    roofline, runtime = report.roofline, report.kernels.runtime.name
    efficiencies = of_machine(report.machine, runtime)
    if efficiencies is None:
        return ()
    moved = moved_bytes([b.kernel for b in roofline.kernels], runtime, roofline.env)[index]
    subject = of_bound(roofline.kernels[index], roofline.env, moved)
    found = classify(subject)
    rates = efficiencies.seconds[efficiencies.name_of(found)]
    terms = [
        TermTime(t.value, amount, rates.get(t, 0.0), amount * rates.get(t, 0.0))
        for t, amount in found.terms.items()
    ]
    copied_s = efficiencies.moved_s(moved)
    if copied_s:
        terms.append(TermTime("copies into another layout", moved, copied_s / moved, copied_s))
    return tuple(sorted((t for t in terms if t.time_s > 0), key=lambda t: -t.time_s))
