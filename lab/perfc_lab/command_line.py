"""Command lines of public calls, as the boards print them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from perfc.machine.parallel import ALONE, Parallel, flag


def command_line(*words: object, options: Mapping[str, object]) -> str:
    """Return the command line of words and of options by the names of their keyword arguments."""
    return shlex.join([*map(str, words), *_options(options)])


def _options(options: Mapping[str, object]) -> Iterator[str]:
    """Yield the words of options other than None and "".

    A `Parallel` has an option for each degree that differs from that of a single device.
    """
    usual = ALONE.as_json()
    for name, value in options.items():
        match value:
            case None | "":
                pass
            case True:
                yield flag(name)
            case Parallel():
                degrees = value.as_json().items()
                yield from _options({key: n for key, n in degrees if n != usual[key]})
            case Mapping():
                yield from _options(value)
            case _:
                yield from (flag(name), str(value))
