"""Run a model in a separate process, with limits on time and memory.

`execute` writes a request as JSON and the inputs as ``.npz`` into a folder, starts `worker` there,
and reads the results that the worker leaves in the same folder. A crash of the runtime ends the
worker alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from perfc.common.extras import install
from perfc.errors import MissingExtraError, PassError
from perfc.frontend.reading.process import child_environment
from perfc.ir import record
from perfc.passes.runtimes import Framework

from .tables.feeds import Input, write
from .tables.weights import Runnable

PROGRAM = ".pt2"
"""Suffix of exported programs, which PyTorch alone executes."""
PACKAGES = {
    Framework.TORCH: ("torch", "gnn"),
    Framework.ORT: ("onnxruntime", "ort"),
    Framework.OPENVINO: ("openvino", "paddle"),
    Framework.LITERT: ("ai_edge_litert", "litert"),
}
"""Frameworks that models are executed with: the package, and the extra that has it."""


@record
class MeasurementProtocol:
    """Settings of a measurement.

    Args:
        framework: framework that executes the model.
        table: name of the runtime's fusion table; "" for the one that stands for the framework.
        dtype: precision that PyTorch and OpenVINO run it in; "" for their usual one.
        device: ``cpu`` or ``cuda:0``.
        threads: number of threads of the runtime's pool.
        repeat: minimum number of runs.
        min_time_s: minimum seconds of all runs.
        max_time_s: seconds after which a case ends, even with fewer runs.
        limit_s: seconds after which the process is killed.
        seed: random seed of weights and inputs.
        is_profiled: whether kernels are timed too, in a second session.
    """

    framework: Framework = Framework.ORT
    table: str = ""
    dtype: str = ""
    device: str = "cpu"
    threads: int = 1
    repeat: int = 10
    min_time_s: float = 1.0
    max_time_s: float = 20.0
    limit_s: float = 300.0
    seed: int = 0
    is_profiled: bool = True


@record
class TimedBinding:
    """Times of one binding of the symbols.

    Args:
        times_s: wall time of each run.
        peak_rss_bytes: highest memory of the process so far.
        is_finite: whether the results have neither NaN nor infinity.
    """

    times_s: tuple[float, ...]
    peak_rss_bytes: int
    is_finite: bool

    @property
    def time_s(self) -> float:
        """Return the median of the runs."""
        return median(self.times_s)

    @property
    def iqr_s(self) -> float:
        """Return the distance of the quartiles."""
        return iqr(self.times_s)


@record
class WorkerResults:
    """Results of the worker process.

    Args:
        version: version of the runtime, with its name.
        base_rss_bytes: memory of the process before it had a model.
        cases: times of each requested binding; fewer if time ran out.
        profile: file of the profile that the runtime wrote; None without one.
        profiled: for each case, the number of runs to skip in the profile, and of runs to count.
        optimized: file of the graph that the runtime ran; None if it wrote none.
        error: reason why the worker ended early; "" if it did not.
        folder: folder of the request, with the files above.
    """

    version: str
    base_rss_bytes: int
    cases: tuple[TimedBinding, ...]
    profile: Path | None = None
    profiled: tuple[tuple[int, int], ...] = ()
    optimized: Path | None = None
    error: str = ""
    folder: Path = field(default_factory=Path)


def iqr(values: Sequence[float]) -> float:
    """Return the distance of the quartiles, 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    # inclusive: quartiles of few runs stay between the fastest and the slowest one
    low, _, high = quantiles(values, method="inclusive")
    return high - low


@contextmanager
def workspace() -> Iterator[Path]:
    """Make a folder that is deleted with its files after the context."""
    with tempfile.TemporaryDirectory(prefix="perfc-measure-") as folder:
        yield Path(folder)


