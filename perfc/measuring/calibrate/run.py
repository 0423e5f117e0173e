"""Measure a device's ceilings within a time, and write them with how far they spread.

`calibrate` is `perfc calibrate`. A ceiling is a rate or latency that the device reaches at best;
probes measure it in rounds over all cases, so that a disturbance does not hit one ceiling alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from perfc.errors import TargetError
from perfc.ir import record
from perfc.kernels import bounds
from perfc.kernels.backends import host
from perfc.kernels.backends.backend import Backend, Device, MeasurementError
from perfc.kernels.backends.opening import open_backend
from perfc.kernels.ceilings import MeasuredCeiling, ceilings, levels
from perfc.kernels.probe import Rank, Scope, rank
from perfc.kernels.session import Progress, Session
from perfc.kernels.timing import Deadline

from . import file
from .outcome import CalibratedTarget, changes, peak, rows

LOAD_S = 0.5
"""Seconds during which the load of other programs is observed before measuring."""
BUSY_SHARE = 0.05
"""Maximum fraction of an accelerator's time used by other programs without a warning; of a
processor the operating system decides, see `host.busy_share`."""

SPOILED_ROUNDS = 4
"""Maximum further rounds of a reading outside of its plausible range (`bounds.doubts`)."""
SPOILED_S = 2.0
"""Time that each of these further rounds may take, even after the time limit."""


@record
class MeasurementBudget:
    """Numbers and durations of measurements.

    Args:
        rounds: rounds of all cases, at least two; the first two of the whole device come first.
        again: maximum further rounds of the cases whose rounds disagree.
        pause_s: pause before each further round, in which a disturbance may end.
        seconds: wall time since the start after which no measurement is started.
        shared_rounds: minimum rounds of ceilings of caches and memory that other cores share, as
            on the host of a virtual machine, where the load of other programs is not visible.
        power_s: how long each load runs for a power reading; counters tick every few
            milliseconds to 0.1 s.
    """

    rounds: int
    again: int
    pause_s: float
    seconds: float
    shared_rounds: int = 6
    power_s: float = 0.5


_BUDGETS = {
    "cpu": MeasurementBudget(rounds=3, again=40, pause_s=0.5, seconds=100.0),
    "cuda": MeasurementBudget(rounds=2, again=20, pause_s=0.5, seconds=140.0),
}
"""Budget of a whole measurement by kind of device."""
_QUICK = {
    "cpu": MeasurementBudget(
        rounds=2, again=8, pause_s=0.1, seconds=12.0, shared_rounds=3, power_s=0.2
    ),
    "cuda": MeasurementBudget(
        rounds=2, again=8, pause_s=0.1, seconds=16.0, shared_rounds=3, power_s=0.2
    ),
}
"""Budget of a quick measurement, which ends within 20 s, by kind of device."""


class UncertainError(MeasurementError):
    """The measurement is uncertain and the caller requires certain figures."""


def calibrate(
    device: str = "cpu",
    output: Path | None = None,
    *,
    resume: bool = False,
    quick: bool = False,
    threads: int = 0,
    strict: bool = False,
    tell: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> CalibratedTarget:
    """Measure ``device`` and write ``output``: each ceiling with the spread of its rounds.

    Args:
        device: ``cpu``, ``cuda:0`` or ``fake``.
        output: by default a file of the device's name in the user's folder of targets.
        resume: go on with the samples of a run that was stopped.
        quick: fewer sizes and rounds, in less than 20 s; the ceilings are the same.
        threads: cores of a processor to use, 0 for all.
        strict: do not begin where other programs are busy, nor write what is uncertain.
        tell: called before each case.
        say: called, before anything is measured, with a sentence on other programs' load.
        backend: backend to measure with, instead of the one that ``device`` names.
        clock: function that returns the time in seconds.

    Raises:
        MeasurementError: a probe is broken: its answers are wrong, its clocks jump, or it is
            faster than is possible; nothing is written but the raw samples.
        UncertainError: with ``strict``; samples stay, so that ``resume`` can go on.
        TargetError: no such device, or the file cannot be written.
        MissingExtraError: an optional package is missing.
    """
    deadline = Deadline(now=clock)
    backend = backend or open_backend(device, threads=threads)
    budget = (_QUICK if quick else _BUDGETS)[backend.device.kind]
    # the budget is known only with the device, and the time to open the device counts too
    deadline.limit_s = budget.seconds
    path = output or file.default_path(backend.device)
    if path.suffix != ".toml" or not file.slug(path.stem):
        raise TargetError(f"{path} must end in .toml", where="--output")
    before = backend.others(LOAD_S)
    _watch(before, backend.device, strict, say)
    file.make_folder(path)
    samples = path.with_suffix(".samples.jsonl")
    session = Session(
        backend, quick=quick, path=samples, resume=resume, tell=tell, deadline=deadline
    )
    meanwhile = host.Others() if backend.device.kind == "cpu" else None
    session.verify()
    measured = _without_spoiled(session, _measure(session, budget))
    session.power(budget.power_s)
    load = _load(before, meanwhile.share() if meanwhile else None, backend.device)
    measured = _within_sheet(session, measured)
    _refuse_impossible(session, measured)
    if strict:
        _refuse_uncertain(measured)
    return _written(session, measured, path, load)


def _written(
    session: Session, measured: tuple[MeasuredCeiling, ...], path: Path, load: str
) -> CalibratedTarget:
    """Write the target file, and say what differs from an earlier one.

    Raises:
        TargetError: the file cannot be written.
    """
    device, samples = session.backend.device, path.with_suffix(".samples.jsonl")
    steps = levels(session.samples, device)
    text = file.text(file.slug(path.stem), session, measured, steps, samples.name, load)
    replaced = file.earlier(path)
    machine = file.write(path, text)
    return CalibratedTarget(
        machine,
        path,
        samples,
        tuple(rows(machine)),
        tuple(changes(replaced, machine)),
        replaced is not None,
        (*device.notes, load, *_unmeasured(session)),
        session.deadline.elapsed_s,
    )


def _measure(session: Session, budget: MeasurementBudget) -> tuple[MeasuredCeiling, ...]:
    """Measure all cases, then again those whose rounds disagree, and return the ceilings."""
    device, deadline = session.backend.device, session.deadline
    whole = [c for c in session.cases if rank(c) is not Rank.CORE]
    # two rounds of the whole device first: if time runs out, only single cores lack samples. A
    # round skips cases that already have a sample of it
    for cases in (whole, session.cases):
        for index in range(2):
            session.round(index, cases)
    for index in range(2, budget.rounds):
        session.round(index)
    # a resumed run already has samples of further rounds: their numbers go on
    index = max((r + 1 for _, r in session.samples), default=budget.rounds)
    for again in range(index, index + budget.again):
        measured = ceilings(session.samples, device)
        unsettled = [c for c in measured if not c.is_settled(budget.shared_rounds)]
        if not unsettled or deadline.is_over:
            return measured
        # load of other programs on shared memory comes and goes: longer pauses let it end
        pause_s = budget.pause_s * (4 if all(c.is_shared for c in unsettled) else 1)
        time.sleep(min(pause_s, deadline.left_s))
        session.round(again, dict.fromkeys(case for c in unsettled for case in c.cases), again=True)
    return ceilings(session.samples, device)


def _without_spoiled(
    session: Session, measured: tuple[MeasuredCeiling, ...]
) -> tuple[MeasuredCeiling, ...]:
    """Repeat implausible readings; leave out those that stay so, or assume their defaults."""
    device = session.backend.device
    for _ in range(SPOILED_ROUNDS):
        is_doubted = bounds.doubts(device, measured)
        doubted = [c for c in measured if is_doubted(c.key, c.value)]
        if not doubted:
            return measured
        cases = dict.fromkeys(case for c in doubted for case in c.cases)
        # measured even when the time is over: without these rounds the file would lack the number
        session.deadline.limit_s = max(
            session.deadline.limit_s, session.deadline.elapsed_s + SPOILED_S
        )
        session.round(max(r for _, r in session.samples) + 1, cases, again=True)
        measured = ceilings(session.samples, device)
        is_doubted = bounds.doubts(device, measured)
        measured = tuple([_sensible(c, is_doubted) for c in measured])
    is_doubted = bounds.doubts(device, measured)
    for ceiling in measured:
        if is_doubted(ceiling.key, ceiling.value):
            # only times, as of a launch, have defaults
            default = bounds.DEFAULTS.get(ceiling.key, {}).get(device.kind)
            instead = f": {ceiling.value:.2g} s read, {default:g} s assumed" if default else ""
            session.refused[ceiling.key] = f"other programs disturbed every reading{instead}"
    return tuple(c for c in measured if not is_doubted(c.key, c.value))


def _sensible(
    ceiling: MeasuredCeiling, is_doubted: Callable[[str, float], bool]
) -> MeasuredCeiling:
    """Return a ceiling without its implausible rounds, if others are plausible."""
    rounds = tuple([r for r in ceiling.rounds if not is_doubted(ceiling.key, r)])
    return replace(ceiling, rounds=rounds or ceiling.rounds)


def _watch(
    share: float | None, device: Device, strict: bool, say: Callable[[str], None] | None
) -> None:
    """Report the load of other programs before measuring, or refuse to begin.

    Raises:
        UncertainError: other programs are busy, and ``strict`` forbids it.
    """
    if share is None:
        return
    if share <= (host.busy_share() if device.kind == "cpu" else BUSY_SHARE):
        return
    busy = f"other programs use {_used(share, device)}"
    if strict:
        raise UncertainError(f"not begun: {busy}", hint="end them, or leave --strict out")
    if say is not None:
        say(f"{busy}: figures that spread will be marked (Ctrl-C stops, --strict would not begin)")


def _used(share: float, device: Device) -> str:
    """Return a share of a device in words: ``80 % of a core``, ``1.6 of 2 cores``."""
    if device.kind != "cpu":
        return f"{100 * share:.0f} % of the device's time"
    return host.cores_used(share)


def _load(before: float | None, meanwhile: float | None, device: Device) -> str:
    """Describe the load of other programs, for the file."""
    stretches = (("just before", before), ("meanwhile", meanwhile))
    parts = [f"{_used(s, device)} {when}" for when, s in stretches if s is not None]
    return f"other programs used {', '.join(parts)}" if parts else "use by others is not readable"


def _within_sheet(
    session: Session, measured: tuple[MeasuredCeiling, ...]
) -> tuple[MeasuredCeiling, ...]:
    """Leave out ceilings above the peaks of the device's data sheet, and note why in `refused`."""
    if (sheet := file.data_sheet(session.backend.device)) is None:
        return measured
    for c in measured:
        if (rated := peak(sheet, c.key)) and c.spread.best > rated.value:
            session.refused[c.key] = (
                f"{c.spread.best:.6g} is above the peak {rated.value:.6g}; one of the two is wrong"
            )
    return tuple(c for c in measured if c.key not in session.refused)


