"""Kernels on two streams of a processor against the timeline that put them there.

    OMP_NUM_THREADS=1 python benchmarks/streams_check.py MODEL... [--target FILE] [--repeat 15]

PyTorch runs the graph operator by operator, each on one thread: in order, then on two threads, each
of which runs one stream of `perfc.passes.roofline.streams` in the order of its timeline and waits
for what the other has yet to make. The runs take turns; the speed-up is the median of the first
over that of the second. It is predicted from the kernels' measured times, which tests the timeline
alone, and from the target's predictions, which a user has. A kernel keeps one of the cores busy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfc.errors import PerfcError
from perfc.measuring.measure.feeds import contents, inputs_of
from perfc.measuring.measure.process import Protocol
from perfc.measuring.measure.session import measure_cases
from perfc.measuring.measure.torch_runtime import Step, TorchRun
from perfc.measuring.measure.weights import runnable
from perfc.passes.roofline.streams import Timeline, depends_on, timeline, use
from perfc.passes.runtimes import Framework

if TYPE_CHECKING:
    from perfc.measuring.measure.compare import Measurement

CORES = 2
STREAMS = 2


class Checked(NamedTuple):
    """One model: speed-ups measured, predicted from measured and from predicted kernel times."""

    name: str
    kernels: int
    sequential_s: float
    measured: float
    by_measured: float
    by_predicted: float


def times_of(found: Measurement) -> tuple[list[float], list[float]]:
    """Of every kernel, measured and predicted; a part of several is shared out as predicted."""
    predicted = [k.time_s for k in found.report.prediction.kernels]
    measured = [0.0] * len(predicted)
    for part in found.attribution.parts:
        whole = sum(predicted[i] for i in part.kernels)
        for i in part.kernels:
            share = predicted[i] / whole if whole else 1 / len(part.kernels)
            measured[i] = part.time_s * share
    return measured, predicted


def run(found: Measurement, times: Sequence[float], streams: int) -> Timeline:
    """The timeline of kernels that have one core each."""
    report = found.report
    bounds, machine = report.roofline.kernels, report.roofline.machine
    uses = [(*use(b, t, machine)[:-1], 1 / CORES) for b, t in zip(bounds, times, strict=True)]
    depends = depends_on(report.kernels, report.module.graph)
    return timeline(depends, times, uses, [0.0] * len(times), streams)


def gain(found: Measurement, times: Sequence[float], streams: int) -> float:
    """Predicted speed-up."""
    return run(found, times, 1).makespan_s / run(found, times, streams).makespan_s


def plan(found: Measurement, line: Timeline, steps: Sequence[Step]) -> list[list[Step]]:
    """Operators by stream, in the order in which the timeline starts their kernels.

    Args:
        found: which kernel of ours each stands for; others run with the next of their order.
        line: of our kernels.
        steps: all operators in an order in which they can run.
    """
    ours = {k.name: min(p.kernels) for p in found.attribution.parts if p.kernels for k in p.runtime}
    last = max(range(len(line.start_s)), key=line.start_s.__getitem__)
    places = []
    for index in range(len(steps) - 1, -1, -1):
        last = ours.get(steps[index].name, last)
        places.append((line.start_s[last], last, index, line.stream[last]))
    streams: list[list[Step]] = [[] for _ in range(STREAMS)]
    for _, _, index, stream in sorted(places):
        streams[stream].append(steps[index])
    return streams


class Threads:
    """Runs streams, a thread for each; tensors go when their last reader is done."""

    def __init__(self, run_of: TorchRun, streams: Sequence[Sequence[Step]]) -> None:
        self.run_of, self.streams = run_of, streams
        self.pool = ThreadPoolExecutor(len(streams))
        self.barrier = threading.Barrier(len(streams))
        steps = [s for stream in streams for s in stream]
        self.made_here = {name for s in steps for name in s.outputs}
        self.readers = Counter(n for s in steps for n in set(s.inputs) if n in self.made_here)
        self.readers.update(run_of.names)

    def step(self) -> float:
        """Seconds of a run."""
        self.values = {**self.run_of.values, **self.run_of.feeds}
        self.made = {name: threading.Event() for name in self.made_here}
        self.left, self.lock = self.readers.copy(), threading.Lock()
        start = time.perf_counter()
        list(self.pool.map(self.work, self.streams, sorted(os.sched_getaffinity(0))))
        return time.perf_counter() - start

    def work(self, stream: Sequence[Step], core: int) -> None:
        """One stream, on a thread and a core that no other stream of this run has."""
        os.sched_setaffinity(0, {core})
        self.barrier.wait()
        torch, values = self.run_of.torch, self.values
        for step in stream:
            for name in step.inputs:
                if name in self.made:
                    self.made[name].wait()
            results = step.run(torch, *[values[n] if n else None for n in step.inputs])
            for name, value in zip(step.outputs, results, strict=False):
                values[name] = value
                self.made[name].set()
            with self.lock:
                for name in set(step.inputs) & self.made_here:
                    self.left[name] -= 1
                    if not self.left[name]:
                        del values[name]


def speed_up(path: Path, found: Measurement, line: Timeline, repeat: int) -> tuple[float, float]:
    """Median time of runs on one stream, and what two gain."""
    import torch

    run_of = TorchRun({"device": "cpu", "threads": 1, "model": str(path)})
    run_of.load(profile=False)
    report = found.report
    arrays = contents(inputs_of(report.source, report.env), 0)
    run_of.feeds = {name: torch.from_numpy(array) for name, array in arrays.items()}
    streams = [s for s in plan(found, line, run_of.steps) if s]
    both = Threads(run_of, [run_of.steps]), Threads(run_of, streams)
    taken: list[list[float]] = [[], []]
    for turn in range(repeat + 2):
        for runner, own in zip(both, taken, strict=True):
            time_s = runner.step()
            if turn >= 2:
                own.append(time_s)
    alone, beside = map(statistics.median, taken)
    return alone, alone / beside


def check(path: Path, target: str, repeat: int) -> Checked:
    """One model."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ready = runnable(path, place)
        protocol = Protocol(
            framework=Framework.TORCH, threads=1, repeat=5, min_time_s=0.2, max_time_s=5
        )
        (found,) = measure_cases(path, target, [{}], protocol, folder=place, stand_in=ready)
        own, predicted = times_of(found)
        line = run(found, own, STREAMS)
        sequential_s, measured = speed_up(ready.path, found, line, repeat)
    return Checked(
        path.name.removesuffix(".onnx.gz"),
        len(own),
        sequential_s,
        measured,
        gain(found, own, STREAMS),
        gain(found, predicted, STREAMS),
    )


def main() -> None:
    """A Markdown table, then errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--target", default="generic-x86-64")
    parser.add_argument("--repeat", type=int, default=15)
    given = parser.parse_args()
    found = []
    for path in given.models:
        try:
            found.append(check(path, given.target, given.repeat))
        except PerfcError as error:
            print(f"left out: {path.name}: {error}", file=sys.stderr)
    print(
        "| model | kernels | one stream | measured | by measured kernels | by predicted kernels |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for one in found:
        print(
            f"| {one.name} | {one.kernels} | {one.sequential_s * 1e3:.0f} ms | {one.measured:.2f} "
            f"| {one.by_measured:.2f} | {one.by_predicted:.2f} |"
        )
    for title, own in (
        ("by measured kernels", [f.by_measured / f.measured - 1 for f in found]),
        ("by predicted kernels", [f.by_predicted / f.measured - 1 for f in found]),
        ("one stream for two", [1 / f.measured - 1 for f in found]),
    ):
        mean = sum(map(abs, own)) / len(own)
        print(f"{title}: mean absolute error {mean:.1%}, largest {max(map(abs, own)):.1%}")


if __name__ == "__main__":
    main()
