"""Profiles of any runtime as one thing: kernels by name, with the median of their times."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from statistics import median

from perfc.ir import record

from .process import iqr


class ProfilerKind(Enum):
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
        counts: different numbers of elements of its operands, the largest first.
    """

    name: str
    op: str
    time_s: float
    iqr_s: float = 0.0
    best_s: float = 0.0
    calls: float = 1.0
    members: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()


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

    source: ProfilerKind
    kernels: tuple[RuntimeKernel, ...]
    runs: int
    run_s: float | None = None
    device: str = ""

    @property
    def kernel_s(self) -> float:
        """Return the time of all kernels in one run."""
        return sum(k.time_s for k in self.kernels)


@dataclass(slots=True)
class Sampled:
    """Times of one name, run by run."""

    name: str
    op: str
    times_s: dict[int, float] = field(default_factory=dict)
    calls: int = 0
    members: tuple[str, ...] = ()

    def add(self, run: int, time_s: float) -> None:
        """Add one execution."""
        self.times_s[run] = self.times_s.get(run, 0.0) + time_s
        self.calls += 1

    def kernel(self, runs: list[int]) -> RuntimeKernel:
        """Return the median over the runs that count; runs without it count as zero."""
        times = [self.times_s.get(r, 0.0) for r in runs]
        called = self.calls / max(len(self.times_s), 1)
        return RuntimeKernel(
            self.name, self.op, median(times), iqr(times), min(times), called, self.members
        )
