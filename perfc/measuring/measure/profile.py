"""Profile of a run in one form for all profilers: kernels by name, with the median of their times.

Readers of `runtimes` make it, matching attributes its kernels to those of the analysis.
"""

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
        op: operator or layer type, "" if the profile does not say.
        time_s: median over runs of its time in one run.
        iqr_s: interquartile range of that.
        best_s: shortest of the runs.
        calls: executions in one run.
        members: names of the ONNX nodes that it consists of, as the runtime lists them.
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
        source: profiler that wrote it.
        kernels: in order of first execution.
        runs: number of runs that it averages over.
        run_s: median time of a whole run, None if the profile does not say.
        device: what it ran on, as far as the profile says.
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
    """Times of one kernel name, by run, while a profile is read.

    Args:
        op: operator or layer type.
        times_s: sum of its executions in each run, by number of the run.
        members: names of the ONNX nodes that it consists of.
        calls: executions in all runs.
    """

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
        # calls of a run, over the runs in which it occurs
        called = self.calls / max(len(self.times_s), 1)
        return RuntimeKernel(
            self.name, self.op, median(times), iqr(times), min(times), called, self.members
        )
