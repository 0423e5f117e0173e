"""Time and memory of ``perfc trace`` on a trace of PyTorch that is repeated to a given size.

python -m benchmarks.large_trace TRACE.json.gz --gigabytes 1
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of

NUMBERS = ("correlation", "External id")
"""Arguments by which events refer to each other, which must differ between repetitions."""


def repeated(events: list[dict[str, Any]], times: int) -> Iterator[dict[str, Any]]:
    """Yield events several times, one after another, with other numbers each time."""
    begins = [e["ts"] for e in events if "ts" in e]
    span = max(begins) - min(begins) + 1000  # a millisecond between repetitions
    most = 1 + max(int(e.get("args", {}).get(key) or 0) for e in events for key in NUMBERS)
    for at in range(times):
        for e in events:
            args = dict(e.get("args", {}))
            args |= {k: args[k] + at * most for k in NUMBERS if args.get(k) is not None}
            moved = {"ts": round(e["ts"] + at * span, 3)} if "ts" in e else {}
            yield {**e, **moved, "args": args}


def main() -> None:
    """Write the trace, run the command and print what it took."""
    parser = parser_of(__doc__, gigabytes=1.0)
    parser.add_argument("trace", type=Path)
    given = parser.parse_args()
    data = gzip.decompress(given.trace.read_bytes())
    trace = json.loads(data)
    events = trace.pop("traceEvents")
    times = max(1, round(given.gigabytes * 1e9 / len(json.dumps(events))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        with path.open("w") as file:
            file.write(json.dumps(trace)[:-1] + ', "traceEvents": [')
            for at, e in enumerate(repeated(events, times)):
                file.write(f"{',' if at else ''}\n{json.dumps(e)}")
            file.write("]}")
        begin_s = time.perf_counter()
        command = (sys.executable, "-m", "perfc", "trace", str(path), "--top", "5")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall_s = time.perf_counter() - begin_s
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{path.stat().st_size / 1e9:.2f} GB: {wall_s:.1f} s, of the processor "
            f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MiB"
        )


if __name__ == "__main__":
    main()
