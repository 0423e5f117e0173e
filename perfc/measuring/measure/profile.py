"""Profiles of any runtime as one thing: kernels by name, with the median of their times."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from statistics import median

from perfc.errors import ParseError
from perfc.ir.record import record

from .process import iqr
from .runtimes.events import head


class Source(Enum):
    """Tools that write profiles."""

    ORT = "onnxruntime"
    KINETO = "PyTorch"
    TENSORRT = "TensorRT"


@record
class RuntimeKernel:
    """Kernel of a runtime, with its times.

    Args:
        name: as the runtime calls it.
        op: operator or layer type, "" where the profile does not tell.
        time_s: median over runs of its time in one run.
        iqr_s: interquartile range of that.
        best_s: shortest of the runs.
        calls: executions in one run.
        members: names of the ONNX nodes it states to consist of.
    """

    name: str
    op: str
    time_s: float
    iqr_s: float = 0.0
    best_s: float = 0.0
    calls: float = 1.0
    members: tuple[str, ...] = ()


@record
class Profile:
    """One profile.

    Args:
        source: who wrote it.
        kernels: in order of first execution.
        runs: that it averages over.
        run_s: median time of a whole run, None where the profile does not tell.
        device: what it ran on, as far as the profile tells.
    """

    source: Source
    kernels: tuple[RuntimeKernel, ...]
    runs: int
    run_s: float | None = None
    device: str = ""

    @property
    def kernel_s(self) -> float:
        """Time of all kernels in one run."""
        return sum(k.time_s for k in self.kernels)


@dataclass(slots=True)
class Sampled:
    """Times of one name, run by run."""

    name: str
    op: str
    times_s: dict[int, float] = field(default_factory=dict[int, float])
    calls: int = 0
    members: tuple[str, ...] = ()

    def add(self, run: int, time_s: float) -> None:
        """One execution."""
        self.times_s[run] = self.times_s.get(run, 0.0) + time_s
        self.calls += 1

    def kernel(self, runs: list[int]) -> RuntimeKernel:
        """Median over the runs that count; runs without it count as zero."""
        times = [self.times_s.get(r, 0.0) for r in runs]
        called = self.calls / max(len(self.times_s), 1)
        return RuntimeKernel(
            self.name, self.op, median(times), iqr(times), min(times), called, self.members
        )


def recognise(path: str | os.PathLike[str]) -> Source:
    """Detect the tool that wrote a profile by its content.

    Raises:
        ParseError: nobody we know.
    """
    start = head(path)
    if not start.lstrip()[:1] or start.lstrip()[0] not in "[{":
        raise ParseError(
            "not a profile: neither a JSON list nor a JSON object",
            where=os.fspath(path),
            hint="onnxruntime, PyTorch and TensorRT profiles are read",
        )
    if '"traceEvents"' in start or '"deviceProperties"' in start or '"schemaVersion"' in start:
        return Source.KINETO
    if (
        '"averageMs"' in start
        or '"timeMs"' in start
        or '"medianMs"' in start
        or '"Layers"' in start
    ):
        return Source.TENSORRT
    if '"model_loading' in start or '_kernel_time"' in start or '"session_initialization"' in start:
        return Source.ORT
    if '"cpu_op"' in start or '"ph"' in start:
        return Source.KINETO
    raise ParseError(
        "a JSON file, but of no profiler known here",
        where=os.fspath(path),
        hint="onnxruntime, PyTorch and TensorRT profiles are read",
    )


def read(path: str | os.PathLike[str], layers: str | os.PathLike[str] | None = None) -> Profile:
    """A profile of any kind.

    Args:
        path: of the file, gzipped or not.
        layers: TensorRT's layer information beside it, which names the ONNX nodes of a layer.

    Raises:
        ParseError: no profile, or one without kernels.
    """
    source = recognise(path)
    match source:
        case Source.ORT:
            from .runtimes.ort_profile import read as read_ort

            profile = read_ort(path)
        case Source.KINETO:
            from .runtimes.kineto import read as read_kineto

            profile = read_kineto(path)
        case Source.TENSORRT:
            from .runtimes.tensorrt import read as read_tensorrt

            profile = read_tensorrt(path, layers)
    if not profile.kernels or profile.kernel_s <= 0:
        raise ParseError("a profile in which nothing ran", where=os.fspath(path))
    return profile
