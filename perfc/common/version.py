"""Versions of perfc and of installed packages."""

from functools import cache

__version__ = "0.2.0"


@cache
def version_of(package: str) -> str:
    """Return the version of an installed package; empty for none of that name."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return ""
