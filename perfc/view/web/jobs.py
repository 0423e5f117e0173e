"""Questions of the server: each in a process that is ended at a limit or when nobody waits."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from perfc.ir.record import frozen

from .operations import Reply


@frozen
class UiLimits:
    """Limits of one question.

    Args:
        upload_bytes: bytes of all its files.
        time_s: seconds until the answer.
        memory_bytes: address space of its process.
        jobs: questions that are answered at once; more wait.
    """

    upload_bytes: int = 4 << 30
    time_s: int = 120
    memory_bytes: int = 4 << 30
    jobs: int = max(1, (os.cpu_count() or 2) - 1)


def failed(reason: str) -> Reply:
    """Return the reply of a question without an answer."""
    return {"output": "", "line": "", "error": reason, "code": 2}


async def answered(
    question: Mapping[str, object], folder: Path, limits: UiLimits,
    gone: Callable[[], Awaitable[None]],
) -> Reply:  # fmt: skip
    """Answer a question in a new process with a folder as its working directory.

    Args:
        question: arguments of `session.ask`.
        folder: folder of the question's files.
        limits: limits of the process.
        gone: returns when nobody waits for the answer.
    """
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": "1",
        "TMPDIR": str(folder),
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "perfc.view.web.job", cwd=folder, env=environment,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    limited = {**question, "memory_bytes": limits.memory_bytes, "time_s": limits.time_s}
    work = asyncio.ensure_future(process.communicate(json.dumps(limited).encode()))
    left = asyncio.ensure_future(gone())
    try:
        await asyncio.wait((work, left), timeout=limits.time_s, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return failed("canceled" if left.done() else f"no answer in {limits.time_s} s")
        out, _ = work.result()
        if process.returncode != 0 or not out:
            return failed("the model needs more memory or time than allowed")
        reply: Reply = json.loads(out)
        return reply
    finally:
        left.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(Exception):
            await asyncio.wait_for(work, 10)
