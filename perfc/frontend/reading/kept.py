"""Worker that stays between commands, with its framework imported, and forks for each request.

Usage: ``python -m perfc.frontend.reading.kept SOCKET MODULE SECONDS``. It ends after as many idle
seconds. `process.answer_of` uses such a worker if the variable ``PERFC_KEEP_S`` gives the seconds.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from socket import AF_UNIX, socket
from socketserver import ForkingMixIn, StreamRequestHandler, UnixStreamServer
from typing import Any

from perfc.common.cache_folder import cache_folder
from perfc.common.version import installation


class KeptServer(ForkingMixIn, UnixStreamServer):
    """Server that runs every request in a fork, and ends when there is none for a while."""

    def handle_timeout(self) -> None:
        """End the server, which no request has reached for a while."""
        raise SystemExit


class KeptRequest(StreamRequestHandler):
    """One request, whose process ends with it."""

    def handle(self) -> None:
        """Run the worker, then send a line; a worker that fails sends none."""
        arguments, given, folder, limit_s, environment = json.loads(self.rfile.readline())
        # the fork of a request ends itself when its time is over
        signal.alarm(limit_s)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv[1:], sys.stdin, worker = arguments, io.StringIO(given), sys.argv[2]
        import_module(worker).main()
        self.wfile.write(b"\n")


def main() -> None:
    """Serve requests until there are none for a while."""
    address = Path(sys.argv[1])
    import_module(sys.argv[2]).prepare()
    # forks share the pages of the framework's objects until the collector writes to them
    gc.freeze()
    address.unlink(missing_ok=True)
    with KeptServer(str(address), KeptRequest) as server:
        server.timeout = float(sys.argv[3])
        while True:
            server.handle_request()


def is_run(worker: str, idle_s: str, request: Sequence[Any]) -> bool:
    """Return True if a worker that stays ran a request; if there is none, start one for the next.

    Args:
        worker: module that the worker runs.
        idle_s: seconds without a request after which the worker ends.
        request: arguments, standard input, folder, maximum seconds and environment of the process.
    """
    # another installation or path has another worker
    key = repr((worker, request[-1]["PYTHONPATH"], installation()))
    address = cache_folder("kept") / sha256(key.encode()).hexdigest()[:16]
    try:
        with socket(AF_UNIX) as connection:
            connection.connect(str(address))
            connection.sendall(f"{json.dumps(request)}\n".encode())
            # a request that fails closes the connection without a line
            return connection.recv(1) != b""
    except OSError:
        address.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(address), worker, idle_s],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=request[-1],
            start_new_session=True,
        )
        return False


if __name__ == "__main__":
    main()
