"""Measures a machine's ceilings and writes them as a target file, or says why it does not."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import perfc
from perfc.errors import TargetError
from perfc.kernels import bounds
from perfc.kernels.backend import MeasurementError, open_backend
from perfc.kernels.ceilings import AGREEMENT, STEADY, Ceiling, Level, ceilings, energies, levels
from perfc.kernels.session import Session
from perfc.kernels.target import Number, render
from perfc.machine import Machine, Rate, Unit, load_machine, validate
from perfc.whole_file import replacing

if TYPE_CHECKING:
    from perfc.kernels.backend import Backend, Device

POWER_S = 0.5
"""How long each load runs for a power reading; counters tick every few milliseconds to 0.1 s."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How often to measure.

    Args:
        rounds: of all cases.
        again: rounds of what still disagrees, at most.
        pause_s: before each of these: whatever disturbed it may end.
        seconds: after which no other round begins.
    """

    rounds: int
    again: int
    pause_s: float
    seconds: float


_BUDGETS = {"cpu": Budget(3, 40, 0.5, 85.0), "cuda": Budget(2, 20, 0.5, 140.0)}
_QUICK = Budget(2, 8, 0.1, 25.0)


@dataclass(frozen=True, slots=True)
class Row:
    """A ceiling beside what a data sheet, or a bound, says.

    Args:
        spec: the peak, None where the file has none.
        iqr: of all samples, good and bad, relative to the value.
    """

    key: str
    spec: Rate | None
    measured: float
    n: int
    iqr: float


@dataclass(frozen=True, slots=True)
class Change:
    """A number that differs from the earlier file's; None where one of the two has none."""

    key: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was written, and what to say about it."""

    machine: Machine
    path: Path
    samples: Path
    rows: tuple[Row, ...]
    changes: tuple[Change, ...]
    replaced: bool
    notes: tuple[str, ...]


def calibrate(
    device: str = "cpu",
    output: Path | None = None,
    *,
    resume: bool = False,
    quick: bool = False,
    threads: int = 0,
    unsteady: bool = False,
    tell: Callable[[str, int, int], None] | None = None,
    backend: Backend | None = None,
) -> Calibration:
    """Measure ``device`` and write ``output``.

    Args:
        device: ``cpu``, ``cuda:0`` or ``fake``.
        output: by default a file of the device's name in the user's folder of targets.
        resume: go on with the samples of a run that was stopped.
        quick: fewer sizes and rounds; the ceilings are the same, the sweeps coarser.
        threads: cores of a processor to use, 0 for all.
        unsteady: write even where others use the memory at times; the numbers say so.
        tell: called with what is measured now, and how many of how many are done.
        backend: instead of the one ``device`` names.

    Raises:
        MeasurementError: answers are wrong, clocks jump, or rounds disagree; nothing is written
            but the raw samples.
        TargetError: no such device, or the file cannot be written.
        MissingExtraError: an optional package is missing.
    """
    backend = backend or open_backend(device, threads=threads)
    path = output or _default(backend.device)
    name = _slug(path.stem)
    if path.suffix != ".toml" or not name:
        raise TargetError(f"{path} must end in .toml", where="--output")
    samples = path.with_suffix(".samples.jsonl")
    _folder(path)
    session = Session(backend, quick=quick, path=samples, resume=resume, tell=tell)
    session.verify()
    _measure(session, _QUICK if quick else _BUDGETS[backend.device.kind])
    found = ceilings(session.samples, backend.device)
    steps = levels(session.samples, backend.device)
    _demand(found, steps, unsteady)
    session.power(POWER_S)
    text = _text(name, session, found, steps, samples.name)
    before = _earlier(path)
    machine = _write(path, text)
    return Calibration(
        machine,
        path,
        samples,
        tuple(_rows(machine, found)),
        tuple(_changes(before, machine)),
        before is not None,
        (*backend.device.notes, *_unmeasured(session)),
    )


def _measure(session: Session, budget: Budget) -> None:
    """All cases, then again what the rounds disagree on."""
    start, device = time.monotonic(), session.backend.device
    index = 0
    while index < budget.rounds:
        began = time.monotonic()
        session.round(index)
        index += 1
        now = time.monotonic()
        if index >= 2 and now - start + (now - began) > budget.seconds:
            break
    # a resumed run has such rounds already
    index = max((r + 1 for _, r in session.samples), default=index)
    for again in range(index, index + budget.again):
        if time.monotonic() - start > budget.seconds:
            return
        open_ = [c for c in ceilings(session.samples, device) if not c.is_settled]
        if not open_:
            return
        # others come and go: rounds of what they share lie further apart
        time.sleep(budget.pause_s * (4 if all(c.is_shared for c in open_) else 1))
        session.round(again, dict.fromkeys(case for c in open_ for case in c.cases))


def _demand(found: tuple[Ceiling, ...], steps: tuple[Level, ...], unsteady: bool) -> None:
    """Refuse what must not be written."""
    if len(steps) < 2:
        raise MeasurementError(
            f"not written: the bandwidth sweep shows {len(steps)} levels, memory and a cache at "
            "least are needed",
            hint="let the machine rest and run again with --resume",
        )
    wide = sorted((c for c in found if not c.agrees), key=lambda c: -c.gap)
    if unsteady:
        wide = [c for c in wide if not c.is_shared]
    if not wide:
        return
    worst = wide[0]
    if worst.gap <= AGREEMENT:
        raise MeasurementError(
            f"not written: {worst.key} is not steady, the median of {len(worst.rounds)} rounds is "
            f"{worst.drop:.0%} below the best where {STEADY:.0%} is allowed: others use it too",
            hint="run again with --resume later, or with --unsteady to write what there is",
        )
    hint = "end what else runs on the machine, then run again with --resume"
    more = f"; {len(wide) - 1} more" if len(wide) > 1 else ""
    if len(worst.rounds) < 2:
        raise MeasurementError(
            f"not written: other programs kept the processors busy while {worst.key} was "
            f"measured{more}",
            hint=hint,
        )
    best = sorted(worst.rounds, reverse=not worst.less_is_better)[:2]
    told = " and ".join(f"{v:.4g}" for v in best)
    raise MeasurementError(
        f"not written: {worst.key} spreads too widely, the two best of {len(worst.rounds)} rounds "
        f"are {told}, {worst.gap:.0%} apart where {AGREEMENT:.0%} is allowed{more}",
        hint=hint,
    )


def _default(device: Device) -> Path:
    from perfc.machine.files import user_folder

    return user_folder() / f"{_slug(device.name) or device.kind}.toml"


def _slug(text: str) -> str:
    """A name as targets have them."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].strip("-")


