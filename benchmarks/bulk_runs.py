"""Speed, memory and interruptions of ``perfc bulk``.

    python -m benchmarks.bulk_runs 'models/*.onnx.gz' --workers 2 --kills 20

Prints models per second with one worker and with several, the peak memory of a worker, and whether
any row was lost or doubled when the run and its workers were killed at random moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.arguments import parser_of

TARGETS = "a100"


def call(pattern: str, out: Path, workers: int) -> list[str]:
    """Return the command line of a run."""
    return [
        sys.executable,
        "-m",
        "perfc",
        "bulk",
        pattern,
        "-t",
        TARGETS,
        "-o",
        str(out),
        "--workers",
        str(workers),
    ]


def run(pattern: str, out: Path, workers: int) -> tuple[float, int]:
    """Run to the end; return its seconds and the peak resident bytes of a worker."""
    begin, peak = time.monotonic(), 0
    process = subprocess.Popen(call(pattern, out, workers), stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max([peak, *map(resident_bytes, children(process.pid))])
        time.sleep(0.2)
    return time.monotonic() - begin, peak


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def resident_bytes(pid: int) -> int:
    """Return the peak resident memory of a process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    # VmHWM is the peak ("high water mark") in KiB
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def interrupted(
    pattern: str, out: Path, workers: int, kills: int, longest_s: float
) -> Counter[int]:
    """Kill a run at random moments, then let it finish; return rows per model, counted."""
    from pyarrow import parquet

    dice = random.Random(7)
    for _ in range(kills):
        process = subprocess.Popen(call(pattern, out, workers), stdout=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.3, longest_s))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(call(pattern, out, workers), check=True, stdout=subprocess.DEVNULL)
    files = sorted(out.glob("shard-*.parquet"))
    paths = [p for f in files for p in parquet.read_table(f, columns=["path"])["path"].to_pylist()]
    return Counter(Counter(paths).values())


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__, kills=20)
    parser.add_argument("pattern")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--longest", type=float, default=20.0, help="seconds before a kill")
    options = parser.parse_args()
    from perfc.study.bulk.jobs import model_paths

    count = len([*model_paths([options.pattern])])
    with tempfile.TemporaryDirectory() as folder:
        single_s, _ = run(options.pattern, Path(folder, "single"), 1)
        several_s, peak = run(options.pattern, Path(folder, "several"), options.workers)
        print(
            f"models {count}; one worker {count / single_s:.2f}/s; {options.workers} workers "
            f"{count / several_s:.2f}/s, {single_s / several_s / options.workers:.2f} of linear; "
            f"peak of a worker {peak / 2**20:.0f} MiB"
        )
        rows = interrupted(
            options.pattern, Path(folder, "kills"), options.workers, options.kills, options.longest
        )
        print(f"{options.kills} kills: rows per model {dict(rows)} of {count} models")


if __name__ == "__main__":
    main()
