"""Samples of all cases, round after round, stored line by line so that a stopped run can resume."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from perfc.ir import record

from .backends import host
from .backends.backend import Backend, MeasurementError, PowerDraw
from .probe import PROBES, Case, Scope, cases
from .timing import Clocks, Deadline, Series, TimingSettings, measure

FORMAT = 2
"""Version of the file of samples; a file of another version is not resumed."""
LARGE_BYTES = 1 << 30
"""Larger working sets are measured in the first two rounds only, as preparing them takes time."""
LONG_CHASE_BYTES = 64 << 20
"""`LARGE_BYTES` for chases of pointers, whose random cycles take longer to prepare."""
LONG_S = 1.0
"""Maximum seconds of a product; one that would take longer, by the time of a smaller one, is
refused."""
OTHERS = 0.1
"""Share of the processors that other programs may use while long runs are measured."""
UNDIVIDED_S = 3e-3
"""Maximum duration of runs that fit between two scheduler ticks, so that others cannot disturb.
Linux has 250 ticks a second by default."""
MAX_LINE_BYTES = 1 << 16
"""Maximum bytes of a line of the file of samples."""
MAX_LINES = 200_000
"""Maximum lines of the file of samples."""


@record
class Sample:
    """Samples of one case in one round.

    Args:
        count: work of one repeat, as the probe counts it: multiply–accumulates, bytes or steps.
        state: clocks and power just before; ``others`` is the share of the processors that other
            programs used meanwhile.
    """

    case: Case
    round: int
    count: float
    series: Series
    state: Mapping[str, float] = field(default_factory=dict)

    def rate(self, seconds: float) -> float:
        """Return the probe's result for ``seconds`` per repeat: work per second, or a time."""
        probe = PROBES[self.case.probe]
        if probe.quantity.is_time:
            return seconds / (self.count * probe.work)
        return self.count * probe.work / seconds

    @property
    def best(self) -> float:
        """Return the result from the median of the best third of the samples."""
        return self.rate(self.series.best_s)

    @property
    def is_disturbed(self) -> bool:
        """Return True if other programs ran, and a repeat is too long to fit between them."""
        return self.state.get("others", 0.0) > OTHERS and self.series.best_s > UNDIVIDED_S

    @property
    def extreme(self) -> float:
        """Return the result from the single best sample, on which bounds are based."""
        return self.rate(min(self.series.seconds))


def settings_for(kind: str, quick: bool) -> TimingSettings:
    """Return the timing settings for a kind of device.

    Samples on an accelerator are longer, so that launch overhead is negligible.
    """
    # `Series.best_s` is the median of a third: of three samples, or of five
    samples, limit_s = (9, 0.4) if quick else (15, 2.0)
    if kind == "cuda":
        budget_s, warm_up_s = (0.1, 0.05) if quick else (0.2, 0.1)
        return TimingSettings(
            sample_s=2e-3,
            samples=samples,
            budget_s=budget_s,
            warm_up_s=warm_up_s,
            limit_s=limit_s,
        )
    return TimingSettings(samples=samples, limit_s=limit_s)


@record
class Progress:
    """Progress of a measurement.

    Args:
        what: the current measurement.
        done: finished cases of this round, of ``total``.
        elapsed_s: wall time since the start, of ``limit_s`` at most.
    """

    what: str
    done: int
    total: int
    elapsed_s: float
    limit_s: float


