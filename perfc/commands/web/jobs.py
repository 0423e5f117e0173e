"""Jobs of the server: each is a process that ends at a limit or when its client disconnects.

`answered` starts `job` for a request of the server, and returns its reply.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from perfc.common.plugins import NO_CODE
from perfc.frontend.reading.process import child_environment
from perfc.ir import frozen

from .operations import Reply, failed


@frozen
class UiLimits:
    """Limits of jobs.

    Args:
        upload_bytes: bytes of all files of a job.
        time_s: seconds until its answer.
        memory_bytes: address space of its process.
        jobs: jobs that run at the same time, others wait; by default one processor is left to the
            server.
    """

    upload_bytes: int
    time_s: int
    memory_bytes: int
    jobs: int = max(1, (os.cpu_count() or 2) - 1)


async def answered(
    job: Mapping[str, object],
    folder: Path,
    limits: UiLimits,
    disconnected: Callable[[], Awaitable[None]],
) -> Reply:
    """Run a job in a new process with a folder as its working directory, and return its reply.

    Args:
        job: arguments of `session.run_operation`.
        folder: folder of its files.
        limits: limits of the process.
        disconnected: returns when the client has closed the connection.
    """
    environment = {
        **child_environment(),
        NO_CODE: "1",  # uploads are data: no module is imported
        "HF_HUB_OFFLINE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # jobs share the processors
        "TMPDIR": str(folder),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "perfc.commands.web.job",
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # a new process group, which is killed with its children
    )
    limited = {**job, "memory_bytes": limits.memory_bytes, "time_s": limits.time_s}
    work = asyncio.ensure_future(process.communicate(json.dumps(limited).encode()))
    gone = asyncio.ensure_future(disconnected())
    try:
        await asyncio.wait((work, gone), timeout=limits.time_s, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return failed("canceled" if gone.done() else f"no answer in {limits.time_s} s")
        out, _ = work.result()
        if process.returncode != 0 or not out:
            return failed("the model needs more memory or time than allowed")
        reply: Reply = json.loads(out)
        return reply
    finally:
        gone.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        # the killed process is collected, however it ended
        with suppress(Exception):
            await asyncio.wait_for(work, 10)
