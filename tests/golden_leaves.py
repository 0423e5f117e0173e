"""What a command states as JSON, as lines of a golden file: a path, then the values it leads to.

The first line of ``tests/golden/commands/*.leaves`` is the command. Every object or list whose
elements are plain stands on a line of its own::

    $ perfc analyze model.onnxtxt --target a100 --output-format json
    [0]
    assumptions: dtype "f32", launch "graph", launch_s 2e-06
    views[3].rows[0]: 0, "conv", 1.5e-06

The number in brackets is the exit code. Numbers may differ by a millionth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
PASSING = frozenset({"perfc", "digest", "represent_s", "predict_s", "elapsed_s", "schema"})
"""Keys of what differs from release to release, or from run to run."""


def leaves(command: str, printed: str) -> str:
    """The golden file of a command that printed JSON and then its exit code in brackets.

    Raises:
        ValueError: it printed no JSON.
    """
    text, _, code = printed.rstrip("\n").rpartition("[")
    lines = [command, f"[{code}", *lines_of("", json.loads(text))]
    return "".join(f"{line}\n" for line in lines)


def lines_of(path: str, value: Json) -> Iterator[str]:
    """Lines of a value that stands at a path."""
    match value:
        case dict():
            named = {k: v for k, v in value.items() if k not in PASSING}
            children = [(f"{path}.{k}" if path else k, k, v) for k, v in named.items()]
            separator = " "
        case list():
            children = [(f"{path}[{i}]", "", v) for i, v in enumerate(value)]
            separator = ""
        case _:
            yield f"{path}: {json.dumps(value)}"
            return
    plain = [(k, v) for _, k, v in children if not isinstance(v, dict | list)]
    if plain or not children:
        words = (f"{k}{separator}{json.dumps(v, ensure_ascii=False)}" for k, v in plain)
        yield f"{path}: {', '.join(words)}"
    for place, _, child in children:
        if isinstance(child, dict | list):
            yield from lines_of(place, child)
