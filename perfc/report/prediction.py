"""What the run will take: prediction, interval, and who says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.ir.record import record

from .amounts import key, ratio
from .document import Amount, Column, Fact, Facts, Note, Section, Table
from .limits import held_by
from .units import INTERVAL, LOWER_BOUND, Unit, quantity, share, span

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import CandidateRun, Estimate
    from perfc.analyzers.runs.energy import Energy
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report
    from perfc.passes.ceilings import KernelBound

    from .confidence import Confidence


@record
class Forecast:
    """What one kernel will take; all its launches in one run together.

    Args:
        share: of the predicted time of all kernels.
        time_s: predicted, waiting for its launch included; never below the floor.
        low_s: lower end of the interval that holds nine of ten such kernels.
        high_s: upper end.
        wait_s: part of the time that only waits for the launch.
        bound: what most of the time goes to: the ceiling that binds, or launches.
        predictor: fitted on this machine and runtime, learned from kernels of others or from whole
            steps, or a roofline.
        class_name: class of kernels whose measurements it rests on.
        is_extrapolating: whether it is unlike all that was measured.
        is_measured: whether kernels of the class were measured on this machine, or a near one.
        energy_j: of the board; None where nobody fitted the power of such a machine.
        energy_low_j: lower end of its interval.
        energy_high_j: upper end.
        power_w: mean power of the board while it runs.
    """

    share: float
    time_s: float
    low_s: float
    high_s: float
    wait_s: float
    bound: str
    predictor: str
    class_name: str
    is_extrapolating: bool
    is_measured: bool
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    power_w: float | None


@record
class PredictorShare:
    """One predictor and what it answers for.

    Args:
        predictor: its name.
        kernels: predicted by it.
        share: of the predicted kernel time.
        classes: of kernels whose measurements it rests on, the longest first.
    """

    predictor: str
    kernels: int
    share: float
    classes: tuple[str, ...]


@record
class OtherRun:
    """What a predictor of whole runs says that knows such runs and is not the answer.

    Args:
        predictor: its name, as ``--predictor`` takes it.
        time_s: predicted.
        low_s: lower end of its interval.
        high_s: upper end; None where it states none.
        words: the runs it learned from.
        reason: why it is not the answer.
        outside: why it extrapolates; empty where it does not.
    """

    predictor: str
    time_s: float
    low_s: float
    high_s: float | None
    words: str
    reason: str
    outside: tuple[str, ...]

    @classmethod
    def of(cls, run: CandidateRun) -> OtherRun:
        """As a predictor says it."""
        high_s = None if math.isinf(run.high_s) else run.high_s
        return cls(
            run.predictor, run.time_s, run.low_s, high_s, run.words, run.withheld, run.outside
        )

    @property
    def ends(self) -> str:
        """The range in words."""
        if self.high_s is None:
            return f"from {quantity(self.low_s, Unit.SECOND)}"
        return span(self.low_s, self.high_s, Unit.SECOND)


@record
class Prediction:
    """The run as it will be.

    Args:
        floor_s: no run is faster.
        time_s: predicted: kernels, waiting for launches, the host's own nodes.
        predictor: of whole runs, who says so; "" where the kernels are summed.
        whole: the same in words, with the runs it learned from.
        kernels_s: the sum of ``predicted.time_s`` of all kernels.
        summed_s: the run as its kernels make it, which ``wait_s`` and ``host_s`` are parts of.
        low_s: lower end of the interval that holds nine of ten such runs.
        high_s: upper end.
        wait_s: part of the time that waits for launches.
        host_s: part of the time that nodes take which launch nothing.
        energy_j: of the board in one run; unknown where nobody fitted the power of such a machine.
        energy_low_j: lower end of its interval.
        energy_high_j: upper end.
        power_w: mean power of the board.
        predictors: who says so.
        notes: what to know before trusting them.
        others: what further predictors of whole runs say.
    """

    floor_s: Amount
    time_s: Amount
    predictor: str
    whole: str
    kernels_s: Amount
    summed_s: Amount
    low_s: Amount
    high_s: Amount
    wait_s: Amount
    host_s: Amount
    energy_j: Amount
    energy_low_j: Amount
    energy_high_j: Amount
    power_w: Amount
    predictors: tuple[PredictorShare, ...]
    notes: tuple[str, ...]
    others: tuple[OtherRun, ...] = ()


def forecast(
    found: Estimate, energy: Energy | None, total_s: float, bound: KernelBound
) -> Forecast:
    """The prediction of one kernel."""
    return Forecast(
        ratio(found.time_s, total_s),
        found.time_s,
        found.low_s,
        found.high_s,
        found.wait_s,
        key(held_by(bound, found.time_s, found.wait_s)),
        found.predictor.value,
        found.class_name,
        found.is_extrapolating,
        found.is_measured,
        None if energy is None else energy.energy_j,
        None if energy is None else energy.low_j,
        None if energy is None else energy.high_j,
        None if energy is None else energy.power_w,
    )


def collect(report: Report) -> Prediction:
    """The prediction of ``report``."""
    table = report.prediction
    total, energy = table.total, table.energy

    def seconds(value: float) -> Amount:
        return Amount(value, Unit.SECOND)

    return Prediction(
        Amount(total.floor_s, Unit.SECOND, None, True),
        seconds(total.time_s),
        total.predictor,
        table.whole,
        seconds(table.kernels_s),
        seconds(table.kernels_total.time_s),
        seconds(total.low_s),
        seconds(total.high_s),
        seconds(total.wait_s),
        seconds(total.host_s),
        Amount(None if energy is None else energy.energy_j, Unit.JOULE),
        Amount(None if energy is None else energy.low_j, Unit.JOULE),
        Amount(None if energy is None else energy.high_j, Unit.JOULE),
        Amount(None if energy is None else energy.power_w, Unit.WATT),
        shares(table),
        table.notes,
        tuple(map(OtherRun.of, report.unheard_runs)),
    )


def shares(table: PredictionTable) -> tuple[PredictorShare, ...]:
    """Who answers for how much, the largest share first."""
    times: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for k in table.kernels:
        name = k.predictor.value
        classes = times.setdefault(name, {})
        classes[k.class_name] = classes.get(k.class_name, 0.0) + k.time_s
        counts[name] = counts.get(name, 0) + 1
    whole = sum(sum(c.values()) for c in times.values())
    found = (
        PredictorShare(
            name,
            counts[name],
            ratio(sum(classes.values()), whole),
            tuple(sorted(classes, key=lambda c: (-classes[c], c))),
        )
        for name, classes in times.items()
    )
    return tuple(sorted(found, key=lambda p: -p.share))


COLUMNS = (
    Column("predictor", "predictor"),
    Column("kernels", "kernels", Unit.COUNT),
    Column("share", "share", Unit.SHARE),
    Column("classes", "kernel classes", is_name=True),
)


def section(view: Prediction, confidence: Confidence | None) -> Section:
    """Floor, prediction, interval, how far to trust it; then who says so."""
    ends = span(view.low_s.value or 0.0, view.high_s.value or 0.0, Unit.SECOND)
    tight = share(ratio(view.floor_s.value or 0, view.time_s.value or 0))
    parts = ["sum of the kernels"] if view.whole else []
    if view.wait_s.value:
        parts.append(f"{view.wait_s} of it waiting for launches")
    if view.host_s.value:
        parts.append(f"{view.host_s} on the host")
    summed = "; ".join(parts) or "kernels and their launches"
    rows = [
        Fact("predicted", view.time_s, view.whole or summed),
        *([Fact("kernels", view.summed_s, summed)] if view.whole else []),
        *(
            Fact(
                other.predictor,
                Amount(other.time_s, Unit.SECOND),
                f"{other.ends}; not used: {other.reason}",
            )
            for other in view.others
        ),
        Fact(INTERVAL, None, ends),
        Fact(LOWER_BOUND, view.floor_s, f"{tight} of the predicted time"),
    ]
    if confidence is not None:
        words = f"{confidence.grade.value}: {confidence.reason}"
        rows.insert(-1, Fact("confidence", None, words))
    if view.energy_j.value is not None:
        ends = span(view.energy_low_j.value or 0.0, view.energy_high_j.value or 0.0, Unit.JOULE)
        words = f"{ends}; {view.power_w} on average, board only"
        rows.append(Fact("energy", view.energy_j, words))
    cells = tuple((p.predictor, p.kernels, p.share, ", ".join(p.classes)) for p in view.predictors)
    table = (Table(COLUMNS, cells),) if cells else ()
    said = "" if confidence is None else confidence.reason
    notes = tuple(Note(n, is_warning=True) for n in view.notes if not said or said not in n)
    return Section("prediction", "prediction", (Facts(tuple(rows)), *table, *notes))