def _folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(f"cannot be made: {error.strerror}", where=str(path.parent)) from None


def _sources(session: Session, samples: str) -> dict[str, dict[str, str]]:
    device = session.backend.device
    cores = "core" if device.kind == "cpu" else "multiprocessor"
    return {
        "lab": {
            "origin": "measured",
            "title": f"perfc calibrate on {device.name}",
            "tool": f"perfc calibrate {perfc.__version__}",
            "host": device.name,
            "threads": f"{device.cores} {cores}s" if device.cores > 1 else f"one {cores}",
            **{k: v for k, v in device.state.items() if k in ("driver", "clocks", "blas")},
            "compiler": device.state.get("compiler", ""),
            "samples": samples,
            "date": datetime.date.today().isoformat(),
            "note": "mean of the two best rounds, a round is the median of its best third",
        },
        "bound": {
            "origin": "assumed",
            "title": "upper bounds for floors, from instruction widths and from measurements",
            "note": "each number says what it is made of",
        },
        "system": {
            "origin": "vendor",
            "title": "what the operating system or driver says of the device",
        },
    }


def _text(
    name: str,
    session: Session,
    found: tuple[Ceiling, ...],
    steps: tuple[Level, ...],
    samples: str,
) -> str:
    device = session.backend.device
    by_key = {c.key: c for c in found}
    sources = _sources(session, samples)
    base = _data_sheet(device)
    numbers: list[Number] = []
    if base is not None:
        for source in base.sources.values():
            texts = {"origin": source.origin.name.lower(), "title": source.title}
            # a file that was itself calibrated has sources of our names
            sources.setdefault(source.name, {**texts, "date": source.date, "note": source.note})
        sheet = {r.key: Number(r.key, r.value, r.source, r.note) for r in base.facts.values()}
        numbers += (*sheet.values(), *bounds.unlisted(device, by_key, steps, sheet))
    elif device.kind == "cpu":
        numbers += bounds.cpu_numbers(device, by_key, steps)
    else:
        numbers += bounds.device_numbers(device, by_key, steps)
    numbers += (
        Number(c.key, c.value, "lab", _note(c), c.n, c.iqr)
        for c in found
        if _stands(c.key, numbers)
    )
    for key, value in energies(session.loads).items():
        note = "above idle" if "energy" in key else ""
        numbers.append(Number(key, value, "lab", note))
    top = {
        "name": name,
        "kind": device.kind,
        "vendor": device.vendor,
        "arch": base.arch if base else device.arch,
        "description": f"{device.name}, measured on {device.cores} cores"
        if device.kind == "cpu"
        else f"{device.name}, measured",
    }
    return render(top, sources, numbers)