class Session:
    """A measurement that stores its samples.

    Args:
        backend: the device, and how its probes run.
        quick: fewer sizes and samples.
        path: the file of raw samples; None stores nothing.
        resume: continue with the samples in the file.
        settings: durations of samples; by default those of the kind of device.
        tell: called before each case.
        deadline: time after which no case begins; at least one case is measured.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        quick: bool = False,
        path: Path | None = None,
        resume: bool = False,
        settings: TimingSettings | None = None,
        tell: Callable[[Progress], None] | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.backend = backend
        self.deadline = deadline or Deadline()
        self.settings = settings or settings_for(backend.device.kind, quick)
        self.path, self.tell = path, tell
        self.samples: dict[tuple[Case, int], Sample] = {}
        self.loads: dict[str, PowerDraw] = {}
        self.refused: dict[str, str] = {}
        self.cases = self._plan(quick)
        self.header = {
            "format": FORMAT,
            "device": backend.device.name,
            "cores": backend.device.cores,
            "quick": quick,
            "unit": "seconds of one repeat",
        }
        self._open(resume)

    def _plan(self, quick: bool) -> tuple[Case, ...]:
        """Return the cases that the backend can measure; reasons of others go to ``refused``."""
        remaining = list[Case]()
        for case in cases(self.backend.device, quick):
            reason = self.backend.refuses(case)
            if reason:
                self.refused[f"{case.probe}/{case.scope.value}"] = reason
            else:
                remaining.append(case)
        return tuple(remaining)

    def _open(self, resume: bool) -> None:
        """Begin the file of samples, or read those of the run that is resumed."""
        if self.path is None:
            return
        if resume and self.path.is_file():
            self._read(self.path)
            return
        try:
            self.path.write_text(json.dumps(self.header) + "\n", encoding="utf-8")
        except OSError as error:
            raise MeasurementError(
                f"cannot be written: {error.strerror}", where=str(self.path)
            ) from None

    def _read(self, path: Path) -> None:
        """Read earlier samples; an incomplete last line is measured again."""
        cases_by_name = {str(c): c for c in self.cases}
        with path.open("rb") as stream:
            head = _object(stream.readline(MAX_LINE_BYTES))
            # samples of another device or plan must not mix with these
            if {k: head.get(k) for k in self.header} != self.header:
                raise MeasurementError(
                    "has samples of another device or plan",
                    hint="leave --resume out to measure afresh",
                    where=path.name,
                )
            for _ in range(MAX_LINES):
                line = stream.readline(MAX_LINE_BYTES)
                if not line:
                    break
                sample = _sample(_object(line), cases_by_name)
                if sample is not None:
                    self.samples[sample.case, sample.round] = sample
        # new samples must begin on a new line, as the last one may be incomplete
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n")

    def verify(self) -> None:
        """Check every kernel's answer once.

        Raises:
            MeasurementError: an answer is wrong, so its times would mean nothing.
        """
        for name in dict.fromkeys(c.probe for c in self.cases):
            probe = PROBES[name]
            if probe.inputs is None or probe.expected is None:
                continue
            # any seed, the same in every run
            given = probe.inputs(20_250_101)
            expected = probe.expected(given)
            answer = self.backend.answer(probe, given)
            if not expected.accepts(answer):
                error = expected.error(answer)
                raise MeasurementError(
                    f"{name}: the kernel's answer is off by {error:.2g}, "
                    f"allowed is {expected.tolerance:.2g}"
                )

    def round(self, index: int, only: Iterable[Case] | None = None, *, again: bool = False) -> None:
        """Measure all cases, or ``only`` these, that have no samples of this round.

        From the third round on (``index`` 2), cases that take long to prepare are skipped unless
        they are measured ``again``.
        """
        wanted = list(self.cases if only is None else only)
        for done, case in enumerate(wanted):
            large = case.size > (LONG_CHASE_BYTES if case.probe == "chase" else LARGE_BYTES)
            if (case, index) in self.samples or (large and index > 1 and not again):
                continue
            if self._takes_too_long(case):
                self.refused[str(case)] = f"one product would take more than {LONG_S:g} s"
                continue
            # one case is measured even if time is over
            if self.deadline.is_over and self.samples:
                return
            self._say(str(case), done, len(wanted))
            self._measure(case, index)

    def _say(self, what: str, done: int, total: int) -> None:
        """Report progress, if anyone listens."""
        if self.tell is not None:
            elapsed_s, limit_s = self.deadline.elapsed_s, self.deadline.limit_s
            self.tell(Progress(what, done, total, elapsed_s, limit_s))

    @property
    def missing(self) -> tuple[Case, ...]:
        """Return the cases that were not measured in time."""
        measured = {case for case, _ in self.samples}
        return tuple(c for c in self.cases if c not in measured and str(c) not in self.refused)

    def _takes_too_long(self, case: Case) -> bool:
        """Return True if a product would take too long, extrapolated from a smaller one."""
        if not case.probe.startswith("matrix."):
            return False
        # the work of a product grows with the cube of its extent; samples that other programs
        # disturbed say nothing of larger ones, and the deadline limits those
        times = (
            min(s.series.seconds) * (case.size / s.case.size) ** 3
            for (c, _), s in self.samples.items()
            if (c.probe, c.scope) == (case.probe, case.scope) and not s.is_disturbed
        )
        return min(times, default=0.0) > LONG_S

    def _measure(self, case: Case, index: int) -> None:
        """Measure a case in one round and append its samples to the file."""
        state = self.backend.state()
        try:
            run = self.backend.prepare(case)
        except MemoryError:
            self.refused[str(case)] = "not enough memory"
            return
        try:
            others = host.Others()
            series = measure(run, self.settings, Clocks(), self.deadline)
            share = others.share() if self.backend.device.kind == "cpu" else None
            if share is not None:
                state = {**state, "others": share}
            sample = Sample(case, index, run.count, series, state)
        except MeasurementError as error:
            raise MeasurementError(error.message, hint=error.hint, where=str(case)) from None
        finally:
            run.close()
        self.samples[case, index] = sample
        if self.path is not None:
            line = {
                "case": str(case),
                "round": index,
                "count": run.count,
                "repeats": series.repeats,
                "seconds": [float(f"{s:.6g}") for s in series.seconds],
                "state": {k: float(f"{v:.5g}") for k, v in state.items()},
                "at": round(time.time(), 1),
            }
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")

    def power(self, seconds: float) -> None:
        """Measure power idle, under a large product and under a large copy, if it can be read."""
        idle = self.backend.load(None, seconds)
        if idle is None:
            return
        self.loads["idle"] = idle
        measured = sorted({case for case, _ in self.samples}, key=lambda c: c.size)
        loads = (
            c
            for c in measured
            if (c.probe.startswith("matrix.") and c.scope is Scope.ALL)
            or (c.probe == "stream.copy" and c.size < LARGE_BYTES)
        )
        # cases are in ascending order: the largest one of a probe replaces the others
        largest = {c.probe: c for c in loads}
        for done, case in enumerate(largest.values()):
            self._say(f"power of {case}", done, len(largest))
            load = self.backend.load(case, seconds)
            if load is not None:
                self.loads[case.probe] = load


def _object(line: bytes) -> dict[str, object]:
    """Return the JSON object of a line; empty for anything else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", record) if isinstance(record, dict) else {}


def _sample(line: dict[str, object], known: Mapping[str, Case]) -> Sample | None:
    """Return a line as a sample; None if it is not one."""
    case, index, count = known.get(str(line.get("case"))), line.get("round"), line.get("count")
    seconds, repeats = line.get("seconds"), line.get("repeats")
    if case is None or not isinstance(index, int) or not isinstance(count, int | float):
        return None
    if not isinstance(seconds, list) or not isinstance(repeats, int) or not seconds:
        return None
    numbers = tuple(
        float(s) for s in cast("list[object]", seconds) if isinstance(s, int | float) and s > 0
    )
    # a damaged line may have any number: no run has a hundred rounds
    if len(numbers) != len(seconds) or not 0 <= index < 100 or not count > 0:
        return None
    state = line.get("state")
    stored_state = cast("dict[str, object]", state) if isinstance(state, dict) else {}
    readings = {k: float(v) for k, v in stored_state.items() if isinstance(v, int | float)}
    return Sample(case, index, float(count), Series(repeats, numbers), readings)
