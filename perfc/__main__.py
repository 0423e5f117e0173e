"""``python -m perfc``, and the command ``perfc``."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C exits without a traceback, even during imports."""
    # processes of a pool, too, import nothing from the current folder, which may be untrusted
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with_byte_code()
        from perfc import cli

        cli.main()
    except KeyboardInterrupt:
        # 128 + SIGINT, as `perfc.cli.INTERRUPTED`, which may not have been imported
        raise SystemExit(130) from None


def with_byte_code() -> None:
    """Read and write byte code in the user's cache where there is none next to the sources.

    Compiling them takes longer than an analysis. Python does not write next to sources where
    ``PYTHONDONTWRITEBYTECODE`` is set, as in many containers, or in a folder of another user.
    """
    sources = os.path.dirname(__file__)
    is_written = not sys.dont_write_bytecode and os.access(sources, os.W_OK)
    is_given = sys.pycache_prefix is not None
    if is_given or is_written or os.path.exists(cache_from_source(f"{sources}/cli.py")):
        return
    from perfc.common.cache_folder import cache_folder

    folder = str(cache_folder("byte_code"))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        state = os.lstat(folder)
    except (OSError, RuntimeError):
        return
    # byte code of another user is code of another user
    if hasattr(os, "geteuid") and state.st_uid == os.geteuid() and state.st_mode == 0o40700:
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False


if __name__ == "__main__":
    main()
