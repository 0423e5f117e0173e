"""Run one request of the server in a separate process with limits.

The request is a JSON object on standard input, the reply one on standard output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def limit(memory_bytes: int, time_s: int) -> None:
    """Limit the memory and the processor time of this process, and forbid it large files."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such limits
    for resource_kind, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, time_s),
        (resource.RLIMIT_FSIZE, 1 << 26),  # 64 MiB for each file that it writes
        (resource.RLIMIT_CORE, 0),  # no image of its memory if it crashes
    ):
        _, hard = resource.getrlimit(resource_kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(resource_kind, (most, most))


def main() -> None:
    """Read the request, run its operation, write the reply."""
    request: dict[str, Any] = json.load(sys.stdin)
    limit(request.pop("memory_bytes"), request.pop("time_s"))
    # output of libraries goes to standard error, so that the reply is all of standard output
    reply_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from .operations import failed
    from .session import run_operation

    try:
        reply = run_operation(**request)
    except MemoryError:
        reply = failed("more memory than allowed")
    json.dump(reply, reply_to)
    reply_to.close()


if __name__ == "__main__":
    main()
