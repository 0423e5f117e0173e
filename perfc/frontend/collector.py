"""The garbage collector, paused while large immutable structures are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the garbage collector: a structure has no garbage before it is complete.

    With collections in between, the time of an analysis grows faster than the number of nodes. At
    the end all objects move to the oldest generation, so that the next collection does not search
    the whole structure. The young generations are collected before, as their garbage would stay in
    the oldest one for long.
    """
    collects = gc.isenabled()
    if collects:
        gc.collect(1)  # both young generations
    gc.disable()
    try:
        yield
    finally:
        if collects:
            # freezing and thawing moves objects to the oldest generation; it would also thaw what
            # the program froze itself
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