def _note(ceiling: Ceiling) -> str:
    """What is said of a number, and where others used the memory at times, that they did."""
    if not ceiling.is_shared or ceiling.is_steady:
        return ceiling.note
    return f"{ceiling.note}; not steady, the median round is {ceiling.drop:.0%} below"


def _stands(key: str, numbers: list[Number]) -> bool:
    """Whether the file has the table's peak; a sustained rate alone is no table."""
    table = key.rpartition(".")[0]
    alone = table.startswith(("device", "link"))
    return alone or any(n.key.startswith(f"{table}.") for n in numbers)


def _data_sheet(device: Device) -> Machine | None:
    """The shipped target of an accelerator of this name."""
    if device.kind != "cuda":
        return None
    from perfc.machine.files import SHIPPED

    wanted = _slug(device.name).removeprefix("nvidia-").removeprefix("tesla-")
    for path in sorted(SHIPPED.glob("*.toml")):
        machine = load_machine(path)
        if wanted in (machine.name, *machine.aliases):
            return machine
    return None


def _earlier(path: Path) -> Machine | None:
    """The file that is there; None where it is none that can be read."""
    try:
        return load_machine(path)
    except TargetError:
        return None


def _write(path: Path, text: str) -> Machine:
    """Write to a file beside, check it, and put it in place in one step."""
    try:
        with replacing(path, suffix=".toml") as part:
            part.write_text(text, encoding="utf-8")
            problems = validate(part)
            if problems:
                told = problems[0].partition(": ")[2]
                raise MeasurementError(f"not written: {told}", where=path.name)
    except OSError as error:
        raise TargetError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return load_machine(path)


def _spec(machine: Machine, key: str) -> Rate | None:
    """The peak a sustained rate stands beside."""
    table, _, last = key.rpartition(".")
    kind, _, rest = table.partition(".")
    if kind == "memory" and last.startswith("sustained"):
        level = machine.level(rest)
        return level.bandwidth if level else None
    if kind == "compute" and last.startswith("sustained"):
        unit, _, dtype = rest.partition(".")
        peak = machine.compute.get((Unit(unit), dtype))
        return peak.peak if peak else None
    if last.startswith("sustained"):
        return machine.facts.get(f"{table}.{last.removeprefix('sustained_')}")
    return None


def _rows(machine: Machine, found: tuple[Ceiling, ...]) -> Iterator[Row]:
    order = {key: i for i, key in enumerate(machine.facts)}
    for c in sorted(found, key=lambda c: order.get(c.key, len(order))):
        yield Row(c.key, _spec(machine, c.key), c.value, c.n, c.iqr / c.value)


def _changes(before: Machine | None, after: Machine) -> Iterator[Change]:
    if before is None:
        return
    for key in dict.fromkeys((*after.facts, *before.facts)):
        old, new = (m.facts[key].value if key in m.facts else None for m in (before, after))
        if old is None or new is None or abs(new - old) > 0.005 * old:
            yield Change(key, old, new)


def _unmeasured(session: Session) -> Iterator[str]:
    """What was not measured, by reason."""
    by_reason: dict[str, list[str]] = {}
    if not session.loads:
        by_reason["no power or energy counter can be read"] = ["power", "energy"]
    for case, reason in session.refused.items():
        by_reason.setdefault(reason, []).append(case.partition("/")[0])
    for reason, probes in by_reason.items():
        yield f"not measured: {', '.join(dict.fromkeys(probes))}: {reason}"
