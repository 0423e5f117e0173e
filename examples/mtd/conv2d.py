"""Level 1, operators, measured: the Conv2D sweep of figures 3.5 and 3.6 where this is run.

    python examples/mtd/conv2d.py [--device cuda] [--marked] [--factor kernel] [--least 0.5]

Needs PyTorch. Each case of ``operators.py`` runs forward, then backward for both gradients, in
single precision and, on a GPU, in half. Times are the median of runs that fill ``--least`` seconds.
The conclusions of section 3.4.1 stand beside the rates: of one machine, whichever GPU a conclusion
is of. ``--marked`` runs each case once between `cudaProfilerStart` and `cudaProfilerStop`, in a
range named by its case and direction, as `perfc trace --marked` asks, and prints no time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import operators as sweep
import tables

WARM_UP = 3
MOST_RUNS = 200
TOO_LONG = 4
"""Times what a case should take, after which it ends."""


def main() -> None:
    """Measure the sweep, or run it marked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--marked", action="store_true", help="once, for `perfc trace`")
    parser.add_argument("--factor", choices=[*sweep.SWEEP], help="one alone; all by default")
    parser.add_argument("--least", type=float, default=0.5, help="seconds of a case")
    given = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("error: the measured sweep needs PyTorch: pip install 'torch>=2.5'")
    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("error: no CUDA device: --device cpu runs here")
    if given.marked and given.device != "cuda":
        sys.exit("error: only a GPU's profiler has marks: --device cuda")
    factors = [given.factor] if given.factor else [*sweep.SWEEP]
    precisions = [*sweep.PRECISIONS] if given.device == "cuda" else ["single"]
    if given.marked:
        for case, precision in cases(factors, precisions):
            for direction, run in runs(given.device, case, precision).items():
                run()
                with marked(f"{direction} {precision} {case}"):
                    run()
        return
    taken = {
        (direction, precision, case): timed(run, given.least)
        for case, precision in cases(factors, precisions)
        for direction, run in runs(given.device, case, precision).items()
    }
    show(given.device, taken)
    conclude(taken, factors, precisions)


Taken = dict[tuple[str, str, sweep.Case], float]
"""Seconds by direction, precision and case."""


def cases(factors: list[str], precisions: list[str]) -> Iterator[tuple[sweep.Case, str]]:
    """Every case once, in each precision."""
    for precision in precisions:
        for case in dict.fromkeys(
            c for factor in factors for c in (sweep.BASE, *sweep.SWEEP[factor])
        ):
            yield case, precision


def runs(device: str, case: sweep.Case, precision: str) -> dict[str, Callable[[], None]]:
    """Forward, and both gradients, each ending when the device is done."""
    import torch

    dtype = torch.float32 if precision == "single" else torch.float16

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=device, dtype=dtype)

    x = drawn(case.batch, sweep.CHANNELS, sweep.HEIGHT, sweep.WIDTH)
    w = drawn(case.filters, sweep.CHANNELS, case.kernel, case.kernel)
    stride = [case.stride] * 2
    dy = torch.randn_like(torch.conv2d(x, w, stride=stride))

    def done() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def forward() -> None:
        torch.conv2d(x, w, stride=stride)
        done()

    def backward() -> None:
        torch.ops.aten.convolution_backward(
            dy, x, w, None, stride, [0, 0], [1, 1], False, [0, 0], 1, [True, True, False]
        )
        done()

    return {"forward": forward, "backward": backward}


@contextmanager
def marked(name: str) -> Iterator[None]:
    """A range that `ncu --profile-from-start off` measures."""
    import torch

    # PyTorch declares no types of these
    cuda: Any = torch.cuda
    cuda.synchronize()
    cuda.profiler.start()
    cuda.nvtx.range_push(name)
    yield
    cuda.nvtx.range_pop()
    cuda.profiler.stop()


def timed(run: Callable[[], None], least_s: float) -> float:
    """Median seconds of runs that take so long together."""
    found: list[float] = []
    begun = time.perf_counter()
    while len(found) <= WARM_UP or (sum(found[WARM_UP:]) < least_s and len(found) < MOST_RUNS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
        if len(found) > 1 and time.perf_counter() - begun > TOO_LONG * least_s:
            break
    # long runs leave no time to warm up, but for the first
    return median(found[min(WARM_UP, len(found) - 1) :])


def rate(case: sweep.Case, direction: str, taken_s: float) -> float:
    """Tflop/s; the operations are those of ``operators.py``, which counts every window."""
    flop = sweep.result("A100", case, direction, "half").flop
    return flop / taken_s / 1e12


def show(device: str, taken: Taken) -> None:
    """The measured sweep, a line a case."""
    rows = [
        (f"{direction} {precision} {case}", f"{1e3 * s:.3f}", f"{rate(case, direction, s):.3f}")
        for (direction, precision, case), s in taken.items()
    ]
    header = ["direction, precision, case", "ms", "Tflop/s"]
    tables.show(f"Conv2D sweep, measured on this {device}", header, rows)


def conclude(taken: Taken, factors: list[str], precisions: list[str]) -> None:
    """Section 3.4.1's conclusions beside what was measured."""

    def rates(gpu: str, direction: str, precision: str, factor: str) -> list[float]:
        del gpu
        if factor == "precision":
            wanted = [(direction, p, sweep.BASE) for p in sweep.PRECISIONS]
        else:
            wanted = [(direction, precision, c) for c in sweep.SWEEP[factor]]
        return [rate(case, d, taken[d, p, case]) for d, p, case in wanted]

    known = {*factors, *(["precision"] if len(precisions) == len(sweep.PRECISIONS) else [])}
    agreed, every = tables.conclude("measured, Tflop/s in order", rates, known, precisions)
    tables.say(f"{agreed} of {every} hold on this machine, whichever GPU they are of.")


if __name__ == "__main__":
    main()
