"""PF108: a launch-bound run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfc.passes.roofline.roofline import GRAPH_GAP, launch_s
from perfc.passes.runtimes import LaunchMode, recorded
from perfc.review.lint.rule import Finding, Gain, GainBasis, Rule, Subject
from perfc.view.report.units import plural, share

LEAST_SHARE = 0.1
"""Minimum fraction of the run that waits for launches."""


class LaunchBound(Rule):
    """A run that is bound by kernel launches instead of kernels.

    What it does:
        Sums the time that kernels, or the framework's host, wait for launches that are not recorded
        in a graph, and reports it above a tenth of the run. The gain is that of replaying a
        recorded graph: analyzed under a runtime that does so, or else with the launch gaps of
        recorded graphs.

    Why is this bad:
        A launch takes microseconds, however small the kernel, and the device is idle meanwhile.

    Example:
        session = onnxruntime.InferenceSession(path)           # 150 launches of 5 µs each

    Use instead:
        options = {"enable_cuda_graph": "1"}                   # or torch.cuda.CUDAGraph; or
        perfc lint model.onnx --batch 8                    # more work for each launch

    Source:
        NVIDIA, CUDA C++ Programming Guide, section on CUDA graphs; ONNX Runtime, documentation of
        the CUDA execution provider, "Using CUDA Graphs".
    """

    code = "PF108"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a finding if the run is launch-bound."""
        report = subject.report
        runtime, table = report.kernels.runtime, report.prediction
        total_s = table.total.time_s
        # time in which the device waits for the host, and gaps between launches
        waiting = (table.wait_s + table.gap_s) / total_s if total_s else 0.0
        if (
            report.machine.kind == "cpu"
            or runtime.launch is LaunchMode.GRAPH
            or waiting < LEAST_SHARE
        ):
            return
        launches = round(math.fsum(b.launches for b in subject.kernels))
        if launches < 2:  # nothing to record
            return
        twin = recorded(runtime)
        gain = subject.deployed(runtime=twin.name) if twin is not None else replayed(subject)
        flag = f" (--runtime {twin.name})" if twin is not None else ""
        yield self.finding(
            f"{share(waiting)} of the run waits for {plural(launches, 'launch', 'launches')}",
            f"record them in a CUDA graph{flag}, or give each more work with a larger batch",
            gain=gain,
        )


def replayed(subject: Subject) -> Gain:
    """Return the gain with the launch gaps of a recorded graph."""
    table = subject.report.prediction
    gap_s = launch_s(subject.report.machine, LaunchMode.GRAPH)
    times_s = {
        # factor 0: a graph leaves out the gap that a law adds to a launch
        i: k.relaunched_s(k.device_s, b.launches * gap_s, factor=0.0)
        for i, (k, b) in enumerate(zip(table.launched, subject.kernels, strict=True))
    }
    # only the time changes: the second number, the lower bound, stays
    then_s = table.total_with(times_s, GRAPH_GAP)
    return Gain.of(subject.now, (then_s, subject.now[1]), GainBasis.BOUNDS)
