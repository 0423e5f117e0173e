"""The target file of a calibration: its path, its text, and writing it in one step."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from pathlib import Path

from perfc.common.version import __version__
from perfc.common.whole_file import replacing
from perfc.errors import TargetError
from perfc.kernels import bounds
from perfc.kernels.backends.backend import Device, MeasurementError
from perfc.kernels.ceilings import MeasuredCeiling, SweepLevel, energies
from perfc.kernels.session import Session
from perfc.kernels.target import Number, render
from perfc.machine import UNCERTAIN, Machine, load_machine, validate

DEFAULT = "default"
"""Source, in the file, of numbers that are assumed because their readings make no sense."""


def default_path(device: Device) -> Path:
    """Return the file of the device's name in the user's folder of targets."""
    from perfc.machine.catalog import own_file

    return own_file(slug(device.name) or device.kind)


def slug(text: str) -> str:
    """Return a name as targets have them: lower-case words with hyphens, 64 characters at most."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].strip("-")


def make_folder(path: Path) -> None:
    """Make the folder of a file.

    Raises:
        TargetError: it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(f"cannot be made: {error.strerror}", where=str(path.parent)) from None


def _quality(ceilings: Iterable[MeasuredCeiling]) -> str:
    """Describe the quality of the ceilings."""
    ceilings = list(ceilings)
    good = sum(not c.is_uncertain for c in ceilings)
    return f"{good} of {len(ceilings)} figures repeat within {100 * UNCERTAIN:.0f} %"


def _sources(
    session: Session, ceilings: Iterable[MeasuredCeiling], samples: str, load: str
) -> dict[str, dict[str, str]]:
    """Return the sources of the file's numbers: measurements, bounds, the operating system.

    Sources are by name, which is what numbers of the file refer to; see `text` for arguments.
    """
    device = session.backend.device
    cores = "core" if device.kind == "cpu" else "multiprocessor"
    return {
        "lab": {
            "origin": "measured",
            "title": f"perfc calibrate on {device.name}",
            "tool": f"perfc calibrate {__version__}",
            "host": device.name,
            "threads": f"{device.cores} {cores}s" if device.cores > 1 else f"one {cores}",
            **{k: v for k, v in device.state.items() if k in ("driver", "clocks", "blas")},
            "compiler": device.state.get("compiler", ""),
            "samples": samples,
            "date": datetime.date.today().isoformat(),
            "note": f"median of the rounds; {_quality(ceilings)}; {load}",
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


def text(
    name: str,
    session: Session,
    ceilings: tuple[MeasuredCeiling, ...],
    steps: tuple[SweepLevel, ...],
    samples: str,
    load: str,
) -> str:
    """Return the target file.

    Args:
        name: name of the target.
        session: with the samples, and power where it could be read.
        ceilings: ceilings, by key.
        steps: memory levels.
        samples: name of the file with the raw samples, in the same folder.
        load: what other programs used, in words.
    """
    device = session.backend.device
    by_key = {c.key: c for c in ceilings}
    sources = _sources(session, ceilings, samples, load)
    base = data_sheet(device)
    numbers: list[Number] = []
    if base is not None:
        for source in base.sources.values():
            texts = {"origin": source.origin.name.lower(), "title": source.title}
            # a data sheet that was itself calibrated has sources named as above, which stand
            sources.setdefault(source.name, {**texts, "date": source.date, "note": source.note})
        # numbers of the data sheet stand; bounds are added for keys that it does not list
        sheet = {r.key: Number(r.key, r.value, r.source, r.note) for r in base.facts.values()}
        numbers += (*sheet.values(), *bounds.unlisted(device, by_key, steps, sheet))
    elif device.kind == "cpu":
        numbers += bounds.cpu_numbers(device, by_key, steps)
    else:
        numbers += bounds.device_numbers(device, by_key, steps)
    # a reading that was refused gets a default, unless data sheet or bounds have the number
    known = {n.key for n in numbers}
    for key, reason in session.refused.items():
        default = bounds.DEFAULTS.get(key, {}).get(device.kind)
        if default is not None and key not in known:
            numbers.append(Number(key, default, DEFAULT, reason))
            sources[DEFAULT] = {"origin": "assumed", "title": "defaults in place of readings"}
    numbers += (
        Number(c.key, c.value, "lab", c.note, c.n, c.iqr, c.spread)
        for c in ceilings
        if _stands(c.key, numbers)
    )
    for key, value in energies(session.loads).items():
        if _stands(key, numbers):  # products whose rate was left out have no table
            numbers.append(Number(key, value, "lab", "above idle" if "energy" in key else ""))
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


def _stands(key: str, numbers: list[Number]) -> bool:
    """Return True if a measured number may be written: its table has a peak, or needs none."""
    table = key.rpartition(".")[0]
    # rates of the device and of its links may stand without a peak
    needs_none = table.startswith(("device", "link"))
    return needs_none or any(n.key.startswith(f"{table}.") for n in numbers)


def data_sheet(device: Device) -> Machine | None:
    """Return the shipped target of an accelerator of this name; None if there is none."""
    if device.kind != "cuda":
        return None
    from perfc.machine.folders import SHIPPED

    wanted = slug(device.name).removeprefix("nvidia-").removeprefix("tesla-")
    for path in sorted(SHIPPED.glob("*.toml")):
        machine = load_machine(path)
        # drivers put the maker's name first, aliases do not
        if wanted in (machine.name, *machine.aliases):
            return machine
    return None


def earlier(path: Path) -> Machine | None:
    """Read the target file that a path has already; None if there is none, or it is damaged."""
    try:
        return load_machine(path)
    except TargetError:
        return None


def write(path: Path, text: str) -> Machine:
    """Write a temporary file, validate it, and rename it to its place.

    Raises:
        MeasurementError: the numbers contradict each other.
        TargetError: it cannot be written.
    """
    try:
        with replacing(path, suffix=".toml") as part:
            part.write_text(text, encoding="utf-8")
            problems = validate(part)
            if problems:
                # without the path in front, which is that of the temporary file
                problem = problems[0].partition(": ")[2]
                raise MeasurementError(f"not written: {problem}", where=path.name)
    except OSError as error:
        raise TargetError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return load_machine(path)