def execute(
    model: Runnable,
    folder: Path,
    cases: Sequence[tuple[Input, ...]],
    protocol: MeasurementProtocol,
    nodes: int,
) -> WorkerResults:
    """Run every case in one process.

    Args:
        model: the file to load.
        folder: where requests, results and profiles go.
        cases: inputs of each binding, smallest first, since the peak of memory only grows.
        protocol: repetitions and limits.
        nodes: number of nodes of the graph, to bound the size of the profile.

    Raises:
        MissingExtraError: the runtime is not installed.
        PassError: the runtime failed on the model before anything was measured.
    """
    check_installed(protocol.framework)
    requests = []
    for n, inputs in enumerate(cases):
        path = folder / f"case{n}.npz"
        write(inputs, path, protocol.seed)
        requests.append({"feeds": str(path)})
    request: dict[str, Any] = {
        "model": str(model.path),
        "folder": str(folder),
        "runtime": "program" if model.path.suffix == PROGRAM else protocol.framework.value,
        "table": protocol.table,
        "dtype": protocol.dtype,
        "device": protocol.device,
        "threads": protocol.threads,
        "repeat": protocol.repeat,
        "min_time_s": protocol.min_time_s,
        "max_time_s": protocol.max_time_s,
        "profile": protocol.is_profiled,
        "nodes": nodes,
        "inputs": [(i.name, i.dtype.onnx, is_plain(i)) for i in cases[0]],
        "cases": requests,
    }
    return requested(request, folder, protocol.limit_s)


def requested(
    request: Mapping[str, Any], folder: Path, limit_s: float, what: str = "the model"
) -> WorkerResults:
    """Run the worker on a request and return its results.

    Raises:
        PassError: nothing was measured.
    """
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    return collected(folder, spawn(folder, limit_s), what)


def is_plain(i: Input) -> bool:
    """Return True if NumPy supports the input's element type."""
    return not i.dtype.is_float or i.dtype.code in ("f16", "f32", "f64")


def spawn(folder: Path, limit_s: float) -> str:
    """Run the worker on the request in ``folder``; return why it failed, "" if it did not."""
    command = [sys.executable, "-m", "perfc.measuring.measure.worker", str(folder / "request.json")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=child_environment(),
        )
        try:
            first_victim(process.pid)
            code = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return f"took longer than {limit_s:g} s"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code == 0:
        return ""
    # within its time limit, only the system kills a process: at the end of memory
    if code == -9:
        return "killed, most likely for want of memory"
    if code < 0:
        return f"crashed with signal {-code}"
    return last_line(folder / "log")


def first_victim(pid: int) -> None:
    """Let the system end this process first when memory runs out."""
    try:
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return


def last_line(path: Path) -> str:
    """Return the last line of a log, bounded; of a long one the end, where the reason is."""
    with path.open("rb") as stream:
        # the last line is within the last 8 KiB; a log itself may be of any size
        stream.seek(max(path.stat().st_size - 8192, 0))
        lines = stream.read().decode("utf-8", "replace").strip().splitlines()
    text = "".join(c for c in (lines[-1] if lines else "no message") if c.isprintable())
    text = text.replace(f"{path.parent}{os.sep}", "")
    # the beginning names the error, the end has its reason
    return text if len(text) <= 300 else f"{text[:60]} … {text[-230:]}"


def collected(folder: Path, why: str, what: str = "the model") -> WorkerResults:
    """Read the worker's results.

    Raises:
        PassError: nothing was measured.
    """
    try:
        result: Mapping[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        result = {}
    # cases that were finished before a crash or the limit still count
    if not result.get("cases"):
        raise PassError(f"the runtime cannot run {what}: {why or 'no result'}", where="measure")
    cases = tuple(
        TimedBinding(tuple(c["times_s"]), int(c["peak_rss_bytes"]), bool(c["is_finite"]))
        for c in result["cases"]
    )
    profile = folder / result["profile"] if result.get("profile") else None
    optimized = folder / "optimized.onnx"
    return WorkerResults(
        str(result.get("version", "")),
        int(result.get("base_rss_bytes", 0)),
        cases,
        profile if profile is not None and profile.is_file() else None,
        tuple((int(p["skip"]), int(p["count"])) for p in result.get("profiles", ())),
        optimized if optimized.is_file() else None,
        why,
        folder,
    )


def check_installed(framework: Framework) -> None:
    """Refuse a runtime that is not installed.

    Raises:
        MissingExtraError: it is not installed.
    """
    from importlib.util import find_spec

    package, extra = PACKAGES[framework]
    if find_spec(package) is None:
        raise MissingExtraError(f"{package} is not installed", hint=install(extra), where="measure")
