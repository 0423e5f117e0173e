"""Growth and step time of a process that trains a network on this machine, and perfc's.

    python -m benchmarks.step_process measure [NAME ...]
    python -m benchmarks.step_process TARGET [NAME ...]

The networks of `step_memory`, each with AdamW and SGD in a separate process. What was measured
stays in `build/steps` and is scored without measuring again.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

import torch

from perfc.measuring.measure.runtimes.torch_runtime import forget_loading
from perfc.measuring.measure.worker import memory

from .step_memory import MODELS, First, stepped

ROWS = Path("build/steps")
LEAST_STEPS, STEPS_S = 6, 1.5
"""Steps of a process, and their seconds, at least."""


def run_steps(name: str, optimizer: str) -> None:
    """Train a model in this process, and print its growth and the time of a step."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    # modules that these load stay, and their memory goes
    torch.optim.AdamW(MODELS[name]()[0].parameters()).step()
    ctypes.CDLL(None).malloc_trim(0)
    before = memory("VmRSS")
    model, args = MODELS[name]()
    alone = First(model).train()
    kind = torch.optim.AdamW if optimizer == "adamw" else torch.optim.SGD
    optimizer = kind(alone.parameters(), lr=1e-3)
    times: list[float] = []
    forget_loading()
    while len(times) < LEAST_STEPS or sum(times) < STEPS_S:
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        alone(*args).mean().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    print(json.dumps([memory("VmHWM") - before, median(times[2:])]))  # two steps of warm-up


def of_process(name: str, optimizer: str) -> tuple[float, float]:
    """Return the growth and the time of a step of a training, measured if it was not."""
    row = ROWS / f"{name}-{optimizer}.json"
    if not row.exists():
        ROWS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.step_process", "steps", name, optimizer]
        row.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    grown, step_s = json.loads(row.read_text())
    return grown, step_s


def scored(name: str, optimizer: str, target: str) -> tuple[float, float]:
    """Print a training and return its errors of memory and time."""
    grown, step_s = of_process(name, optimizer)
    model, args = MODELS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        report = stepped(First(model), args, path, target, optimizer)
    ours = report.prediction.total.time
    errors = report.footprint.total_bytes / grown - 1, ours.mid / step_s - 1
    words = "held" if ours.low <= step_s <= ours.high else "missed"
    line = f"{name:24} {optimizer:6} {grown / 2**20:9.1f} MiB {errors[0]:+.0%}"
    print(f"{line} {step_s * 1e3:9.1f} ms {errors[1]:+.0%}, {words}", flush=True)
    return errors


def main() -> None:
    """Print every training, and the median errors of memory and time."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    target, *names = sys.argv[1:]
    if target == "steps":
        run_steps(*names)
        return
    trainings = [(n, o) for n in names or MODELS for o in ("adamw", "sgd")]
    if target == "measure":
        for training in trainings:
            print(*training, *of_process(*training), flush=True)
        return
    both = [scored(*training, target) for training in trainings]
    for what, each in zip(("memory", "time"), zip(*both, strict=True), strict=True):
        print(f"{what}: median error {median(map(abs, each)):.1%} of {len(each)}")


if __name__ == "__main__":
    main()
