"""Analyses the files named on standard input, under limits, and writes one JSON line for each.

Run by fuzz.py: memory and processor time are limited, and an audit hook notes every file opened
outside the model's own folder, Python's and perfc's.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import site
import sys
import sysconfig
import time
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

FILE_S = 10
"""Processor time of one file: a busy machine makes no file slow."""
MEMORY_BYTES = 1 << 30
CALLERS = ("benchmarks", "oracles")
"""Folders of code that calls perfc, whose frames are not the place of an error."""
FORBIDDEN = ("subprocess.Popen", "os.system", "socket.connect", "pickle.find_class", "os.exec")
"""Audit events of Python that reading a model must never raise."""


class TooSlowError(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


def too_slow(_: int, frame: FrameType | None) -> None:
    """Raise the error of a file that takes too long; called by the timer."""
    raise TooSlowError


def allowed_roots(folder: str) -> tuple[str, ...]:
    """Return the folders files may be opened in."""
    from perfc.common.cache_folder import cache_folder

    here = Path(__file__).resolve().parent.parent
    roots = {folder, str(here), sys.prefix, sys.base_prefix, *site.getsitepackages()}
    # perfc's tables of targets, by the digest of their text
    roots.add(str(cache_folder("toml")))
    roots |= set(sysconfig.get_paths().values())
    return tuple(os.path.realpath(r) + os.sep for r in roots)


class Watch:
    """Audit hook: what was opened where it should not be."""

    def __init__(self, folder: str) -> None:
        self.roots = allowed_roots(folder)
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """Note an event that should not have been."""
        if event in FORBIDDEN:
            self.seen.append(f"{event} {str(args)[:100]}")
        elif event == "open" and isinstance(args[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if not path.startswith(self.roots) and path not in ("/dev/null", "/dev/urandom"):
                self.seen.append(path)


def where(error: BaseException) -> str:
    """Return the innermost frame that is perfc's own."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [f for f in frames if not any(f"{os.sep}{x}{os.sep}" in f.filename for x in CALLERS)]
    last = inner[-1] if inner else frames[-1]
    ours = [
        f for f in inner if "site-packages" not in f.filename and "/lib/python" not in f.filename
    ]
    last = ours[-1] if ours else last
    return f"{Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno} {last.name}"


def peak_mb() -> int:
    """Return the peak memory of this process, without that of its caller before the start."""
    status = Path("/proc/self/status")
    if status.exists():
        words = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM:")).split()
        return int(words[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def analyzed(path: str) -> list[str]:
    """Analyze a model or a trace; return the negative figures of the report."""
    from tests.oracles import adapter

    if path.endswith((".trace-json", ".trace-sqlite")):
        from perfc.measuring.trace.formats import read_trace
        from perfc.measuring.trace.summary import summarized
        from perfc.measuring.trace.views import TracedRun

        TracedRun.of("x", summarized(read_trace(path)))
        return []
    if path.endswith(".hlo-json"):
        return adapter.negative_figures(adapter.analyze(parsed_program(path)))
    report = adapter.analyze(path)
    if path.endswith((".onnx", ".onnxtxt")):
        adapter.written(report)
    return adapter.negative_figures(report)


def parsed_program(path: str) -> Any:
    """Return the module of a StableHLO program that JAX has parsed."""
    from perfc.frontend.formats import ReadOptions
    from perfc.frontend.lowering import lowered
    from perfc.frontend.lowering.emitter import reading
    from perfc.frontend.stablehlo.program import translated

    with reading("model", "its program does not follow the specification", "convert it again"):
        return lowered(translated(json.loads(Path(path).read_bytes())), ReadOptions())


def main() -> None:
    folder = sys.argv[1]
    from tests.oracles import adapter

    refused = adapter.perfc_error()
    warm = Path(folder) / "warm.onnx"
    if warm.exists():  # what is imported lazily is imported before the limits are set
        adapter.written(adapter.analyze(warm))
    # a warning on the standard error of a report is a fault, too
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    watch = Watch(folder)
    signal.signal(signal.SIGPROF, too_slow)
    for line in sys.stdin:
        path = line.strip()
        watch.seen.clear()
        began = time.process_time()
        result = {"path": path, "outcome": "analyzed", "why": ""}
        signal.setitimer(signal.ITIMER_PROF, FILE_S)
        try:
            negative = analyzed(path)
            if negative:
                result["outcome"], result["why"] = "negative", "; ".join(negative[:3])
        except refused as error:
            result["outcome"], result["why"] = "refused", str(error)[:200]
            if "\n" in str(error):
                result["outcome"], result["why"] = "traceback", f"not one line: {str(error)[:80]!r}"
        except TooSlowError as error:
            result["outcome"], result["why"] = "hang", where(error)
        except MemoryError as error:
            result["outcome"], result["why"] = "memory", where(error)
        except BaseException as error:
            text = str(error).splitlines()[0][:120] if str(error) else ""
            result["outcome"] = "traceback"
            result["why"] = f"{type(error).__name__} at {where(error)}: {text}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            # what one file left is not the memory of the next
            gc.collect()
        if watch.seen:
            result["outcome"], result["why"] = "escaped", "; ".join(watch.seen[:3])
        result["seconds"] = round(time.process_time() - began, 3)
        result["peak_mb"] = peak_mb()
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
