"""Worker process that runs a model, killed from outside after a timeout.

    python -m perfc.measuring.measure.worker REQUEST

``REQUEST`` is a JSON file; results are written next to it, atomically after every step, so that
measurements before a timeout are preserved.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.common.whole_file import write_whole

WARM_S = 0.3
"""Seconds of warm-up runs."""
MAX_WARM = 8
"""Maximum runs to warm up: short runs reach it before `WARM_S`."""
PROFILED_EVENTS = 60_000
"""Maximum recorded kernel executions, far below the million at which the runtime stops."""


RUNNERS = data_next_to(__file__)
"""Module and class that run a framework's models."""


def main(request_path: str) -> int:
    """Serve one request: time all cases, then profile them in a second session."""
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    folder = Path(request["folder"])
    result: dict[str, Any] = {"cases": [], "profiles": [], "error": ""}

    # called after each case, so that the cases before a crash or timeout count
    def save(stage: str) -> None:
        result["stage"] = stage
        write_whole(folder / "result.json", json.dumps(result).encode())

    save("start")
    run = runtime(request)
    result["version"] = run.version
    result["base_rss_bytes"] = memory("VmRSS")
    run.load(profile=False)
    save("loaded")
    for case in request["cases"]:
        timed = measured(run, case, request)
        result["cases"].append(timed)
        save("timed")
    run.close()
    # a profiler slows runs down, so times of whole runs come from the session without one
    if request["profile"]:
        run.load(profile=True)
        for case, timed in zip(request["cases"], result["cases"], strict=True):
            result["profiles"].append(profiled(run, case, timed, request))
        result["profile"] = run.close()
        save("profiled")
    return 0


def runtime(request: dict[str, Any]) -> Any:
    """Create the runner of the model, or of the operator of a trace."""
    module, name = RUNNERS[request["runtime"]]
    return getattr(import_module(f".runtimes.{module}", __package__), name)(request)


def measured(run: Any, case: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return the times in s of the runs of one case, with memory; first runs warm up."""
    run.feed(case["feeds"])
    begin = time.perf_counter()
    first = once(run)
    warm = 1
    while warm < MAX_WARM and time.perf_counter() - begin < min(WARM_S, request["max_time_s"]):
        once(run)
        warm += 1
    # until both the runs and the seconds of the protocol are reached, or the limit of a case
    times: list[float] = []
    begin = time.perf_counter()
    while True:
        times.append(once(run))
        spent = time.perf_counter() - begin
        if spent >= request["max_time_s"]:
            break
        if len(times) >= request["repeat"] and spent >= request["min_time_s"]:
            break
    return {
        "times_s": times,
        "first_s": first,
        "warm": warm,
        "peak_rss_bytes": memory("VmHWM"),
        "is_finite": run.is_finite(),
    }


def profiled(
    run: Any, case: dict[str, Any], timed: dict[str, Any], request: dict[str, Any]
) -> dict[str, int]:
    """Record the kernels of some runs, and return the numbers of warm-up and counted runs."""
    run.feed(case["feeds"])
    typical = sorted(timed["times_s"])[len(timed["times_s"]) // 2]
    nodes = max(int(request["nodes"]), 1)
    # as many runs as the minimum time allows, 3 to 40, and no more than the profile can record
    budget = max(min(request["min_time_s"], request["max_time_s"]), 0.0)
    count = max(3, min(int(budget / max(typical, 1e-6)), 40, PROFILED_EVENTS // nodes))
    if typical * count > request["max_time_s"]:
        count = max(1, int(request["max_time_s"] / typical))
    # a second warm-up only of runs below 1 s, as it costs as much as a counted run
    warm = 2 if typical < 1 else 1
    for _ in range(warm + count):
        once(run)
    return {"skip": warm, "count": count}


def once(run: Any) -> float:
    """Return the seconds of one run, by the clock of the run if it has one."""
    start = time.perf_counter()
    seconds: float | None = run.step()
    return time.perf_counter() - start if seconds is None else seconds


def memory(field: str) -> int:
    """Return a memory figure of this process in bytes, 0 if unavailable."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024  # the file has KiB
    except OSError:
        pass
    if field != "VmHWM":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes on macOS, KiB elsewhere


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except Exception as error:
        # the parent reads the last line of the log
        text = " ".join(f"{type(error).__name__}: {error}".split())
        print(text[:2000], file=sys.stderr)
        sys.exit(1)
