"""Opens the backend of a device by its name."""

from __future__ import annotations

from perfc.errors import TargetError

from .backend import Backend


def open_backend(name: str, *, threads: int = 0) -> Backend:
    """Return the backend of ``cpu``, ``cuda``, ``cuda:1`` or ``fake``.

    Args:
        name: name of the device.
        threads: cores of a processor to use; 0 for all that this process may use.

    Raises:
        TargetError: no such device.
        MissingExtraError: CuPy is not installed.
    """
    kind, _, index = name.partition(":")
    if kind == "cpu" and not index:
        from .cpu import open_cpu

        return open_cpu(threads)
    if threads:
        raise TargetError("threads can be chosen for the cpu only", where=name)
    # an index of more than three digits is no device, whatever its length
    if kind == "cuda" and (not index or index.isdecimal()) and len(index) < 4:
        from .cuda import open_cuda

        return open_cuda(int(index or 0))
    if name == "fake":
        from .fake import Fake

        return Fake()
    raise TargetError(f"no device {name[:40]!r}", hint="cpu, cuda:0 or fake")
