"""Profile of a run in one form for all profilers: kernels by name, with the median of their times.

The readers in `runtimes` return it; `matching` attributes its kernels to those of the analysis.
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
        name: name in the profile.
        op: operator or layer type, "" if the profile does not say.
        time_s: median over runs of its time in one run.
        iqr_s: interquartile range of its times in the runs.
        best_s: shortest of its times in the runs.
        calls: number of executions in one run.
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
        device: device or execution provider of most kernels; "" if the profile does not say.
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
        name: name of the kernel.
        op: operator or layer type.
        times_s: sum of its times in each run, by number of the run.
        calls: number of executions in all runs.
        members: names of the ONNX nodes that it consists of.
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
        """Return the kernel over the runs that count; a run without an execution counts as 0 s."""
        times = [self.times_s.get(r, 0.0) for r in runs]
        # calls of a run, over the runs in which it occurs
        called = self.calls / max(len(self.times_s), 1)
        return RuntimeKernel(
            self.name, self.op, median(times), iqr(times), min(times), called, self.members
        )
