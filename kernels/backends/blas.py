"""Number of threads of NumPy's matrix product, from the BLAS library that it loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perfc.common.fitted import data_next_to

_LIBRARIES = ("openblas", "mkl_rt", "libblis")
"""Parts of the file names of libraries whose threads can be set."""
_GETTERS = data_next_to(__file__)
"""Functions that return the number of threads, by those that set it."""


@dataclass(frozen=True)
class Threads:
    """Functions of a loaded BLAS that set and return its number of threads."""

    set: Callable[[int], None]
    get: Callable[[], int]


@cache
def threads() -> Threads | None:
    """Return the thread functions of the loaded BLAS, None if the library is not supported."""
    import numpy.linalg  # noqa: F401  loads the library

    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for path in sorted({line.split()[-1] for line in maps.splitlines() if ".so" in line}):
        if not any(name in Path(path).name for name in _LIBRARIES):
            continue
        library = ctypes.CDLL(path)
        # builds of one library differ in the prefix of these names
        for setter_name, getter_name in _GETTERS.items():
            if hasattr(library, setter_name) and hasattr(library, getter_name):
                setter, getter = getattr(library, setter_name), getattr(library, getter_name)
                setter.argtypes, setter.restype = (ctypes.c_int,), None
                getter.argtypes, getter.restype = (), ctypes.c_int
                return Threads(setter, getter)
    return None


def description() -> str:
    """Return the name and version of the library NumPy was built with."""
    import numpy as np

    try:
        config = np.show_config(mode="dicts")
        blas = config["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (KeyError, TypeError):
        return "unknown BLAS"
