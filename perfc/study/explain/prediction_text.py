"""Write the explanation of a prediction as text: predictor, training data and features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimators.forest_reason import ForestReason
from perfc.analyzers.estimators.laws import LawReason
from perfc.analyzers.estimators.roofline import SustainedShare
from perfc.view.report.units import INTERVAL, Unit, plural, quantity, share, span, time_text

from .prediction import PredictionPart

NOTICEABLE = 0.05
"""Relative difference of a call measured in isolation from the kernel within the run, above which
the text mentions it."""
# phrases by predictor, after the predicted time
SAYS = {
    Predictor.LAW: "by a law of the resources that such kernels use",
    Predictor.LEARNED: "by the operator predictor, trained on kernels of several machines",
    Predictor.ROOFLINE: "by the roofline: no predictor covers such kernels",
}


def prediction_lines(part: PredictionPart) -> Iterator[str]:
    """Yield the prediction of a kernel, its interval and its explanation."""
    p = part.prediction
    low, time, high = map(time_text, (p.low_s, p.time_s, p.high_s))
    yield f"prediction: {time}, {INTERVAL} {low} to {high}"
    yield f"  {SAYS[p.predictor]} (predicted); class {p.class_name}"
    if p.is_extrapolating:
        yield "  extrapolating: measured kernels differ, the error may exceed a factor of two"
    for part_s, words in ((p.gap_s, "between launches"), (p.wait_s, "waiting for the host")):
        if part_s:
            yield f"  {time_text(part_s)} of it {words}"
    if part.energy is not None:
        e = part.energy
        ends = f"{quantity(e.low_j, Unit.JOULE)} to {quantity(e.high_j, Unit.JOULE)}"
        power = quantity(e.power_w, Unit.WATT)
        yield f"  energy {quantity(e.energy_j, Unit.JOULE)} ({ends}) at {power}, board only"
    match part.reason:
        case LawReason():
            yield from law_lines(part.reason)
        case SustainedShare(sustained_s, ratio):
            yield (
                f"  sustained {time_text(sustained_s)} x {ratio.mid:g}"
                f" ({ratio.low:g} to {ratio.high:g}: measured over sustained time of such kernels)"
            )
    if p.correction != 1:
        yield f"  x {p.correction:.3g}: correction measured on this machine (perfc adapt)"
    if isinstance(part.reason, ForestReason):
        yield from reason_lines(part.reason, p.device_s)
    for note in part.notes:
        yield f"  ! {note}"
    yield ""
    yield from run_lines(part)


def run_lines(part: PredictionPart) -> Iterator[str]:
    """Yield the predictions of the run by every predictor that covers it."""
    run = part.run
    ends = span(run.low_s.value or 0.0, run.high_s.value or 0.0, Unit.SECOND)
    yield f"run: {run.time_s}, {INTERVAL} {ends}"
    yield f"  by {run.whole or 'the sum of its kernels'} (predicted)"
    if run.whole:
        yield f"  run factor {run.run_factor:.3g} (run time / sum of kernels)"
    yield f"  this kernel takes {share(part.share)} of the sum of the kernels"
    for other in run.others:
        says = f"{other.predictor} predicts {time_text(other.time_s)} ({other.ends})"
        yield f"  {says}, not used: {other.reason}"
        yield f"    {other.words}"
        yield from (f"    extrapolates: {reason}" for reason in other.outside)


def law_lines(r: LawReason) -> Iterator[str]:
    """Yield the resources of a law, longest first, and its rows."""
    for name, time_s in sorted(r.terms, key=lambda term: -term[1]):
        yield f"  {time_text(time_s):>10}  {name} x {r.law.coefficients[name]:.3g}"
    # a norm of order 1 is a sum: resources are used one after the other; high orders overlap
    how = (
        "added"
        if r.law.overlap == 1
        else f"combined as (Σ tᵢ^{r.law.overlap:g})^(1/{r.law.overlap:g})"
    )
    measured = f"{plural(r.law.rows, 'kernel')} on {plural(len(r.law.machines), 'machine')}"
    yield f"  {how}; law of {r.name}, fitted to {measured}, {share(r.law.error)} off in the median"


def reason_lines(r: ForestReason, here_s: float | None = None) -> Iterator[str]:
    """Yield scale, factor, nearest rows and features; ``here_s`` is the time in this run."""
    if len(r.candidates) > 1:
        yield "  the kernel implementation is unknown: median of the measured ones"
        for c in r.candidates:
            choices = extents(c.choices) if c.choices else ""
            who = f"{c.framework} {choices}".rstrip()
            yield f"    {time_text(c.time_s):>10}  {who}"
        yield "  the implementation nearest to the median:"
    yield f"  {extents(r.parameters)} in {r.dtype}, weights {r.weights}"
    yield f"  physical estimate {time_text(r.scale_s)} x learned factor {r.factor:.3f}"
    if r.times != 1:
        yield f"  backward pass of such a kernel: x {r.times:.3g}"
    # rows were timed in isolation; in a run, caches and launches change a kernel's time
    alone_s = r.scale_s * r.factor * r.times
    if here_s and abs(alone_s / here_s - 1) > NOTICEABLE:
        alone, in_run = map(time_text, (alone_s, here_s))
        yield f"    = {alone} for a call measured in isolation; {in_run} within this run"
    if r.machine_distance > 0:
        # distances are in octaves of rates
        yield f"  nearest measured machine: its rates differ by {2**r.machine_distance:.2f}x"
    if r.neighbours:
        yield "  nearest training rows (extents rounded to powers of two; distance in doublings)"
        for n in r.neighbours:
            who = f"{n.target} {n.dtype} {n.framework}".rstrip()
            yield (
                f"    {extents(n.parameters)}  {who}: {plural(n.rows, 'row')},"
                f" efficiency {share(n.efficiency)}, distance {n.distance:.1f}"
            )
    if r.moves:
        yield "  features that changed the estimate most, compared with the median row"
        for m in r.moves:
            yield f"    {m.feature:24} {m.value:10.4g} (median {m.usual:.4g})  x{m.ratio:.3f}"


def extents(parameters: Mapping[str, float]) -> str:
    """Format extents: ``m=512 n=768``, without parameters that are 0 or 1."""
    return " ".join(f"{k}={v:g}" for k, v in parameters.items() if v not in (0.0, 1.0)) or "scalar"
