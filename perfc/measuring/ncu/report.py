"""Read a report of Nsight Compute: kernels of one name and phase added up, with diagnostics.

`load` reads the CSV (`table`), computes flop, bytes and seconds of each launch (`derive`), and adds
launches of a kernel up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from perfc.errors import ParseError
from perfc.ir import record
from perfc.machine import Unit
from perfc.view.chart.marks import Mark, TimeBasis
from perfc.view.chart.roofs import RoofLevel

from .derive import LaunchQuantities, derive, is_wanted
from .metrics import ARCHITECTURES, PIPE_TENSOR
from .table import NcuLaunch, NcuTable, read


class NvtxPhase(Enum):
    """Parts of a training step, from the names of NVTX ranges."""

    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    OTHER = ""


# tried in this order: ``apply_gradients`` is of the optimizer, not of the backward pass
_PHASES = (
    (
        NvtxPhase.OPTIMIZER,
        re.compile(r"optimi[sz]er|optim|apply_?grad|weight_?update|adam|sgd", re.I),
    ),
    (
        NvtxPhase.BACKWARD,
        re.compile(r"backward|bwd|backprop|gradient|(?<![a-z])grad(?![a-z])", re.I),
    ),
    (NvtxPhase.FORWARD, re.compile(r"forward|fwd|inference|predict", re.I)),
)


class MessageSeverity(Enum):
    """Severities of a message."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@record
class Diagnostic:
    """Something a reader of the numbers must know."""

    severity: MessageSeverity
    text: str


@record
class KernelCounters:
    """All launches of one kernel name in one phase together.

    Args:
        kernel: name as ncu printed it.
        phase: phase by the NVTX ranges around the launches.
        launches: number of launches.
        time_s: time of all launches.
        flop: operations by unit and element type.
        nbytes: bytes by memory level, without levels that were not counted in every launch.
        is_bound: True if some arithmetic was not counted, so that ``flop`` is a lower bound.
    """

    kernel: str
    phase: NvtxPhase
    launches: int
    time_s: float
    flop: Mapping[tuple[Unit, str], float]
    nbytes: Mapping[RoofLevel, float]
    is_bound: bool = False

    @property
    def flop_total(self) -> float:
        """Return the operations of all units."""
        return sum(self.flop.values())

    @property
    def main(self) -> tuple[Unit, str]:
        """Return the unit and element type of most operations; those of f32 without any."""
        return max(self.flop, key=self.flop.__getitem__, default=(Unit.VECTOR, "f32"))

    @property
    def mark(self) -> Mark:
        """Return the kernel as a chart shows it."""
        unit, dtype = self.main
        return Mark(
            self.kernel,
            TimeBasis.MEASURED,
            self.flop_total,
            self.time_s,
            {x: b for x, b in self.nbytes.items() if b > 0},
            unit,
            dtype,
            phase=self.phase.value,
            is_bound=self.is_bound,
        )


