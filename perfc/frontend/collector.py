"""The garbage collector, paused while large immutable structures are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the garbage collector: what is built inside is no garbage before it is complete.

    Without it the time of an analysis grows faster than the nodes. What was built then counts as
    old, so that it is looked through with all else that lives long and not at once. What is young
    before is looked through first: garbage that counted as old would stay for long.
    """
    collects = gc.isenabled()
    if collects:
        gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
