"""``python -m perfc``, and the command ``perfc``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from types import CodeType
from typing import NoReturn

UNTIMED = frozenset({"analyze", "check", "compare", "diff", "explain", "llm", "roofline", "sweep"})
"""Commands that neither measure nor train, and so need few threads."""


def main() -> NoReturn:
    """Run the command line; Ctrl-C exits without a traceback, even during imports."""
    # processes of a pool, too, import nothing from the current folder, which may be untrusted
    os.environ["PYTHONSAFEPATH"] = "1"
    if UNTIMED & {*sys.argv[1:2]}:
        # NumPy's OpenBLAS starts threads that spin for 20 ms each, and products here have few rows
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with_byte_code()
        with_repaired_byte_code()
        from perfc.commands import cli

        cli.main()
    except KeyboardInterrupt:
        # 128 + SIGINT, as `perfc.commands.cli.INTERRUPTED`, which may not have been imported
        raise SystemExit(130) from None


def with_byte_code() -> None:
    """Read and write byte code in the user's cache where there is none next to the sources.

    Compiling them takes longer than an analysis. Python does not write next to sources where
    ``PYTHONDONTWRITEBYTECODE`` is set, as in many containers, or in a folder of another user.
    """
    sources = os.path.dirname(__file__)
    is_written = not sys.dont_write_bytecode and os.access(sources, os.W_OK)
    is_given = sys.pycache_prefix is not None
    # the module perfc/cli.py, next to this file, stands for all modules of the package: installers
    # compile every file or none
    if is_given or is_written or os.path.exists(cache_from_source(f"{sources}/cli.py")):
        return
    from perfc.common.cache_folder import cache_folder

    try:
        folder = str(cache_folder("byte_code"))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        state = os.lstat(folder)
    except (OSError, RuntimeError):
        return
    # byte code of another user is code of another user: a folder (0o40000) for the owner (0o700)
    if hasattr(os, "geteuid") and state.st_uid == os.geteuid() and state.st_mode == 0o40700:
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False


def with_repaired_byte_code() -> None:
    """Compile modules again whose byte code is damaged; Python would fail at every import."""
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        try:
            return original(self, fullname)
        except (EOFError, ImportError, TypeError, ValueError) as error:  # of `marshal`
            source = self.get_filename(fullname)
            path = cache_from_source(source)
            if not os.path.exists(path):
                raise
            if "--debug" in sys.argv:
                print(f"note: {path}: {error}: compiled again", file=sys.stderr)
            with suppress(OSError):
                os.unlink(path)
                return original(self, fullname)
            return self.source_to_code(self.get_data(source), source)

    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010 - it is replaced


if __name__ == "__main__":
    main()