@record
class NcuReport:
    """Contents of an ncu CSV.

    Args:
        path: path of the file.
        arch: architecture, as ``sm_80``; "" if the file does not say.
        kernels: kernels, the longest time first.
        processes: ID and name of every process.
        diagnostics: facts that limit what the numbers say.
    """

    path: str
    arch: str
    kernels: tuple[KernelCounters, ...]
    processes: tuple[tuple[str, str], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def time_s(self) -> float:
        """Return the time of all kernels."""
        return sum(k.time_s for k in self.kernels)


@dataclass(slots=True)
class _Sum:
    """Sum of the launches of a kernel.

    Bytes are lists with an entry for each launch: a shorter list shows that a launch lacks them.
    """

    launches: int = 0
    time_s: float = 0.0
    flop: dict[tuple[Unit, str], float] = field(default_factory=dict)
    nbytes: dict[RoofLevel, list[float]] = field(default_factory=dict)
    is_bound: bool = False

    def add(self, c: LaunchQuantities) -> None:
        """Add one launch."""
        self.launches += 1
        self.time_s += c.time_s or 0.0
        self.is_bound |= c.is_bound
        for key, value in c.flop.items():
            self.flop[key] = self.flop.get(key, 0.0) + value
        for level, value in c.nbytes.items():
            self.nbytes.setdefault(level, []).append(value)


def load(path: Path, *, arch: str = "", process: str = "") -> NcuReport:
    """Read a report and apply the equations.

    Args:
        path: CSV of either page.
        arch: architecture, where the file does not state the compute capability.
        process: ID of the only process whose launches count; "" for all.

    Raises:
        ParseError: no such file or no report, or nothing in it to compute with.
    """
    table = read(path, is_wanted)
    processes = tuple(dict.fromkeys(x.process for x in table.launches if any(x.process)))
    launches = table.launches
    if process:
        launches = [x for x in launches if x.process[0] == process]
        if not launches:
            known = ", ".join(pid for pid, _ in processes) or "none is listed"
            raise ParseError(
                f"no kernel of process {process}", where=str(path), hint=f"processes: {known}"
            )
    arch = arch or _arch(launches)
    sums: dict[tuple[str, NvtxPhase], _Sum] = {}
    counted: list[LaunchQuantities] = []
    for launch in launches:
        derived = derive(launch, arch)
        counted.append(derived)
        # without a time there is no rate; diagnostics name the missing counters
        if derived.time_s is None or derived.time_s <= 0:
            continue
        sums.setdefault((launch.kernel, phase_of(launch.ranges)), _Sum()).add(derived)
    if not sums:
        raise _nothing(table, path)
    kernels = sorted((_kernel(k, s) for k, s in sums.items()), key=lambda k: -k.time_s)
    diagnostics = tuple(_diagnostics(table, launches, counted, arch, processes, bool(process)))
    return NcuReport(str(path), arch, tuple(kernels), processes, diagnostics)


def _kernel(key: tuple[str, NvtxPhase], s: _Sum) -> KernelCounters:
    """Return the kernel of a sum, by its name and phase."""
    # bytes of some launches alone would be too few
    complete = {x: sum(v) for x, v in s.nbytes.items() if len(v) == s.launches}
    flop = {k: v for k, v in s.flop.items() if v > 0}
    return KernelCounters(*key, s.launches, s.time_s, flop, complete, s.is_bound)


def _nothing(table: NcuTable, path: Path) -> ParseError:
    """Return the error for a report in which no launch has a time."""
    if table.has_names:
        said = "no launch has a time: sm__cycles_elapsed.avg and its .per_second, or "
        said += "gpu__time_duration.sum, must be collected"
    else:
        said = "its metrics are the labels of sections, not counters"
    hint = "collect the counters of `perfc trace --command SCRIPT`"
    return ParseError(said, where=str(path), hint=hint)


def phase_of(ranges: Sequence[str]) -> NvtxPhase:
    """Return the phase named by the innermost NVTX range that has a known name."""
    for name in reversed(ranges):
        for phase, pattern in _PHASES:
            if pattern.search(name):
                return phase
    return NvtxPhase.OTHER


def _arch(launches: Iterable[NcuLaunch]) -> str:
    """Return the architecture by the compute capability of the launches; "" if not recorded."""
    # of several devices the newest; ``8.0`` is sm_80, ``12.0`` sm_120
    capabilities = {x.capability for x in launches if x.capability}
    best = max(
        capabilities, default="", key=lambda c: [int(d) for d in re.findall(r"\d+", c)[:2]] or [0]
    )
    digits = re.findall(r"\d+", best)
    return f"sm_{''.join(digits[:2])}" if digits else ""


def _diagnostics(
    table: NcuTable,
    launches: Sequence[NcuLaunch],
    counted: Sequence[LaunchQuantities],
    arch: str,
    processes: Sequence[tuple[str, str]],
    is_filtered: bool,
) -> Iterable[Diagnostic]:
    """Yield what limits the numbers: counters, shapes, architecture, processes, devices."""
    total = len(launches)
    lacking: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for c in counted:
        lacking.update(c.missing.items())
    for (what, names), n in lacking.items():
        share = "" if n == total else f" in {n} of {total} launches"
        severity = MessageSeverity.NOTE if what == "FP64" else MessageSeverity.WARNING
        yield Diagnostic(severity, f"{what} not computed{share}: {' '.join(names)} missing")
    shapes = sorted({shape for c in counted for shape in c.assumed})
    if shapes:
        text = f"tensor instructions are taken for {'; '.join(shapes)} each: the name does not tell"
        yield Diagnostic(
            MessageSeverity.WARNING, f"{text}; sm__ops_path_tensor_src_* would count them"
        )
    if not arch:
        text = "no compute capability in the file: tensor operations need --arch, as in sm_80"
        yield Diagnostic(MessageSeverity.WARNING, text)
    elif arch not in ARCHITECTURES and any(PIPE_TENSOR in x.metrics for x in launches):
        text = f"no table of {arch}'s tensor instructions: only sm__ops_path_tensor_src_* count"
        yield Diagnostic(MessageSeverity.WARNING, text)
    if len(processes) > 1 and not is_filtered:
        named = ", ".join(f"{pid} {name}".strip() for pid, name in processes[:4])
        more = " …" if len(processes) > 4 else ""
        text = f"{len(processes)} processes added up ({named}{more}); --process keeps one"
        yield Diagnostic(MessageSeverity.NOTE, text)
    capabilities = sorted({x.capability for x in launches if x.capability})
    if len(capabilities) > 1:
        text = f"kernels of different devices together: {', '.join(capabilities)}"
        yield Diagnostic(MessageSeverity.WARNING, text)
    yield from _reading(table, launches, counted)


def _reading(
    table: NcuTable, launches: Sequence[NcuLaunch], counted: Sequence[LaunchQuantities]
) -> Iterable[Diagnostic]:
    """Yield what the text of the file left open: names, packed operations, units, lines."""
    cut = {x.kernel for x in launches if is_cut(x.kernel)}
    if cut:
        text = f"{len(cut)} kernel names are cut short: different kernels may be added up under one"
        yield Diagnostic(
            MessageSeverity.WARNING, f"{text}; --print-kernel-base mangled prints all of it"
        )
    if any(c.flop.get((Unit.VECTOR, "f16"), 0.0) > 0 for c in counted):
        text = "FP16 outside the tensor unit: a packed instruction counts once, as in equation 3.5"
        yield Diagnostic(MessageSeverity.NOTE, f"{text}; up to twice as many operations")
    for unit, name in table.strange.items():
        yield Diagnostic(
            MessageSeverity.WARNING, f"{name} left out: nobody knows the unit {unit!r}"
        )
    if table.skipped:
        text = f"{table.skipped} lines are no rows of the table and were left out"
        yield Diagnostic(MessageSeverity.NOTE, text)


def is_cut(name: str) -> bool:
    """Return True if a kernel's name is truncated."""
    # the angle brackets of operators are no brackets of templates
    name = name.replace("operator<<", "").replace("operator>>", "").replace("->", "")
    brackets = name.count("(") != name.count(")") or name.count("<") > name.count(">")
    return name.endswith(("...", "…")) or brackets
