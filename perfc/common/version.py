"""Versions of perfc and of installed packages, for reports and keys of caches."""

import os
import sys
from functools import cache

__version__ = "0.3.0"


@cache
def version_of(package: str) -> str:
    """Return the version of an installed package; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return ""


def installation() -> tuple[str, ...]:
    """Return a key for caches: it changes with Python's path, its packages and perfc's version."""
    import sysconfig

    # installing or removing a package changes the modification time of the folder of packages
    installed = os.stat(sysconfig.get_path("purelib")).st_mtime_ns
    return sys.executable, __version__, str(installed)
