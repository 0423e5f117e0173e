"""Read JSON files of models, with bounds on their length and nesting."""

from __future__ import annotations

import json
import stat
from os import stat as status
from typing import Any

from perfc.common.repository import remedy
from perfc.errors import ModelError, reason_of
from perfc.frontend.reading.magic import refuse_trace
from perfc.frontend.source import is_deeper, one_line

LONGEST_BYTES = 1 << 20
"""Maximum bytes of a configuration file; the longest published file is below 100 kB."""
DEEPEST = 32
"""Maximum nesting, since the parser of Python calls itself for each level."""


def content_of(path: str, most: int = LONGEST_BYTES) -> bytes:
    """Return the bytes of a file.

    Raises:
        ModelError: it cannot be read, or is too long.
    """
    where = one_line(path)
    try:
        if not stat.S_ISREG(status(path).st_mode):
            raise ModelError("not a regular file", where=where)
        with open(path, "rb") as file:
            # one more byte than allowed shows that the file is too long
            data = file.read(most + 1)
    except FileNotFoundError:
        raise ModelError("no such file", hint=remedy(where), where=where) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot be read: {error}", where=where) from None
    # 4 KiB: PyTorch writes its version and devices before the events
    refuse_trace(data[:4096], where)
    if len(data) > most:
        raise ModelError(f"more than {most >> 20} MiB: no configuration", where=where)
    return data


def loaded(path: str, most: int = LONGEST_BYTES) -> dict[str, Any]:
    """Return the object in a file.

    Raises:
        ModelError: as `content_of`; it is too deep, or is not an object.
    """
    return parsed(content_of(path, most), one_line(path))


def parsed(data: bytes, where: str) -> dict[str, Any]:
    """Return the object of JSON text.

    Raises:
        ModelError: it is too deep, is not JSON, or is not an object.
    """
    if is_deeper(data, DEEPEST):
        raise ModelError(f"nested deeper than {DEEPEST}", where=where)
    try:
        # NaN and Infinity are no JSON: they become texts, which readers of numbers refuse
        config = json.loads(data, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"not JSON: {reason_of(error)}", where=where) from None
    if not isinstance(config, dict):
        raise ModelError(f"holds a {type(config).__name__}, not an object of keys", where=where)
    return config
