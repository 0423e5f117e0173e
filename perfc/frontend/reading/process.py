"""Processes that import frameworks, so that perfc does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfc.errors import ModelError

KEEP_S = "PERFC_KEEP_S"
"""Environment variable with the idle seconds after which a worker that stays between commands ends;
without the variable no worker stays."""


def child_environment() -> dict[str, str]:
    """Return the environment of a process that imports this perfc from any folder.

    It imports nothing from the current folder, which ``python -m`` and an empty part of
    ``PYTHONPATH`` would search before the standard library: the folder may be untrusted.
    """
    root, current = str(Path(__file__).resolve().parents[3]), os.path.realpath("")
    given_paths = map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    paths = dict.fromkeys((root, *(p for p in given_paths if os.path.realpath(p) != current)))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def answer_of(
    worker: str,
    arguments: Sequence[str],
    *,
    where: str,
    late: tuple[str, str],
    longest_s: float,
    request: str = "",
    folder: str | None = "",
    is_kept: bool = False,
) -> dict[str, Any]:
    """Return the answer that a process writes, a JSON object.

    Args:
        worker: module that the process runs.
        arguments: its arguments; the path of the file for its answer is appended.
        where: name of the model in errors.
        late: error and hint if the process takes too long.
        longest_s: maximum seconds.
        request: standard input of the process.
        folder: folder to run it in; "" for the current one, None for an empty one.
        is_kept: whether a process that stays between commands may run it.

    Raises:
        ModelError: the process takes too long, or ends without an answer.
    """
    environment = child_environment()
    with tempfile.TemporaryDirectory() as empty:
        reply = Path(empty, "reply.json")
        arguments = [*arguments, str(reply)]
        place = empty if folder is None else os.path.abspath(folder)
        if is_kept and hasattr(os, "fork") and (idle_s := environment.get(KEEP_S)):
            from .kept import is_run

            fields = [arguments, request, place, int(longest_s), environment]
            if is_run(worker, idle_s, fields):
                return dict(json.loads(reply.read_text(encoding="utf-8")))
        try:
            finished = subprocess.run(
                [sys.executable, "-m", worker, *arguments],
                input=request,
                capture_output=True,
                text=True,
                timeout=longest_s,
                check=False,
                cwd=place,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            raise ModelError(late[0], hint=late[1], where=where) from None
        try:
            answer: dict[str, Any] = json.loads(reply.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # the last line of a traceback names the error
            last = (finished.stderr.strip() or f"exit code {finished.returncode}").splitlines()[-1]
            if finished.returncode < 0:  # such as a fault of a library, which prints a stack
                last = signal.strsignal(-finished.returncode) or last
            raise ModelError(f"its process ended: {last[:300]}", where=where) from None
        return answer
