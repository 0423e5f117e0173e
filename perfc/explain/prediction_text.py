"""The text of a prediction's reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perfc.analyzers.prediction import Predictor
from perfc.analyzers.reasons import Reasons
from perfc.report.units import Unit, plural, quantity, share

from .prediction import PredictionPart

NOTICEABLE = 0.05
"""Part by which a kernel inside a run may differ from what was learned and is not said to."""
SAYS = {
    Predictor.FITTED: "by rates fitted to kernels of this machine and runtime",
    Predictor.LEARNED: "by the operator predictor, learned on kernels of other machines too",
    Predictor.STEPS: "by whole steps of models, which taught what such launches take",
    Predictor.ROOFLINE: "by the roofline: no predictor knows such kernels",
}


def prediction_lines(part: PredictionPart) -> Iterator[str]:
    """Prediction, interval, and where they come from."""
    p = part.prediction
    low, time, high = (quantity(t, Unit.SECOND) for t in (p.low_s, p.time_s, p.high_s))
    yield f"prediction: {time}, nine of ten such kernels {low} to {high}"
    yield f"  {SAYS[p.predictor]} (predicted); class {p.class_name}"
    if p.is_extrapolating:
        yield "  extrapolating: unlike all that was measured"
    if p.wait_s:
        yield f"  {quantity(p.wait_s, Unit.SECOND)} of it waits for the launch"
    if part.energy is not None:
        e = part.energy
        ends = f"{quantity(e.low_j, Unit.JOULE)} to {quantity(e.high_j, Unit.JOULE)}"
        power = quantity(e.power_w, Unit.WATT)
        yield f"  energy {quantity(e.energy_j, Unit.JOULE)} ({ends}) at {power}, of the board"
    for t in part.terms:
        rate = f" at {1 / t.second_per_unit:.4g}" if t.name.endswith("per_s") else ""
        yield f"  {quantity(t.time_s, Unit.SECOND):>10}  {t.amount:.6g}{rate} {t.name}"
    if part.roofline is not None:
        s = part.roofline
        yield (
            f"  sustained {quantity(s.sustained_s, Unit.SECOND)} x {s.mid:g}"
            f" ({s.low:g} to {s.high:g}: what such kernels take of it)"
        )
    if p.correction != 1:
        yield f"  x {p.correction:.3g}: what kernels measured on this machine took (perfc adapt)"
    if part.learned is not None:
        yield from reason_lines(part.learned, p.time_s - p.wait_s)
    for note in part.notes:
        yield f"  ! {note}"


def reason_lines(r: Reasons, here_s: float | None = None) -> Iterator[str]:
    """Scale, factor, nearest rows, features; ``here_s`` is what came of it in this run."""
    if len(r.candidates) > 1:
        yield "  whose kernel runs is not known: the median of those measured"
        for c in r.candidates:
            choices = extents(c.choices) if c.choices else ""
            who = f"{c.framework} {choices}".rstrip()
            yield f"    {quantity(c.time_s, Unit.SECOND):>10}  {who}"
        yield "  the one nearest to the median:"
    yield f"  {extents(r.parameters)} in {r.dtype}, weights {r.weights}"
    yield f"  physical estimate {quantity(r.scale_s, Unit.SECOND)} x {r.factor:.3f} learned"
    if here_s and abs(r.scale_s * r.factor / here_s - 1) > NOTICEABLE:
        yield f"    of a call as they were measured; {quantity(here_s, Unit.SECOND)} in this run"
    if r.machine_distance > 0:
        yield f"  nearest measured machine: {2**r.machine_distance:.2f}x apart in its rates"
    if r.neighbours:
        yield "  nearest training rows (extents to a factor of two)"
        for n in r.neighbours:
            who = f"{n.target} {n.dtype} {n.framework}".rstrip()
            yield (
                f"    {extents(n.parameters)}  {who}: {plural(n.rows, 'row')},"
                f" efficiency {share(n.efficiency)}, distance {n.distance:.1f}"
            )
    if r.moves:
        yield "  features that moved the estimate, against the median of the rows"
        for m in r.moves:
            yield f"    {m.feature:24} {m.value:10.4g} (median {m.usual:.4g})  x{m.ratio:.3f}"


def extents(parameters: Mapping[str, float]) -> str:
    """``m=512 n=768``; parameters that are 0 or 1 are left out."""
    return " ".join(f"{k}={v:g}" for k, v in parameters.items() if v not in (0.0, 1.0)) or "scalar"