def _refuse_impossible(session: Session, measured: tuple[MeasuredCeiling, ...]) -> None:
    """Refuse ceilings that a working probe cannot measure.

    Raises:
        MeasurementError: a rate is above what is possible, or there is no memory bandwidth.
    """
    contradictions = bounds.impossible(session.backend.device, measured)
    if contradictions:
        raise MeasurementError(f"not written: {contradictions}", hint="the probe is broken")
    if not any(c.key.startswith("memory.") and "bandwidth" in c.key for c in measured):
        refused = (f"; {k}: {why}" for k, why in session.refused.items() if "memory." in k)
        raise MeasurementError(f"not written: no bandwidth could be measured{next(refused, '')}")


def _refuse_uncertain(measured: tuple[MeasuredCeiling, ...]) -> None:
    """Refuse ceilings that spread, except those whose times vary by nature, as of launches.

    Raises:
        UncertainError: a ceiling spreads.
    """
    spreading = [c for c in measured if c.is_uncertain and not c.varies]
    if not spreading:
        return
    worst = max(spreading, key=lambda c: c.spread.share(c.value))
    more = f"; {len(spreading) - 1} more" if len(spreading) > 1 else ""
    raise UncertainError(
        f"not written: {worst.key} spreads from {worst.spread.worst:.4g} to "
        f"{worst.spread.best:.4g} in {len(worst.rounds)} rounds{more}",
        hint="run again with --resume when the machine rests, or leave --strict out",
    )


def _unmeasured(session: Session) -> Iterator[str]:
    """Yield a sentence for each reason, with what was not measured for it."""
    by_reason: dict[str, list[str]] = {}
    if not session.loads:
        by_reason["no power or energy counter can be read"] = ["power", "energy"]
    for name, reason in session.refused.items():
        by_reason.setdefault(reason, []).append(name.partition("/")[0])
    # a probe with some samples lacks only some of its sizes
    sampled = {(c.probe, c.scope) for c, _ in session.samples}
    for case in session.missing:
        part = "sizes of " if (case.probe, case.scope) in sampled else ""
        core = " on one core" if case.scope is Scope.ONE else ""
        by_reason.setdefault("time ran out", []).append(f"{part}{case.probe}{core}")
    for reason, probes in by_reason.items():
        yield f"not measured: {', '.join(dict.fromkeys(probes))}: {reason}"
