"""What `perfc analyze` says of published latencies under eager PyTorch and torch.compile.

    python benchmarks/compiled_latency.py [--models examples/models]

ResNet-50 and ViT-B/16 in f32 on A100, V100 and T4, PyTorch 2.0.1, mean of 300 runs, in the default
mode of torch.compile. No row was learned from. Each is asked twice: with nothing said of the host,
and with what a launch took there, which the eager run of ResNet-50 on one image tells.

Source: documentation of Hugging Face's transformers, `perf_torch_compile.md` (Apache-2.0).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import perfc
from perfc.analyzers.runs.host import launches_of

EAGER, COMPILED = "eager", "inductor"
RESNET, VIT = "resnet50", "vit-b16"
Latency = tuple[float, float]
PUBLISHED: dict[tuple[str, str], dict[int, Latency]] = {
    (RESNET, "a100-sxm4-80gb"): {1: (6.531, 4.124), 4: (6.657, 4.268), 16: (7.018, 5.024)},
    (RESNET, "v100-sxm2-16gb"): {1: (6.484, 3.820), 4: (6.109, 4.731), 16: (14.857, 12.089)},
    (RESNET, "t4"): {1: (6.031, 4.321), 4: (13.039, 11.388), 16: (44.114, 37.604)},
    (VIT, "a100-sxm4-80gb"): {1: (9.325, 7.584), 4: (14.832, 14.499), 16: (40.944, 40.010)},
    (VIT, "v100-sxm2-16gb"): {1: (10.495, 6.000), 4: (15.181, 14.501), 16: (52.209, 51.633)},
    (VIT, "t4"): {1: (16.520, 15.786), 4: (43.653, 43.626), 16: (163.914, 160.907)},
}
"""Milliseconds by model and target, then by batch: eager, compiled."""
ROW = "{:9} {:15} {:>5}  {:9} {:>8.2f} {:>8.2f} {:>7.2f} {:>7.2f} {:>+6.0%}"


def asked(path: Path, target: str, runtime: str, batch: int, host_s: float | None) -> perfc.Report:
    """The model as it was run."""
    return perfc.analyze(path, target, runtime=runtime, batch=batch, host_launch=host_s)


def launch_s(path: Path, target: str) -> float:
    """What a launch took: the eager run of one image over its launches."""
    latency_s = PUBLISHED[RESNET, target][1][0] / 1e3
    return latency_s / launches_of(asked(path, target, EAGER, 1, None).execution)


def answers(folder: Path, *, is_stated: bool) -> Iterator[tuple[str, float, bool]]:
    """Runtime, relative error and whether the range holds the latency, of each row."""
    paths = {name: next(folder.glob(f"{name}*.onnx*")) for name in (RESNET, VIT)}
    for (name, target), rows in PUBLISHED.items():
        host_s = launch_s(paths[RESNET], target) if is_stated else None
        for batch, latencies in rows.items():
            for runtime, measured_ms in zip((EAGER, COMPILED), latencies, strict=True):
                report = asked(paths[name], target, runtime, batch, host_s)
                time = report.prediction.total.time
                low, mid, high = (1e3 * end for end in (time.low, time.mid, time.high))
                error = mid / measured_ms - 1
                print(ROW.format(name, target, batch, runtime, measured_ms, mid, low, high, error))
                yield runtime, error, low <= measured_ms <= high


def main() -> None:
    """Print each row, then the mean error and the share held of each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path("examples/models"))
    folder = parser.parse_args().models
    for is_stated in (False, True):
        print("a launch is stated" if is_stated else "nothing is said of the host", end=": ")
        print("model, target, batch, runtime, measured ms, expected, low, high, error")
        found = list(answers(folder, is_stated=is_stated))
        for runtime in (EAGER, COMPILED):
            mine = [(abs(error), held) for name, error, held in found if name == runtime]
            error, held = mean(e for e, _ in mine), sum(h for _, h in mine)
            print(f"{runtime}: {error:.1%} in the mean, {held} of {len(mine)} held")


if __name__ == "__main__":
    main()
