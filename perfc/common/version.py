"""Versions of perfc and of installed packages."""

import os
import sys
from functools import cache

__version__ = "0.3.0"


@cache
def version_of(package: str) -> str:
    """Return the version of an installed package; empty for none of that name."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return ""


def installation() -> tuple[str, ...]:
    """Return what changes with the packages of this Python, and with perfc."""
    import sysconfig

    installed = os.stat(sysconfig.get_path("purelib")).st_mtime_ns
    return sys.executable, __version__, str(installed)
