"""Modules that were read before, by the content of their files, so that none is read twice."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from perfc.ir import Module
from perfc.ir.op import BY_ONNX

from ..source import open_model
from .external import Place, contents_of

if TYPE_CHECKING:
    from ..formats import ReadOptions
    from .proto import ProtoModel

MOST_BYTES = 4 << 20
"""Largest file that is compared by its content; of larger ones size and times are compared."""
SETTLED_NS = 2_000_000_000
"""Age of a change after which the next change has another time in any file system: times of FAT
have steps of 2 s."""
_BY_CONTENT: WeakValueDictionary[tuple[object, ...], Module] = WeakValueDictionary()
"""Modules that are still in use. Others are dropped, as they take memory, and read again."""
_EXTERNAL: WeakKeyDictionary[Module, tuple[str, tuple[Place, ...]]] = WeakKeyDictionary()
"""Digest of the contents of a module in other files, and their places."""


def module_of(
    model: str | bytes, options: ReadOptions, lowered: Callable[[ProtoModel, ReadOptions], Module]
) -> Module:
    """Return the module of an ONNX model: the same object for the same content, while it is used.

    Args:
        model: path, or the bytes of a file.
        options: options of reading; modules with given contents of inputs are not compared.
        lowered: lowers a model that was not read before.

    Raises:
        ModelError: as `lowered`.
    """
    path, data = ("", model) if isinstance(model, bytes) else (model, small_content(model))
    is_small = data is not None and len(data) <= MOST_BYTES
    state = hashlib.blake2b(data).digest() if data and is_small else file_state(path)
    if state is None or options.contents:
        return lowered(open_model(model), options)
    key = path, state, tuple(sorted(options.dims.items())), defined_operators()
    module, folder = _BY_CONTENT.get(key), os.path.dirname(path) or "."
    if module is not None:
        digest, places = _EXTERNAL[module]
        if contents_of(places, folder)[0] == digest:
            return module
    read = open_model(model, None if isinstance(model, bytes) else data)
    module = lowered(read, options)
    # a large file that changed while it was read is not the one of the key
    if is_small or file_state(path) == state:
        _EXTERNAL[module] = read.origin.contents
        _BY_CONTENT[key] = module
    return module


def defined_operators() -> tuple[tuple[str, type], ...]:
    """Return the operators that a program defined in addition to those of perfc, by ONNX name."""
    return tuple((n, c) for n, c in BY_ONNX.items() if not c.__module__.startswith("perfc."))


def small_content(path: str) -> bytes | None:
    """Return the content of a small regular file; None for any other."""
    try:
        if not stat.S_ISREG((status := os.stat(path)).st_mode) or status.st_size > MOST_BYTES:
            return None
        with open(path, "rb", buffering=0) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) == status.st_size else None


def file_state(path: str) -> tuple[int, ...] | None:
    """Return numbers that any later change of a file changes; None if that is not certain."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    # a write soon after this one could leave the same times
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if not stat.S_ISREG(status.st_mode) or time.time_ns() - changed_ns < SETTLED_NS:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
