"""Damaged models end in one line, in bounded memory and time."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from perfc.errors import PerfcError
from perfc.frontend import load


def check_damaged(models: Iterable[bytes], given: Callable[[bytes], bytes | Path]) -> None:
    """Read damaged models: some are read, some are errors, none takes much memory or time.

    Args:
        models: contents of the damaged files.
        given: what `load` takes for a content.
    """
    tracemalloc.start()
    begin, outcomes = time.process_time(), set()
    for data in models:
        is_read = False
        with suppress(PerfcError):
            load(given(data))
            is_read = True
        outcomes.add(is_read)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcomes == {True, False}
    assert peak < 256 << 20
    assert time.process_time() - begin < 15
