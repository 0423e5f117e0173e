"""PyTorch's profiler: a Chrome trace of operators on the host and kernels on the device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from perfc.errors import ParseError

from ..process import iqr
from ..profile import Profile, ProfilerKind, RuntimeKernel
from .events import Event, events, inner, number, text

MOST_OPERATORS = 2_000_000
PREFIX = "aten::"
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


@dataclass(slots=True)
class Operator:
    """An outermost operator of the host with the device time that it caused."""

    name: str
    begin_us: float
    end_us: float
    device_us: float = 0.0


@dataclass(slots=True)
class Trace:
    """Contents of a trace.

    Args:
        operators: by thread, in order.
        caller: an operator's external id to the outermost operator around it.
        kernels: external id and duration of what ran on the device.
        names: names of the devices.
    """

    operators: dict[object, list[Operator]] = field(default_factory=dict[object, "list[Operator]"])
    raw: list[tuple[object, float, float, str, object]] = field(
        default_factory=list[tuple[object, float, float, str, object]]
    )
    caller: dict[object, Operator] = field(default_factory=dict[object, Operator])
    kernels: list[tuple[object, float]] = field(default_factory=list[tuple[object, float]])

    def event(self, e: Event) -> None:
        """Take one event."""
        category, dur = text(e, "cat").lower(), number(e, "dur")
        if dur is None or dur < 0 or text(e, "ph") != "X":
            return
        if category in _DEVICE:
            self.kernels.append((inner(e, "args").get("External id"), dur))
        elif category in ("cpu_op", "operator"):
            begin = number(e, "ts")
            if begin is None:
                return
            if len(self.raw) >= MOST_OPERATORS:
                raise ParseError("more than two million operators in a trace")
            identity = inner(e, "args").get("External id")
            key = identity if isinstance(identity, int | str) else None
            thread = e.get("tid")
            owner = thread if isinstance(thread, int | str) else 0
            self.raw.append((owner, begin, -dur, text(e, "name"), key))

    def nest(self) -> None:
        """Set the outermost operators of each thread, and map inner operators to them."""
        self.raw.sort(key=lambda r: (str(r[0]), r[1], r[2]))
        for thread, begin, negative, name, key in self.raw:
            operators = self.operators.setdefault(thread, [])
            end = begin - negative
            if not operators or begin >= operators[-1].end_us:
                if not name.startswith(PREFIX):
                    continue
                operators.append(Operator(name.removeprefix(PREFIX), begin, end))
            if key is not None:
                self.caller[key] = operators[-1]
        self.raw.clear()
        for key, dur in self.kernels:
            operator = self.caller.get(key) if isinstance(key, int | str) else None
            if operator is not None:
                operator.device_us += dur


def read(path: str | os.PathLike[str]) -> Profile:
    """Read the profile, with medians over equal runs.

    Raises:
        ParseError: no operator ran.
    """
    trace = Trace()
    for e in events(path, "traceEvents" if is_object(path) else ""):
        trace.event(e)
    trace.nest()
    threads = sorted(trace.operators.values(), key=len, reverse=True)
    if not threads or not threads[0]:
        raise ParseError("no operator of PyTorch in it", where=os.fspath(path))
    ran = threads[0]
    on_device = any(o.device_us > 0 for o in ran)
    length = period([o.name for o in ran])
    runs = len(ran) // length
    counted = range(1, runs) if runs > 1 else range(runs)
    kernels: list[RuntimeKernel] = []
    for i in range(length):
        repeats = [ran[r * length + i] for r in counted]
        times = [(o.device_us if on_device else o.end_us - o.begin_us) * 1e-6 for o in repeats]
        name = f"{i}:{repeats[0].name}"
        kernels.append(RuntimeKernel(name, repeats[0].name, median(times), iqr(times), min(times)))
    whole = [(ran[(r + 1) * length - 1].end_us - ran[r * length].begin_us) * 1e-6 for r in counted]
    run_s = None if on_device else median(whole)
    return Profile(
        ProfilerKind.KINETO, tuple(kernels), len(counted), run_s, "cuda" if on_device else "cpu"
    )


def is_object(path: str | os.PathLike[str]) -> bool:
    """Return True if the events are in an object, as ``export_chrome_trace`` writes them."""
    from .events import head

    return head(path, 64).lstrip().startswith("{")


def period(names: Sequence[str]) -> int:
    """Length of the sequence that repeats; the whole where none does.

    Source: Knuth, Morris & Pratt 1977, failure function.
    """
    n = len(names)
    failure = [0] * n
    k = 0
    for i in range(1, n):
        while k and names[i] != names[k]:
            k = failure[k - 1]
        if names[i] == names[k]:
            k += 1
        failure[i] = k
    length = n - failure[-1] if n else 0
    return length if length and n % length == 0 else n
